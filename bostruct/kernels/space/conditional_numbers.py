"""Numbers that not every point has: one factor for all of them, which compares only points that both have a number.

The kernel of each number is that of `ConditionalFactor` around Matern-5/2: 1 between two points without it, c between a
point with and a point without it, c^2 + (1 - c^2) k0 between two points with it. The logarithms of the c of all numbers
are one product of matrices. The kernels between points with a number are multiplied, and take one logarithm together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.scale import NumberGrid
from bostruct.domains.space.variable import ABSENT
from bostruct.kernels.space.factor import Pullback, VariableChanges
from bostruct.kernels.space.matern import LARGEST_LOG, ROOT, share_of_each, shares_of


class PresentPairs(NamedTuple):
    """The pairs of points that both have one number.

    near: -sqrt(5) times the distance of their shares (k,).
    at: positions of the pairs in the flat matrix (k,).
    """

    near: Array
    at: IntArray


class ConditionalNumbersPair(NamedTuple):
    """Two batches, of which some points have some of the numbers.

    x_has, y_has: 1 where a point has a number, else 0, (n, c) and (m, c).
    pairs: number -> its pairs; of one batch with itself those below the diagonal, which are kept for many thetas.
    is_same: True for one batch with itself.
    """

    x_has: Array
    y_has: Array
    pairs: Callable[[int], PresentPairs]
    is_same: bool


class ShareComparison(NamedTuple):
    """Values of numbers compared with those of m points.

    near: -sqrt(5) times the distance of the shares, anything where one is absent (..., m).
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


class NumberKernel(NamedTuple):
    """The kernel of one number between values, and the terms that it is made of.

    gram: the kernel.
    near: minus the distance in lengthscales.
    fade: the exponential of `near`.
    """

    gram: Array
    near: Array
    fade: Array


