"""Priors of mean, amplitude and noise after the released NASBOT code (Kandasamy et al. 2018).

Its ranges are log-uniform. Here each is a normal density with the mean and the variance of that range, so that a chain
may start anywhere and data may outvote the range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Array, HasSlope
from bostruct.surrogates.hyperparameters import LevelPriors
from bostruct.surrogates.priors import Normal

NOISE_SHARES = (0.005, 0.2)  # of the variance of the values
AMPLITUDE_SHARES = (0.02, 200.0)  # two amplitudes of 0.01 to 100 each, added
REACH = 50.0  # of a logarithm, from the mean of its prior
MEAN_REACH = 0.1  # standard deviations of the values around their median, where the released code has the mean


@dataclass(frozen=True)
class Within:
    """Another density on [low, high], beyond which exponentials overflow."""

    prior: HasSlope
    low: float
    high: float

    def log_density(self, theta: float) -> float:
        return self.prior.log_density(theta) if self.low <= theta <= self.high else -math.inf

    def total_and_slope(self, theta: Array) -> tuple[float, Array]:
        """The slope is that of the density itself, outside too, where the total is -inf."""
        total, slope = self.prior.total_and_slope(theta)
        inside = bool(np.all((self.low <= theta) & (theta <= self.high)))
        return (total if inside else -math.inf), slope


def around(mean: float, sd: float) -> Within:
    """A normal density, of a logarithm, cut off far away."""
    return Within(Normal(mean, sd), mean - REACH, mean + REACH)


def log_range(low: float, high: float) -> Within:
    """Of a logarithm: the normal density as wide as the uniform one between those of low and high."""
    return around(0.5 * math.log(low * high), math.log(high / low) / math.sqrt(12.0))


def nasbot_priors(values: Array) -> LevelPriors:
    """From values (n,); for values that are all equal, as if their variance were 1."""
    variance = float(np.var(values)) or 1.0
    amplitude, noise = (log_range(low * variance, high * variance) for low, high in (AMPLITUDE_SHARES, NOISE_SHARES))
    return LevelPriors(Normal(float(np.median(values)), MEAN_REACH * math.sqrt(variance)), amplitude, noise)
