"""Kernels of sequences of letters: a factor of the product, and a linear effect.

The features of a sequence are the letter in each place, and the counts of pairs of letters with small gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from bostruct.contracts import Array, IntArray
from bostruct.kernels.distance import CachedByContent
from bostruct.kernels.space.complete import CompleteFactor, CompletePair
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.factor import Factor, Line, VariableChanges, count_disagreements
from bostruct.kernels.space.matern import LengthKernel
from bostruct.kernels.space.spectra import LogLengthscale, compute_rates

MOST_GAPS = 3  # between the letters of a pair: neighbors, one letter between them, two letters between them
PAIR_SCALE = 0.25  # of a squared difference of counts, because one changed letter changes four counts by one


@dataclass(frozen=True)
class SequenceFactor(Factor):
    """The factor exp(-sum_j D_j / (2 l_j^2)) of sequences of one shape, with lengthscales l_j.

    D_j is 1 if two sequences differ in place j. Each gap has another D_j, a quarter of the squared Euclidean distance
    between the counts of pairs of letters with this gap. If lengths vary, the last D_j is the squared difference of
    lengths, scaled to 10 between the ends of their range. The parameters of each variable are the logarithms of l_j.
    """

    shape: SequenceShape
    n_variables: int
    has_unit_diagonal = True

    @property
    def n_parameters(self) -> int:
        return self.shape.n_distances * self.n_variables

    def prepare(self, xs: IntArray, ys: IntArray | None = None) -> SequencePair:
        others = xs if ys is None else ys
        counts = [self._compare_counts(*both) for both in zip(self._split(xs), self._split(others), strict=True)]
        return SequencePair(self._places.prepare(xs, ys), np.concatenate(counts))

    def log_gram(self, theta: Array, prepared: SequencePair, without: int | None = None) -> Array:
        rates = compute_rates(theta)
        place = None if without is None else self._find_place(without)
        if without is not None and place is None:
            rates[without] = 0.0
        found = self._places.log_gram(theta[self._of_places], prepared.places, place)
        found -= np.tensordot(rates[self._of_counts], prepared.counts, 1)
        return found

    def gradient(self, theta: Array, prepared: SequencePair, weighted: Array) -> Array:
        gradient = np.empty(len(theta))
        gradient[self._of_places] = self._places.gradient(theta[self._of_places], prepared.places, weighted)
        own = 2.0 * compute_rates(theta[self._of_counts])
        gradient[self._of_counts] = own * np.tensordot(prepared.counts, weighted, 2)
        return gradient

    def line(self, i: int, theta: Array, prepared: SequencePair, gram: Array, *, carried: bool) -> Line:
        place = self._find_place(i)
        if place is not None:
            return self._places.line(place, theta[self._of_places], prepared.places, gram, carried=carried)
        squares = prepared.counts[int(np.searchsorted(self._of_counts, i))]
        now = float(compute_rates(theta)[i]) if carried else 0.0
        return lambda t: gram * np.exp((now - float(compute_rates(np.array(t)))) * squares)

    def prepare_changes(self, changes: VariableChanges, ys: IntArray) -> SequenceChanges:
        parts, w = [], self.shape.width
        for v, theirs in enumerate(self._split(ys)):
            rows = np.flatnonzero(changes.which == v)
            if len(rows):
                before, after = changes.before[rows, :w], changes.after[rows, :w]
                moved, counted = change_features(self.shape, before, after), count_features(self.shape, theirs)
                lengths = self.shape.lengths
                grown = None if lengths is None else lengths.square_change(before, after, theirs)
                parts.append((v, rows, moved, counted, grown))
        return SequenceChanges((len(changes.which), len(ys)), tuple(parts))

    def log_change(self, theta: Array, prepared: SequenceChanges) -> Array:
        change, w = np.empty(prepared.shape), self.shape.width
        for v, rows, moved, theirs, lengths in prepared.parts:
            rates = compute_rates(theta).reshape(self.n_variables, -1)[v]
            of_pairs = PAIR_SCALE * rates[w : w + len(self.shape.gaps)]
            products = self.shape.weigh(rates[:w], 2.0 * of_pairs)
            own = scale_columns(moved.growth, products) @ theirs
            own -= (of_pairs @ moved.squares)[:, None]
            if lengths is not None:
                own -= rates[-1] * lengths
            change[rows] = own
        return change

    def _compare_counts(self, xs: IntArray, ys: IntArray) -> Array:
        mine, theirs = square_pairs(self.shape, xs), square_pairs(self.shape, ys)
        squares = mine[:, :, None] + theirs[:, None, :] - 2.0 * multiply_pairs(self.shape, xs, ys)
        squares *= PAIR_SCALE
        if self.shape.lengths is None:
            return squares
        return np.concatenate([squares, self.shape.lengths.square(xs, ys)[None]])

    def _split(self, xs: IntArray) -> list[IntArray]:
        """Return the columns of each variable."""
        return np.split(xs, self.n_variables, axis=1)

    def _find_place(self, i: int) -> int | None:
        """Return the place that a parameter belongs to, counted over all variables; None for parameters of counts."""
        v, j = divmod(i, self.shape.n_distances)
        return v * self.shape.width + j if j < self.shape.width else None

    @cached_property
    def _places(self) -> CompleteFactor:
        return CompleteFactor((self.shape.n_choices,) * self.shape.width * self.n_variables, LogLengthscale())

    @cached_property
    def _of_places(self) -> IntArray:
        """The positions of the parameters of places."""
        at = np.arange(self.n_parameters)
        return at[at % self.shape.n_distances < self.shape.width]

    @cached_property
    def _of_counts(self) -> IntArray:
        """The positions of the parameters of pairs and lengths."""
        return np.setdiff1d(np.arange(self.n_parameters), self._of_places)


class SequencePair(NamedTuple):
    """Two batches of points, prepared for the factor.

    counts: the distances by pairs of letters, and by length if it varies, variable by variable (g c, n, m).
    """

    places: CompletePair
    counts: Array


class SequenceChanges(NamedTuple):
    """Changes of sequences, compared with m points y.

    shape: (r, m).
    parts: for each variable that changes, its position, the rows of its changes, their changes of features, the counts
        of the features of y (f, m), and the changes of squared distances by length (k, m), None for one length.
    """

    shape: tuple[int, int]
    parts: tuple[tuple[int, IntArray, ChangedFeatures, Array, Array | None], ...]


@dataclass(frozen=True)
class SequenceEffect(EffectKernel):
    """The linear effect of a sequence: the mean of an effect of its places and an effect of its pairs for each gap.

    So few observations suffice to learn sums over places, over letters, and over steps from one letter to another.
    Each effect has mean 0 between random sequences of full length, and is about 1 between equal sequences.
    """

    shape: SequenceShape

    def gram(self, xs: IntArray, ys: IntArray) -> Array:
        agree = self.shape.width - count_disagreements(xs, ys, self.shape.n_choices)
        found = self._center_places(agree)
        counts = zip(self._count_all(xs), self._count_all(ys), multiply_pairs(self.shape, xs, ys), strict=True)
        for gap, (mine, theirs, products) in zip(self.shape.gaps, counts, strict=True):
            found += self._center_pairs(gap, products, mine[:, None] + theirs)
        return found / (1 + len(self.shape.gaps))

    def diag(self, xs: IntArray) -> Array:
        found = self._center_places(np.full(len(xs), float(self.shape.width)))
        counts = zip(self._count_all(xs), square_pairs(self.shape, xs), strict=True)
        for gap, (own, squares) in zip(self.shape.gaps, counts, strict=True):
            found += self._center_pairs(gap, squares, 2.0 * own)
        return found / (1 + len(self.shape.gaps))

    def change(self, before: IntArray, after: IntArray, ys: IntArray) -> Array:
        gaps, kinds = np.array(self.shape.gaps), self.shape.n_letters**2
        places = self.shape.width - gaps
        weights = self.shape.weigh(1.0 / self._spread, 1.0 / (places * (1.0 - 1.0 / kinds)))
        means = weights * self.shape.weigh(0.0, places / kinds)
        growth = change_features(self.shape, before, after).growth
        found = scale_columns(growth, weights) @ count_features(self.shape, ys)
        found -= (growth @ means)[:, None]
        return found / (1 + len(gaps))

    def _center_places(self, agree: Array) -> Array:
        """Return the effect of the places from the number of places that agree."""
        return (agree - self.shape.width / self.shape.n_choices) / self._spread

    def _center_pairs(self, gap: int, products: Array, counted: Array) -> Array:
        """Return the effect of pairs from the products of their counts and the number of pairs in both sequences."""
        places, kinds = self.shape.width - gap, self.shape.n_letters**2
        mean = places / kinds  # mean count of a pair
        return (products - mean * counted + mean * mean * kinds) / (places * (1.0 - 1.0 / kinds))

    def _count_all(self, xs: IntArray) -> Array:
        """Return the number of pairs with each gap (g, n)."""
        lengths = np.count_nonzero(xs < self.shape.n_letters, axis=1)
        return np.maximum(lengths - np.array(self.shape.gaps)[:, None], 0).astype(np.float64)

    @property
    def _spread(self) -> float:
        return self.shape.width * (1.0 - 1.0 / self.shape.n_choices)


@dataclass(frozen=True)
class SequenceShape:
    """The alphabet and the lengths of sequences, and the features that kernels compare.

    n_letters: number of letters, k, at least 2.
    width: greatest length and number of columns, L, at least 2.
    """

    n_letters: int
    width: int
    shortest: int

    @property
    def varies(self) -> bool:
        """True if sequences have different lengths."""
        return self.shortest < self.width

    @property
    def lengths(self) -> LengthKernel | None:
        """The range of the lengths; None if there is only one."""
        return LengthKernel(self.shortest, self.width, self.n_letters) if self.varies else None

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
        """The number of distances: one for each place, one for each gap, and one for the length if it varies."""
        return self.width + len(self.gaps) + self.varies

    def pair_tokens(self, xs: IntArray, gap: int) -> IntArray:
        """Return the number of each pair of letters, -1 if a letter is missing (n, L - gap).

        xs: columns of n sequences (n, L).
        """
        first, second = xs[:, :-gap], xs[:, gap:]
        return np.where(second < self.n_letters, first * self.n_letters + second, -1)  # blanks come after all letters

    def list_features(self, xs: IntArray) -> IntArray:
        """Return the numbers of the features: the values of columns, then the pairs with each gap (n, s).

        xs: columns of n sequences (n, L).

        The number of a pair is -1 if a letter is missing.
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
        """Return a weight for each feature (f,)."""
        of_places = np.repeat(np.broadcast_to(places, self.width), self.n_choices)
        return np.concatenate([of_places, np.repeat(pairs, self.n_letters**2)])


