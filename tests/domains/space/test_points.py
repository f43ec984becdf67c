"""Points in their three forms, where conditions decide which variables there are."""

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.points import check_names, check_row, encode_row, read_row
from bostruct.domains.space.variable import INACTIVE
from tests.conditional_spaces import finite_space


def test_a_row_and_its_dict_hold_the_same_variables():
    space = finite_space()
    point = {"c": False, "a": 1, "b": "y", "d": True}
    row = read_row(space, point, lambda variable, value: variable.parse(value))
    assert (row.tolist(), space.present(row)) == ([0, 1, 1, 1, INACTIVE], point)
    assert encode_row(space, row) == point
    check_row(space, row)


WRONG_NAMES = [
    (3, "point: expected a dict with the keys"),
    ({"a": 1, "z": 2}, "point: unknown name 'z'"),
    ({"a": 1}, "point: missing d; expected"),
]


@pytest.mark.parametrize(("given", "message"), WRONG_NAMES)
def test_names_are_checked_first(given, message):
    with pytest.raises(bo.BostructError, match=message):
        check_names(finite_space(), given)


def test_an_absent_column_is_no_value_of_an_unconditional_variable():
    with pytest.raises(bo.BostructError, match=r"a: expected a vertex in 0\.\.1"):
        check_row(bo.Space({"a": bool}), np.array([INACTIVE]))
