"""Kernels of variables on complete graphs, all at once: each has two values, for equal and for different choices.

log F_i is 0 if two points agree in variable i and log rho_i otherwise. So the sum over variables is a constant minus a
product of codes. Two choices have the codes -1 and 1, and [a != b] = 1/2 - ab/2. More choices have one column each, and
[a != b] = 1 - [a = b].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.contracts import SINGLE_ROUNDING, Array, BlockGram, IntArray
from bostruct.kernels.space.factor import (
    MAX_CODES,
    Factor,
    Line,
    ServedFactor,
    SingleLogGram,
    SingleLogGrams,
    VariableChanges,
    count_disagreements,
    disagreement_change,
)
from bostruct.kernels.space.spectra import Link

BLOCKS_FROM = 80  # points, for two choices; with fewer points, setting up blocks costs more than it saves
MANY_BLOCKS_FROM = 140  # points, for more choices
LARGE_BLOCK_SHARE = 0.5  # share of the points in the largest block from which more than two blocks save work


class CompletePair(NamedTuple):
    """Two batches as choices, and as codes if the codes have few columns.

    xs, ys: choices of n and m points, (n, c) and (m, c).
    x_codes, y_codes: codes of the points, one row each; None if the codes would have too many columns.
    is_same: True if both are one batch.
    """

    xs: IntArray
    ys: IntArray
    x_codes: Array | None
    y_codes: Array | None
    is_same: bool


class CompleteChanges(NamedTuple):
    """Changes of variables on complete graphs, compared with m points y.

    change: the change in whether the variable differs from y's: -1, 0 or 1 (r, m).
    """

    which: IntArray
    change: Array | npt.NDArray[np.int8]


def complete_line(
    gram: Array, differs: npt.NDArray[np.bool_], rho: Callable[[float], float], current: float = 1.0
) -> Line:
    """Return K along the parameter of one variable: pairs that agree plus rho times pairs that differ.

    A call takes two passes over K, and overwrites the result of the previous call.

    gram: K with rho = `current` for this variable (n, m).
    differs: True for the pairs that differ in this variable (n, m).
    current: the rho that `gram` includes; 1 if `gram` leaves the variable out.
    """
    agree = np.where(differs, 0.0, gram)
    rest, out = gram - agree, np.empty_like(gram)

    def along(t: float) -> Array:
        np.multiply(rest, rho(t) / current, out)
        return np.add(out, agree, out)

    return along


def block_line(gram: Array, choices: IntArray, size: int, rho: Callable[[float], float], current: float) -> BlockGram:
    """Return K along the parameter of a variable, for one batch with itself: a block for each choice.

    gram: K with rho = `current` for this variable (n, n).
    choices: the choice of each point (n,).
    size: number of choices, at least 1.
    """
    parts = tuple([np.flatnonzero(choices == choice) for choice in range(max(size, 2))])  # a list is faster

    def scale(t: float) -> float:
        return rho(t) / current

    def whole(t: float) -> Array:
        differs = np.arange(len(parts))[:, None] != choices
        out = np.where(differs, scale(t), 1.0).take(choices, axis=0)  # one row for each choice, copied to its points
        return np.multiply(out, gram, out=out)

    return BlockGram(gram, parts, scale, whole)


@dataclass(frozen=True)
class CompleteFactor(Factor):
    """The factor of variables on complete graphs, one column each (Oh et al. 2019, section 2.2, in closed form).

    sizes: the number of choices of each variable.
    """

    sizes: tuple[int, ...]
    link: Link
    has_unit_diagonal = True

    @property
    def n_variables(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of variables."""
        return len(self.sizes)

    def share_parameters(self, most: int) -> list[ServedFactor]:
        by_size: dict[int, list[int]] = {}
        for i, size in enumerate(self.sizes):
            by_size.setdefault(size, []).append(i)
        many = {size: tuple(own) for size, own in by_size.items() if len(own) > most and size > 1}
        found: list[ServedFactor] = [(HammingFactor(size, len(own), self.link), own) for size, own in many.items()]
        if left := tuple(i for i, size in enumerate(self.sizes) if size not in many):
            found.append((CompleteFactor(tuple(self.sizes[i] for i in left), self.link), left))
        return found

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> CompletePair:
        others = xs if ys is None else ys
        if self._columns.sum() > MAX_CODES:
            return CompletePair(xs, others, None, None, ys is None)
        x_codes = self._codes(xs)
        return CompletePair(xs, others, x_codes, x_codes if ys is None else self._codes(ys), ys is None)

    def log_gram(self, theta: Array, prepared: CompletePair, without: int | None = None) -> Array:
        log_rho = self.link.complete(theta, self._sizes)
        if without is not None:
            log_rho[without] = 0.0
        if prepared.x_codes is not None and prepared.y_codes is not None:
            share = log_rho * self._share
            factor, (left, right) = np.repeat(-share, self._columns), (prepared.x_codes, prepared.y_codes)
            log_gram = (left * factor) @ right.T if len(left) <= len(right) else left @ (right * factor).T
            log_gram += share.sum()
            return log_gram
        log_gram = np.zeros((len(prepared.xs), len(prepared.ys)))
        for i, change in enumerate(log_rho):
            np.add(log_gram, change, out=log_gram, where=_differ(prepared, i))
        return log_gram

    def single_log_grams(self, thetas: Sequence[Array], xs: IntArray) -> SingleLogGrams | None:
        if self._columns.sum() > MAX_CODES:
            return None
        shares = [self.link.complete(theta, self._sizes) * self._share for theta in thetas]
        codes = np.column_stack([self._codes(xs), np.ones(len(xs))])  # the last column is for the constant
        factors = [np.append(np.repeat(-share, self._columns), share.sum()) for share in shares]
        lefts = [(codes * factor).astype(np.float32) for factor in factors]
        logs = [float(np.sum(share / self._share)) for share in shares]  # for points that differ in all variables

        def with_points(ys: IntArray) -> Iterator[SingleLogGram]:
            right = np.ones((codes.shape[1], len(ys)), dtype=np.float32)
            right[:-1] = self._codes(ys).T
            out = np.empty((len(xs), len(ys)), dtype=np.float32)
            for left, log in zip(lefts, logs, strict=True):
                np.matmul(left, right, out=out)
                yield SingleLogGram(out, (len(right) + 6) * SINGLE_ROUNDING * -2.0 * log, log, 0.0)

        return with_points

    def gradient(self, theta: Array, prepared: CompletePair, weighted: Array) -> Array:
        slope = self.link.complete_slope(theta, self._sizes)
        if prepared.x_codes is not None and prepared.y_codes is not None:
            columns = np.einsum("nc,nc->c", prepared.x_codes, weighted @ prepared.y_codes)
            return slope * self._share * (weighted.sum() - np.add.reduceat(columns, self._first))
        return slope * np.array([np.sum(weighted, where=_differ(prepared, i)) for i in range(len(self.sizes))])

    def line(self, i: int, theta: Array, prepared: CompletePair, gram: Array, *, carried: bool) -> Line:
        rho = partial(self.link.rho, size=float(self._sizes[i]))
        now = rho(float(theta[i])) if carried else 1.0
        current = now or 1.0  # if it underflows and `gram` does not, no pair differs
        if prepared.is_same and _has_large_blocks(prepared.xs[:, i], self.sizes[i]):
            return block_line(gram, prepared.xs[:, i], self.sizes[i], rho, current)
        return complete_line(gram, _differ(prepared, i), rho, current)

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> CompleteChanges:
        change = disagreement_change(changes, ys)
        return CompleteChanges(changes.which, change.astype(np.float64))  # once, for all parameter vectors

    def log_change(self, theta: Array, prepared: CompleteChanges) -> Array:
        return prepared.change * self.link.complete(theta, self._sizes)[prepared.which][:, None]

    def _codes(self, xs: IntArray) -> Array:
        two = self._sizes == 2
        if two.all():
            return np.multiply(xs, 2.0, order="C") - 1.0  # indexing takes six times as long
        codes = np.zeros((len(xs), int(self._columns.sum())))
        codes[:, self._first[two]] = 2.0 * xs[:, two] - 1.0
        codes[np.arange(len(xs))[:, None], self._first[~two] + xs[:, ~two]] = 1.0
        return codes

    @cached_property
    def _sizes(self) -> Array:
        return np.array(self.sizes, dtype=np.float64)

    @cached_property
    def _columns(self) -> IntArray:
        return np.where(self._sizes == 2, 1, self._sizes).astype(np.int64)

    @cached_property
    def _first(self) -> IntArray:
        return np.cumsum(self._columns) - self._columns

    @cached_property
    def _share(self) -> Array:
        return np.where(self._sizes == 2, 0.5, 1.0)


