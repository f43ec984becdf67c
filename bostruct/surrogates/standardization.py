"""Standardization of values for models, to mean 0 and standard deviation 1, and of their noise, if it is known."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from bostruct.checks import SMALLEST_SCALE, has_spread, short_repr
from bostruct.contracts import Array

USUAL = 0.25  # quantile of the noise variances: noise that all values have in common belongs to their scale
LEAST_SHARE = 1e-6  # minimum variance of the objective over the variance of the values, if the rest is noise


class Standardized(NamedTuple):
    """Values on the model's scale; shift + scale * value is in the user's units.

    values: standardized values (n,).
    scale: standard deviation of the values, > 0; if it is 0, their distance from 0, or 1 if that is also 0.
    """

    values: Array
    shift: float
    scale: float


def standardize(values: Array, rounding: float = 0.0, variances: Array | None = None) -> Standardized:
    """Shift values to mean 0 and scale them to standard deviation 1.

    If all values are equal, the scale is their distance from 0, so that the unit does not matter, or 1 if they are 0.
    Known noise is excluded: the standard deviation of the objective is estimated by `_separate_noise`.

    values: finite values (n,), n at least 1.
    rounding: share of the largest absolute value up to which a standard deviation counts as 0, >= 0.
    variances: known noise variances of the values (n,), NaN if unknown; None if all are unknown.
    """
    shift = float(np.mean(values))
    if not has_spread(values, rounding):
        scale = abs(shift) if abs(shift) > SMALLEST_SCALE else 1.0
    elif variances is None:
        scale = float(np.std(values))
    else:
        known = np.nan_to_num(variances)
        usual = np.quantile(known, USUAL, method="lower")
        shift, scale = _separate_noise(values, np.maximum(known - usual, 0.0))
    return Standardized((values - shift) / scale, shift, scale)


MOST_NOISE = 1e12  # of standardized values: such a value contains no information, and the reciprocal is finite


def check_variances(variances: Array) -> Array:
    """Return noise variances as an array (n,); raise ValueError unless each is a finite number >= 0, or NaN."""
    array = np.asarray(variances, dtype=np.float64)
    if array.ndim != 1 or np.any(array < 0.0) or np.any(np.isinf(array)):
        raise ValueError(
            f"variances: expected numbers of at least 0, or NaN, one for each value, got {short_repr(variances)}"
        )
    return array


def find_known_variances(variances: Array | None, n: int) -> Array | None:
    """Return the known noise variances of n values; None if none is known.

    variances: variances as in `Surrogate.with_variances`, or None.
    n: number of values.

    Raises ValueError if there are not as many variances as values.
    """
    if variances is None:
        return None
    if len(variances) != n:
        raise ValueError(f"variances: expected one for each of {n} values, got {len(variances)}")
    return None if np.isnan(variances).all() else variances


def standardize_variances(variances: Array, scale: float) -> Array:
    """Return noise variances on the scale of standardized values (n,), at most 1e12.

    variances: noise variances in the user's units squared (n,), NaN if unknown.
    scale: standard deviation of the values, > 0.
    """
    with np.errstate(over="ignore"):
        return np.minimum(variances / scale / scale, MOST_NOISE)


def _separate_noise(values: Array, variances: Array) -> tuple[float, float]:
    """Return mean and standard deviation of the objective, by the estimator of Paule and Mandel (1982).

    The variance t solves sum (y - m)^2 / (t + v) = n for the mean m weighted by 1 / (t + v). Without noise, m and t are
    the mean and the variance of the values. The variance is at least its own standard error at t = 0, the smallest
    variance that the noise does not hide, without the most precise value, because the mean may follow that value.

    values: values that are not all equal (n,).
    variances: noise variances of the values (n,), at least 0.
    """
    unit = float(np.std(values))
    y, v = (values - np.mean(values)) / unit, standardize_variances(variances, unit)

    def weigh(t: float) -> tuple[float, float]:
        weights = 1.0 / (t + v)
        mean = float(weights @ y / weights.sum())
        return mean, float(weights @ np.square(y - mean)) - len(y)

    with np.errstate(divide="ignore", over="ignore"):  # without noise the standard error is 0
        precision = float(np.sum(np.square(1.0 / np.sort(v)[1:])))
    least = min(max(math.sqrt(2.0 / precision), LEAST_SHARE), 1.0)
    if weigh(1.0)[1] >= 0.0:  # almost no noise
        t = 1.0
    else:
        t = least
        if weigh(least)[1] > 0.0:
            t = float(scipy.optimize.root_scalar(lambda t: weigh(t)[1], bracket=(least, 1.0)).root)
    return float(np.mean(values)) + unit * weigh(t)[0], unit * math.sqrt(t)
