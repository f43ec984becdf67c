"""The axis of values: what matters is inside, what is left out is outside, and the scale follows the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from bostruct.analysis.axes import (
    LARGEST,
    choose_ends,
    choose_scale,
    find_beyond,
    pick_what_matters,
)

NUMBERS = st.lists(st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False), min_size=1, max_size=20)
SIZES = (1.7e308, 1e308, 1e300, 1e160, 3.0, 1.0, 1e-160, 5e-324, 0.0)
EXTREME = st.lists(st.sampled_from([*SIZES, *(-size for size in SIZES)]), min_size=1, max_size=6)


@given(NUMBERS, NUMBERS)
def test_what_matters_is_inside(values, matters):
    scale = choose_scale(np.array(values), np.array(matters))
    assert scale.low <= min(matters) <= max(matters) <= scale.high
    assert scale.kind != "log" or scale.low > 0.0
    assert scale.kind != "symlog" or scale.threshold > 0.0


def test_without_a_reason_all_values_are_shown_on_a_linear_axis():
    values = np.array([1.0, 2.0, 2.4])
    assert choose_scale(values, values[:2])[:3] == ("linear", 1.0, 2.4)
    assert choose_scale(np.array([1.0, 2.0, 3.9]), values[:2])[:3] == ("linear", 1.0, 3.9)


def test_values_are_left_out_only_if_all_take_three_times_the_height():
    near, matters = [1.0, 2.0, 2.9], np.array([1.0, 2.0])
    assert choose_scale(np.array([*near, 6.6]), matters)[:3] == ("linear", 1.0, 6.6)
    assert choose_scale(np.array([*near, 6.8]), matters)[:3] == ("linear", 1.0, 2.9)
    assert choose_scale(10.0 ** np.array([*near, 6.6]), 10.0 ** np.array([1.0, 2.9])).high > 1e6
    tail = np.random.default_rng(0).exponential(size=2000)
    assert choose_scale(tail, np.quantile(tail, [0.0, 0.8])).high == max(tail)


def test_large_values_of_both_signs_are_shown_unless_they_are_far():
    inner = np.array([-3.0, 0.0, 1.0, 2.0, 1e4])
    assert choose_scale(np.array([-5e3, 2e4]), inner)[:3] == ("symlog", -5e3, 2e4)
    assert choose_scale(np.array([-5e3, 1e60]), inner)[:3] == ("symlog", -5e3, 1e4)


def test_outliers_are_left_out():
    scale = choose_scale(np.array([1.0, 2.0, 1e6, -1e6]), np.array([1.0, 2.0]))
    assert scale[:3] == ("linear", 1.0, 2.0)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.45])
def test_ends_leave_out_disasters_and_nothing_else(share, direction):
    sign = 1.0 if direction == "minimize" else -1.0
    values = np.random.default_rng(0).exponential(size=40)
    told = sign * np.append(values, np.full(int(share * 40), 1e9))
    assert choose_ends(told, np.empty(0), direction) == (min(sign * values), max(sign * values))
    better = np.append(sign * values, -sign * 1e9)  # one that is a mistake leaves the others their room, too
    assert choose_ends(better, np.empty(0), direction) == (min(sign * values), max(sign * values))


def test_ends_keep_what_matters_few_values_and_those_that_are_only_worse():
    values = np.append(np.linspace(0.0, 1.0, 40), [1.7, 1.8, 2.0, 4.5])
    assert choose_ends(values, np.empty(0), "minimize") == (0.0, 4.5)
    assert choose_ends(values, np.array([-50.0]), "minimize") == (-50.0, 4.5)
    assert choose_ends(np.array([1.0, 1.1, 2.0, 1e9]), np.empty(0), "minimize") == (1.0, 1e9)
    assert choose_ends(np.append(np.ones(9), 1e9), np.empty(0), "minimize") == (1.0, 1e9)


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([1.0] * 24 + [1.0 + 0.09 * i for i in range(1, 11)] + [1e9], (1.0, 1.9)),
        ([1.0] * 6 + [2.0, 3.0, 4.0, 1e9], (1.0, 4.0)),
        ([1.0] * 12 + [2.0] + [1e9] * 9, (1.0, 2.0)),  # one penalty, however often it was told
        ([0.0] + [1.0] * 20 + [2.0, 1e9], (0.0, 2.0)),  # most are not the best
        ([0.3] * 2 + [0.1 + 0.2] * 3 + [0.4, 0.5, 1e9], (0.3, 0.5)),  # rounding is no room
        ([0.3] * 5, (0.3, 0.3)),
    ],
)
def test_ends_leave_out_disasters_where_most_values_are_one_number(values, ends):
    assert choose_ends(np.array(values), np.empty(0), "minimize") == ends
    assert choose_ends(-np.array(values), np.empty(0), "maximize") == (-ends[1], -ends[0])
    assert choose_ends(np.array(values), np.array(values[:1]), "minimize") == ends


@given(EXTREME, EXTREME, st.sampled_from(["minimize", "maximize"]))
def test_ends_of_numbers_of_any_size_are_finite(values, matters, direction):
    clipped = (np.clip(numbers, -LARGEST, LARGEST) for numbers in (values, matters))
    low, high = choose_ends(*clipped, direction)
    assert low <= high
    assert np.isfinite(high - low)


def test_decades_of_both_signs_are_on_a_symmetric_log_axis():
    scale = choose_scale(np.empty(0), np.array([-3.0, 0.0, 1.0, 2.0, 1e4]))
    assert scale.kind == "symlog"
    assert scale.threshold == 1.0


def test_a_near_optimum_is_shown_and_a_far_one_is_not():
    best = np.array([5.0, 3.0])
    assert 2.0 in pick_what_matters(best, best, best, "minimize", 2.0)
    assert -99.0 not in pick_what_matters(best, best, best, "minimize", -99.0)


@given(EXTREME, EXTREME, st.sampled_from(["minimize", "maximize"]))
@settings(max_examples=15)
@example([5e-324, 5e-324, -1.7e308], [1.7e308], "minimize")
@example([1.0, 1e-160, -1.7e308], [1.7e308], "minimize")
@example([5e-324, 5e-324, -1e-300], [], "minimize")
@example([5e-324, 1e-160], [-5e-324], "minimize")
def test_numbers_of_any_size_are_drawn_without_a_warning(values, chosen, direction):
    told, picked = np.array(values), np.array(chosen)
    axes = Figure().subplots()
    matters = pick_what_matters(told, told[:1], picked, direction, None)
    choose_scale(told, matters).apply(axes)
    low, high = axes.get_ylim()
    assert np.isfinite([low, high]).all()
    assert low < high
    axes.figure.draw_without_rendering()


def test_a_value_in_the_margin_is_not_beyond():
    axes = Figure().subplots()
    choose_scale(np.array([1.0, 2.0]), np.array([1.0, 2.0])).apply(axes)
    above, below = find_beyond(axes, np.array([0.92, 0.98, 1.0, 2.02, 2.08]))
    assert (above.tolist(), below.tolist()) == ([False] * 4 + [True], [True] + [False] * 4)


def test_numbers_between_powers_of_ten_are_named_in_full():
    axes = Figure().subplots()
    choose_scale(np.empty(0), np.array([0.2, 6.0])).apply(axes)
    axes.figure.draw_without_rendering()
    named = [label.get_text() for label in axes.get_yticklabels()]
    assert {"0.2", "0.5", "1", "2", "5"} <= set(named)
    assert not any(label.get_text() for label in axes.get_yticklabels(minor=True))
