"""What a condition leaves out is no part of a point, whatever an objective asks for."""

from __future__ import annotations

import pytest

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.integrations.optuna_spaces import drop_inactive

NESTED = bo.Space(
    {
        "deep": bo.Real(0.0, 1.0, when={"wide": bo.OneOf(3, 4)}),
        "wide": bo.Integer(1, 4, when={"kind": "b"}),
        "kind": ["a", "b"],
    }
)
MIXED = bo.Space(
    {
        "net": {"depth": bo.Integer(1, 3)},
        "rate": bo.Real(0.0, 1.0, when={"net": lambda net: net["depth"] > 1}),
        "size": bo.Integer(1, 9),
    }
)


@pytest.mark.parametrize(
    ("space", "point", "names"),
    [
        (NESTED, {"kind": "a", "wide": 4, "deep": 0.5}, {"kind"}),
        (NESTED, {"kind": "b", "wide": 2, "deep": 0.5}, {"kind", "wide"}),
        (NESTED, {"kind": "b", "wide": 3, "deep": 0.5}, {"kind", "wide", "deep"}),
        (MIXED, {"net": {"depth": 1}, "rate": 0.5, "size": 3}, {"net", "size"}),
        (MIXED, {"net": {"depth": 2}, "rate": 0.5, "size": 3}, {"net", "rate", "size"}),
        (bo.Space({"a": bool}), {"a": True}, {"a"}),
    ],
)
def test_a_point_loses_what_its_conditions_leave_out(space, point, names):
    found = drop_inactive(space, point)
    assert found == {name: point[name] for name in names}
    assert space.present(space.parse(found)) == found


def test_a_wrong_value_is_named_and_a_missing_one_left_to_the_domain():
    with pytest.raises(PointError, match=r"^wide: expected"):
        drop_inactive(NESTED, {"kind": "b", "wide": 9})
    assert drop_inactive(NESTED, {"wide": 2}) == {}
