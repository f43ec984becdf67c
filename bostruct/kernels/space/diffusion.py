"""The ARD diffusion kernel on a graph Cartesian product (COMBO; Oh et al. 2019, section 2.2 and equation 3).

K(x, x') = prod_i F_i(x_i, x'_i): one factor and one parameter a variable, multiplied as sums of logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray, Parameter, Prior
from bostruct.domains.space.graphs import CompleteGraph, VariableGraph
from bostruct.domains.space.single_changes import SingleChanges, SpaceBatch, column
from bostruct.kernels.space.complete import CompletePair, CompletePart
from bostruct.kernels.space.incremental import LastCall, disagreement_change, rows_by_variable
from bostruct.kernels.space.links import Link
from bostruct.kernels.space.spectra import eigenvalues
from bostruct.kernels.space.tables import TablePair, TablePart

SMALLEST_REUSABLE = 1e-260  # doubles end at 1e-308


class DiffusionPair(NamedTuple):
    """Two batches as `DiffusionKernel` compares them, whatever theta is."""

    shape: tuple[int, int]
    complete: CompletePair
    tables: tuple[TablePair, ...]


class BaseGrams(NamedTuple):
    """The matrices that all single changes of some base points share.

    pair: the base points and the training points. log_grams: log K between these, by the bytes of theta.
    """

    pair: DiffusionPair
    log_grams: dict[bytes, Array]


class SingleChangesPair(NamedTuple):
    """Two batches of which the first is `SingleChanges`: their base, and what each move changes.

    complete: the moves in variables on complete graphs, the place of each variable among those, and by how much each
    move changes whether it differs from y. tables: of each other variable that is moved, its part, its moves, and their
    vertices before (the first half) and after them.
    """

    base: BaseGrams
    of: IntArray
    complete: tuple[IntArray, IntArray, npt.NDArray[np.int8]]
    tables: tuple[tuple[TablePart, IntArray, TablePair], ...]


@dataclass(frozen=True)
class DiffusionKernel:
    """The ARD diffusion kernel on the graphs of a space's variables (Oh et al. 2019, equation 3).

    Points are rows of integers (n, d). theta (d,) has one parameter for each variable.

    graphs: one for each variable, d of them.
    prior: of each theta_i.
    link: the meaning of theta: `LogEdgeWeight` as published, or `LogLengthscale`.
    initial: theta_i at first.
    unit_diagonal: scale the factors of graphs that are not complete to be correlations, as those of complete graphs
        are; else the mean of their diagonal is 1, as published.
    """

    graphs: tuple[VariableGraph, ...]
    prior: Prior
    link: Link
    initial: float = 0.0
    unit_diagonal: bool = False

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (Parameter(self.link.name, len(self.graphs), self.prior, self.initial),)

    def prepare(self, xs: SpaceBatch, ys: IntArray) -> DiffusionPair | SingleChangesPair:
        if isinstance(xs, SingleChanges):
            return self._prepare_changes(xs, ys)
        return self._prepare_rows(xs, ys)

    def gram(self, theta: Array, prepared: DiffusionPair | SingleChangesPair) -> Array:
        """Return the Gram matrix (n, m).

        theta: (d,).
        prepared: of n and m points.
        """
        moved = isinstance(prepared, SingleChangesPair)
        log_gram = self._log_gram_of_changes(theta, prepared) if moved else self._log_gram(theta, prepared)
        return np.exp(log_gram, out=log_gram)

    def diag(self, theta: Array, xs: SpaceBatch) -> Array:
        """Return k(x, x) of each point (n,).

        theta: (d,).
        xs: n points.
        """
        total = np.zeros(len(xs))
        for part in () if self.unit_diagonal else self._tables:
            total += part.log_diag(float(theta[part.which]), column(xs, part.which))
        return np.exp(total)

    def line(
        self, theta: Array, i: int, prepared: DiffusionPair, gram: Array | None = None
    ) -> Callable[[float], Array]:
        """Return the Gram matrix as a function of theta_i; each call overwrites what the last returned.

        A call costs two passes over the matrix.

        theta: (d,).
        i: position of the variable, in 0..d - 1.
        prepared: of n and m points.
        gram: the Gram matrix at theta, where known. Dividing by one factor gives the product of the others, as long as
            none of its entries is near the end of the doubles; else their logarithms are added up.
        """
        carried = gram is not None and float(gram.min()) > SMALLEST_REUSABLE
        if gram is None or not carried:
            gram = np.exp(self._log_gram(theta, prepared, without=i))
        t = float(theta[i])
        if i in self._position_of:
            place = self._position_of[i]
            return self._complete.line(place, prepared.complete, gram, self._complete.rho(t, place) if carried else 1.0)
        part, pair = next((p, q) for p, q in zip(self._tables, prepared.tables, strict=True) if p.which == i)
        return part.line(pair, gram / pair.spread(np.exp(part.log_table(t, pair))) if carried else gram)

    def gram_and_pullback(self, theta: Array, prepared: DiffusionPair) -> tuple[Array, Callable[[Array], Array]]:
        """Return the Gram matrix K (n, m), and the map from G (n, m) to the gradient of sum(G * K) in theta (d,).

        theta: (d,).
        prepared: of n and m points.
        """
        gram = self.gram(theta, prepared)

        def pullback(cotangent: Array) -> Array:
            weighted = cotangent * gram
            gradient = np.empty(len(self.graphs))
            if self._position_of:
                gradient[self._complete_variables] = self._complete.gradient(
                    theta[self._complete_variables], prepared.complete, weighted
                )
            for part, pair in zip(self._tables, prepared.tables, strict=True):
                gradient[part.which] = part.gradient(float(theta[part.which]), pair, weighted)
            return gradient

        return gram, pullback

    def extreme_eigenvalues(self, theta: Array) -> tuple[float, float]:
        """Return the logarithms of the kernel's smallest and largest eigenvalue on the whole space.

        theta: (d,).
        """
        low = high = 0.0
        for graph, t in zip(self.graphs, theta, strict=True):
            values = eigenvalues(graph)
            beta = self.link.beta(float(t), graph)[0]
            log_mean = math.log(np.mean(np.exp(-beta * values)))
            low += -beta * float(values[-1]) - log_mean
            high += -beta * float(values[0]) - log_mean
        return low, high

    def _prepare_rows(self, xs: IntArray, ys: IntArray) -> DiffusionPair:
        tables = tuple(part.prepare(xs[:, part.which], ys[:, part.which]) for part in self._tables)
        return DiffusionPair((len(xs), len(ys)), self._complete.prepare(xs, ys), tables)

    def _base(self, xs: IntArray, ys: IntArray) -> BaseGrams:
        return BaseGrams(self._prepare_rows(xs, ys), {})

    def _prepare_changes(self, moves: SingleChanges, ys: IntArray) -> SingleChangesPair:
        place = self._positions[moves.which]
        rows, others = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
        tables = []
        for i, found in rows_by_variable(moves.which[others]):
            own, part = others[found], self._table_of[i]
            before = moves.base[moves.of[own], i]
            tables.append((part, own, part.prepare(np.concatenate([before, moves.vertices[own]]), ys[:, i])))
        change = disagreement_change(moves[rows] if len(others) else moves, ys)
        return SingleChangesPair(self._bases(moves.base, ys), moves.of, (rows, place[rows], change), tuple(tables))

    def _log_gram_of_changes(self, theta: Array, prepared: SingleChangesPair) -> Array:
        known, key = prepared.base.log_grams, theta.tobytes()
        if key not in known:
            known[key] = self._log_gram(theta, prepared.base.pair)
        log_gram = known[key][prepared.of]
        rows, place, change = prepared.complete
        if len(rows):
            log_rho = self._complete.log_rho(theta[self._complete_variables])[place][:, None]
            if len(rows) == len(log_gram):
                log_gram += change * log_rho
            else:
                log_gram[rows] += change * log_rho
        for part, own, pair in prepared.tables:
            spread = pair.spread(part.log_table(float(theta[part.which]), pair))
            log_gram[own] += spread[len(own) :] - spread[: len(own)]
        return log_gram

    def _log_gram(self, theta: Array, prepared: DiffusionPair, without: int | None = None) -> Array:
        """Return log K (n, m); without: a variable to leave out."""
        if self._position_of:
            left_out = None if without is None else self._position_of.get(without)
            log_gram = self._complete.log_gram(theta[self._complete_variables], prepared.complete, left_out)
        else:
            log_gram = np.zeros(prepared.shape)
        for part, pair in zip(self._tables, prepared.tables, strict=True):
            if part.which != without:
                log_gram += pair.spread(part.log_table(float(theta[part.which]), pair))
        return log_gram

    @cached_property
    def _bases(self) -> LastCall[BaseGrams]:
        return LastCall(self._base)

    @cached_property
    def _table_of(self) -> dict[int, TablePart]:
        return {part.which: part for part in self._tables}

    @cached_property
    def _complete_variables(self) -> IntArray:
        """Variables on complete graphs."""
        return np.array(self._complete.which, dtype=np.int64)

    @cached_property
    def _position_of(self) -> dict[int, int]:
        """The position of each of them among the variables on complete graphs."""
        return {i: place for place, i in enumerate(self._complete.which)}

    @cached_property
    def _positions(self) -> IntArray:
        """The same as an array (d,), -1 for variables on other graphs."""
        return np.array([self._position_of.get(i, -1) for i in range(len(self.graphs))])

    @cached_property
    def _complete(self) -> CompletePart:
        which = tuple(i for i, graph in enumerate(self.graphs) if isinstance(graph, CompleteGraph))
        return CompletePart(which, tuple(self.graphs[i] for i in which), self.link)

    @cached_property
    def _tables(self) -> tuple[TablePart, ...]:
        others = [i for i, graph in enumerate(self.graphs) if not isinstance(graph, CompleteGraph)]
        return tuple(TablePart(i, self.graphs[i], self.link, self.unit_diagonal) for i in others)
