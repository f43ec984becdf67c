"""Integers of any range: drawn, changed and stored; test_numbers.py searches them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.domains.space.numeric import LARGEST, Integer
from bostruct.domains.space.registry import variable_from_json
from bostruct.testing.domain_laws import check_domain
from tests.strategies import rngs

GRIDS = [
    Integer(1, 100_000, log=True),
    Integer(1, 6, log=True),
    Integer(-5, LARGEST - 6),
    Integer(2, LARGEST, log=True),
]


@st.composite
def grids(draw: st.DrawFn) -> Integer:
    """Integers that are not listed: of a logarithmic scale, or more than 1000."""
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(2**52), 2**52))
    return Integer(low, low + draw(st.integers(1 if log else 1_000, 2**52)), log=log)


@given(grids(), st.data())
def test_each_integer_is_found_again_and_neighbors_are_symmetric(variable, data):
    vertex = data.draw(st.integers(0, variable.size - 1))
    value = variable.present([vertex])
    assert type(value) is int
    assert variable.parse(value) == variable.parse(float(value)) == [vertex]
    assert variable.decode(json.loads(json.dumps(variable.encode([vertex])))) == [vertex]
    near = variable.neighbors([vertex])[:, 0].tolist()
    assert near == sorted(set(near) - {vertex})
    assert {v for v in (vertex - 1, vertex + 1) if 0 <= v < variable.size} <= set(near)
    assert len(near) <= 4 * 53
    for other in near:
        assert vertex in variable.neighbors([other])[:, 0]
    assert variable_from_json("x", json.loads(json.dumps(variable.to_json()))) == variable


@given(grids(), st.data())
def test_a_move_goes_to_any_other_integer_with_one_chance(variable, data):
    vertex, share = data.draw(st.integers(0, variable.size - 1)), data.draw(st.floats(0, 1, exclude_max=True))
    (other,) = variable.move([vertex], share)
    assert 0 <= other < variable.size
    assert other != vertex


@given(grids(), st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_shares_are_of_the_scale_and_lead_back(variable, shares):
    grid = variable.grid
    vertices = grid.nearest(np.array(shares))
    assert ((vertices >= 0) & (vertices < variable.size)).all()
    found = grid.shares(vertices)
    step = 0.5 / (variable.size - 1) if variable.is_even else 0.7 / grid.low / math.log(grid.high / grid.low)
    assert np.abs(found - shares).max() <= step + 1e-12
    assert grid.shares(np.array([0, variable.size - 1])).tolist() == pytest.approx([0.0, 1.0], abs=1e-12)
    assert grid.nearest(np.array([0.0, 1.0])).tolist() == [0, variable.size - 1]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.one_of(grids(), st.just(bo.Binary())), min_size=1, max_size=3), rngs())
def test_spaces_of_them_are_domains(variables, rng):
    check_domain(bo.Space({f"x{i}": one for i, one in enumerate(variables)}), rng)


def test_two_integers_on_a_logarithmic_scale_are_a_domain():
    check_domain(bo.Space({"x": Integer(1, 2, log=True)}), np.random.default_rng(0))


@pytest.mark.parametrize("variable", GRIDS, ids=repr)
def test_draws_are_uniform_on_their_scale(variable):
    drawn = bo.Space({"x": variable}).sample(4_000, np.random.default_rng(0))[:, 0] + variable.choices[0]
    low, high = float(variable.choices[0]), float(variable.choices[variable.size - 1])
    ends = np.quantile(drawn, [0.25, 0.75])
    if variable.is_even:
        share = (ends - low) / (high - low)
    else:
        share = (np.log(ends) - math.log(low - 0.5)) / (math.log(high + 0.5) - math.log(low - 0.5))
    assert np.abs(share - [0.25, 0.75]).max() < (0.15 if variable.size < 10 else 0.03)


def test_few_integers_are_what_they_were():
    listed = Integer(0, 999)
    assert listed.grid is None
    assert (listed.choices, listed.neighbors([5]).tolist()) == (tuple(range(1_000)), [[4], [6]])
    assert listed.to_json() == {"kind": "Integer", "low": 0, "high": 999}
    assert Integer(0, 1_000).grid is not None
    assert Integer(1, 9, log=True).grid is not None


def test_a_factor_leads_up_and_back():
    batch = Integer(1, 4_096, log=True)
    near = batch.neighbors([2])[:, 0] + 1  # of 3
    assert {1, 2, 4, 5, 7, 11, 19, 24, 3 * 64}.issubset(near.tolist())
    assert 3 in batch.neighbors([3 * 64 - 1])[:, 0] + 1


@pytest.mark.parametrize("value", [0, 100_001, 2.5, "3", True, None, math.nan, math.inf])
def test_wrong_values(value):
    with pytest.raises(PointError, match="x: expected an integer from 1 to 100000, got"):
        bo.Space({"x": Integer(1, 100_000, log=True)}).parse({"x": value})
