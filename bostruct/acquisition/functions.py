"""Acquisition functions for minimization, computed from posterior means and variances (s, m)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from bostruct.checks import check_number
from bostruct.contracts import AcquisitionFunction, AcquisitionGradient, Array, Prediction
from bostruct.goals.logarithms import ROOT_2_PI, hazard, log_h, slope_of_log_h

SCORE_ROUNDING = 1e-14  # relative rounding error of a score, added to its upper bound


def _standardize(prediction: Prediction, incumbent: float) -> tuple[Array, Array]:
    sd = np.sqrt(prediction.variance)
    return (incumbent - prediction.mean) / sd, sd


@dataclass(frozen=True)
class ExpectedImprovement(AcquisitionFunction):
    """Expected improvement, E max(incumbent - f, 0), averaged over posterior samples.

    Oh et al. 2019 use the sum over samples, which gives the same ranking.
    """

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        u, sd = _standardize(prediction, incumbent)
        return np.maximum(sd * (np.exp(-0.5 * u * u) / ROOT_2_PI + u * scipy.special.ndtr(u)), 0.0)

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        """Return upper bounds of the score for means at least, and variances at most, as large as predicted (s, m).

        The score grows with the variance and falls with the mean, so it is its own bound except for rounding.
        """
        u, sd = _standardize(prediction, incumbent)
        density, tail = sd * np.exp(-0.5 * u * u) / ROOT_2_PI, sd * u * scipy.special.ndtr(u)
        return np.maximum(density + tail, 0.0) + SCORE_ROUNDING * (density + np.abs(tail))


@dataclass(frozen=True)
class LogExpectedImprovement(AcquisitionFunction):
    """The logarithm of expected improvement, which does not underflow far from the incumbent (Ament et al. 2023)."""

    is_logarithm = True

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        u, sd = _standardize(prediction, incumbent)
        return np.log(sd) + log_h(u)

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        score = self(prediction, incumbent)
        return score + 100.0 * SCORE_ROUNDING * (1.0 + np.abs(score))  # `log_h` has 12 digits

    def value_and_gradient(self, prediction: Prediction, incumbent: float) -> AcquisitionGradient:
        """Return the acquisition value and its derivatives, (s, m) each: log h has the slope Phi / h."""
        u, sd = _standardize(prediction, incumbent)
        log_value = log_h(u)
        slope = slope_of_log_h(u, log_value)
        return AcquisitionGradient(np.log(sd) + log_value, -slope / sd, 0.5 * (1.0 - slope * u) / prediction.variance)


LOG_EI = LogExpectedImprovement()


@dataclass(frozen=True, eq=False)
class LogAugmentedExpectedImprovement(AcquisitionFunction):
    """The logarithm of augmented expected improvement, which prefers points whose values are still informative.

    It is expected improvement times 1 - sqrt(noise / (noise + variance)) (Huang et al. 2006). Close to observed points
    the variance of the objective is small compared with the noise, so that another value is barely informative.

    noise: noise variance of a value, (s, 1) or a number, at least 0, in the user's units squared; if 0, this is the
        logarithm of expected improvement. `Improvement` sets the noise of the posterior.

    Raises TypeError or ValueError for an invalid noise.
    """

    is_logarithm = True
    noise: Array | float = 0.0

    def __post_init__(self) -> None:
        for one in np.ravel(self.noise):
            check_number("noise", one, 0.0)

    def with_noise(self, noise: Array) -> LogAugmentedExpectedImprovement:
        return LogAugmentedExpectedImprovement(noise)

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        return LOG_EI(prediction, incumbent) + np.log(self._share(prediction.variance))

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        """Return upper bounds of the score for means at least, and variances at most, as large as predicted (s, m).

        Both factors grow with the variance, so the score is its own bound except for rounding.
        """
        log_share = np.log(self._share(prediction.variance))
        return LOG_EI.upper_bounds(prediction, incumbent) + log_share + SCORE_ROUNDING * (1.0 - log_share)

    def value_and_gradient(self, prediction: Prediction, incumbent: float) -> AcquisitionGradient:
        value, of_mean, of_variance = LOG_EI.value_and_gradient(prediction, incumbent)
        share = self._share(prediction.variance)
        slope = 0.5 * (1.0 - share) / share / (self.noise + prediction.variance)
        return AcquisitionGradient(value + np.log(share), of_mean, of_variance + slope)

    def _share(self, variance: Array) -> Array:
        """Return 1 - sqrt(noise / total) without a difference, because the quotient may be close to 1."""
        total = self.noise + variance
        return variance / total / (1.0 + np.sqrt(self.noise / total))


@dataclass(frozen=True)
class ProbabilityOfImprovement(AcquisitionFunction):
    """The logarithm of the probability of improvement, log P(f < incumbent - margin).

    Parameters
    ----------
    margin : float, default 0.0
        Required improvement in the user's units, at least 0.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """

    is_logarithm = True
    margin: float = 0.0

    def __post_init__(self) -> None:
        check_number("margin", self.margin, 0.0)

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        return scipy.special.log_ndtr(_standardize(prediction, incumbent - self.margin)[0])

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        """Return 0 if the mean is below incumbent - margin, else the score (s, m).

        Below that, a smaller variance increases the score, up to log 1 = 0. Otherwise the bound is the score plus
        rounding.
        """
        score = self(prediction, incumbent)
        return np.where(prediction.mean < incumbent - self.margin, 0.0, score + SCORE_ROUNDING * (1.0 + np.abs(score)))

    def value_and_gradient(self, prediction: Prediction, incumbent: float) -> AcquisitionGradient:
        """Return the acquisition value and its derivatives, (s, m) each: log Phi has the slope phi / Phi."""
        u, sd = _standardize(prediction, incumbent - self.margin)
        slope = hazard(u)
        return AcquisitionGradient(scipy.special.log_ndtr(u), -slope / sd, -0.5 * slope * u / prediction.variance)


@dataclass(frozen=True)
class LowerConfidenceBound(AcquisitionFunction):
    """The negative lower confidence bound, -(mean - weight * sd): optimism in the face of uncertainty.

    Parameters
    ----------
    weight : float, default 2.0
        Weight of the standard deviation, at least 0.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """

    weight: float = 2.0

    def __post_init__(self) -> None:
        check_number("weight", self.weight, 0.0)

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        return self.weight * np.sqrt(prediction.variance) - prediction.mean

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        score = self(prediction, incumbent)
        return score + SCORE_ROUNDING * (np.abs(score) + 2.0 * np.abs(prediction.mean))
