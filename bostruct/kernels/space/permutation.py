"""Kernels of orders of items: a factor of the product, and a linear effect.

Problems depend on orders in different ways, so there are three distances: the precedence of items (Kendall 1938; its
kernel is the Mallows kernel, Jiao and Vert 2015), the places of items, and the pairs of neighboring items. Each
distance has its own parameter, so that the data determine its relevance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.permutation import Permutation
from bostruct.kernels.distance import CachedByContent, Resources, compare_precedence
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.likeness import Distances

N_DISTANCES = 3
MOST_MARKED = 2**26  # bytes of a cached table


@CachedByContent
def compare_orders(xs: IntArray, ys: IntArray, resources: Resources | None = None, absent: int = 0) -> Array:
    """Return three distances between orders of w items (3, n, m), about w / 2 between random orders of distinct items.

    xs: n orders, the item in each place (n, w), w at least 2.
    ys: m orders (m, w).
    resources: see `compare_precedence`, to compare only pairs in the same queue; None for all pairs.
    absent: number of items that an order lacks.

    1. The number of pairs of items whose precedence differs, times 2 / (w - 1) (Kendall). Above 64 items it is the sum
       of squared differences of places, times 3 / (w^2 - 1) (Spearman), with the same maximum. Absent items count as in
       `compare_precedence`.
    2. Half the number of places with different items, plus half the number of items that the other order lacks.
    3. Half the number of pairs of neighboring items in one order that are not neighbors in the other order. With
       resources, orders are adjacent queues, only items of one queue are neighbors, and the number of pairs is
       replaced by w - 1 times their share.

    All three are independent of the items' names and of the order of the queues. The array is only read.
    """
    w = xs.shape[1]
    n, n_codes = w + absent, 2 * w if absent else w
    places = 0.5 * (n_codes - _count_shared(_code_places(xs, n), _code_places(ys, n), n * (w + bool(absent))))
    inner = np.arange(w - 1)  # the places followed by a place of the same queue
    if resources is not None:
        queues = np.sort(resources)
        inner = np.flatnonzero(queues[:-1] == queues[1:])
    shared = _count_shared(_code_neighbors(xs, n)[:, inner], _code_neighbors(ys, n)[:, inner], n * n)
    neighbors = 0.5 * (w - 1) * (1.0 - shared / len(inner)) if len(inner) else np.zeros(shared.shape)
    return np.array([w * compare_precedence(xs, ys, resources, absent), places, neighbors])


def _code_places(xs: IntArray, n_items: int) -> IntArray:
    """Return a number for each item in its place (n, w), followed by one for each item if some items are absent."""
    w = xs.shape[1]
    places = xs + n_items * np.arange(w)
    return places if w == n_items else np.hstack([places, xs + n_items * w])


def _code_neighbors(xs: IntArray, n_items: int) -> IntArray:
    """Return a number for each pair of neighboring items (n, w - 1)."""
    left, right = xs[:, :-1], xs[:, 1:]
    return np.minimum(left, right) * n_items + np.maximum(left, right)


def _count_shared(xs: IntArray, ys: IntArray, size: int) -> Array:
    """Return the number of numbers that two rows share (n, m).

    xs, ys: distinct numbers in 0..size - 1, (n, k) and (m, k).

    A table marks, for each number, the rows of ys that contain it. Its rows are read as a whole, which takes less than
    half the time of a product of sparse matrices.
    """
    mark = _mark_numbers if size * len(ys) <= MOST_MARKED else _mark_numbers.__wrapped__
    has = mark(ys, size)
    shared = np.zeros((len(xs), len(ys)), dtype=np.int8 if xs.shape[1] < 128 else np.int16)
    for numbers in xs.T:
        shared += has[numbers]
    return shared.astype(np.float64)


@CachedByContent
def _mark_numbers(rows: IntArray, size: int) -> npt.NDArray[np.int8]:
    """Return which of m rows have each number (size, m), cached because a search needs the same points repeatedly."""
    has = np.zeros((size, len(rows)), dtype=np.int8)
    has[rows.ravel(), np.repeat(np.arange(len(rows)), rows.shape[1])] = 1
    return has


class OrderShape(NamedTuple):
    """The properties of a `Permutation` that kernels use, independent of the items' names.

    width: the number of places, w, at least 2.
    resources: the number of the resource of each item (w,), from 0; None if items have none.
    absent: the number of items that an order lacks.
    """

    width: int
    resources: tuple[int, ...] | None = None
    absent: int = 0

    @classmethod
    def of(cls, variable: Permutation) -> OrderShape:
        """Return the shape of a variable."""
        names = variable.resources
        return cls(variable.width, None if names is None else number_names(names), variable.n_absent)


def number_names(names: Sequence[str | int]) -> tuple[int, ...]:
    """Return a number for each name, from 0 in order of first occurrence."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return tuple(numbers[name] for name in names)


def compare_queues(shape: OrderShape, xs: IntArray, ys: IntArray) -> Array:
    """Return the distances of `compare_orders` (3, n, m); if items have resources, between the resources' queues.

    xs, ys: orders (n, w), (m, w).

    The queues are concatenated. Only the order of items that share a resource matters, so orders with equal queues
    have distance 0. The pairs of such items whose precedence differs count as a share of all such pairs.
    """
    if shape.resources is None:
        return compare_orders(xs, ys, absent=shape.absent)
    resources = np.array(shape.resources, dtype=np.int16)
    order = partial(np.argsort, axis=1, kind="stable")
    mine, theirs = (np.take_along_axis(rows, order(resources[rows]), axis=1) for rows in (xs, ys))
    return compare_orders(mine, theirs, shape.resources)


@dataclass(frozen=True)
class OrderDistances(Distances):
    """The distances of `compare_queues` between orders of w items, for `DistanceFactor`."""

    shape: OrderShape

    @property
    def width(self) -> int:
        """The number of places, w."""
        return self.shape.width

    @property
    def n_distances(self) -> int:
        return N_DISTANCES

    def compare(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the distances (3, n, m)."""
        return compare_queues(self.shape, xs, ys)


@dataclass(frozen=True)
class PermutationEffect(EffectKernel):
    """The linear effect of an order of w items: the mean of three correlations, each linear in its features.

    These are the correlations of precedence (Kendall, or Spearman above 64 items), of places, and of neighbors. All are
    1 between equal orders. For distinct items without resources, their mean between random orders is 0; otherwise it is
    a positive constant, which the mean of the model absorbs. So few observations suffice to learn sums over the
    precedence of pairs, over places, or over neighbors.
    """

    shape: OrderShape
    has_unit_diagonal = True

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        return correlate_orders(self.shape, xs, ys)


@CachedByContent
def correlate_orders(shape: OrderShape, xs: IntArray, ys: IntArray) -> Array:
    """Return the effect of `PermutationEffect` between orders (n, m), cached because the terms of a kernel share it."""
    w, n = shape.width, shape.width + shape.absent
    precedence, places, neighbors = compare_queues(shape, xs, ys)
    unit = (2 * w if w < n else w) - w / n - (w * w / n if w < n else 0)  # twice the mean distance of places
    correlations = [1.0 - 2.0 * precedence / w, 1.0 - 2.0 * places / unit]
    if n > 2:  # two items are always neighbors
        correlations.append(1.0 - 2.0 * neighbors * n / ((w - 1) * (n - 2.0 * (w - 1) / (n - 1))))
    return reduce(np.add, correlations) / len(correlations)
