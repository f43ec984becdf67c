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


class Link(Protocol):
    """Maps theta to the diffusion of a factor, with derivatives in theta."""

    @property
    def name(self) -> str: ...

    def complete(self, theta: Array, size: Array) -> tuple[Array, Array]:
        """log rho between two choices of complete graphs with `size` vertices, and its slope; elementwise."""
        ...

    def beta(self, theta: float, graph: VariableGraph) -> tuple[float, float]:
        """The edge weight of a factor, and the slope of its logarithm."""
        ...


@dataclass(frozen=True)
class LogEdgeWeight:
    """theta = log beta, as in COMBO."""

    name: str = "log_edge_weight"

    def complete(self, theta: Array, size: Array) -> tuple[Array, Array]:
        beta = np.exp(theta)
        return complete_log_correlation(size, beta), complete_slope(size, beta)

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

    def complete(self, theta: Array, size: Array) -> tuple[Array, Array]:
        del size  # distance is 0 or 1 however many choices there are
        log_rho = -0.5 * np.exp(-2.0 * theta)
        return log_rho, -2.0 * log_rho

    def beta(self, theta: float, graph: VariableGraph) -> tuple[float, float]:
        beta = 0.5 * (math.pi * math.exp(theta)) ** 2 / float(eigenvalues(graph)[1])
        return min(beta, LARGEST), 2.0
