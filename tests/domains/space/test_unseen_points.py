"""Points that were not seen, to the last one, with conditions and without."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.call_limit import limit_calls
from bostruct.domains.space.sampling import sample_unseen
from tests.conditional_spaces import finite_space


@pytest.mark.parametrize("space", [finite_space(), bo.Space({"a": [1, 2, 3], "b": bool})], ids=["conditions", "plain"])
def test_every_point_comes_once_and_then_none(space):
    rng, seen = np.random.default_rng(0), set()
    for _ in range(space.count().count):
        x = sample_unseen(space, space.sample, frozenset(seen), rng)
        space.check(x)
        assert space.key(x) not in seen
        seen.add(space.key(x))
    with pytest.raises(bo.SpaceExhausted, match=f"all {len(seen)} points"):
        sample_unseen(space, space.sample, frozenset(seen), rng)


def switched() -> bo.Space:
    """One point of a million is valid; they are too many to list."""
    numbers = {f"x{i}": bo.Integer(1, 100, when={"on": True}) for i in range(3)}
    return bo.Space({"on": bool, **numbers}, [lambda p: not p["on"]])


def test_a_space_too_large_to_list_is_searched_nearby():
    space, rng = switched(), np.random.default_rng(0)
    x = sample_unseen(space, space.sample, frozenset(), rng)
    assert space.present(x) == {"on": False}
    with pytest.raises(bo.SpaceExhausted):
        sample_unseen(space, space.sample, frozenset({space.key(x)}), rng)


NEEDLE = {f"b{i}": i % 3 == 0 for i in range(60)}


def needle() -> bo.Space:
    """One point of 2^60 is valid, which no survey finds."""
    return bo.Space(dict.fromkeys(NEEDLE, bool), [lambda point: point == NEEDLE])


def test_a_search_from_a_seen_point_claims_no_draws():
    space = needle()
    seen = frozenset({space.key(space.parse(NEEDLE))})
    words = r"^no unseen valid point was found from a seen point by changing a .* two; 1 were seen; more"
    with pytest.raises(bo.SpaceExhausted, match=words):
        sample_unseen(space, space.sample, seen, np.random.default_rng(0))
    with limit_calls(10, reserved=0), pytest.raises(bo.SpaceExhausted, match=r"the limit of calls .* ended the search"):
        sample_unseen(space, space.sample, seen, np.random.default_rng(0))


@pytest.mark.parametrize(("part", "n", "says_more"), [(bo.Space({"a": bool}), 4, False), (switched(), 2, True)])
def test_a_joint_domain_says_whether_more_points_may_exist(part, n, says_more):
    domain = bo.joint_domain({"part": part, "other": {"b": bool}})
    rng, seen = np.random.default_rng(0), set()
    for _ in range(n):
        seen |= set(domain.keys([domain.sample_unseen(frozenset(seen), rng)]))
    with pytest.raises(bo.SpaceExhausted) as caught:
        domain.sample_unseen(frozenset(seen), rng)
    assert ("more may exist" in str(caught.value)) == says_more