class ChangedFeatures(NamedTuple):
    """Changes of the features of sequences.

    squares: changes of the squared norms of the counts of pairs (g, r).
    """

    growth: scipy.sparse.csr_array
    squares: Array


@CachedByContent
def multiply_pairs(shape: SequenceShape, xs: IntArray, ys: IntArray) -> Array:
    """Return the inner products of the counts of pairs with each gap (g, n, m); the array is only read.

    xs: columns of n sequences (n, L).
    ys: columns of m sequences (m, L).
    """
    found, kinds = np.empty((len(shape.gaps), len(xs), len(ys))), shape.n_letters**2
    for j, gap in enumerate(shape.gaps):
        own, other = (_count_numbers(shape.pair_tokens(one, gap), kinds) for one in (xs, ys))
        found[j] = own @ other.T.toarray(order="C")
    return found


@CachedByContent
def count_features(shape: SequenceShape, ys: IntArray) -> Array:
    """Count the features of sequences (f, m); the array is only read.

    ys: columns of m sequences (m, L).
    """
    return _count_numbers(shape.list_features(ys), shape.n_features).T.toarray(order="C")


@CachedByContent
def square_pairs(shape: SequenceShape, xs: IntArray) -> Array:
    """Return the squared norms of the counts of pairs with each gap (g, n); the array is only read.

    xs: columns of n sequences (n, L).

    Each is a sum over the pairs of a sequence of how often the pair occurs; changes and diagonals need it.
    """
    kinds, found = shape.n_letters**2 + 1, np.empty((len(shape.gaps), len(xs)))  # one more kind for missing letters
    for j, gap in enumerate(shape.gaps):
        numbers = shape.pair_tokens(xs, gap) % kinds
        numbers += kinds * np.arange(len(xs))[:, None]
        counts = np.bincount(numbers.ravel(), minlength=kinds * len(xs))
        if shape.varies:
            counts[kinds - 1 :: kinds] = 0
        found[j] = counts[numbers].sum(axis=1)
    return found


