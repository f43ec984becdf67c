"""Clauses that could never apply are refused by name when a space is built or read."""

from __future__ import annotations

import pytest

import bostruct as bo
from bostruct.domains.space.clauses import AllOf, AnyOf, Clause, Compare, CompareVariables, IsIn, Not, ValueOf
from bostruct.domains.space.conditions import check_value_test
from bostruct.study.space_changes import SpaceChanged

VALUES = {
    "a": ["u", "v"],
    "x": bo.Integer(0, 9),
    "y": bo.Integer(0, 9),
    "rate": bo.Real(0.0, 1.0),
    "size": bo.Ordinal(["small", "mid", "large"]),
    "order": bo.Permutation(["p", "q", "r"]),
    "word": bo.Sequence("AB", length=2),
}
REFUSED = [
    (ValueOf("X", Compare(">", 3)), r"constraints: 0: X > 3: there is no variable 'X'; .* Did you mean 'x'\?"),
    (CompareVariables("x", "<", "Y"), r"there is no variable 'Y'; .* Did you mean 'y'\?"),
    (ValueOf("a", Compare("==", "w")), r"a == 'w': expected one of \['u', 'v'\], got 'w'"),
    (ValueOf("a", IsIn(("u", "w"))), r"a in \['u', 'w'\]: expected one of \['u', 'v'\], got 'w'"),
    (ValueOf("x", Compare("!=", 10)), r"x != 10: expected .* got 10"),
    (ValueOf("rate", Compare("==", 1 / 3)), "the variable has no 0.333"),
    (ValueOf("order", Compare("==", ["p", "r", "q"])), "the variable has no .* the nearest is"),
    (ValueOf("size", Compare(">", 1)), "> compares only numbers, not values such as 'small'; .* IsIn"),
    (ValueOf("word", Compare(">", 1)), "> compares only numbers, not values such as"),
    (ValueOf("order", Compare("<", 1)), r"< compares only numbers, not values such as \('p', 'q', 'r'\); .* IsIn"),
    (CompareVariables("order", "<", "x"), "order: < compares only numbers"),
    (CompareVariables("size", "<=", "x"), "size: <= compares only numbers, not values such as 'small'"),
    (ValueOf("x", Compare(">", None)), "> does not compare .* with None"),
    (Compare(">", 3), r"expected a test of a point, such as ValueOf\(name, Compare"),
    (ValueOf("x", ValueOf("y", Compare(">", 3))), "expected Compare or IsIn, a test of a value; got y > 3"),
    (ValueOf("x", AllOf((Compare(">", 1), IsIn((11,))))), "got 11"),
    (Not(len), "clause: expected a clause such as ValueOf"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("clause", "words"), REFUSED, ids=lambda given: str(given)[:40])
@pytest.mark.parametrize("others", [{}, {"inner": {"flip": bool}}], ids=["plain", "mixed"])
def test_a_space_refuses_what_no_point_could_answer(clause: Clause, words: str, others: dict):
    with pytest.raises(bo.DomainError, match=words):
        bo.Space(VALUES | others, [Not(AnyOf((ValueOf("x", Compare(">", 3)), clause)))])


def test_what_a_space_has_is_accepted():
    rules = [
        Not(ValueOf("x", Compare(">", 30))),  # a bound outside of the range is no mistake
        Not(ValueOf("rate", Compare(">=", 1 / 3))),
        Not(ValueOf("word", IsIn(("AB",)))),
        Not(ValueOf("size", IsIn(("mid", "large")))),
        CompareVariables("x", "<", "y"),
        CompareVariables("a", "!=", "size"),
    ]
    space = bo.Space(VALUES, rules)
    assert bo.Space.from_json(space.to_json()) == space
    assert bo.Space(VALUES, [Not(ValueOf("order", Compare("==", ("p", "r", "q"))))]) is not None
    assert bo.Space(VALUES | {"inner": {"flip": bool}}, [Not(ValueOf("inner", IsIn(({"flip": True},))))]) is not None


def test_counts_agree_with_a_function():
    names = {"a": ["u", "v"], "x": bo.Integer(0, 9)}
    assert bo.Space(names, [Not(ValueOf("x", Compare(">", 3)))]).count().count == 8
    assert bo.Space(names, [lambda point: point["x"] <= 3]).count().count == 8


REFUSED_CONDITIONS = [
    (IsIn(("mid", "huge")), "y: when: size in .*: expected one of .* got 'huge'"),
    (Not(ValueOf("size", IsIn(("mid",)))), "y: when: size .* expected Compare or IsIn, a test of a value"),
    (Compare(">", 2), "y: when: size > 2: > compares only numbers"),
]


@pytest.mark.parametrize(("test", "words"), REFUSED_CONDITIONS)
def test_when_refuses_a_test_that_could_never_apply(test: Clause, words: str):
    with pytest.raises(bo.DomainError, match=words):
        bo.Space({"size": bo.Ordinal(["small", "mid", "large"]), "y": bo.Real(0, 1, when={"size": test})})


def test_names_where_the_mistake_is():
    check_value_test(IsIn((3,)), bo.Integer(0, 9), "here")
    with pytest.raises(bo.DomainError, match=r"^here: "):
        check_value_test(IsIn((13,)), bo.Integer(0, 9), "here")


def test_a_space_that_changed_works_or_is_refused_in_words(tmp_path):
    told = {"method": "random", "seed": 0, "storage": tmp_path / "runs.db"}
    rule = [Not(ValueOf("x", Compare("==", 9)))]
    bo.minimize(lambda point: float(point["x"]), bo.Space({"x": bo.Integer(0, 9)}, rule), n_trials=6, **told)
    with pytest.raises(bo.DomainError, match=r"x == 9: expected .* got 9"):
        bo.Space({"x": bo.Integer(0, 5)}, rule)  # the clause goes with the value
    with pytest.raises(bo.DomainError, match="there is no variable 'x'"):
        bo.Space({"n": bo.Integer(0, 9)}, rule)
    with pytest.warns(SpaceChanged), bo.Study(bo.Space({"x": bo.Integer(0, 5)}), **told) as study:
        assert study.n_finished == 6
    with bo.Study.load(tmp_path / "runs.db") as study:
        assert study.ask().point["x"] <= 5


def test_a_study_stored_with_an_unknown_name_goes_on_without_it(tmp_path, monkeypatch):
    path, names = tmp_path / "runs.db", {"x": bo.Integer(0, 9)}
    with monkeypatch.context() as before:
        before.setattr("bostruct.domains.space.space.check_constraints", lambda *_: None)  # as earlier versions did
        misspelled = bo.Space(names, [Not(ValueOf("X", Compare(">", 7)))])
        bo.minimize(lambda point: float(point["x"]), misspelled, n_trials=4, method="random", seed=0, storage=path)
    with pytest.raises(bo.BostructError, match="there is no variable 'X'"):
        bo.Study.load(path)
    with bo.Study.load(path, space=bo.Space(names, [Not(ValueOf("x", Compare(">", 8)))])) as study:
        assert study.n_finished == 4
