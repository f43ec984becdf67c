"""Orders of items: how far apart two orders are, as a factor of the product and as a linear effect.

Problems differ in what counts, so three distances are in it: which item comes before which (Kendall 1938; the kernel
is Mallows', Jiao and Vert 2015), which item stands in which place, and which items stand side by side. Each has a
parameter of its own, so that data tell which of them counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray
from bostruct.kernels.space.factor import VariableChanges

MOST_PAIRED = 64  # items whose pairs are compared one by one; of more, ranks are
N_DISTANCES = 3
REMEMBERED = 4  # comparisons: before and after a change, which the factor and the effect both ask for

Floats: TypeAlias = npt.NDArray[np.float32]


def compare_orders(xs: IntArray, ys: IntArray) -> Array:
    """Return three distances between orders of w items (3, n, m), each about w / 2 between two orders drawn at random.

    xs: n orders, the item in each place (n, w), w at least 2.
    ys: m orders (m, w).

    The first counts the pairs of items that stand in another order, times 2 / (w - 1) (Kendall); above 64 items it is
    the sum of squared differences of places, times 3 / (w^2 - 1) (Spearman), which is as far apart at most. The second
    is half the number of places that have another item. The third is half the number of neighboring items of the one
    that are no neighbors in the other. All three are the same whatever the items are called. The array is only read.
    """
    mine, theirs = (np.asarray(orders, dtype=np.int64).tobytes() for orders in (xs, ys))
    return _compare_bytes(mine, theirs, xs.shape[1])


@lru_cache(maxsize=REMEMBERED)
def _compare_bytes(mine: bytes, theirs: bytes, w: int) -> Array:
    """Return the distances of `compare_orders`: the factor and the effect of a variable ask for the same ones."""
    xs, ys = (np.frombuffer(orders, dtype=np.int64).reshape(-1, w) for orders in (mine, theirs))
    places = 0.5 * (w - _count_shared(_code_places(xs), _code_places(ys), w * w))
    sides = 0.5 * (w - 1 - _count_shared(_code_sides(xs), _code_sides(ys), w * w))
    found = np.array([_compare_precedence(xs, ys), places, sides])
    found.flags.writeable = False
    return found


def _compare_precedence(xs: IntArray, ys: IntArray) -> Array:
    """Return w times half of one less the rank correlation of Kendall, or of Spearman (n, m)."""
    w = xs.shape[1]
    mine, theirs = (np.argsort(orders, axis=1) for orders in (xs, ys))
    if w <= MOST_PAIRED:
        product, most = _sign_pairs(mine) @ _sign_pairs(theirs).T, w * (w - 1) / 2
    else:
        product, most = (mine - (w - 1) / 2) @ (theirs - (w - 1) / 2).T, w * (w * w - 1) / 12
    return 0.5 * w * (1.0 - product.astype(np.float64) / most)


def _sign_pairs(ranks: IntArray) -> Floats:
    """Return, for each pair of items, 1 where the first stands before the second, else -1 (n, pairs)."""
    first, second = np.triu_indices(ranks.shape[1], 1)
    narrow = ranks.astype(np.int16)
    signs = (narrow[:, first] < narrow[:, second]).astype(np.float32)  # whose sums are exact up to 2^24
    signs *= 2.0
    signs -= 1.0
    return signs


def _code_places(xs: IntArray) -> IntArray:
    """Return a number for each item in its place (n, w)."""
    return xs + xs.shape[1] * np.arange(xs.shape[1])


def _code_sides(xs: IntArray) -> IntArray:
    """Return a number for each two items that stand side by side (n, w - 1)."""
    left, right = xs[:, :-1], xs[:, 1:]
    return np.minimum(left, right) * xs.shape[1] + np.maximum(left, right)


def _count_shared(xs: IntArray, ys: IntArray, size: int) -> Array:
    """Return how many numbers two rows share (n, m), where none occurs twice in a row.

    xs, ys: numbers in 0..size - 1, (n, k) and (m, k).

    A table tells of each number which of the m rows have it. A row of it is read at once, which takes less than half
    the time of a product of sparse matrices.
    """
    has = np.zeros((size, len(ys)), dtype=np.int8)
    has[ys.ravel(), np.repeat(np.arange(len(ys)), ys.shape[1])] = 1
    shared = np.zeros((len(xs), len(ys)), dtype=np.int16)
    for numbers in xs.T:
        shared += has[numbers]
    return shared.astype(np.float64)


@dataclass(frozen=True)
class PermutationFactor:
    """The factor of orders of w items: exp(-sum_k D_k / (2 l_k^2)), with the distances D_k of `compare_orders`.

    Each variable has three parameters, the logarithms of l_k. The kernel is positive semi-definite: each distance is a
    constant less an inner product of features.

    n_items: w, at least 2.
    n_variables: c, each with w columns.
    """

    n_items: int
    n_variables: int

    @property
    def n_parameters(self) -> int:
        """Three for each variable."""
        return N_DISTANCES * self.n_variables

    @property
    def has_unit_diagonal(self) -> bool:
        """True: an order is at distance 0 from itself."""
        return True

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> Array:
        """Return the distances, three for each variable (3c, n, m).

        xs: own columns of n points (n, c w).
        ys: own columns of m points (m, c w); None for xs with themselves.
        """
        mine, theirs = self._split(xs), self._split(xs if ys is None else ys)
        return np.concatenate([compare_orders(one, other) for one, other in zip(mine, theirs, strict=True)])

    def log_gram(self, theta: Array, prepared: Array, without: int | None = None) -> Array:
        """Return the part of log K that comes from these variables (n, m).

        theta: (3c,), the logarithms of lengthscales.
        prepared: of n and m points.
        without: position of a parameter, whose distance is left out; None for none.
        """
        rates = _rates(theta)
        if without is not None:
            rates[without] = 0.0
        return -np.tensordot(rates, prepared, 1)

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        """Return zeros (n,).

        theta: (3c,).
        xs: own columns of n points (n, c w).
        """
        del theta
        return np.zeros(len(xs))

    def gradient(self, theta: Array, prepared: Array, weighted: Array) -> Array:
        """Return the gradient of sum(weighted * log K) in theta (3c,).

        theta: (3c,).
        prepared: of n and m points.
        weighted: (n, m).
        """
        return 2.0 * _rates(theta) * np.tensordot(prepared, weighted, 2)

    def line(self, i: int, theta: Array, prepared: Array, gram: Array, *, carried: bool) -> Callable[[float], Array]:
        """Return K along the parameter of one distance.

        i: position of the parameter, in 0..3c - 1.
        theta: (3c,), the parameters now.
        prepared: of n and m points.
        gram: K (n, m).
        carried: True where `gram` holds this factor at `theta`.
        """
        now = _rates(theta)[i] if carried else 0.0
        return lambda t: gram * np.exp((now - _rates(t)) * prepared[i])

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> tuple[IntArray, Array]:
        """Return the variable of each change (r,), and by how much its distances grow (3, r, m).

        changes: r changes of single variables.
        ys: own columns of m points (m, c w).
        """
        growth = np.empty((N_DISTANCES, len(changes.which), len(ys)))
        for v, theirs in enumerate(self._split(ys)):
            rows = np.flatnonzero(changes.which == v)
            if len(rows):
                before, of = np.unique(changes.before[rows, : self.n_items], axis=0, return_inverse=True)
                now = compare_orders(changes.after[rows, : self.n_items], theirs)
                growth[:, rows] = now - compare_orders(before, theirs)[:, of.ravel()]
        return changes.which, growth

    def log_change(self, theta: Array, prepared: tuple[IntArray, Array]) -> Array:
        """Return by how much each change adds to log K (r, m).

        theta: (3c,).
        prepared: of `prepare_changes`.
        """
        which, growth = prepared
        rates = _rates(theta).reshape(-1, N_DISTANCES)[which]
        return -np.einsum("rk,krm->rm", rates, growth)

    def _split(self, xs: IntArray) -> list[IntArray]:
        """Return the columns of each variable."""
        return [xs[:, v * self.n_items : (v + 1) * self.n_items] for v in range(self.n_variables)]


@dataclass(frozen=True)
class PermutationEffect:
    """The linear effect of an order of w items: the mean of three correlations, each linear in its features.

    They are those of Kendall (Spearman above 64 items), of which item stands in which place, and of which items stand
    side by side; all are 1 between equal orders and 0 on average between orders drawn at random. So sums over pairs
    that say which of two comes first, over places, or over neighbors, are functions that it learns from few values.

    n_items: w, at least 2.
    """

    n_items: int

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the kernel between orders (n, m).

        xs: orders (n, w).
        ys: orders (m, w).
        """
        w = self.n_items
        precedence, places, sides = compare_orders(xs, ys)
        correlations = [1.0 - 2.0 * precedence / w, 1.0 - 2.0 * places / (w - 1)]
        if w > 2:  # two items are always side by side
            correlations.append(1.0 - 2.0 * sides * w / ((w - 1) * (w - 2)))
        return np.asarray(np.mean(correlations, axis=0))

    def diag(self, xs: IntArray) -> Array:
        """Return ones (n,).

        xs: orders (n, w).
        """
        return np.ones(len(xs))


def _rates(theta: Array | float) -> Array:
    """Return 1 / (2 l^2) for the logarithm of l."""
    return 0.5 * np.exp(-2.0 * np.asarray(theta, dtype=np.float64))
