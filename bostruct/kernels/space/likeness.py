"""Values that differ by descriptors or a matrix: their distances, for a factor, and their linear effect.

`DistanceFactor` serves all kinds of variables with a few distances, each with its own lengthscale.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.descriptors import DescriptorGroup
from bostruct.domains.space.likeness import GivenMatrix, Likeness
from bostruct.kernels.distance import CachedByContent
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.factor import Factor, Line, VariableChanges
from bostruct.kernels.space.spectra import compute_rates


class Distances(ABC):
    """The distances between values of one kind of variable.

    Each distance is a constant minus an inner product of features, or a squared Euclidean distance, so that exp(-r D)
    is positive semi-definite for each r >= 0. Equal distances compare equal, so that variables share a factor.
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
    """

    distances: Distances
    n_variables: int
    has_unit_diagonal = True

    @property
    def n_parameters(self) -> int:
        return self.distances.n_distances * self.n_variables

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> Array:
        """Return the distances, variable by variable (k c, n, m)."""
        mine, theirs = self._split(xs), self._split(xs if ys is None else ys)
        return np.concatenate([self.distances.compare(one, other) for one, other in zip(mine, theirs, strict=True)])

    def log_gram(self, theta: Array, prepared: Array, without: int | None = None) -> Array:
        rates = compute_rates(theta)
        if without is not None:
            rates[without] = 0.0
        return -np.tensordot(rates, prepared, 1)

    def gradient(self, theta: Array, prepared: Array, weighted: Array) -> Array:
        return 2.0 * compute_rates(theta) * np.tensordot(prepared, weighted, 2)

    def line(self, i: int, theta: Array, prepared: Array, gram: Array, *, carried: bool) -> Line:
        now = compute_rates(theta)[i] if carried else 0.0
        return lambda t: gram * np.exp((now - compute_rates(t)) * prepared[i])

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> tuple[IntArray, Array]:
        """Return the variable of each change (r,), and the change of its distances (k, r, m)."""
        growth = np.empty((self.distances.n_distances, len(changes.which), len(ys)))
        for v, theirs in enumerate(self._split(ys)):
            rows = np.flatnonzero(changes.which == v)
            if len(rows):
                before, inverse = _find_distinct_rows(changes.before[rows, : self.distances.width])
                now = self.distances.compare(changes.after[rows, : self.distances.width], theirs)
                growth[:, rows] = now - self.distances.compare(before, theirs)[:, inverse]
        return changes.which, growth

    def log_change(self, theta: Array, prepared: tuple[IntArray, Array]) -> Array:
        which, growth = prepared
        rates = compute_rates(theta).reshape(-1, self.distances.n_distances)[which]
        return -np.einsum("rk,krm->rm", rates, growth)

    def _split(self, xs: IntArray) -> list[IntArray]:
        """Return the columns of each variable."""
        return np.split(xs, self.n_variables, axis=1)


def _find_distinct_rows(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct values (d, w), and the position of each value among them (n,); often there are few."""
    places: dict[bytes, int] = {}
    inverse = np.array([places.setdefault(value.tobytes(), len(places)) for value in values])
    first = np.unique(inverse, return_index=True)[1]
    return values[first], inverse


MAX_REFERENCE = 1_000  # maximum number of values over which distances are averaged
LONG, LONG_REFERENCE = 10_000, 200  # with more values than the first number, the maximum is the second
MAX_KEPT = 2**21  # numbers in a comparison that is cached; the factor and the effect use the same comparisons
CHOICE = 0.25  # distance of any two different values, if the mean distance of descriptors is 1

Compare: TypeAlias = Callable[[IntArray, IntArray], Array]


