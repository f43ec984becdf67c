"""The fast way from JSON to rows: only for what it knows for certain."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.known_values import KnownValues

SPACE = bo.Space({"a": [0, 2, 1.0], "b": bool})


def test_types_are_kept_apart() -> None:
    known = KnownValues(SPACE.variables)
    for value, column in ((0, 0), (2, 1), (1.0, 2)):
        row = known.read({"a": value, "b": True})
        assert row is not None
        assert row.tolist() == [column, 1]
        assert row.dtype == np.int64


STRANGE = [{"a": 2.0, "b": True}, {"a": True, "b": True}, {"a": 0, "b": 1}, {"a": [0], "b": True}]


@pytest.mark.parametrize("data", [None, [], {}, {"a": 0}, {"b": True, "a": 0}, *STRANGE])
def test_all_else_is_left_to_the_slow_way(data: object) -> None:
    assert KnownValues(SPACE.variables).read(data) is None


@pytest.mark.parametrize("variable", [bo.Real(0.0, 1.0), bo.Binary(when={"b": True}), bo.Categorical([(1, 2), "x"])])
def test_spaces_with_other_variables_are_not_known(variable: object) -> None:
    space = bo.Space({"b": bool, "a": variable})
    rng = np.random.default_rng(0)
    for x in space.sample(20, rng):
        data = space.encode(x)
        assert KnownValues(space.variables).read(data) is None
        assert space.decode(data).tolist() == np.asarray(x).tolist()
