"""All priors obey their laws, and each planted fault breaks one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from bostruct.contracts import Prior
from bostruct.surrogates.hyperparameters import (
    Bounded,
    LogHorseshoe,
    Normal,
    TruncatedNormal,
    bounded_normal,
    match_log_uniform,
)
from bostruct.testing.kernel_laws import check_prior

OURS = [
    (Normal(-5.0, 1.0), -5.0),
    (TruncatedNormal(0.0, 1.0, -1.0, 2.0), 0.5),
    (LogHorseshoe(0.1, -12.0, 4.0), -3.0),
    (Bounded(Normal(0.0, 2.0), -1.0, 1.0), 0.0),
    (bounded_normal(1.0, 0.3), 1.0),
    (match_log_uniform(1e-3, 10.0), 0.0),
]


@pytest.mark.parametrize(("prior", "initial"), OURS)
def test_ours_obey(prior, initial):
    for seed in range(5):
        check_prior(prior, np.random.default_rng(seed), initial)


@dataclass(frozen=True)
class Faulty(Prior):
    """A normal density on [-1, 1], but for one fault."""

    fault: str

    def log_density(self, theta):
        found = Bounded(Normal(0.3, 1.0), -1.0, 1.0).log_density(theta)
        if self.fault == "nan outside" and not math.isfinite(found):
            return math.nan
        if self.fault == "infinite" and abs(theta) > 1.0:
            return math.inf
        if self.fault == "nowhere":
            return -math.inf
        if self.fault == "random":
            return found + np.random.default_rng().random()
        return found

    def value_and_grad(self, theta):
        total, slope = Bounded(Normal(0.3, 1.0), -1.0, 1.0).value_and_grad(theta)
        if self.fault == "averages":
            return total / len(theta), slope / len(theta)
        if self.fault == "turns the slope":
            return total, -slope
        if self.fault == "adds the slopes":
            return total, slope.sum()
        if self.fault == "knows no bounds":
            return Normal(0.3, 1.0).value_and_grad(theta)
        if self.fault == "changes its argument":
            theta += 1.0
        return total, slope


FAULTS = ["nan outside", "infinite", "nowhere", "random", "averages", "turns the slope", "adds the slopes"]
FAULTS += ["knows no bounds", "changes its argument"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_prior_fails(fault):
    with pytest.raises((AssertionError, ValueError)):
        check_prior(Faulty(fault), np.random.default_rng(0))


def test_the_faultless_pass():
    check_prior(Faulty("none"), np.random.default_rng(0))


class Differences(Faulty):
    """A prior without a formula of its gradient."""

    value_and_grad = Prior.value_and_grad


def test_the_default_gradient_passes():
    check_prior(Differences("none"), np.random.default_rng(0))


def test_a_plain_object_is_no_prior():
    with pytest.raises(AssertionError, match=r"expected a bostruct\.contracts\.Prior \(subclass it\), got object"):
        check_prior(object(), np.random.default_rng(0))  # type: ignore[arg-type]
