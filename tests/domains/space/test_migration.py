"""Points that are shown by what a file holds of their space."""

import math

import bostruct as bo
from bostruct.domains.space.points import show_objects


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
