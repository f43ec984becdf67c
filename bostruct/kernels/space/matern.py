"""Matern-5/2 kernels of numbers, as shares of their ranges: variables, lengths of sequences and sizes of subsets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray, Pullback
from bostruct.domains.space.scale import NumberGrid
from bostruct.domains.space.variable import INACTIVE
from bostruct.kernels.loops import load_loops
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.factor import Factor, Line, VariableChanges

LOOPS = "bostruct.kernels.space.compiled"
ROOT = math.sqrt(5.0)
LARGEST_LOG = 600.0  # largest logarithm of a product of kernels; exp overflows at 709
EFFECT_LENGTHSCALE = 0.25  # lengthscale of the main effect of a number, as a share of the range
FAR = 100.0  # lengthscales between an absent number and the nearer end of the range: effects are below 1e-70
LARGEST_SQUARE = 10.0  # squared distance between the ends of a range
COUNT_LENGTHSCALE = 0.3  # lengthscale of an effect without its trend, as a share of the range
TREND = 0.5  # share of the trend in an effect


class NumberPair(NamedTuple):
    """Two batches as shares of the variables' ranges.

    xs: shares of n points (c, n).
    ys: shares of m points (c, m).
    is_same: True if both are one batch.
    """

    xs: Array
    ys: Array
    is_same: bool


class NumberChanges(NamedTuple):
    """Changes of numbers.

    ys: shares of m points (c, m).
    """

    which: IntArray
    before: Array
    after: Array
    ys: Array


@dataclass(frozen=True)
class MaternFactor(Factor):
    """The factor of numbers, one column each: k = (1 + a + a^2 / 3) exp(-a), a = sqrt(5) |x - y| / lengthscale.

    x and y are shares of the range, linear or logarithmic as the variable is (Rasmussen and Williams 2006, equation
    4.17). theta is the log lengthscale; a lengthscale of 1 is the whole range.
    """

    grids: tuple[NumberGrid, ...]
    has_unit_diagonal = True

    @property
    def n_variables(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of variables."""
        return len(self.grids)

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> NumberPair:
        own = shares_of(self.grids, xs)
        return NumberPair(own, own if ys is None else shares_of(self.grids, ys), ys is None)

    def log_gram(self, theta: Array, prepared: NumberPair, without: int | None = None) -> Array:
        rates = ROOT * np.exp(-theta)
        if without is not None:
            rates[without] = 0.0  # so the kernel of this variable is 1
        log_gram: Array | None = None
        shape = (prepared.xs.shape[1], prepared.ys.shape[1])
        for own in split_products(np.log1p(rates * (1.0 + rates / 3.0))):  # no a is above its rate
            xs, ys, total, product = prepared.xs[own], prepared.ys[own], np.zeros(shape), np.ones(shape)
            load_loops(LOOPS).add_distances(xs, ys, rates[own], prepared.is_same, total, product)
            np.log(product, out=product)
            product -= total
            log_gram = product if log_gram is None else np.add(log_gram, product, out=log_gram)
        return np.zeros(shape) if log_gram is None else log_gram

    def gradient(self, theta: Array, prepared: NumberPair, weighted: Array) -> Array:
        gradient = np.empty(self.n_variables)
        if prepared.is_same:
            own = weighted + weighted.T
            own *= 0.5
        else:
            own = np.ascontiguousarray(weighted)
        load_loops(LOOPS).sum_slopes(prepared.xs, prepared.ys, ROOT * np.exp(-theta), prepared.is_same, own, gradient)
        return 2.0 * gradient if prepared.is_same else gradient

    def input_vjp(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        others, rates = shares_of(self.grids, ys), ROOT * np.exp(-theta)

        def at(shares: Array) -> tuple[Array, Pullback]:
            own = np.ascontiguousarray(shares.T)
            log_gram = self.log_gram(theta, NumberPair(own, others, False))

            def pullback(weighted: Array) -> Array:
                out = np.empty(shares.shape)
                load_loops(LOOPS).pull_shares(own, others, rates, weighted, out)
                return out

            return log_gram, pullback

        return at

    def line(self, i: int, theta: Array, prepared: NumberPair, gram: Array, *, carried: bool) -> Line:
        distance = ROOT * np.abs(prepared.xs[i][:, None] - prepared.ys[i])
        now = distance * math.exp(-theta[i])
        rest = gram / ((1.0 + now * (1.0 + now / 3.0)) * np.exp(-now)) if carried else gram
        out = np.empty_like(rest)

        def along(t: float) -> Array:
            a = distance * math.exp(-t)
            np.exp(-a, out=out)
            np.multiply(out, rest, out=out)
            return np.multiply(out, 1.0 + a * (1.0 + a / 3.0), out=out)

        return along

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> NumberChanges:
        before, after = (share_of_each(self.grids, changes.which, own) for own in (changes.before, changes.after))
        return NumberChanges(np.asarray(changes.which), before, after, shares_of(self.grids, ys))

    def log_change(self, theta: Array, prepared: NumberChanges) -> Array:
        drop = np.empty((len(prepared.which), prepared.ys.shape[1]))
        ratio = np.empty_like(drop)
        load_loops(LOOPS).compare_changes(*prepared, ROOT * np.exp(-theta), drop, ratio)
        drop += np.log(ratio, out=ratio)
        return drop


def shares_of(grids: Sequence[NumberGrid], xs: IntArray) -> Array:
    """Return the shares of n points, variable by variable (c, n).

    xs: positions on the grids (n, c).
    """
    shares = np.empty((len(grids), len(xs)))
    for i, grid in enumerate(grids):
        shares[i] = grid.shares(xs[:, i])
    return shares


def share_of_each(grids: Sequence[NumberGrid], which: IntArray, columns: IntArray) -> Array:
    """Return the shares of r positions, each of its own variable (r,).

    columns: the positions in the first column (r, w).
    """
    steps = [grid.n_steps for grid in grids]
    shares = columns[:, 0] / np.array([float(n or 1) for n in steps])[which]
    for i in [i for i, n in enumerate(steps) if n is None]:
        rows = which == i
        shares[rows] = grids[i].shares(columns[rows, 0])
    return shares


@dataclass(frozen=True)
class NumberEffect(EffectKernel):
    """The main effect of a number: Matern-5/2 on its range, 0 if the number is absent.

    `MainEffects` computes the sum for all numbers at once, with `sum_effects` and `change_effects`.

    is_conditional: True if some points lack the number.
    """

    grid: NumberGrid = field()  # pyright: ignore[reportIncompatibleVariableOverride]
    is_conditional: bool = False

    @property
    def has_unit_diagonal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return not self.is_conditional

    def conditional(self) -> NumberEffect:
        return replace(self, is_conditional=True)

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        return sum_effects((self.grid,), xs, ys, EFFECT_LENGTHSCALE)

    def diag(self, xs: IntArray) -> Array:
        return (xs[:, 0] != INACTIVE).astype(np.float64)


def sum_effects(grids: Sequence[NumberGrid], xs: IntArray, ys: IntArray, lengthscale: float) -> Array:
    """Return the sum of the effects of several numbers (n, m).

    xs, ys: positions of n and m points (n, c), (m, c).
    lengthscale: lengthscale as a share of the ranges.
    """
    return vary_effects(grids, xs, ys, lengthscale)(_effect_shares(grids, xs, 0.0).T)[0]


def vary_effects(
    grids: Sequence[NumberGrid], xs: IntArray, ys: IntArray, lengthscale: float
) -> Callable[[Array], tuple[Array, Pullback]]:
    """Return the sum of the effects of several numbers as a function of the shares of m points.

    xs: positions of the m points (m, c), which show the numbers that each point has.
    ys: positions of n points (n, c).
    lengthscale: lengthscale as a share of the ranges.

    Returns a function from shares (m, c) to the sum (m, n) and to the map from weights (m, n) to the gradient of
    the weighted sum in the shares (m, c), 0 in numbers that a point lacks.
    """
    has, others, rate = xs != INACTIVE, _effect_shares(grids, ys, -FAR * lengthscale), ROOT / lengthscale
    grown = np.exp(rate * others)
    shrunk = 1.0 / grown

    def at(shares: Array) -> tuple[Array, Pullback]:
        own = np.ascontiguousarray(np.where(has, shares, FAR * lengthscale).T)
        pair, total = (own, others, np.exp(rate * own), grown, shrunk, rate), np.zeros((len(shares), len(ys)))
        load_loops(LOOPS).add_effects(*pair, total)

        def pullback(weighted: Array) -> Array:
            out = np.empty(shares.shape)
            load_loops(LOOPS).pull_effects(*pair, weighted, out)
            return np.where(has, out, 0.0)

        return total, pullback

    return at


def change_effects(grids: Sequence[NumberGrid], changes: VariableChanges, ys: IntArray, lengthscale: float) -> Array:
    """Return how much each change of a number changes the sum of the effects (r, m).

    ys: positions of m points (m, c).
    lengthscale: lengthscale as a share of the ranges.
    """
    rate, far = ROOT / lengthscale, FAR * lengthscale
    other, which = _effect_shares(grids, ys, -far), np.asarray(changes.which)
    before, after = (
        np.where(own[:, 0] != INACTIVE, share_of_each(grids, which, np.where(own != INACTIVE, own, 0)), far)
        for own in (changes.before, changes.after)
    )
    out, grown = np.empty((len(which), len(ys))), np.exp(rate * other)
    load_loops(LOOPS).change_effects(which, before, after, other, grown, 1.0 / grown, rate, out)
    return out


def _effect_shares(grids: Sequence[NumberGrid], xs: IntArray, absent: float) -> Array:
    """Return the shares of n points (c, n), `absent` if a point lacks the number."""
    has = xs != INACTIVE
    if has.all():
        return shares_of(grids, xs)
    return np.where(has.T, shares_of(grids, np.where(has, xs, 0)), absent)


def split_products(logs: Array) -> list[slice]:
    """Split factors into runs whose products are finite doubles, nearly always one run.

    logs: upper bounds of the absolute logarithms of the factors (c,).
    """
    sums = np.cumsum(logs)
    if not len(logs) or sums[-1] < LARGEST_LOG:
        return [slice(0, len(logs))]
    ends = np.flatnonzero(np.diff(np.floor(sums / (0.5 * LARGEST_LOG)))) + 1
    return [slice(a, b) for a, b in pairwise([0, *ends.tolist(), len(logs)])]


@dataclass(frozen=True)
class LengthKernel(EffectKernel):
    """The range of the number of letters of a sequence, or of items of a subset, if that number varies.

    Samples are uniform over these numbers, and objectives often depend on them smoothly, so kernels compare numbers.
    """

    least: int
    most: int
    blank: int

    def count(self, xs: IntArray) -> IntArray:
        """Return the number of letters or items of each value (n,).

        xs: columns of n values (n, w).
        """
        return np.count_nonzero(xs != self.blank, axis=1)

    def scale(self, xs: IntArray) -> Array:
        """Return the counts of values, scaled so that the ends of the range have the squared distance 10 (n,).

        xs: columns of n values (n, w).
        """
        return self._share(self.count(xs)) * math.sqrt(LARGEST_SQUARE)

    def square(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the squared distances between the scaled counts of values (n, m).

        xs, ys: columns of n and m values (n, w), (m, w).
        """
        return np.square(self.scale(xs)[:, None] - self.scale(ys))

    def square_change(self, before: IntArray, after: IntArray, ys: IntArray) -> Array:
        """Return how much each change of a value adds to its squared distances (r, m).

        before, after: columns of r values before and after the change (r, w).
        ys: columns of m values (m, w).
        """
        old, new = self.scale(before)[:, None], self.scale(after)[:, None]
        return (new - old) * (new + old - 2.0 * self.scale(ys))

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the effect kernel between the counts of values (n, m): a trend plus Matern-5/2.

        The mean of its diagonal over samples is about 1.
        """
        return self._compare(self.count(xs), self.count(ys))

    def diag(self, xs: IntArray) -> Array:
        return TREND * 12.0 * np.square(self._share(self.count(xs)) - 0.5) + (1.0 - TREND)

    def change(self, before: IntArray, after: IntArray, ys: IntArray) -> Array:
        effects = self._compare(np.arange(self.least, self.most + 1), self.count(ys))
        return effects[self.count(after) - self.least] - effects[self.count(before) - self.least]

    def _share(self, counts: IntArray) -> Array:
        return (counts - self.least) / (self.most - self.least)

    def _compare(self, counts: IntArray, others: IntArray) -> Array:
        mine, theirs = self._share(counts)[:, None], self._share(others)
        a = np.abs(mine - theirs) * (ROOT / COUNT_LENGTHSCALE)
        matern = (1.0 + a + np.square(a) / 3.0) * np.exp(-a)
        return TREND * 12.0 * (mine - 0.5) * (theirs - 0.5) + (1.0 - TREND) * matern
