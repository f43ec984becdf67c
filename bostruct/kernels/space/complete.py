"""The part of log K that comes from variables on complete graphs, all at once.

log F_i is 0 where two points agree in variable i and log rho_i where they do not, so their sum is a constant minus a
product of codes: -1 and 1 for two choices, [a != b] = 1/2 - ab/2; else one column a choice, [a != b] = 1 - [a = b].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray, TwoBlockGram
from bostruct.domains.space.graphs import VariableGraph
from bostruct.kernels.space.links import Link

TWO_BLOCK_FROM = 80  # points; below, small matrices cost less than setting up smaller ones
MAX_CODES = 4096  # columns; beyond, variables are added one by one and memory stays at (n, m)


class CompletePair(NamedTuple):
    """Two batches as vertices (n, c), (m, c), and as codes where codes have few columns."""

    xs: IntArray
    ys: IntArray
    x_codes: Array | None
    y_codes: Array | None


def complete_line(
    gram: Array, apart: npt.NDArray[np.bool_], rho: Callable[[float], float], there: float = 1.0
) -> Callable[[float], Array]:
    """Return K along the parameter of one variable: pairs that agree plus rho times pairs that differ.

    A call costs two passes over K, and overwrites what the last one returned.

    gram: K (n, m) where this variable's rho is `there`.
    apart: true for the pairs that differ in this variable (n, m).
    rho: parameter -> rho.
    there: rho that is part of `gram`; 1 where `gram` leaves the variable out.
    """
    agree = np.where(apart, 0.0, gram)
    rest, out = gram - agree, np.empty_like(gram)

    def along(t: float) -> Array:
        np.multiply(rest, rho(t) / there, out)
        return np.add(out, agree, out)

    return along


def two_block_line(gram: Array, vertices: IntArray, rho: Callable[[float], float], there: float) -> TwoBlockGram:
    """Return K along the parameter of a variable with two choices, for one batch with itself.

    gram: K (n, n) where this variable's rho is `there`.
    vertices: the choice of each point (n,), 0 or 1.
    rho: parameter -> rho.
    there: rho that is part of `gram`.
    """
    parts = np.flatnonzero(vertices == 0), np.flatnonzero(vertices)
    small, large = sorted(parts, key=len)

    def scale(t: float) -> float:
        return rho(t) / there

    def whole(t: float) -> Array:
        out, rows = gram.copy(), gram.take(small, axis=0)
        rows[:, large] *= scale(t)
        out[small] = rows
        out[:, small] = rows.T
        return out

    return TwoBlockGram(gram, parts, scale, whole)


@dataclass(frozen=True)
class CompletePart:
    """The variables on complete graphs.

    which: their positions in the space (c,). graphs: theirs. link: meaning of theta.
    """

    which: tuple[int, ...]
    graphs: tuple[VariableGraph, ...]
    link: Link

    def prepare(self, xs: IntArray, ys: IntArray) -> CompletePair:
        own_xs = xs[:, self.which]
        own_ys = own_xs if ys is xs else ys[:, self.which]
        if self._columns.sum() > MAX_CODES:
            return CompletePair(own_xs, own_ys, None, None)
        x_codes = self._codes(own_xs)
        return CompletePair(own_xs, own_ys, x_codes, x_codes if ys is xs else self._codes(own_ys))

    def log_rho(self, theta: Array) -> Array:
        """Return log rho of each variable (c,).

        theta: (c,).
        """
        return self.link.complete(theta, self._sizes)

    def rho(self, theta: float, i: int) -> float:
        return self.link.rho(theta, float(self._sizes[i]))

    def log_gram(self, theta: Array, pair: CompletePair, without: int | None = None) -> Array:
        """Return the part of log K that comes from these variables (n, m).

        theta: (c,).
        pair: of n and m points.
        without: position among the c variables of one to leave out; None for none.
        """
        log_rho = self.log_rho(theta)
        if without is not None:
            log_rho[without] = 0.0
        if pair.x_codes is not None and pair.y_codes is not None:
            share = log_rho * self._share
            log_gram = (pair.x_codes * np.repeat(-share, self._columns)) @ pair.y_codes.T
            log_gram += share.sum()
            return log_gram
        log_gram = np.zeros((len(pair.xs), len(pair.ys)))
        for i, change in enumerate(log_rho):
            np.add(log_gram, change, out=log_gram, where=differ(pair, i))
        return log_gram

    def gradient(self, theta: Array, pair: CompletePair, weighted: Array) -> Array:
        """Return the gradient of sum(weighted * log K) in theta (c,).

        theta: (c,).
        pair: of n and m points.
        weighted: (n, m).
        """
        slope = self.link.complete_slope(theta, self._sizes)
        if pair.x_codes is not None and pair.y_codes is not None:
            columns = np.einsum("nc,nc->c", pair.x_codes, weighted @ pair.y_codes)
            return slope * self._share * (weighted.sum() - np.add.reduceat(columns, self._first))
        return slope * np.array([np.sum(weighted, where=differ(pair, i)) for i in range(len(self.which))])

    def line(self, i: int, pair: CompletePair, gram: Array, there: float) -> Callable[[float], Array]:
        """Return K along theta_i.

        i: position among the c variables.
        pair: of n and m points.
        gram: K (n, m) where this variable's rho is `there`.
        there: rho that is part of `gram`.
        """
        rho = partial(self.link.rho, size=float(self._sizes[i]))
        if self._sizes[i] == 2 and pair.ys is pair.xs and len(gram) >= TWO_BLOCK_FROM:
            return two_block_line(gram, pair.xs[:, i], rho, there)
        return complete_line(gram, differ(pair, i), rho, there)

    def _codes(self, xs: IntArray) -> Array:
        two = self._sizes == 2
        codes = np.zeros((len(xs), int(self._columns.sum())))
        codes[:, self._first[two]] = 2.0 * xs[:, two] - 1.0
        codes[np.arange(len(xs))[:, None], self._first[~two] + xs[:, ~two]] = 1.0
        return codes

    @cached_property
    def _sizes(self) -> Array:
        return np.array([float(graph.size) for graph in self.graphs])

    @cached_property
    def _columns(self) -> IntArray:
        return np.where(self._sizes == 2, 1, self._sizes).astype(np.int64)

    @cached_property
    def _first(self) -> IntArray:
        return np.cumsum(self._columns) - self._columns

    @cached_property
    def _share(self) -> Array:
        return np.where(self._sizes == 2, 0.5, 1.0)


def differ(pair: CompletePair, i: int) -> npt.NDArray[np.bool_]:
    """Tell for each pair of points whether they disagree in one variable, (n, m) of bool.

    pair: of n and m points.
    i: position among the c variables.
    """
    return pair.xs[:, i][:, None] != pair.ys[:, i]
