"""Objectives far behind the front are drawn in; the front, what is near it, and slacks are told as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import bostruct as bo
from bostruct import methods
from bostruct.checks import has_capability
from bostruct.contracts import LearnsOutputs, Prediction, RestoresUnits
from bostruct.goals.pareto import find_nondominated, hypervolume
from bostruct.methods.goals import serve_goals
from bostruct.surrogates.front_warping import FrontWarping
from bostruct.surrogates.output_warping import OutputWarping
from bostruct.surrogates.outputs import Outputs
from tests.laws.maxsat import bits

OUTPUTS = st.integers(1, 30).flatmap(
    lambda n: arrays(np.float64, (n, 3), elements=st.floats(-1e6, 1e6).map(lambda v: round(v, 3)))
)


@dataclass(frozen=True)
class Listening:
    """A surrogate that predicts what it was told."""

    def initial_state(self):
        return None

    def condition(self, xs, values, state, rng):
        del xs, rng
        return values, state, {}


def tell(values: np.ndarray, n_slacks: int = 0) -> np.ndarray:
    """Return what the surrogates are told of outputs (n, q)."""
    outputs = Outputs(Listening(), Listening(), values.shape[1] - n_slacks, n_slacks)
    posterior = FrontWarping(outputs).condition(range(len(values)), values, [None] * values.shape[1], None)[0]
    return np.stack(posterior.outputs, axis=1)


@given(OUTPUTS)
def test_order_is_kept_and_the_front_untouched(values):
    told = tell(values)
    front = find_nondominated(values)
    np.testing.assert_array_equal(told[front], values[front])
    for before, after in zip(values.T, told.T, strict=True):
        assert (np.diff(after[np.argsort(before, kind="stable")]) >= 0.0).all()
        assert (after <= before).all()
    np.testing.assert_array_equal(find_nondominated(told), front)


@given(OUTPUTS, st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_units_do_not_matter(values, scale, shift):
    told = tell(scale * values + shift)
    tolerance = 1e-6 * (1.0 + np.abs(told).max())
    np.testing.assert_allclose(told, scale * tell(values) + shift, rtol=1e-6, atol=tolerance)


@given(OUTPUTS)
def test_predictions_come_in_the_units_of_the_user(values):
    told, surrogate = tell(values), FrontWarping(Outputs(Listening(), Listening(), 3))
    assert has_capability(surrogate, LearnsOutputs)
    assert has_capability(surrogate, RestoresUnits)
    for j, column in enumerate(told.T):
        found = surrogate.restore_units(Prediction(column[None], np.ones((1, len(column)))), values, j)
        np.testing.assert_allclose(found.mean[0], values[:, j], rtol=1e-9, atol=1e-9 * np.abs(values).max())
        assert (found.variance >= 1.0).all()


def test_a_disaster_is_a_few_ranges_behind():
    values = np.array([[0.0, 4.0], [1.0, 2.0], [2.0, 1.0], [1e9, 3.0]])
    told = tell(values)
    assert told[:3].tolist() == values[:3].tolist()
    assert told[:, 1].tolist() == values[:, 1].tolist()
    assert 2.0 + 2.0 * 3.0 < told[3, 0] < 2.0 + 2.0 * 25.0


def test_a_disaster_beside_a_single_best_point_is_a_few_median_distances_behind():
    told = tell(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [1e9, 2.0]]))
    assert told[:3, 0].tolist() == [0.0, 1.0, 2.0]
    assert told[3, 0] < 50.0


def test_points_that_break_a_limit_are_on_the_front_only_where_all_do():
    values = np.array([[0.0, 4.0, -1.0], [2.0, 1.0, -1.0], [-5.0, 1e9, 1.0], [-5.0, 1e9, 2.0]])
    told = tell(values, n_slacks=1)
    assert told[2, 1] < 100.0
    assert told[:, 2].tolist() == values[:, 2].tolist()
    values[:, 2] = 1.0
    assert tell(values, n_slacks=1)[2, 1] == 1e9


@pytest.mark.parametrize("huge", [1e300, 1.7e308])
def test_the_largest_numbers_stay_finite(huge):
    values = np.array([[-huge, 0.0], [0.0, 1.0], [huge, -huge], [huge, huge]])
    assert np.isfinite(tell(values)).all()


def test_a_negative_distance_is_refused():
    with pytest.raises(ValueError, match="beyond"):
        FrontWarping(Outputs(Listening(), Listening(), 2), beyond=-1.0)


def test_it_takes_the_place_of_compression_beyond_the_median():
    one, two = (serve_goals(methods.auto(bits(6)), n, 1).surrogate for n in (1, 2))
    assert isinstance(one.objective, OutputWarping)
    assert isinstance(two, FrontWarping)
    assert two.surrogate.objective is not one.objective
    assert not isinstance(two.surrogate.objective, OutputWarping)


def test_values_that_are_never_compressed_stay_as_they_are():
    shop = bo.Space({"order": bo.Permutation({"a": 2, "b": 2}, resources={"a": [1, 2], "b": [2, 1]})})
    assert isinstance(serve_goals(methods.auto(shop), 2, 0).surrogate, Outputs)


def measure_front(seed: int) -> float:
    """Return the hypervolume found in 70 trials where half of all points have nearly the least size and time."""
    rng = np.random.default_rng(seed)
    gains = np.sort(rng.uniform(0.0, 1.0, (6, 5)), axis=1)
    pairs = rng.normal(0.0, 0.3, (6, 6, 5, 5))
    sizes, times = np.array([0.0, 0.001, 0.002, 0.3, 1.0]), np.array([0.0, 0.001, 0.4, 0.003, 1.0])
    space = bo.Space({f"x{i}": [f"op {j}" for j in range(5)] for i in range(6)})

    def measure(point):
        codes = [int(point[f"x{i}"][3:]) for i in range(6)]
        gain = sum(gains[i, codes[i]] + pairs[i, (i + 1) % 6, codes[i], codes[(i + 1) % 6]] for i in range(6))
        return -gain, float(np.prod(1.0 + sizes[codes])), float(np.prod(1.0 + times[codes]))

    study = bo.Study(space, directions=["minimize"] * 3, seed=seed)
    study.optimize(measure, 70, progress=False)
    found = np.array([trial.values for trial in study.trials])
    return hypervolume(found, np.array([0.0, 32.0, 32.0]))


def test_the_search_is_not_drawn_to_one_end_of_the_front():
    """With values compressed beyond their median, the mean is 4,515; it is 5,404."""
    assert np.mean([measure_front(seed) for seed in (1, 2, 3)]) > 4_950.0
