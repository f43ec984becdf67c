"""All single changes of a point, by variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.discrete import Categorical
from bostruct.domains.space.moves import Adjacency
from bostruct.domains.space.numeric import Integer, Real
from bostruct.domains.space.single_changes import Layout
from bostruct.domains.space.variable import Variable
from tests.wide_variable import Order


def adjacency(*variables: Variable) -> Adjacency:
    return Adjacency(variables, Layout(tuple(one.width for one in variables)))


@pytest.mark.parametrize("large_steps", [False, True])
def test_changes_are_the_neighbors_of_each_variable_in_turn(large_steps):
    variables = [Integer(0, 9), Categorical(["ab", "c"]), Real(0.0, 1.0), Integer(0, 9)]
    near, x = adjacency(*variables), np.array([4, 1, 10**6, 4])
    for _ in range(2):  # the second time from what was kept
        which, values = near.single_changes(x, large_steps)
        expected = [
            (i, v) for i, one in enumerate(variables) for v in one.neighbors([int(x[i])], large_steps)[:, 0].tolist()
        ]
        assert list(zip(which.tolist(), values[:, 0].tolist(), strict=True)) == expected


def test_a_wide_variable_brings_all_its_columns():
    which, values = adjacency(Integer(0, 2), Order("xyz")).single_changes(np.array([1, 0, 1, 2]))
    assert which.tolist() == [0, 0, 1, 1, 1]
    assert values.tolist() == [[0, 0, 0], [2, 2, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1]]


def test_equal_graphs_are_asked_once(monkeypatch: pytest.MonkeyPatch):
    calls: list[Any] = []
    found = Integer.neighbors
    monkeypatch.setattr(Integer, "neighbors", lambda *arguments: calls.append(arguments) or found(*arguments))
    near = adjacency(Integer(0, 9), Integer(5, 14), Integer(0, 3))
    near.single_changes(np.array([4, 4, 3]))
    assert len(calls) == 2


def test_where_all_changes_are_taken_nothing_is_drawn():
    rng = np.random.default_rng(0)
    assert adjacency(Integer(0, 9))._draw(0, [4], 2, rng, False).tolist() == [[3], [5]]
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def test_all_changes_are_drawn_of_a_variable_that_lists_some():
    space = bo.Space({"s": bo.Subset(range(1000), size=5), "b": bool})
    x, rng = space.sample(1, np.random.default_rng(0))[0], np.random.default_rng(1)
    assert len(space.neighbors(x)) < 100
    for m in (4975, 4976, 9000):
        drawn = space.sample_neighbors(x, m, rng)
        assert len(set(space.keys(drawn))) == min(m, 5 * 995 + 1)
