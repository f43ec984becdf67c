"""Points that were not seen, to the last one, with conditions and without."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.joint import Joint
from bostruct.domains.space.call_limit import limit_calls
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


NEEDLE = {f"b{i}": i % 3 == 0 for i in range(60)}


def needle() -> bo.Space:
    """One point of 2^60 is valid, which no survey finds."""
    return bo.Space(dict.fromkeys(NEEDLE, bool), [lambda point: point == NEEDLE])


def test_a_search_from_a_seen_point_claims_no_draws():
    space = needle()
    seen = frozenset({space.key(space.parse(NEEDLE))})
    words = (
        r"^no unseen valid point was found from a seen point by changing a variable or swapping two; 1 were seen; more"
    )
    with pytest.raises(bo.SpaceExhausted, match=words):
        sample_unseen(space, seen, np.random.default_rng(0))
    with limit_calls(10, reserved=0), pytest.raises(bo.SpaceExhausted, match="the limit of calls .* ended the search"):
        sample_unseen(space, seen, np.random.default_rng(0))


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_joint_domain_says_whether_more_points_may_exist(is_listed, monkeypatch):
    part = bo.Space({"a": bool}) if is_listed else needle()
    domain = bo.joint_domain({"part": part, "other": {"b": bool}})
    values = [{"a": False}, {"a": True}] if is_listed else [NEEDLE]
    points = [domain.parse({"part": value, "other": {"b": b}}) for value in values for b in (False, True)]
    if not is_listed:
        monkeypatch.setattr(Joint, "sample", lambda _domain, m, _rng: points[:1] * m)
    with pytest.raises(bo.SpaceExhausted) as caught:
        domain.sample_unseen(frozenset(domain.keys(points)), np.random.default_rng(0))
    assert ("more may exist" in str(caught.value)) != is_listed
