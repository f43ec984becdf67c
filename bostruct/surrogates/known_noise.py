"""The noise of values, where it is known."""

from __future__ import annotations

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Array

MOST_NOISE = 1e12  # of standardized values: such a value tells nothing, and its reciprocal is still a number


def check_variances(variances: Array) -> Array:
    """Return variances of noise as an array (n,); raise ValueError for others than numbers from 0 on, or NaN.

    variances: of the noise of each value.
    """
    array = np.asarray(variances, dtype=np.float64)
    if array.ndim != 1 or np.any(array < 0.0) or np.any(np.isinf(array)):
        raise ValueError(
            f"variances: expected numbers of at least 0, or NaN, one for each value, got {short_repr(variances)}"
        )
    return array


def find_known_variances(variances: Array | None, n: int) -> Array | None:
    """Return the variances that are known of n values; None where none is.

    variances: as of `Surrogate.with_variances`, or None.
    n: number of values.

    Raises ValueError where there are not as many variances as values.
    """
    if variances is None:
        return None
    if len(variances) != n:
        raise ValueError(f"variances: expected one for each of {n} values, got {len(variances)}")
    return None if np.isnan(variances).all() else variances


def standardize_variances(variances: Array, scale: float) -> Array:
    """Return variances of noise on the scale of standardized values (n,), at most 1e12.

    variances: (n,), in the user's units squared; NaN where unknown.
    scale: standard deviation of the values, > 0.
    """
    with np.errstate(over="ignore"):
        return np.minimum(variances / scale / scale, MOST_NOISE)
