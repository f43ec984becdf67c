"""Numbers that not every point has: one factor for all of them.

The kernel of each number is that of `ConditionalFactor` around Matern-5/2: 1 between two points without it, c between a
point with and a point without it, c^2 + (1 - c^2) k0 between two points with it. The kernels of all numbers are
multiplied, and take one logarithm together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit

from bostruct.contracts import Array, IntArray, Pullback
from bostruct.domains.space.scale import NumberGrid
from bostruct.domains.space.variable import ABSENT
from bostruct.kernels.space.factor import Factor, VariableChanges
from bostruct.kernels.space.matern import LARGEST_LOG, ROOT, load_loops, share_of_each, shares_of

LOOPS = "compiled_conditional"


class ConditionalNumbersPair(NamedTuple):
    """Two batches, of which some points have some of the numbers.

    xs, ys: shares of n and m points (c, n), (c, m), 0 where a point lacks a number.
    x_has, y_has: which points have each number (c, n), and 1.0 or 0.0 for the same (c, m).
    is_same: True for one batch with itself.
    """

    xs: Array
    x_has: npt.NDArray[np.bool_]
    ys: Array
    y_has: Array
    is_same: bool


class ShareComparison(NamedTuple):
    """Values of numbers compared with those of m points.

    near: the distance of the shares, anything where one is absent (..., m).
    both, one: True where both of them, or one of them, are present (..., m).
    """

    near: Array
    both: npt.NDArray[np.bool_]
    one: npt.NDArray[np.bool_]


class ConditionalNumbersChanges(NamedTuple):
    """Changes of numbers, some of which appear or disappear.

    which: the number that each change is in (r,).
    before, after: the comparison with m points before and after each change.
    """

    which: IntArray
    before: ShareComparison
    after: ShareComparison


@dataclass(frozen=True)
class ConditionalNumbers(Factor):
    """The factor of numbers that not every point has, one column each, with gradients in their shares.

    Its parameters are the log lengthscale of each number, and then the logit of c of each number.

    grids: of each number, its numbers and the scale on which they are even.
    """

    grids: tuple[NumberGrid, ...]
    has_unit_diagonal = True

    @property
    def n_variables(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of its variables, c."""
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
        of_rates, of_both = np.empty(self.n_variables), np.empty(self.n_variables)
        load_loops(LOOPS).sum_slopes(xs, x_has, ys, y_has, rates, c, is_same, own, of_rates, of_both)
        # (1 - k0) (1 - c) = (1 - k) / (1 + c): nothing is divided by 1 - c, which may be 0
        return np.concatenate([of_rates, 2.0 * c**2 / (1.0 + c) * of_both + (1.0 - c) * of_one])

    def line(
        self, i: int, theta: Array, prepared: ConditionalNumbersPair, gram: Array, *, carried: bool
    ) -> Callable[[float], Array]:
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
            has = columns[:, :1] != ABSENT
            shares = share_of_each(self.grids, which, np.where(has, columns[:, :1], 0))
            return ShareComparison(np.abs(shares[:, None] - others), has & theirs, has ^ theirs)

        return ConditionalNumbersChanges(which, compare(changes.before), compare(changes.after))

    def log_change(self, theta: Array, prepared: ConditionalNumbersChanges) -> Array:
        rates, c = (own[prepared.which][:, None] for own in self._read_parameters(theta))
        before, after = (_compare(one, rates, c) for one in (prepared.before, prepared.after))
        ratio = np.divide(after, before, out=after)
        return np.log(ratio, out=ratio)

    def vary_shares(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        (x_has, _), (y_has, others) = self._read_points(xs), self._read_points(ys)
        rates, c = self._read_parameters(theta)
        every, y_counts = np.arange(self.n_variables), y_has.astype(np.float64)

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            own = np.where(x_has, shares.T, 0.0)
            log_gram = self._multiply(theta, ConditionalNumbersPair(own, x_has, others, y_counts, False), every)

            def pullback(weighted: Array) -> Array:
                out = np.empty(shares.shape)
                load_loops(LOOPS).pull_shares(own, x_has, others, y_counts, rates, c, weighted, out)
                return out

            return log_gram, pullback

        return at_shares

    def _read_points(self, xs: IntArray) -> tuple[npt.NDArray[np.bool_], Array]:
        """Return which points have the numbers (c, n), and their shares, 0 where a point has none (c, n)."""
        has = np.ascontiguousarray((xs != ABSENT).T)
        return has, np.where(has, shares_of(self.grids, np.where(has.T, xs, 0)), 0.0)

    def _read_parameters(self, theta: Array) -> tuple[Array, Array]:
        """Return sqrt(5) over the lengthscale, and c, of each number, (c,) each."""
        return ROOT * np.exp(-theta[: self.n_variables]), expit(theta[self.n_variables :])

    def _multiply(self, theta: Array, prepared: ConditionalNumbersPair, kept: IntArray) -> Array:
        """Return log K (n, m) of some of the numbers."""
        rates, c = self._read_parameters(theta)
        shape = prepared.xs.shape[1], prepared.ys.shape[1]
        log_gram: Array | None = None
        for own in _split(kept, log_expit(theta[self.n_variables :])):
            xs, x_has, ys, y_has = (part[own] for part in prepared[:4])
            product = np.empty(shape)
            load_loops(LOOPS).multiply(xs, x_has, ys, y_has, rates[own], c[own], prepared.is_same, product)
            np.log(product, out=product)
            log_gram = product if log_gram is None else np.add(log_gram, product, out=log_gram)
        return np.zeros(shape) if log_gram is None else log_gram


def _split(kept: IntArray, log_c: Array) -> list[IntArray]:
    """Split numbers into runs whose product cannot underflow, as no kernel is below c^2; nearly always one run."""
    least = np.cumsum(-2.0 * log_c[kept])
    if not len(kept) or least[-1] < LARGEST_LOG:
        return [kept] if len(kept) else []
    return np.split(kept, np.flatnonzero(np.diff(np.floor(least / (0.5 * LARGEST_LOG)))) + 1)


def _compare(values: ShareComparison, rates: Array, c: Array) -> Array:
    """Return the kernel between values that may be absent."""
    a = values.near * rates
    both = c**2 + (1.0 - c**2) * (1.0 + a * (1.0 + a / 3.0)) * np.exp(-a)
    return np.where(values.both, both, np.where(values.one, c, 1.0))
