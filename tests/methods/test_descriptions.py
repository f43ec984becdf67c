"""What a forest is told of points of several parts: each choice once, also where a domain only wraps ours."""

from __future__ import annotations

import numpy as np

import bostruct as bo
from bostruct.methods.published import describe_points
from tests.architectures import SMALL_CNN

SPACE = bo.Space({"s.u": range(5), "s": {"u": range(5)}, "net": SMALL_CNN})


def test_a_name_with_dots_and_a_part_are_told_apart() -> None:
    x = SPACE.sample(1, np.random.default_rng(0))[0]
    paths = [one.path for one in describe_points(SPACE, "smac")(x)]
    assert paths[:2] == ["s.u", "s..u"]
    assert len(set(paths)) == len(paths) > 2
