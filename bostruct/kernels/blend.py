"""A weighted mean of two kernels, whose weight is a parameter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, Batch, HasGradient, Parameter, Prepared, Prior


class WeightedSumPair(NamedTuple):
    """A pair of batches as `WeightedSum` prepares it.

    first: what the first kernel prepared.
    second: what the second kernel prepared.
    """

    first: Prepared
    second: Prepared


@dataclass(frozen=True)
class WeightedSum:
    """The weighted sum of two kernels, w first + (1 - w) second, whose weight is a parameter.

    theta is that of the first kernel, that of the second, then the log odds of w.

    first, second: kernels with gradients, on the same points.
    prior: of the log odds.
    initial: log odds at first.
    """

    first: HasGradient
    second: HasGradient
    prior: Prior
    initial: float = 0.0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        odds = Parameter("log_odds", 1, self.prior, self.initial)
        return (*self.first.parameters, *self.second.parameters, odds)

    def prepare(self, xs: Batch, ys: Batch | None = None) -> WeightedSumPair:
        return WeightedSumPair(self.first.prepare(xs, ys), self.second.prepare(xs, ys))

    def gram(self, theta: Array, prepared: WeightedSumPair) -> Array:
        """Return the Gram matrix (n, m).

        theta: (p,).
        prepared: of n and m points.
        """
        first, second, weight = self._split(theta)
        gram = self.second.gram(second, prepared.second)
        gram *= 1.0 - weight
        gram += weight * self.first.gram(first, prepared.first)
        return gram

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return k(x, x) of each point (n,).

        theta: (p,).
        xs: n points.
        """
        first, second, weight = self._split(theta)
        return weight * self.first.diag(first, xs) + (1.0 - weight) * self.second.diag(second, xs)

    def gram_and_pullback(self, theta: Array, prepared: WeightedSumPair) -> tuple[Array, Callable[[Array], Array]]:
        """Return the Gram matrix K (n, m), and the map from G (n, m) to the gradient of sum(G * K) in theta (p,).

        theta: (p,).
        prepared: of n and m points.
        """
        first, second, weight = self._split(theta)
        one, pull_one = self.first.gram_and_pullback(first, prepared.first)
        two, pull_two = self.second.gram_and_pullback(second, prepared.second)

        def pullback(cotangent: Array) -> Array:
            odds = weight * (1.0 - weight) * float(np.vdot(cotangent, one) - np.vdot(cotangent, two))
            return np.concatenate([weight * pull_one(cotangent), (1.0 - weight) * pull_two(cotangent), [odds]])

        return weight * one + (1.0 - weight) * two, pullback

    def _split(self, theta: Array) -> tuple[Array, Array, float]:
        n_first = sum(block.size for block in self.first.parameters)
        return theta[:n_first], theta[n_first:-1], 1.0 / (1.0 + math.exp(-theta[-1]))
