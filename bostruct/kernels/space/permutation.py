"""Orders of items: how far apart two orders are, as a factor of the product and as a linear effect.

Problems differ in what counts, so three distances are in it: which item comes before which (Kendall 1938; the kernel
is Mallows', Jiao and Vert 2015), which item stands in which place, and which items stand side by side. Each has a
parameter of its own, so that data tell which of them counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.permutation import Permutation
from bostruct.kernels.distance import CachedByContent, Resources, compare_precedence
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.likeness import Distances

N_DISTANCES = 3
MOST_MARKED = 2**26  # bytes of a table that is remembered


@CachedByContent
def compare_orders(xs: IntArray, ys: IntArray, resources: Resources | None = None, absent: int = 0) -> Array:
    """Return three distances between orders of w items (3, n, m), of distinct ones about w / 2 between random orders.

    xs: n orders, the item in each place (n, w), w at least 2.
    ys: m orders (m, w).
    resources: as of `compare_precedence`, whose pairs are those that the first counts; None for all pairs.
    absent: how many other items there are, which no place of an order has.

    The first counts the pairs of items that stand in another order, times 2 / (w - 1) (Kendall); above 64 items it is
    the sum of squared differences of places, times 3 / (w^2 - 1) (Spearman), which is as far apart at most. Absent
    items count as in `compare_precedence`. The second is half the number of places that have another item, and half the
    number of items that the other order lacks: to be absent is a place of its own. The third is half the number of
    neighboring items of the one that are no neighbors in the other; of queues before resources, which stand one after
    another, neighbors are of one queue, and their share is taken times w - 1. All three are the same whatever the items
    are called, and in which order the queues stand. The array is only read.
    """
    w = xs.shape[1]
    n, n_codes = w + absent, 2 * w if absent else w
    places = 0.5 * (n_codes - _count_shared(_code_places(xs, n), _code_places(ys, n), n * (w + bool(absent))))
    inner = np.arange(w - 1)  # the places whose next place is of the same queue, all but the last of one
    if resources is not None:
        queues = np.sort(resources)
        inner = np.flatnonzero(queues[:-1] == queues[1:])
    shared = _count_shared(_code_sides(xs, n)[:, inner], _code_sides(ys, n)[:, inner], n * n)
    sides = 0.5 * (w - 1) * (1.0 - shared / len(inner)) if len(inner) else np.zeros(shared.shape)
    return np.array([w * compare_precedence(xs, ys, resources, absent), places, sides])


def _code_places(xs: IntArray, n_items: int) -> IntArray:
    """Return a number for each item in its place (n, w), and behind them one for each item, if some are absent."""
    w = xs.shape[1]
    places = xs + n_items * np.arange(w)
    return places if w == n_items else np.hstack([places, xs + n_items * w])


def _code_sides(xs: IntArray, n_items: int) -> IntArray:
    """Return a number for each two items that stand side by side (n, w - 1)."""
    left, right = xs[:, :-1], xs[:, 1:]
    return np.minimum(left, right) * n_items + np.maximum(left, right)


def _count_shared(xs: IntArray, ys: IntArray, size: int) -> Array:
    """Return how many numbers two rows share (n, m), where none occurs twice in a row.

    xs, ys: numbers in 0..size - 1, (n, k) and (m, k).

    A table holds for each number which of the m rows have it. A row of it is read at once, which takes less than half
    the time of a product of sparse matrices.
    """
    mark = _mark_numbers if size * len(ys) <= MOST_MARKED else _mark_numbers.__wrapped__
    has = mark(ys, size)
    shared = np.zeros((len(xs), len(ys)), dtype=np.int8 if xs.shape[1] < 128 else np.int16)
    for numbers in xs.T:
        shared += has[numbers]
    return shared.astype(np.float64)


@CachedByContent
def _mark_numbers(rows: IntArray, size: int) -> npt.NDArray[np.int8]:
    """Return which of m rows have each number (size, m): a search asks for those of the same points over and over."""
    has = np.zeros((size, len(rows)), dtype=np.int8)
    has[rows.ravel(), np.repeat(np.arange(len(rows)), rows.shape[1])] = 1
    return has


class OrderShape(NamedTuple):
    """All that a kernel knows of a `Permutation`, whatever its items are called.

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
    """Return a number for each name, from 0 in the order in which they come first."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return tuple(numbers[name] for name in names)


def compare_queues(shape: OrderShape, xs: IntArray, ys: IntArray) -> Array:
    """Return the distances of `compare_orders` (3, n, m), of the queues before resources where items have some.

    xs, ys: orders (n, w), (m, w).

    The queues stand one after another. Orders that agree in all of them are at distance 0: only the order of items of
    one resource counts. The pairs of such items that stand in another order are counted as a share of these pairs.
    """
    if shape.resources is None:
        return compare_orders(xs, ys, absent=shape.absent)
    resources = np.array(shape.resources, dtype=np.int16)
    order = partial(np.argsort, axis=1, kind="stable")
    mine, theirs = (np.take_along_axis(rows, order(resources[rows]), axis=1) for rows in (xs, ys))
    return compare_orders(mine, theirs, shape.resources)


@dataclass(frozen=True)
class OrderDistances(Distances):
    """The distances between orders of w items, for `DistanceFactor`: those of `compare_queues`."""

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

    They are those of Kendall (Spearman above 64 items), of which item stands in which place, and of which items stand
    side by side. All are 1 between equal orders. Of distinct items without resources they are 0 on average between
    orders drawn at random; of others they are above it, by a constant that the mean of the model takes. So sums over
    pairs that say which of two comes first, over places, or over neighbors, are functions learned from few values.
    """

    shape: OrderShape
    has_unit_diagonal = True

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        w, n = self.shape.width, self.shape.width + self.shape.absent
        precedence, places, sides = compare_queues(self.shape, xs, ys)
        apart = (2 * w if w < n else w) - w / n - (w * w / n if w < n else 0)  # twice the mean distance of places
        correlations = [1.0 - 2.0 * precedence / w, 1.0 - 2.0 * places / apart]
        if n > 2:  # two items are always side by side
            correlations.append(1.0 - 2.0 * sides * n / ((w - 1) * (n - 2.0 * (w - 1) / (n - 1))))
        return np.asarray(np.mean(correlations, axis=0))
