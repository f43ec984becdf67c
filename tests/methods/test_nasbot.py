"""NASBOT: the laws of a searcher, what a suggestion costs, beliefs, workers, resumed runs, its worth."""

from __future__ import annotations

import dataclasses
import os
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import bostruct as bo
from bostruct import methods
from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import ExpectedImprovement
from bostruct.contracts import DomainError
from bostruct.kernels.otmann import distance, kernel
from bostruct.kernels.otmann.settings import PAPER
from bostruct.methods import defaults
from bostruct.problems.landscape import landscape
from bostruct.problems.registry import load
from bostruct.searchers import regret
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.scores import AcquisitionScore
from bostruct.study.history import History
from bostruct.study.loop import ThroughputEstimate
from bostruct.study.threads import ThreadLimit
from bostruct.testing.searcher_laws import check_searcher
from tests.architectures import GOLDEN, SMALL_CNN, SMALL_MLP


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with ThreadLimit(1)():
        yield


def objective(x: bo.Architecture) -> float:
    return abs(len(x) - 12) + abs(sum(layer.units or 0 for layer in x.layers) - 200) / 50


def small(search: BayesianSearch) -> BayesianSearch:
    few = dataclasses.replace(search.maximizer, least=12, most=12)
    return dataclasses.replace(search, maximizer=few, n_initial=4)


def quick(domain: Any) -> BayesianSearch:
    return small(methods.nasbot(domain))


def quick_marginalized(domain: Any) -> BayesianSearch:
    search = small(methods.nasbot(domain, fit=methods.marginalized_surrogate))
    fitted = search.surrogate.surrogate
    few = dataclasses.replace(fitted, surrogate=dataclasses.replace(fitted.surrogate, burn_in=2, samples=2))
    return dataclasses.replace(search, surrogate=dataclasses.replace(search.surrogate, surrogate=few))


def quick_published(domain: Any) -> BayesianSearch:
    search = small(methods.published_nasbot(domain))
    few = dataclasses.replace(search.surrogate.surrogate, burn_in=2, samples=2)
    return dataclasses.replace(search, surrogate=dataclasses.replace(search.surrogate, surrogate=few))


def make_searchers_cheap(monkeypatch):
    """Let each of twenty searchers draw few networks for its scale, and for bounds of the regret."""
    monkeypatch.setattr(defaults, "N_SCALE_POINTS", 8)
    for name, value in (("N_RANDOM", 20), ("N_CANDIDATES", 10), ("ROUNDS", 1), ("CENTERS", 1), ("N_AROUND", 5)):
        monkeypatch.setattr(regret, name, value)


@pytest.mark.parametrize(
    "make", [quick_marginalized, *(pytest.param(make, marks=pytest.mark.slow) for make in (quick, quick_published))]
)
def test_laws_of_a_searcher(make, monkeypatch):
    make_searchers_cheap(monkeypatch)
    check_searcher(make, SMALL_CNN, objective, np.random.default_rng(0), n_trials=7)


def test_laws_on_perceptrons(monkeypatch):
    make_searchers_cheap(monkeypatch)
    check_searcher(quick, SMALL_MLP, objective, np.random.default_rng(1), n_trials=7)


def some_data(n: int, n_running: int, seed: int = 2) -> History:
    xs = list({x.fingerprint: x for x in SMALL_CNN.sample(2 * (n + n_running), np.random.default_rng(seed))}.values())
    told = xs[:n]
    return History.of(SMALL_CNN, told, [objective(x) for x in told], running=xs[n : n + n_running])


