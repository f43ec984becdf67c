"""Variables that not every point has: a factor and an effect around those of the variable itself.

k(absent, absent) = 1, k(absent, x) = c, k(x, y) = c^2 + (1 - c^2) k0(x, y), with 0 < c < 1. It is the covariance of
f(absent) = g, f(x) = c g + sqrt(1 - c^2) h(x), where g has variance 1 and h the kernel k0, and so it is positive
semi-definite.

Points share values: kernels are computed between distinct values, and spread over points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from bostruct.contracts import Array, IntArray, Prepared
from bostruct.domains.space.variable import ABSENT
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.factor import Factor, VariableChanges


class DistinctValues(NamedTuple):
    """The values that occur in a batch.

    values: the columns of each value, in order (u, w); that of absent points is one of them.
    at: the position among these of each point's value (n,).
    """

    values: IntArray
    at: IntArray


class ConditionalPair(NamedTuple):
    """Two batches, of which some points have the variable.

    xs, ys: their distinct values, u and v of them.
    x_has, y_has: positions among these of the values that are not absent.
    inner: what the variable's own factor made of the values that are not absent.
    """

    xs: DistinctValues
    ys: DistinctValues
    x_has: IntArray
    y_has: IntArray
    inner: Prepared


class ConditionalChanges(NamedTuple):
    """Changes of the variable, which the points have before and after them.

    y_has: positions of the points among m that have the variable, too; compared with others, a change makes none.
    shape: (r, m).
    before, after: what the variable's own factor made of the values before and after, and of the points that have it.
    """

    y_has: IntArray
    shape: tuple[int, int]
    before: Prepared
    after: Prepared


@dataclass(frozen=True)
class ConditionalFactor(Factor):
    """The factor of one variable that not every point has.

    Its parameters are those of the variable's own factor, and then the logit of c, the correlation between points with
    and without the variable: p + 1 in all.

    inner: the factor of the variable alone.
    """

    inner: Factor
    n_variables = 1

    @property
    def n_parameters(self) -> int:
        """Those of the variable's own factor; the logit of c comes beside these."""
        return self.inner.n_parameters

    @property
    def has_unit_diagonal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.inner.has_unit_diagonal

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> ConditionalPair:
        own = _find_distinct(xs)
        x_has = find_present(own.values)
        if ys is None:
            return ConditionalPair(own, own, x_has, x_has, self.inner.prepare(own.values[x_has]))
        other = _find_distinct(ys)
        y_has = find_present(other.values)
        inner = self.inner.prepare(own.values[x_has], other.values[y_has])
        return ConditionalPair(own, other, x_has, y_has, inner)

    def log_gram(self, theta: Array, prepared: ConditionalPair, without: int | None = None) -> Array:
        if without is not None:
            return np.zeros((len(prepared.xs.at), len(prepared.ys.at)))
        c = expit(theta[-1])
        log_gram = np.zeros((len(prepared.xs.values), len(prepared.ys.values)))
        log_gram[prepared.x_has] += np.log(c)
        log_gram[:, prepared.y_has] += np.log(c)  # twice where both have it, which is overwritten
        log_gram[np.ix_(prepared.x_has, prepared.y_has)] = np.log(self._both(theta, c, prepared.inner)[1])
        return _spread(log_gram, prepared.xs.at, prepared.ys.at)

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        diagonal, has, c = np.zeros(len(xs)), find_present(xs), expit(theta[-1])
        diagonal[has] = np.log(c**2 + (1.0 - c**2) * np.exp(self.inner.log_diag(theta[:-1], xs[has])))
        return diagonal

    def gradient(self, theta: Array, prepared: ConditionalPair, weighted: Array) -> Array:
        c = expit(theta[-1])
        own, both = self._both(theta, c, prepared.inner)
        weighted = _sum_by_value(_sum_by_value(weighted, prepared.xs).T, prepared.ys).T
        cotangent = weighted[np.ix_(prepared.x_has, prepared.y_has)] / both
        inner = self.inner.gradient(theta[:-1], prepared.inner, cotangent * own * (1.0 - c**2))
        n_one = weighted[prepared.x_has].sum() + weighted[:, prepared.y_has].sum()
        n_one -= 2.0 * weighted[np.ix_(prepared.x_has, prepared.y_has)].sum()
        slope = 2.0 * c * float(np.vdot(cotangent, 1.0 - own)) + n_one / c
        return np.append(inner, slope * c * (1.0 - c))

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> ConditionalChanges:
        width, y_has = ys.shape[1], find_present(ys)
        before, after = (self.inner.prepare(own[:, :width], ys[y_has]) for own in (changes.before, changes.after))
        return ConditionalChanges(y_has, (len(changes.which), len(ys)), before, after)

    def log_change(self, theta: Array, prepared: ConditionalChanges) -> Array:
        change, c = np.zeros(prepared.shape), expit(theta[-1])
        before, after = (self._both(theta, c, inner)[1] for inner in (prepared.before, prepared.after))
        change[:, prepared.y_has] = np.log(after / before)
        return change

    def _both(self, theta: Array, c: float, inner: Prepared) -> tuple[Array, Array]:
        """Return the variable's own kernel, and k, between values of it.

        inner: what its own factor made of them.
        """
        own = np.exp(self.inner.log_gram(theta[:-1], inner))
        return own, c**2 + (1.0 - c**2) * own


@dataclass(frozen=True)
class ConditionalEffect(EffectKernel):
    """The effect of a variable that not every point has: none where it is absent.

    inner: the effect of the variable alone.
    """

    inner: EffectKernel

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        (own, rows), (other, columns) = _find_distinct(xs), _find_distinct(ys)
        gram, x_has, y_has = np.zeros((len(own), len(other))), find_present(own), find_present(other)
        gram[np.ix_(x_has, y_has)] = self.inner.gram(own[x_has], other[y_has])
        return _spread(gram, rows, columns)

    def diag(self, xs: IntArray) -> Array:
        diagonal, has = np.zeros(len(xs)), find_present(xs)
        diagonal[has] = self.inner.diag(xs[has])
        return diagonal


def find_present(xs: IntArray) -> IntArray:
    """Return the positions of the points that have a variable (k,).

    xs: its columns of n points (n, w).
    """
    return np.flatnonzero(xs[:, 0] != ABSENT)


def _find_distinct(xs: IntArray) -> DistinctValues:
    """Return the values of a variable that occur in a batch.

    xs: its columns of n points (n, w).
    """
    if xs.shape[1] == 1:
        values, at = np.unique(xs[:, 0], return_inverse=True)  # a tenth of the time of sorting rows
        return DistinctValues(values[:, None], at)
    values, at = np.unique(xs, axis=0, return_inverse=True)
    return DistinctValues(values, at.ravel())


def _spread(table: Array, rows: IntArray, columns: IntArray) -> Array:
    """Return table[rows[i], columns[j]] (n, m).

    table: (u, v).
    rows, columns: (n,) and (m,).
    """
    return table[:, columns][rows]  # columns first, while there are few rows: rows are quicker to gather


def _sum_by_value(weighted: Array, xs: DistinctValues) -> Array:
    """Return the sums of the rows that share a value (u, m), in one pass however many values there are."""
    n = len(xs.at)
    holds = csr_array((np.ones(n), xs.at, np.arange(n + 1)), shape=(n, len(xs.values)))
    return holds.T @ weighted
