"""Changes of points under conditions: what a change makes exist, and what it takes away."""

from __future__ import annotations

import numpy as np

import bostruct as bo
from bostruct.domains.space.moves import Moves
from bostruct.domains.space.single_changes import SingleChanges
from tests.conditional_spaces import finite_space, training_space


def test_neighbors_gain_fallback_values_and_lose_what_has_no_condition_left():
    space = finite_space()
    x = space.parse({"a": 1, "b": "z", "d": False})
    shown = [space.present(y) for y in Moves(space).neighbors(x)]
    assert {"a": 0, "d": False} in shown
    assert {"a": 2, "b": "z", "d": False} in shown
    assert {"a": 1, "b": "x", "c": False, "d": False} in shown, "c exists, and has its first choice"
    assert len(shown) == 5


def test_an_ordered_variable_begins_in_the_middle():
    space = bo.Space({"on": bool, "level": bo.Integer(1, 9, when={"on": True})})
    assert [space.present(y) for y in space.neighbors(space.parse({"on": False}))] == [{"on": True, "level": 5}]


def test_mutations_draw_what_they_make_exist():
    space = bo.Space({"on": bool, "level": bo.Integer(1, 9, when={"on": True})})
    rng = np.random.default_rng(0)
    drawn = {space.present(space.mutate(space.parse({"on": False}), rng))["level"] for _ in range(200)}
    assert drawn == set(range(1, 10))


def test_batches_are_single_changes_where_there_are_no_conditions():
    plain = bo.Space({"a": bool, "b": [1, 2, 3]})
    rng = np.random.default_rng(0)
    assert isinstance(plain.sample_neighborhoods(plain.sample(3, rng), 5, rng)[0], SingleChanges)
    space = training_space()
    rows, of = space.sample_neighborhoods(space.sample(3, rng), 5, rng)
    assert isinstance(rows, np.ndarray)
    assert len(rows) == len(of)
    for row in rows:
        space.check(row)


def test_no_points_have_no_neighborhoods():
    space = training_space()
    rows, of = space.sample_neighborhoods(space.join(), 5, np.random.default_rng(0))
    assert len(rows) == len(of) == 0
