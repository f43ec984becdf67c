"""A factor of the product for variables whose values have features: squared differences, each with a lengthscale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.kernels.space.factor import VariableChanges
from bostruct.kernels.space.links import compute_rates


class Features(Protocol):
    """Numbers that tell the values of one kind of variable apart, in groups that share a lengthscale.

    Equal ones compare equal, so that variables share a factor.
    """

    @property
    def width(self) -> int:
        """The number of columns of a value, w."""
        ...

    @property
    def groups(self) -> IntArray:
        """The group of each feature, from 0 to k - 1, (q,)."""
        ...

    def encode(self, xs: IntArray) -> Array:
        """Return the features of values (n, q).

        xs: columns of n values (n, w).
        """
        ...


class FeaturePair(NamedTuple):
    """Two batches as features, and the squares of these. xs, x_squares: (n, c q). ys, y_squares: (m, c q)."""

    xs: Array
    ys: Array
    x_squares: Array
    y_squares: Array


class FeatureChanges(NamedTuple):
    """Changes of single variables as features.

    which: the variable of each change (r,). before, after: the features of that variable (r, q). ys: the features of
    all variables of m points (m, c q).
    """

    which: IntArray
    before: Array
    after: Array
    ys: Array


@dataclass(frozen=True)
class FeatureFactor:
    """The factor exp(-sum_j (z_j - z'_j)^2 / (2 l_j^2)) of variables of one kind, where z are features.

    Each variable has k parameters, the logarithms of l, one for each group of features. All of it is products of
    matrices: m points take memory (n, m), however many features they have.

    features: of each variable.
    n_variables: c, each with w columns.
    """

    features: Features
    n_variables: int

    @property
    def n_parameters(self) -> int:
        """One for each group of features of each variable, k c."""
        return self._n_groups * self.n_variables

    @property
    def has_unit_diagonal(self) -> bool:
        """True: a value has its own features."""
        return True

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> FeaturePair:
        """Return the features of both batches.

        xs: own columns of n points (n, c w).
        ys: own columns of m points (m, c w); None for xs with themselves.
        """
        mine = self._encode(xs)
        theirs = mine if ys is None else self._encode(ys)
        squares = np.square(mine)
        return FeaturePair(mine, theirs, squares, squares if ys is None else np.square(theirs))

    def log_gram(self, theta: Array, prepared: FeaturePair, without: int | None = None) -> Array:
        """Return the part of log K that comes from these variables (n, m).

        theta: (k c,), the logarithms of lengthscales.
        prepared: of n and m points.
        without: position of a parameter, whose features are left out; None for none.
        """
        rates = compute_rates(theta)
        if without is not None:
            rates[without] = 0.0
        weights = rates[self._groups]
        gram = (prepared.xs * (2.0 * weights)) @ prepared.ys.T
        gram -= (prepared.x_squares @ weights)[:, None]
        gram -= prepared.y_squares @ weights
        return np.minimum(gram, 0.0, out=gram)  # rounding aside it is at most 0

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        """Return zeros (n,).

        theta: (k c,).
        xs: own columns of n points (n, c w).
        """
        del theta
        return np.zeros(len(xs))

    def gradient(self, theta: Array, prepared: FeaturePair, weighted: Array) -> Array:
        """Return the gradient of sum(weighted * log K) in theta (k c,).

        theta: (k c,).
        prepared: of n and m points.
        weighted: (n, m).
        """
        squares = weighted.sum(axis=1) @ prepared.x_squares + weighted.sum(axis=0) @ prepared.y_squares
        squares -= 2.0 * np.einsum("nq,nq->q", prepared.xs, weighted @ prepared.ys)
        return 2.0 * compute_rates(theta) * np.bincount(self._groups, squares, len(theta))

    def line(
        self, i: int, theta: Array, prepared: FeaturePair, gram: Array, *, carried: bool
    ) -> Callable[[float], Array]:
        """Return K along the parameter of one group of features.

        i: position of the parameter, in 0..k c - 1.
        theta: (k c,), the parameters now.
        prepared: of n and m points.
        gram: K (n, m).
        carried: True where `gram` holds this factor at `theta`.
        """
        own = np.flatnonzero(self._groups == i)
        squares = -2.0 * prepared.xs[:, own] @ prepared.ys[:, own].T
        squares += prepared.x_squares[:, own].sum(axis=1)[:, None] + prepared.y_squares[:, own].sum(axis=1)
        now = compute_rates(theta)[i] if carried else 0.0
        return lambda t: gram * np.exp((now - compute_rates(t)) * squares)

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> FeatureChanges:
        """Return the features before and after r changes, and those of m points.

        changes: r changes of single variables.
        ys: own columns of m points (m, c w).
        """
        w = self.features.width
        before = changes.before[:, :w]
        is_new = np.append(True, (before[1:] != before[:-1]).any(axis=1))[
            : len(before)
        ]  # changes of one value in a row
        known = self.features.encode(before[is_new])[np.cumsum(is_new) - 1]
        return FeatureChanges(changes.which, known, self.features.encode(changes.after[:, :w]), self._encode(ys))

    def log_change(self, theta: Array, prepared: FeatureChanges) -> Array:
        """Return by how much each change adds to log K (r, m).

        theta: (k c,).
        prepared: of `prepare_changes`.
        """
        which, before, after, ys = prepared
        q = before.shape[1]
        change = np.empty((len(which), len(ys)))
        for v in np.unique(which).tolist():
            rows = which == v
            weights = compute_rates(theta)[self._groups[v * q : (v + 1) * q]]
            change[rows] = (2.0 * (after[rows] - before[rows]) * weights) @ ys[:, v * q : (v + 1) * q].T
            change[rows] -= ((np.square(after[rows]) - np.square(before[rows])) @ weights)[:, None]
        return change

    def _encode(self, xs: IntArray) -> Array:
        """Return the features of all variables, those of the first one first (n, c q)."""
        return np.hstack([self.features.encode(own) for own in np.split(xs, self.n_variables, axis=1)])

    @property
    def _n_groups(self) -> int:
        return int(self.features.groups.max()) + 1

    @cached_property
    def _groups(self) -> IntArray:
        """The parameter of each feature of all variables (c q,)."""
        return np.concatenate([self.features.groups + v * self._n_groups for v in range(self.n_variables)])
