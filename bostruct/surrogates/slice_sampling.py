"""Univariate slice sampling with doubling (Neal 2003, Figures 4 to 6), as in COMBO."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

BRACKET_WIDTHS = (0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1)  # each is tried if the bracket of the last collapses
MAX_DOUBLINGS = 10

LogDensity = Callable[[float], float]
Uniforms: TypeAlias = np.random.Generator | np.random.RandomState  # tests replay published chains of RandomState


class Draw(NamedTuple):
    """A new value of one coordinate.

    evaluations: number of log densities evaluated for it.
    """

    value: float
    log_density: float
    evaluations: int


class CachedLogDensity:
    """A log density that is never evaluated twice at one point.

    known: log densities by point; new ones are added to it.
    """

    def __init__(self, log_density: LogDensity, known: dict[float, float]) -> None:
        self._log_density = log_density
        self._known = known
        self.evaluations = 0

    def __call__(self, x: float) -> float:
        value = self._known.get(x)
        if value is None:
            value = self._known[x] = self._log_density(x)
            self.evaluations += 1
        return value


def slice_update(log_density: LogDensity, x0: float, rng: Uniforms, log_density_x0: float | None = None) -> Draw:
    """Draw the next value of a chain that leaves the density unchanged (Neal 2003, Figures 4 to 6).

    rng: random number generator.
    log_density_x0: log density at x0, if known.

    Returns the draw, which is x0 itself if the brackets of all widths collapse.
    """
    density = CachedLogDensity(log_density, {} if log_density_x0 is None else {x0: log_density_x0})
    for width in BRACKET_WIDTHS:
        x1 = _try_width(density, x0, rng, width)
        if x1 is not None:
            return Draw(x1, density(x1), density.evaluations)
    return Draw(x0, density(x0), density.evaluations)


def _try_width(density: CachedLogDensity, x0: float, rng: Uniforms, width: float) -> float | None:
    lower = x0 - width * rng.random()
    upper = lower + width
    height = math.log(rng.random()) + density(x0)
    lower, upper = _double(density, lower, upper, height, rng)
    left, right = lower, upper
    while abs(left - right) > 1e-8 + 1e-5 * abs(right):  # as numpy.isclose
        x1 = left + rng.random() * (right - left)
        if density(x1) > height and _reachable(density, x0, x1, height, (lower, upper), width):
            return x1
        left, right = (x1, right) if x1 < x0 else (left, x1)  # shrinkage: Neal 2003, Figure 5
    return None


def _double(
    density: CachedLogDensity, lower: float, upper: float, height: float, rng: Uniforms
) -> tuple[float, float]:  # Figure 4
    below = above = False  # whether the density is known to be at most the height at the lower, and upper, end
    for _ in range(MAX_DOUBLINGS):
        below = below or density(lower) <= height
        above = above or (below and density(upper) <= height)
        if below and above:
            break
        length = upper - lower
        if rng.random() < 0.5:
            lower, below = lower - length, False
        else:
            upper, above = upper + length, False
    return lower, upper


def _reachable(
    density: CachedLogDensity, x0: float, x1: float, height: float, bracket: tuple[float, float], width: float
) -> bool:
    """Return whether doubling from x1 could have made the same bracket (Neal 2003, Figure 6).

    Ends are evaluated only once x0 and x1 are in different halves, which changes no result and saves evaluations.
    """
    lower, upper = bracket
    differ = False
    while upper - lower > 1.1 * width:
        middle = 0.5 * (lower + upper)
        differ = differ or (x0 < middle) != (x1 < middle)
        lower, upper = (lower, middle) if x1 < middle else (middle, upper)
        if differ and height >= density(lower) and height >= density(upper):
            return False
    return True
