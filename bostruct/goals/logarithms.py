"""The standard normal distribution far in its tail, and means of exponentials, in logarithms."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx

from bostruct.contracts import Array

LOG_ROOT_2_PI = 0.5 * math.log(2.0 * math.pi)


def log_density(z: Array) -> Array:
    """Return the logarithm of the density of the standard normal distribution, elementwise.

    z: of any shape.
    """
    return -0.5 * z * z - LOG_ROOT_2_PI


def hazard(z: Array) -> Array:
    """Return the density over the distribution function of the standard normal distribution, elementwise.

    Both are 0 far below the mean, where it is close to -z.

    z: of any shape.
    """
    return math.sqrt(2.0 / math.pi) / erfcx(-z / math.sqrt(2.0))


def log_mean_exp(logs: Array) -> Array:
    """Return log(mean(exp(logs))) over the first axis (m,).

    logs: (s, m).
    """
    return np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))
