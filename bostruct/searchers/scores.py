"""Scores, all that a maximizer sees of the model: an acquisition function of a posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from bostruct.contracts import Acquisition, Array, Batch, Posterior, Score


@dataclass(frozen=True, eq=False)
class AcquisitionScore:
    """The score of a point by an acquisition function of the posterior there, averaged over posterior samples.

    posterior: predicts the objective.
    acquisition: the worth of a prediction, larger is better.
    incumbent: the value to improve on, in the user's units.
    """

    posterior: Posterior
    acquisition: Acquisition
    incumbent: float

    def __call__(self, xs: Batch) -> Array:
        """Return the score of each of m points (m,)."""
        return self.acquisition.average(self.acquisition(self.posterior.predict(xs), self.incumbent))

    def upper_bounds(self, xs: Batch) -> Array:
        """Return bounds never below the score, without the O(n^2) cost of a variance (m,).

        xs: m points.
        """
        return self.acquisition.average(self.acquisition.upper_bounds(self.posterior.screen(xs), self.incumbent))


@dataclass(frozen=True, eq=False)
class FeasibleScore:
    """A score times the chance of success, as logarithms (Gelbart et al. 2014, on regressed labels).

    score: the logarithm of an acquisition.
    success: posterior of a label that is 1 where points succeed, 0 where they fail; the chance of success is the chance
        that the label exceeds a half.
    """

    score: Score
    success: Posterior

    def __call__(self, xs: Batch) -> Array:
        """Return the score of each of m points (m,)."""
        label = self.success.predict(xs)
        chances = log_ndtr((label.mean - 0.5) / np.sqrt(label.variance))
        return self.score(xs) + np.logaddexp.reduce(chances, axis=0) - math.log(len(chances))

    def upper_bounds(self, xs: Batch) -> Array:
        return self.score.upper_bounds(xs)  # a chance is at most 1, its logarithm at most 0
