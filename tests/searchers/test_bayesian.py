"""The Bayesian searcher: searcher laws, running and failed trials, exhausted spaces, fallbacks."""

from __future__ import annotations

import dataclasses
import json
import platform
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.functions import (
    ExpectedImprovement,
    LogExpectedImprovement,
    LowerConfidenceBound,
    ProbabilityOfImprovement,
)
from bostruct.acquisition.local_search import LocalSearch
from bostruct.contracts import DomainError, NumericalError, SpaceExhausted, Surrogate, describe_part
from bostruct.contracts.model import HeldOut
from bostruct.methods import auto, combo, searcher
from bostruct.methods.defaults import space_kernel, success_model
from bostruct.searchers import bayesian
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.scores import (
    AcquisitionScore,
    FeasibilityScore,
    Improvement,
    ProductScore,
    best_observed,
    best_predicted,
)
from bostruct.study.history import History
from bostruct.study.threads import ThreadLimit
from bostruct.surrogates.hyperparameters import Normal
from bostruct.surrogates.map_gp import MAPGP
from bostruct.surrogates.marginalized import MarginalizedGP
from bostruct.surrogates.outputs import Outputs
from bostruct.surrogates.success import RegressedFeasibility
from bostruct.testing.searcher_laws import Schedule, check_searcher, play
from tests.exhausting import check_exhausts
from tests.fakes import TablePosterior
from tests.laws.maxsat import bits
from tests.permutations import Permutations


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work: threads that wait for each other cost these small matrices most of the time."""
    with ThreadLimit(1)():
        yield


def quick_auto(domain: Any, n_initial: int = 5) -> BayesianSearch:
    best = auto(domain)
    both = best.surrogate.on_all_variables().surrogate
    quiet, noisy = (dataclasses.replace(model, most_steps=10) for model in (both.quiet, both.noisy))
    search = LocalSearch(raw_samples=100, num_spray_points=20, num_restarts=3)
    return dataclasses.replace(
        best,
        surrogate=dataclasses.replace(best.surrogate, surrogate=dataclasses.replace(both, quiet=quiet, noisy=noisy)),
        score=dataclasses.replace(best.score, success=success_model(domain, quiet)),
        maximizer=search,
        n_initial=n_initial,
    )


def quick_combo(domain: Any, n_initial: int = 5) -> BayesianSearch:
    published = combo(domain)
    surrogate = dataclasses.replace(published.surrogate, burn_in=3, samples=2)
    search = LocalSearch(raw_samples=200, num_spray_points=5, num_restarts=4)
    return dataclasses.replace(published, surrogate=surrogate, maximizer=search, n_initial=n_initial)


QUICK = pytest.mark.parametrize("make", [quick_auto, quick_combo])


def mixed_space() -> bo.Space:
    return bo.Space({"a": bool, "b": ["p", "q", "r"], "c": range(5), "d": bo.Integer(-3, 3)})


def mixed_objective(point: dict) -> float:
    return point["a"] + {"p": 0.0, "q": 2.0, "r": -1.0}[point["b"]] + abs(point["c"] - 2) - 0.1 * point["d"]


@QUICK
def test_laws(make):
    check_searcher(make, mixed_space(), mixed_objective, np.random.default_rng(0), n_trials=10)


@QUICK
def test_visits_all_of_a_small_space_then_says_so(make):
    space = bo.Space({"a": bool, "b": ["p", "q", "r"], "c": bool})
    check_exhausts(make, space, lambda p: mixed_objective({**p, "d": 0}), np.random.default_rng(1))


@QUICK
def test_serves_constraints_that_no_single_change_respects(make):
    names = [f"x{i}" for i in range(5)]
    space = bo.Space(dict.fromkeys(names, bool), [lambda p: sum(p.values()) == 2])
    check_exhausts(make, space, lambda p: sum(i * p[name] for i, name in enumerate(names)), np.random.default_rng(2))


@QUICK
def test_model_takes_over_after_the_initial_points_and_failed_ones_count(make):
    space = mixed_space()
    for fail_every in (0, 2):
        steps = play(make, space, mixed_objective, Schedule(9, seed=3, fail_every=fail_every))
        assert [step.origin for step in steps] == ["initial"] * 5 + ["model"] * 4


@QUICK
def test_many_asks_without_a_tell_give_distinct_points(make):
    space, search = mixed_space(), make(mixed_space())
    told = space.sample(6, np.random.default_rng(4))
    values = [mixed_objective(space.present(x)) for x in told]
    state, running = search.initial_state(), space.join()
    for number in range(8):
        history = History.of(space, told, values, running)
        x, state, info = search.suggest(history, state, np.random.default_rng(number))
        assert info["origin"] == "model"
        assert space.keys(x[None])[0] not in history.seen
        running = space.join(running, x[None])
    assert len(set(space.keys(running))) == 8


@pytest.mark.parametrize("make", [auto, combo])
def test_info_says_what_a_person_wants_to_see(make):
    space = mixed_space()
    search = dataclasses.replace(
        make(space), n_initial=3, maximizer=LocalSearch(raw_samples=50, num_spray_points=2, num_restarts=2)
    )
    told = space.sample(3, np.random.default_rng(5))
    info = search.suggest(
        History.of(space, told, [1.0, 0.5, 2.0]), search.initial_state(), np.random.default_rng(6)
    ).info
    assert {"largest_jitter", "likelihoods", "candidates", "steps", "best_score"} <= info.keys()
    assert json.loads(json.dumps(info)) == info


class Known(Surrogate):
    """A surrogate whose posterior is known, or which fails for a reason."""

    def __init__(self, posterior: TablePosterior | None) -> None:
        self.posterior = posterior

    def initial_state(self) -> Any:
        return 0

    def condition(self, xs, values, state, rng) -> Any:
        del xs, values, rng
        if self.posterior is None:
            raise NumericalError("not positive definite, on purpose")
        return self.posterior, state + 1, {"sweeps": 1}


def known_search(mean, variance, acquisition=None) -> BayesianSearch:
    """Over 16 points, in the order of `Space.enumerate`."""
    space = bits(4)
    posterior = TablePosterior(space.n_choices, np.array(mean, float), np.array(variance, float), np.zeros(16))
    search = LocalSearch(raw_samples=200, num_spray_points=4, num_restarts=16)
    score = Improvement(acquisition or LowerConfidenceBound(1.0))
    return BayesianSearch(space, Known(posterior), score, search, n_initial=1)


def test_suggests_the_best_unseen_point_of_a_known_posterior():
    mean = np.arange(16.0)[::-1]  # the last point is the best, then those around it
    search = known_search(mean, np.full(16, 0.01))
    everything = search.domain.enumerate()
    history = History.of(search.domain, everything[:1], [3.0])
    assert search.suggest(history, {"surrogate": 0}, np.random.default_rng(0)).point.tolist() == [1, 1, 1, 1]
    history = History.of(search.domain, everything[[0, 15]], [3.0, 4.0])
    found = search.suggest(history, {"surrogate": 0}, np.random.default_rng(0))
    assert found.point.tolist() == [1, 1, 1, 0]  # the only maximum was seen: its best neighbor
    assert found.state == {"surrogate": 1}


def test_users_see_the_average_of_models_and_the_search_does_not():
    class Average(TablePosterior):
        def leave_one_out(self):
            xs = bits(4).enumerate()[:3]
            return HeldOut(xs, np.zeros(3), self.predict(xs))

    class Averaged(Average):
        def average_models(self):
            return Average(self.n_choices, self.mean[::-1] + 50.0, self.variance, self.optimism)

    one = known_search(np.arange(16.0)[::-1], np.full(16, 0.01))
    search = dataclasses.replace(one, surrogate=Known(Averaged(*vars(one.surrogate.posterior).values())))
    xs, rng, state = one.domain.enumerate()[:3], np.random.default_rng(0), {"surrogate": 0}
    history = History.of(one.domain, xs, [0.0, 0.0, 0.0])
    assert search.suggest(history, state, rng).point.tolist() == [1, 1, 1, 1]
    found = search.predict(history, state, xs, rng).mean[0], search.appraise(history, state, rng).prediction.mean
    for mean in (*found, search.cross_validate(history, state, 0, rng)[1].mean):
        np.testing.assert_array_equal(mean, [[50.0, 51.0, 52.0]])


def test_believes_running_trials():
    """A point out for evaluation is worth nothing twice: its variance is gone, and its neighbors' with it."""
    space = bits(8)
    rng = np.random.default_rng(7)
    told = space.sample(12, rng)
    values = told @ np.arange(8.0) + rng.normal(size=12)
    posterior = auto(space).surrogate.condition(told, values, None, rng)[0]
    out = space.sample(1, rng)
    incumbent = float(values.min())
    before, after = (AcquisitionScore(p, ExpectedImprovement(), incumbent) for p in (posterior, posterior.believe(out)))
    everything = space.enumerate()
    assert after(out)[0] <= before(out)[0]
    assert np.all(after(everything) <= before(everything) + 1e-9)
    np.testing.assert_allclose(posterior.believe(out).predict(everything).mean, posterior.predict(everything).mean)


