"""The part of log K that comes from one variable on a graph that is not complete: a look-up in its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.graphs import VariableGraph
from bostruct.kernels.space.links import Link
from bostruct.kernels.space.spectra import SMALLEST_ENTRY, diffusion, diffusion_and_slope

MAX_WHOLE_TABLE = 64  # vertices; up to here tables are kept whole (32 KB each), beyond only for the vertices that occur


class TablePair(NamedTuple):
    """The vertices that occur in either batch, and the cell of their table for each pair of points.

    left, right: vertices (u,) and (v,). rows, columns: positions among these of each point, (n,) and (m,).
    """

    left: IntArray
    right: IntArray
    rows: IntArray
    columns: IntArray

    def spread(self, table: Array) -> Array:
        """Look up the cell of each pair of points (n, m).

        table: (u, v).
        """
        return table[self.rows][:, self.columns]

    def sum_by_cell(self, weighted: Array) -> Array:
        """Sum over the pairs of points that share a cell (u, v).

        weighted: (n, m).
        """
        by_column = weighted @ (self.columns[:, None] == np.arange(len(self.right))).astype(np.float64)
        return (self.rows[:, None] == np.arange(len(self.left))).astype(np.float64).T @ by_column


def _log_table(graph: VariableGraph, beta: float, unit_diagonal: bool, left: IntArray, right: IntArray) -> Array:
    table = diffusion(graph, beta, left, right)
    logarithm = np.log(np.maximum(table.between, SMALLEST_ENTRY))
    if unit_diagonal:
        logarithm -= 0.5 * (np.log(table.left)[:, None] + np.log(table.right))
    return logarithm


@lru_cache(maxsize=1024)
def _whole_log_table(graph: VariableGraph, beta: float, unit_diagonal: bool) -> Array:
    """Return log F between all vertices, cached for callers that only read it: a search asks for it at every step."""
    return _log_table(graph, beta, unit_diagonal, all_vertices(graph.size), all_vertices(graph.size))


@lru_cache(maxsize=128)
def all_vertices(size: int) -> IntArray:
    return np.arange(size)


@dataclass(frozen=True)
class TablePart:
    """One variable on a graph that is not complete.

    which: its position in the space. graph: its own. link: meaning of theta. unit_diagonal: scale F to F(a, a) = 1.
    """

    which: int
    graph: VariableGraph
    link: Link
    unit_diagonal: bool

    def prepare(self, xs: IntArray, ys: IntArray) -> TablePair:
        """Find the cell of each pair of points.

        xs, ys: vertices of this variable (n,) and (m,).
        """
        if self.graph.size <= MAX_WHOLE_TABLE:
            return TablePair(all_vertices(self.graph.size), all_vertices(self.graph.size), xs, ys)
        left, rows = np.unique(xs, return_inverse=True)
        right, columns = np.unique(ys, return_inverse=True)
        return TablePair(left, right, rows, columns)

    def log_table(self, theta: float, pair: TablePair) -> Array:
        """Return log F between the vertices that occur (u, v), for callers that only read it.

        theta: of this variable.
        pair: of `prepare`.
        """
        beta = self.link.beta(theta, self.graph)[0]
        if self.graph.size <= MAX_WHOLE_TABLE:
            return _whole_log_table(self.graph, beta, self.unit_diagonal)
        return _log_table(self.graph, beta, self.unit_diagonal, pair.left, pair.right)

    def log_diag(self, theta: float, vertices: IntArray) -> Array:
        """Return log F(a, a) at each vertex (n,).

        theta: of this variable.
        vertices: (n,).
        """
        if self.unit_diagonal:
            return np.zeros(len(vertices))
        own = np.arange(self.graph.size)
        table = diffusion(self.graph, self.link.beta(theta, self.graph)[0], own, own[:1])
        return np.log(table.left)[vertices]

    def gradient(self, theta: float, pair: TablePair, weighted: Array) -> float:
        """Return the derivative of sum(weighted * log K) in theta.

        theta: of this variable.
        pair: of `prepare`.
        weighted: (n, m).
        """
        beta, log_beta_slope = self.link.beta(theta, self.graph)
        table, slope = diffusion_and_slope(self.graph, beta, pair.left, pair.right)
        change = np.where(
            table.between > SMALLEST_ENTRY, slope.between / np.maximum(table.between, SMALLEST_ENTRY), 0.0
        )
        if self.unit_diagonal:
            change -= 0.5 * ((slope.left / table.left)[:, None] + slope.right / table.right)
        return log_beta_slope * float(np.sum(pair.sum_by_cell(weighted) * change))

    def line(self, pair: TablePair, rest: Array) -> Callable[[float], Array]:
        """Return K along theta; each call overwrites what the last returned.

        pair: of `prepare`.
        rest: the product of all other factors (n, m).
        """
        cells = pair.rows[:, None] * len(pair.right) + pair.columns
        out = np.empty_like(rest)

        def along(t: float) -> Array:
            np.take(np.exp(self.log_table(t, pair)), cells, out=out, mode="clip")
            return np.multiply(out, rest, out=out)

        return along
