"""The ARD diffusion kernel on a graph Cartesian product (COMBO; Oh et al. 2019, section 2.2 and equation 3).

Variables on incomplete graphs look up their kernels in tables of diffusion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bostruct.contracts import SINGLE_ROUNDING, Array, IntArray, Prior
from bostruct.domains.space.graphs import Diffusion, Spectrum, VariableGraph
from bostruct.kernels.space.complete import CompleteFactor
from bostruct.kernels.space.factor import (
    MAX_CODES,
    Factor,
    LastThetas,
    Line,
    ServedFactor,
    SharedFactor,
    SingleLogGram,
    SingleLogGrams,
    VariableChanges,
    look_up,
)
from bostruct.kernels.space.product import PlacedFactor, SpaceKernel
from bostruct.kernels.space.spectra import SMALLEST_ENTRY, Link, heat_slopes, heat_weights

MAX_WHOLE_TABLE = 64  # vertices of a whole table (32 KB); tables of larger graphs contain only vertices that occur
MAX_KEPT = 2**23  # numbers in the tables that are cached by their parameters for a search


def ard_diffusion(
    graphs: Sequence[VariableGraph], prior: Prior, link: Link, initial: float = 0.0, unit_diagonal: bool = False
) -> SpaceKernel:
    """Build the ARD diffusion kernel (Oh et al. 2019, equation 3) on points with one column for each graph.

    unit_diagonal: whether to scale the kernels of incomplete graphs to correlations, as the kernels of complete graphs
        are; otherwise the mean of their diagonal is 1, as published.
    """
    varied = [i for i, graph in enumerate(graphs) if graph.size > 1]  # a graph of one vertex has no parameter
    placed = []
    for factor, own in graph_factors([graphs[i] for i in varied], FactorSettings(link, unit_diagonal)):
        columns = tuple(varied[i] for i in own)
        placed.append(PlacedFactor(factor, columns, columns, parameters=own if len(varied) < len(graphs) else None))
    return SpaceKernel(tuple(placed), link.name, prior, initial)


class FactorSettings(NamedTuple):
    """Settings that all factors of a space share.

    Attributes
    ----------
    link : Link
        The meaning of theta, for variables on graphs.
    unit_diagonal : bool
        If True, kernels are scaled to k(a, a) = 1; else the mean of their diagonal is 1, as published.
    """

    link: Link
    unit_diagonal: bool


def graph_factors(graphs: Sequence[VariableGraph], settings: FactorSettings) -> list[ServedFactor]:
    """Build the factors of variables on graphs, each with the positions of its graphs."""
    complete = tuple(i for i, graph in enumerate(graphs) if graph.is_complete)
    found: list[ServedFactor] = []
    if complete:
        found.append((CompleteFactor(tuple(graphs[i].size for i in complete), settings.link), complete))
    equal: dict[VariableGraph | int, list[int]] = {}
    for i, graph in enumerate(graphs):
        if not graph.is_complete:
            equal.setdefault(graph if graph.size <= MAX_WHOLE_TABLE else i, []).append(i)
    for served in equal.values():
        factor = TableFactor(graphs[served[0]], len(served), settings.link, settings.unit_diagonal)
        found.append((factor, tuple(served)))
    return found


def extreme_eigenvalues(graphs: Sequence[VariableGraph], link: Link, theta: Array) -> tuple[float, float]:
    """Return the logarithms of the diffusion kernel's smallest and largest eigenvalues on all points.

    theta: (d,).
    """
    low = high = 0.0
    for graph, t in zip(graphs, theta, strict=True):
        values = graph.eigenvalues()
        beta = float(link.edge_weights(np.array([t]), float(values[1]))[0][0])
        log_mean = math.log(np.mean(np.exp(-beta * values)))
        low += -beta * float(values[-1]) - log_mean
        high += -beta * float(values[0]) - log_mean
    return low, high


class TablePair(NamedTuple):
    """The cells of the tables for each pair of points.

    left, right: vertices of the tables' rows and columns, (u,) and (v,).
    rows, columns: positions of each point's vertices among them, (c, n) and (c, m).
    codes: 1 for the row of each variable's table that a point uses (n, c u); None if there are too many columns.
    """

    left: IntArray
    right: IntArray
    rows: IntArray
    columns: IntArray
    codes: Array | None


class TableChanges(NamedTuple):
    """The cells of the tables before and after each change.

    left, right: vertices of the tables' rows and columns, (u,) and (v,).
    columns: position of each point y's vertex among the columns (c, m).
    which: variable of each change (r,).
    before, after: positions of its vertex among the rows (r,).
    """

    left: IntArray
    right: IntArray
    columns: IntArray
    which: IntArray
    before: IntArray
    after: IntArray


@dataclass(frozen=True)
class TableFactor(Factor):
    """The factor of variables on one incomplete graph: diffusion (Oh et al. 2019, section 2.2).

    graph: graph of all variables; a graph with more than 64 vertices has only one variable.
    unit_diagonal: whether to scale F to F(a, a) = 1; otherwise the mean of its diagonal is 1.
    """

    graph: VariableGraph
    n_variables: int
    link: Link
    unit_diagonal: bool

    @property
    def has_unit_diagonal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.unit_diagonal

    def share_parameters(self, most: int) -> list[ServedFactor]:
        return [(SharedFactor(self) if self.n_variables > most else self, tuple(range(self.n_variables)))]

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> TablePair:
        left, rows = self._occurring(xs)
        right, columns = (left, rows) if ys is None else self._occurring(ys)
        wide = self.n_variables > 1 and self.n_variables * len(left) <= MAX_CODES
        return TablePair(left, right, rows.T, columns.T, self._codes(rows, len(left)) if wide else None)

    def log_gram(self, theta: Array, prepared: TablePair, without: int | None = None) -> Array:
        tables = self._log_tables(theta, prepared.left, prepared.right)
        if prepared.codes is not None:
            spread = _spread_table(tables, prepared.columns)
            if without is not None:
                spread[without] = 0.0
            return prepared.codes @ spread.reshape(-1, spread.shape[2])
        log_gram = np.zeros((prepared.rows.shape[1], prepared.columns.shape[1]))
        for i, (table, rows, columns) in enumerate(zip(tables, prepared.rows, prepared.columns, strict=True)):
            if i != without:
                log_gram += table[rows][:, columns]
        return log_gram

    def single_log_grams(self, thetas: Sequence[Array], xs: IntArray) -> SingleLogGrams | None:
        if self.graph.size > MAX_WHOLE_TABLE or self.n_variables * self.graph.size > MAX_CODES:
            return None
        tables = [self._log_tables(theta, self._all, self._all) for theta in thetas]
        each = np.arange(self.n_variables)
        lefts = [table[each, xs].reshape(len(xs), -1).astype(np.float32) for table in tables]  # (n, c u)
        ends = [(float(table.min((1, 2)).sum()), float(table.max((1, 2)).sum())) for table in tables]
        terms = [float(np.abs(table).max((1, 2)).sum()) for table in tables]

        def with_points(ys: IntArray) -> Iterator[SingleLogGram]:
            right = np.ascontiguousarray(self._codes(ys, self.graph.size).T, dtype=np.float32)
            out = np.empty((len(xs), len(ys)), dtype=np.float32)
            for left, own, largest in zip(lefts, ends, terms, strict=True):
                np.matmul(left, right, out=out)  # all but one product of a variable are 0
                yield SingleLogGram(out, (self.n_variables + 6) * SINGLE_ROUNDING * largest, *own)

        return with_points

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        if self.unit_diagonal:
            return np.zeros(len(xs))
        logs = np.log(self._heat(theta).diagonal(np.arange(self.graph.size)))
        return np.take_along_axis(logs, xs.T, axis=1).sum(axis=0)

    def gradient(self, theta: Array, prepared: TablePair, weighted: Array) -> Array:
        left, right = prepared.left, prepared.right
        beta, log_beta_slope = self._edge_weights(theta)
        own, slope = self._heat(theta), self._spectrum.diffuse(heat_slopes(self._spectrum.values, beta))
        between = self._entries(own, left, right)
        change = self._entries(slope, left, right)
        change /= np.maximum(between, SMALLEST_ENTRY)
        change[between <= SMALLEST_ENTRY] = 0.0
        if self.unit_diagonal:
            rows = 0.5 * slope.diagonal(left) / own.diagonal(left)
            change -= rows[:, :, None]
            change -= (rows if right is left else 0.5 * slope.diagonal(right) / own.diagonal(right))[:, None, :]
        if prepared.codes is not None:
            by_row = (prepared.codes.T @ weighted).reshape(self.n_variables, len(left), -1)
            return log_beta_slope * np.einsum("cum,cum->c", by_row, _spread_table(change, prepared.columns))
        cells = [_sum_by_cell(weighted, r, c, change.shape[1:]) for r, c in zip(*prepared[2:4], strict=True)]
        return log_beta_slope * np.einsum("cuv,cuv->c", np.array(cells), change)

    def line(self, i: int, theta: Array, prepared: TablePair, gram: Array, *, carried: bool) -> Line:
        left, right = prepared.left, prepared.right
        cells = prepared.rows[i][:, None] * len(right) + prepared.columns[i]

        def table(t: float) -> Array:
            return np.exp(self._make_log_tables(self._heat_of(np.array([t])), left, right)[0])

        rest = gram / table(float(theta[i])).take(cells) if carried else gram
        out = np.empty_like(rest)

        def along(t: float) -> Array:
            np.take(table(t), cells, out=out, mode="clip")
            return np.multiply(out, rest, out=out)

        return along

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> TableChanges:
        before, after = changes.before[:, 0], changes.after[:, 0]
        left, rows = self._occurring(np.concatenate([before, after])[:, None])
        right, columns = self._occurring(ys)
        r = len(before)
        return TableChanges(left, right, columns.T, changes.which, rows[:r, 0], rows[r:, 0])

    def log_change(self, theta: Array, prepared: TableChanges) -> Array:
        left, right, columns, which, before, after = prepared
        tables = self._log_tables(theta, left, right)
        steps = tables[which, after]  # (r, v)
        steps -= tables[which, before]
        return look_up(steps, columns[which])

    def _occurring(self, xs: IntArray) -> tuple[IntArray, IntArray]:
        """Return the vertices of the tables, and the positions of the points' vertices among them (n, c)."""
        if self.graph.size <= MAX_WHOLE_TABLE:
            return self._all, xs
        vertices, positions = np.unique(xs, return_inverse=True)
        return vertices, positions.reshape(xs.shape)

    def _codes(self, rows: IntArray, size: int) -> Array:
        codes = np.zeros((len(rows), self.n_variables * size))
        codes[np.arange(len(rows))[:, None], np.arange(self.n_variables) * size + rows] = 1.0
        return codes

    def _log_tables(self, theta: Array, left: IntArray, right: IntArray) -> Array:
        """Return log F of each variable between some vertices (c, u, v); the array is only read."""
        if self.graph.size <= MAX_WHOLE_TABLE:
            return self._whole_log_tables(theta)
        return self._make_log_tables(self._heat(theta), left, right)

    def _make_log_tables(self, heat: Diffusion, left: IntArray, right: IntArray) -> Array:
        logs = self._entries(heat, left, right)
        np.log(np.maximum(logs, SMALLEST_ENTRY, out=logs), out=logs)
        if self.unit_diagonal:
            rows = 0.5 * np.log(heat.diagonal(left))
            logs -= rows[:, :, None]
            logs -= (rows if right is left else 0.5 * np.log(heat.diagonal(right)))[:, None, :]
        return logs

    def _entries(self, heat: Diffusion, left: IntArray, right: IntArray) -> Array:
        return heat.whole() if self.graph.size <= MAX_WHOLE_TABLE else heat.between(left, right)

    def _heat_of(self, theta: Array) -> Diffusion:
        return self._spectrum.diffuse(heat_weights(self._spectrum.values, self._edge_weights(theta)[0]))

    def _edge_weights(self, theta: Array) -> tuple[Array, Array]:
        return self.link.edge_weights(theta, float(self._spectrum.values[1]))

    @cached_property
    def _heat(self) -> LastThetas[Diffusion]:
        return LastThetas(self._heat_of, max(1, MAX_KEPT // (2 * self.n_variables * self.graph.size)))

    @cached_property
    def _whole_log_tables(self) -> LastThetas[Array]:
        return LastThetas(self._make_whole, max(1, MAX_KEPT // (self.n_variables * self.graph.size**2)))

    def _make_whole(self, theta: Array) -> Array:
        return self._make_log_tables(self._heat_of(theta), self._all, self._all)

    @cached_property
    def _spectrum(self) -> Spectrum:
        return self.graph.spectrum()

    @cached_property
    def _all(self) -> IntArray:
        return np.arange(self.graph.size)


def _spread_table(tables: Array, columns: IntArray) -> Array:
    """Return each point's column of each table (c, u, m).

    columns: column of each point in each table (c, m).
    """
    return np.array([table.take(own, axis=1) for table, own in zip(tables, columns, strict=True)])


def _sum_by_cell(weighted: Array, rows: IntArray, columns: IntArray, shape: tuple[int, ...]) -> Array:
    """Sum over the pairs of points that share a cell of a table (u, v).

    weighted: (n, m).
    rows, columns: the cell of each point, (n,) and (m,).
    """
    by_column = weighted @ (columns[:, None] == np.arange(shape[1])).astype(np.float64)
    return (rows[:, None] == np.arange(shape[0])).astype(np.float64).T @ by_column
