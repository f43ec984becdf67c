"""The words of `when=`: what it takes, how it reads, and its JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.clauses import (
    OneOf,
    check_when,
    describe_when,
    predicate_name,
    when_from_json,
    when_to_json,
)


def is_large(value: int) -> bool:
    return value > 3


def test_conditions_read_like_sentences():
    described = describe_when({"a": 1, "b": OneOf("x", "y"), "c": is_large})
    assert described == "a is 1 and b is one of 'x', 'y' and c satisfies is_large"
    assert predicate_name(is_large) == "is_large"


def test_conditions_are_a_mapping_of_names():
    assert check_when("Real", None) == {}
    given = {"a": 1}
    own = check_when("Real", given)
    assert own == given
    assert own is not given
    for bad in ({}, 3, "a", [("a", 1)], {1: 2}):
        with pytest.raises(bo.DomainError, match="Real: when: expected a mapping from the names of other variables"):
            bo.Real(0, 1, when=bad)  # type: ignore[arg-type]


def test_one_of_nothing_is_refused():
    with pytest.raises(bo.DomainError, match="OneOf: expected at least one value"):
        OneOf()
    assert repr(OneOf(1, "x")) == "OneOf(1, 'x')"
    assert OneOf(1) == OneOf(1) != OneOf(2)
    assert hash(OneOf(1)) == hash(OneOf(1))


def test_values_survive_a_file_and_code_does_not():
    when = {"a": 1, "b": OneOf("x", float("inf"))}
    assert when_from_json(json.loads(json.dumps(when_to_json(when)))) == when
    with pytest.raises(bo.DomainError, match="the predicate 'is_large' is code, which cannot be stored"):
        when_from_json(when_to_json({"a": is_large}))
    said = r"^the values of a condition or a clause are Python objects, which cannot be stored: \(1, 2\)"
    with pytest.raises(bo.DomainError, match=said):
        when_from_json(when_to_json({"a": (1, 2)}))


@pytest.mark.parametrize("answer", [-23.8, None, 2, "yes", []])
def test_a_predicate_that_answers_neither_true_nor_false_is_refused(answer):
    space = bo.Space({"n": bo.Integer(1, 3)}, constraints=[lambda _: answer])
    with pytest.raises(bo.DomainError, match=r"expected True or False, got"):
        space.sample(1, np.random.default_rng(0))
    with pytest.raises(bo.DomainError, match=r"^c: when: <lambda> failed for n = \d.*expected True or False, got"):
        bo.Space({"n": bo.Integer(1, 3), "c": bo.Real(0.0, 1.0, when={"n": lambda _: answer})})


@pytest.mark.parametrize("answer", [True, np.True_, 1])
def test_one_and_true_of_numpy_are_true(answer):
    space = bo.Space({"n": bo.Integer(1, 3)}, constraints=[lambda _: answer])
    assert space.count().count == 3


def test_a_list_inside_one_of_is_explained():
    with pytest.raises(bo.DomainError, match="OneOf takes the values one by one"):
        bo.Space({"m": ["a", "b"], "c": bo.Real(0.0, 1.0, when={"m": bo.OneOf(["a", "b"])})})


@pytest.mark.parametrize("several", [["svm", "logistic"], ("svm", "logistic"), {"logistic", "svm"}])
def test_a_list_of_values_means_any_of_them(several):
    models = ["svm", "logistic", "knn"]
    given = bo.Real(0.0, 1.0, when={"model": several})
    space = bo.Space({"model": models, "c": given})
    same = bo.Space({"model": models, "c": bo.Real(0.0, 1.0, when={"model": bo.OneOf("svm", "logistic")})})
    assert space == same == bo.Space.from_json(json.loads(json.dumps(space.to_json())))
    assert space.to_json() == same.to_json()
    assert str(space) == str(same)
    assert given.when == {"model": several}
    with pytest.raises(bo.BostructError, match="it exists if model is one of 'svm', 'logistic'"):
        space.parse({"model": "knn", "c": 0.5})


def test_a_list_that_is_a_value_of_the_parent_is_that_value():
    space = bo.Space({"order": bo.Permutation(list("abc")), "c": bo.Binary(when={"order": ["b", "a", "c"]})})
    assert not isinstance(space.variables["c"].when["order"], bo.OneOf)
    rows = space.enumerate()
    assert sum("c" in space.present(row) for row in rows) == 2


def test_lists_beside_another_domain_inside():
    space = bo.Space({"m": ["a", "b", "c"], "n": {"x": bool}, "c": bo.Binary(when={"m": ["a", "c"]})})
    points = [space.present(x) for x in space.sample(60, np.random.default_rng(0))]
    assert {point["m"] for point in points if "c" in point} == {"a", "c"}
    assert {point["m"] for point in points if "c" not in point} == {"b"}


def test_a_space_shows_its_conditions():
    space = bo.Space(
        {
            "model": ["gbm", "svm", "knn"],
            "rate": bo.Real(0.001, 1.0, log=True, when={"model": "gbm"}),
            "c": bo.Integer(1, 4, when={"model": bo.OneOf("svm", "knn")}),
            "k": bo.Ordinal([1, 2], when={"model": "svm", "c": is_large}),
        }
    )
    shown = [repr(one) for one in space.variables.values()]
    assert shown == [
        "Categorical(['gbm', 'svm', 'knn'])",
        "Real(0.001, 1.0, log=True, when={'model': 'gbm'})",
        "Integer(1, 4, when={'model': OneOf('svm', 'knn')})",
        "Ordinal([1, 2], when={'model': 'svm', 'c': is_large})",
    ]
    assert "when={'model': 'gbm'}" in repr(space)
    assert space._repr_html_().count("when={&#x27;model&#x27;: ") == 3


@pytest.mark.parametrize("beside", [{}, {"net": bo.mlp_domain()}])
def test_a_space_is_printed_in_full(beside):
    wide = {f"width{i}": bo.Integer(2, 32, when={"n": bo.OneOf(*range(i, 9))}) for i in range(2, 8)}
    space = bo.Space({"n": bo.Integer(1, 8), **wide, **beside}, constraints=[is_large])
    lines = str(space).splitlines()
    assert lines[:2] + lines[-1:] == ["Space({", "    'n': Integer(1, 8),", "}, 1 constraint)"]
    assert "    'width7': Integer(2, 32, when={'n': OneOf(7, 8)})," in lines
    assert len(lines) == 2 + 7 + len(beside)


@pytest.mark.parametrize(
    "kind", [bo.Permutation([1, 2, 3]), bo.Subset([1, 2, 3], size=2), bo.Sequence("ab", 3), bo.Binary()]
)
def test_each_kind_shows_its_conditions(kind):
    before = repr(kind)
    kind.when = {"a": True}
    assert repr(kind) == f"{before[:-1]}, when={{'a': True}})"


def test_a_wide_space_of_conditions_is_shown_in_short():
    wide = {f"v{i}": bo.Binary(when={"a": True}) for i in range(500)}
    assert len(repr(bo.Space({"a": bool, **wide}))) < 220
    assert repr(bo.Space({"a": bool, **wide})).endswith("'v2': Binary([False, True], when={'a': True}), ... 497 more})")
    assert str(bo.Space({"a": bool, **wide})).count("when={'a': True}") == 500
    many = bo.Binary(when={"a": bo.OneOf(*range(500))})
    assert len(repr(many)) < 130
