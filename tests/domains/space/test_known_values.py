"""The fast way from JSON to rows finds what the slow way finds, and leaves to it what it does not know."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.domains.space.constraints import KnownValues
from bostruct.domains.space.points import check_names, read_row

NUMBERS = {"c": bo.Real(-1.0, 1.0), "d": bo.Integer(1, 5_000, log=True)}
SPACE = bo.Space({"a": [0, 2, 1.0], "b": bool, **NUMBERS, "e": bo.Categorical(range(3))})
SCALARS = [True, False, None, 0, 1, 2, 5_000, 0.0, -0.0, 1.0, 2.0, 0.25, float("nan"), 10**400, "1", [0], {"vertex": 1}]


def read_slowly(data: dict[str, object]) -> list[int] | None:
    try:
        return read_row(SPACE, check_names(SPACE, data), lambda variable, value: variable.decode(value)).tolist()
    except (PointError, OverflowError):
        return None


@given(st.fixed_dictionaries({name: st.sampled_from(SCALARS) for name in SPACE.variables}))
def test_it_finds_what_the_variables_find(data: dict[str, object]) -> None:
    row = KnownValues(SPACE.variables).read(data)
    if row is not None:
        assert (row.dtype, row.tolist()) == (np.int64, read_slowly(data))


def test_it_reads_all_that_a_space_writes() -> None:
    for x in SPACE.sample(50, np.random.default_rng(0)):
        row = KnownValues(SPACE.variables).read(SPACE.encode(x))
        assert row is not None
        assert row.tolist() == x.tolist()


@given(st.lists(st.tuples(*(st.sampled_from(SCALARS[:12]) for _ in SPACE.variables)), min_size=1, max_size=4))
def test_many_points_are_read_as_one_by_one(points: list[tuple[object, ...]]) -> None:
    one_by_one = [read_slowly(dict(zip(SPACE.variables, values, strict=True))) for values in points]
    rows = SPACE.decode_values(points)  # type: ignore[arg-type]
    assert (None if None in one_by_one else one_by_one) == (None if rows is None else rows.tolist())
    assert SPACE.decode_values([[0, True], [0, True, 0.5, 1, 2]]) is None


def test_it_shows_and_writes_what_the_variables_do() -> None:
    listed = bo.Space(
        {
            "a": [0, 2, 1.0, None, "x"],
            "b": bool,
            "c": range(3),
            "n": bo.Integer(-3, 3),
            "r": bo.Real(-1.0, 1.0),
            "l": bo.Real(1e-3, 1.0, log=True),
        }
    )
    xs = listed.sample(50, np.random.default_rng(0))
    xs[0], xs[1] = 0, [variable.size - 1 for variable in listed.variables.values()]
    for shown, x in zip(listed.present_all(xs), xs, strict=True):
        pairs = zip(listed.variables.items(), x, strict=True)
        expected = {name: one.present([column]) for (name, one), column in pairs}
        found = KnownValues(listed.variables).write(x)
        assert found is not None
        assert found == expected == listed.present(x) == listed.encode(x)
        assert repr(list(found.values())) == repr(list(expected.values())) == repr(list(shown.values()))
    lists = [bo.Categorical([(1, 2), "x"]), bo.Categorical([[1], "x"]), bo.Permutation([1, 2])]
    for wrong in (-1, 10**13):
        with pytest.raises(IndexError):
            KnownValues(NUMBERS).write(np.array([wrong, 0]))
        assert KnownValues(NUMBERS).write_all(np.array([[wrong, 0]])) is None
    for variable in lists:
        assert KnownValues({"b": bo.Binary(), "a": variable}).write(np.zeros(3, dtype=np.int64)) is None


@pytest.mark.parametrize("data", [None, [], {}, {"a": 0}, {"b": True, "a": 0}, {"a": [0], "b": True}])
def test_all_else_is_left_to_the_slow_way(data: object) -> None:
    assert KnownValues({name: SPACE.variables[name] for name in "ab"}).read(data) is None


@pytest.mark.parametrize("variable", [bo.Permutation(["x", "y"]), bo.Binary(when={"b": True})])
def test_spaces_with_other_variables_are_not_known(variable: object, rng: np.random.Generator) -> None:
    space = bo.Space({"b": bool, "a": variable})
    for x in space.sample(20, rng):
        data = space.encode(x)
        assert KnownValues(space.variables).read(data) is None
        assert space.decode(data).tolist() == np.asarray(x).tolist()


def test_a_grid_of_reals_takes_many_numbers_as_it_does_one() -> None:
    rng = np.random.default_rng(1)
    for low, high in ((-1.0, 1.0), (0.1, 0.3), (1e-9, 1e7), (-1e300, 5.0), (-0.005, 0.0)):
        grid = bo.Real(low, high).choices
        short = [grid.vertex(round(low + share * (high - low), 2 if high < 1e6 else 0)) for share in (0.25, 0.5, 0.75)]
        vertices = np.array([0, len(grid) - 1, 1, len(grid) // 2, *short, *rng.integers(0, len(grid), 100)])
        assert repr(grid.take(vertices)) == repr([grid[vertex] for vertex in vertices.tolist()])


def test_choices_that_a_file_repeats_are_shown_as_the_variable_shows_them() -> None:
    kind = {"kind": "Categorical", "choices": ["a", "b", None, "a"]}
    space = bo.Space.from_json({"domain": "space", "variables": {"kind": kind}, "constraints": 0})
    assert [space.present(np.array([i]))["kind"] for i in range(4)] == ["a", "b", None, "a"]
