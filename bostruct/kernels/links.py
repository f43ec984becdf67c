"""What a parameter of the diffusion kernel means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bostruct.contracts import Array
from bostruct.domains.graphs import VariableGraph
from bostruct.kernels.factors import complete_log_correlation, complete_slope, eigenvalues

LARGEST = 1e300  # edge weight: short of infinity, which times the eigenvalue 0 is no number

LARGEST_LOG = 700.0  # of a number that exp can still make


class Link(Protocol):
    """Maps theta to the diffusion of a factor, with derivatives in theta."""

    @property
    def name(self) -> str: ...

    def complete(self, theta: Array, size: Array) -> Array:
        """log rho between two choices of complete graphs with `size` vertices; elementwise."""
        ...

    def complete_slope(self, theta: Array, size: Array) -> Array:
        """Its derivative in theta."""
        ...

    def rho(self, theta: float, size: float) -> float:
        """exp of `complete` for one graph: what a coordinate sampler asks for many times."""
        ...

    def beta(self, theta: float, graph: VariableGraph) -> tuple[float, float]:
        """The edge weight of a factor, and the slope of its logarithm."""
        ...


@dataclass(frozen=True)
class LogEdgeWeight:
    """theta = log beta, as in COMBO."""

    name: str = "log_edge_weight"

    def complete(self, theta: Array, size: Array) -> Array:
        return complete_log_correlation(size, np.exp(theta))

    def complete_slope(self, theta: Array, size: Array) -> Array:
        return complete_slope(size, np.exp(theta))

    def rho(self, theta: float, size: float) -> float:
        fade = -size * math.exp(min(theta, LARGEST_LOG))
        return -math.expm1(fade) / (1.0 + (size - 1.0) * math.exp(fade))

    def beta(self, theta: float, graph: VariableGraph) -> tuple[float, float]:
        del graph  # the edge weight itself
        return math.exp(theta), 1.0


@dataclass(frozen=True)
class LogLengthscale:
    """theta = log of the lengthscale that is equivalent to the edge weight.

    On a complete graph the kernel is the RBF of a 0/1 distance: log rho = -1 / (2 lengthscale^2). Diffusion for time
    beta spreads as a Gaussian of variance 2 beta; on a path of length 1 that is beta = (pi lengthscale)^2 / (2 gap),
    where the smallest positive eigenvalue of its Laplacian (gap) stands for (pi / number of steps)^2. The same law
    serves every other graph, and is blind to the scale of its edge weights.
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
        return math.exp(-0.5 * math.exp(min(-2.0 * theta, LARGEST_LOG)))

    def beta(self, theta: float, graph: VariableGraph) -> tuple[float, float]:
        beta = 0.5 * (math.pi * math.exp(theta)) ** 2 / float(eigenvalues(graph)[1])
        return min(beta, LARGEST), 2.0
