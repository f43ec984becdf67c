"""Numbers that not every point has: one factor for all of them, which compares only points that both have a number.

The kernel of each number is that of `ConditionalFactor` around Matern-5/2: 1 between two points without it, c between a
point with and a point without it, c^2 + (1 - c^2) k0 between two points with it. The logarithms of the c of all numbers
are one product of matrices. The kernels between points with a number are multiplied, and take one logarithm together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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
    pairs: of each number; of one batch with itself those below the diagonal.
    is_same: True for one batch with itself.
    """

    x_has: Array
    y_has: Array
    pairs: tuple[PresentPairs, ...]
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
        columns = zip(x_shares, x_has.T, y_shares, y_has.T, strict=True)
        pairs = tuple(_find_pairs(*one, is_same=ys is None) for one in columns)
        return ConditionalNumbersPair(x_has.astype(np.float64), y_has.astype(np.float64), pairs, ys is None)

    def log_gram(self, theta: Array, prepared: ConditionalNumbersPair, without: int | None = None) -> Array:
        """Return the part of log K that comes from these numbers (n, m).

        theta: (2 c,).
        prepared: of n and m points.
        without: position of a parameter, whose number is left out; None for none.
        """
        kept = [i for i in range(self.n_variables) if without is None or i != without % self.n_variables]
        kernels = (kernel.gram for kernel in self._compare_pairs(theta, prepared.pairs, kept))
        return self._multiply(theta, prepared, kept, kernels)

    def log_gram_and_pullback(self, theta: Array, prepared: ConditionalNumbersPair) -> tuple[Array, Pullback]:
        """Return log K (n, m), and the map from weights (n, m) to the gradient of sum(weights * log K) in theta (2 c,).

        theta: (2 c,).
        prepared: of n and m points.
        """
        every = range(self.n_variables)
        kernels = list(self._compare_pairs(theta, prepared.pairs, every))

        def pullback(weighted: Array) -> Array:
            x_has, y_has, pairs, is_same = prepared
            of_one = weighted.sum(axis=1) @ x_has + weighted.sum(axis=0) @ y_has
            of_one -= 2.0 * np.einsum("nc,nc->c", x_has, weighted @ y_has)
            flat = (weighted + weighted.T if is_same else weighted).ravel()
            of_rates, of_both = np.empty(self.n_variables), np.empty(self.n_variables)
            for i, kernel in enumerate(kernels):
                weights = flat.take(pairs[i].at)
                relative = weights / kernel.gram
                of_both[i] = relative.sum() - weights.sum()
                of_rates[i] = np.dot(_lengthscale_slope(kernel), relative)
            c = expit(theta[self.n_variables :])
            # (1 - k0) (1 - c) = (1 - k) / (1 + c): nothing is divided by 1 - c, which may be 0
            of_logits = 2.0 * c**2 / (1.0 + c) * of_both + (1.0 - c) * of_one
            return np.concatenate([(1.0 - c**2) / 3.0 * of_rates, of_logits])

        return self._multiply(theta, prepared, every, (kernel.gram for kernel in kernels)), pullback

    def gradient(self, theta: Array, prepared: ConditionalNumbersPair, weighted: Array) -> Array:
        """Return the gradient of sum(weighted * log K) in theta (2 c,).

        theta: (2 c,).
        prepared: of n and m points.
        weighted: (n, m).
        """
        return self.log_gram_and_pullback(theta, prepared)[1](weighted)

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
        place, k = divmod(i, self.n_variables)
        alone, one = ConditionalNumbers(self.grids[k : k + 1]), slice(k, k + 1)
        pair = prepared._replace(x_has=prepared.x_has[:, one], y_has=prepared.y_has[:, one], pairs=prepared.pairs[one])
        own = theta[[k, k + self.n_variables]]
        rest = gram / np.exp(alone.log_gram(own, pair)) if carried else gram

        def along(t: float) -> Array:
            own[place] = t
            found = alone.log_gram(own, pair)
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

    def _compare_pairs(
        self, theta: Array, pairs: Sequence[PresentPairs], kept: Iterable[int]
    ) -> Iterable[NumberKernel]:
        rates, c = self._read_parameters(theta)
        return (_compare(pairs[i].near * rates[i], c[i]) for i in kept)

    def _multiply(
        self, theta: Array, prepared: ConditionalNumbersPair, kept: Sequence[int], kernels: Iterable[Array]
    ) -> Array:
        """Return log K (n, m) of some of the numbers, from their kernels between points that have them."""
        x_has, y_has, own = prepared.x_has[:, kept], prepared.y_has[:, kept], log_expit(theta[self.n_variables :])[kept]
        log_gram = (x_has * (-2.0 * own)) @ y_has.T  # takes back what the next two add where both have a number
        log_gram += (x_has @ own)[:, None]
        log_gram += y_has @ own
        product, least = np.ones(log_gram.size), 0.0
        for i, log_c, gram in zip(kept, own, kernels, strict=True):
            least += 2.0 * log_c  # no entry's logarithm is below
            if least < -LARGEST_LOG:
                _add_logs(product, prepared.is_same, log_gram)
                product, least = np.ones(log_gram.size), 2.0 * log_c
            at = prepared.pairs[i].at
            product[at] = product.take(at) * gram
        _add_logs(product, prepared.is_same, log_gram)
        return log_gram


def _find_pairs(
    x: Array, x_has: npt.NDArray[np.bool_], y: Array, y_has: npt.NDArray[np.bool_], *, is_same: bool
) -> PresentPairs:
    """Return the pairs of points that both have one number, of one batch with itself those below the diagonal."""
    rows, columns = np.flatnonzero(x_has), np.flatnonzero(y_has)
    near = np.subtract.outer(ROOT * x[rows], ROOT * y[columns])
    np.negative(np.abs(near, out=near), out=near)
    at = np.add.outer(rows * len(y), columns)
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


def _add_logs(product: Array, is_same: bool, log_gram: Array) -> None:
    """Add the logarithm of a flat product to a matrix; of one batch with itself it holds what is below the diagonal."""
    logs = np.log(product, out=product).reshape(log_gram.shape)
    log_gram += logs
    if is_same:
        log_gram += logs.T
