"""Ridge regression on counts of hashed tokens: the linear surrogate of Negrinho et al. 2019, section 7.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from bostruct.checks import check_integer, check_number
from bostruct.contracts import Array, Batch, Info, Posterior, Prediction, State, Surrogate
from bostruct.surrogates.gaussian import cholesky, inverse_lower
from bostruct.surrogates.hyperparameters import check_values
from bostruct.surrogates.standardization import standardize

Tokens = Callable[[Batch], list[npt.NDArray[np.int64]]]


@dataclass(frozen=True)
class HashedRidge(Surrogate):
    """Ridge regression on counts of hashed tokens (Negrinho et al. 2019, section 7.2), with defaults as published.

    tokens: batch of points -> the 63-bit hashes of each point's features.
    buckets: number of buckets for the hashes, at least 1.
    penalty: factor of the squared weights, for standardized values, at least 1e-12.

    Raises TypeError, ValueError.
    """

    tokens: Tokens
    buckets: int = 2**16
    penalty: float = 1e-5

    def __post_init__(self) -> None:
        check_integer("buckets", self.buckets, 1)
        check_number("penalty", self.penalty, 1e-12)

    @property
    def has_covariance(self) -> bool:
        return False

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[HashedPosterior, State, Info]:
        """Fit the weights, in O(tokens) and O(n u min(n, u)) for tokens in u buckets.

        Returns the posterior, the state for the next call, and the info to record. Raises NumericalError.
        """
        check_values(values)
        counts = Counts.of(self.tokens(xs), self.buckets)
        targets, shift, scale = standardize(values)
        used = np.flatnonzero(np.bincount(counts.buckets, minlength=self.buckets))
        design = counts.design(used, self.buckets)
        weights = np.zeros(self.buckets)
        if is_dual := len(design) < len(used):
            lower, jitter = cholesky((design @ design.T).copy, self.penalty)
            weights[used] = design.T @ scipy.linalg.cho_solve((lower, True), targets, check_finite=False)
        else:
            lower, jitter = cholesky((design.T @ design).copy, self.penalty)
            weights[used] = scipy.linalg.cho_solve((lower, True), design.T @ targets, check_finite=False)
        posterior = HashedPosterior(self, weights, used, lower, design if is_dual else None, shift, scale)
        return posterior, state, {"buckets_used": len(used), "largest_jitter": jitter}


@dataclass(frozen=True, eq=False)
class Counts:
    """Tokens of n points, one point after the other.

    rows: point of each token. buckets: bucket of each token. n: number of points.
    """

    rows: npt.NDArray[np.int64]
    buckets: npt.NDArray[np.int64]
    n: int

    @classmethod
    def of(cls, tokens: list[npt.NDArray[np.int64]], buckets: int) -> Counts:
        """Return the tokens of several points in one sequence, each hash reduced to its bucket.

        buckets: number of buckets, at least 1.
        """
        lengths = [len(own) for own in tokens]
        joined = np.concatenate(tokens) if tokens else np.zeros(0, dtype=np.int64)
        return cls(np.repeat(np.arange(len(tokens)), lengths), joined % buckets, len(tokens))

    def design(self, used: npt.NDArray[np.int64], buckets: int) -> Array:
        """Count the tokens of each point in some buckets (n, u).

        buckets: number of all buckets.
        """
        place = np.full(buckets, len(used))
        place[used] = np.arange(len(used))
        width = len(used) + 1
        cells = np.bincount(self.rows * width + place[self.buckets], minlength=self.n * width)
        return cells.reshape(self.n, width)[:, :-1].astype(np.float64)


@dataclass(frozen=True, eq=False)
class HashedPosterior(Posterior):
    """The posterior of the linear function of token counts.

    design: counts of each point in each used bucket (n, u) if n < u, otherwise None.
    shift, scale: a standardized value is shift + scale * value in the user's units.
    """

    model: HashedRidge
    weights: Array
    used: npt.NDArray[np.int64]
    lower: Array
    design: Array | None
    shift: float
    scale: float

    def predict(self, xs: Batch) -> Prediction:
        """Return mean and variance of the linear function, (1, m) each, for a prior variance of 1 of each weight."""
        counts = Counts.of(self.model.tokens(xs), self.model.buckets)
        cells, repeats = np.unique(counts.rows * self.model.buckets + counts.buckets, return_counts=True)
        prior = np.bincount(cells // self.model.buckets, weights=np.square(repeats.astype(float)), minlength=counts.n)
        design = counts.design(self.used, self.model.buckets)
        spread = np.square(self._white @ design.T).sum(axis=0)
        if self.design is None:
            left = prior - np.square(design).sum(axis=1) + self.model.penalty * spread
        else:
            left = prior - spread
        return Prediction(self._mean(counts), self.scale**2 * np.maximum(left, 1e-12)[None])

    def screen(self, xs: Batch) -> Prediction:
        """Return the mean, in O(tokens) per point, and a bound of the variance: its prior if all tokens are equal."""
        counts = Counts.of(self.model.tokens(xs), self.model.buckets)
        lengths = np.bincount(counts.rows, minlength=counts.n).astype(np.float64)
        return Prediction(self._mean(counts), self.scale**2 * np.square(lengths)[None] + 1e-12)

    @cached_property
    def _white(self) -> Array:
        """The inverse of the factor, times the design if any; only variances need it."""
        inverse = inverse_lower(self.lower)
        return inverse if self.design is None else inverse @ self.design

    def _mean(self, counts: Counts) -> Array:
        total = np.bincount(counts.rows, weights=self.weights[counts.buckets], minlength=counts.n)
        return np.asarray((self.shift + self.scale * total)[None], dtype=np.float64)
