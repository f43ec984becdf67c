"""Choices as JSON: plain values come back equal, objects are refused by name."""

import json
import math

import pytest

from bostruct.contracts import DomainError
from bostruct.domains.space.choice_json import choice_to_json, choices_from_json, is_json_scalar


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
