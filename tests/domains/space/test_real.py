"""Real variables: drawn, changed, stored, and read as people write them; test_numbers.py searches them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.registry import variable_from_json
from bostruct.domains.space.scale import GRID_STEPS


@given(st.sampled_from([bo.Real(-5, 5), bo.Real(1e-6, 1e3, log=True), bo.Real(100, 101)]), st.integers(0, GRID_STEPS))
def test_every_step_is_found_again_from_its_value(variable, vertex):
    value = variable.present([vertex])
    assert variable.parse(value) == [vertex]
    assert variable.decode(json.loads(json.dumps(variable.encode([vertex])))) == [vertex]
    assert variable_from_json("x", json.loads(json.dumps(variable.to_json()))) == variable
    for near in variable.graph.neighbors(vertex):
        assert vertex in variable.graph.neighbors(int(near))


def test_numbers_of_people_stay_as_they_are():
    space = bo.Space({"x": bo.Real(-5, 5)})
    for value in (0.3, -4.999, 1.25, 0.0, 5, -5):
        assert space.present(space.parse({"x": value})) == {"x": value}


def test_draws_are_uniform_on_their_scale():
    rate, x = bo.Real(1e-4, 1e-1, log=True), bo.Real(-5, 5)
    space = bo.Space({"rate": rate, "x": x, "kind": ["a", "b"]}, [lambda p: p["x"] < 4.0])
    points = [space.present(x) for x in space.sample(4_000, np.random.default_rng(0))]
    logs = np.sort([math.log10(p["rate"]) for p in points])
    assert np.max(np.abs((logs + 4) / 3 - np.linspace(0, 1, len(logs)))) < 0.03
    assert max(p["x"] for p in points) < 4.0


@pytest.mark.parametrize(("low", "high", "log"), [(2, 1, False), (0, 1, True), (1e9, 1e9 + 1e-6, False)])
def test_wrong_ranges(low, high, log):
    with pytest.raises(DomainError, match="Real: expected"):
        bo.Real(low, high, log=log)


def test_minus_zero_is_zero():
    for variable in (bo.Real(-1, 1), bo.Real(-0.0, 1), bo.Real(-5, 10), bo.Real(-1, -0.0)):
        assert variable.parse(-0.0) == variable.parse(0.0)
        assert str(variable.present(variable.parse(-0.0))) == "0.0"
        assert variable_from_json("x", json.loads(json.dumps(variable.to_json()))) == variable
    assert bo.Real(-0.0, 1) == bo.Real(0.0, 1)


def test_an_end_that_rounding_moved_out_is_the_end() -> None:
    for variable in (bo.Real(0, 0.3), bo.Real(0.1, 0.3, log=True), bo.Real(-0.3, 0.3)):
        space = bo.Space({"x": variable})
        assert space.present(space.parse({"x": 0.1 + 0.2})) == {"x": 0.3}
        assert variable.choices.vertices([0.1 + 0.2]).tolist() == [variable.choices.vertex(0.3)]
        with pytest.raises(PointError, match="expected a number from"):
            space.parse({"x": 0.3 + 1e-9})
    assert bo.Space({"x": bo.Real(-0.3, 0)}).parse({"x": -0.1 - 0.2}) == [0]


@pytest.mark.parametrize("value", [5.5, "1", True, None, math.nan])
def test_wrong_values(value):
    with pytest.raises(PointError, match=r"x: expected a number from -5"):
        bo.Space({"x": bo.Real(-5, 5)}).parse({"x": value})


@pytest.mark.parametrize("value", [1, 0.1, 2.5, 0.3, 1e-3, 2.999])
def test_numbers_that_people_write_come_back_as_they_are(value):
    for variable in (bo.Real(0, 3), bo.Real(-1, 7), bo.Real(1e-4, 10, log=True)):
        space = bo.Space({"x": variable})
        assert space.present(space.parse({"x": value})) == {"x": value}
    for x in space.sample(50, np.random.default_rng(0)):
        assert (space.parse(space.present(x)) == x).all()


LOGARITHMIC = [
    (142538517.05840316, 142717276.72870505), (3402.1069932136174, 3409.906517706), (1e300, 1.01e300),
    (1e-200, 1e200), (1e-300, 1e10),
]  # fmt: skip


@pytest.mark.parametrize(("low", "high"), LOGARITHMIC)
def test_each_number_of_a_narrow_or_wide_logarithmic_range_is_found_again(low, high):
    variable = bo.Real(low, high, log=True)
    for vertex in [0, 1, len(variable) - 1, *np.random.default_rng(0).integers(len(variable), size=500).tolist()]:
        assert variable.parse(variable.present([vertex])) == [vertex]


def test_what_no_float_divides_is_refused_by_name():
    for low, high, says in ((0.0, 1.0, "because of log=True"), (1e-320, 1e10, "low at least 2.23e-308")):
        with pytest.raises(bo.DomainError, match=says):
            bo.Real(low, high, log=True)
    with pytest.raises(bo.DomainError, match="a range that float64 can represent"):
        bo.Real(-1e308, 1e308)
    with pytest.raises(TypeError, match=r"^log: expected True or False, got 'yes'"):
        bo.Real(1.0, 2.0, log="yes")  # type: ignore[arg-type]


@given(st.floats(-1e6, 1e6), st.floats(1.0, 1e6), st.lists(st.floats(0.0, 1.0), min_size=1), st.booleans())
def test_many_numbers_are_found_as_one_by_one(low: float, span: float, shares: list[float], log: bool) -> None:
    low = abs(low) + 1.0 if log else low
    span = max(span, abs(low))
    grid = bo.Real(low, low + span, log=log).choices
    values = [min(low + share * span, low + span) for share in shares]
    values += [grid[int(share * 1e12)] for share in shares]
    assert grid.vertices(values).tolist() == [grid.vertex(value) for value in values]
    for wrong in (low - span, math.nan, True, "1"):
        with pytest.raises(PointError, match="expected"):
            grid.vertices([*values, wrong])
