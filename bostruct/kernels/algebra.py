"""Kernels composed of kernels: kernels of a part of each point, products, weighted sums, and clipped similarities.

Spectrum clip turns a similarity that may be indefinite into a kernel on the training points of a model. Negative
eigenvalues of the Gram matrix of the training points are set to 0. The similarities of candidates to the training
points are projected onto the remaining eigenvectors, so that training and prediction use the same kernel (Chen et al.
2009, section 2.2). The released NASBOT code clips the Gram matrix, but omits the projection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy

from bostruct.checks import check_part
from bostruct.contracts import Array, Batch, Kernel, Parameter, Prepared, Prior, Pullback
from bostruct.contracts.types import NOT_STORED

NEGLIGIBLE = 1e-9  # share of the mean diagonal; smaller negative eigenvalues are left to the jitter
LARGEST_LOG_ODDS = 700.0  # beyond, exp overflows


@dataclass(frozen=True)
class PartKernel(Kernel):
    """A kernel on one part of each point."""

    name: str
    part: Callable[[Batch], Batch]
    kernel: Kernel

    def __post_init__(self) -> None:
        check_part("kernel", self.kernel, Kernel)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(block._replace(name=f"{self.name}: {block.name}") for block in self.kernel.parameters)

    @property
    def parameter_variables(self) -> tuple[int | None, ...]:
        return self.kernel.parameter_variables

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


@dataclass(frozen=True)
class BinaryKernel(Kernel):
    """The base of kernels that combine two kernels on the same points; theta starts with the parameters of both."""

    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        check_part("first", self.first, Kernel)
        check_part("second", self.second, Kernel)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.first.parameters, *self.second.parameters)

    @property
    def parameter_variables(self) -> tuple[int | None, ...]:
        return (*self.first.parameter_variables, *self.second.parameter_variables)

    @property
    def variable_columns(self) -> Mapping[int, Sequence[int]]:
        return {**self.first.variable_columns, **self.second.variable_columns}

    def prepare(self, xs: Batch, ys: Batch | None = None) -> KernelsPair:
        return KernelsPair(self.first.prepare(xs, ys), self.second.prepare(xs, ys))


@dataclass(frozen=True)
class Product(BinaryKernel):
    """The product of two kernels on the same points; theta has the parameters of the first, then of the second."""

    def gram(self, theta: Array, prepared: KernelsPair) -> Array:
        first, second = self._split(theta)
        return self.first.gram(first, prepared.first) * self.second.gram(second, prepared.second)

    def diag(self, theta: Array, xs: Batch) -> Array:
        first, second = self._split(theta)
        return self.first.diag(first, xs) * self.second.diag(second, xs)

    def line(self, theta: Array, i: int, prepared: KernelsPair, gram: Array | None = None) -> Callable[[float], Array]:
        # computed from the factors, because their product may have underflowed
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

    def input_vjp(self, theta: Array, xs: Batch, ys: Batch) -> Callable[[Array], tuple[Array, Pullback]] | None:
        first, second = self._split(theta)
        vary_one, vary_two = self.first.input_vjp(first, xs, ys), self.second.input_vjp(second, xs, ys)
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
class WeightedSum(BinaryKernel):
    """The weighted sum of two kernels, w first + (1 - w) second, whose weight is a parameter.

    theta has the parameters of the first kernel, of the second, then the log odds of w.

    prior: prior of the log odds.
    initial: initial log odds.
    label: name of the log odds.
    """

    prior: Prior
    initial: float = 0.0
    label: str = field(default="log_odds", metadata=NOT_STORED)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*super().parameters, Parameter(self.label, 1, self.prior, self.initial))

    @property
    def parameter_variables(self) -> tuple[int | None, ...]:
        return (*super().parameter_variables, None)

    def gram(self, theta: Array, prepared: KernelsPair) -> Array:
        first, second, weight = self._split(theta)
        gram, other = self.first.gram(first, prepared.first), self.second.gram(second, prepared.second)
        gram *= weight  # both arrays are new, so no third one is needed
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

    def input_vjp(self, theta: Array, xs: Batch, ys: Batch) -> Callable[[Array], tuple[Array, Pullback]] | None:
        first, second, weight = self._split(theta)
        vary_one, vary_two = self.first.input_vjp(first, xs, ys), self.second.input_vjp(second, xs, ys)
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


class KernelsPair(NamedTuple):
    """Two batches, prepared by two kernels."""

    first: Prepared
    second: Prepared


def weight_of(log_odds: float) -> float:
    """Return the weight with these log odds, in (0, 1)."""
    return 1.0 / (1.0 + math.exp(-max(log_odds, -LARGEST_LOG_ODDS)))


def mix_grams(first: Array, second: Array, weight: float) -> Array:
    """Return weight first + (1 - weight) second (n, m).

    first, second: Gram matrices (n, m), which are only read.
    weight: weight of the first, in [0, 1].
    """
    mixed = (1.0 - weight) * second
    mixed += weight * first
    return mixed


def slope_in_odds(cotangent: Array, first: Array, second: Array, weight: float) -> float:
    """Return the derivative of sum(cotangent * mix_grams(first, second, weight)) in the log odds of the weight.

    cotangent: (n, m).
    first, second: Gram matrices (n, m).
    weight: weight of the first, in [0, 1].
    """
    return weight * (1.0 - weight) * float(np.vdot(cotangent, first) - np.vdot(cotangent, second))


class SpectrumClipPair(NamedTuple):
    """Prepared batches: training points with themselves, and others with them (None for only training points)."""

    own: Prepared
    across: Prepared | None


class Eigensystem(NamedTuple):
    """The eigenvalues and eigenvectors of a symmetric matrix.

    values: eigenvalues (n,), ascending.
    vectors: eigenvectors (n, n), in columns.
    """

    values: Array
    vectors: Array


@dataclass(frozen=True)
class SpectrumClip(Kernel):
    """The kernel from a similarity by spectrum clipping (Chen et al. 2009, section 2.2).

    The second batch of `prepare` has the training points; without it, the first batch has them. If the Gram matrix of
    the training points is positive semi-definite, the kernel is the similarity itself.
    """

    similarity: Kernel
    depends_on_training = True

    def __post_init__(self) -> None:
        check_part("similarity", self.similarity, Kernel)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.similarity.parameters

    @property
    def parameter_variables(self) -> tuple[int | None, ...]:
        return self.similarity.parameter_variables

    def around(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        return SpectrumClip(self.similarity.around(change))

    def prepare(self, xs: Batch, ys: Batch | None = None) -> SpectrumClipPair:
        if ys is None:
            return SpectrumClipPair(self.similarity.prepare(xs), None)
        return SpectrumClipPair(self.similarity.prepare(ys), self.similarity.prepare(xs, ys))

    def gram(self, theta: Array, prepared: SpectrumClipPair) -> Array:
        own = self.similarity.gram(theta, prepared.own)
        across = None if prepared.across is None else self.similarity.gram(theta, prepared.across)
        return clip(own, across)

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return the unclipped diagonal of the similarity (n,); `gram_and_diag` returns the kernel's diagonal."""
        return self.similarity.diag(theta, xs)

    def gram_and_diag(self, theta: Array, xs: Batch, prepared: SpectrumClipPair) -> tuple[Array, Array]:
        diag = self.similarity.diag(theta, xs)
        own = self.similarity.gram(theta, prepared.own)
        across = own if prepared.across is None else self.similarity.gram(theta, prepared.across)
        spectrum = indefinite_spectrum(own)
        if spectrum is None:
            return across, diag
        return project(across, spectrum), diag + clip_surplus(across, spectrum)

    def line(
        self, theta: Array, i: int, prepared: SpectrumClipPair, gram: Array | None = None
    ) -> Callable[[float], Array]:
        # `gram` is clipped, so it is not used
        own = self.similarity.line(theta, i, prepared.own)
        if prepared.across is None:
            return lambda value: clip(own(value))
        across = self.similarity.line(theta, i, prepared.across)
        return lambda value: clip(own(value), across(value))

    def gram_and_pullback(self, theta: Array, prepared: SpectrumClipPair) -> tuple[Array, Pullback]:
        """Return the Gram matrix K (n, n), and the map from G (n, n) to the gradient of sum(G * K) in theta (p,).

        Raises ValueError except for training points. Source: Daleckii and Krein 1965, for spectral functions.
        """
        if prepared.across is not None:
            raise ValueError("prepared: expected training points with themselves, got others with them")
        own, pullback = self.similarity.gram_and_pullback(theta, prepared.own)
        spectrum = indefinite_spectrum(own)
        if spectrum is None:
            return own, pullback
        values, vectors = spectrum
        kept = np.maximum(values, 0.0)
        gap = values[:, None] - values
        is_distinct = np.abs(gap) > 1e-12 * np.max(np.abs(values))
        slopes = np.broadcast_to((values > 0.0).astype(np.float64), gap.shape)
        ratio = np.divide(kept[:, None] - kept, gap, out=slopes.copy(), where=is_distinct)  # Daleckii and Krein 1965

        def through(cotangent: Array) -> Array:
            symmetric = 0.5 * (cotangent + cotangent.T)
            return pullback(vectors @ (ratio * (vectors.T @ symmetric @ vectors)) @ vectors.T)

        return (vectors * kept) @ vectors.T, through


