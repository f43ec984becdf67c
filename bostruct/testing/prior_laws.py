"""The laws of a prior, and of its gradient."""

from __future__ import annotations

import math

import numpy as np

from bostruct.checks import check_part
from bostruct.contracts import Array, Prior
from bostruct.testing.common import assert_close, check_defaults, names_part

STEP = 1e-5  # of central differences


@names_part
def check_prior(prior: Prior, rng: np.random.Generator, initial: float = 0.0, reach: float = 3.0) -> None:
    """Check every law of a prior, and of its gradient; raise AssertionError.

    prior: any.
    rng: draws parameters.
    initial: a parameter inside the support, such as that of `Parameter.initial`.
    reach: how far parameters are drawn from it, above 0.
    """
    check_part("prior", prior, Prior)
    theta = initial + rng.uniform(-reach, reach, 12)
    densities = np.array([prior.log_density(float(one)) for one in theta])
    assert math.isfinite(prior.log_density(initial)), f"log_density is finite at the initial value, {initial}"
    assert not np.any(np.isnan(densities) | (densities == np.inf)), "log_density is a number, or -inf"
    assert [prior.log_density(float(one)) for one in theta] == densities.tolist(), "log_density is a function"
    inside = np.append(theta[[_is_inside(prior, float(one)) for one in theta]], initial)
    _check_gradient(prior, inside)
    if not np.all(np.isfinite(densities)):
        total, _ = prior.value_and_grad(theta)
        assert total == -np.inf, "value_and_grad returns -inf where a parameter is outside the support"
    largest = float(np.max(np.abs(Prior.value_and_grad(prior, inside)[1][:-1]), initial=0.0))
    calls = {"value_and_grad": lambda own: [np.array(own(inside)[0]), own(inside)[1][:-1]]}
    check_defaults(prior, Prior, calls, 1e-5 * (1.0 + largest))


def _is_inside(prior: Prior, theta: float) -> bool:
    return all(math.isfinite(prior.log_density(theta + step)) for step in (-2 * STEP, 0.0, 2 * STEP))


def _check_gradient(prior: Prior, theta: Array) -> None:
    theta.flags.writeable = False
    total, slope = prior.value_and_grad(theta)
    shape = np.shape(slope)
    assert shape == theta.shape, f"value_and_grad returns a gradient (k,): expected {theta.shape}, got {shape}"
    expected = math.fsum(prior.log_density(float(one)) for one in theta)
    rounding = 1e-9 * (1.0 + abs(expected))
    assert_close(total, expected, rounding, "value_and_grad returns the sum of the log densities")
    ahead, behind = (np.array([prior.log_density(float(t) + step) for t in theta]) for step in (STEP, -STEP))
    numeric = (ahead - behind) / (2.0 * STEP)
    rounding = 1e-5 * (1.0 + float(np.max(np.abs(numeric))))
    assert_close(slope[:-1], numeric[:-1], rounding, "the gradient of value_and_grad is the slope of log_density")
