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
)


def test_clauses_answer_as_they_read():
    clause = Not(
        AnyOf((AllOf((ValueOf("a", Compare(">", 1)), ValueOf("b", IsIn(("x",))))), CompareVariables("a", "<", "c")))
    )
    assert repr(clause) == "not ((a > 1 and b in ['x']) or a < c)"
    assert clause({"a": 1, "b": "x", "c": 0})
    assert not clause({"a": 2, "b": "x", "c": 0})
    assert not clause({"a": 2, "b": "y", "c": 3})
    assert clause({"a": 2, "b": "y"})  # a comparison with what a point has not fails


@pytest.mark.parametrize(
    "clause",
    [
        Compare("<=", 2.5),
        IsIn((1, "a", None, float("inf"))),
        Not(AnyOf((CompareVariables("a", "<", "b"), AllOf((ValueOf("a", Compare("!=", 1)),))))),
    ],
)
def test_clauses_survive_pickle_and_json(clause: Clause):
    assert pickle.loads(pickle.dumps(clause)) == clause
    assert clause_from_json(clause.to_json()) == clause


def test_clauses_of_another_form_are_refused():
    with pytest.raises(bo.DomainError, match="relation: expected one of"):
        Compare("=", 1)
    with pytest.raises(bo.DomainError, match="clause: expected a dict with one of"):
        clause_from_json({"xor": []})
