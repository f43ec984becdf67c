"""Counting the points of a space with conditions, without listing them."""

from __future__ import annotations

import itertools

import pytest

import bostruct as bo
from bostruct.contracts import INFINITE, AtLeast, Exact
from bostruct.domains.space.conditions import ParentTest, PointCount, count_points, split_into_classes


def is_round(value: float) -> bool:
    return value == round(value)


def test_values_are_sorted_by_the_tests_that_hold():
    parent = bo.Integer(0, 9)
    tests = [ParentTest("x", "p", parent, 3), ParentTest("y", "p", parent, lambda v: v < 5)]
    found = split_into_classes(parent, tests)
    assert dict(found.sizes) == {(True, True): 1, (False, True): 4, (False, False): 5}
    assert found.is_exact


def test_predicates_of_too_many_values_bound_the_count():
    rate = bo.Real(0.0, 1.0)
    tests = [ParentTest("x", "p", rate, is_round), ParentTest("y", "p", rate, 0.5)]
    found = split_into_classes(rate, tests)
    assert not found.is_exact
    assert (((False, True), 1)) in found.sizes
    assert {holds for holds, _ in found.sizes} == {(False, True), (False, False), (True, False)}
    assert split_into_classes(rate, tests[1:]).is_exact


def test_a_long_chain_is_counted_at_once():
    variables = {"v0": bo.Categorical([0, 1, 2])}
    for i in range(1, 600):
        variables[f"v{i}"] = bo.Categorical([0, 1, 2], when={f"v{i - 1}": bo.OneOf(0, 1)})
    space = bo.Space(variables)
    expected = 3  # ways to end: v0 = 2, or two ways on
    for _ in range(599):
        expected = 1 + 2 * expected
    assert space.count() == Exact(expected)


def test_many_switches_are_counted_one_by_one():
    switched = {f"x{i}": bo.Integer(1, 9, when={f"on{i}": True}) for i in range(40)}
    space = bo.Space({f"on{i}": bool for i in range(40)} | switched)
    assert space.count() == Exact(10**40)
    assert space.n_points == 10**40


def test_too_many_open_settings_give_a_bound(monkeypatch):
    parents = {f"p{i}": bool for i in range(6)}
    last = bo.Binary(when={name: True for name in parents})
    space = bo.Space({**parents, "last": last})
    assert space.count() == Exact(2**6 + 1)
    monkeypatch.setattr("bostruct.domains.space.conditions.MAX_OPEN_SETTINGS", 8)
    conditions = bo.Space({**parents, "last": last}).conditions
    assert not conditions.is_exact
    assert conditions.n_points >= 2**6 + 1


def test_numbers_without_end():
    assert bo.Space({"a": bool, "r": bo.Real(0, 1, when={"a": True})}).count() == INFINITE
    assert bo.Space({f"b{i}": bool for i in range(70)}).count() == Exact(2**70)
    assert bo.Space({f"b{i}": bool for i in range(70)}, [lambda p: p["b0"]]).count() == AtLeast(1)
    assert bo.Space({"a": bool, "b": bool}, [lambda p: p["a"]]).count() == Exact(2)


@pytest.mark.parametrize("seed", range(5))
def test_counts_by_hand(seed):
    sizes = [2 + (seed + i) % 3 for i in range(3)]
    space = bo.Space(
        {
            "a": list(range(sizes[0])),
            "b": bo.Categorical(list(range(sizes[1])), when={"a": 1}),
            "c": bo.Categorical(list(range(sizes[2])), when={"a": bo.OneOf(0, 1), "b": 0}),
        }
    )
    by_hand = sizes[0] - 1 + sizes[1] - 1 + sizes[2]
    found = count_points(space.conditions.variables, space.conditions.links, _classes(space))
    assert found == PointCount(by_hand, True, (True, True, True))


def _classes(space):
    links = list(itertools.chain.from_iterable(space.conditions.links))
    parents = sorted({link.parent for link in links})
    variables = space.conditions.variables
    return {p: split_into_classes(variables[p], [link.test for link in links if link.parent == p]) for p in parents}


def test_a_number_of_points_that_predicates_leave_open_is_shown_as_a_bound():
    def make(size):
        asks = bo.Integer(0, 1, when={"s": lambda chosen: 0 in chosen})
        return bo.Space({"s": bo.Subset(range(20), size), "x": asks})

    few, many = make(2), make(10)
    assert few.count() == Exact(190 + 19)
    assert ", 209 points" in few._repr_html_()
    assert many.n_points > 184_756 + 92_378  # each subset, and once more those that have the item
    assert many.count() == AtLeast(1)
    assert f", at most {many.n_points:,} points" in many._repr_html_()
