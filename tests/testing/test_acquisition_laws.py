"""All acquisition functions obey their laws, and each planted fault breaks one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bostruct.acquisition.functions import LowerConfidenceBound, ProbabilityOfImprovement
from bostruct.contracts import AcquisitionFunction, Array, Prediction
from bostruct.testing.acquisition_laws import check_acquisition
from tests.acquisition.test_functions import ALL


@pytest.mark.parametrize("acquisition", ALL, ids=str)
def test_ours_obey(acquisition):
    for seed in range(5):
        check_acquisition(acquisition, np.random.default_rng(seed))


@dataclass(frozen=True)
class Faulty(AcquisitionFunction):
    """An acquisition function, but for one fault."""

    one: Any
    fault: str

    @property
    def is_logarithm(self) -> Any:
        if self.fault == "truthy":
            return int(self.one.is_logarithm)
        return self.one.is_logarithm != (self.fault == "calls a logarithm plain")

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        found = self.one(prediction, incumbent)
        if self.fault == "maximizes":
            return self.one(Prediction(-prediction.mean, prediction.variance), -incumbent)
        if self.fault == "turns the incumbent":
            return self.one(prediction, -incumbent)
        if self.fault == "averages at once":
            return found.mean(axis=0)
        if self.fault == "standardizes":
            return found - found.mean(axis=1, keepdims=True)
        if self.fault == "changes its argument":
            prediction.variance[:] = 1.0
        if self.fault == "not a number":
            return np.where(found < np.median(found), np.nan, found)
        return found

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        found = self.one.upper_bounds(prediction, incumbent)
        if self.fault == "bounds too low":
            return found - 1e-6 * np.abs(found)
        if self.fault == "bounds the mean alone":
            return self.one.upper_bounds(Prediction(prediction.mean, np.full_like(found, 0.005)), incumbent)
        if self.fault == "takes the worth for the bound":
            return self.one(prediction, incumbent)
        return found

    def average(self, scores: Array) -> Array:
        if self.fault == "adds":
            return scores.sum(axis=0)
        if self.fault == "takes the first":
            return scores[0]
        if self.fault == "takes the largest":
            return scores.max(axis=0)
        if self.fault == "averages logarithms":
            return scores.mean(axis=0)
        return self.one.average(scores)


PLAIN = ["truthy", "maximizes", "averages at once", "standardizes", "changes its argument", "not a number"]
PLAIN += ["bounds too low", "bounds the mean alone", "adds", "takes the first", "takes the largest"]
OF_LOGARITHMS = [
    "turns the incumbent",
    "averages logarithms",
    "calls a logarithm plain",
    "takes the worth for the bound",
]


@pytest.mark.parametrize("fault", PLAIN)
def test_a_faulty_bound_of_confidence_fails(fault):
    with pytest.raises(AssertionError, match=r"^Faulty breaks the law: "):
        check_acquisition(Faulty(LowerConfidenceBound(), fault), np.random.default_rng(0))


@pytest.mark.parametrize("fault", PLAIN + OF_LOGARITHMS)
def test_a_faulty_probability_fails(fault):
    with pytest.raises(AssertionError, match=r"^Faulty breaks the law: "):
        check_acquisition(Faulty(ProbabilityOfImprovement(), fault), np.random.default_rng(0))


@pytest.mark.parametrize("one", [LowerConfidenceBound(), ProbabilityOfImprovement()])
def test_the_faultless_pass(one):
    check_acquisition(Faulty(one, "none"), np.random.default_rng(0))


@dataclass(frozen=True)
class NoPruning(LowerConfidenceBound):
    """A bound that prunes nothing."""

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        del incumbent
        return np.full(prediction.mean.shape, np.inf)


@dataclass(frozen=True)
class Level(AcquisitionFunction):
    """The worth of knowing where the objective crosses a level; its bound need not grow with the variance's."""

    level: float = 0.0
    is_logarithm: bool = False

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        del incumbent
        return 1.96 * np.sqrt(prediction.variance) - np.abs(prediction.mean - self.level)

    def upper_bounds(self, prediction: Prediction, incumbent: float) -> Array:
        del incumbent
        return 1.96 * np.sqrt(prediction.variance) - np.maximum(prediction.mean - self.level, 0.0) + 1e-9

    def average(self, scores: Array) -> Array:
        return scores.mean(axis=0)


@dataclass(frozen=True)
class Deaf(LowerConfidenceBound):
    """A function that is none once it knows the noise, or is a logarithm then."""

    fault: str = ""

    def with_noise(self, noise: Array) -> Any:
        return ProbabilityOfImprovement() if self.fault == "another scale" else noise


@pytest.mark.parametrize("fault", ["none", "another scale"])
def test_a_function_of_noise_is_a_function_on_the_same_scale(fault):
    with pytest.raises(AssertionError, match=r"^Deaf breaks the law: .*with_noise"):
        check_acquisition(Deaf(1.0, fault), np.random.default_rng(0))


def test_a_bound_may_be_infinite():
    check_acquisition(NoPruning(), np.random.default_rng(0))


def test_a_level_set_is_honest_once_it_says_what_it_looks_for():
    check_acquisition(Level(), np.random.default_rng(0), minimizes=False)
    with pytest.raises(
        AssertionError, match=r"^Level breaks the law: a lower mean never decreases .* \(minimizes=False for"
    ):
        check_acquisition(Level(), np.random.default_rng(0))
    with pytest.raises(
        AssertionError, match=r"^Faulty breaks the law: upper_bounds .* never below the value.*: expected at least"
    ):
        check_acquisition(Faulty(Level(), "takes the worth for the bound"), np.random.default_rng(0), minimizes=False)


def test_a_worth_of_another_form_is_named():
    with pytest.raises(
        AssertionError, match=r"^Faulty breaks the law: an acquisition value is \(s, m\): expected 2 dimensions, got"
    ):
        check_acquisition(Faulty(LowerConfidenceBound(), "averages at once"), np.random.default_rng(0))
