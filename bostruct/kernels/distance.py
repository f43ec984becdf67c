"""Kernels from distances: exp(-sum_k rate_k D_k), with one log rate for each of p distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Array, Batch, Kernel, Parameter, Prior, Pullback


class ExponentialKernel(Kernel):
    """The kernel exp(-sum_k exp(theta_k) D_k). It is positive semi-definite where every D_k is of negative type.

    A kernel derives from this class and adds `parameters` and `prepare`, which returns the distances D (p, n, m).
    """

    def gram(self, theta: Array, prepared: Array) -> Array:
        return np.exp(-np.tensordot(np.exp(theta), prepared, axes=1))

    def diag(self, theta: Array, xs: Batch) -> Array:
        del theta
        return np.ones(len(xs))

    def line(self, theta: Array, i: int, prepared: Array, gram: Array | None = None) -> Callable[[float], Array]:
        del gram  # an entry that underflowed at theta says nothing of what it is elsewhere
        rates = np.exp(theta)
        rates[i] = 0.0
        others, own = np.tensordot(rates, prepared, axes=1), prepared[i]

        def along(value: float) -> Array:
            exponent = own * -np.exp(value)
            exponent -= others
            return np.exp(exponent, out=exponent)

        return along

    def gram_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Pullback]:
        gram = self.gram(theta, prepared)
        return gram, lambda cotangent: -np.exp(theta) * np.tensordot(prepared, cotangent * gram, axes=2)


@dataclass(frozen=True)
class FeatureDistance:
    """The Euclidean distance of features, each divided by a scale.

    features: m points -> their features (m, k).
    scale: of each feature, above 0; k of them.
    """

    features: Callable[[Batch], Array]
    scale: tuple[float, ...]

    def __call__(self, xs: Batch, ys: Batch) -> Array:
        """Return the distance of each of n points to each of m (n, m).

        xs: n points.
        ys: m points.
        """
        from scipy.spatial.distance import cdist

        return np.array(cdist(self.features(xs) / self.scale, self.features(ys) / self.scale), dtype=np.float64)


@dataclass(frozen=True)
class DistanceKernel(ExponentialKernel):
    """The kernel exp(-rate d(x, y)) of a distance d.

    It is positive semi-definite where the distance is Euclidean, or of negative type (Schoenberg 1938); elsewhere it is
    a similarity for `SpectrumClip`.

    distance: n points, m points -> their distances (n, m).
    prior: of the log rate.
    initial: log rate at first.
    """

    distance: Callable[[Batch, Batch], Array]
    prior: Prior
    initial: float

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (Parameter("log_rate", 1, self.prior, self.initial),)

    def prepare(self, xs: Batch, ys: Batch | None = None) -> Array:
        """Return the distances (1, n, m).

        xs: n points.
        ys: m points; None for xs with themselves.
        """
        return self.distance(xs, xs if ys is None else ys)[None]
