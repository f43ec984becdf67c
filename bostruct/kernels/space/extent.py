"""How many letters a sequence has, or how many items a subset, if that varies: as a distance and as an effect.

Values are drawn evenly over these numbers, and objectives often depend on them smoothly. So they are compared as other
numbers are, by shares of their range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.matern import ROOT

LARGEST_SQUARE = 10.0  # of the distance between the ends of a range
EFFECT_LENGTHSCALE = 0.3  # of what an effect is beside its trend, in ranges
TREND = 0.5  # share of an effect


@dataclass(frozen=True)
class LengthKernel(EffectKernel):
    """The range of the number of letters of a sequence, or of items of a subset."""

    least: int
    most: int
    blank: int

    def count(self, xs: IntArray) -> IntArray:
        """Return how many letters or items values have (n,).

        xs: columns of n values (n, w).
        """
        return np.count_nonzero(xs != self.blank, axis=1)

    def scale(self, xs: IntArray) -> Array:
        """Return the extents of values as numbers, whose squared distance is 10 between the ends of the range (n,).

        xs: columns of n values (n, w).
        """
        return self._share(self.count(xs)) * math.sqrt(LARGEST_SQUARE)

    def square(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the squared distances between the extents of values (n, m).

        xs, ys: columns of n and m values (n, w), (m, w).
        """
        return np.square(self.scale(xs)[:, None] - self.scale(ys))

    def square_change(self, before: IntArray, after: IntArray, ys: IntArray) -> Array:
        """Return by how much the squared distances grow where values change (r, m).

        before, after: columns of r values before and after the change (r, w).
        ys: columns of m values (m, w).
        """
        old, new = self.scale(before)[:, None], self.scale(after)[:, None]
        return (new - old) * (new + old - 2.0 * self.scale(ys))

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the effect kernel between the extents of values (n, m): a trend, and Matern-5/2 beside it.

        The mean of its diagonal is about 1 over draws.
        """
        return self._compare(self.count(xs), self.count(ys))

    def diag(self, xs: IntArray) -> Array:
        return TREND * 12.0 * np.square(self._share(self.count(xs)) - 0.5) + (1.0 - TREND)

    def change(self, before: IntArray, after: IntArray, ys: IntArray) -> Array:
        effects = self._compare(np.arange(self.least, self.most + 1), self.count(ys))
        return effects[self.count(after) - self.least] - effects[self.count(before) - self.least]

    def _share(self, counts: IntArray) -> Array:
        return (counts - self.least) / (self.most - self.least)

    def _compare(self, counts: IntArray, others: IntArray) -> Array:
        mine, theirs = self._share(counts)[:, None], self._share(others)
        apart = np.abs(mine - theirs) * (ROOT / EFFECT_LENGTHSCALE)
        near = (1.0 + apart + np.square(apart) / 3.0) * np.exp(-apart)
        return TREND * 12.0 * (mine - 0.5) * (theirs - 0.5) + (1.0 - TREND) * near
