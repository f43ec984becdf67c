"""All surrogates obey their laws, and each planted fault breaks one."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Surrogate
from bostruct.methods import METHODS, auto, bayesian, combo, nasbot, smac
from bostruct.surrogates.posterior import GaussianPosterior, TrainingMeans
from bostruct.testing.model_laws import check_surrogate
from tests.architectures import SMALL_MLP
from tests.permutations import Described, Distant

SPACE = bo.Space({"a": bool, "b": list("pqr"), "c": range(5), "d": bo.Integer(-3, 3)})
JOINT = bo.joint_domain({"a": SPACE, "b": {"x": range(4)}})


def chain() -> Any:
    return dataclasses.replace(combo(SPACE).surrogate, burn_in=3, samples=3)


OURS = {
    "auto": (SPACE, lambda: auto(SPACE).surrogate),
    "mode": (SPACE, lambda: auto(SPACE).surrogate.surrogate.quiet),
    "combo": (SPACE, chain),
    "forest": (SPACE, lambda: smac(SPACE).surrogate),
    "tokens": (SPACE, lambda: METHODS["smbo"](SPACE).surrogate),
    "networks": (SMALL_MLP, lambda: nasbot(SMALL_MLP).surrogate),
    "joint": (JOINT, lambda: auto(JOINT).surrogate),
    "distances": (Distant(5), lambda: bayesian(Distant(5)).surrogate),
    "features": (Described(5), lambda: bayesian(Described(5)).surrogate),
}


@pytest.mark.parametrize("name", OURS)
def test_ours_obey(name):
    domain, make = OURS[name]
    check_surrogate(make(), domain, np.random.default_rng(0))


class Faulty(Surrogate):
    """A surrogate, but for one fault."""

    def __init__(self, fault: str) -> None:
        self.surrogate, self.fault = auto(SPACE).surrogate, fault
        self.n_calls = 0
        self.kept: list[Any] = []

    def initial_state(self) -> Any:
        return (1, 2) if self.fault == "starts from a tuple" else self.surrogate.initial_state()

    def condition(self, xs: Any, values: Any, state: Any, rng: np.random.Generator) -> Any:
        self.n_calls += 1
        if self.fault == "changes the values":
            values -= values.mean()
        if self.fault == "draws globally":
            np.random.random()  # noqa: NPY002
        told = values
        if self.fault == "remembers":
            told = values + self.n_calls
        if self.fault == "knows objects":
            self.kept.append(xs)  # so that no other object gets its address
            told = values + (id(xs) // 16 % 9_973) / 1_000.0
        if self.fault == "is random":
            told = values + np.random.default_rng([id(rng), self.n_calls]).normal(size=len(values))
        if self.fault == "keeps its own units":
            told = (values - values.mean()) / values.std()
        posterior, after, info = self.surrogate.condition(xs, told, state, rng)
        if self.fault == "changes the state" and state:
            state.append(0.0)
        if self.fault == "keeps an array":
            after = np.zeros(3)
        if self.fault == "records a number of NumPy":
            info = info | {"n": np.int64(3)}
        if self.fault == "records NaN":
            info = info | {"n": np.nan}
        return posterior, after, info


FAULTS = ["starts from a tuple", "changes the values", "draws globally", "remembers", "knows objects", "is random"]
FAULTS += ["keeps its own units", "changes the state", "keeps an array", "records a number of NumPy", "records NaN"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_surrogate_fails(fault):
    with pytest.raises((AssertionError, ValueError)):  # ValueError: NumPy refuses to change the values
        check_surrogate(Faulty(fault), SPACE, np.random.default_rng(0))


class Misled(Faulty):
    """A surrogate that takes unknown noise for none."""

    def with_variances(self, variances: Any) -> Any:
        return self.surrogate.with_variances(np.nan_to_num(variances))


def test_unknown_noise_is_not_taken_for_none():
    with pytest.raises(AssertionError, match="a surrogate with_variances of NaN, unknown noise,"):
        check_surrogate(Misled("none"), SPACE, np.random.default_rng(0))


class Unfit(Faulty):
    """A surrogate whose posterior says that the mean at the points told is another, or says one for any points."""

    def condition(self, xs: Any, values: Any, state: Any, rng: np.random.Generator) -> Any:
        posterior, after, info = self.surrogate.condition(xs, values, state, rng)
        if self.fault == "another mean":
            posterior = dataclasses.replace(
                posterior, training_means=TrainingMeans(xs, posterior.training_means.means + 0.1)
            )
        if self.fault == "any points":
            means = posterior.find_training_means(xs)
            posterior = AnyPoints(**{one.name: getattr(posterior, one.name) for one in dataclasses.fields(posterior)})
            assert posterior.find_training_means(xs) == pytest.approx(means)
        return posterior, after, info


class AnyPoints(GaussianPosterior):
    """A posterior that takes any points for those that it learned from."""

    def find_training_means(self, xs: Any) -> Any:
        del xs  # whatever they are
        return self.shift + self.scale * self.training_means.means if self.training_means else None


@pytest.mark.parametrize(
    ("fault", "law"), [("another mean", "is the mean of predict"), ("any points", "of new points")]
)
def test_the_mean_at_the_points_told_is_that_of_the_prediction(fault, law):
    with pytest.raises(AssertionError, match=f"find_training_means .*{law}"):
        check_surrogate(Unfit(fault), SPACE, np.random.default_rng(0))


class Modest(Faulty):
    """A surrogate that declares no covariances, which its posterior has."""

    has_covariance = False


def test_covariances_are_declared():
    with pytest.raises(AssertionError, match="declares no covariances"):
        check_surrogate(Modest("none"), SPACE, np.random.default_rng(0))


class Careless(Faulty):
    """A surrogate with a fault in what it does at kept hyperparameters, in outputs or in units."""

    @property
    def n_outputs(self) -> Any:
        return 1 if self.fault == "several outputs" else None

    def condition_at(self, xs: Any, values: Any, state: Any) -> Any:
        del state
        rng = np.random.default_rng(0)
        return self.surrogate.condition(xs, values + (self.fault == "another posterior"), None, rng)[0]

    def restore_units(self, prediction: Any, values: Any) -> Any:
        del values
        return prediction._replace(mean=-prediction.mean) if self.fault == "turned over" else prediction


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        ("several outputs", "has n_outputs None"),
        ("another posterior", "condition_at returns the posterior of the fit"),
        ("turned over", "restore_units keeps the order of means"),
    ],
)
def test_overrides_that_disagree_with_the_defaults_fail(fault, law):
    with pytest.raises(AssertionError, match=law):
        check_surrogate(Careless(fault), SPACE, np.random.default_rng(0))
    check_surrogate(Careless("none"), SPACE, np.random.default_rng(0))


def test_the_faultless_pass():
    check_surrogate(Faulty("none"), SPACE, np.random.default_rng(0))
