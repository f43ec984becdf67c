"""Products of factors in single precision, with a bound of what rounding may do to them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bostruct.contracts import SINGLE_FLOOR, SINGLE_ROUNDING, SingleGram
from bostruct.kernels.space.factor import SingleLogGram

LOG_FLOOR = math.log(SINGLE_FLOOR)
LARGEST_LOG = 60.0  # of an entry: sums of many such entries stay finite
EXPONENTIAL_ROUNDING = 8.0 * SINGLE_ROUNDING  # NumPy's exponential is wrong by at most 2.52 units in the last place
UNKNOWN = 1e30  # an error that says nothing of the entries


def multiply_factors(parts: Sequence[SingleLogGram]) -> SingleGram:
    """Return the product of the factors whose logarithms are given, which are overwritten.

    parts: of every factor, at least one.
    """
    total, error, smallest, largest = parts[0]
    for part in parts[1:]:
        total += part.log_gram
        error, smallest, largest = error + part.error, smallest + part.smallest, largest + part.largest
        error += SINGLE_ROUNDING * (max(abs(smallest), abs(largest)) + error)  # of the sum itself
    if largest > LARGEST_LOG or error > 0.5:
        return SingleGram(np.ones_like(total), UNKNOWN)
    if smallest < LOG_FLOOR:
        np.maximum(total, np.float32(LOG_FLOOR), out=total)
    return SingleGram(np.exp(total, out=total), math.expm1(error) + EXPONENTIAL_ROUNDING)
