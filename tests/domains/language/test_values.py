"""Values of hyperparameters: what can be chosen, in its stored form."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.values import as_name, as_properties, as_value
from bostruct.language import D
from examples.language_figures import conv2d
from tests.domains.language.refusals import check_refusal

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=5)
VALUES = st.recursive(SCALARS, lambda part: st.lists(part, max_size=3) | st.tuples(part, part), max_leaves=8)


@settings(max_examples=50)
@given(VALUES)
def test_values_survive_json_and_are_keys(value):
    stored = as_value("x", value)
    assert as_value("x", stored) == stored
    assert as_value("x", json.loads(json.dumps(stored, allow_nan=False))) == stored
    assert {stored: 1}[stored] == 1


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        ([1, [2, [np.int8(3)]]], (1, (2, (3,)))),
    ],
)
def test_numbers_of_numpy_and_lists_are_stored_as_python_has_them(given, stored):
    found = as_value("x", given)
    assert found == stored
    assert type(found) is type(stored)


@pytest.mark.parametrize("value", [float("nan"), np.float64("inf"), (1, [float("-inf")])])
def test_numbers_that_json_has_not_are_refused(value):
    with pytest.raises(LanguageError, match="rate: expected finite numbers, got"):
        as_value("rate", value)


@pytest.mark.parametrize("value", [{1, 2}, {"a": 1}, print, b"x", 1j, np.zeros(2), [print]])
def test_what_is_no_value_is_refused_with_the_way_out(value):
    with pytest.raises(
        LanguageError, match=r"x: expected None, bools, numbers, .* to choose between functions use siso"
    ):
        as_value("x", value)


@pytest.mark.parametrize(
    "values",
    [
        "abc",
        {"a": 1},
        3,
        [],
        [1, True],
        [1, 1.0],
        [lambda: 1],
        [{"a": 1}],
        [float("nan")],
        [float("inf")],
        [(1, float("-inf"))],
    ],
)
def test_values_that_cannot_be_chosen(values):
    check_refusal(lambda: conv2d(D(values)), LanguageError, "values:")


@pytest.mark.parametrize("name", [None, "a", "_a1", "a-b+c"])
def test_names_are_letters_digits_and_a_few_signs(name):
    assert as_name(name) == name


@pytest.mark.parametrize("name", ["", "1a", "a b", "a/b", "a.b", "a[0]", "-a", 3, "a\n"])
def test_other_names_are_refused(name):
    with pytest.raises(LanguageError, match=r"name: expected letters, digits, '_', '\+' and '-', not beginning with"):
        as_name(name)


def test_properties_are_a_mapping_by_text_or_nothing():
    assert as_properties("p", None) == {}
    given = {"a": 1}
    assert as_properties("p", given) == given
    with pytest.raises(LanguageError, match=r"p: expected a dict from local names, got \['a'\]"):
        as_properties("p", ["a"])  # type: ignore[arg-type]
    with pytest.raises(LanguageError, match="p: expected local names that are text, got 1"):
        as_properties("p", {"a": 1, 1: 2})  # type: ignore[dict-item]
