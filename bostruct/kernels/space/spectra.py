"""Diffusion on the graph of one variable: its spectrum, and the meanings of a parameter, edge weight or lengthscale."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy

from bostruct.contracts import Array

LARGEST_EXPONENT = 700.0  # exp overflows at 709
SMALLEST_ENTRY = 1e-130  # smaller entries are rounding errors of the eigensystem; logarithms must stay finite


def complete_log_correlation(size: Array, beta: Array) -> Array:
    """Return log F(a, b) for a != b on complete graphs, whose diagonal is exactly 1; elementwise.

    F = (1 - q) / (1 + (size - 1) q) with q = exp(-size beta).
    """
    return np.log(-np.expm1(-size * beta)) - np.log1p((size - 1.0) * np.exp(-size * beta))


def complete_slope(size: Array, beta: Array) -> Array:
    """Return the derivative of `complete_log_correlation` in log beta, elementwise."""
    q = np.exp(-size * beta)
    return beta * size * q * (-1.0 / np.expm1(-size * beta) + (size - 1.0) / (1.0 + (size - 1.0) * q))


def heat_weights(values: Array, beta: Array) -> Array:
    """Return the eigenvalues of F(beta) (c, k).

    values: eigenvalues of the Laplacian (k,).
    """
    decay = np.exp(-beta[:, None] * values)
    decay /= np.add.reduce(decay, axis=1, keepdims=True) / len(values)
    return decay


def heat_slopes(values: Array, beta: Array) -> Array:
    """Return the derivatives of `heat_weights` in log beta (c, k).

    values: eigenvalues of the Laplacian (k,).
    """
    weights = heat_weights(values, beta)
    change = -beta[:, None] * values * weights
    return change - weights * change.mean(axis=1, keepdims=True)


LARGEST_EDGE_WEIGHT = 1e300  # finite, because infinity times the eigenvalue 0 is NaN

SMALLEST_NORMAL = 1e-300  # smaller numbers have few digits, and results computed from them move in steps

SMALLEST_PARAMETER = 1e-300  # of an elliptic integral; at 0 the complementary integral is infinite


class Link(ABC):
    """A map from theta to the diffusion of a factor, with derivatives in theta."""

    name: str

    @abstractmethod
    def complete(self, theta: Array, size: Array) -> Array:
        """Return log rho between two choices of complete graphs, elementwise.

        Parameters
        ----------
        theta : Array
            Parameters, elementwise.
        size : Array
            Number of choices of each.
        """

    @abstractmethod
    def complete_slope(self, theta: Array, size: Array) -> Array:
        """Return the derivative of `complete` in theta, elementwise.

        Parameters
        ----------
        theta : Array
            Parameters, elementwise.
        size : Array
            Number of choices of each.
        """

    def rho(self, theta: float, size: float) -> float:
        """Return exp of `complete` for one graph, which a coordinate sampler needs many times.

        Parameters
        ----------
        theta : float
            The parameter.
        size : float
            Number of vertices.
        """
        return float(np.exp(self.complete(np.array([theta]), np.array([size])))[0])

    @abstractmethod
    def edge_weights(self, theta: Array, gap: float) -> tuple[Array, Array]:
        """Return the edge weights of variables on equal graphs, and the derivatives of their logarithms in theta.

        Parameters
        ----------
        theta : Array
            Parameters (c,).
        gap : float
            The smallest positive eigenvalue of the graph's Laplacian.

        Returns
        -------
        tuple of (Array, Array)
            Weights and derivatives, (c,) each.
        """


@dataclass(frozen=True)
class LogEdgeWeight(Link):
    """The link theta = log beta, the log edge weight, as in COMBO (Oh et al. 2019)."""

    name: str = "log_edge_weight"

    def complete(self, theta: Array, size: Array) -> Array:
        return complete_log_correlation(size, np.exp(theta))

    def complete_slope(self, theta: Array, size: Array) -> Array:
        return complete_slope(size, np.exp(theta))

    def rho(self, theta: float, size: float) -> float:
        exponent = -size * math.exp(min(theta, LARGEST_EXPONENT))
        return -math.expm1(exponent) / (1.0 + (size - 1.0) * math.exp(exponent))

    def edge_weights(self, theta: Array, gap: float) -> tuple[Array, Array]:
        # the edge weight itself
        return np.exp(theta), np.ones_like(theta)


@dataclass(frozen=True)
class LogLengthscale(Link):
    """The link theta = log l, where l is the lengthscale that is equivalent to the edge weight.

    On a complete graph the kernel is the RBF of a 0/1 distance: log rho = -1 / (2 l^2). On a path of length 1, the ends
    reflect the diffusion and have the correlation theta_4(q) / theta_3(q). Here theta_3 and theta_4 are Jacobi's theta
    functions of the nome q = exp(-beta gap), and gap is the smallest positive eigenvalue of the Laplacian. The edge
    weight is chosen so that this is the RBF's exp(-1 / (2 l^2)). Hence -log q = pi K(p) / K(1 - p), where p = exp(-2 /
    l^2) and K is the complete elliptic integral of the first kind as a function of the parameter (DLMF 22.2.1 and
    22.2.2). For a small l this is (pi l)^2 / 2: far from the ends the diffusion is a Gaussian of variance l^2.

    Opposite points of a cycle have the same correlation. All other graphs use the same formula, which is independent of
    the scale of the edge weights.

    Parameters
    ----------
    name : str, default "log_lengthscale"
        Name of the parameters, for display.
    """

    name: str = "log_lengthscale"

    def complete(self, theta: Array, size: Array) -> Array:
        # the distance is 0 or 1 for any number of choices
        return -0.5 * np.exp(-2.0 * theta)

    def complete_slope(self, theta: Array, size: Array) -> Array:
        return np.exp(-2.0 * theta)

    def rho(self, theta: float, size: float) -> float:
        return math.exp(-0.5 * math.exp(min(-2.0 * theta, LARGEST_EXPONENT)))

    def edge_weights(self, theta: Array, gap: float) -> tuple[Array, Array]:
        # -log q of the nome q, and the slope of its logarithm, by the derivative of -log q in its parameter m = 1 - p,
        # which is -pi^2 / (4 m (1 - m) K(m)^2)
        half = np.exp(np.minimum(-2.0 * theta, LARGEST_EXPONENT))  # 1 / l^2
        p, rest = np.exp(-2.0 * half), np.maximum(-np.expm1(-2.0 * half), SMALLEST_PARAMETER)
        above = scipy.special.ellipkm1(rest)  # K(p)
        small = p <= SMALLEST_NORMAL
        # K(1 - p), log(16 / p) / 2
        below = np.where(small, math.log(4.0) + half, scipy.special.ellipkm1(np.where(small, 1.0, p)))
        minus_log_nome = math.pi * above / below
        return np.minimum(minus_log_nome / gap, LARGEST_EDGE_WEIGHT), math.pi * half / (rest * above * below)


def compute_rates(theta: Array | float) -> Array:
    """Return 1 / (2 l^2), the factor of a squared difference, for each logarithm of l."""
    return 0.5 * np.exp(-2.0 * np.asarray(theta, dtype=np.float64))
