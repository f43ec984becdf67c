"""What a forest is told of points of several parts: each choice once, also where a domain only wraps ours."""

from __future__ import annotations

from typing import Any

import numpy as np

import bostruct as bo
from bostruct.methods.descriptions import describe_points
from tests.architectures import SMALL_CNN

SPACE = bo.Space({"s.u": range(5), "s": {"u": range(5)}, "net": SMALL_CNN})


class Wrapped:
    """A domain that answers as another does."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_a_name_with_dots_and_a_part_are_told_apart() -> None:
    x = SPACE.sample(1, np.random.default_rng(0))[0]
    paths = [one.path for one in describe_points(SPACE, "smac")(x)]
    assert paths[:2] == ["s.u", "s..u"]
    assert len(set(paths)) == len(paths) > 2


def test_smac_serves_what_wraps_a_space_with_parts() -> None:
    wrapped: Any = Wrapped(SPACE)

    def objective(point: dict[str, Any]) -> float:
        return float(point["s"]["u"] - 2 * point["s.u"])

    ours, theirs = (bo.minimize(objective, space, 14, method="smac", seed=0) for space in (SPACE, wrapped))
    assert [trial.value for trial in theirs.trials] == [trial.value for trial in ours.trials]
