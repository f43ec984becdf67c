"""Conditional variables, which some points lack: a factor around the variable's own factor.

k(absent, absent) = 1, k(absent, x) = c, k(x, y) = c^2 + (1 - c^2) k0(x, y), with 0 < c < 1. It is the covariance of
f(absent) = g, f(x) = c g + sqrt(1 - c^2) h(x). Here g has variance 1 and h has the kernel k0, so k is positive
semi-definite.

Points share values: kernels are computed between distinct values, then copied to points. Numbers use a mask instead,
and one factor for all of them: it multiplies the kernels around Matern-5/2, and computes one logarithm of the product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from bostruct.contracts import Array, IntArray, Prepared, Pullback
from bostruct.domains.space.scale import NumberGrid
from bostruct.domains.space.variable import INACTIVE
from bostruct.kernels.loops import load_loops
from bostruct.kernels.space.effects import DistinctValues, find_distinct_values, find_present, spread_pairs
from bostruct.kernels.space.factor import Factor, Line, VariableChanges
from bostruct.kernels.space.matern import LOOPS, ROOT, share_of_each, shares_of, split_products


@dataclass(frozen=True)
class ConditionalFactor(Factor):
    """The factor of one variable that some points lack.

    Its p + 1 parameters are the p parameters of the variable's own factor, then the logit of c, the correlation between
    points with and without the variable.
    """

    inner: Factor
    n_variables = 1

    @property
    def n_parameters(self) -> int:
        """The number of parameters of the variable's own factor, plus 1 for the logit of c."""
        return self.inner.n_parameters

    @property
    def has_unit_diagonal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.inner.has_unit_diagonal

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> ConditionalPair:
        own = find_distinct_values(xs)
        x_has = find_present(own.values)
        if ys is None:
            return ConditionalPair(own, own, x_has, x_has, self.inner.prepare(own.values[x_has]))
        other = find_distinct_values(ys)
        y_has = find_present(other.values)
        inner = self.inner.prepare(own.values[x_has], other.values[y_has])
        return ConditionalPair(own, other, x_has, y_has, inner)

    def log_gram(self, theta: Array, prepared: ConditionalPair, without: int | None = None) -> Array:
        if without is not None:
            return np.zeros((len(prepared.xs.at), len(prepared.ys.at)))
        c = scipy.special.expit(theta[-1])
        log_gram = np.zeros((len(prepared.xs.values), len(prepared.ys.values)))
        log_gram[prepared.x_has] += np.log(c)
        log_gram[:, prepared.y_has] += np.log(c)  # pairs of two present values are overwritten
        log_gram[np.ix_(prepared.x_has, prepared.y_has)] = np.log(self._both(theta, c, prepared.inner)[1])
        return spread_pairs(log_gram, prepared.xs.at, prepared.ys.at)

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        diagonal, has, c = np.zeros(len(xs)), find_present(xs), scipy.special.expit(theta[-1])
        diagonal[has] = np.log(c**2 + (1.0 - c**2) * np.exp(self.inner.log_diag(theta[:-1], xs[has])))
        return diagonal

    def gradient(self, theta: Array, prepared: ConditionalPair, weighted: Array) -> Array:
        c = scipy.special.expit(theta[-1])
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
        change, c = np.zeros(prepared.shape), scipy.special.expit(theta[-1])
        before, after = (self._both(theta, c, inner)[1] for inner in (prepared.before, prepared.after))
        change[:, prepared.y_has] = np.log(after / before)
        return change

    def _both(self, theta: Array, c: float, inner: Prepared) -> tuple[Array, Array]:
        """Return the variable's own kernel, and k, between present values."""
        own = np.exp(self.inner.log_gram(theta[:-1], inner))
        return own, c**2 + (1.0 - c**2) * own


class ConditionalPair(NamedTuple):
    """Two batches, and the positions of the values that are present."""

    xs: DistinctValues
    ys: DistinctValues
    x_has: IntArray
    y_has: IntArray
    inner: Prepared


class ConditionalChanges(NamedTuple):
    """Changes of the variable, which is present before and after each change.

    shape: (r, m).
    """

    y_has: IntArray
    shape: tuple[int, int]
    before: Prepared
    after: Prepared


def _sum_by_value(weighted: Array, xs: DistinctValues) -> Array:
    """Return the sums of the rows that share a value (u, m), in one pass for any number of values."""
    n = len(xs.at)
    has_value = scipy.sparse.csr_array((np.ones(n), xs.at, np.arange(n + 1)), shape=(n, len(xs.values)))
    return has_value.T @ weighted


class ConditionalNumbersPair(NamedTuple):
    """Two batches, whose points may lack some of the numbers.

    xs, ys: shares of n and m points (c, n), (c, m), 0 if a point lacks a number.
    x_has, y_has: which points have each number, as booleans (c, n), and as 1.0 or 0.0 (c, m).
    is_same: True if both are one batch.
    """

    xs: Array
    x_has: npt.NDArray[np.bool_]
    ys: Array
    y_has: Array
    is_same: bool


class ShareComparison(NamedTuple):
    """Values of numbers compared with the values of m points.

    distance: distance of the shares; any number if a value is absent (..., m).
    both, one: True if both values are present, or exactly one (..., m).
    """

    distance: Array
    both: npt.NDArray[np.bool_]
    one: npt.NDArray[np.bool_]


class ConditionalNumbersChanges(NamedTuple):
    """Changes of numbers, some of which appear or disappear."""

    which: IntArray
    before: ShareComparison
    after: ShareComparison


