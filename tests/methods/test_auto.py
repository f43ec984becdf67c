"""`auto` asks what a domain can do: which method it takes for what, what it says of it, and that each one works."""

import logging
import math
import time
from dataclasses import replace

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.annealed_search import AnnealedSearch
from bostruct.acquisition.bounded_search import Sampling
from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import LOG_EI
from bostruct.acquisition.local_search import JointAscent, LocalSearch
from bostruct.acquisition.mixed_search import MixedSearch
from bostruct.contracts import ChoiceDomain, DistanceDomain, DomainError
from bostruct.domains.space.choices import coordinate
from bostruct.methods import auto, bayesian, model_based_hyperband
from bostruct.searchers.baselines import EvolutionSearch, RandomSearch
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.scores import Improvement, best_predicted
from bostruct.study.threads import ThreadLimit
from bostruct.surrogates.map_gp import MAPGP
from bostruct.testing.searcher_laws import check_searcher
from tests.architectures import SMALL_CNN
from tests.domains.test_joint import joint
from tests.exhausting import check_exhausts
from tests.permutations import Described, Distant, Mutable, Permutations, Swaps


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work."""
    with ThreadLimit(1)():
        yield


def disorder(point):
    return float(sum(abs(i - v) * (1 + i) for i, v in enumerate(reversed(point))))


class TwoSided(Mutable, DistanceDomain):
    """The distances of a complete bipartite graph, 1 across and 2 within a side: no kernel exp(-rate d) is definite."""

    def distances(self, xs, ys):
        places = [[(x.index(0), x.index(1)) for x in batch] for batch in (xs, ys)]
        far = [[0.0 if a == b else 2.0 - (a[0] + b[0]) % 2 for b in places[1]] for a in places[0]]
        return np.array(far).reshape(len(xs), len(ys))


class Chosen(Permutations, ChoiceDomain):
    """Named choices without mutations."""

    def coordinates(self, x):
        variable = bo.Space({"v": list(range(self.n))}).variables["v"]
        return [coordinate(str(i), variable, v) for i, v in enumerate(x)]

    def names(self, x):
        return [str(i) for i in range(len(x))]

    def resample(self, x, names, rng):
        raise AssertionError((x, names, rng))


CASES = [
    (Distant(5), BayesianSearch, "a Gaussian process, because Distant has distances"),
    (Described(5), BayesianSearch, "a Gaussian process, because Described has features"),
    (Chosen(5), BayesianSearch, "a Gaussian process, because Chosen has a kernel, and no mutations"),
    (Swaps(5), EvolutionSearch, "evolution, because Swaps has no variables, choices, distances, features"),
    (Permutations(5), RandomSearch, "random search, because Permutations has no variables, choices, distances"),
    (joint(SMALL_CNN, Mutable(4)), EvolutionSearch, r"evolution, because Mutable (the part 'part 1') has no variables"),
]


@pytest.mark.parametrize(("domain", "kind", "note"), CASES, ids=[type(case[0]).__name__ for case in CASES])
def test_the_record_says_which_method_and_why(domain, kind, note, caplog):
    with caplog.at_level(logging.INFO, logger="bostruct"):
        found = auto(domain)
    assert type(found) is kind
    assert found.note.startswith(note)
    assert caplog.messages == [f"auto: {found.note}"]
    assert found.has_model == (kind is BayesianSearch)
    study = bo.Study(domain, seed=0)
    result = study.optimize(lambda point: float(len(str(point))), 3)
    assert {trial.info["auto"] for trial in result.trials} == {found.note}


@pytest.mark.parametrize("domain", [Distant(4), Described(4), Chosen(4), Swaps(4), Permutations(4)])
def test_laws(domain):
    check_searcher(auto, domain, disorder, np.random.default_rng(0), n_trials=14)


@pytest.mark.parametrize("domain", [Distant(3), Described(3), Chosen(3)])
def test_visits_all_of_a_small_domain(domain):
    check_exhausts(lambda d: bayesian(d, n_initial=3), domain, disorder, np.random.default_rng(1))


def test_what_is_clipped_is_on_record():
    study = bo.Study(TwoSided(8), seed=1)
    result = study.optimize(lambda _: 1.0, 20)
    models = [trial.info for trial in result.trials if trial.origin == "model"]
    assert models
    assert min(info["smallest_eigenvalue"] for info in models) < -0.01
    assert max(info["negative_share"] for info in models) > 0.001


def test_distances_find_what_mutations_alone_do_not():
    """Paired seeds; sums of the best values. The least is 0."""
    found = {
        kind: sum(bo.minimize(disorder, kind(6), 30, seed=seed).best_value for seed in range(4))
        for kind in (Distant, Swaps)
    }
    assert found[Distant] < found[Swaps]


def test_the_search_follows_what_the_domain_offers():
    assert isinstance(bayesian(Distant(4)).maximizer, LocalSearch)
    assert isinstance(bayesian(TwoSided(4)).maximizer, Evolution)
    assert isinstance(bayesian(Described(4)).maximizer, Sampling)
    assert bayesian(bo.Space({"a": bool})).maximizer.large_steps


SHOP = bo.Permutation({"a": 2, "b": 2}, resources={"a": [0, 1], "b": [1, 0]})


def test_orders_with_resources_are_searched_by_annealing_which_climbs_follow_where_there_are_numbers():
    alone = auto(bo.Space({"order": SHOP}))
    assert isinstance(alone.maximizer, AnnealedSearch)
    assert alone.n_starts is None
    mixed = auto(bo.Space({"order": SHOP, "rate": bo.Real(0.0, 1.0)}))
    assert isinstance(mixed.maximizer, MixedSearch)
    assert mixed.maximizer.begin == alone.maximizer
    assert mixed.n_starts is None
    assert bayesian(mixed.domain).maximizer == alone.maximizer


def test_an_order_with_resources_beside_a_number():
    space = bo.Space({"order": SHOP, "rate": bo.Real(0.0, 1.0)})
    cost, rng = lambda point: point["order"].index("b") + point["rate"], np.random.default_rng(0)
    check_searcher(lambda domain: replace(auto(domain), n_initial=4), space, cost, rng, 7)


@pytest.mark.parametrize("variables", [{f"b{i}": bool for i in range(12)}, {"c": list("pqr"), "x": bo.Real(0, 1)}])
def test_coarse_fits_lose_next_to_nothing(variables):
    space, rng = bo.Space(variables), np.random.default_rng(0)
    coarse = auto(space).surrogate.surrogate.quiet
    fine = replace(coarse, tolerance=MAPGP.tolerance)
    for _ in range(5):
        xs = space.sample(40, rng)
        values = np.sin(3.0 * xs / np.maximum(xs.max(axis=0), 1)) @ rng.normal(size=space.d)
        (_, _, quick), (_, _, slow) = (model.condition(xs, values, None, rng) for model in (coarse, fine))
        assert quick["log_posterior"] > slow["log_posterior"] - 0.01
        assert quick["likelihoods"] <= slow["likelihoods"]


def test_what_is_no_domain_or_has_no_kernel_is_refused():
    with pytest.raises(TypeError, match=r"expected a bostruct\.contracts\.Domain \(subclass it\), got 3"):
        bayesian(3)
    with pytest.raises(DomainError, match="has no default kernel for Mutable"):
        bayesian(Mutable(4))
    fidelity = bo.Space({"epochs": bo.Fidelity([1, 3])})
    with pytest.raises(DomainError, match="model-based-hyperband needs a domain with a model"):
        model_based_hyperband(bo.joint_domain({"a": fidelity, "b": Mutable(4)}))


def test_an_order_that_misleads_is_seen_through():
    """The levels of each variable are shuffled, so that their order says nothing."""
    space = bo.Space({f"o{i}": bo.Ordinal(range(8)) for i in range(8)})
    ranks = np.random.default_rng(0).permuted(np.tile(np.arange(8.0), (8, 1)), axis=1)

    def shuffled(point):
        return float(sum(own[level] for own, level in zip(ranks, point.values(), strict=True)))

    result = bo.minimize(shuffled, space, 60, seed=0, progress=False)
    assert result.best_value <= 1.0  # some 5 with kernels that trust the order


def test_effects_of_numbers_are_as_smooth_as_the_data_say():
    space = bo.Space({f"x{i}": bo.Real(0.0, 1.0) for i in range(4)})
    xs = space.sample(60, np.random.default_rng(0))
    rows = np.array([[*space.present(x).values()] for x in xs])

    def fit_log_odds(values, of):
        model = auto(space).surrogate
        posterior = model.condition(xs, values, model.initial_state(), np.random.default_rng(0))[0]
        return next(one.values[0] for one in posterior.list_hyperparameters() if one.name == f"log odds of {of}")

    assert fit_log_odds(np.tanh(3.0 * (rows - 0.5)).sum(axis=1), "whole range") > 3.0
    assert fit_log_odds(np.sin(10.0 * rows).sum(axis=1), "whole range") < -1.0
    assert fit_log_odds(np.sin(10.0 * rows).sum(axis=1), "quarter") > 2.0
    assert fit_log_odds(np.sin(25.0 * rows).sum(axis=1), "quarter") < -1.0


class TestManyVariables:
    """Above 100 variables the search is another one, above 1,000 alike ones share a lengthscale."""

    def space(self, d: int) -> bo.Space:
        return bo.Space({f"b{i}": bool for i in range(d)})

    def parts(self, d: int) -> tuple[type, int, str | None]:
        searcher = auto(self.space(d))
        assert isinstance(searcher, BayesianSearch)
        model = searcher.surrogate.on_all_variables().surrogate.quiet  # type: ignore[attr-defined]
        size = sum(block.size for block in model.kernel.parameters)
        return type(searcher.maximizer), size, searcher.note

    def test_the_number_of_variables_chooses_the_parts(self):
        assert self.parts(100) == (LocalSearch, 101, None)
        assert self.parts(101) == (JointAscent, 102, None)
        assert self.parts(1_000) == (JointAscent, 1_001, None)
        search, size, note = self.parts(1_001)
        assert (search, size) == (JointAscent, 2)
        assert note == "of 1,001 variables those on equal graphs share a lengthscale: 1 in all"

    def test_variables_that_share_nothing_are_not_counted(self):
        bits = {f"b{i}": bool for i in range(1_001)}
        orders = {f"o{i}": bo.Permutation(list("abc")) for i in range(30)}
        notes = [auto(bo.Space(one)).note for one in (bits | orders, bits | {f"c{i}": list("xyz") for i in range(9)})]
        assert notes == ["of 1,001 variables those on equal graphs share a lengthscale: 1 in all"] * 2
        assert auto(bo.Space(orders)).note is None

    def test_few_variables_have_the_settings_that_they_had(self):
        assert "note" not in auto(self.space(100)).settings()

    def test_the_same_seed_makes_the_same_run_far_below_random_points(self):
        def run(seed: int):
            return bo.minimize(disagreement, self.space(300), n_trials=30, seed=seed, progress=False)

        first, second = run(0), run(0)
        assert [t.point for t in first.trials] == [t.point for t in second.trials]
        assert min(t.value for t in first.trials[:10]) > 120.0 > 112.0 > first.best_value

    def test_six_thousand_bits_are_searched_in_seconds_and_say_so(self):
        before = time.process_time()
        result = bo.minimize(disagreement, self.space(6_000), n_trials=13, seed=0, progress=False)
        assert time.process_time() - before < 60.0  # some 2 seconds
        assert "share a lengthscale" in result.trials[-1].info["auto"]
        assert result.best_value < min(t.value for t in result.trials[:10])


def disagreement(point):
    """The number of bits that differ from a fixed point."""
    return float(sum(value != (len(name) + int(name[1:]) % 3 == 3) for name, value in point.items()))


def test_an_order_with_resources_is_searched_beside_a_number():
    resources = {"a": ["x", "y", "z"], "b": ["y", "x", "z"], "c": ["z", "x"]}
    order = bo.Permutation({"a": 3, "b": 3, "c": 2}, resources=resources)
    space = {"order": order, "rate": bo.Real(0.0, 1.0)}
    result = bo.minimize(
        lambda p: p["order"].index("c") + (p["rate"] - 0.3) ** 2, space, n_trials=13, seed=0, progress=False
    )
    assert [trial.info["origin"] for trial in result.trials[10:]] == ["model"] * 3


def test_steps_are_not_asked_for_again_and_again():
    """On plateaus log EI asks for near repeats, in three runs of 50 suggestions 81 times, and `auto` 52 times."""
    space = bo.Space({"kind": ["a", "b"], "rate": bo.Real(0.0, 1.0), "decay": bo.Real(0.0, 1.0)})

    def plateaus(point):
        rate, decay = math.floor(12 * point["rate"]) / 12, math.floor(12 * point["decay"]) / 12
        return (rate - 0.7) ** 2 + (decay - 0.3) ** 2 + 0.1 * (point["kind"] == "a")

    def count_near_repeats(method):
        count = 0
        for seed in (0, 2, 4):
            result = bo.minimize(plateaus, space, n_trials=60, method=method, seed=seed, progress=False)
            rows = [(t.point["kind"] == "a", t.point["rate"], t.point["decay"]) for t in result.trials]
            gaps = [np.abs(np.subtract(rows[:i], rows[i])).max(axis=1).min() for i in range(10, 60)]
            count += sum(gap < 0.01 for gap in gaps)
        return count

    model = auto(space)
    plain = replace(model, score=replace(model.score, score=Improvement(LOG_EI, best_predicted)))
    assert count_near_repeats(model) <= 0.9 * count_near_repeats(plain)
