"""The steps of sequences, as numbers."""

from __future__ import annotations

import numpy as np

import bostruct as bo
from bostruct.domains.space.steps import find_steps


def test_steps_of_several_sequences_have_numbers_of_their_own():
    space = bo.Space({"b": bool, "s": bo.Sequence("AB", (1, 3)), "t": bo.Sequence("XYZ", 2, when={"b": True})})
    steps = find_steps(space.variables)
    assert steps.n_kinds == 4 + 9
    rows = np.array([space.parse({"b": True, "s": "ABA", "t": "ZX"}), space.parse({"b": False, "s": "B"})])
    assert steps(rows).tolist() == [[1, 2, 4 + 6], [-1, -1, -1]]
    assert find_steps(bo.Space({"b": bool}).variables) is None
