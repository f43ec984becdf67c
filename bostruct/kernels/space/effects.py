"""The effect of one variable: a kernel between its values, with mean diagonal 1.

On graphs an effect is centered, so that effects sum to zero over the choices: on a complete graph of k choices it is
(k [a = b] - 1) / (k - 1); elsewhere it is centered diffusion for a fixed time, whose effects are smooth along the
graph. Any other kind of variable brings its own effect.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.graphs import VariableGraph
from bostruct.kernels.space.factor import Factor
from bostruct.kernels.space.spectra import LogLengthscale, diffusion, eigenvalues

LENGTHSCALE = 0.5  # of effects along a graph, in units of its length
RANK_ROUNDING = 4e-15  # an eigenvalue that counts as 0, as a share of the largest


class EffectKernel(ABC):
    """The effect kernel of one variable: how alike its values are in what they do.

    has_unit_diagonal: True where the kernel of each value with itself is 1; False where unknown.
    """

    has_unit_diagonal: bool = False

    @abstractmethod
    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the kernel between values (n, m).

        xs: own columns of n points (n, w).
        ys: own columns of m points (m, w).
        """

    def diag(self, xs: IntArray) -> Array:
        """Return the kernel of each value with itself (n,); by default from `gram` of each alone.

        xs: own columns of n points (n, w).
        """
        return np.array([self.gram(x[None], x[None])[0, 0] for x in xs], dtype=np.float64)

    def change(self, before: IntArray, after: IntArray, ys: IntArray) -> Array:
        """Return by how much changes add to `gram` (r, m); by default the difference of both.

        before: own columns of r points (r, w).
        after: the same after the change (r, w).
        ys: own columns of m points (m, w).
        """
        return self.gram(after, ys) - self.gram(before, ys)


@dataclass(frozen=True)
class GraphEffect(EffectKernel):
    """The centered effect of a variable on a graph."""

    graph: VariableGraph

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        if len(self.table) < len(xs):  # rows are quicker to gather than columns
            return self.table[:, ys[:, 0]][xs[:, 0]]
        return self.table[xs[:, 0]][:, ys[:, 0]]

    def diag(self, xs: IntArray) -> Array:
        return self.table.diagonal()[xs[:, 0]]

    @property
    def has_unit_diagonal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.is_complete

    @property
    def is_complete(self) -> bool:
        """True on a complete graph."""
        return self.graph.is_complete

    @cached_property
    def coordinates(self) -> Array:
        """Coordinates of the vertices (k, r), whose inner products are the table up to rounding; r is its rank."""
        values, vectors = np.linalg.eigh(self.table)
        kept = values > RANK_ROUNDING * values[-1]
        return vectors[:, kept] * np.sqrt(values[kept])

    @cached_property
    def table(self) -> Array:
        """The kernel between all vertices (k, k), centered, its mean diagonal 1."""
        k = self.graph.size
        if self.is_complete:
            return (k * np.eye(k) - 1.0) / (k - 1.0)
        gap = float(eigenvalues(self.graph)[1])
        beta = float(LogLengthscale().edge_weights(np.array([math.log(LENGTHSCALE)]), gap)[0][0])
        between = diffusion(self.graph, beta, np.arange(k), np.arange(k)).between
        centered = between - between.mean(axis=0) - between.mean(axis=1)[:, None] + between.mean()
        return centered * (k / np.trace(centered))


@dataclass(frozen=True)
class FactorEffect(EffectKernel):
    """The effect of a variable of any kind: its own factor, at parameter 0.

    factor: of one variable, with unit diagonal.
    """

    factor: Factor

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        return np.exp(self.factor.log_gram(self._theta, self.factor.prepare(xs, ys)))

    def diag(self, xs: IntArray) -> Array:
        return np.exp(self.factor.log_diag(self._theta, xs))

    @property
    def _theta(self) -> Array:
        return np.zeros(self.factor.n_parameters)
