"""Lists of choices: which are allowed, and what of them a file holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.choices import (
    ChoiceVariable,
    check_choices,
    path_graph,
    to_python,
)
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
    assert path_graph(2) == CompleteGraph(2)
    assert path_graph(2, 3.0) == PathGraph(2, 3.0)
    assert path_graph(3) == PathGraph(3)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ("ab", "a sequence of choices"),
        ({1, 2}, "a sequence of choices"),
        (3, "a sequence of choices"),
        ([1], "2 to 1000 choices, got 1"),
        (range(1001), "2 to 1000 choices, got 1001"),
        ([1, 1.0], "distinct choices, got 1.0"),
        ([[1], [1]], "distinct choices"),
        ([math.nan, 1], "must equal itself"),
        ([np.zeros(2), 1], "must equal itself"),
    ],
)
def test_what_is_no_list_of_choices_is_refused(choices, message):
    with pytest.raises(DomainError, match=f"Kind: .*{message}"):
        check_choices("Kind", choices)


def test_choices_that_can_change_are_found_by_equality_and_copied():
    variable = Letters()
    assert variable.parse(["a"]) == [0]
    shown = variable.present([0])
    shown.append("b")
    assert variable.choices[0] == ["a"]
    assert variable.encode([1]) == {"vertex": 1}
    assert variable.decode({"vertex": 1}) == [1]
    for data in ({"vertex": 4}, {"vertex": True}, {}, "d"):
        with pytest.raises(PointError):
            variable.decode(data)
