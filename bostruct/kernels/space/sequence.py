"""Sequences of letters: how far apart two of them are, as a factor of the product and as a linear effect.

Problems differ in what counts: which letter stands in which place, or which letters stand together, wherever that is.
So there is a distance for each place, and one for each of a few gaps between two letters, that of the numbers of all
pairs of letters with this gap (the spectrum kernel of Leslie et al. 2002, with gaps). Where the length varies it is one
more. Each has a lengthscale of its own, so that data tell which of them count. A letter that is put in moves all places
behind it, and changes few pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.kernels.space.complete import CompleteFactor, CompletePair
from bostruct.kernels.space.effects import EffectKernel
from bostruct.kernels.space.factor import Factor, VariableChanges
from bostruct.kernels.space.incremental import count_disagreements
from bostruct.kernels.space.letter_features import (
    ChangedFeatures,
    SequenceShape,
    change_features,
    count_features,
    multiply_pairs,
    scale_columns,
    square_pairs,
)
from bostruct.kernels.space.links import LogLengthscale, compute_rates

PAIR_SCALE = 0.25  # of a squared difference of counts: a letter that is another one changes four counts by one


class SequencePair(NamedTuple):
    """Two batches of points as the factor compares them.

    places: what the factor of places made of them.
    counts: the distances by pairs of letters, and by length where it varies, those of the first variable first
        (g c, n, m).
    """

    places: CompletePair
    counts: Array


class SequenceChanges(NamedTuple):
    """Changes of sequences, compared with m points y.

    shape: (r, m).
    parts: of each variable that changes, its position, the rows of its changes, how features change in these, the
        counts of the features of y (f, m), and how the squared distances by length grow (k, m), None for one length.
    """

    shape: tuple[int, int]
    parts: tuple[tuple[int, IntArray, ChangedFeatures, Array, Array | None], ...]


@dataclass(frozen=True)
class SequenceFactor(Factor):
    """The factor exp(-sum_j D_j / (2 l_j^2)) of sequences of one shape, with lengthscales l_j.

    D_j is 1 where two sequences differ in place j; then, for each gap, a quarter of the squared Euclidean distance
    between the numbers of pairs of letters with this gap; last, where lengths vary, the squared difference of lengths,
    which is 10 between the ends of their range. Each variable has the logarithms of l_j as its parameters.

    shape: of each variable.
    n_variables: c, each with L columns.
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
        slopes = np.empty(len(theta))
        slopes[self._of_places] = self._places.gradient(theta[self._of_places], prepared.places, weighted)
        own = 2.0 * compute_rates(theta[self._of_counts])
        slopes[self._of_counts] = own * np.tensordot(prepared.counts, weighted, 2)
        return slopes

    def line(
        self, i: int, theta: Array, prepared: SequencePair, gram: Array, *, carried: bool
    ) -> Callable[[float], Array]:
        place = self._find_place(i)
        if place is not None:
            return self._places.line(place, theta[self._of_places], prepared.places, gram, carried=carried)
        apart = prepared.counts[int(np.searchsorted(self._of_counts, i))]
        now = float(compute_rates(theta)[i]) if carried else 0.0
        return lambda t: gram * np.exp((now - float(compute_rates(np.array(t)))) * apart)

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
        """Return which of all places a parameter is of, None for one of pairs."""
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


@dataclass(frozen=True)
class SequenceEffect(EffectKernel):
    """The linear effect of a sequence: the mean of one of its places and of one of its pairs of letters for each gap.

    So sums over places, over letters and over steps from a letter to another are functions that it learns from few
    values. Each of the effects is 0 on average between sequences of full length drawn at random, and about 1 between
    equal ones.

    shape: of the sequences.
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
        """Return the effect of the places, of the number of places that agree."""
        return (agree - self.shape.width / self.shape.n_choices) / self._spread

    def _center_pairs(self, gap: int, products: Array, counted: Array) -> Array:
        """Return the effect of pairs, of the product of their counts and the number of all pairs in both sequences."""
        places, kinds = self.shape.width - gap, self.shape.n_letters**2
        mean = places / kinds  # of a count
        return (products - mean * counted + mean * mean * kinds) / (places * (1.0 - 1.0 / kinds))

    def _count_all(self, xs: IntArray) -> Array:
        """Return the number of all pairs with each gap (g, n)."""
        lengths = np.count_nonzero(xs < self.shape.n_letters, axis=1)
        return np.maximum(lengths - np.array(self.shape.gaps)[:, None], 0).astype(np.float64)

    @property
    def _spread(self) -> float:
        return self.shape.width * (1.0 - 1.0 / self.shape.n_choices)
