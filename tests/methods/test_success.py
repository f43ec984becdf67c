"""Methods learn from failures: sums from regressed labels, combinations and banned steps from a noisy-OR."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import bostruct as bo
from bostruct.methods.auto import auto
from bostruct.methods.defaults import success_model
from bostruct.surrogates.success import AveragedSuccess, NoisyOr, RegressedSuccess

LETTERS = list("abcdefgh")
BANNED = {("a", "c"), ("d", "b"), ("f", "g"), ("h", "a"), ("c", "h"), ("b", "e"), ("g", "d")}


def test_choices_have_a_noisy_or_beside_the_regression():
    surrogate = auto(bo.Space({"b": bool})).surrogate
    model = success_model(bo.Space({"b": bool}), surrogate)
    assert isinstance(model, AveragedSuccess)
    assert [type(one) for one in model.models] == [RegressedSuccess, NoisyOr]
    real = bo.Space({"r": bo.Real(0, 1)})
    assert success_model(real, surrogate, most=9) == RegressedSuccess(surrogate, real.take, most=9)


def log_loss(model, points, succeeded, new, outcome):
    log_probability = model.condition(points, succeeded, None, np.random.default_rng(0))[0].log_probability(new)
    chance = np.clip(np.exp(log_probability), 1e-4, 1.0 - 1e-4)
    return -np.mean(np.log(np.where(outcome, chance, 1.0 - chance)))


def respects_limit(xs):
    return xs.sum(axis=1) <= 25


def respects_rule(xs):
    first, second = xs[:, :-1], xs[:, 1:]
    return ~((first == 1) & (second >= 6) | (first == 4) & (second == 0)).any(axis=1)


@pytest.mark.parametrize("seed", range(2))
def test_limits_and_rules_are_both_learned(seed):
    """On a limit of a sum the average is close to the regression, on forbidden pairs far ahead of it."""
    rng = np.random.default_rng(seed)
    for kind, choices, rule in (("limit", range(6), respects_limit), ("rule", LETTERS, respects_rule)):
        space = bo.Space({f"x{i}": choices for i in range(10)})
        xs, new = space.sample(120, rng), space.sample(300, rng)
        average = auto(space).score.success
        found, regressed = (log_loss(one, xs, rule(xs), new, rule(new)) for one in (average, average.models[0]))
        assert found < (1.2 * regressed + 0.05 if kind == "limit" else 0.6 * regressed), kind


def count_banned(method, seed):
    def measure(point):
        word = [point[f"x{i}"] for i in range(10)]
        if any(step in BANNED for step in pairwise(word)):
            raise bo.Infeasible("a banned step")
        return -sum(a == b for a, b in zip(word, "acabadacab", strict=True))

    space = bo.Space({f"x{i}": LETTERS for i in range(10)})
    result = bo.minimize(measure, space, 60, method=method, seed=seed)
    return sum(trial.status == "infeasible" for trial in result.trials[30:])


def test_banned_steps_are_avoided():
    """The target has a banned step, so the search stays at the border; random points fail four times in ten."""
    found = count_banned("auto", 0)
    assert found <= 10
    assert found < count_banned("random", 0)
