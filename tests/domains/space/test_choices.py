"""Lists of choices: which are allowed, and what of them a file holds."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.domains.space.choices import ChoiceVariable, check_choices, path_graph, to_python
from bostruct.domains.space.graphs import CompleteGraph, PathGraph


class Letters(ChoiceVariable):
    """A variable with one list and one tuple among its choices."""

    def __init__(self) -> None:
        super().__init__((["a"], ("b",), "c", math.inf), CompleteGraph(4))

    @classmethod
    def from_json(cls, data):
        del data
        return cls()


def test_numpy_scalars_become_the_values_they_stand_for():
    assert type(to_python(np.int64(3))) is int
    assert to_python("a") == "a"
    assert check_choices("Categorical", np.array([1, 2])) == (1, 2)


def test_two_choices_in_a_row_are_a_complete_graph():
    assert (path_graph(2), path_graph(2, 3.0)) == (CompleteGraph(2), PathGraph(2, 3.0))
    assert path_graph(3) == PathGraph(3)


def test_choices_that_can_change_are_found_by_equality_and_copied():
    variable = Letters()
    assert variable.parse(["a"]) == [0]
    shown = variable.present([0])
    shown.append("b")
    assert (variable.choices[0], variable.encode([1])) == (["a"], {"vertex": 1})
    assert variable.decode({"vertex": 1}) == [1]
    for data in ({"vertex": 4}, {"vertex": True}, {}, "d"):
        with pytest.raises(PointError):
            variable.decode(data)
    with pytest.raises(PointError, match=r"expected one of .*, got \[4\]"):
        variable.parse([4])


class Unhashable:
    """Equal by its name; without copies where `is_copied` is False."""

    __hash__ = None

    def __init__(self, name, is_copied):
        self.name, self.is_copied = name, is_copied

    def __eq__(self, other):
        return isinstance(other, Unhashable) and other.name == self.name

    def __deepcopy__(self, memo):
        if not self.is_copied:
            raise RuntimeError("no copies")
        return Unhashable(self.name, True)


KINDS = [bo.Categorical, bo.Ordinal, bo.Permutation, partial(bo.Subset, size=1), partial(bo.Sequence, length=2)]


@pytest.mark.parametrize("build", KINDS)
def test_who_changes_an_item_does_not_change_the_variable(build):
    items = [[1], [2], {"a": [3]}, (4, [5])]
    variable = build(items)
    before, described = repr(variable), variable.describe()
    items[0].append(9)
    items[2]["a"].append(9)
    items[3][1].append(9)
    assert (repr(variable), variable.describe()) == (before, described)


def test_items_without_change_stay_the_same_objects_and_those_without_copies_are_kept():
    plain, marker = ("a", 1.5), object()
    single, copied = Unhashable("single", False), Unhashable("copied", True)
    choices = bo.Categorical([plain, marker, single, copied]).choices
    assert choices[0] is plain
    assert choices[1] is marker
    assert choices[2] is single
    assert choices[3] == copied
    assert choices[3] is not copied
