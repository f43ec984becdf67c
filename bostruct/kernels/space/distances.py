"""A factor of the product for variables whose values are told apart by a few distances, each with a lengthscale."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.kernels.space.factor import Factor, VariableChanges
from bostruct.kernels.space.links import compute_rates


class Distances(ABC):
    """The distances between values of one kind of variable.

    Each is a constant less an inner product of features, or the square of a Euclidean distance, so that exp(-r D) is
    positive semi-definite for each r >= 0. Equal ones compare equal, so that variables share a factor.
    """

    @property
    def width(self) -> int:
        """The number of columns of a value, w; 1 by default."""
        return 1

    @property
    def n_distances(self) -> int:
        """The number of distances, k; 1 by default."""
        return 1

    @abstractmethod
    def compare(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the distances between values (k, n, m), 0 between equal ones; the receiver only reads the array.

        xs: columns of n values (n, w).
        ys: columns of m values (m, w).
        """


@dataclass(frozen=True)
class DistanceFactor(Factor):
    """The factor exp(-sum_j D_j / (2 l_j^2)) of variables of one kind, with k distances D_j and lengthscales l_j each.

    Each variable has k parameters, the logarithms of l_j.

    distances: of each variable.
    n_variables: c, each with w columns.
    """

    distances: Distances
    n_variables: int
    has_unit_diagonal = True

    @property
    def n_parameters(self) -> int:
        return self.distances.n_distances * self.n_variables

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> Array:
        """Return the distances, those of the first variable first (k c, n, m).

        xs: own columns of n points (n, c w).
        ys: own columns of m points (m, c w); None for xs with themselves.
        """
        mine, theirs = self._split(xs), self._split(xs if ys is None else ys)
        return np.concatenate([self.distances.compare(one, other) for one, other in zip(mine, theirs, strict=True)])

    def log_gram(self, theta: Array, prepared: Array, without: int | None = None) -> Array:
        rates = compute_rates(theta)
        if without is not None:
            rates[without] = 0.0
        return -np.tensordot(rates, prepared, 1)

    def gradient(self, theta: Array, prepared: Array, weighted: Array) -> Array:
        return 2.0 * compute_rates(theta) * np.tensordot(prepared, weighted, 2)

    def line(self, i: int, theta: Array, prepared: Array, gram: Array, *, carried: bool) -> Callable[[float], Array]:
        now = compute_rates(theta)[i] if carried else 0.0
        return lambda t: gram * np.exp((now - compute_rates(t)) * prepared[i])

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> tuple[IntArray, Array]:
        """Return the variable of each change (r,), and by how much its distances grow (k, r, m).

        changes: r changes of single variables.
        ys: own columns of m points (m, c w).
        """
        growth = np.empty((self.distances.n_distances, len(changes.which), len(ys)))
        for v, theirs in enumerate(self._split(ys)):
            rows = np.flatnonzero(changes.which == v)
            if len(rows):
                before, of = _find_distinct(changes.before[rows, : self.distances.width])
                now = self.distances.compare(changes.after[rows, : self.distances.width], theirs)
                growth[:, rows] = now - self.distances.compare(before, theirs)[:, of]
        return changes.which, growth

    def log_change(self, theta: Array, prepared: tuple[IntArray, Array]) -> Array:
        which, growth = prepared
        rates = compute_rates(theta).reshape(-1, self.distances.n_distances)[which]
        return -np.einsum("rk,krm->rm", rates, growth)

    def _split(self, xs: IntArray) -> list[IntArray]:
        """Return the columns of each variable."""
        return np.split(xs, self.n_variables, axis=1)


def _find_distinct(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct values (d, w), and which of them each is (n,); most changes are of a few values."""
    places: dict[bytes, int] = {}
    of = np.array([places.setdefault(value.tobytes(), len(places)) for value in values])
    first = np.unique(of, return_index=True)[1]
    return values[first], of
