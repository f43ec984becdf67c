"""The features of sequences of letters: the letter in each place, and pairs of letters with small gaps, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bostruct.contracts import Array, IntArray
from bostruct.kernels.space.extent import Extent

MOST_GAPS = 3  # between the letters of a pair: neighbors, with one letter between them, with two
REMEMBERED = 4  # comparisons: before and after a change, which the factor and the effect both ask for


@dataclass(frozen=True)
class SequenceShape:
    """The form of sequences, and the features that kernels see of them.

    n_letters: k, at least 2.
    width: L, the greatest length and the number of columns, at least 2.
    shortest: the least length; where it is less than L, columns behind a sequence hold the end mark k.
    """

    n_letters: int
    width: int
    shortest: int

    @property
    def varies(self) -> bool:
        """True where not all sequences are of one length."""
        return self.shortest < self.width

    @property
    def lengths(self) -> Extent | None:
        """The range of the lengths; None where there is one."""
        return Extent(self.shortest, self.width, self.n_letters) if self.varies else None

    @property
    def n_choices(self) -> int:
        """The number of values of a column."""
        return self.n_letters + self.varies

    @property
    def gaps(self) -> range:
        """The distances between the places of two letters that make a pair."""
        return range(1, min(MOST_GAPS, self.width - 1) + 1)

    @property
    def n_distances(self) -> int:
        """One for each place, one for each gap, and one for the length where it varies."""
        return self.width + len(self.gaps) + self.varies

    def pair_tokens(self, xs: IntArray, gap: int) -> IntArray:
        """Return the number of each pair of letters, -1 where there are not two (n, L - gap).

        xs: columns of n sequences (n, L).
        gap: between the places of the letters.
        """
        first, second = xs[:, :-gap], xs[:, gap:]
        return np.where(second < self.n_letters, first * self.n_letters + second, -1)  # the first is before the second

    def list_features(self, xs: IntArray) -> IntArray:
        """Return the numbers of the features: the values of columns, then the pairs with each gap (n, s).

        xs: columns of n sequences (n, L).

        There is -1 where there are no two letters.
        """
        tokens, first = [xs + self.n_choices * np.arange(self.width)], self.n_choices * self.width
        for gap in self.gaps:
            own = self.pair_tokens(xs, gap)
            tokens.append(np.where(own < 0, own, own + first))
            first += self.n_letters**2
        return np.hstack(tokens)

    @property
    def n_features(self) -> int:
        """The number of features, f."""
        return self.n_choices * self.width + len(self.gaps) * self.n_letters**2

    def weigh(self, places: Array | float, pairs: Sequence[float] | Array) -> Array:
        """Return a weight for each feature (f,).

        places: of the features of each column (L,), or of all of them.
        pairs: of the pairs with each gap.
        """
        of_places = np.repeat(np.broadcast_to(places, self.width), self.n_choices)
        return np.concatenate([of_places, np.repeat(pairs, self.n_letters**2)])


class ChangedFeatures(NamedTuple):
    """How the features of sequences change.

    growth: by how much each count grows (r, f).
    squares: by how much the squared norms of the counts of pairs grow (g, r).
    """

    growth: csr_array
    squares: Array


def multiply_pairs(shape: SequenceShape, xs: IntArray, ys: IntArray) -> Array:
    """Return the inner products of the counts of pairs with each gap (g, n, m), which is only read.

    shape: of the sequences.
    xs: columns of n sequences (n, L).
    ys: columns of m sequences (m, L).
    """
    return _multiply_pairs(shape, _freeze(xs), _freeze(ys))


@lru_cache(maxsize=REMEMBERED)
def _multiply_pairs(shape: SequenceShape, mine: bytes, theirs: bytes) -> Array:
    """Return what `multiply_pairs` does: the factor and the effect of a variable ask for the same products."""
    xs, ys = _thaw(shape, mine), _thaw(shape, theirs)
    found, kinds = np.empty((len(shape.gaps), len(xs), len(ys))), shape.n_letters**2
    for j, gap in enumerate(shape.gaps):
        own, other = (_count_numbers(shape.pair_tokens(one, gap), kinds) for one in (xs, ys))
        found[j] = own @ other.T.toarray(order="C")
    found.flags.writeable = False
    return found


def count_features(shape: SequenceShape, ys: IntArray) -> Array:
    """Count the features of sequences (f, m); the array is only read.

    shape: of the sequences.
    ys: columns of m sequences (m, L).
    """
    return _count_features(shape, _freeze(ys))


@lru_cache(maxsize=REMEMBERED)
def _count_features(shape: SequenceShape, theirs: bytes) -> Array:
    numbers = shape.list_features(_thaw(shape, theirs))
    found = _count_numbers(numbers, shape.n_features).T.toarray(order="C")
    found.flags.writeable = False
    return found


def square_pairs(shape: SequenceShape, xs: IntArray) -> Array:
    """Return the squared norms of the counts of pairs with each gap (g, n); the array is only read.

    shape: of the sequences.
    xs: columns of n sequences (n, L).
    """
    return _square_pairs(shape, _freeze(xs))


@lru_cache(maxsize=REMEMBERED)
def _square_pairs(shape: SequenceShape, own: bytes) -> Array:
    """Return what `square_pairs` does, a sum over pairs of how often each occurs: changes and diagonals ask for it."""
    xs = _thaw(shape, own)
    kinds, found = shape.n_letters**2 + 1, np.empty((len(shape.gaps), len(xs)))  # one more kind, of no pair
    for j, gap in enumerate(shape.gaps):
        numbers = shape.pair_tokens(xs, gap) % kinds
        numbers += kinds * np.arange(len(xs))[:, None]
        counts = np.bincount(numbers.ravel(), minlength=kinds * len(xs))
        if shape.varies:
            counts[kinds - 1 :: kinds] = 0
        found[j] = counts[numbers].sum(axis=1)
    found.flags.writeable = False
    return found


def change_features(shape: SequenceShape, before: IntArray, after: IntArray) -> ChangedFeatures:
    """Return how the features change.

    shape: of the sequences.
    before: columns of r sequences (r, L).
    after: the same after the change (r, L).
    """
    return _change_features(shape, _freeze(before), _freeze(after))


@lru_cache(maxsize=REMEMBERED)
def _change_features(shape: SequenceShape, before: bytes, after: bytes) -> ChangedFeatures:
    old, new = _thaw(shape, before), _thaw(shape, after)
    lost, won = shape.list_features(old), shape.list_features(new)
    lost, won = np.where(lost == won, -1, lost), np.where(lost == won, -1, won)
    numbers, signs = np.hstack([lost, won]), np.repeat([-1.0, 1.0], lost.shape[1])
    growth = _count_numbers(numbers, shape.n_features)
    growth.data[:] = np.broadcast_to(signs, numbers.shape)[numbers >= 0]
    return ChangedFeatures(growth, _square_pairs(shape, after) - _square_repeated(shape, old))


def _square_repeated(shape: SequenceShape, xs: IntArray) -> Array:
    """Return `SequenceShape.square_pairs` of rows that are mostly those before them: changes of one base."""
    is_new = np.concatenate([[True], (xs[1:] != xs[:-1]).any(axis=1)])[: len(xs)]
    return square_pairs(shape, xs[is_new])[:, np.cumsum(is_new) - 1]


def _count_numbers(numbers: IntArray, n_columns: int) -> csr_array:
    """Return how often each row has each number (n, n_columns); negative numbers do not count.

    numbers: (n, s).

    What occurs twice is stored twice: products add it up, and nothing is sorted.
    """
    counted = numbers >= 0
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(counted, axis=1))])
    found = numbers[counted]
    return csr_array((np.ones(len(found)), found, ends), shape=(len(numbers), n_columns))


def scale_columns(matrix: csr_array, weights: Array) -> csr_array:
    """Return a matrix (n, f) with the weight of each column (f,) multiplied in.

    matrix: of counts.
    weights: of the columns.
    """
    return csr_array((matrix.data * weights[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape)


def _freeze(xs: IntArray) -> bytes:
    return np.asarray(xs, dtype=np.int64).tobytes()


def _thaw(shape: SequenceShape, frozen: bytes) -> IntArray:
    return np.frombuffer(frozen, dtype=np.int64).reshape(-1, shape.width)