def test_what_is_believed_of_running_trials_decides():
    class Fickle(TablePosterior):
        """Once it believes a point, it prefers what it liked least."""

        def believe(self, xs):
            return TablePosterior(self.n_choices, -self.mean, self.variance, self.optimism) if len(xs) else self

    search = known_search(np.arange(16.0), np.full(16, 0.01))
    posterior = search.surrogate.posterior
    fickle = Fickle(posterior.n_choices, posterior.mean, posterior.variance, posterior.optimism)
    search = dataclasses.replace(search, surrogate=Known(fickle))
    everything = search.domain.enumerate()
    for running, expected in (((), [0, 0, 0, 0]), (everything[6:7], [1, 1, 1, 1])):
        history = History.of(search.domain, everything[5:6], [3.0], running)
        assert search.suggest(history, {"surrogate": 0}, np.random.default_rng(0)).point.tolist() == expected


def test_incumbents():
    search = known_search(np.linspace(0, 1, 16), np.ones(16))
    everything = search.domain.enumerate()
    history = History.of(search.domain, everything[[3, 5]], [-7.0, 2.0])
    posterior = search.surrogate.condition(None, None, 0, None)[0]
    assert best_observed(history, posterior) == -7.0
    assert best_predicted(history, posterior) == pytest.approx(3 / 15)


