"""Kept points are as the points were: as keys of a space, and as they are of a domain whose keys do not hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.study.point_forms import PointForm, PointStore

SPACE = bo.Space({"a": range(4), "b": bool, "r": bo.Real(0.0, 1.0), "p": bo.Permutation([1, 2, 3], when={"b": True})})
DOMAINS: list[Any] = [SPACE, bo.mlp_domain(), bo.joint_domain({"a": SPACE, "b": {"c": bool}})]


@pytest.mark.parametrize("domain", DOMAINS, ids=["space", "architectures", "joint"])
def test_a_point_is_restored(domain) -> None:
    form, points = PointForm(domain), domain.sample(6, np.random.default_rng(0))
    kept = form.keep_all(points)
    assert [form.key(one) for one in kept] == domain.keys(points)
    assert [form.key(form.keep(x)) for x in points] == domain.keys(points)
    assert domain.keys(form.join(kept)) == domain.keys(points)
    assert [domain.encode(form.restore(one)) for one in kept] == [domain.encode(x) for x in points]
    assert domain.keys(PointStore(form, tuple(kept)).take([4, 1])) == domain.keys(domain.take(points, [4, 1]))
    assert len(PointStore(form, tuple(kept)).take([])) == 0


def test_a_space_keeps_keys_and_shows_the_numbers_that_were_given() -> None:
    form = PointForm(SPACE)
    kept = form.keep(SPACE.parse({"a": 3, "b": False, "r": 0.5}))
    assert form.is_complete
    assert isinstance(kept, bytes)
    assert form(kept, {"given": {"r": 0.5000000000001}}) == {"a": 3, "b": False, "r": 0.5000000000001}
    assert not PointForm(bo.mlp_domain()).is_complete
