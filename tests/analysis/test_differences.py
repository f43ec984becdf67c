"""Paired differences, their interval, and Holm's correction, against figures by hand."""

from __future__ import annotations

import math

import pytest

from bostruct.comparison.statistics import correct_by_holm, estimate_difference, mean_and_error


def test_holm_by_hand():
    """Three of four: 0.01 * 4, then 0.02 * 3, then the largest so far, since 0.03 * 2 is no more than 0.06."""
    assert correct_by_holm([0.03, 0.01, 0.02, 0.5]) == pytest.approx([0.06, 0.04, 0.06, 0.5])
    assert correct_by_holm([0.9, 0.8]) == [1.0, 1.0]
    assert correct_by_holm([]) == []


def test_the_interval_and_the_test_are_those_of_student():
    """Of 1, 2, 3: standard error 1 / sqrt(3), quantile 4.3027 at two degrees of freedom, p = 0.0742."""
    found = estimate_difference([1.0, 2.0, 3.0])
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx(
        (2.0, 2.0 - 4.302653 / 3**0.5, 2.0 + 4.302653 / 3**0.5), abs=1e-6
    )
    assert found.p == pytest.approx(0.0741799, abs=1e-6)
    assert estimate_difference([1.0]) is None


def test_a_single_value_has_no_error():
    assert mean_and_error([3.0])[0] == 3.0
    assert math.isnan(mean_and_error([3.0])[1])


def test_equal_differences_have_no_p_but_where_they_are_zero():
    assert estimate_difference([0.5, 0.5, 0.5]) == (0.5, 0.5, 0.5, None, 3)
    assert estimate_difference([0.1 + 0.2, 0.3]).p is None  # equal but for rounding
    assert estimate_difference([0.0, 0.0]).p == 1.0