def test_feasibility_scales_a_score_by_the_chance_of_success():
    space = bits(4)
    label = TablePosterior(space.n_choices, np.linspace(0, 1, 16), np.full(16, 0.25), np.zeros(16))
    value = TablePosterior(space.n_choices, np.zeros(16), np.ones(16), np.zeros(16))
    plain = AcquisitionScore(value, LogExpectedImprovement(), 0.0)
    scored = ProductScore([plain, FeasibilityScore(RegressedFeasibility(label))])
    everything = space.enumerate()
    found = np.exp(scored(everything) - plain(everything))
    assert np.all(np.diff(found) > 0)
    np.testing.assert_allclose(found + found[::-1], 1.0)  # a label of 1/2 is an even chance
    assert np.all(scored(everything) <= scored.upper_bounds(everything))


def test_falls_back_and_says_why():
    broken = dataclasses.replace(known_search(np.zeros(16), np.ones(16)), surrogate=Known(None))
    space = broken.domain
    everything = space.enumerate()
    state = {"surrogate": {"kept": 1}}
    found = broken.suggest(History.of(space, everything[:3], [1.0, 2.0, 3.0]), state, np.random.default_rng(0))
    assert found.info == {"origin": "fallback", "why": "not positive definite, on purpose", "model": "failed"}
    assert found.state == state
    found = broken.suggest(History.of(space, [], [], failed=everything[:3]), state, np.random.default_rng(0))
    assert found.info == {"origin": "fallback", "why": "no trial has completed"}


def test_where_maxima_and_neighbors_were_seen_random_points_are_scored(monkeypatch):
    search = dataclasses.replace(
        known_search(np.arange(16.0), np.full(16, 1e-6)),
        maximizer=LocalSearch(raw_samples=200, num_spray_points=0, num_restarts=1),
    )
    everything = search.domain.enumerate()
    seen = everything[[0, 1, 2, 4, 8]]  # the one maximum and all its neighbors
    history = History.of(search.domain, seen, np.arange(5.0))
    found = search.suggest(history, {"surrogate": 0}, np.random.default_rng(0))
    assert found.info["origin"] == "model"
    assert found.point.tolist() == everything[3].tolist()  # the best of those left
    monkeypatch.setattr(bayesian, "MAX_FALLBACK_DRAWS", 0)  # where draws meet seen points alone
    found = search.suggest(history, {"surrogate": 0}, np.random.default_rng(0))
    assert tuple(found.point) not in set(map(tuple, seen))


