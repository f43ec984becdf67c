"""Kernels made of kernels: of one part of each point, products, and weighted sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bostruct.checks import require_gradient
from bostruct.contracts import (
    Array,
    Batch,
    HasGradient,
    HasInputGradient,
    Kernel,
    Parameter,
    Prepared,
    Prior,
    Similarity,
)

Pullback = Callable[[Array], Array]

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


def vary_each(
    first: tuple[Kernel, Array], second: tuple[Kernel, Array], xs: Batch, ys: Batch
) -> tuple[Callable[[Array], tuple[Array, Pullback]], Callable[[Array], tuple[Array, Pullback]]]:
    """Return the Gram matrices of two kernels as functions of the continuous coordinates of xs.

    first, second: a kernel and its theta.
    xs: m points.
    ys: n points.

    Raises TypeError for a kernel without gradients in them.
    """
    (one, own), (two, other) = first, second
    first_kernel, second_kernel = (require_gradient("kernel", kernel, HasInputGradient) for kernel in (one, two))
    return first_kernel.vary_shares(own, xs, ys), second_kernel.vary_shares(other, xs, ys)


@dataclass(frozen=True)
class PartKernel:
    """A kernel that sees one part of each point.

    name: put before the names of the kernel's parameters.
    part: batch of points -> batch of their parts.
    kernel: of the parts.
    """

    name: str
    part: Callable[[Batch], Batch]
    kernel: Similarity

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(block._replace(name=f"{self.name}: {block.name}") for block in self.kernel.parameters)

    def prepare(self, xs: Batch, ys: Batch | None = None) -> Prepared:
        return self.kernel.prepare(self.part(xs), None if ys is None else self.part(ys))

    def gram(self, theta: Array, prepared: Prepared) -> Array:
        """Return the Gram matrix (n, m).

        theta: (p,).
        prepared: of n and m points.
        """
        return self.kernel.gram(theta, prepared)

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return k(x, x) of each point (n,).

        theta: (p,).
        xs: n points.
        """
        return self.kernel.diag(theta, self.part(xs))

    def line(self, theta: Array, i: int, prepared: Prepared, gram: Array | None = None) -> Callable[[float], Array]:
        """Return the Gram matrix as a function of theta_i alone.

        theta: (p,).
        i: position of the parameter that varies.
        prepared: of n and m points.
        gram: passed on to the kernel.
        """
        return self.kernel.line(theta, i, prepared, gram)

    def gram_and_pullback(self, theta: Array, prepared: Prepared) -> tuple[Array, Callable[[Array], Array]]:
        """Return the Gram matrix K (n, m), and the map from G (n, m) to the gradient of sum(G * K) in theta (p,).

        theta: (p,).
        prepared: of n and m points.
        """
        return self.kernel.gram_and_pullback(theta, prepared)


class KernelsPair(NamedTuple):
    """A pair of batches as two kernels prepare it.

    first: what the first kernel prepared.
    second: what the second kernel prepared.
    """

    first: Prepared
    second: Prepared


