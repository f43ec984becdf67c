"""Products of kernels over the parts of joint points: alike are points that are alike in every part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from bostruct.contracts import Array, Batch, HasGradient, HasLine, Parameter, Prepared


class KernelFactor(HasLine, HasGradient, Protocol):
    """What a product needs of its kernels, and offers."""


@dataclass(frozen=True)
class PartKernel:
    """A kernel that sees one part of each point.

    name: put before those of the kernel's parameters. part: from a batch of points to the batch of their parts.
    """

    name: str
    part: Callable[[Batch], Batch]
    kernel: KernelFactor

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(block._replace(name=f"{self.name}: {block.name}") for block in self.kernel.parameters)

    def prepare(self, xs: Batch, ys: Batch) -> Prepared:
        own = self.part(xs)
        return self.kernel.prepare(own, own if ys is xs else self.part(ys))  # kernels spare work among equals

    def gram(self, theta: Array, prepared: Prepared) -> Array:
        """(p,) -> (n, m)."""
        return self.kernel.gram(theta, prepared)

    def diag(self, theta: Array, xs: Batch) -> Array:
        """k(x, x) of each point (n,)."""
        return self.kernel.diag(theta, self.part(xs))

    def line(self, theta: Array, i: int, prepared: Prepared, gram: Array | None = None) -> Callable[[float], Array]:
        """The Gram matrix along theta_i."""
        return self.kernel.line(theta, i, prepared, gram)

    def gram_and_pullback(self, theta: Array, prepared: Prepared) -> tuple[Array, Callable[[Array], Array]]:
        """K, and the map from G (n, m) to the gradient of sum(G * K) in theta (p,)."""
        return self.kernel.gram_and_pullback(theta, prepared)


class ProductPair(NamedTuple):
    first: Prepared
    second: Prepared


@dataclass(frozen=True)
class Product:
    """first * second, of the same batches; theta is that of the first, then that of the second."""

    first: KernelFactor
    second: KernelFactor

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.first.parameters, *self.second.parameters)

    def prepare(self, xs: Batch, ys: Batch) -> ProductPair:
        return ProductPair(self.first.prepare(xs, ys), self.second.prepare(xs, ys))

    def gram(self, theta: Array, prepared: ProductPair) -> Array:
        """(p,) -> (n, m)."""
        first, second = self._split(theta)
        return self.first.gram(first, prepared.first) * self.second.gram(second, prepared.second)

    def diag(self, theta: Array, xs: Batch) -> Array:
        """k(x, x) of each point (n,)."""
        first, second = self._split(theta)
        return self.first.diag(first, xs) * self.second.diag(second, xs)

    def line(self, theta: Array, i: int, prepared: ProductPair, gram: Array | None = None) -> Callable[[float], Array]:
        """The Gram matrix along theta_i: that of one factor, times the other, which stays."""
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

    def gram_and_pullback(self, theta: Array, prepared: ProductPair) -> tuple[Array, Callable[[Array], Array]]:
        """K, and the map from G (n, m) to the gradient of sum(G * K) in theta (p,)."""
        first, second = self._split(theta)
        one, pull_one = self.first.gram_and_pullback(first, prepared.first)
        two, pull_two = self.second.gram_and_pullback(second, prepared.second)

        def pullback(cotangent: Array) -> Array:
            return np.concatenate([pull_one(cotangent * two), pull_two(cotangent * one)])

        return one * two, pullback

    def _split(self, theta: Array) -> tuple[Array, Array]:
        n_first = sum(block.size for block in self.first.parameters)
        return theta[:n_first], theta[n_first:]