def test_a_space_without_an_unseen_point_is_not_drawn_from(monkeypatch):
    search = known_search(np.arange(16.0), np.full(16, 1e-6))
    everything = search.domain.enumerate()
    monkeypatch.setattr(bayesian, "MAX_FALLBACK_DRAWS", -1)  # a draw would raise
    with pytest.raises(SpaceExhausted):
        search.suggest(
            History.of(search.domain, everything, np.arange(16.0)), {"surrogate": 0}, np.random.default_rng(0)
        )


def test_values_too_large_for_a_variance_do_not_end_a_run():
    space = mixed_space()
    xs = space.sample(6, np.random.default_rng(8))
    for make in (quick_auto, quick_combo):
        search = make(space)
        history = History.of(space, xs, [0.0, 1.0, 1e308, -1e308, 2.0, 3.0])
        found = search.suggest(history, search.initial_state(), np.random.default_rng(9))
        assert found.info["origin"] == "fallback"
        assert "magnitudes" in found.info["why"]


@pytest.mark.parametrize("make", [auto, combo])
def test_settings_tell_any_two_searchers_apart(make):
    space = mixed_space()
    plain = make(space)
    assert make(space).settings() == plain.settings()
    others = [
        dataclasses.replace(plain, n_initial=7),
        *(
            dataclasses.replace(plain, score=score)
            for score in (
                Improvement(LogExpectedImprovement(), best_observed),
                Improvement(LogExpectedImprovement(), best_predicted),
                Improvement(ProbabilityOfImprovement(1.0)),
                Improvement(ProbabilityOfImprovement(1.5)),
            )
        ),
        dataclasses.replace(plain, maximizer=LocalSearch(raw_samples=77)),
    ]
    settings = [json.dumps(search.settings()) for search in (plain, *others)]
    assert len(set(settings)) == len(settings)
    assert auto(space).settings() != combo(space).settings()


def test_a_setting_that_was_added_later_is_described_where_it_is_not_its_default():
    model = MAPGP(space_kernel(mixed_space()), mixed_space().join, Normal(0.0, 1.0), 0.0)
    described = describe_part(model)
    assert isinstance(described, dict)
    assert "tolerance" not in described  # so that a study of before is of the same method
    assert described["most_steps"] == 60
    changed = describe_part(dataclasses.replace(model, tolerance=1e-5))
    assert changed == described | {"tolerance": 1e-5}


