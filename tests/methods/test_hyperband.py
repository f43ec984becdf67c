"""Hyperband, halving and Hyperband with a model: the laws, what they promote, and that the model is worth its cost."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import DomainError
from bostruct.methods.published import hyperband, model_based_hyperband, successive_halving
from bostruct.searchers.scores import Feasible, best_predicted
from bostruct.surrogates.target_fidelity import AtTargetFidelity
from bostruct.testing.searcher_laws import check_searcher
from tests.exhausting import check_exhausts

TRAINED = bo.Space({"rate": [0.1, 0.01, 0.001], "width": range(8), "epochs": bo.Fidelity([1, 3, 9])})
FEW = bo.Space({"width": range(4), "kind": bool, "epochs": bo.Fidelity([1, 3])})
WIDE = bo.Space({f"x{i}": range(6) for i in range(6)} | {"epochs": bo.Fidelity([1, 3, 9, 27])})


def trained(point):
    return abs(point["width"] - 5) + point["rate"] + 3.0 / point["epochs"]


def trained_few(point):
    return point["width"] + point["kind"] - 0.1 * point["epochs"]


def misled(point):
    """What few epochs say is what many say, and something that has nothing to do with it."""
    xs = [point[f"x{i}"] for i in range(6)]
    value = sum((x - 2 * i % 6) ** 2 * (1 + i) for i, x in enumerate(xs)) / 10.0
    return value + 3.0 / point["epochs"] * (1.0 + 0.3 * np.sin(7 * sum(x * (i + 1) for i, x in enumerate(xs))))


@pytest.mark.parametrize("method", ["hyperband", "successive-halving"])
def test_laws_without_a_model(method):
    check_searcher(methods.METHODS[method], TRAINED, trained, np.random.default_rng(0), n_trials=24)
    check_exhausts(methods.METHODS[method], FEW, trained_few, np.random.default_rng(0))


def test_hyperband_promotes_the_best_third_and_begins_at_every_level():
    study = bo.Study(bo.Space({"x": range(400), "epochs": bo.Fidelity([1, 3, 9])}), method="hyperband", seed=0)
    study.optimize(lambda p: abs(p["x"] - 200) + 1.0 / p["epochs"], 150)
    by_point: dict[int, list[int]] = {}
    for trial in study.trials:
        by_point.setdefault(trial.point["x"], []).append(trial.point["epochs"])
    first = [epochs[0] for epochs in by_point.values()]
    shares = [first.count(epochs) / len(first) for epochs in (1, 3, 9)]
    wanted = np.array([9 * 3 / 3, 3 * 3 / 2, 1 * 3 / 1])
    np.testing.assert_allclose(shares, wanted / wanted.sum(), atol=0.05)
    began = [x for x, epochs in by_point.items() if epochs[0] == 1]
    raised = [x for x in began if 3 in by_point[x]]
    assert len(began) // 3 <= len(raised) <= len(began) // 2  # of those told so far the best third, whenever asked
    assert statistics.fmean(abs(x - 200) for x in raised) < statistics.fmean(abs(x - 200) for x in began) / 2
    assert study.result.where(lambda p: p["epochs"] == 9).best_value >= study.best_value


def test_successive_halving_begins_at_the_lowest_level_alone():
    result = bo.minimize(trained, TRAINED, 50, method="successive-halving", seed=3)
    seen = set()
    for trial in result.trials:
        key = (trial.point["rate"], trial.point["width"])
        assert key in seen or trial.point["epochs"] == 1 or trial.origin == "fallback"
        seen.add(key)


def test_laws_with_a_model():
    make = methods.METHODS["model-based-hyperband"]
    check_searcher(make, TRAINED, trained, np.random.default_rng(0), n_trials=14)
    check_exhausts(make, FEW, trained_few, np.random.default_rng(0))


def spent(method, seed, budget=27 * 12):
    """The best value at the top after so many epochs."""
    with bo.Study(WIDE, method=method, seed=seed) as study:
        while budget > 0:
            trial = study.ask()
            budget -= trial.point["epochs"]
            study.tell(trial, misled(trial.point))
        return study.result.where(lambda point: point["epochs"] == 27).best_value


@pytest.mark.slow
def test_it_beats_hyperband_at_the_same_cost():
    ours, theirs = ([spent(method, seed) for seed in range(3)] for method in ("model-based-hyperband", "hyperband"))
    assert np.mean(ours) < 0.5 * np.mean(theirs)


@pytest.mark.parametrize("workers", [1, 2])
def test_architectures_with_epochs_are_searched(workers):
    domain = bo.joint_domain({"network": bo.cnn_domain(), "training": {"epochs": bo.Fidelity([1, 3])}})

    def size(point):  # goes to workers by value: they need not import this module
        return len(point["network"]) + 1.0 / point["training"]["epochs"]

    result = bo.minimize(size, domain, 16, method="model-based-hyperband", seed=0, workers=workers, progress=False)
    assert result.n_completed == 16
    assert {trial.point["training"]["epochs"] for trial in result.trials} == {1, 3}


def test_the_model_is_that_of_auto_asked_at_the_top():
    proposals = model_based_hyperband(TRAINED).proposals
    assert isinstance(proposals.surrogate, AtTargetFidelity)
    assert proposals.surrogate.surrogate.__class__ is methods.auto(TRAINED).surrogate.__class__
    improvement = proposals.score.score if isinstance(proposals.score, Feasible) else proposals.score
    assert improvement.incumbent is best_predicted
    assert (hyperband(TRAINED).proposals, hyperband(TRAINED).halving) == (None, False)
    assert successive_halving(TRAINED).halving


def test_a_model_predicts_at_the_top_in_the_units_of_the_user() -> None:
    space = bo.Space({"x": range(6), "y": range(6), "epochs": bo.Fidelity([1, 3])})

    def loss(point: dict[str, int]) -> float:
        far = 1e4 if point["x"] == 5 else 0.0  # which the model's values are compressed for
        return point["x"] + point["y"] + 10.0 / point["epochs"] + far

    study = bo.Study(space, method="model-based-hyperband", seed=0)
    for point in ({"x": x, "y": y, "epochs": 3} for x in range(6) for y in range(0, 6, 2)):
        study.add(point, loss(point))
    study.optimize(loss, 12)
    at_all = [[{"x": x, "y": 2, "epochs": epochs} for x in range(6)] for epochs in (1, 3)]
    low, high = (study.predict(points) for points in at_all)
    np.testing.assert_array_equal(low.mean, high.mean)
    np.testing.assert_allclose(high.mean, [loss(point) for point in at_all[1]], rtol=0.3, atol=1.5)
    assert not hyperband(space).has_model
    plain = bo.Study(space, method="hyperband", seed=0)
    plain.optimize(loss, 3)
    with pytest.raises(bo.BostructError, match="predict: hyperband has no model"):
        plain.predict(at_all[0])


TWO = bo.Space({"a": bo.Fidelity([1, 2]), "b": bo.Fidelity([1, 2])})


@pytest.mark.parametrize("make", [hyperband, successive_halving, model_based_hyperband])
@pytest.mark.parametrize(
    ("domain", "found"), [(TWO, "found a, b"), (bo.Space({"x": bool}), "found none"), (bo.mlp_domain(), "found none")]
)
def test_a_domain_without_exactly_one_fidelity_is_refused(make, domain, found):
    with pytest.raises(DomainError, match=f"one Fidelity variable, .*{found}"):
        make(domain)


def test_a_model_proposes_reals():
    space = bo.Space({"r": bo.Real(0.0, 1.0), "epochs": bo.Fidelity([1, 3])})
    result = bo.minimize(lambda p: (p["r"] - 0.3) ** 2 / p["epochs"], space, 30, method="model-based-hyperband", seed=0)
    assert abs(result.best_point["r"] - 0.3) < 0.1
