"""The scale on which models see values: mean 0 and standard deviation 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bostruct.checks import SMALLEST_SCALE, has_spread
from bostruct.contracts import Array


class Standardized(NamedTuple):
    """Values on the model's scale; shift + scale * value takes them back to the user's units.

    values: (n,).
    shift: the mean of the given values.
    scale: their standard deviation, > 0; where they have none their distance from 0, and 1 where this is none.
    """

    values: Array
    shift: float
    scale: float


def standardize(values: Array, rounding: float = 0.0) -> Standardized:
    """Shift values to mean 0 and scale them to standard deviation 1.

    Values without one have the scale of their distance from 0, so that the unit does not matter; at 0 it is 1.

    values: (n,), finite, n at least 1.
    rounding: the share of the largest absolute value up to which a standard deviation counts as none, >= 0.
    """
    shift = float(np.mean(values))
    scale = float(np.std(values)) if has_spread(values, rounding) else _distance_from_0(shift)
    return Standardized((values - shift) / scale, shift, scale)


def _distance_from_0(shift: float) -> float:
    return abs(shift) if abs(shift) > SMALLEST_SCALE else 1.0
