"""Make hyperparameters: what is chosen, and what follows from it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from bostruct.checks import check_integer, check_number
from bostruct.domains.language.graph import DependentHyperparameter, Discrete, Hyperparameter

MAX_INTEGERS = 1_000_000  # of an IntRange
ROUNDING_DIGITS = (12, 15, 17)
LARGE_NUMBER = 1e307  # the difference of larger numbers may be beyond what a float can hold


D = Discrete


def Bool(name: str | None = None) -> Discrete:
    """Return a hyperparameter that is 0 or 1.

    name: str, its key in traces, as of `D`.
    """
    return Discrete((0, 1), name)


def OneOfK(k: int, name: str | None = None) -> Discrete:
    """Return a hyperparameter from 0 to k - 1, as for `siso_or` of k functions.

    k: int >= 1.
    name: str, its key in traces, as of `D`.

    Raises TypeError and ValueError.
    """
    return Discrete(range(check_integer("k", k, 1)), name)


def OneOfKFactorial(k: int, name: str | None = None) -> Discrete:
    """Return a hyperparameter from 0 to k! - 1, the positions of all orders of k things, as for `siso_permutation`.

    k: int, 1 to 8.
    name: str, its key in traces, as of `D`.

    Raises TypeError and ValueError.
    """
    return Discrete(range(math.factorial(check_integer("k", k, 1, 8))), name)


def IntRange(low: int, high: int, steps: int | None = None, *, log: bool = False, name: str | None = None) -> Discrete:
    """Return an ordered hyperparameter of integers from low to high, both included.

    low, high: int, low <= high; low >= 1 with log.
    steps: int, about so many integers at even distances; None for all, at most a million (with log 8, or all if fewer).
    log: bool, True for even distances of logarithms.
    name: str, its key in traces, as of `D`.

    Raises TypeError and ValueError.
    """
    low, high = check_integer("low", low, 1 if log else -(2**53)), check_integer("high", high, low, 2**53)
    if steps is None and not log:
        if high - low >= MAX_INTEGERS:
            raise ValueError(
                f"steps: expected a number for {low} to {high}, more than {MAX_INTEGERS} integers; got None"
            )
        return Discrete(range(low, high + 1), name, ordered=True)
    steps = check_integer("steps", min(8, high - low + 1) if steps is None else steps, 1, MAX_INTEGERS)
    last = max(steps - 1, 1)
    if log:
        inner = {min(max(round(x), low), high) for x in _even_grid(low, high, steps, log)[:-1]}
    else:
        inner = {round(low + Fraction((high - low) * i, last)) for i in range(1, last)}
    return Discrete(sorted({low, *inner, *((high,) if steps > 1 else ())}), name, ordered=True)


def FloatRange(low: float, high: float, steps: int, *, log: bool = False, name: str | None = None) -> Discrete:
    """Return an ordered hyperparameter of numbers from low to high, both included, at even distances.

    low, high: finite float, low <= high; low > 0 with log.
    steps: int >= 1, the number of values; fewer where there are no more floats.
    log: bool, True for even distances of logarithms.
    name: str, its key in traces, as of `D`.

    Numbers between low and high have 12 digits, or as many more as they need to differ. Raises TypeError and
    ValueError.
    """
    low = check_number("low", low, math.nextafter(0.0, 1.0) if log else -math.inf)
    high = check_number("high", high, low)
    return Discrete(
        list(dict.fromkeys(_even_grid(low, high, check_integer("steps", steps, 1), log))), name, ordered=True
    )


def _even_grid(low: float, high: float, steps: int, log: bool) -> list[float]:
    """Return the ends and what lies between, ascending."""
    if steps == 1:
        return [float(low)]
    scale = 1.0 if max(abs(low), abs(high)) < LARGE_NUMBER else 0.5
    ends = low * scale, high * scale
    grid = np.geomspace(low, high, steps) if log else np.clip(np.linspace(*ends, steps), *ends) / scale
    raw = np.clip(grid[1:-1], low, high).tolist()
    for digits in ROUNDING_DIGITS:
        inner = [float(f"{x:.{digits}g}") for x in raw]  # the same digits on every machine
        whole = [float(low), *inner, float(high)]
        if all(a < b for a, b in pairwise(whole)):
            return whole
    return sorted([float(low), *raw, float(high)])


def independent_ancestors(h: Hyperparameter) -> tuple[Discrete, ...]:
    """Return the independent hyperparameters whose values give h its own; h where it is one.

    They are in the order of a breadth-first search, by local name.

    h: independent or dependent.
    """
    if isinstance(h, Discrete):
        return (h,)
    queue: list[Hyperparameter] = [h]
    known: set[Hyperparameter] = {h}
    for one in queue:  # grows as it goes
        if isinstance(one, DependentHyperparameter):
            queue += [parent for parent in dict.fromkeys(one.parents.values()) if parent not in known]
            known.update(one.parents.values())
    return tuple(one for one in queue if isinstance(one, Discrete))