@dataclass(frozen=True)
class ConditionalNumbers:
    """The factor of numbers that not every point has, one column each, with gradients in their shares.

    Its parameters are the log lengthscale of each number, and then the logit of c of each number.

    grids: of each number, its numbers and the scale on which they are even.
    """

    grids: tuple[NumberGrid, ...]

    @property
    def n_variables(self) -> int:
        """The number of its variables, c."""
        return len(self.grids)

    @property
    def has_unit_diagonal(self) -> bool:
        """True: equal numbers correlate fully, and so do two points without a number."""
        return True

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> ConditionalNumbersPair:
        """Find for each number the pairs of points that have it, and their distances.

        xs: own columns of n points (n, c).
        ys: own columns of m points (m, c); None for xs with themselves.
        """
        x_has, x_shares = self._read_points(xs)
        y_has, y_shares = (x_has, x_shares) if ys is None else self._read_points(ys)
        pairs = partial(_find_pairs, x_shares, x_has.T, y_shares, y_has.T, is_same=ys is None)
        if ys is None:
            pairs = [pairs(i) for i in range(self.n_variables)].__getitem__
        return ConditionalNumbersPair(x_has.astype(np.float64), y_has.astype(np.float64), pairs, ys is None)

    def log_gram(self, theta: Array, prepared: ConditionalNumbersPair, without: int | None = None) -> Array:
        """Return the part of log K that comes from these numbers (n, m).

        theta: (2 c,).
        prepared: of n and m points.
        without: position of a parameter, whose number is left out; None for none.
        """
        left_out = None if without is None else without % self.n_variables
        return self._multiply(theta, prepared, [i for i in range(self.n_variables) if i != left_out])

    def gradient(self, theta: Array, prepared: ConditionalNumbersPair, weighted: Array) -> Array:
        """Return the gradient of sum(weighted * log K) in theta (2 c,).

        theta: (2 c,).
        prepared: of n and m points.
        weighted: (n, m).
        """
        x_has, y_has, pairs, is_same = prepared
        of_one = weighted.sum(axis=1) @ x_has + weighted.sum(axis=0) @ y_has
        of_one -= 2.0 * np.einsum("nc,nc->c", x_has, weighted @ y_has)
        flat = (weighted + weighted.T if is_same else weighted).ravel()
        rates, c = self._read_parameters(theta)
        of_rates, of_both = np.empty(self.n_variables), np.empty(self.n_variables)
        for i in range(self.n_variables):
            near, at = pairs(i)
            kernel, weights = _compare(near * rates[i], c[i]), flat.take(at)
            relative = weights / kernel.gram
            of_both[i] = relative.sum() - weights.sum()
            of_rates[i] = np.dot(_lengthscale_slope(kernel), relative)
        # (1 - k0) (1 - c) = (1 - k) / (1 + c): nothing is divided by 1 - c, which may be 0
        of_logits = 2.0 * c**2 / (1.0 + c) * of_both + (1.0 - c) * of_one
        return np.concatenate([(1.0 - c**2) / 3.0 * of_rates, of_logits])

    def log_diag(self, theta: Array, xs: IntArray) -> Array:
        """Return zeros (n,): a point correlates fully with itself.

        theta: (2 c,).
        xs: own columns of n points (n, c).
        """
        del theta
        return np.zeros(len(xs))

    def line(
        self, i: int, theta: Array, prepared: ConditionalNumbersPair, gram: Array, *, carried: bool
    ) -> Callable[[float], Array]:
        """Return K along one of the parameters.

        i: position of the parameter.
        theta: (2 c,), the parameters now.
        prepared: of n and m points.
        gram: K (n, m).
        carried: True where `gram` holds the kernel of that number at `theta`.
        """
        k = i % self.n_variables
        moved = np.array(theta, dtype=np.float64)
        rest = gram / np.exp(self._multiply(moved, prepared, [k])) if carried else gram

        def along(t: float) -> Array:
            moved[i] = t
            found = self._multiply(moved, prepared, [k])
            return np.multiply(np.exp(found, out=found), rest, out=found)

        return along

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> ConditionalNumbersChanges:
        """Compare the numbers before and after each change with those of m points.

        changes: r changes.
        ys: own columns of m points (m, c).
        """
        which = np.asarray(changes.which)
        y_has, y_shares = self._read_points(ys)
        theirs, others = y_has.T[which], y_shares[which]

        def compare(columns: IntArray) -> ShareComparison:
            has = columns[:, :1] != ABSENT
            shares = share_of_each(self.grids, which, np.where(has, columns[:, :1], 0))
            return ShareComparison(-ROOT * np.abs(shares[:, None] - others), has & theirs, has ^ theirs)

        return ConditionalNumbersChanges(which, compare(changes.before), compare(changes.after))

    def log_change(self, theta: Array, prepared: ConditionalNumbersChanges) -> Array:
        """Return by how much each change adds to log K (r, m).

        theta: (2 c,).
        prepared: of `prepare_changes`.
        """
        rates, c = (own[prepared.which][:, None] for own in self._read_parameters(theta))
        before, after = (_compare_all(one, rates, c).gram for one in (prepared.before, prepared.after))
        ratio = np.divide(after, before, out=after)
        return np.log(ratio, out=ratio)

    def vary_shares(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        """Return log K of m points and ys as a function of the shares of the m points, and its pullback.

        theta: (2 c,).
        xs: own columns of the m points (m, c), which say which numbers each of them has.
        ys: own columns of n points (n, c).
        """
        (x_has, _), (y_has, others) = self._read_points(xs), self._read_points(ys)
        mine, theirs = x_has.T[:, :, None], y_has.T[:, None, :]
        both, one = mine & theirs, mine ^ theirs
        rates, c = (own[:, None, None] for own in self._read_parameters(theta))
        scale = np.where(both, -(ROOT**2) / 3.0 * rates**2 * (1.0 - c**2), 0.0)

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            apart = np.where(x_has, shares, 0.0).T[:, :, None] - others[:, None, :]
            found = _compare_all(ShareComparison(-ROOT * np.abs(apart), both, one), rates, c)

            def pullback(weighted: Array) -> Array:
                slopes = apart * scale * (1.0 - found.near) * found.fade / found.gram
                return np.einsum("cmn,mn->mc", slopes, weighted)

            return np.log(found.gram).sum(axis=0), pullback

        return at_shares

    def _read_points(self, xs: IntArray) -> tuple[npt.NDArray[np.bool_], Array]:
        """Return which points have the numbers (n, c), and the shares of those that have (c, n)."""
        has = xs != ABSENT
        return has, shares_of(self.grids, np.where(has, xs, 0))

    def _read_parameters(self, theta: Array) -> tuple[Array, Array]:
        """Return one over the lengthscale, and c, of each number, (c,) each."""
        return np.exp(-theta[: self.n_variables]), expit(theta[self.n_variables :])

    def _multiply(self, theta: Array, prepared: ConditionalNumbersPair, kept: Sequence[int]) -> Array:
        """Return log K (n, m) of some of the numbers."""
        rates, c = self._read_parameters(theta)
        own = log_expit(theta[self.n_variables :])[kept]
        x_has, y_has = prepared.x_has[:, kept], prepared.y_has[:, kept]
        log_gram = (x_has * (-2.0 * own)) @ y_has.T  # takes back what the next two add where both have a number
        log_gram += (x_has @ own)[:, None]
        log_gram += y_has @ own
        product, least = np.ones(log_gram.size), 0.0
        for i, log_c in zip(kept, own, strict=True):
            near, at = prepared.pairs(i)
            least += 2.0 * log_c  # no entry's logarithm is below
            if least < -LARGEST_LOG:
                _add_logs(product, prepared.is_same, log_gram)
                product, least = np.ones(log_gram.size), 2.0 * log_c
            product[at] = product.take(at) * _compare(near * rates[i], c[i]).gram
        _add_logs(product, prepared.is_same, log_gram)
        return log_gram


def _add_logs(product: Array, is_same: bool, log_gram: Array) -> None:
    """Add the logarithm of a flat product to a matrix; of one batch with itself it holds what is below the diagonal."""
    logs = np.log(product, out=product).reshape(log_gram.shape)
    log_gram += logs
    if is_same:
        log_gram += logs.T


def _find_pairs(
    x: Array, x_has: npt.NDArray[np.bool_], y: Array, y_has: npt.NDArray[np.bool_], i: int, *, is_same: bool
) -> PresentPairs:
    """Return the pairs of points that both have number i.

    x, x_has: shares of all numbers, and which of them there are (c, n).
    y, y_has: the same (c, m).
    is_same: True for one batch with itself, of which the pairs below the diagonal count.
    """
    rows, columns = np.flatnonzero(x_has[i]), np.flatnonzero(y_has[i])
    near = np.subtract.outer(ROOT * x[i, rows], ROOT * y[i, columns])
    np.negative(np.abs(near, out=near), out=near)
    at = np.add.outer(rows * y.shape[1], columns)
    if is_same:
        below = np.tri(len(rows), k=-1, dtype=bool)
        return PresentPairs(near[below], at[below])
    return PresentPairs(near.ravel(), at.ravel())


def _compare(near: Array, c: Array | float) -> NumberKernel:
    """Return c^2 + (1 - c^2) k0, where k0 is Matern-5/2 at the distance -near."""
    fade, rest = np.exp(near), 1.0 - c**2
    gram = near * (rest / 3.0)
    gram -= rest
    gram *= near
    gram += rest
    gram *= fade
    gram += c**2
    return NumberKernel(gram, near, fade)


def _compare_all(values: ShareComparison, rates: Array, c: Array) -> NumberKernel:
    """Return the kernel between values that may be absent."""
    found = _compare(values.near * rates, c)
    return found._replace(gram=np.where(values.both, found.gram, np.where(values.one, c, 1.0)))


def _lengthscale_slope(kernel: NumberKernel) -> Array:
    """Return 3 times the derivative of k0 in the log lengthscale."""
    slope = 1.0 - kernel.near
    slope *= kernel.near
    slope *= kernel.near
    slope *= kernel.fade
    return slope