@CachedByContent
def change_features(shape: SequenceShape, before: IntArray, after: IntArray) -> ChangedFeatures:
    """Return the changes of the features."""
    lost, won = shape.list_features(before), shape.list_features(after)
    lost, won = np.where(lost == won, -1, lost), np.where(lost == won, -1, won)
    numbers, signs = np.hstack([lost, won]), np.repeat([-1.0, 1.0], lost.shape[1])
    growth = _count_numbers(numbers, shape.n_features)
    growth.data[:] = np.broadcast_to(signs, numbers.shape)[numbers >= 0]
    # as in changes of one base, most rows before equal the row above them, and are squared once
    is_new = np.concatenate([[True], (before[1:] != before[:-1]).any(axis=1)])[: len(before)]
    squares = square_pairs(shape, before[is_new])[:, np.cumsum(is_new) - 1]
    return ChangedFeatures(growth, square_pairs(shape, after) - squares)


def _count_numbers(numbers: IntArray, n_columns: int) -> scipy.sparse.csr_array:
    """Count the numbers in each row (n, n_columns); negative numbers are ignored.

    numbers: (n, s).

    Repeated numbers are separate entries: products add them up, and nothing is sorted.
    """
    counted = numbers >= 0
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(counted, axis=1))])
    found = numbers[counted]
    return scipy.sparse.csr_array((np.ones(len(found)), found, ends), shape=(len(numbers), n_columns))


def scale_columns(matrix: scipy.sparse.csr_array, weights: Array) -> scipy.sparse.csr_array:
    """Return a matrix (n, f) with each column multiplied by its weight (f,)."""
    scaled = matrix.data * weights[matrix.indices]
    return scipy.sparse.csr_array((scaled, matrix.indices, matrix.indptr), shape=matrix.shape)
