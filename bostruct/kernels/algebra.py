"""Kernels made of kernels: of one part of each point, products, and weighted sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_part
from bostruct.contracts import Array, Batch, Kernel, Parameter, Prepared, Prior, Pullback

LARGEST_LOG_ODDS = 700.0  # beyond, exp has no number


def weight_of(log_odds: float) -> float:
    """Return the weight whose log odds are given, in (0, 1).

    log_odds: any number.
    """
    return 1.0 / (1.0 + math.exp(-max(log_odds, -LARGEST_LOG_ODDS)))


def mix_grams(first: Array, second: Array, weight: float) -> Array:
    """Return weight first + (1 - weight) second (n, m).

    first, second: Gram matrices (n, m), which are only read.
    weight: of the first, in [0, 1].
    """
    mixed = (1.0 - weight) * second
    mixed += weight * first
    return mixed


def slope_in_odds(cotangent: Array, first: Array, second: Array, weight: float) -> float:
    """Return the derivative of sum(cotangent * mix_grams(first, second, weight)) in the log odds of the weight.

    cotangent: (n, m).
    first, second: Gram matrices (n, m).
    weight: of the first, in [0, 1].
    """
    return weight * (1.0 - weight) * float(np.vdot(cotangent, first) - np.vdot(cotangent, second))


@dataclass(frozen=True)
class PartKernel(Kernel):
    """A kernel that sees one part of each point.

    name: put before the names of the kernel's parameters.
    part: batch of points -> batch of their parts.
    kernel: of the parts.
    """

    name: str
    part: Callable[[Batch], Batch]
    kernel: Kernel

    def __post_init__(self) -> None:
        check_part("kernel", self.kernel, Kernel)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(block._replace(name=f"{self.name}: {block.name}") for block in self.kernel.parameters)

    def prepare(self, xs: Batch, ys: Batch | None = None) -> Prepared:
        return self.kernel.prepare(self.part(xs), None if ys is None else self.part(ys))

    def gram(self, theta: Array, prepared: Prepared) -> Array:
        return self.kernel.gram(theta, prepared)

    def diag(self, theta: Array, xs: Batch) -> Array:
        return self.kernel.diag(theta, self.part(xs))

    def line(self, theta: Array, i: int, prepared: Prepared, gram: Array | None = None) -> Callable[[float], Array]:
        return self.kernel.line(theta, i, prepared, gram)

    def gram_and_pullback(self, theta: Array, prepared: Prepared) -> tuple[Array, Pullback]:
        return self.kernel.gram_and_pullback(theta, prepared)


class KernelsPair(NamedTuple):
    """A pair of batches as two kernels prepare it.

    first: what the first kernel prepared.
    second: what the second kernel prepared.
    """

    first: Prepared
    second: Prepared


@dataclass(frozen=True)
class Product(Kernel):
    """The product of two kernels on the same points; theta is that of the first, then that of the second.

    first, second: kernels; a product of products has more factors.
    """

    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        check_part("first", self.first, Kernel)
        check_part("second", self.second, Kernel)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.first.parameters, *self.second.parameters)

    def prepare(self, xs: Batch, ys: Batch | None = None) -> KernelsPair:
        return KernelsPair(self.first.prepare(xs, ys), self.second.prepare(xs, ys))

    def gram(self, theta: Array, prepared: KernelsPair) -> Array:
        first, second = self._split(theta)
        return self.first.gram(first, prepared.first) * self.second.gram(second, prepared.second)

    def diag(self, theta: Array, xs: Batch) -> Array:
        first, second = self._split(theta)
        return self.first.diag(first, xs) * self.second.diag(second, xs)

    def line(self, theta: Array, i: int, prepared: KernelsPair, gram: Array | None = None) -> Callable[[float], Array]:
        del gram  # a product that underflowed does not tell its factors
        first, second = self._split(theta)
        if i < len(first):
            own, other = self.first.line(first, i, prepared.first), self.second.gram(second, prepared.second)
        else:
            own = self.second.line(second, i - len(first), prepared.second)
            other = self.first.gram(first, prepared.first)

        def along(value: float) -> Array:
            moved = own(value)
            moved *= other
            return moved

        return along

    def gram_and_pullback(self, theta: Array, prepared: KernelsPair) -> tuple[Array, Pullback]:
        first, second = self._split(theta)
        one, pull_one = self.first.gram_and_pullback(first, prepared.first)
        two, pull_two = self.second.gram_and_pullback(second, prepared.second)

        def pullback(cotangent: Array) -> Array:
            return np.concatenate([pull_one(cotangent * two), pull_two(cotangent * one)])

        return one * two, pullback

    def vary_shares(self, theta: Array, xs: Batch, ys: Batch) -> Callable[[Array], tuple[Array, Pullback]] | None:
        first, second = self._split(theta)
        vary_one, vary_two = self.first.vary_shares(first, xs, ys), self.second.vary_shares(second, xs, ys)
        if vary_one is None or vary_two is None:
            return None

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            (one, pull_one), (two, pull_two) = vary_one(shares), vary_two(shares)
            return one * two, lambda cotangent: pull_one(cotangent * two) + pull_two(cotangent * one)

        return at_shares

    def _split(self, theta: Array) -> tuple[Array, Array]:
        n_first = sum(block.size for block in self.first.parameters)
        return theta[:n_first], theta[n_first:]


@dataclass(frozen=True)
class WeightedSum(Kernel):
    """The weighted sum of two kernels, w first + (1 - w) second, whose weight is a parameter.

    theta is that of the first kernel, that of the second, then the log odds of w.

    first, second: kernels on the same points.
    prior: of the log odds.
    initial: log odds at first.
    """

    first: Kernel
    second: Kernel
    prior: Prior
    initial: float = 0.0

    def __post_init__(self) -> None:
        check_part("first", self.first, Kernel)
        check_part("second", self.second, Kernel)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        odds = Parameter("log_odds", 1, self.prior, self.initial)
        return (*self.first.parameters, *self.second.parameters, odds)

    def prepare(self, xs: Batch, ys: Batch | None = None) -> KernelsPair:
        return KernelsPair(self.first.prepare(xs, ys), self.second.prepare(xs, ys))

    def gram(self, theta: Array, prepared: KernelsPair) -> Array:
        first, second, weight = self._split(theta)
        gram, other = self.first.gram(first, prepared.first), self.second.gram(second, prepared.second)
        gram *= weight  # both are the caller's own: no third array
        other *= 1.0 - weight
        gram += other
        return gram

    def diag(self, theta: Array, xs: Batch) -> Array:
        first, second, weight = self._split(theta)
        return weight * self.first.diag(first, xs) + (1.0 - weight) * self.second.diag(second, xs)

    def gram_and_pullback(self, theta: Array, prepared: KernelsPair) -> tuple[Array, Pullback]:
        first, second, weight = self._split(theta)
        one, pull_one = self.first.gram_and_pullback(first, prepared.first)
        two, pull_two = self.second.gram_and_pullback(second, prepared.second)

        def pullback(cotangent: Array) -> Array:
            odds = slope_in_odds(cotangent, one, two, weight)
            return np.concatenate([weight * pull_one(cotangent), (1.0 - weight) * pull_two(cotangent), [odds]])

        return mix_grams(one, two, weight), pullback

    def vary_shares(self, theta: Array, xs: Batch, ys: Batch) -> Callable[[Array], tuple[Array, Pullback]] | None:
        first, second, weight = self._split(theta)
        vary_one, vary_two = self.first.vary_shares(first, xs, ys), self.second.vary_shares(second, xs, ys)
        if vary_one is None or vary_two is None:
            return None

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            (one, pull_one), (two, pull_two) = vary_one(shares), vary_two(shares)

            def pullback(cotangent: Array) -> Array:
                return weight * pull_one(cotangent) + (1.0 - weight) * pull_two(cotangent)

            return mix_grams(one, two, weight), pullback

        return at_shares

    def _split(self, theta: Array) -> tuple[Array, Array, float]:
        n_first = sum(block.size for block in self.first.parameters)
        return theta[:n_first], theta[n_first:-1], weight_of(theta[-1])
