"""Each planted fault of a posterior breaks a law; ours are checked with their surrogates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Posterior, Prediction
from bostruct.methods import auto
from bostruct.testing.model_laws import check_posterior

SPACE = bo.Space({"a": bool, "b": list("pqr"), "c": range(5), "d": bo.Integer(-3, 3)})


@pytest.fixture(scope="module")
def posterior() -> Any:
    rng = np.random.default_rng(0)
    xs = SPACE.sample(9, rng)
    return auto(SPACE).surrogate.condition(xs, 40.0 * rng.normal(size=9), None, rng)[0]


class Faulty(Posterior):
    """A posterior, but for one fault."""

    def __init__(self, posterior: Any, fault: str) -> None:
        self.posterior, self.fault = posterior, fault
        self.n_believed = 0

    @property
    def noise(self) -> Any:
        if self.fault == "one noise for all samples":
            return self.posterior.noise[0]
        return self.posterior.noise - 1e9 if self.fault == "less than no noise" else self.posterior.noise

    @property
    def outputs(self) -> Any:
        return {"has no output": (), "is another output": (Shifted(self.posterior, "none"),)}.get(self.fault, (self,))

    def leave_one_out(self) -> Any:
        found = self.posterior.leave_one_out()
        return found._replace(values=found.values[1:]) if self.fault == "leaves out a value" else found

    def average_models(self) -> Any:
        return Shifted(self.posterior, "none") if self.fault == "averages without itself" else self

    def find_training_means(self, xs: Any) -> Any:
        return self.screen(xs).mean + (self.fault == "knows what it was not told")

    def predict(self, xs: Any) -> Prediction:
        rows = np.asarray(xs)
        mean, variance = self.posterior.predict(rows)
        if self.fault == "reads the base of single changes" and not isinstance(xs, np.ndarray):
            mean, variance = self.posterior.predict(xs.base[xs.of])
        if self.fault == "knows objects" and not np.shares_memory(rows, getattr(self, "first", rows)):
            mean = mean + 1.0
        if self.fault == "centers" and len(rows):
            mean = mean - mean.mean(axis=1, keepdims=True)
        if self.fault == "forgets an axis":
            return Prediction(mean[0], variance[0])
        if self.fault == "no variance":
            variance = 0.0 * variance
        if self.fault == "not finite":
            variance = np.where(rows[:, 0] == 1, np.inf, variance)
        if self.fault == "changes as it believes":
            variance = variance / (1.0 + self.n_believed)
        self.first = getattr(self, "first", rows)
        return Prediction(mean, variance)

    def screen(self, xs: Any) -> Prediction:
        mean, variance = self.posterior.screen(xs)
        if self.fault == "hopes too little":
            mean = mean + 1e-6
        if self.fault == "is too certain":
            variance = self.posterior.predict(xs).variance * (1.0 - 1e-9)
        return Prediction(mean, variance)

    def bound_and_reach(self, xs: Any) -> Any:
        return self.bound(xs), np.ones(len(xs), dtype=bool) if self.fault == "reaches no point" else None

    def believe(self, xs: Any) -> Faulty:
        self.n_believed += 1
        if self.fault == "believes nothing":
            return self
        if self.fault == "believes no point anew" and not len(xs):
            return Faulty(self.posterior.believe(SPACE.enumerate()[:3]), "none")
        inner = self.posterior.believe(xs)
        return Faulty(inner, self.fault) if self.fault == "none" else Believed(inner, self.fault, len(xs))

    def covariance(self, xs: Any) -> Any:
        found = self.posterior.covariance(xs)
        if self.fault == "independent at last":
            return found * (1.0 + 1e-6 * np.eye(len(xs)))
        return found


class Shifted(Faulty):
    def predict(self, xs: Any) -> Prediction:
        mean, variance = self.posterior.predict(xs)
        return Prediction(mean + 1.0, variance)


class Believed(Faulty):
    def __init__(self, posterior: Any, fault: str, n: int) -> None:
        super().__init__(posterior, fault)
        self.n = n

    def predict(self, xs: Any) -> Prediction:
        mean, variance = self.posterior.predict(xs)
        if self.fault == "moves means" and self.n:
            mean = mean - 1.0
        if self.fault == "widens" and self.n:
            variance = 2.0 * variance
        return Prediction(mean, variance)


FAULTS = ["reads the base of single changes", "knows objects", "centers", "forgets an axis", "no variance"]
FAULTS += ["not finite", "changes as it believes", "hopes too little", "is too certain", "believes nothing"]
FAULTS += ["believes no point anew", "independent at last", "moves means", "widens"]
FAULTS += ["one noise for all samples", "less than no noise", "has no output", "is another output"]
FAULTS += ["leaves out a value", "knows what it was not told", "reaches no point", "averages without itself"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_posterior_fails(posterior, fault):
    with pytest.raises(AssertionError):
        check_posterior(Faulty(posterior, fault), SPACE, np.random.default_rng(1))


def test_the_faultless_pass(posterior):
    for seed in range(3):
        check_posterior(posterior, SPACE, np.random.default_rng(seed))
        check_posterior(Faulty(posterior, "none"), SPACE, np.random.default_rng(seed))
