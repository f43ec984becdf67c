"""Meanings of a parameter of the diffusion kernel: the log edge weight, or a log lengthscale."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import ellipkm1

from bostruct.contracts import Array
from bostruct.kernels.space.spectra import LARGEST_EXPONENT, complete_log_correlation, complete_slope

LARGEST_EDGE_WEIGHT = 1e300  # edge weight: short of infinity, which times the eigenvalue 0 is no number

SMALLEST_NORMAL = 1e-300  # numbers much smaller have few digits, and what follows from them moves in steps

SMALLEST_PARAMETER = 1e-300  # of an elliptic integral: short of 0, where its complement is infinite


class Link(ABC):
    """A map from theta to the diffusion of a factor, with derivatives in theta.

    name: of the parameters, for people.
    """

    name: str

    @abstractmethod
    def complete(self, theta: Array, size: Array) -> Array:
        """Return log rho between two choices of complete graphs, elementwise.

        theta: parameters.
        size: numbers of vertices, of the same shape, as is the result.
        """

    @abstractmethod
    def complete_slope(self, theta: Array, size: Array) -> Array:
        """Return the derivative of `complete` in theta, elementwise.

        theta: parameters.
        size: numbers of vertices, of the same shape, as is the result.
        """

    def rho(self, theta: float, size: float) -> float:
        """Return exp of `complete` for one graph: what a coordinate sampler asks for many times.

        theta: parameter.
        size: number of vertices.
        """
        return float(np.exp(self.complete(np.array([theta]), np.array([size])))[0])

    @abstractmethod
    def edge_weights(self, theta: Array, gap: float) -> tuple[Array, Array]:
        """Return the edge weights of variables on equal graphs, and the derivatives of their logarithms in theta.

        theta: parameters (c,).
        gap: the smallest positive eigenvalue of the graph's Laplacian.

        Returns two arrays (c,).
        """


@dataclass(frozen=True)
class LogEdgeWeight(Link):
    """The link theta = log beta, the log edge weight, as in COMBO (Oh et al. 2019).

    name: of the parameters, for people.
    """

    name: str = "log_edge_weight"

    def complete(self, theta: Array, size: Array) -> Array:
        return complete_log_correlation(size, np.exp(theta))

    def complete_slope(self, theta: Array, size: Array) -> Array:
        return complete_slope(size, np.exp(theta))

    def rho(self, theta: float, size: float) -> float:
        fade = -size * math.exp(min(theta, LARGEST_EXPONENT))
        return -math.expm1(fade) / (1.0 + (size - 1.0) * math.exp(fade))

    def edge_weights(self, theta: Array, gap: float) -> tuple[Array, Array]:
        del gap  # the edge weight itself
        return np.exp(theta), np.ones_like(theta)


@dataclass(frozen=True)
class LogLengthscale(Link):
    """The link theta = log l, where l is the lengthscale that is equivalent to the edge weight.

    name: of the parameters, for people.

    On a complete graph the kernel is the RBF of a 0/1 distance: log rho = -1 / (2 l^2). On a path of length 1, whose
    ends reflect the diffusion, they correlate as theta_4(q) / theta_3(q), where theta_3 and theta_4 are Jacobi's theta
    functions of the nome q = exp(-beta gap), and gap is the smallest positive eigenvalue of the Laplacian. The edge
    weight is the one at which this is the RBF's exp(-1 / (2 l^2)). That makes -log q = pi K(p) / K(1 - p), where
    p = exp(-2 / l^2) and K is the complete elliptic integral of the first kind, of the parameter (DLMF 22.2.1 and
    22.2.2). For a small l this is (pi l)^2 / 2: far from the ends the diffusion is a Gaussian of variance l^2.

    Opposite points of a cycle correlate so too. The same law serves every other graph, and is blind to the scale of
    its edge weights.
    """

    name: str = "log_lengthscale"

    def complete(self, theta: Array, size: Array) -> Array:
        del size  # distance is 0 or 1 however many choices there are
        return -0.5 * np.exp(-2.0 * theta)

    def complete_slope(self, theta: Array, size: Array) -> Array:
        del size
        return np.exp(-2.0 * theta)

    def rho(self, theta: float, size: float) -> float:
        del size
        return math.exp(-0.5 * math.exp(min(-2.0 * theta, LARGEST_EXPONENT)))

    def edge_weights(self, theta: Array, gap: float) -> tuple[Array, Array]:
        fade, slope = _fade(theta)
        return np.minimum(fade / gap, LARGEST_EDGE_WEIGHT), slope


def _fade(theta: Array) -> tuple[Array, Array]:
    """Return -log q of the nome q at which the ends of a path correlate as the RBF's, and the slope of its logarithm.

    The slope follows from the derivative of the nome in its parameter m = 1 - p, -pi^2 / (4 m (1 - m) K(m)^2).
    """
    half = np.exp(np.minimum(-2.0 * theta, LARGEST_EXPONENT))  # 1 / l^2
    p, rest = np.exp(-2.0 * half), np.maximum(-np.expm1(-2.0 * half), SMALLEST_PARAMETER)
    above = ellipkm1(rest)  # K(p)
    small = p <= SMALLEST_NORMAL
    below = np.where(small, math.log(4.0) + half, ellipkm1(np.where(small, 1.0, p)))  # K(1 - p), log(16 / p) / 2
    return math.pi * above / below, math.pi * half / (rest * above * below)


def compute_rates(theta: Array | float) -> Array:
    """Return 1 / (2 l^2), by which a squared difference counts, for each logarithm of l.

    theta: of any shape.
    """
    return 0.5 * np.exp(-2.0 * np.asarray(theta, dtype=np.float64))