@dataclass(frozen=True, eq=False)
class Measure:
    """One distance between values 0..size - 1, scaled so that its mean over pairs of different values is 1.

    compare: values (n,) and (m,) -> the distances before they are scaled (n, m).
    size: number of values.
    """

    compare: Compare
    size: int
    reference: IntArray

    def between(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the distances (n, m).

        xs, ys: values (n,) and (m,).
        """
        return self.compare(xs, ys) / self._scale

    def correlate(self, xs: IntArray, ys: IntArray, distances: Array) -> Array:
        """Return inner products of centered features with these squared distances, of mean diagonal 1 (n, m).

        xs, ys: values (n,) and (m,).
        distances: distances of the values (n, m).
        """
        return (self._means[xs, None] + self._means[ys] - distances) / self._mean - 1.0

    def spread(self, xs: IntArray) -> Array:
        """Return `correlate` of each value with itself (n,).

        xs: values (n,).
        """
        return 2.0 * self._means[xs] / self._mean - 1.0

    @cached_property
    def _scale(self) -> float:
        r = len(self.reference)
        return float(self.compare(self.reference, self.reference).sum()) / (r * (r - 1)) or 1.0

    @cached_property
    def _means(self) -> Array:
        """The mean distance of each value from the reference (size,)."""
        starts = range(0, self.size, MAX_REFERENCE)
        chunks = [np.arange(start, min(start + MAX_REFERENCE, self.size)) for start in starts]
        return np.concatenate([self.between(chunk, self.reference).mean(axis=1) for chunk in chunks])

    @cached_property
    def _mean(self) -> float:
        return float(self._means[self.reference].mean()) or 1.0


@dataclass(frozen=True)
class LikenessDistances(Distances):
    """The distances between values for `DistanceFactor`: whether values differ, and one for each descriptor group."""

    likeness: Likeness

    @property
    def n_distances(self) -> int:
        """The number of distances, one more than the number of groups."""
        return 1 + self.likeness.n_distances

    def compare(self, xs: IntArray, ys: IntArray) -> Array:
        """Return the distances (k, n, m)."""
        mine, theirs = (np.ascontiguousarray(own[:, 0], dtype=np.int64) for own in (xs, ys))
        is_kept = len(mine) * len(theirs) * self.n_distances <= MAX_KEPT
        return (_compare_values if is_kept else _compare_values.__wrapped__)(self.likeness, mine, theirs)


@dataclass(frozen=True)
class LikenessEffect(EffectKernel):
    """The linear effect of a value: the mean of the effects of the descriptor groups.

    The effects are centered, so that they sum to zero over the values, and are linear in numeric descriptors.
    """

    likeness: Likeness

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        distances = LikenessDistances(self.likeness).compare(xs, ys)
        groups = zip(find_measures(self.likeness)[1:], distances[1:], strict=True)  # the first one compares choices
        return np.asarray(np.mean([one.correlate(xs[:, 0], ys[:, 0], own) for one, own in groups], axis=0))

    def unordered(self, is_ordered: bool) -> ChoiceEffect:
        return ChoiceEffect(find_measures(self.likeness)[0].size)

    def diag(self, xs: IntArray) -> Array:
        return np.asarray(np.mean([one.spread(xs[:, 0]) for one in find_measures(self.likeness)[1:]], axis=0))


@dataclass(frozen=True)
class ChoiceEffect(EffectKernel):
    """The effect of plain choices, which sums to zero over the choices: a complete graph's effect without a table.

    size: number of choices, at least 2.
    """

    size: int
    has_unit_diagonal = True

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        return np.where(xs == ys[:, 0], 1.0, -1.0 / (self.size - 1.0))


@lru_cache(maxsize=64)
def find_measures(likeness: Likeness) -> tuple[Measure, ...]:
    """Return the distances between values: first whether the values differ, then one for each group."""
    if isinstance(likeness, GivenMatrix):
        squares = likeness.squared_distances
        size, compares = len(squares), [lambda xs, ys: squares[xs][:, ys]]
    else:
        size, compares = likeness.size, [_compare_group(group) for group in likeness.groups]
    reference = _choose_reference(likeness)
    return tuple(Measure(one, size, reference) for one in (_are_different, *compares))


@CachedByContent
def _compare_values(likeness: Likeness, xs: IntArray, ys: IntArray) -> Array:
    """Return the distances between values, computed once for each pair of distinct values (k, n, m)."""
    mine, first = np.unique(xs, return_inverse=True)
    theirs, second = np.unique(ys, return_inverse=True)
    found = np.empty((1 + likeness.n_distances, len(xs), len(ys)))
    for own, measure in zip(found, find_measures(likeness), strict=True):
        distances = measure.between(mine, theirs)
        own[:] = (distances if np.array_equal(mine, xs) else distances[first])[:, second]
    found[0] *= CHOICE
    return found


def _are_different(xs: IntArray, ys: IntArray) -> Array:
    return (xs[:, None] != ys).astype(np.float64)


def _compare_group(group: DescriptorGroup) -> Compare:
    """Return the distance of a group of descriptors."""
    if group.kind == "texts":
        codes = group.columns[:, 0]
        return lambda xs, ys: _are_different(codes[xs], codes[ys])
    if group.kind == "bits":
        return _tanimoto(group.columns.astype(np.float32))
    if group.kind == "counts":
        return _tanimoto_of_counts(group.columns)
    numbers = group.columns
    return _squared_differences((numbers - numbers.mean(axis=0)) / numbers.std(axis=0))


def _squared_differences(features: Array) -> Compare:
    if features.shape[1] == 1:
        return lambda xs, ys: (features[xs] - features[ys, 0]) ** 2
    own = (features**2).sum(axis=1)

    def compare(xs: IntArray, ys: IntArray) -> Array:
        found = own[xs, None] + own[ys] - 2.0 * features[xs] @ features[ys].T
        found[xs[:, None] == ys] = 0.0
        return np.maximum(found, 0.0)

    return compare


def _tanimoto(bits: npt.NDArray[np.float32]) -> Compare:
    """Return the Tanimoto distance, 1 minus shared bits over bits of either row; rows without bits are equal."""
    own = bits.sum(axis=1)

    def compare(xs: IntArray, ys: IntArray) -> Array:
        shared = bits[xs] @ bits[ys].T
        either = own[xs, None] + own[ys] - shared
        return 1.0 - np.divide(shared, either, out=np.ones_like(shared), where=either > 0.0).astype(np.float64)

    return compare


def _tanimoto_of_counts(counts: Any) -> Compare:
    """Return the distance 1 - <x, y> / (|x|^2 + |y|^2 - <x, y>) (Ralaivola et al. 2005); rows of zeros are equal.

    GAUCHE has the same similarity (Griffiths et al. 2023). It is positive semi-definite for counts, and integers make
    the distance of equal rows exactly 0.
    """
    own = np.asarray((counts * counts).sum(axis=1))
    exact = counts.astype(np.float32) if own.max() < 2**24 else counts  # inner products are at most as large

    def compare(xs: IntArray, ys: IntArray) -> Array:
        if len(xs) < len(ys):  # the shorter side becomes dense
            return compare(ys, xs).T
        shared = exact[xs] @ exact[ys].toarray(order="F").T
        either = own[xs, None] + own[ys] - shared
        return np.asarray(1.0 - np.divide(shared, either, out=np.ones_like(either), where=either > 0.0))

    return compare


def _choose_reference(likeness: Likeness) -> IntArray:
    """Return the positions of up to 1,000 values, chosen by their descriptors, independent of the table's order."""
    if isinstance(likeness, GivenMatrix) or likeness.size <= MAX_REFERENCE:
        return np.arange(len(likeness.matrix) if isinstance(likeness, GivenMatrix) else likeness.size)
    digests = [hashlib.blake2b(repr(likeness.row(i)).encode(), digest_size=8).digest() for i in range(likeness.size)]
    most = MAX_REFERENCE if likeness.size <= LONG else LONG_REFERENCE
    return np.sort(np.array(sorted(range(likeness.size), key=digests.__getitem__)[:most]))
