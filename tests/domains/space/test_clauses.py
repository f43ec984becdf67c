"""Predicates that are data: what they answer, and that files and other processes hold them."""

from __future__ import annotations

import pickle

import pytest

import bostruct as bo
from bostruct.domains.space.clauses import (
    AllOf,
    AnyOf,
    Clause,
    Compare,
    CompareVariables,
    IsIn,
    Not,
    ValueOf,
    clause_from_json,
    list_leaves,
)


def test_clauses_answer_as_they_read():
    inner = AllOf((ValueOf("a", Compare(">", 1)), ValueOf("b", IsIn(("x",)))))
    clause = Not(AnyOf((inner, CompareVariables("a", "<", "c"))))
    assert repr(clause) == "not ((a > 1 and b in ['x']) or a < c)"
    assert clause({"a": 1, "b": "x", "c": 0})
    assert not clause({"a": 2, "b": "x", "c": 0})
    assert not clause({"a": 2, "b": "y", "c": 3})
    assert clause({"a": 2, "b": "y"})  # a comparison with what a point has not fails


STORED = [
    Compare("<=", 2.5),
    IsIn((1, "a", None, float("inf"))),
    Not(AnyOf((CompareVariables("a", "<", "b"), AllOf((ValueOf("a", Compare("!=", 1)),))))),
]


@pytest.mark.parametrize("clause", STORED)
def test_clauses_survive_pickle_and_json(clause: Clause):
    assert (pickle.loads(pickle.dumps(clause)), clause_from_json(clause.to_json())) == (clause, clause)


def test_clauses_of_another_form_are_refused():
    with pytest.raises(bo.DomainError, match="relation: expected one of"):
        Compare("=", 1)
    with pytest.raises(bo.DomainError, match="clause: expected a dict with one of"):
        clause_from_json({"xor": []})
    with pytest.raises(bo.DomainError, match="> would compare strings letter by letter"):
        Compare(">", "mid")


def nest(data: object, times: int) -> object:
    for _ in range(times):
        data = {"not": data}
    return data


MALFORMED = [
    {"left": 1, "relation": "<", "right": 2},
    {"left": "x", "relation": []},
    {"relation": "<"},
    {"relation": ["<"], "value": 1},
    {"relation": "==", "value": {"infinity": "+"}},
    {"in": 3},
    {"in": "abc"},
    {"of": 3, "test": {"in": [1]}},
    {"of": "x"},
    {"all": 5},
    {"any": "xy"},
    {"not": None},
    nest({"of": "x", "test": {"in": [1]}}, 5000),
    nest({"of": "x", "test": {"in": [1]}}, 99),  # 101 clauses
    None,
    [],
]


@pytest.mark.parametrize("data", MALFORMED, ids=range(16))
def test_malformed_json_is_refused_in_words(data):
    variables = {"x": bo.Integer(0, 9).to_json()}
    with pytest.raises(bo.DomainError, match=r"clause: expected|relation: expected|left: expected|name: expected"):
        bo.Space.from_json({"domain": "space", "variables": variables, "constraints": [data]})


def test_clauses_nest_a_hundred_deep_and_no_deeper():
    data = nest({"of": "x", "test": {"in": [1]}}, 98)
    clause = clause_from_json(data)
    assert bo.Space.from_json(bo.Space({"x": bo.Integer(0, 9)}, [clause]).to_json()).constraints == (clause,)
    with pytest.raises(bo.DomainError, match="expected at most 100 nested clauses"):
        bo.Space({"x": bo.Integer(0, 9)}, [Not(clause)])


def test_leaves_are_what_others_join():
    leaves = ValueOf("a", IsIn((1,))), CompareVariables("a", "<", "b"), ValueOf("b", Not(IsIn((1,))))
    found = list(list_leaves(Not(AnyOf((leaves[0], AllOf(leaves[1:]))))))
    assert found == [(leaves[0], 3), (leaves[1], 4), (leaves[2], 4)]
