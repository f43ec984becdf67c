"""Searchers see all objectives minimized, limits as violations, and noise where it is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.goals.declared import Goals
from bostruct.methods import auto
from bostruct.outcome import Outcome
from bostruct.study.history import LEAST_FREEDOM, measure


def test_searchers_see_minimized_objectives_violations_and_known_noise() -> None:
    goals = Goals.from_json({"directions": ["maximize"], "constraints": {"w": ["<=", 1.0]}})
    outcomes = [Outcome((v,), constraints={"w": w}) for v, w in ((3.0, 0.5), (9.0, 2.0), (5.0, 1.0))]
    found = measure(goals, outcomes)
    assert found.objectives.tolist() == [[-3.0], [-9.0], [-5.0]]
    assert found.violations.tolist() == [[-0.5], [1.0], [0.0]]
    assert np.argsort(found.values).tolist() == [2, 0, 1]  # the largest value breaks the limit
    assert found.variances is None
    told = [Outcome((1.0,), sd=0.5), Outcome((1.0,)), Outcome((2.0,), repeats=(1.0, 3.0))]
    variances = measure(Goals(), told).variances
    assert variances is not None
    assert variances[0] == 0.25
    assert np.isnan(variances[1:]).all()  # two repeats tell too little of the noise
    many = [Outcome((2.0,), repeats=(1.0, 3.0))] * LEAST_FREEDOM
    pooled = measure(Goals(), many).variances
    assert pooled is not None
    np.testing.assert_allclose(pooled, 1.0)  # 2 of one value, over two repeats


def test_single_values_have_the_noise_that_repeats_tell() -> None:
    """Ten points of four measurements have 30 degrees of freedom."""
    rng = np.random.default_rng(0)
    scatter = 1.5 * rng.normal(size=(10, 4))
    repeated = [Outcome((float(row.mean()),), repeats=tuple(row.tolist())) for row in scatter]
    single = [Outcome((float(value),)) for value in rng.normal(size=14)]
    found = measure(Goals(), [*single, *repeated, Outcome((1.0,), sd=0.5), Outcome((2.0,), repeats=(2.0,))]).variances
    assert found is not None
    pooled = float(np.var(scatter, axis=1, ddof=1).mean())
    np.testing.assert_allclose(found, [pooled] * 14 + [pooled / 4.0] * 10 + [0.25, pooled])


@pytest.mark.parametrize("seed", range(6))
def test_a_model_trusts_single_values_no_more_than_repeats_allow(seed: int) -> None:
    """Ten points are measured four times and fourteen once, all with a noise of 1.5."""
    rng, space = np.random.default_rng(seed), bo.Space({f"x{i}": bool for i in range(6)})
    xs = space.sample(24, rng)
    counts = np.repeat([4, 1], [10, 14])
    told = [x @ np.arange(6.0) + 1.5 * rng.normal(size=k) for x, k in zip(xs, counts, strict=True)]
    found = measure(Goals(), [Outcome((float(one.mean()),), repeats=tuple(one.tolist())) for one in told])
    assert found.variances is not None
    model: Any = auto(space)
    surrogate = model.surrogate.surrogate  # which compresses no values
    posterior, _, _ = surrogate.with_variances(found.variances).condition(xs, found.values, None, rng)
    known = posterior.scale**2 * posterior.known
    sd = np.sqrt(np.where(np.isnan(known), posterior.noise[0], known))[10:]
    assert np.all((sd > 1.1) & (sd < 2.0))


def test_without_repeats_that_differ_the_noise_of_single_values_is_learned() -> None:
    few = [Outcome((2.0,), repeats=(1.0, 3.0))] * (LEAST_FREEDOM - 1)
    assert measure(Goals(), [Outcome((1.0,)), *few]).variances is None
    found = measure(Goals(), [Outcome((1.0,)), Outcome((1.0,), sd=0.5), *few]).variances
    np.testing.assert_array_equal(found, [np.nan, 0.25] + [np.nan] * (LEAST_FREEDOM - 1))
    same = [Outcome((2.0,), repeats=(2.0, 2.0))] * LEAST_FREEDOM  # one measurement, read twice, perhaps
    assert measure(Goals(), [Outcome((1.0,)), *same]).variances is None
    rounded = [Outcome((0.1,), repeats=(0.1, 0.1, 0.1))] * LEAST_FREEDOM  # whose mean is no float
    assert np.square(np.array([0.1] * 3) - np.mean([0.1] * 3)).sum() > 0.0
    assert measure(Goals(), [Outcome((1.0,)), *rounded]).variances is None


def test_noise_too_large_for_floats_is_unknown_or_the_largest_float() -> None:
    told = measure(Goals(), [Outcome((1.0,), sd=1e200)]).variances  # as files may hold it
    assert told is not None
    assert told.tolist() == [np.finfo(np.float64).max]
    wide = [Outcome((0.0,), repeats=(-1e308, 1e308))] * LEAST_FREEDOM
    assert measure(Goals(), wide).variances is None
    huge = [Outcome((1e308,), repeats=(1.7e308, 1.7e308))] * LEAST_FREEDOM  # whose sum is not finite
    assert measure(Goals(), huge).variances is None
