"""The effect of one variable: a kernel between its values, with mean diagonal 1.

On graphs an effect is centered, so that effects sum to zero over the choices. On a complete graph of k choices it is
(k [a = b] - 1) / (k - 1). On other graphs it is centered diffusion for a fixed time, whose effects are smooth along the
graph. All other kinds of variables have their own effects.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray, Pullback
from bostruct.domains.space.graphs import CompleteGraph, VariableGraph
from bostruct.domains.space.scale import NumberGrid
from bostruct.domains.space.variable import INACTIVE
from bostruct.kernels.space.factor import Factor
from bostruct.kernels.space.spectra import LogLengthscale, heat_weights

LENGTHSCALE = 0.5  # lengthscale of effects along a graph, in units of its length
RANK_ROUNDING = 4e-15  # share of the largest eigenvalue, below which an eigenvalue counts as 0


class EffectKernel(ABC):
    """The effect kernel of one variable: the similarity of its values' effects.

    Parameters
    ----------
    has_unit_diagonal : bool, default False
        True if the kernel of each value with itself is 1; False if unknown.
    grid : NumberGrid, optional
        The numbers of a `NumberEffect`, whose sums are computed together; None for other effects.
    """

    has_unit_diagonal: bool = False
    grid: NumberGrid | None = None

    @property
    def on_graph(self) -> GraphEffect | None:
        """The effect itself if it belongs to choices on a graph, summed by tables; otherwise None."""
        return None

    def conditional(self) -> EffectKernel:
        """Return the effect of a variable that some points lack: zero at those points."""
        return ConditionalEffect(self)

    def unordered(self, is_ordered: bool) -> EffectKernel | None:
        """Return the effect with all pairs of values equally similar; None, the default, if they already are.

        Parameters
        ----------
        is_ordered : bool
            True if the values have an order that may be irrelevant.
        """
        return None

    def input_vjp(self, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]] | None:
        """Return the kernel as a function of the continuous coordinates of m values, as `Factor.input_vjp` does.

        The default, None, means that there is no gradient, or that the numbers' sums are computed together.

        Parameters
        ----------
        xs : array of int, shape (m, w)
            Columns of m values.
        ys : array of int, shape (n, w)
            Columns of n values.
        """
        return None

    @abstractmethod
    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the kernel between values (n, m).

        Parameters
        ----------
        xs : array of int, shape (n, w)
            The variable's columns of n points.
        ys : array of int, shape (m, w)
            The variable's columns of m points.
        """

    def diag(self, xs: IntArray) -> Array:
        """Return the kernel of each value with itself (n,); by default 1, or from one `gram` for each.

        Parameters
        ----------
        xs : array of int, shape (n, w)
            The variable's columns of n points.
        """
        if self.has_unit_diagonal:
            return np.ones(len(xs))
        return np.array([self.gram(x[None], x[None])[0, 0] for x in xs], dtype=np.float64)

    def change(self, before: IntArray, after: IntArray, ys: IntArray) -> Array:
        """Return the change of `gram` that r changes of the variable cause (r, m); by default the difference.

        Parameters
        ----------
        before : array of int, shape (r, w)
            The variable's columns before each change.
        after : array of int, shape (r, w)
            The same columns after each change.
        ys : array of int, shape (m, w)
            The variable's columns of m points.
        """
        return self.gram(after, ys) - self.gram(before, ys)


