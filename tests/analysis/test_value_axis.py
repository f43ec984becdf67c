"""The axis of values: what matters is inside, what is left out is outside, and the scale follows the data."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bostruct.analysis.value_axis import choose_scale, pick_what_matters

NUMBERS = st.lists(st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False), min_size=1, max_size=20)


@given(NUMBERS, NUMBERS)
def test_what_matters_is_inside(values, matters):
    scale = choose_scale(np.array(values), np.array(matters))
    assert not scale.is_outside(np.array(matters)).any()
    assert scale.kind != "log" or scale.low > 0.0
    assert scale.kind != "symlog" or scale.threshold > 0.0


def test_without_a_reason_all_values_are_shown_on_a_linear_axis():
    values = np.array([1.0, 2.0, 2.4])
    assert choose_scale(values, values[:2])[:3] == ("linear", 1.0, 2.4)


def test_outliers_are_left_out():
    scale = choose_scale(np.array([1.0, 2.0, 1e6, -1e6]), np.array([1.0, 2.0]))
    assert scale[:3] == ("linear", 1.0, 2.0)
    assert scale.is_outside(np.array([1.5, 1e6])).tolist() == [False, True]


def test_decades_of_both_signs_are_on_a_symmetric_log_axis():
    scale = choose_scale(np.empty(0), np.array([-3.0, 0.0, 1.0, 2.0, 1e4]))
    assert scale.kind == "symlog"
    assert scale.threshold == 1.0


def test_a_near_optimum_is_shown_and_a_far_one_is_not():
    best = np.array([5.0, 3.0])
    assert 2.0 in pick_what_matters(best, best, best, "minimize", 2.0)
    assert -99.0 not in pick_what_matters(best, best, best, "minimize", -99.0)
