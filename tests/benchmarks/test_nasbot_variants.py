"""The variants of NASBOT: the line of the mean, the longer steps, what each predicts, and that each searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from benchmarks import nasbot_steps
from benchmarks import nasbot_variants as script
from bostruct.contracts import Posterior, Prediction, Surrogate

DOMAIN = script.mass().space


@dataclass(frozen=True)
class Nothing(Surrogate, Posterior):
    """A surrogate, and its posterior, that learns nothing and predicts 0."""

    def initial_state(self) -> None:
        return None

    def condition(self, xs: Any, values: Any, state: Any, rng: Any) -> Any:
        del xs, state, rng
        assert abs(float(np.mean(values))) < 1e-9  # what is left over a line with a constant
        return self, None, {}

    def predict(self, xs: Any) -> Prediction:
        return Prediction(np.zeros((1, len(xs))), np.ones((1, len(xs))))

    def believe(self, xs: Any) -> Nothing:
        del xs
        return self


def test_the_mean_is_the_ridge_regression_on_the_log_mass():
    xs = DOMAIN.sample(12, np.random.default_rng(0))
    values = np.random.default_rng(1).normal(size=12) + 7.0
    posterior, _, info = script.LineSurrogate(Nothing()).condition(xs, values, None, np.random.default_rng(2))
    found = np.array([script.log_mass(x) for x in xs])
    z = (found - found.mean()) / found.std()
    slope = np.linalg.solve([[z @ z + script.RIDGE]], [z @ (values - values.mean())])[0]
    np.testing.assert_allclose(posterior.believe(xs).predict(xs).mean[0], values.mean() + slope * z)
    assert info["slope"] == pytest.approx(slope / found.std())


def test_far_children_are_several_mutations_away():
    """Of chains of two layers: one mutation of one modifier or more leaves fewer of them at their first size."""
    rng = np.random.default_rng(3)
    x = DOMAIN.pool[0]
    spreads = [
        np.std([script.log_mass(domain.mutate(x, rng)) for _ in range(200)])
        for domain in (DOMAIN, script.FarDomain(DOMAIN))
    ]
    assert spreads[1] > 1.2 * spreads[0]


@pytest.mark.parametrize("name", ["nasbot-line", "nasbot-far", "nasbot-drawn"])
def test_each_variant_searches(name):
    problem = script.mass()
    result = bo.minimize(problem, problem.space, 8, method=script.VARIANTS[name](problem.space), seed=0, progress=False)
    assert [trial.origin for trial in result.trials] == ["initial"] * 6 + ["model"] * 2


def test_what_a_model_thinks_of_children_adds_up():
    judged = nasbot_steps.judge_children(script.VARIANTS["nasbot-line"](DOMAIN), 0, 10, 40)
    assert judged[:, 3].sum() == nasbot_steps.CHOSEN
    shares = [float(line.split("|")[3]) for line in nasbot_steps.table("nasbot", judged)]
    chosen = [float(line.split("|")[-2]) for line in nasbot_steps.table("nasbot", judged)]
    assert sum(shares) == pytest.approx(1.0, abs=0.04)
    assert sum(chosen) == pytest.approx(1.0, abs=0.04)