@pytest.mark.parametrize("n_failed", [0, 3])
def test_a_candidate_costs_its_distances_to_the_points_told_and_running(monkeypatch, n_failed):
    """And those that failed, where any did: the model of failures asks for no distance again."""
    pairs = []

    def counting(xs, ys=None, settings=None):
        pairs.append(len(xs) * (len(xs) - 1) // 2 if ys is None else len(xs) * len(ys))
        return distance.otmann_distances(xs, ys, settings)

    search = methods.nasbot(SMALL_CNN)
    monkeypatch.setattr(kernel, "otmann_distances", counting)
    history = some_data(20 + n_failed, 3)
    failed, told = history.completed[:n_failed], history.completed[n_failed:]
    history = History.of(SMALL_CNN, told, history.values[n_failed:], history.running, failed)
    found = search.suggest(history, search.initial_state(), np.random.default_rng(3))
    known = 20 + 3 + n_failed
    new = found.info["candidates"] - 20  # the elite that it started from is known; the pool need not be
    assert found.info["origin"] == "model"
    assert sum(pairs) <= known * (known - 1) // 2 + new * known
    pairs.clear()
    search.suggest(history, found.state, np.random.default_rng(4))
    assert sum(pairs) <= (115 + len(SMALL_CNN.pool)) * known


def test_the_model_of_failures_learns_from_100_too():
    assert methods.nasbot(SMALL_CNN).score.success.most == 100


def test_running_trials_are_believed_in_the_variance_alone():
    history = some_data(15, 3)
    search = methods.nasbot(SMALL_CNN)
    posterior, _, _ = search.surrogate.condition(history.completed, history.values, None, np.random.default_rng(4))
    believed = posterior.believe(history.running)
    candidates = [*SMALL_CNN.sample(10, np.random.default_rng(5)), *history.running]
    before, after = posterior.predict(candidates), believed.predict(candidates)
    np.testing.assert_allclose(after.mean, before.mean, rtol=1e-9)
    assert np.all(after.variance <= before.variance * (1 + 1e-9))
    assert np.all(after.variance[:, -3:] < 0.2 * before.variance[:, -3:])
    incumbent = float(history.values.min())
    worth = [AcquisitionScore(p, ExpectedImprovement(), incumbent)(candidates) for p in (posterior, believed)]
    assert np.all(worth[1] <= worth[0] * (1 + 1e-6) + 1e-12)


def test_dedup_is_by_fingerprint_not_by_distance():
    """s1 and s2 are zero apart under OTMANN, and different: one seen does not forbid the other."""
    match = bo.otmann(GOLDEN["s1"], GOLDEN["s2"])
    assert np.all(match.distance < 1e-9)

    class Known:
        def __call__(self, xs: Any) -> np.ndarray:
            return -match.distance[0] * np.ones(len(xs))

    found, _ = Evolution((GOLDEN["s1"], GOLDEN["s2"]))(Known(), SMALL_CNN, [], np.random.default_rng(6))
    assert {GOLDEN["s1"], GOLDEN["s2"]} <= set(found)
    history = History.of(SMALL_CNN, [GOLDEN["s1"]], [1.0])
    assert GOLDEN["s2"].fingerprint not in history.seen


def test_info_says_what_a_person_wants_to_see():
    search = methods.nasbot(SMALL_CNN)
    info = search.suggest(some_data(12, 1), search.initial_state(), np.random.default_rng(7)).info
    expected = {"fit", "noise", "largest_jitter", "smallest_eigenvalue", "negative_share", "candidates", "generations"}
    assert expected <= info.keys()
    assert info["smallest_eigenvalue"] > -1e-9


@pytest.mark.parametrize(("most", "learned_from"), [(None, None), (50, 50)])
def test_of_many_trials_it_learns_from_the_best_the_last_and_those_near_the_best(most, learned_from):
    fit = partial(methods.map_surrogate, most=most)
    with bo.Study(SMALL_CNN, method=small(methods.nasbot(SMALL_CNN, fit=fit)), seed=0) as study:
        for x in SMALL_CNN.sample(60, np.random.default_rng(0)):
            study.add(x, objective(x))
        assert study.ask().info.get("learned_from") == learned_from


def test_the_model_learns_from_100_by_default_and_from_fewer_than_40_never():
    fitted = methods.nasbot(SMALL_CNN).surrogate.surrogate.surrogate
    assert (fitted.most, fitted.latest) == (100, 20)
    with pytest.raises(ValueError, match="most: expected at least 40, got 39"):
        methods.nasbot(SMALL_CNN, fit=partial(methods.map_surrogate, most=39))


def test_settings_tell_searches_apart():
    made = [
        methods.nasbot(SMALL_CNN),
        methods.nasbot(SMALL_CNN, fit=methods.marginalized_surrogate),
        methods.nasbot(SMALL_CNN, settings=PAPER),
        methods.published_nasbot(SMALL_CNN),
        dataclasses.replace(methods.nasbot(SMALL_CNN), maximizer=Evolution(elite=3)),
    ]
    settings = [search.settings() for search in made]
    assert all(a != b for i, a in enumerate(settings) for b in settings[:i])
    assert methods.nasbot(SMALL_CNN).settings() == settings[0]


def test_auto_on_architectures_is_nasbot_and_other_domains_are_refused():
    assert methods.auto(SMALL_MLP).settings() == methods.nasbot(SMALL_MLP).settings()
    with pytest.raises(DomainError, match="architectures, and points of Space do not represent"):
        methods.nasbot(bo.Space({"a": bool}))
    with pytest.raises(DomainError, match="Space, got ArchitectureDomain"):
        methods.combo(SMALL_CNN)


def test_four_workers_of_different_speed_and_the_record_of_what_they_did(tmp_path, monkeypatch):
    """A study that replays the order of asks and tells asks for the same points; so does the resumed one."""

    def slow_and_failing(x: bo.Architecture) -> float:  # goes to workers by value: they need not import this module
        time.sleep(0.02 * (len(x) % 5))  # small networks take longer than large ones, and some fail
        if len(x) % 7 == 0:
            raise ValueError("no such network")
        return abs(len(x) - 12) + abs(sum(layer.units or 0 for layer in x.layers) - 200) / 50

    monkeypatch.setattr(
        ThroughputEstimate, "is_behind", False
    )  # so that each point has a fit of its own, as in the replay
    method = dataclasses.replace(quick(SMALL_MLP), n_initial=8)
    asked: list[int] = []  # how many had been asked for when each trial was told
    with bo.Study(SMALL_MLP, method=method, seed=3, storage=tmp_path / "runs.db") as study:
        study.optimize(slow_and_failing, 16, workers=4, callbacks=[lambda study, _: asked.append(len(study.trials))])
        trials, order = study.trials, study.result.order
    assert len({trial.point for trial in trials}) == 16
    assert {trial.status for trial in trials} == {"completed", "failed"}
    assert {trial.origin for trial in trials} == {"initial", "model"}
    replay = bo.Study(SMALL_MLP, method=method, seed=3)
    for number, before in zip(order, asked, strict=True):
        while len(replay.trials) < before:
            replay.ask()
        replay.tell(number, trials[number].value, failed=trials[number].reason)
    assert [trial.point for trial in replay.trials] == [trial.point for trial in trials]
    with bo.Study(SMALL_MLP, method=method, seed=3, storage=tmp_path / "runs.db") as resumed:
        assert resumed.result.order == order
        assert resumed.ask().point == replay.ask().point


def test_maximize_as_users_call_it():
    result = bo.maximize(
        lambda x: -abs(len(x) - 12), bo.cnn_domain(), method="nasbot", n_trials=14, workers=2, seed=0, progress=False
    )
    assert [trial.status for trial in result.trials] == ["completed"] * 14
    assert [trial.origin for trial in result.trials] == ["initial"] * 12 + ["model"] * 2
    assert isinstance(result.best_point, bo.Architecture)


def best(method: Any, seed: int, n_trials: int, problem: Any = None) -> float:
    problem = landscape() if problem is None else problem
    return bo.minimize(problem, problem.space, n_trials, method=method, seed=seed, progress=False).best_value


def test_beats_the_random_walk_on_the_landscape_beyond_chance():
    """With few candidates; paired by seed, all from the same pool: a sign test at the level of 5 %."""
    full = methods.nasbot(landscape().space)
    search = dataclasses.replace(full, maximizer=dataclasses.replace(full.maximizer, least=40, most=40))
    wins = sum(best(search, seed, 22) < best("random", seed, 22) for seed in range(5))
    assert binomtest(wins, 5, alternative="greater").pvalue < 0.05


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_beats_evolution_and_random_on_the_landscape():
    """20 paired seeds of 60 trials, at the level of 1 %."""
    found = [best("nasbot", seed, 60) for seed in range(20)]
    for other in ("evolution", "regularized-evolution", "random"):
        wins = sum(value < best(other, seed, 60) for seed, value in enumerate(found))
        assert binomtest(wins, 20, alternative="greater").pvalue < 0.01, other


@pytest.mark.slow
@pytest.mark.skipif("BOSTRUCT_DATA" not in os.environ, reason="BOSTRUCT_DATA does not name a folder of tables")
@pytest.mark.parametrize("other", ["evolution", "regularized-evolution", "random"])
def test_beats_evolution_and_random_on_nasbench201(other):
    """20 paired seeds, at the level of 5 %; many runs of both end at the optimum, which counts for neither."""
    problem = load(f"nasbench201:file={os.environ['BOSTRUCT_DATA']}/nasbench201/nasbench201.npz")
    found = np.array([[best(name, seed, 40, problem) for name in ("nasbot", other)] for seed in range(20)])
    wins, losses = (int(np.sum(sign * (found[:, 1] - found[:, 0]) > 0)) for sign in (1, -1))
    assert binomtest(wins, wins + losses, alternative="greater").pvalue < 0.05


def test_64_evaluations_are_in_flight_and_told_in_any_order():
    with bo.Study(SMALL_CNN, method=quick(SMALL_CNN), seed=0) as study:
        running = [study.ask() for _ in range(64)]
        rng = np.random.default_rng(0)
        for _ in range(20):
            trial = running.pop(int(rng.integers(len(running))))
            study.tell(trial, objective(trial.point))
            running.append(study.ask())
        points = [trial.point.fingerprint for trial in study.trials]
        assert len(set(points)) == len(points) == 84
        assert study.trials[-1].origin == "model"
        assert sum(trial.status == "running" for trial in study.trials) == 64
