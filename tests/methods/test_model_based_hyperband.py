"""Hyperband with a model of all fidelities: the laws, where proposals go, and that the model is worth its cost."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.domains.fidelity import FidelityLevels
from bostruct.surrogates.target_fidelity import AtTargetFidelity
from tests.laws.searcher_laws import check_exhausts, check_searcher

TRAINED = bo.Space({"rate": [0.1, 0.01, 0.001], "width": range(8), "epochs": bo.Fidelity([1, 3, 9])})
WIDE = bo.Space({f"x{i}": range(6) for i in range(6)} | {"epochs": bo.Fidelity([1, 3, 9, 27])})


def trained(point):
    return abs(point["width"] - 5) + point["rate"] + 3.0 / point["epochs"]


def misled(point):
    """What few epochs say is what many say, and something that has nothing to do with it."""
    xs = [point[f"x{i}"] for i in range(6)]
    value = sum((x - 2 * i % 6) ** 2 * (1 + i) for i, x in enumerate(xs)) / 10.0
    return value + 3.0 / point["epochs"] * (1.0 + 0.3 * np.sin(7 * sum(x * (i + 1) for i, x in enumerate(xs))))


def test_laws():
    make = methods.METHODS["model-based-hyperband"]
    check_searcher(make, TRAINED, trained, np.random.default_rng(0), n_trials=18)
    small = bo.Space({"width": range(4), "kind": bool, "epochs": bo.Fidelity([1, 3])})
    check_exhausts(make, small, trained_small, np.random.default_rng(0))


def trained_small(point):
    return point["width"] + point["kind"] - 0.1 * point["epochs"]


def test_the_model_is_asked_about_the_top():
    levels = FidelityLevels(TRAINED)
    rng = np.random.default_rng(0)
    xs = TRAINED.sample(20, rng)
    values = np.array([trained(TRAINED.present(x)) for x in xs])
    surrogate = AtTargetFidelity(methods.auto(TRAINED).surrogate, levels.at_target_fidelity)
    posterior, *_ = surrogate.condition(xs, values, surrogate.initial_state(), rng)
    some = TRAINED.sample(12, rng)
    low, high = (np.array([levels.at_level(x, level) for x in some]) for level in (0, 2))
    np.testing.assert_array_equal(posterior.predict(low).mean, posterior.predict(high).mean)
    believed = posterior.believe(low[:3])
    assert (believed.predict(low).variance <= posterior.predict(low).variance + 1e-9).all()


def spent(method, seed, budget=27 * 12):
    """The best value at the top after so many epochs."""
    with bo.Study(WIDE, method=method, seed=seed) as study:
        while budget > 0:
            trial = study.ask()
            budget -= trial.point["epochs"]
            study.tell(trial, misled(trial.point))
        return study.result.where(lambda point: point["epochs"] == 27).best_value


def test_it_beats_hyperband_at_the_same_cost():
    ours, theirs = ([spent(method, seed) for seed in range(5)] for method in ("model-based-hyperband", "hyperband"))
    assert np.mean(ours) < 0.5 * np.mean(theirs)


@pytest.mark.parametrize("workers", [1, 3])
def test_architectures_with_epochs_are_searched(workers):
    domain = bo.joint_domain({"network": bo.cnn_domain(), "training": {"epochs": bo.Fidelity([1, 3])}})
    result = bo.minimize(size, domain, 16, method="model-based-hyperband", seed=0, workers=workers, progress=False)
    assert result.n_completed == 16
    assert {trial.point["training"]["epochs"] for trial in result.trials} == {1, 3}


def size(point):
    return len(point["network"]) + 1.0 / point["training"]["epochs"]