@dataclass(frozen=True)
class Product:
    """The product of two kernels on the same points; theta is that of the first, then that of the second.

    first, second: kernels; a product of products has more factors.
    """

    first: Similarity
    second: Similarity

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.first.parameters, *self.second.parameters)

    def prepare(self, xs: Batch, ys: Batch | None = None) -> KernelsPair:
        return KernelsPair(self.first.prepare(xs, ys), self.second.prepare(xs, ys))

    def gram(self, theta: Array, prepared: KernelsPair) -> Array:
        """Return the Gram matrix (n, m).

        theta: (p,).
        prepared: of n and m points.
        """
        first, second = self._split(theta)
        return self.first.gram(first, prepared.first) * self.second.gram(second, prepared.second)

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return k(x, x) of each point (n,).

        theta: (p,).
        xs: n points.
        """
        first, second = self._split(theta)
        return self.first.diag(first, xs) * self.second.diag(second, xs)

    def line(self, theta: Array, i: int, prepared: KernelsPair, gram: Array | None = None) -> Callable[[float], Array]:
        """Return the Gram matrix as a function of theta_i alone.

        The factor that theta_i belongs to changes; the other stays.

        theta: (p,).
        i: position of the parameter that varies.
        prepared: of n and m points.
        gram: ignored.
        """
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

    def gram_and_pullback(self, theta: Array, prepared: KernelsPair) -> tuple[Array, Callable[[Array], Array]]:
        """Return the Gram matrix K (n, m), and the map from G (n, m) to the gradient of sum(G * K) in theta (p,).

        theta: (p,).
        prepared: of n and m points.
        """
        first, second = self._split(theta)
        one, pull_one = self.first.gram_and_pullback(first, prepared.first)
        two, pull_two = self.second.gram_and_pullback(second, prepared.second)

        def pullback(cotangent: Array) -> Array:
            return np.concatenate([pull_one(cotangent * two), pull_two(cotangent * one)])

        return one * two, pullback

    def vary_shares(self, theta: Array, xs: Batch, ys: Batch) -> Callable[[Array], tuple[Array, Pullback]]:
        """Return the Gram matrix as a function of the continuous coordinates of xs.

        theta: (p,).
        xs: m points.
        ys: n points.

        Raises TypeError where one of the kernels cannot.
        """
        first, second = self._split(theta)
        vary_one, vary_two = vary_each((self.first, first), (self.second, second), xs, ys)

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            (one, pull_one), (two, pull_two) = vary_one(shares), vary_two(shares)
            return one * two, lambda cotangent: pull_one(cotangent * two) + pull_two(cotangent * one)

        return at_shares

    def _split(self, theta: Array) -> tuple[Array, Array]:
        n_first = sum(block.size for block in self.first.parameters)
        return theta[:n_first], theta[n_first:]


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

    def prepare(self, xs: Batch, ys: Batch | None = None) -> KernelsPair:
        return KernelsPair(self.first.prepare(xs, ys), self.second.prepare(xs, ys))

    def gram(self, theta: Array, prepared: KernelsPair) -> Array:
        """Return the Gram matrix (n, m).

        theta: (p,).
        prepared: of n and m points.
        """
        first, second, weight = self._split(theta)
        gram, other = self.first.gram(first, prepared.first), self.second.gram(second, prepared.second)
        gram *= weight  # both are the caller's own: no third array
        other *= 1.0 - weight
        gram += other
        return gram

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return k(x, x) of each point (n,).

        theta: (p,).
        xs: n points.
        """
        first, second, weight = self._split(theta)
        return weight * self.first.diag(first, xs) + (1.0 - weight) * self.second.diag(second, xs)

    def gram_and_pullback(self, theta: Array, prepared: KernelsPair) -> tuple[Array, Callable[[Array], Array]]:
        """Return the Gram matrix K (n, m), and the map from G (n, m) to the gradient of sum(G * K) in theta (p,).

        theta: (p,).
        prepared: of n and m points.
        """
        first, second, weight = self._split(theta)
        one, pull_one = self.first.gram_and_pullback(first, prepared.first)
        two, pull_two = self.second.gram_and_pullback(second, prepared.second)

        def pullback(cotangent: Array) -> Array:
            odds = slope_in_odds(cotangent, one, two, weight)
            return np.concatenate([weight * pull_one(cotangent), (1.0 - weight) * pull_two(cotangent), [odds]])

        return mix_grams(one, two, weight), pullback

    def vary_shares(self, theta: Array, xs: Batch, ys: Batch) -> Callable[[Array], tuple[Array, Pullback]]:
        """Return the Gram matrix as a function of the continuous coordinates of xs.

        theta: (p,).
        xs: m points.
        ys: n points.

        Raises TypeError where one of the kernels cannot.
        """
        first, second, weight = self._split(theta)
        vary_one, vary_two = vary_each((self.first, first), (self.second, second), xs, ys)

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            (one, pull_one), (two, pull_two) = vary_one(shares), vary_two(shares)

            def pullback(cotangent: Array) -> Array:
                return weight * pull_one(cotangent) + (1.0 - weight) * pull_two(cotangent)

            return mix_grams(one, two, weight), pullback

        return at_shares

    def _split(self, theta: Array) -> tuple[Array, Array, float]:
        n_first = sum(block.size for block in self.first.parameters)
        return theta[:n_first], theta[n_first:-1], weight_of(theta[-1])
