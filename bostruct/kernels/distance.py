"""A kernel of any distance, and the distance that features make."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Array, Batch, Parameter, Prior


@dataclass(frozen=True)
class FeatureDistance:
    """The Euclidean distance of features, each divided by a scale.

    features: m points -> their features (m, k).
    scale: of each feature, above 0; k of them.
    """

    features: Callable[[Batch], Array]
    scale: tuple[float, ...]

    def __call__(self, xs: Batch, ys: Batch) -> Array:
        """Return the distance of each of n points to each of m (n, m)."""
        from scipy.spatial.distance import cdist

        return np.array(cdist(self.features(xs) / self.scale, self.features(ys) / self.scale), dtype=np.float64)


@dataclass(frozen=True)
class DistanceKernel:
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

    def prepare(self, xs: Batch, ys: Batch) -> Array:
        return self.distance(xs, ys)

    def gram(self, theta: Array, prepared: Array) -> Array:
        """Return the Gram matrix (n, m).

        theta: (1,).
        prepared: distances (n, m).
        """
        return np.exp(-math.exp(theta[0]) * prepared)

    def diag(self, theta: Array, xs: Batch) -> Array:
        """Return 1 for each point, k(x, x) (n,).

        theta: (1,).
        xs: n points.
        """
        del theta
        return np.ones(len(xs))

    def line(self, theta: Array, i: int, prepared: Array, gram: Array | None = None) -> Callable[[float], Array]:
        """Return the Gram matrix as a function of the log rate.

        theta: (1,).
        i: 0.
        prepared: distances (n, m).
        gram: ignored.
        """
        del theta, i, gram
        return lambda t: np.exp(-math.exp(t) * prepared)

    def gram_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return the Gram matrix K (n, m), and the map from G (n, m) to the gradient of sum(G * K) in theta (1,).

        theta: (1,).
        prepared: distances (n, m).
        """
        gram = self.gram(theta, prepared)
        slope = -math.exp(theta[0]) * prepared * gram
        return gram, lambda cotangent: np.array([np.vdot(cotangent, slope)], dtype=np.float64)