@dataclass(frozen=True)
class GraphEffect(EffectKernel):
    """The centered effect of a variable on a graph."""

    graph: VariableGraph

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        if len(self.table) < len(xs):  # gathering rows is faster than gathering columns
            return self.table[:, ys[:, 0]][xs[:, 0]]
        return self.table[xs[:, 0]][:, ys[:, 0]]

    def diag(self, xs: IntArray) -> Array:
        return self.table.diagonal()[xs[:, 0]]

    @property
    def has_unit_diagonal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.graph.is_complete

    @property
    def on_graph(self) -> GraphEffect:
        return self

    def unordered(self, is_ordered: bool) -> EffectKernel | None:
        return GraphEffect(CompleteGraph(self.graph.size)) if is_ordered and self.graph.size > 2 else None

    @cached_property
    def coordinates(self) -> Array:
        """Coordinates of the vertices (k, r), whose inner products are the table up to rounding; r is its rank."""
        values, vectors = np.linalg.eigh(self.table)
        kept = values > RANK_ROUNDING * values[-1]
        return vectors[:, kept] * np.sqrt(values[kept])

    @cached_property
    def table(self) -> Array:
        """The kernel between all vertices (k, k), centered, with mean diagonal 1."""
        k = self.graph.size
        if self.graph.is_complete:
            return (k * np.eye(k) - 1.0) / max(k - 1.0, 1.0)
        gap = float(self.graph.eigenvalues()[1])
        beta, _ = LogLengthscale().edge_weights(np.array([math.log(LENGTHSCALE)]), gap)
        spectrum = self.graph.spectrum()
        between = spectrum.diffuse(heat_weights(spectrum.values, beta)).between(np.arange(k), np.arange(k))[0]
        centered = between - between.mean(axis=0) - between.mean(axis=1)[:, None] + between.mean()
        return centered * (k / np.trace(centered))


NO_EFFECT = GraphEffect(CompleteGraph(1))  # the effect of a variable with one value


@dataclass(frozen=True)
class FactorEffect(EffectKernel):
    """The effect of a variable of any kind: its own factor, with all parameters 0.

    factor: factor of one variable, with unit diagonal.
    """

    factor: Factor

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        return np.exp(self.factor.log_gram(np.zeros(self.factor.n_parameters), self.factor.prepare(xs, ys)))

    def diag(self, xs: IntArray) -> Array:
        return np.exp(self.factor.log_diag(np.zeros(self.factor.n_parameters), xs))


@dataclass(frozen=True)
class ConditionalEffect(EffectKernel):
    """The effect of a variable that some points lack: 0 if the variable is absent."""

    inner: EffectKernel

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        (own, rows), (other, columns) = find_distinct_values(xs), find_distinct_values(ys)
        gram, x_has, y_has = np.zeros((len(own), len(other))), find_present(own), find_present(other)
        gram[np.ix_(x_has, y_has)] = self.inner.gram(own[x_has], other[y_has])
        return spread_pairs(gram, rows, columns)

    def diag(self, xs: IntArray) -> Array:
        diagonal, has = np.zeros(len(xs)), find_present(xs)
        diagonal[has] = self.inner.diag(xs[has])
        return diagonal


class DistinctValues(NamedTuple):
    """The values that occur in a batch.

    values: the columns of each value, in order (u, w); "absent" is one of the values.
    at: the position of each point's value among them (n,).
    """

    values: IntArray
    at: IntArray


def find_present(xs: IntArray) -> IntArray:
    """Return the positions of the points that have a variable (k,).

    xs: the variable's columns of n points (n, w).
    """
    return np.flatnonzero(xs[:, 0] != INACTIVE)


def find_distinct_values(xs: IntArray) -> DistinctValues:
    """Return the values of a variable that occur in a batch.

    xs: the variable's columns of n points (n, w).
    """
    if xs.shape[1] == 1:
        values, at = np.unique(xs[:, 0], return_inverse=True)  # a tenth of the time of sorting rows
        return DistinctValues(values[:, None], at)
    values, at = np.unique(xs, axis=0, return_inverse=True)
    return DistinctValues(values, at.ravel())


def spread_pairs(table: Array, rows: IntArray, columns: IntArray) -> Array:
    """Return table[rows[i], columns[j]] (n, m).

    rows, columns: (n,) and (m,).
    """
    return table[:, columns][rows]  # columns first, while there are few rows; gathering rows is faster
