"""The laws of an acquisition function."""

from __future__ import annotations

import numpy as np

from bostruct.contracts import Acquisition, Array, Prediction
from bostruct.testing.common import assert_close
from bostruct.testing.gradient_laws import check_worth_gradient

TINY = 1e-12  # of 1 and of the worth: what rounding may cost


def check_acquisition(acquisition: Acquisition, rng: np.random.Generator, s: int = 3, m: int = 40) -> None:
    """Check every law of an acquisition function; raise AssertionError, which names the law.

    acquisition: worth of a prediction, larger is better.
    rng: draws predictions.
    s: posterior samples, at least 2.
    m: points, at least 2.
    """
    check_worth_gradient(acquisition, rng)
    assert isinstance(acquisition.is_logarithm, bool), "is_logarithm is True or False"
    for spread in (1.0, 100.0):
        mean, variance = spread * rng.normal(size=(s, m)), spread**2 * rng.uniform(0.01, 2.0, size=(s, m))
        prediction = Prediction(_freeze(mean), _freeze(variance))
        incumbent = spread * float(rng.normal())
        _check_form(acquisition, prediction, incumbent)
        _check_direction(acquisition, prediction, incumbent, spread)
        _check_bounds(acquisition, prediction, incumbent, spread, rng)
        _check_average(acquisition, acquisition(prediction, incumbent), rng)


def _freeze(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _check_form(acquisition: Acquisition, prediction: Prediction, incumbent: float) -> None:
    shape = prediction.mean.shape
    for what, found in (
        ("a worth", acquisition(prediction, incumbent)),
        ("a bound", acquisition.upper_bounds(prediction, incumbent)),
    ):
        assert found.shape == shape, f"{what} is (s, m): expected {shape}, got {found.shape}"
        assert not np.any(np.isnan(found)), f"{what} is a number"
    worth = acquisition(prediction, incumbent)
    alone = acquisition(Prediction(prediction.mean[:, :1], prediction.variance[:, :1]), incumbent)
    assert_close(alone, worth[:, :1], _rounding(worth[:, :1]), "the worth of a point does not depend on the others")


def _check_direction(acquisition: Acquisition, prediction: Prediction, incumbent: float, spread: float) -> None:
    mean, variance = prediction
    worth = acquisition(prediction, incumbent)
    for step in (0.01, 1.0):
        lower = acquisition(Prediction(mean - step * spread, variance), incumbent)
        assert _is_above(lower, worth), "a lower mean is never worth less: values are minimized"
        easier = acquisition(prediction, incumbent + step * spread)
        assert _is_above(easier, worth), "against a larger incumbent a point is never worth less"


def _check_bounds(
    acquisition: Acquisition, prediction: Prediction, incumbent: float, spread: float, rng: np.random.Generator
) -> None:
    worth, bounds = acquisition(prediction, incumbent), acquisition.upper_bounds(prediction, incumbent)
    assert np.all(bounds >= worth), "a bound is never below the worth of the same prediction"
    for step in (1e-3, 0.1, 3.0):
        shape = worth.shape
        mean = prediction.mean - step * spread * rng.uniform(size=shape) * (rng.random(shape) < 0.7)
        variance = prediction.variance + step * spread**2 * rng.uniform(size=shape) * (rng.random(shape) < 0.7)
        wider = acquisition.upper_bounds(Prediction(mean, variance), incumbent)
        law = "for lower means and larger variances"
        assert _is_above(wider, worth), f"a bound {law} is never below the worth"
        assert _is_above(wider, bounds), f"a bound {law} is never below the bound"


def _check_average(acquisition: Acquisition, worth: Array, rng: np.random.Generator) -> None:
    found = acquisition.average(_freeze(worth.copy()))
    assert found.shape == worth.shape[1:], f"an average is (m,): expected {worth.shape[1:]}, got {found.shape}"
    if acquisition.is_logarithm:
        top = worth.max(axis=0)
        expected, law = top + np.log(np.exp(worth - top).mean(axis=0)), "the logarithm of the average worth"
    else:
        expected, law = worth.mean(axis=0), "the average worth"
    assert_close(found, expected, 1e3 * _rounding(worth), f"average returns {law} over samples")
    mixed = acquisition.average(worth[rng.permutation(len(worth))])
    assert_close(mixed, found, 1e3 * _rounding(worth), "average does not depend on the order of samples")


def _is_above(found: Array, expected: Array) -> bool:
    return bool(np.all(found >= expected - TINY * (1.0 + np.abs(expected))))


def _rounding(worth: Array) -> float:
    return TINY * (1.0 + float(np.max(np.abs(worth))))