@pytest.mark.parametrize(("name", "value"), [("n_initial", 0), ("n_starts", -1), ("n_initial", 2.5)])
def test_wrong_settings_are_refused_by_name(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        dataclasses.replace(auto(mixed_space()), **{name: value})


def test_methods_refuse_domains_without_graphs_by_name():
    for name in ("auto", "combo"):
        with pytest.raises(TypeError, match=r"expected a bostruct\.contracts\.Domain \(subclass it\), got object"):
            searcher(name, object())
    with pytest.raises(DomainError, match="needs a Space"):
        searcher("combo", Permutations(3))


def test_a_chance_of_success_needs_a_logarithm():
    plain = auto(mixed_space())
    with pytest.raises(ValueError, match=r"score: .* a logarithm.* got Improvement\(acquisition=ExpectedImprovement"):
        dataclasses.replace(plain.score, score=Improvement(ExpectedImprovement()))
    assert dataclasses.replace(plain.score, score=plain.score).is_logarithm


FAULTS = """
import resource
import numpy as np
import bostruct as bo

def count_faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        [np.ones((300, 300)) for _ in range(8)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

bo.minimize(lambda point: float(point["a"]), {name: bool for name in "abcdef"}, 11, seed=0, progress=False)
count_faults()
print(count_faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep or return memory as they will")
def test_a_model_has_freed_matrices_kept_for_the_next_ones():
    """The system clears pages that are given back and taken again: 20 rounds of 8 matrices of 176 pages."""
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1_000


def told_history(n: int, failed: int = 0) -> History:
    xs = PREDICTED.enumerate()[np.random.default_rng(0).permutation(96)[: n + failed]]
    values = 10.0 + xs @ np.array([3.0, -2.0, 1.0, 0.5, 0.0, 2.0])
    return History.of(PREDICTED, xs[:n], values[:n].tolist(), failed=xs[n:])


PREDICTED = bo.Space({f"x{i}": bool for i in range(5)} | {"o": range(3)})


@pytest.mark.parametrize("failed", [0, 5])
def test_any_point_is_predicted_and_its_chance_is_that_of_the_score(failed: int) -> None:
    search: Any = auto(PREDICTED)
    history, every, state = told_history(40, failed), PREDICTED.enumerate(), search.initial_state()
    found = search.predict(history, state, every, np.random.default_rng(0))
    assert (found.mean.shape, found.variance.shape, found.log_probability.shape) == ((1, 1, 96), (1, 1, 96), (96,))
    truth = 10.0 + every @ np.array([3.0, -2.0, 1.0, 0.5, 0.0, 2.0])
    assert np.corrcoef(found.mean[0, 0], truth)[0, 1] > 0.99
    appraised = search.appraise(history, state, np.random.default_rng(0)).prediction
    again = search.predict(history, state, history.completed, np.random.default_rng(0))
    np.testing.assert_allclose(again.mean[0], appraised.mean, rtol=1e-12)
    assert np.any(found.log_probability < 0.0) == bool(failed)
    if failed:
        posterior = search.surrogate.condition(history.completed, history.values, state["surrogate"], None)[0]
        scored = search.score(posterior, history, np.random.default_rng(0))
        np.testing.assert_allclose(scored(every), scored.scores[0](every) + found.log_probability, rtol=1e-5)


def test_predictions_far_above_the_median_are_in_the_users_units() -> None:
    history = told_history(60)
    values = history.values + 1e4 * np.asarray(history.completed)[:, 0] * np.asarray(history.completed)[:, 1]
    history = History.of(PREDICTED, history.completed, values)
    search: Any = auto(PREDICTED)
    found = search.predict(history, search.initial_state(), history.completed, np.random.default_rng(0))
    far = values > 5e3
    assert 5 < far.sum() < 30
    np.testing.assert_allclose(found.mean[0, 0][far], values[far], rtol=0.2)
    np.testing.assert_allclose(found.mean[0, 0][~far], values[~far], atol=1.0)


def test_what_is_known_of_the_noise_is_told_to_the_surrogate() -> None:
    """A value of much noise moves nothing, a value of none is predicted as it is."""
    search: Any = auto(PREDICTED)
    history = told_history(40)
    values = history.values.copy()
    values[3] -= 20.0
    far, near = (
        dataclasses.replace(history, values=values, objectives=values[:, None], variances=variances)
        for variances in (np.where(np.arange(40) == 3, 1e8, 1e-4), np.full(40, 1e-8))
    )
    state, rng = search.initial_state(), np.random.default_rng(0)
    truth = search.predict(history, state, history.completed, rng).mean[0, 0, 3]
    assert search.predict(far, state, history.completed, rng).mean[0, 0, 3] == pytest.approx(truth, abs=1.0)
    assert search.predict(near, state, history.completed, rng).mean[0, 0, 3] == pytest.approx(values[3], abs=1.0)
    assert search.appraise(near, state, rng).prediction.mean[0, 3] == pytest.approx(values[3], abs=1.0)
    points = [search.suggest(one, state, np.random.default_rng(1)).point.tolist() for one in (far, near)]
    assert points[0] != points[1]


def test_penalties_have_no_known_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of the constrained rank gets the noise of feasible values alone, one of all outputs the objective's."""
    told: list[list[float]] = []
    plain = MarginalizedGP.with_variances

    def record(surrogate: MarginalizedGP, variances: Any) -> MarginalizedGP:
        told.append(variances.tolist())
        return plain(surrogate, variances)

    monkeypatch.setattr(MarginalizedGP, "with_variances", record)
    violations = np.where(np.arange(4) < 2, [[1.0], [-1.0]], -1.0).T
    history = dataclasses.replace(told_history(4), variances=np.full(4, 0.25), violations=violations)
    search: Any = quick_combo(PREDICTED, n_initial=1)
    search.suggest(history, search.initial_state(), np.random.default_rng(0))
    assert np.array_equal(told[0], [np.nan, np.nan, 0.25, 0.25], equal_nan=True)
    every: Any = dataclasses.replace(search, surrogate=Outputs(search.surrogate, search.surrogate, 1, 2))
    every.appraise(history, every.initial_state(), np.random.default_rng(0))
    assert told[1] == [0.25] * 4


def test_nothing_is_predicted_before_a_trial_has_completed() -> None:
    search: Any = auto(PREDICTED)
    with pytest.raises(NumericalError, match="no trial has completed"):
        search.predict(told_history(0, 3), search.initial_state(), PREDICTED.enumerate(), np.random.default_rng(0))
