"""Points that were not seen, to the last one, with conditions and without."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.unseen_points import sample_unseen
from tests.conditional_spaces import finite_space


@pytest.mark.parametrize("space", [finite_space(), bo.Space({"a": [1, 2, 3], "b": bool})], ids=["conditions", "plain"])
def test_every_point_comes_once_and_then_none(space):
    rng, seen = np.random.default_rng(0), set()
    for _ in range(space.count().count):
        x = sample_unseen(space, frozenset(seen), rng)
        space.check(x)
        assert space.key(x) not in seen
        seen.add(space.key(x))
    with pytest.raises(bo.SpaceExhausted, match=f"all {len(seen)} points"):
        sample_unseen(space, frozenset(seen), rng)


def test_a_space_too_large_to_list_is_searched_nearby():
    space = bo.Space(
        {"on": bool, **{f"x{i}": bo.Integer(1, 100, when={"on": True}) for i in range(3)}}, [lambda p: not p["on"]]
    )
    rng = np.random.default_rng(0)
    x = sample_unseen(space, frozenset(), rng)
    assert space.present(x) == {"on": False}
    with pytest.raises(bo.SpaceExhausted):
        sample_unseen(space, frozenset({space.key(x)}), rng)
