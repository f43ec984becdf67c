"""Tables and numbers as text: no more digits than the error allows."""

from __future__ import annotations

import math

import pytest

from bostruct.analysis.tables import format_corner, format_markdown, format_measured, format_number, format_table


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (0.32592, 0.2743, ("0.33", "0.27")),
        (0.32592, 0.0996, ("0.33", "0.10")),
        (-18123.4, 273.1, ("-18120", "270")),
        (12.0, 3.04, ("12.0", "3.0")),
        (1.0 / 3.0, 0.0, ("0.333333", "0")),
        (1.0 / 3.0, math.nan, ("0.333333", "-")),
        (1.0 / 3.0, None, ("0.333333", "-")),
        (None, 0.1, ("-", "-")),
        (math.nan, 0.1, ("-", "-")),
        (0.25, 1e-12, ("0.25", "1e-12")),
    ],
)
def test_a_number_has_the_digits_that_its_error_allows(value, error, shown):
    assert format_measured(value, error) == shown


def test_tables_have_a_column_each():
    lines = format_table(("name", "value"), [("a", "1"), ("long name", "22")]).splitlines()
    assert {len(line) for line in lines} == {len("long name  value")}
    assert format_markdown(("a", "b"), [("1", "2")]).splitlines() == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]


def test_numbers():
    assert (format_number(None), format_number(1.23456789, 3)) == ("-", "1.23")


def test_a_corner_has_a_number_for_each_objective():
    assert format_corner([0.0, -101.60001], 4) == "up to the corner (0, -101.6)"