@dataclass(frozen=True)
class HammingFactor(Factor):
    """The factor of variables with equally many choices, all on complete graphs, that share one parameter.

    log F = log rho(theta) times the number of variables in which two points differ. It is `CompleteFactor` with equal
    parameters. Few observations cannot determine the lengthscales of hundreds of variables. With one lengthscale for
    all, the disagreements are counted once for all theta.

    size: number of choices of each variable, at least 2.
    """

    size: int
    n_variables: int
    link: Link
    has_unit_diagonal = True

    @property
    def n_parameters(self) -> int:
        return 1

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> Array:
        """Count the variables in which two points differ (n, m)."""
        return count_disagreements(xs, xs if ys is None else ys, self.size)

    def log_gram(self, theta: Array, prepared: Array, without: int | None = None) -> Array:
        return prepared * (0.0 if without is not None else self._log_rho(theta))

    def gradient(self, theta: Array, prepared: Array, weighted: Array) -> Array:
        return self.link.complete_slope(theta, np.full(1, float(self.size))) * float(np.vdot(weighted, prepared))

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> CompleteChanges:
        return CompleteChanges(changes.which, disagreement_change(changes, ys))

    def log_change(self, theta: Array, prepared: CompleteChanges) -> Array:
        return np.multiply(prepared.change, self._log_rho(theta), dtype=np.float64)

    def _log_rho(self, theta: Array) -> float:
        return float(self.link.complete(theta, np.full(1, float(self.size)))[0])


def _has_large_blocks(choices: IntArray, size: int) -> bool:
    """Return whether factoring in blocks saves work, as measured on 90 to 270 points with 3 to 8 choices."""
    n = len(choices)
    if size == 2:
        return n >= BLOCKS_FROM
    return n >= MANY_BLOCKS_FROM and np.bincount(choices).max() >= LARGE_BLOCK_SHARE * n


def _differ(prepared: CompletePair, i: int) -> npt.NDArray[np.bool_]:
    """Return whether each pair of points differs in one variable (n, m)."""
    return prepared.xs[:, i][:, None] != prepared.ys[:, i]
