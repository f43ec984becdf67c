"""What a maximizer sees of the model: an acquisition function of a posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from bostruct.contracts import Acquisition, Array, Batch, Posterior, Score


@dataclass(frozen=True, eq=False)
class AcquisitionScore:
    """`Score` of a point: what the posterior predicts there is worth to somebody who holds the incumbent."""

    posterior: Posterior
    acquisition: Acquisition
    incumbent: float

    def __call__(self, xs: Batch) -> Array:
        """(m,)"""
        return self.acquisition.average(self.acquisition(self.posterior.predict(xs), self.incumbent))

    def upper_bounds(self, xs: Batch) -> Array:
        """Never below the score, and without the O(n^2) of a variance; (m,)."""
        return self.acquisition.average(self.acquisition.upper_bounds(self.posterior.screen(xs), self.incumbent))


@dataclass(frozen=True, eq=False)
class FeasibleScore:
    """score: the logarithm of an acquisition. success: posterior of a label that is 1 where points succeed, 0 where
    they fail; the chance of success is the chance that it exceeds a half (Gelbart et al. 2014, on regressed labels).
    """

    score: Score
    success: Posterior

    def __call__(self, xs: Batch) -> Array:
        """(m,)"""
        label = self.success.predict(xs)
        chances = log_ndtr((label.mean - 0.5) / np.sqrt(label.variance))
        return self.score(xs) + np.logaddexp.reduce(chances, axis=0) - math.log(len(chances))

    def upper_bounds(self, xs: Batch) -> Array:
        return self.score.upper_bounds(xs)  # a chance is at most 1, its logarithm at most 0
