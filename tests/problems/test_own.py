"""A problem of the user's own: what it is made of, what is refused, and the points that its runs begin with."""

from functools import partial

import pytest

import bostruct as bo
from bostruct.problems.base import draw_points
from bostruct.problems.own import Problem, as_problem

SPACE = {"a": range(5), "b": bool}


def cost(point, weight=1.0):
    return weight * point["a"] + point["b"]


def test_it_has_the_name_of_its_objective_unless_told():
    assert [Problem(one, SPACE).name for one in (cost, partial(cost, weight=2.0))] == ["cost", "cost"]
    assert Problem(cost, SPACE, name="bread").name == "bread"
    assert as_problem("problem", bo.Problem(cost, SPACE), "other").name == "other"


def test_initial_points_are_drawn_given_or_made_for_a_seed():
    drawn = Problem(cost, SPACE)
    assert drawn.initial_points(3) == drawn.initial_points(3) != drawn.initial_points(4)
    assert len({str(point) for point in Problem(cost, SPACE, initial=40).initial_points(0)}) == 10  # all there are
    assert Problem(cost, SPACE, initial=0).initial_points(0) == []
    point = {"a": 1, "b": True}
    assert Problem(cost, SPACE, initial=[point]).initial_points(7) == [point]
    made = Problem(cost, SPACE, initial=lambda seed: [{"a": seed, "b": True}])
    assert made.initial_points(2) == [{"a": 2, "b": True}]


def test_drawn_points_are_distinct_points_of_the_domain():
    space = bo.Space(SPACE)
    assert {space.key(space.parse(point)) for point in draw_points(space, 10, 1)} == set(space.keys(space.enumerate()))


REFUSED = [
    (((3, SPACE), {}), "objective: expected a function of a point, got 3"),
    (((cost, 3), {}), "space: expected a Space, a dict of variables or a bostruct.contracts.Domain .*, got 3"),
    (((cost, SPACE), {"name": ""}), "name: expected a non-empty string"),
    (((cost, SPACE), {"initial": -1}), "initial: expected at least 0"),
    (((cost, SPACE), {"initial": True}), "initial: expected a number of points"),
    (((cost, SPACE), {"initial": {"a": 1}}), "initial: expected a number of points"),
    (((cost, SPACE), {"direction": "min"}), "direction: expected one of minimize, maximize"),
    (((cost, SPACE), {"optimum": 1.0, "directions": ["minimize"] * 2}), "optimum: expected None for several"),
    (((cost, SPACE), {"reference": [1.0], "directions": ["minimize"] * 2}), "reference: expected 2 numbers"),
    (((cost, SPACE), {"reference": [1.0, "a"], "directions": ["minimize"] * 2}), r"reference\[1\]: expected"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED)
def test_what_is_no_problem_is_refused(arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Problem(*arguments[0], **arguments[1])


@pytest.mark.parametrize("given", [3, (1, 2, 3), object(), (cost,)])
def test_what_cannot_be_read_as_one_is_refused(given):
    with pytest.raises(ValueError, match=r"problems: expected a bostruct.Problem, a pair \(objective, space\)"):
        as_problem("problems", given)
