"""Logarithms of the standard normal distribution, far into its tail, and of means of exponentials."""

from __future__ import annotations

import math

import numpy as np
import scipy

from bostruct.contracts import Array

ROOT_2_PI = math.sqrt(2.0 * math.pi)
LOG_ROOT_2_PI = 0.5 * math.log(2.0 * math.pi)
SERIES_FROM = -20.0  # below, an asymptotic series has more digits than a difference
TERMS = 13


def log_density(z: Array) -> Array:
    """Return the logarithm of the density of the standard normal distribution, elementwise."""
    return -0.5 * z * z - LOG_ROOT_2_PI


def hazard(z: Array) -> Array:
    """Return the density over the distribution function of the standard normal distribution, elementwise.

    Far below the mean both underflow to 0; the quotient is close to -z.
    """
    return math.sqrt(2.0 / math.pi) / scipy.special.erfcx(-z / math.sqrt(2.0))


def log_mean_exp(logs: Array) -> Array:
    """Return log(mean(exp(logs))) over the first axis (m,).

    logs: (s, m).
    """
    return np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))


def log_h(u: Array) -> Array:
    """Return log(phi(u) + u Phi(u)) to at least 12 digits for any u (Ament et al. 2023, equation 9)."""
    out = np.empty_like(u)
    near, far = u > -1.0, u < SERIES_FROM
    between = ~near & ~far
    v = u[near]
    out[near] = np.log(np.exp(-0.5 * v * v) / ROOT_2_PI + v * scipy.special.ndtr(v))
    v = u[between]
    remainder = 1.0 + math.sqrt(math.pi / 2.0) * v * scipy.special.erfcx(-v / math.sqrt(2.0))
    out[between] = log_density(v) + np.log(remainder)
    v = u[far]
    out[far] = log_density(v) + np.log(_remainder(v))
    return out


def slope_of_log_h(u: Array, log_value: Array) -> Array:
    """Return the derivative Phi / h of log h; far in the tail the difference of two logarithms has no digits.

    log_value: `log_h` of u.
    """
    slope = np.exp(scipy.special.log_ndtr(u) - log_value)
    far = u < SERIES_FROM
    remainder = _remainder(u[far])
    slope[far] = (remainder - 1.0) / u[far] / remainder
    return slope


def _remainder(v: Array) -> Array:
    """Return 1 + v Phi(v) / phi(v) as 1 / v^2 - 3 / v^4 + 15 / v^6 - ...; the sum itself would lose digits."""
    square = 1.0 / (v * v)
    total = np.ones_like(v)
    for k in range(TERMS, 0, -1):
        total = 1.0 - (2 * k + 1) * square * total
    return square * total
