"""Evolution: who becomes a parent, the maximizer on a score, the searches on the objective."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest

import bostruct as bo
from bostruct import methods
from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.selection import Aging, ByRank, by_fitness, uniform
from bostruct.contracts import DomainError
from bostruct.domains.architecture.domain import ArchitectureDomain
from bostruct.problems.landscape import landscape
from bostruct.searchers.evolution import EvolutionSearch
from bostruct.searchers.proposals import PoolFirst
from bostruct.study.history import History
from tests.architectures import GOLDEN, SMALL_CNN, SMALL_MLP
from tests.laws.maxsat import bits
from tests.laws.searcher_laws import Schedule, check_exhausts, check_searcher, play

SELECTIONS = [ByRank(), ByRank(0.02), by_fitness, uniform, Aging(), Aging(5, 2)]
FITNESS = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e150, 1e150))


@pytest.mark.parametrize("selection", SELECTIONS, ids=lambda selection: getattr(selection, "__name__", str(selection)))
@given(fitness=FITNESS)
def test_chances_are_chances(selection, fitness):
    fitness.flags.writeable = False
    chances = selection(fitness)
    assert chances.shape == fitness.shape
    assert np.all(chances >= 0.0)
    assert chances.sum() == pytest.approx(1.0)


@given(fitness=FITNESS)
def test_the_fitter_has_the_better_chance(fitness):
    for selection in (ByRank(), by_fitness):
        chances = selection(fitness)
        order = np.argsort(fitness, kind="stable")
        assert np.all(np.diff(chances[order]) >= -1e-15)
    by_rank = ByRank()(fitness)
    for value in set(fitness.tolist()):
        assert np.ptp(by_rank[fitness == value]) <= 1e-15


def test_ranks_forget_all_but_the_order():
    fitness = np.array([3.0, -1.0, 7.0, 0.5])
    np.testing.assert_array_equal(ByRank()(fitness), ByRank()(np.array([5.0, -1e150, 1e150, 4.9])))
    assert ByRank(0.5)(fitness)[[2, 0]] == pytest.approx(
        np.array([1.0, math.exp(-0.5)]) / sum(np.exp(-np.arange(4) / 2))
    )


def test_the_published_chances():
    fitness = np.array([0.0, 1.0, 5.0])
    expected = np.exp((fitness - 2.0) / (2.0 * np.std(fitness)))
    np.testing.assert_allclose(by_fitness(fitness), expected / expected.sum())
    np.testing.assert_array_equal(
        by_fitness(np.full(4, 1e-261)), np.full(4, 0.25)
    )  # where the released code divides by 0


@pytest.mark.parametrize(("population", "tournament"), [(4, 3), (3, 1), (5, 2)])
def test_the_chances_of_a_tournament_are_those_of_all_its_draws(population, tournament):
    fitness = np.array([9.0, 2.0, 5.0, 3.0, 4.0])
    alive = range(5 - population, 5)
    wins = np.zeros(5)
    for drawn in product(alive, repeat=tournament):
        wins[max(drawn, key=lambda i: fitness[i])] += 1
    np.testing.assert_allclose(Aging(population, tournament)(fitness), wins / wins.sum(), atol=1e-15)


class Counting:
    """A score of architectures that counts: more layers are better, up to a number."""

    def __init__(self, best: int = 14) -> None:
        self.best = best
        self.scored: list[Any] = []

    def __call__(self, xs: Any) -> np.ndarray:
        self.scored += list(xs)
        return -np.abs(np.array([len(x) for x in xs], dtype=np.float64) - self.best)

    def upper_bounds(self, xs: Any) -> np.ndarray:
        del xs
        raise AssertionError("a bound costs as many distances as a score")


def test_every_point_is_scored_once_and_returned_best_first():
    score = Counting()
    starts = [GOLDEN["a"], GOLDEN["s1"], GOLDEN["s1"]]
    found, info = Evolution(SMALL_CNN.pool)(score, SMALL_CNN, starts, np.random.default_rng(0))
    keys = SMALL_CNN.keys(found)
    assert len(set(keys)) == len(keys)
    assert sorted(keys) == sorted(SMALL_CNN.keys(score.scored))
    assert set(SMALL_CNN.keys([*starts, *SMALL_CNN.pool])) <= set(keys)
    best = Counting()(found)
    assert np.all(np.diff(best) <= 0)
    assert info["candidates"] == len(found) <= len(SMALL_CNN.pool) + 50
    assert info["best_score"] == best[0]
    for x in found:
        SMALL_CNN.check(x)


def test_evolution_climbs_and_repeats_exactly():
    score = Counting(16)
    search = Evolution(elite=1, least=100)
    found, _ = search(score, SMALL_CNN, [GOLDEN["a"]], np.random.default_rng(1))
    assert len(found[0]) >= 14 > len(GOLDEN["a"])
    again, _ = search(score, SMALL_CNN, [GOLDEN["a"]], np.random.default_rng(1))
    assert SMALL_CNN.keys(again) == SMALL_CNN.keys(found)


@pytest.mark.parametrize(("t", "children"), [(1, 50), (20, 111), (50, 176), (100, 250), (10_000, 500)])
def test_the_published_number_of_candidates(t, children):
    """clip(25 sqrt(t), 50, 500), in generations of clip(3 sqrt(that), 5, 100)."""
    search = Evolution()
    assert search.children(t) == children
    assert search.generation_size(children) == int(3 * math.sqrt(children))


def test_the_published_search_starts_from_its_pool_alone():
    starts = [GOLDEN["c"]] * 100
    score = Counting()
    Evolution((GOLDEN["a"],), pool_only=True)(score, SMALL_CNN, starts, np.random.default_rng(2))
    assert GOLDEN["c"] not in score.scored
    assert score.scored[0] == GOLDEN["a"]
    assert len(score.scored) > 150  # t is still the number of starts


class Stuck:
    """A domain whose every point is the only one."""

    def __init__(self, domain: ArchitectureDomain) -> None:
        self.keys, self.join, self.take, self.sample_unseen = (
            domain.keys,
            domain.join,
            domain.take,
            domain.sample_unseen,
        )

    def mutate(self, x: Any, rng: np.random.Generator) -> Any:
        del x, rng
        raise DomainError("no valid change")


def test_a_domain_with_no_other_point_ends_the_search():
    found, info = Evolution()(Counting(), Stuck(SMALL_CNN), [GOLDEN["a"]], np.random.default_rng(3))
    assert found == [GOLDEN["a"]]
    assert info["candidates"] == 1


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"elite": 0}, "elite"),
        ({"growth": -1.0}, "growth"),
        ({"least": 5, "most": 4}, "most"),
        ({"pool_only": True}, "pool"),
        ({"pool": (GOLDEN["a"],), "pool_only": 1}, "pool_only"),
    ],
)
def test_wrong_settings_of_the_maximiser_are_refused(settings, named):
    with pytest.raises((TypeError, ValueError), match=named):
        Evolution(**settings)


def test_nothing_to_start_from_is_refused():
    with pytest.raises(ValueError, match="starts"):
        Evolution()(Counting(), SMALL_CNN, [], np.random.default_rng(0))


@pytest.mark.parametrize(
    ("make", "named"),
    [(lambda: ByRank(0.0), "share"), (lambda: Aging(0, 3), "population"), (lambda: Aging(3, 0), "tournament")],
)
def test_wrong_settings_of_a_selection_are_refused(make, named):
    with pytest.raises(ValueError, match=named):
        make()


METHODS = ["evolution", "regularized-evolution", "random"]


def size_and_width(x: bo.Architecture) -> float:
    return abs(len(x) - 12) + abs(sum(layer.units or 0 for layer in x.layers) - 200) / 50


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("domain", [SMALL_CNN, SMALL_MLP], ids=["cnn", "mlp"])
def test_laws_of_a_searcher(method, domain):
    check_searcher(methods.METHODS[method], domain, size_and_width, np.random.default_rng(4), n_trials=20)


@pytest.mark.parametrize("method", METHODS)
def test_a_space_is_searched_to_its_end(method):
    check_exhausts(methods.METHODS[method], bits(5), lambda p: float(sum(p.values())), np.random.default_rng(5))


@pytest.mark.parametrize("method", [*METHODS, "nasbot", "auto"])
def test_every_method_begins_with_the_pool(method):
    steps = play(methods.METHODS[method], SMALL_CNN, size_and_width, Schedule(len(SMALL_CNN.pool), 6))
    assert [step.key for step in steps] == SMALL_CNN.keys(SMALL_CNN.pool)
    assert {step.origin for step in steps} == {"initial"}


def test_a_pool_that_was_seen_gives_way_to_draws():
    seen = frozenset(SMALL_CNN.keys(SMALL_CNN.pool))
    x = PoolFirst(SMALL_CNN.pool)(SMALL_CNN, seen, np.random.default_rng(7))
    assert SMALL_CNN.keys([x])[0] not in seen


def test_suggestions_are_one_mutation_away_and_say_what_they_are():
    told = list(SMALL_MLP.pool)

    class Recording:
        def __init__(self) -> None:
            self.parents: list[Any] = []

        def __getattr__(self, name: str) -> Any:
            return getattr(SMALL_MLP, name)

        def mutate(self, x: Any, rng: np.random.Generator) -> Any:
            self.parents.append(x)
            return SMALL_MLP.mutate(x, rng)

    domain = Recording()
    search = EvolutionSearch(domain, ByRank(0.01), n_initial=2, origin="random")
    history = History.of(SMALL_MLP, told, [3.0, 1.0, 2.0, 5.0])
    found = search.suggest(history, None, np.random.default_rng(8))
    assert found.info == {"origin": "random"}
    assert set(domain.parents) == {told[1]}  # so steep a selection has one parent only


@pytest.mark.parametrize("values", [[], [1.0, 2.0]])
def test_falls_back_where_nothing_can_be_mutated(values):
    told = list(SMALL_MLP.pool[: len(values)])
    history = History.of(SMALL_MLP, told, values, failed=list(SMALL_MLP.pool[2:]))
    found = EvolutionSearch(Stuck(SMALL_MLP), uniform, n_initial=1).suggest(history, None, np.random.default_rng(9))
    assert found.info["origin"] == "fallback"
    assert ("seen points" if values else "completed") in found.info["why"]


def test_wrong_settings_of_a_search_are_refused():
    for setting in ("n_initial", "tries"):
        with pytest.raises(ValueError, match=setting):
            EvolutionSearch(SMALL_MLP, uniform, **{setting: 0})


@pytest.mark.parametrize("method", ["evolution", "regularized-evolution"])
def test_beats_the_random_walk_on_the_landscape_beyond_chance(method):
    """Paired by seed, all from the same pool: a sign test at the level of 1 %."""
    problem = landscape()
    wins, seeds = 0, 12
    for seed in range(seeds):
        best = [
            bo.minimize(problem, problem.space, 60, method=name, seed=seed, progress=False).best_value
            for name in (method, "random")
        ]
        wins += best[0] < best[1]
    assert binomtest(wins, seeds, alternative="greater").pvalue < 0.01
