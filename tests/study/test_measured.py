"""Searchers see all objectives minimized, limits as slacks, and noise where it is known."""

from __future__ import annotations

import numpy as np

from bostruct.goals.declared import Goals
from bostruct.outcome import Outcome
from bostruct.study.measured import LEAST_FREEDOM, measure


def test_searchers_see_minimized_objectives_slacks_and_known_noise() -> None:
    goals = Goals.from_json({"directions": ["maximize"], "constraints": {"w": ["<=", 1.0]}})
    outcomes = [Outcome((v,), constraints={"w": w}) for v, w in ((3.0, 0.5), (9.0, 2.0), (5.0, 1.0))]
    found = measure(goals, outcomes)
    assert found.objectives.tolist() == [[-3.0], [-9.0], [-5.0]]
    assert found.slacks.tolist() == [[-0.5], [1.0], [0.0]]
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


def test_noise_too_large_for_floats_is_unknown_or_the_largest_float() -> None:
    told = measure(Goals(), [Outcome((1.0,), sd=1e200)]).variances  # as files may hold it
    assert told is not None
    assert told.tolist() == [np.finfo(np.float64).max]
    wide = [Outcome((0.0,), repeats=(-1e308, 1e308))] * LEAST_FREEDOM
    assert measure(Goals(), wide).variances is None
    huge = [Outcome((1e308,), repeats=(1.7e308, 1.7e308))] * LEAST_FREEDOM  # whose sum is not finite
    assert measure(Goals(), huge).variances is None
