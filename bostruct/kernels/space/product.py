"""The product kernel of a space: one factor for each variable, multiplied as sums of logarithms.

Products in single precision have bounds of their rounding errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray, Prepared
from bostruct.contracts.kernel import SINGLE_FLOOR, SINGLE_ROUNDING, Kernel, Parameter, Prior, Pullback, SingleGram
from bostruct.domains.space.single_changes import SingleChanges, SpaceBatch
from bostruct.kernels.space.factor import Factor, LastCall, SingleLogGram, VariableChanges

LOG_FLOOR = math.log(SINGLE_FLOOR)
LARGEST_LOG = 60.0  # logarithm of an entry; sums of many such entries stay finite
EXPONENTIAL_ROUNDING = 8.0 * SINGLE_ROUNDING  # NumPy's exponential has an error of at most 2.52 units in the last place
UNKNOWN = 1e30  # error bound of entries that are useless
MANY_COLUMNS = 1_000  # columns of a point; with more, copies are slow
MANY_CHANGED_COLUMNS = 128  # columns of a point; with more, single changes are faster in double precision
SMALLEST_REUSABLE = 1e-260  # doubles end at 1e-308


class PlacedFactor(NamedTuple):
    """A factor, and the variables of the space that it serves.

    parameters: positions in theta of the parameters of its variables, which may share one; None if they are the
        positions of the variables.
    """

    factor: Factor
    variables: tuple[int, ...]
    columns: tuple[int, ...]
    more: tuple[int, ...] = ()
    parameters: tuple[int, ...] | None = None


class SpacePair(NamedTuple):
    """Two batches, prepared for the factors independent of theta.

    shape: (n, m).
    """

    shape: tuple[int, int]
    parts: tuple[object, ...]


class BaseGrams(NamedTuple):
    """The matrices that all single changes of some base points share.

    pair: the base points and the training points.
    log_grams: log K between them, by the bytes of theta.
    """

    pair: SpacePair
    log_grams: dict[bytes, Array]


class ChangesPair(NamedTuple):
    """Two batches, the first of which is `SingleChanges`.

    of: the base point of each change (n,).
    parts: for each factor with changes, its position, the rows of the changes (None for all), and its prepared changes.
    """

    base: BaseGrams
    of: IntArray
    parts: tuple[tuple[int, IntArray | None, Prepared], ...]


def take_columns(xs: IntArray, columns: tuple[int, ...]) -> IntArray:
    """Return some columns of points (n, w), without a copy if these are many, and all columns in order.

    columns: columns of a factor.
    """
    if len(columns) == xs.shape[1] > MANY_COLUMNS and columns[0] == 0 and columns[-1] == len(columns) - 1:
        return xs
    return xs[:, columns]


@dataclass(frozen=True)
class SpaceKernel(Kernel):
    """The product of one positive kernel for each variable of a space (Oh et al. 2019, equation 3).

    Points are rows of integers. theta (p,) has one parameter for each variable, in the order of the space, or one for
    all variables of a factor that shares it, and then one for each conditional variable.

    more: the block of the parameters of conditional variables; None if there are none.
    numbers: the variable of each continuous coordinate of the space, ascending.
    """

    factors: tuple[PlacedFactor, ...]
    name: str
    prior: Prior
    initial: float = 0.0
    more: Parameter | None = None
    numbers: tuple[int, ...] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        n_more = 0 if self.more is None else self.more.size
        first = Parameter(self.name, len(self._home) - n_more, self.prior, self.initial)
        return (first,) if self.more is None else (first, self.more)

    @property
    def parameter_variables(self) -> tuple[int | None, ...]:
        found: dict[int, int | None] = {}
        for placed, own in zip(self.factors, self._parameters, strict=True):
            served, theirs = placed.variables, own[: len(own) - len(placed.more)].tolist()
            is_shared = len(theirs) < len(served)
            found |= {p: None if is_shared else served[j * len(served) // len(theirs)] for j, p in enumerate(theirs)}
            found |= dict(zip(placed.more, served, strict=bool(placed.more)))
        return tuple(found[p] for p in range(len(found)))

    @property
    def variable_columns(self) -> Mapping[int, Sequence[int]]:
        found: dict[int, Sequence[int]] = {}
        for _, served, columns, *_ in self.factors:
            width = len(columns) // len(served)  # all variables of a factor have the same shape
            found |= {v: columns[j * width : (j + 1) * width] for j, v in enumerate(served)}
        return found

    def prepare(self, xs: SpaceBatch, ys: IntArray | None = None) -> SpacePair | ChangesPair:
        if isinstance(xs, SingleChanges):
            return self._prepare_changes(xs, xs.rows() if ys is None else np.asarray(ys))
        return self._prepare_rows(xs, None if ys is None else np.asarray(ys))

    def gram(self, theta: Array, prepared: SpacePair | ChangesPair) -> Array:
        if not isinstance(prepared, ChangesPair):
            log_gram = self._log_gram(theta, prepared)
            return np.exp(log_gram, out=log_gram)
        known, key = prepared.base.log_grams, theta.tobytes()
        if key not in known:
            known[key] = self._log_gram(theta, prepared.base.pair)
        log_gram = known[key].take(prepared.of, axis=0)  # faster than indexing
        for k, rows, part in prepared.parts:
            change = self.factors[k].factor.log_change(theta[self._parameters[k]], part)
            if rows is None:
                log_gram += change
            else:
                log_gram[rows] += change
        return np.exp(log_gram, out=log_gram)

    def single_grams(
        self, thetas: Sequence[Array], xs: SpaceBatch
    ) -> Callable[[SpaceBatch], Iterator[SingleGram] | None] | None:
        if not self.factors:
            return None
        mine, parts = np.asarray(xs), []
        for (factor, _, columns, *_), own in zip(self.factors, self._parameters, strict=True):
            vectors = [theta[own] for theta in thetas]
            if (found := factor.single_log_grams(vectors, take_columns(mine, columns))) is None:
                return None
            parts.append((found, columns))

        def with_points(ys: SpaceBatch) -> Iterator[SingleGram] | None:
            if isinstance(ys, SingleChanges) and ys.layout.n_columns > MANY_CHANGED_COLUMNS:
                return None
            theirs = np.asarray(ys)
            logs = [along(take_columns(theirs, columns)) for along, columns in parts]
            return map(multiply_factors, zip(*logs, strict=True))

        return with_points

    def diag(self, theta: Array, xs: SpaceBatch) -> Array:
        uneven = [k for k, placed in enumerate(self.factors) if not placed.factor.has_unit_diagonal]
        rows = xs.rows() if uneven and isinstance(xs, SingleChanges) else xs
        total = np.zeros(len(xs))
        for k in uneven:
            total += self.factors[k].factor.log_diag(theta[self._parameters[k]], rows[:, self.factors[k].columns])
        return np.exp(total, out=total)

    def line(self, theta: Array, i: int, prepared: SpacePair, gram: Array | None = None) -> Callable[[float], Array]:
        """Return the Gram matrix as a function of theta_i; each call overwrites the previous result."""
        carried = gram is not None and float(gram.min(initial=np.inf)) > SMALLEST_REUSABLE
        if gram is None or not carried:
            gram = self._log_gram(theta, prepared, without=i)
            np.exp(gram, out=gram)
        at, place = self._home[i]
        own = theta[self._parameters[at]]
        return self.factors[at].factor.line(place, own, prepared.parts[at], gram, carried=carried)

    def gram_and_pullback(self, theta: Array, prepared: SpacePair) -> tuple[Array, Pullback]:
        gram = self.gram(theta, prepared)

        def pullback(cotangent: Array) -> Array:
            weighted = cotangent * gram
            gradient = np.empty(len(self._home))
            for placed, own, part in zip(self.factors, self._parameters, prepared.parts, strict=True):
                gradient[own] = placed.factor.gradient(theta[own], part, weighted)
            return gradient

        return gram, pullback

    def input_vjp(self, theta: Array, xs: IntArray, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        fixed, smooth = np.zeros((len(xs), len(ys))), []
        for (factor, served, columns, *_), parameters in zip(self.factors, self._parameters, strict=True):
            own, mine = theta[parameters], (xs[:, columns], ys[:, columns])
            if set(served) <= set(self.numbers) and (varied := factor.input_vjp(own, *mine)) is not None:
                smooth.append(([k for v in served for k, one in enumerate(self.numbers) if one == v], varied))
            else:
                fixed += factor.log_gram(own, factor.prepare(*mine))

        def at_shares(shares: Array) -> tuple[Array, Pullback]:
            found = [(at, *varied(shares[:, at])) for at, varied in smooth]
            gram = np.exp(sum((log_gram for _, log_gram, _ in found), start=fixed))

            def pullback(cotangent: Array) -> Array:
                weighted, gradient = cotangent * gram, np.zeros(shares.shape)
                for at, _, pull in found:
                    gradient[:, at] = pull(weighted)
                return gradient

            return gram, pullback

        return at_shares

    def _prepare_rows(self, xs: IntArray, ys: IntArray | None) -> SpacePair:
        parts = tuple(
            one.factor.prepare(take_columns(xs, one.columns), None if ys is None else take_columns(ys, one.columns))
            for one in self.factors
        )
        return SpacePair((len(xs), len(xs if ys is None else ys)), parts)

    def _prepare_changes(self, changes: SingleChanges, ys: IntArray) -> ChangesPair:
        parts = []
        at, place = (one[changes.which] for one in self._placed)
        for k, placed in enumerate(self.factors):
            rows = np.flatnonzero(at == k)
            if not len(rows):
                continue
            is_all = len(rows) == len(at)
            own = changes if is_all else changes[rows]
            moved = VariableChanges(place if is_all else place[rows], own.before, own.values)
            pair = placed.factor.prepare_changes(moved, take_columns(ys, placed.columns))
            parts.append((k, None if is_all else rows, pair))
        return ChangesPair(self._bases(changes.base, ys), changes.of, tuple(parts))

    def _log_gram(self, theta: Array, prepared: SpacePair, without: int | None = None) -> Array:
        """Return log K (n, m); without: a parameter whose variable is left out."""
        at, place = self._home[without] if without is not None else (None, None)
        total: Array | None = None
        for k, (placed, part) in enumerate(zip(self.factors, prepared.parts, strict=True)):
            own = placed.factor.log_gram(theta[self._parameters[k]], part, place if k == at else None)
            total = own if total is None else np.add(total, own, out=total)
        return np.zeros(prepared.shape) if total is None else total

    def _base(self, xs: IntArray, ys: IntArray) -> BaseGrams:
        return BaseGrams(self._prepare_rows(xs, ys), {})

    @cached_property
    def _bases(self) -> LastCall[BaseGrams]:
        return LastCall(self._base)

    @cached_property
    def _parameters(self) -> list[IntArray]:
        """The positions in theta of each factor's parameters."""
        owns = [placed.variables if placed.parameters is None else placed.parameters for placed in self.factors]
        return [np.array((*own, *one.more), dtype=np.int64) for own, one in zip(owns, self.factors, strict=True)]

    @cached_property
    def _home(self) -> list[tuple[int, int]]:
        """The factor of each parameter, and the parameter's position among the factor's parameters."""
        homes = {p: (k, j) for k, own in enumerate(self._parameters) for j, p in enumerate(own.tolist())}
        return [homes[v] for v in range(len(homes))]

    @cached_property
    def _placed(self) -> IntArray:
        """The position of each variable's factor, and the variable's position in its factor (2, d)."""
        places = {v: (k, j) for k, placed in enumerate(self.factors) for j, v in enumerate(placed.variables)}
        every = range(max(places, default=-1) + 1)  # variables of one value, which never change, have no factor
        return np.array([places.get(v, (-1, -1)) for v in every], dtype=np.int64).reshape(-1, 2).T.copy()


def multiply_factors(parts: Sequence[SingleLogGram]) -> SingleGram:
    """Return the product of factors from their logarithms, which are overwritten.

    parts: logarithms of all factors, at least one.
    """
    total, error, smallest, largest = parts[0]
    for part in parts[1:]:
        total += part.log_gram
        error, smallest, largest = error + part.error, smallest + part.smallest, largest + part.largest
        error += SINGLE_ROUNDING * (max(abs(smallest), abs(largest)) + error)  # of the sum itself
    if largest > LARGEST_LOG or error > 0.5:
        return SingleGram(np.ones_like(total), UNKNOWN)
    if smallest < LOG_FLOOR:
        np.maximum(total, np.float32(LOG_FLOOR), out=total)
    return SingleGram(np.exp(total, out=total), math.expm1(error) + EXPONENTIAL_ROUNDING)
