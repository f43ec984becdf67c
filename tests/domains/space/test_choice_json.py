"""Choices as JSON: plain values come back equal, objects are refused by name."""

from __future__ import annotations

import json
import math

import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.space.choice_json import choice_to_json, choices_from_json, is_json_scalar, show_objects


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, True), (True, True), (2, True), ("x", True), (0.5, True), (math.nan, False), ([], False)],
)
def test_json_scalars(value, expected):
    assert is_json_scalar(value) == expected


def test_a_file_holds_plain_choices_and_refuses_objects():
    data = json.loads(json.dumps([choice_to_json(choice) for choice in (["a"], ("b",), "c", math.inf)]))
    assert data == [{"repr": "['a']"}, {"repr": "('b',)"}, "c", {"infinity": 1.0}]
    assert choices_from_json(data[2:]) == ["c", math.inf]
    with pytest.raises(DomainError, match="Python objects"):
        choices_from_json(data)


def test_stored_points_show_the_texts_of_objects():
    inner = bo.Space({"order": bo.Permutation([(1,), (2,)]), "plain": [1, 2]})
    space = bo.Space(
        {"tool": [int, math.inf], "items": bo.Subset([(0, 0), (0, 1), 7], (1, 3)), "word": bo.Sequence([(0,), 1], 2)}
    )
    point = {"tool": int, "items": [(0, 1), 7], "word": [(0,), 1]}
    shown = {"tool": "<class 'int'>", "items": ["(0, 1)", 7], "word": ["(0,)", 1]}
    assert show_objects(space.encode(space.parse(point)), space.to_json()) == shown
    mixed = bo.Space({"inner": inner, "tool": [int, str]})
    stored = mixed.encode(mixed.parse({"inner": {"order": [(2,), (1,)], "plain": 2}, "tool": str}))
    assert show_objects(stored, mixed.to_json()) == {"inner": {"order": ["(2,)", "(1,)"], "plain": 2}, "tool": str(str)}
    assert show_objects({"vertex": 0}, None) == {"vertex": 0}
    assert show_objects({"vertex": 9}, {"kind": "Categorical", "choices": ["a"]}) == {"vertex": 9}
