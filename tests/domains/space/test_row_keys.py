"""Keys are as short as the values allow, hold the whole point, and tell all points apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.constraints import RowKeys

SHARED: dict[str, Any] = {
    "bits": {f"b{i}": bool for i in range(9)},
    "a byte and two": {"a": range(256), "b": range(257)},
    "numbers": {"n": bo.Integer(0, 70_000), "m": bo.Integer(1, 2**33, log=True), "r": bo.Real(-1.0, 1.0), "b": bool},
    "columns": {"p": bo.Permutation(list("abc")), "s": bo.Sequence("AB", (1, 4)), "u": bo.Subset(list("xyz"), (1, 2))},
    "conditions": {
        "a": range(256),
        "b": bo.Ordinal(range(256), when={"a": bo.OneOf(*range(128))}),
        "r": bo.Real(0.0, 1.0, when={"a": 1}),
        "c": bo.Sequence("AB", (1, 4), when={"a": bo.OneOf(*range(200))}),
    },
}
BYTES = {
    "bits": 9,
    "a byte and two": 1 + 2,
    "numbers": 4 + 8 + 8 + 1,
    "columns": 3 + 4 + 3,
    "conditions": 1 + 2 + 8 + 4,
}


@pytest.mark.parametrize("name", SHARED)
def test_a_key_has_few_bytes_and_all_of_its_point(name: str) -> None:
    space = bo.Space(SHARED[name])
    form, rows = RowKeys(space.variables.values()), space.sample(300, np.random.default_rng(0))
    keys = form.write(rows)
    assert {len(key) for key in keys} == {BYTES[name]}  # type: ignore[arg-type]
    np.testing.assert_array_equal(form.read(keys), rows)
    assert keys == space.keys(rows) == [space.key(x) for x in rows]
    assert len(set(keys)) == len({row.tobytes() for row in rows})


def test_the_ends_of_every_column_are_apart() -> None:
    space = bo.Space(SHARED["conditions"])
    ends = [{"a": 0, "b": b, "c": c} for b in (0, 255) for c in ("A", "BBBB")]
    ends += [{"a": 1, "b": 255, "r": r, "c": "A"} for r in (0.0, 1.0)] + [{"a": 255}, {"a": 150, "c": "B"}]
    rows = np.array([space.parse(point) for point in ends])
    keys = space.keys(rows)
    assert len(set(keys)) == len(ends)
    assert [space.present(x) for x in space.from_keys(keys)] == ends
