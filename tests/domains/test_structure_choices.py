"""Structures as choices: what each column says, which values stand for all, and what is no choice."""

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.part_choices import MARK, MOST_VALUES, StructureChoices, draw_values, list_choices
from tests.wide_variable import Order


def list_values(variable, value):
    return [(one.value, one.count, one.ordered) for one in list_choices("v", variable, variable.parse(value))]


def test_an_order_tells_the_place_of_each_item_and_others_their_columns():
    assert list_values(bo.Permutation(list("abc")), ("c", "a", "b")) == [(1, 3, True), (2, 3, True), (0, 3, True)]
    some = bo.Permutation(list("abcd"), length=2)
    assert list_values(some, ("d", "b")) == [(2, 3, True), (1, 3, True), (2, 3, True), (0, 3, True)]
    assert list_values(bo.Subset(list("abc"), 2), ("a", "c")) == [(1, 2, True), (0, 2, True), (1, 2, True)]
    assert list_values(bo.Sequence("AB", (1, 3)), "BA") == [(1, 3, False), (0, 3, False), (2, 3, False)]


def test_a_long_sequence_over_many_letters_has_ordered_codes():
    letters = [f"letter {i}" for i in range(50)]
    assert {one[2] for one in list_values(bo.Sequence(letters, 50), letters)} == {True}


def test_few_values_are_all_listed_by_their_chances_and_of_many_some_are_drawn():
    few = bo.Sequence("AB", (1, 2))
    values, weights = draw_values("q", few, np.random.default_rng(0))
    assert len(values) == few.size
    np.testing.assert_allclose(weights, few.chances(few.enumerate()))
    values, weights = draw_values("p", bo.Permutation(range(9)), np.random.default_rng(0))
    assert (len(values), weights.sum()) == (MOST_VALUES, pytest.approx(1.0))
    assert {one.path for one in values[0]} == {f"p{MARK}{i}" for i in range(9)}


def test_a_kind_whose_columns_are_no_choices_is_left_out():
    order = bo.Permutation(["x", "y"], when={"b": True})
    view = StructureChoices(bo.Space({"own": Order("abc"), "b": bool, "p": order}))
    assert (view.left_out, list(view.structures)) == (("own",), ["p"])
    point = view.domain.parse({"own": ["a", "c", "b"], "b": True, "p": ["y", "x"]})
    assert [one.path for one in view.coordinates(point)] == ["b", f"p{MARK}0", f"p{MARK}1"]
    absent = view.domain.parse({"own": ["a", "c", "b"], "b": False})
    assert [one.path for one in view.coordinates(absent)] == ["b"]
