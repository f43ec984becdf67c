"""Conditions on other domains: what they accept, which variables stand for them, and what they refuse."""

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.mixed import PartTest, split_conditions

INNER = bo.Space({"depth": [1, 2, 3], "wide": bool})
FLAT = {"depth": 1, "wide": False}


def is_deep(part: dict) -> bool:
    return part["depth"] > 1


def forgets(part: dict) -> bool:
    return part["height"] > 1


def holds(test: object) -> list[bool]:
    one = PartTest("label", 1, "rate", "inner", INNER, test)
    return [one.holds(x) for x in INNER.enumerate()]


def test_a_value_one_of_several_and_a_predicate():
    every = [INNER.present(x) for x in INNER.enumerate()]
    assert holds(FLAT) == [point == FLAT for point in every]
    assert holds(bo.OneOf(FLAT, {"depth": 3, "wide": True})) == [True, False, False, False, False, True]
    assert holds(is_deep) == [point["depth"] > 1 for point in every]


def test_a_predicate_is_asked_once_for_each_point():
    calls = []
    one = PartTest("label", 1, "rate", "inner", INNER, lambda part: calls.append(part) or True)
    for _ in range(3):
        assert all(one.holds(x) for x in INNER.enumerate())
    assert len(calls) == 6


def test_variables_with_the_same_condition_share_a_test():
    variables = {
        "rate": bo.Real(0.0, 1.0, when={"inner": is_deep}),
        "decay": bo.Real(0.0, 1.0, when={"inner": is_deep, "rate": lambda rate: rate > 0.5}),
        "other": bo.Real(0.0, 1.0, when={"inner": lambda part: part["wide"]}),
        "third": bo.Real(0.0, 1.0, when={"inner": lambda part: not part["wide"]}),
    }
    found, tests = split_conditions(variables, {"inner": INNER})
    labels = ["inner satisfies is_deep", "inner satisfies <lambda>", "inner satisfies <lambda> (2)"]
    assert [one.label for one in tests] == labels
    assert (list(found), found["rate"].when) == ([*variables, *labels], {labels[0]: True})
    assert set(found["decay"].when) == {labels[0], "rate"}
    assert variables["rate"].when == {"inner": is_deep}, "the user's variable stays what it is"


def test_refusals_name_variable_and_part():
    with pytest.raises(DomainError, match=r"^rate: when: inner: depth: expected one of .* got 7"):
        PartTest("label", 1, "rate", "inner", INNER, {"depth": 7, "wide": False})
    failing = PartTest("label", 1, "rate", "inner", INNER, forgets)
    with pytest.raises(DomainError, match=r"^rate: when: forgets failed for inner = .*KeyError"):
        failing.holds(np.array([0, 0]))
