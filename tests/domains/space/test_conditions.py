"""Variables under conditions: which exist, how points are drawn, changed, read and refused."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.domains.registry import domain_from_json
from bostruct.domains.space.conditions import Conditions
from bostruct.domains.space.variable import INACTIVE
from bostruct.testing import check_domain
from tests.conditional_spaces import conditional_spaces, finite_space, training_space


def exists(space: bo.Space, name: str, point: dict) -> bool:
    """The meaning of `when=`, word by word."""
    for parent, test in space.variables[name].when.items():
        if parent not in point:
            return False
        if isinstance(test, bo.OneOf):
            holds = point[parent] in test.values
        else:
            holds = test(point[parent]) if callable(test) else point[parent] == test
        if not holds:
            return False
    return True


def brute_force(space: bo.Space) -> set[str]:
    """All points, from the product of all choices."""
    found = set()
    for values in itertools.product(*(v.choices for v in space.variables.values())):
        point = dict(zip(space.variables, values, strict=True))
        for _ in space.variables:  # as often as conditions can nest
            point = {name: value for name, value in point.items() if exists(space, name, point)}
        found.add(json.dumps(point, sort_keys=True))
    return found


@pytest.mark.parametrize("make", [training_space, finite_space])
def test_the_laws_of_domains(make):
    check_domain(make(), np.random.default_rng(0), rebuildable=make is finite_space)


@given(conditional_spaces(), st.integers(0, 100))
@settings(max_examples=15, deadline=None)
def test_the_laws_of_random_spaces(space, seed):
    predicates = any(callable(test) for v in space.variables.values() for test in v.when.values())
    check_domain(space, np.random.default_rng(seed), rebuildable=not predicates)


@given(conditional_spaces())
@settings(max_examples=60, deadline=None)
def test_points_are_those_that_the_words_say(space):
    listed = [json.dumps(space.present(x), sort_keys=True) for x in space.enumerate()]
    assert (len(set(listed)), set(listed)) == (len(listed), brute_force(space))
    rows = space.enumerate().tolist()
    assert rows == sorted(rows), "the last variable fastest"
    assert space.count().count == len(listed) == space.n_points
    drawn = {json.dumps(space.present(x), sort_keys=True) for x in space.sample(200, np.random.default_rng(0))}
    assert drawn <= set(listed)


def test_branches_have_equal_chances():
    space = bo.Space({"branch": ["a", "b"], "many": bo.Integer(1, 1000, when={"branch": "a"})})
    shown = [space.present(x) for x in space.sample(2_000, np.random.default_rng(0))]
    share = sum(point["branch"] == "a" for point in shown) / len(shown)
    assert 0.46 < share < 0.54, "a branch of 1,000 points is as likely as one of a single point"
    values = [point["many"] for point in shown if point["branch"] == "a"]
    assert 450 < np.mean(values) < 550


def test_a_point_has_what_its_conditions_ask_for_and_nothing_else():
    space = training_space()
    for x in space.sample(100, np.random.default_rng(0)):
        point = space.present(x)
        assert set(point) == {name for name in space.variables if exists(space, name, point)}
        assert np.array_equal(space.parse(point), x)
        assert np.array_equal(space.decode(json.loads(json.dumps(space.encode(x)))), x)
        assert set(space.names(x)) == {one.path for one in space.coordinates(x)} == set(point)


REFUSED_POINTS = [
    ({"a": 0, "b": "x", "d": True}, "b: expected no value, because it exists if a is one of 1, 2; got 'x'"),
    ({"a": 1, "c": True, "d": True, "e": 1}, "b: expected a value, because it exists if a is one of 1, 2; it"),
    ({"a": 1, "b": "x", "c": False, "d": True, "e": 1}, "e: expected no value, because it exists if c is True; got"),
    ({"a": 1, "b": "x", "c": True, "d": True, "e": 3}, r"e: expected one of \[1, 2, 4, 8\], got 3"),
    ({"b": "x"}, "point: missing a, d"),
]


@pytest.mark.parametrize(("point", "message"), REFUSED_POINTS)
def test_points_that_break_conditions_are_refused_by_name(point, message):
    with pytest.raises(bo.BostructError, match=message):
        finite_space().parse(point)


def test_rows_that_break_conditions_are_refused():
    space = finite_space()
    x = space.parse({"a": 0, "d": True})
    for column, vertex, words in (
        (2, 0, "b: expected no value; it exists if"),
        (1, 1, "b: expected a value; it exists if"),
        (1, INACTIVE, "a: expected a vertex"),
    ):
        with pytest.raises(bo.BostructError, match=words):
            space.check(np.where(np.arange(5) == column, vertex, x))


def never(value: object) -> bool:
    return value == "nothing"


REFUSED_CONDITIONS = [
    ({"a": bo.Binary(when={"b": True}), "b": bo.Binary(when={"a": True})}, "form a cycle: a on b on a"),
    ({"a": bo.Binary(when={"a": True})}, "form a cycle: a on a"),
    ({"rate": bool, "b": bo.Binary(when={"rat": True})}, "b: when: there is no variable 'rat'.*mean 'rate'"),
    ({"a": bool, "b": bo.Binary(when={"a": 3})}, r"b: when: a: expected one of \[False, True\], got 3"),
    ({"a": [1, 2], "b": bo.Binary(when={"a": [1, 9]})}, r"a: expected one of \[1, 2\], got 9; the nearest is 2$"),
    ({"a": [1, 2], "b": bo.Binary(when={"a": [8, 9]})}, r"expected one of \[1, 2\], got \[8, 9\]$"),
    (
        {"a": range(9), "b": bo.Binary(when={"a": range(2, 5)})},
        r"got range\(2, 5\); write list\(range\(2, 5\)\), or a fun",
    ),
    (
        {"a": [1, 2], "b": bo.Binary(when={"a": []})},
        r"expected one of \[1, 2\], got \[\]; an empty list matches no value$",
    ),
    (
        {"a": [1, 2], "b": bo.Binary(when={"a": never})},
        "b: .*has this variable: it never holds that a satisfies never$",
    ),
    (
        {"a": [1, 2], "b": bo.Binary(when={"a": 1}), "c": bo.Binary(when={"a": 2, "b": True})},
        "c: when: no point has this variable: it never holds that a is 2 and b is True",
    ),
    ({"a": [1, 2], "b": bo.Binary(when={"a": lambda a: a.x})}, "b: when: <lambda> failed for a = 1: Attr"),
]


@pytest.mark.parametrize(("variables", "message"), REFUSED_CONDITIONS)
def test_conditions_that_cannot_be_are_refused_by_name(variables, message):
    with pytest.raises(bo.DomainError, match=message):
        bo.Space(variables)


def test_a_constraint_that_asks_for_a_missing_variable_is_named():
    def low_momentum(point):
        return point["momentum"] < 0.5

    space = bo.Space(training_space().variables, [low_momentum])
    with pytest.raises(
        bo.DomainError, match=r"low_momentum reads momentum.*optimizer is 'sgd'.*get\('momentum', VALUE\)"
    ):
        space.sample(50, np.random.default_rng(0))


def test_constraints_get_the_variables_that_a_point_has():
    asked = []

    def few(point):
        asked.append(set(point))
        return point.get("e", 0) < 8 and point["d"]

    space = bo.Space(finite_space().variables, [few])
    check_domain(space, np.random.default_rng(0), rebuildable=False)
    assert {"a", "d"} in asked
    assert {"a", "b", "c", "d", "e"} in asked
    listed = set(space.keys(space.enumerate()))
    assert set(space.keys(space.sample(50, np.random.default_rng(0)))) <= listed


def test_tight_constraints_are_met_by_walks(rng):
    variables = {f"on_{i}": bool for i in range(20)}
    variables |= {f"dose_{i}": bo.Integer(0, 99, when={f"on_{i}": True}) for i in range(20)}
    few = [lambda p: sum(p[f"on_{i}"] for i in range(20)) <= 3]
    space = bo.Space(variables, [*few, lambda p: sum(p.get(f"dose_{i}", 0) for i in range(20)) < 60])
    drawn = space.sample(10, rng)
    for x in (*drawn, space.mutate(drawn[0], rng), space.sample_unseen(frozenset(), rng)):
        space.check(x)


def test_a_file_holds_conditions_on_values_and_refuses_code():
    space = finite_space()
    assert domain_from_json(json.loads(json.dumps(space.to_json()))) == space
    with pytest.raises(bo.DomainError, match="the predicate 'has_momentum' is code, which cannot be stored"):
        domain_from_json(training_space().to_json())


def test_spaces_that_differ_in_a_condition_differ():
    def make(test):
        return bo.Space({"a": [1, 2, 3], "b": bo.Binary(when={"a": test})})

    assert make(1) == make(1)
    for one, other in ((1, 2), (bo.OneOf(1, 2), bo.OneOf(1, 3)), (lambda a: a == 1, 1), (1, lambda a: a == 1)):
        assert make(one) != make(other)


def test_settling_draws_what_becomes_active_alone():
    space = finite_space()
    conditions = Conditions(space.variables, space.layout)
    row = np.array([[INACTIVE, 1, INACTIVE, 0, 3]])
    settled = conditions.apply_with_fallbacks(row.copy())[0]
    assert settled.tolist() == [0, 1, 0, 0, INACTIVE], "b and c get their first choices, and without c there is no e"
    assert conditions.find_broken(settled) is None
    assert conditions.find_broken(row[0]) is not None


def test_children_have_what_their_parents_have(rng):
    space = training_space()
    first, second = space.sample(2, rng)
    sgd = space.parse({"optimizer": "sgd", "momentum": 0.25, "layers": 1})
    adam = space.parse({"optimizer": "adam", "beta": 0.99, "layers": 1})
    for _ in range(20):
        assert space.key(space.crossover(sgd, adam, rng)) in space.keys(np.array([sgd, adam]))
        space.check(space.crossover(first, second, rng))


def test_a_predicate_of_few_choices_is_a_table_which_answers_for_many_points_at_once():
    space = bo.Space({"a": [1, 2, 3], "b": bo.Binary(when={"a": lambda a: a > 1})})
    ((link,),) = filter(None, space.conditions.links)
    assert link.test._table.tolist() == [False, True, True]
