"""Posteriors and scores with closed forms, and a domain in which nothing can change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bostruct.contracts import Array, Batch, DomainError, Posterior, Prediction, Score


@dataclass(eq=False)
class TablePosterior(Posterior):
    """A mean and a variance for each point of a small space, (size,) each, in the order of `Space.enumerate`.

    optimism: by how much `screen` lowers the mean and raises the variance of each point.
    """

    n_choices: Array
    mean: Array
    variance: Array
    optimism: Array

    def predict(self, xs: Batch) -> Prediction:
        at = self._index(xs)
        return Prediction(self.mean[at][None], self.variance[at][None])

    def screen(self, xs: Batch) -> Prediction:
        at = self._index(xs)
        return Prediction((self.mean - self.optimism)[at][None], (self.variance + self.optimism)[at][None])

    def believe(self, xs: Batch) -> TablePosterior:
        if not len(xs):
            return self
        variance = self.variance.copy()
        variance[self._index(xs)] = 1e-12
        return TablePosterior(self.n_choices, self.mean, variance, self.optimism)

    def _index(self, xs: Batch) -> Array:
        return np.ravel_multi_index(np.asarray(xs).T, tuple(self.n_choices))


@dataclass(eq=False)
class TableScore(Score):
    """A score for each point, and a bound that is never below it; counts the points scored."""

    n_choices: Array
    scores: Array
    slack: Array
    scored: list[int] = field(default_factory=list)

    @classmethod
    def draw(cls, n_choices: Array, rng: np.random.Generator) -> TableScore:
        """Draw the score of each point from the standard normal distribution; the bounds are the scores."""
        size = int(np.prod(n_choices))
        return cls(n_choices, rng.normal(size=size), np.zeros(size))

    def __call__(self, xs: Batch) -> Array:
        at = np.ravel_multi_index(np.asarray(xs).T, tuple(self.n_choices))
        self.scored += at.tolist()
        return self.scores[at]

    def upper_bounds(self, xs: Batch) -> Array:
        at = np.ravel_multi_index(np.asarray(xs).T, tuple(self.n_choices))
        return (self.scores + self.slack)[at]


@dataclass(frozen=True, eq=False)
class Unpruned(Score):
    """Another score, scored in full wherever it is asked: its bound says nothing."""

    score: object

    def __call__(self, xs: Batch) -> Array:
        return self.score(xs)  # type: ignore[operator]

    def upper_bounds(self, xs: Batch) -> Array:
        return np.full(len(xs), np.inf)


class StuckDomain:
    """A domain whose every point is the only one."""

    def __init__(self, domain: Any) -> None:
        self.keys, self.join, self.take, self.encodings = domain.keys, domain.join, domain.take, domain.encodings
        self.sample_unseen = domain.sample_unseen

    def mutate(self, x: Any, rng: np.random.Generator) -> Any:
        del x, rng
        raise DomainError("no valid change")
