"""The laws of an acquisition function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from bostruct.checks import check_part
from bostruct.contracts import AcquisitionFunction, Array, Prediction
from bostruct.testing.common import assert_close, check_array, names_part
from bostruct.testing.gradient_laws import check_worth_gradient

Law: TypeAlias = Callable[[AcquisitionFunction, Prediction, float, np.random.Generator], None]

UNLESS = ", since values are minimized (minimizes=False for an acquisition that looks for something else)"
TINY = 1e-12  # of 1 and of the worth: what rounding may cost


@names_part
def check_acquisition(
    acquisition: AcquisitionFunction, rng: np.random.Generator, s: int = 3, m: int = 40, minimizes: bool = True
) -> None:
    """Check every law of an acquisition function (`LAWS`), and its derivatives; raise AssertionError.

    acquisition: worth of a prediction, larger is better.
    rng: draws predictions.
    s: posterior samples, at least 2.
    m: points, at least 2.
    minimizes: True where a lower mean, and a larger incumbent, never make a point worth less; False for an acquisition
        function that looks for something else than small values, such as a level.
    """
    check_worth_gradient(check_part("acquisition", acquisition, AcquisitionFunction), rng)
    assert isinstance(acquisition.is_logarithm, bool), "is_logarithm is True or False"
    for spread in (1.0, 100.0):
        mean, variance = spread * rng.normal(size=(s, m)), spread**2 * rng.uniform(0.01, 2.0, size=(s, m))
        prediction = Prediction(_freeze(mean), _freeze(variance))
        incumbent = spread * float(rng.normal())
        if minimizes:
            _check_direction(acquisition, prediction, incumbent, spread)
        for law in LAWS.values():
            law(acquisition, prediction, incumbent, rng)


def _freeze(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _check_form(
    acquisition: AcquisitionFunction, prediction: Prediction, incumbent: float, rng: np.random.Generator
) -> None:
    del rng
    shape = prediction.mean.shape
    for what, found in (
        ("a worth", acquisition(prediction, incumbent)),
        ("a bound", acquisition.upper_bounds(prediction, incumbent)),
    ):
        found = check_array(found, 2, f"{what} is (s, m)")
        assert found.shape == shape, f"{what} is (s, m): expected {shape}, got {found.shape}"
        assert not np.any(np.isnan(found)), f"{what} is a number"
    worth = acquisition(prediction, incumbent)
    alone = acquisition(Prediction(prediction.mean[:, :1], prediction.variance[:, :1]), incumbent)
    assert_close(alone, worth[:, :1], _rounding(worth[:, :1]), "the worth of a point does not depend on the others")


def _check_direction(acquisition: AcquisitionFunction, prediction: Prediction, incumbent: float, spread: float) -> None:
    mean, variance = prediction
    worth = acquisition(prediction, incumbent)
    for step in (0.01, 1.0):
        lower = acquisition(Prediction(mean - step * spread, variance), incumbent)
        assert _is_above(lower, worth), f"a lower mean is never worth less{UNLESS}"
        easier = acquisition(prediction, incumbent + step * spread)
        assert _is_above(easier, worth), f"against a larger incumbent a point is never worth less{UNLESS}"


def _check_bounds(
    acquisition: AcquisitionFunction, prediction: Prediction, incumbent: float, rng: np.random.Generator
) -> None:
    spread = float(np.std(prediction.mean))
    worth, bounds = acquisition(prediction, incumbent), acquisition.upper_bounds(prediction, incumbent)
    law = "upper_bounds are never below the worth of the same prediction"
    assert np.all(bounds >= worth), f"{law}: {_first_below(bounds, worth)}"
    for step in (1e-3, 0.1, 3.0):
        shape = worth.shape
        mean = prediction.mean - step * spread * rng.uniform(size=shape) * (rng.random(shape) < 0.7)
        variance = prediction.variance + step * spread**2 * rng.uniform(size=shape) * (rng.random(shape) < 0.7)
        wider = acquisition.upper_bounds(Prediction(mean, variance), incumbent)
        law = "upper_bounds of lower means and larger variances are never below the worth"
        assert _is_above(wider, worth), f"{law}: {_first_below(wider, worth)}"


def _check_average(
    acquisition: AcquisitionFunction, prediction: Prediction, incumbent: float, rng: np.random.Generator
) -> None:
    worth = acquisition(prediction, incumbent)
    found = check_array(acquisition.average(_freeze(worth.copy())), 1, "average returns one worth a point (m,)")
    assert found.shape == worth.shape[1:], f"an average is (m,): expected {worth.shape[1:]}, got {found.shape}"
    expected = AcquisitionFunction.average(acquisition, worth)
    law = "the logarithm of the average worth" if acquisition.is_logarithm else "the average worth"
    assert_close(found, expected, 1e3 * _rounding(worth), f"average returns {law} over samples")
    mixed = acquisition.average(worth[rng.permutation(len(worth))])
    assert_close(mixed, found, 1e3 * _rounding(worth), "average does not depend on the order of samples")


def _check_with_noise(
    acquisition: AcquisitionFunction, prediction: Prediction, incumbent: float, rng: np.random.Generator
) -> None:
    noise = prediction.variance[:, :1] * rng.uniform(size=(len(prediction.mean), 1))
    noisy = check_part("with_noise", acquisition.with_noise(_freeze(noise)), AcquisitionFunction)
    _check_form(noisy, prediction, incumbent, rng)
    assert noisy.is_logarithm == acquisition.is_logarithm, "with_noise returns a function on the same scale"


def _is_above(found: Array, expected: Array) -> bool:
    return not np.any(_below(found, expected))


def _below(found: Array, expected: Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    finite = np.where(np.isfinite(expected), expected, 0.0)
    return ~((found >= expected) | (np.isfinite(expected) & (found >= finite - TINY * (1.0 + np.abs(finite)))))


def _first_below(found: Array, expected: Array) -> str:
    place = tuple(int(i) for i in np.argwhere(~(found >= expected))[0])
    return f"expected at least {expected[place]}, got {found[place]} at {place}"


def _rounding(worth: Array) -> float:
    return TINY * (1.0 + float(np.max(np.abs(worth), where=np.isfinite(worth), initial=0.0)))


LAWS: dict[str, Law] = {  # of each member of the base, beside the direction and the derivatives
    "__call__": _check_form,
    "upper_bounds": _check_bounds,
    "average": _check_average,
    "with_noise": _check_with_noise,
}