@dataclass(frozen=True)
class ConditionalNumbers(Factor):
    """The factor of numbers that some points lack, one column each, with gradients in their shares.

    Its parameters are the log lengthscales of all numbers, then the logits of c of all numbers.
    """

    grids: tuple[NumberGrid, ...]
    has_unit_diagonal = True

    @property
    def n_variables(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of variables, c."""
        return len(self.grids)

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> ConditionalNumbersPair:
        x_has, own = self._read_points(xs)
        y_has, others = (x_has, own) if ys is None else self._read_points(ys)
        return ConditionalNumbersPair(own, x_has, others, y_has.astype(np.float64), ys is None)

    def log_gram(self, theta: Array, prepared: ConditionalNumbersPair, without: int | None = None) -> Array:
        kept = np.arange(self.n_variables)
        return self._multiply(theta, prepared, kept if without is None else np.delete(kept, without % self.n_variables))

    def gradient(self, theta: Array, prepared: ConditionalNumbersPair, weighted: Array) -> Array:
        xs, x_has, ys, y_has, is_same = prepared
        x_counts = x_has.astype(np.float64)
        of_one = x_counts @ weighted.sum(axis=1) + y_has @ weighted.sum(axis=0)
        of_one -= 2.0 * np.einsum("cn,cn->c", x_counts @ weighted, y_has)
        own = 0.5 * (weighted + weighted.T) if is_same else np.ascontiguousarray(weighted)
        rates, c = self._read_parameters(theta)
        of_rates, of_both = sums = np.empty((2, self.n_variables))
        load_loops(LOOPS).sum_conditional_slopes(xs, x_has, ys, y_has, rates, c, is_same, own, sums)
        # (1 - k0) (1 - c) = (1 - k) / (1 + c): there is no division by 1 - c, which may be 0
        return np.concatenate([of_rates, 2.0 * c**2 / (1.0 + c) * of_both + (1.0 - c) * of_one])

    def line(self, i: int, theta: Array, prepared: ConditionalNumbersPair, gram: Array, *, carried: bool) -> Line:
        k = np.array([i % self.n_variables])
        moved = np.array(theta, dtype=np.float64)
        rest = gram / np.exp(self._multiply(moved, prepared, k)) if carried else gram

        def along(t: float) -> Array:
            moved[i] = t
            found = self._multiply(moved, prepared, k)
            return np.multiply(np.exp(found, out=found), rest, out=found)

        return along

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> ConditionalNumbersChanges:
        which = np.asarray(changes.which)
        y_has, y_shares = self._read_points(ys)
        theirs, others = y_has[which], y_shares[which]

        def compare(columns: IntArray) -> ShareComparison:
            has = columns[:, :1] != INACTIVE
            shares = share_of_each(self.grids, which, np.where(has, columns[:, :1], 0))
            return ShareComparison(np.abs(shares[:, None] - others), has & theirs, has ^ theirs)

        return ConditionalNumbersChanges(which, compare(changes.before), compare(changes.after))

    def log_change(self, theta: Array, prepared: ConditionalNumbersChanges) -> Array:
        rates, c = (own[prepared.which][:, None] for own in self._read_parameters(theta))
        before, after = (_compare_shares(one, rates, c) for one in (prepared.before, prepared.after))
        ratio = np.divide(after, before, out=after)
        return np.log(ratio, out=ratio)

    def input_vjp(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        (x_has, _), (y_has, others) = self._read_points(xs), self._read_points(ys)
        rates, c = self._read_parameters(theta)
        every, y_counts = np.arange(self.n_variables), y_has.astype(np.float64)

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            own = np.where(x_has, shares.T, 0.0)
            log_gram = self._multiply(theta, ConditionalNumbersPair(own, x_has, others, y_counts, False), every)

            def pullback(weighted: Array) -> Array:
                out = np.empty(shares.shape)
                load_loops(LOOPS).pull_conditional_shares(own, x_has, others, y_counts, rates, c, weighted, out)
                return out

            return log_gram, pullback

        return at_shares

    def _read_points(self, xs: IntArray) -> tuple[npt.NDArray[np.bool_], Array]:
        """Return which points have each number (c, n), and their shares, 0 if a point lacks the number (c, n)."""
        has = np.ascontiguousarray((xs != INACTIVE).T)
        return has, np.where(has, shares_of(self.grids, np.where(has.T, xs, 0)), 0.0)

    def _read_parameters(self, theta: Array) -> tuple[Array, Array]:
        """Return sqrt(5) over the lengthscale, and c, for each number, (c,) each."""
        return ROOT * np.exp(-theta[: self.n_variables]), scipy.special.expit(theta[self.n_variables :])

    def _multiply(self, theta: Array, prepared: ConditionalNumbersPair, kept: IntArray) -> Array:
        """Return log K (n, m) of some of the numbers."""
        rates, c = self._read_parameters(theta)
        shape = prepared.xs.shape[1], prepared.ys.shape[1]
        log_gram: Array | None = None
        # no kernel is below c^2
        for run in split_products(-2.0 * scipy.special.log_expit(theta[self.n_variables :])[kept]):
            own = kept[run]
            xs, x_has, ys, y_has = (part[own] for part in prepared[:4])
            product = np.empty(shape)
            load_loops(LOOPS).multiply_conditional(xs, x_has, ys, y_has, rates[own], c[own], prepared.is_same, product)
            np.log(product, out=product)
            log_gram = product if log_gram is None else np.add(log_gram, product, out=log_gram)
        return np.zeros(shape) if log_gram is None else log_gram


def _compare_shares(values: ShareComparison, rates: Array, c: Array) -> Array:
    """Return the kernel between values that may be absent."""
    a = values.distance * rates
    both = c**2 + (1.0 - c**2) * (1.0 + a * (1.0 + a / 3.0)) * np.exp(-a)
    return np.where(values.both, both, np.where(values.one, c, 1.0))