def clip(own: Array, across: Array | None = None) -> Array:
    """Return `own` without its negative eigenvalues, or `across` projected onto the remaining eigenvectors.

    own: (n, n), symmetric.
    across: similarities to the same points (m, n); None for `own` itself.
    """
    spectrum = indefinite_spectrum(own)
    if spectrum is None:
        return own if across is None else across
    if across is not None:
        return project(across, spectrum)
    kept = spectrum.vectors[:, spectrum.values > 0.0]
    return (kept * spectrum.values[spectrum.values > 0.0]) @ kept.T


def project(across: Array, spectrum: Eigensystem) -> Array:
    """Project similarities to the training points onto the eigenvectors with positive eigenvalues (m, n).

    across: (m, n), one row for each point.
    """
    kept = spectrum.vectors[:, spectrum.values > 0.0]
    return (across @ kept) @ kept.T


def clip_surplus(across: Array, spectrum: Eigensystem) -> Array:
    """Return the amount that clipping adds to the similarity of m points with themselves (m,).

    It is the sum of (v' k)^2 / |l| over the removed eigenvectors v with eigenvalues l. For a training point this is its
    diagonal entry of the removed matrix. For other points it may be arbitrarily large if |l| is small, so it is limited
    to the largest amount of a training point.

    across: similarities to the n training points (m, n).
    """
    removed = spectrum.values < -NEGLIGIBLE * float(np.mean(spectrum.values))
    vectors, sizes = spectrum.vectors[:, removed], -spectrum.values[removed]
    most = float(np.max(np.square(vectors) @ sizes))
    return np.minimum(np.square(across @ vectors) @ (1.0 / sizes), most)


def indefinite_spectrum(gram: Array) -> Eigensystem | None:
    """Return the spectrum of a matrix with a negative eigenvalue that is not negligible, else None.

    gram: (n, n), symmetric; if it is not finite, None is returned.
    """
    tolerance = NEGLIGIBLE * float(np.mean(gram.diagonal()))
    shifted = gram + tolerance * np.eye(len(gram))
    if not np.all(np.isfinite(gram)) or scipy.linalg.lapack.dpotrf(shifted, 1, 0, 1)[1] == 0:
        return None  # the surrogate rejects non-finite matrices
    spectrum = Eigensystem(*np.linalg.eigh(gram))
    return spectrum if spectrum.values[0] < -tolerance else None
