"""Expressions of tuning files: their names with columns, their values, and refusals that end with a column."""

from __future__ import annotations

import pytest

from bostruct.domains.space.expressions import ExpressionError, evaluate_expression, parse_expression


def test_names_that_an_expression_takes_have_their_columns():
    tree, names = parse_expression("a*2 + max(b, 3) - sum([c for c in [a, 1]])")
    assert names == {"a": 36, "b": 11}
    assert evaluate_expression(tree, {"a": 4, "b": 1}) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^invalid syntax \(column 1\)$"),
        ("1" * 5000, r"^Exceeds the limit [^;]* \(column 5000\)$"),
        ("a.b", r"'a.b' is not supported \(column 1\)$"),
        ("(" * 300 + "a" + ")" * 300, r"\(column 201\)$"),
    ],
)
def test_a_refusal_ends_with_its_column(text, message):
    with pytest.raises(ExpressionError, match=message):
        parse_expression(text)
