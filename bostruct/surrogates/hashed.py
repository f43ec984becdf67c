"""Ridge regression on counts of hashed tokens: the linear surrogate of Negrinho et al. 2019, section 7.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve

from bostruct.checks import check_integer, check_number
from bostruct.contracts import Array, Batch, Info, Prediction, State
from bostruct.surrogates.gaussian import factor, inverse_lower
from bostruct.surrogates.hyperparameters import check_values

Tokens = Callable[[Batch], list[npt.NDArray[np.int64]]]


@dataclass(frozen=True)
class HashedRidge:
    """tokens: 63-bit hashes of each point of a batch. buckets: that they fall into; penalty: of squared weights, on
    standardised values. Defaults as published. Raises TypeError, ValueError.
    """

    tokens: Tokens
    buckets: int = 2**16
    penalty: float = 1e-5

    def __post_init__(self) -> None:
        check_integer("buckets", self.buckets, 1)
        check_number("penalty", self.penalty, 1e-12)

    def initial_state(self) -> State:
        return None

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[HashedPosterior, State, Info]:
        """In the dual: O(n^2) tokens and O(n^3), free of the number of buckets; n points, values (n,)."""
        del rng  # there is nothing to draw
        check_values(values)
        counts = Counts.of(self.tokens(xs), self.buckets)
        shift, scale = float(np.mean(values)), float(np.std(values)) or 1.0
        used, place = np.unique(counts.buckets, return_inverse=True)
        cells = np.bincount(counts.rows * len(used) + place, minlength=len(counts) * len(used))
        design = cells.reshape(len(counts), len(used)).astype(np.float64)
        lower, jitter = factor((design @ design.T).copy, self.penalty)
        weights = np.zeros(self.buckets)
        weights[used] = design.T @ cho_solve((lower, True), (values - shift) / scale, check_finite=False)
        posterior = HashedPosterior(self, weights, used, lower, design, shift, scale)
        return posterior, state, {"buckets_used": len(used), "largest_jitter": jitter}


@dataclass(frozen=True, eq=False)
class Counts:
    """Tokens of n points, one after the other: the row and the bucket of each."""

    rows: npt.NDArray[np.int64]
    buckets: npt.NDArray[np.int64]
    n: int

    @classmethod
    def of(cls, tokens: list[npt.NDArray[np.int64]], buckets: int) -> Counts:
        lengths = [len(own) for own in tokens]
        joined = np.concatenate(tokens) if tokens else np.zeros(0, dtype=np.int64)
        return cls(np.repeat(np.arange(len(tokens)), lengths), joined % buckets, len(tokens))

    def __len__(self) -> int:
        return self.n


@dataclass(frozen=True, eq=False)
class HashedPosterior:
    """weights: of each bucket. used: buckets that training points fall into. design: of the training points over these
    (n, u); lower: the Cholesky factor of its penalised Gram matrix.
    """

    model: HashedRidge
    weights: Array
    used: npt.NDArray[np.int64]
    lower: Array
    design: Array
    shift: float
    scale: float

    def predict(self, xs: Batch) -> Prediction:
        """Mean and variance of the linear function (1, m), that of the prior over the weights being 1."""
        counts = Counts.of(self.model.tokens(xs), self.model.buckets)
        cells, repeats = np.unique(counts.rows * self.model.buckets + counts.buckets, return_counts=True)
        rows, buckets = np.divmod(cells, self.model.buckets)
        prior = np.bincount(rows, weights=repeats.astype(np.float64) ** 2, minlength=counts.n)
        design = np.zeros((counts.n, len(self.used)))
        place = np.searchsorted(self.used, buckets)
        place[place == len(self.used)] = 0
        seen = self.used[place] == buckets
        design[rows[seen], place[seen]] = repeats[seen]
        left = prior - np.square(self._white @ design.T).sum(axis=0)
        return Prediction(self._mean(counts), self.scale**2 * np.maximum(left, 1e-12)[None])

    def screen(self, xs: Batch) -> Prediction:
        """The mean in O(tokens) a point, and a bound of its variance: that of the prior were all tokens one."""
        counts = Counts.of(self.model.tokens(xs), self.model.buckets)
        lengths = np.bincount(counts.rows, minlength=counts.n).astype(np.float64)
        return Prediction(self._mean(counts), self.scale**2 * np.square(lengths)[None] + 1e-12)

    def believe(self, xs: Batch) -> HashedPosterior:
        """A mean that is told exactly moves no weight; the variances here do not shrink for it."""
        del xs
        return self

    @cached_property
    def _white(self) -> Array:
        """The whitened design, which variances alone need."""
        return inverse_lower(self.lower) @ self.design

    def _mean(self, counts: Counts) -> Array:
        total = np.bincount(counts.rows, weights=self.weights[counts.buckets], minlength=counts.n)
        return np.asarray((self.shift + self.scale * total)[None], dtype=np.float64)
