"""The `default=` of variables: checked at the door, and in a variable's JSON only where it is given."""

import json

import networkx as nx
import numpy as np
import pytest

import bostruct as bo
from bostruct.checks import hide_addresses
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.points import migrate_row
from bostruct.domains.space.registry import KINDS, variable_from_json
from bostruct.domains.space.variable import NO_DEFAULT, Variable
from bostruct.testing import check_variable
from tests.wide_variable import Order

MAKERS = {
    "Binary": (lambda **given: bo.Binary(**given), True, "yes"),
    "Categorical": (lambda **given: bo.Categorical(["a", None, 3.5, float("inf")], **given), None, "b"),
    "Ordinal": (lambda **given: bo.Ordinal([1, 2, 4], **given), 4, 3),
    "Integer": (lambda **given: bo.Integer(0, 10**6, **given), 77, -1),
    "Real": (lambda **given: bo.Real(0.0, 1.0, **given), 0.3, 1.5),
    "Fidelity": (lambda **given: bo.Fidelity([1, 3], **given), 3, 2),
    "Graph": (lambda **given: bo.Graph(nx.cycle_graph(5), **given), 4, 5),
    "Permutation": (lambda **given: bo.Permutation([1, 2, 3], **given), (3, 1, 2), (1, 2)),
    "Subset": (lambda **given: bo.Subset([1, 2, 3], 2, **given), (1, 3), (1, 2, 3)),
    "Sequence": (lambda **given: bo.Sequence("AB", 3, **given), "ABA", "ABAB"),
    "Mixture": (lambda **given: bo.Mixture(["a", "b"], **given), {"a": 0.25, "b": 0.75}, {"a": 0.5}),
    "Allocation": (lambda **given: bo.Allocation(["a", "b"], 3, **given), {"a": 1, "b": 2}, {"a": 1}),
    "Candidates": (lambda **given: bo.Candidates({"a": [1.0, 2.0, 4.0]}, **given), 2, 3),
}


def test_every_kind_is_here():
    assert MAKERS.keys() == KINDS.keys() - {"Fixed"}  # whose default is its only value


@pytest.mark.parametrize("kind", MAKERS)
def test_a_default_is_a_value_and_part_of_the_variable(kind):
    make, value, wrong = MAKERS[kind]
    plain, given = make(), make(default=value)
    assert given.present(given.default_columns) == value
    assert "default" not in plain.to_json()
    assert plain == make(default=NO_DEFAULT)
    assert given != plain
    assert given == make(default=value)
    again = variable_from_json("x", json.loads(json.dumps(given.to_json())))
    assert (again, again.default_columns) == (given, given.default_columns)
    with pytest.raises(DomainError, match=f"{kind}: default: expected"):
        make(default=wrong)
    check_variable(given, np.random.default_rng(0))


def test_a_forged_default_is_refused():
    with pytest.raises(DomainError, match="x: default: expected"):
        variable_from_json("x", {"kind": "Integer", "low": 0, "high": 3, "default": 9})


def test_a_default_changes_no_suggestion():
    points = [
        [t.point for t in bo.minimize(lambda p: p["v"], {"v": variable}, 8, seed=0).trials]
        for variable in (bo.Integer(0, 9), bo.Integer(0, 9, default=4))
    ]
    assert points[0] == points[1]


def test_python_objects_are_told_apart_by_their_text():
    before, after = bo.Categorical([(1,), (2,), (3,)]), bo.Categorical([(3,), (1,)])
    assert after.decode_from(before.encode([2]), before.to_json()) == [0]
    with pytest.raises(PointError, match=r"expected one of .* got \{'repr': '\(2,\)'\}"):
        after.decode_from(before.encode([1]), before.to_json())
    with pytest.raises(PointError, match="expected a choice of the earlier variable"):
        after.decode_from({"vertex": 9}, before.to_json())
    assert hide_addresses("<f at 0x7Fa0>") == "<f>"
    same = bo.Categorical([object(), object()])
    grown = bo.Categorical([*same.choices, 1])
    with pytest.raises(PointError):
        grown.decode_from(same.encode([0]), same.to_json())


def test_a_kind_of_several_columns_reads_its_own_values_alone():
    three, four = Order("abc"), Order("abd")
    assert isinstance(three, Variable)
    assert not isinstance(three, ChoiceVariable)
    columns = three.sample(1, np.random.default_rng(0))[0].tolist()
    assert list(three.decode_from(three.encode(columns), three.to_json())) == columns
    with pytest.raises(PointError, match="its values changed, and Order cannot read the earlier values"):
        four.decode_from(three.encode(columns), three.to_json())


def test_a_point_of_another_space_is_read_or_refused_by_name():
    old, new = bo.Space({"a": bool}), bo.Space({"a": bool, "b": bo.Integer(0, 3, default=2, when={"a": True})})
    assert new.present(migrate_row(new, {"a": True}, old.to_json())) == {"a": True, "b": 2}
    assert new.present(new.decode_from({"a": False}, old.to_json())) == {"a": False}
    with pytest.raises(PointError, match="point: expected a dict of"):
        new.decode_from({"a": True, "c": 1}, old.to_json())
