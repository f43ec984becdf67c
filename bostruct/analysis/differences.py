"""Paired differences of methods on equal seeds: their mean, its interval, and Holm's correction for several of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from scipy.special import stdtr, stdtrit

LEVEL = 0.05  # of significance; intervals are of 1 minus it
EQUAL = 1e-12  # standard error, relative to the mean, that rounding alone leaves of equal differences


class Difference(NamedTuple):
    """The mean of paired differences.

    mean: over the pairs.
    low, high: ends of its 95 % interval, Student's t.
    p: of the two-sided t test that the mean is zero; None where the differences are equal, and not zero, for which the
        test is not defined. The interval has no width then.
    n: number of pairs, at least 2.
    """

    mean: float
    low: float
    high: float
    p: float | None
    n: int


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, which is NaN for fewer than two values.

    values: at least one.
    """
    return fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def estimate_difference(differences: Sequence[float]) -> Difference | None:
    """Return the mean of paired differences with its interval and test, None for fewer than two.

    differences: one for each pair.
    """
    n = len(differences)
    if n < 2:
        return None
    mean, error = mean_and_error(differences)
    half = float(stdtrit(n - 1, 1.0 - LEVEL / 2.0)) * error
    if error <= EQUAL * abs(mean):
        return Difference(mean, mean, mean, 1.0 if mean == 0.0 else None, n)
    p = 2.0 * float(stdtr(n - 1, -abs(mean) / error))
    return Difference(mean, mean - half, mean + half, p, n)


def correct_by_holm(ps: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, in the same order (Holm 1979).

    ps: of one family of tests.
    """
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[i]))
        corrected[i] = largest
    return corrected
