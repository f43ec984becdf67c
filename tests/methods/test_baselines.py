"""Methods without a model: how each is built, the laws of evolution, and that it is worth running."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wilcoxon

import bostruct as bo
from bostruct import methods
from bostruct.acquisition.evolution import Aging, ByRank, uniform
from bostruct.contracts import DomainError
from bostruct.methods.baselines import annealing, evolution, hill_climbing, random, regularized_evolution
from bostruct.problems.landscape import landscape
from bostruct.searchers.baselines import Annealing, EvolutionSearch, RandomSearch
from bostruct.testing.searcher_laws import Schedule, check_searcher, play
from tests.architectures import SMALL_CNN, SMALL_MLP
from tests.exhausting import check_exhausts
from tests.laws.maxsat import bits

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


def test_both_beat_the_random_walk_on_the_landscape_beyond_chance():
    """Paired by seed, all from the same pool: a signed-rank test at the level of 1 %."""
    problem = landscape()
    found = {
        name: np.array([bo.minimize(problem, problem.space, 40, method=name, seed=s).best_value for s in range(8)])
        for name in METHODS
    }
    for name in ("evolution", "regularized-evolution"):
        assert wilcoxon(found["random"] - found[name], alternative="greater").pvalue < 0.01, name


def test_without_a_pool_twelve_random_points_come_first():
    for make in (evolution, regularized_evolution):
        steps = play(make, bits(8), lambda p: float(sum(p.values())), Schedule(14, 0))
        assert [step.origin for step in steps] == ["initial"] * 12 + ["model"] * 2


def test_parents_are_selected_as_each_method_says():
    assert evolution(SMALL_MLP).selection == ByRank()
    assert regularized_evolution(SMALL_MLP).selection == Aging(100, 25)
    assert regularized_evolution(SMALL_MLP, 7, 3).selection == Aging(7, 3)
    assert regularized_evolution(SMALL_MLP, n_initial=30).n_initial == 30
    with pytest.raises(ValueError, match="tournament"):
        regularized_evolution(SMALL_MLP, tournament=0)


def test_random_search_walks_from_a_pool_and_draws_without_one():
    assert isinstance(random(bits(3)), RandomSearch)
    walk = random(SMALL_MLP)
    assert isinstance(walk, EvolutionSearch)
    assert walk.selection is uniform
    steps = play(random, SMALL_MLP, size_and_width, Schedule(len(SMALL_MLP.pool) + 3, 0))
    assert [step.origin for step in steps[-3:]] == ["random"] * 3


def test_annealing_is_that_of_the_searcher_with_its_defaults():
    assert annealing(SMALL_MLP) == Annealing(SMALL_MLP)


@pytest.mark.parametrize("best_improvement", [False, True])
def test_hill_climbing_ends_where_no_neighbor_is_better(best_improvement):
    space = bits(6)
    weights = np.random.default_rng(3).normal(size=6)

    def objective(point):
        return float(weights @ np.array(list(point.values()), dtype=float))

    search = hill_climbing(space, best_improvement=best_improvement)
    with bo.Study(space, method=search, seed=0) as study:
        result = study.optimize(objective, 45, progress=False)
    assert result.best_value == pytest.approx(weights[weights < 0].sum())


def test_hill_climbing_refuses_a_domain_without_neighbors():
    with pytest.raises(
        DomainError, match="hill-climbing with best_improvement needs a domain whose neighbors can be listed, got Arch"
    ):
        hill_climbing(bo.mlp_domain(), best_improvement=True)


@pytest.mark.parametrize("method", ["evolution", "regularized-evolution", "annealing", "hill-climbing"])
def test_a_number_does_not_drown_the_choices_beside_it(method):
    """A number has more neighbors than all bits together; each variable is changed with the same chance."""
    space = bo.Space({"r": bo.Real(0.0, 1.0), **{f"b{i}": bool for i in range(8)}})

    def wrong(point):
        return sum(point[f"b{i}"] != (i % 3 == 0) for i in range(8)) + 0.1 * abs(point["r"] - 0.3)

    found = [bo.minimize(wrong, space, 60, method=method, seed=seed, progress=False).best_value for seed in range(4)]
    random = [bo.minimize(wrong, space, 60, method="random", seed=seed, progress=False).best_value for seed in range(4)]
    assert np.mean(found) < 0.6 * np.mean(random)


def test_mutations_change_each_variable_as_often_where_there_are_numbers():
    space = bo.Space({"r": bo.Real(0, 1), "b": bool, "n": bo.Integer(1, 10), "k": list("pqrstu")})
    rng, x = np.random.default_rng(0), np.array([10**9, 0, 4, 2])
    changed = [int(np.flatnonzero(space.mutate(x, rng) != x)[0]) for _ in range(800)]
    assert np.bincount(changed, minlength=4).min() > 150
    tight = bo.Space({"r": bo.Real(0, 1), "b": bool, "c": bool}, [lambda point: not point["b"]])
    moved = {int(np.flatnonzero(tight.mutate(np.array([5, 0, 0]), rng) != [5, 0, 0])[0]) for _ in range(60)}
    assert moved == {0, 2}


def test_random_search_draws_the_parts_of_a_space_independently():
    space = bo.Space({"net": SMALL_CNN, "rate": bo.Real(0.0, 1.0)})
    result = bo.minimize(lambda point: point["rate"], space, 40, method="random", seed=0, progress=False)
    assert len({trial.point["rate"] for trial in result.trials}) == 40
