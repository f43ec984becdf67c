"""Grids of numbers: inside their ranges, ascending, exact where they are integers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct.language import FloatRange, IntRange, SearchSpace, siso_module


def values(make):
    return SearchSpace(lambda: siso_module("A", {"x": make()})).hyperparameters[0].values


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(FLOATS, FLOATS, st.integers(1, 9))
def test_floats_stay_in_their_range(a, b, steps):
    low, high = min(a, b), max(a, b)
    found = values(lambda: FloatRange(low, high, steps))
    assert all(x < y for x, y in pairwise(found))
    assert found[0] == low
    assert found[-1] == (high if steps > 1 else low)
    assert all(map(math.isfinite, found))


@given(st.integers(-(2**53), 2**53), st.integers(-(2**53), 2**53), st.integers(2, 9))
def test_integers_are_exact(a, b, steps):
    low, high = min(a, b), max(a, b)
    found = values(lambda: IntRange(low, high, steps))
    wanted = [low + Fraction((high - low) * i, steps - 1) for i in range(steps)]
    assert set(found) == {round(x) for x in wanted}
    assert list(found) == sorted(found)


@given(st.integers(1, 2**53), st.integers(1, 2**53), st.integers(1, 9))
def test_logarithmic_integers_stay_in_their_range(a, b, steps):
    low, high = min(a, b), max(a, b)
    found = values(lambda: IntRange(low, high, steps, log=True))
    assert found[0] == low
    assert found[-1] == (high if steps > 1 else low)
    assert list(found) == sorted(found)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: IntRange(10**12 + 1, 10**12 + 9, 3), (10**12 + 1, 10**12 + 5, 10**12 + 9)),
        (lambda: IntRange(2**53 - 2, 2**53, 3), (2**53 - 2, 2**53 - 1, 2**53)),
        (lambda: FloatRange(1e9 + 0.0001, 1e9 + 0.0003, 3), (1e9 + 0.0001, 1e9 + 0.0002, 1e9 + 0.0003)),
        (lambda: FloatRange(-1e308, 1e308, 3), (-1e308, 0.0, 1e308)),
        (lambda: FloatRange(1e-5, 0.1, 5, log=True), (1e-5, 1e-4, 1e-3, 1e-2, 0.1)),
        (lambda: IntRange(1, 1_000, 5, log=True), (1, 6, 32, 178, 1_000)),
    ],
)
def test_values(make, wanted):
    assert values(make) == wanted


def test_integers_too_many_to_list_are_refused():
    with pytest.raises(ValueError, match=r"steps: expected a number for 0 to 30000000"):
        values(lambda: IntRange(0, 30_000_000))
