"""Acquisition functions, for minimisation, on posterior means and variances (s, m)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from bostruct.checks import check_number
from bostruct.contracts import Array, Prediction

ROOT_2_PI = math.sqrt(2.0 * math.pi)


def _standardized(prediction: Prediction, incumbent: float) -> tuple[Array, Array]:
    sd = np.sqrt(prediction.variance)
    return (incumbent - prediction.mean) / sd, sd


def log_h(u: Array) -> Array:
    """log(phi(u) + u Phi(u)), to full precision in the tail (Ament et al. 2023, equation 9)."""
    out = np.empty_like(u)
    near = u > -1.0
    v = u[near]
    out[near] = np.log(np.exp(-0.5 * v * v) / ROOT_2_PI + v * ndtr(v))
    v = u[~near]
    # u Phi(u) / phi(u) = -sqrt(pi / 2) |u| erfcx(|u| / sqrt 2), which loses all digits to 1 beyond |u| ~ 1e5
    remainder = np.where(
        v > -1e4, 1.0 - math.sqrt(math.pi / 2.0) * -v * erfcx(-v / math.sqrt(2.0)), 1.0 / np.square(np.minimum(v, -1.0))
    )
    out[~near] = -0.5 * v * v - math.log(ROOT_2_PI) + np.log(remainder)
    return out


def log_mean_exp(scores: Array) -> Array:
    """Logarithm of the average of what the scores are logarithms of: (s, m) -> (m,)."""
    return np.logaddexp.reduce(scores, axis=0) - math.log(len(scores))


@dataclass(frozen=True)
class ExpectedImprovement:
    """E max(incumbent - f, 0), averaged over samples (Oh et al. 2019 sum it, which orders points alike)."""

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        u, sd = _standardized(prediction, incumbent)
        return np.maximum(sd * (np.exp(-0.5 * u * u) / ROOT_2_PI + u * ndtr(u)), 0.0)

    def bound(self, prediction: Prediction, incumbent: float) -> Array:
        return self(prediction, incumbent)  # grows with the variance, falls with the mean

    def average(self, scores: Array) -> Array:
        return scores.mean(axis=0)


@dataclass(frozen=True)
class LogExpectedImprovement:
    """The logarithm of `ExpectedImprovement`, which does not underflow far from the incumbent (Ament et al. 2023)."""

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        u, sd = _standardized(prediction, incumbent)
        return np.log(sd) + log_h(u)

    def bound(self, prediction: Prediction, incumbent: float) -> Array:
        return self(prediction, incumbent)

    def average(self, scores: Array) -> Array:
        return log_mean_exp(scores)


@dataclass(frozen=True)
class ProbabilityOfImprovement:
    """log P(f < incumbent - margin); margin in the user's units, at least 0."""

    margin: float = 0.0

    def __post_init__(self) -> None:
        check_number("margin", self.margin, 0.0)

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        return log_ndtr(_standardized(prediction, incumbent - self.margin)[0])

    def bound(self, prediction: Prediction, incumbent: float) -> Array:
        """Where the mean is below the incumbent a smaller variance only helps, up to certainty."""
        return np.where(prediction.mean < incumbent - self.margin, 0.0, self(prediction, incumbent))

    def average(self, scores: Array) -> Array:
        return log_mean_exp(scores)


@dataclass(frozen=True)
class LowerConfidenceBound:
    """-(mean - weight * sd): optimism in the face of uncertainty; weight at least 0."""

    weight: float = 2.0

    def __post_init__(self) -> None:
        check_number("weight", self.weight, 0.0)

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        del incumbent  # optimism needs none
        return self.weight * np.sqrt(prediction.variance) - prediction.mean

    def bound(self, prediction: Prediction, incumbent: float) -> Array:
        return self(prediction, incumbent)

    def average(self, scores: Array) -> Array:
        return scores.mean(axis=0)
