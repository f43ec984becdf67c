"""The scale on which models see values: mean 0 and standard deviation 1; and their noise, if it is known."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from bostruct.checks import SMALLEST_SCALE, has_spread, short_repr
from bostruct.contracts import Array

USUAL = 0.25  # quantile of the variances of noise: what all values have in common belongs to their scale
LEAST_SHARE = 1e-6  # of the variance of the values: that of the objective, if all else is noise


class Standardized(NamedTuple):
    """Values on the model's scale; shift + scale * value takes them back to the user's units.

    values: (n,).
    scale: their standard deviation, > 0; if they have none their distance from 0, and 1 if this is none.
    """

    values: Array
    shift: float
    scale: float


def standardize(values: Array, rounding: float = 0.0, variances: Array | None = None) -> Standardized:
    """Shift values to mean 0 and scale them to standard deviation 1.

    Values without one have the scale of their distance from 0, so that the unit does not matter; at 0 it is 1. Known
    noise is no part of the standard deviation: it is that of the objective, as of `_separate_noise`.

    values: (n,), finite, n at least 1.
    rounding: the share of the largest absolute value up to which a standard deviation counts as none, >= 0.
    variances: known variances of the noise of the values (n,), NaN if unknown; None if all are.
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


MOST_NOISE = 1e12  # of standardized values: such a value tells nothing, and its reciprocal is still a number


def check_variances(variances: Array) -> Array:
    """Return variances of noise as an array (n,); raise ValueError for others than numbers from 0 on, or NaN."""
    array = np.asarray(variances, dtype=np.float64)
    if array.ndim != 1 or np.any(array < 0.0) or np.any(np.isinf(array)):
        raise ValueError(
            f"variances: expected numbers of at least 0, or NaN, one for each value, got {short_repr(variances)}"
        )
    return array


def find_known_variances(variances: Array | None, n: int) -> Array | None:
    """Return the variances that are known of n values; None if none is.

    variances: as of `Surrogate.with_variances`, or None.
    n: number of values.

    Raises ValueError if there are not as many variances as values.
    """
    if variances is None:
        return None
    if len(variances) != n:
        raise ValueError(f"variances: expected one for each of {n} values, got {len(variances)}")
    return None if np.isnan(variances).all() else variances


def standardize_variances(variances: Array, scale: float) -> Array:
    """Return variances of noise on the scale of standardized values (n,), at most 1e12.

    variances: (n,), in the user's units squared; NaN if unknown.
    scale: standard deviation of the values, > 0.
    """
    with np.errstate(over="ignore"):
        return np.minimum(variances / scale / scale, MOST_NOISE)


def _separate_noise(values: Array, variances: Array) -> tuple[float, float]:
    """Return mean and standard deviation of the objective, by the estimator of Paule and Mandel (1982).

    The variance t solves sum (y - m)^2 / (t + v) = n, with m the mean weighted by 1 / (t + v); without noise these are
    the mean and the variance of the values. It is at least what the noise lets one see: its own standard error at 0,
    without the most precise value, which the mean may follow.

    values: (n,), with a spread.
    variances: of their noise (n,), at least 0.
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
    if weigh(1.0)[1] >= 0.0:  # no noise to speak of
        t = 1.0
    else:
        t = least
        if weigh(least)[1] > 0.0:
            t = float(scipy.optimize.root_scalar(lambda t: weigh(t)[1], bracket=(least, 1.0)).root)
    return float(np.mean(values)) + unit * weigh(t)[0], unit * math.sqrt(t)
