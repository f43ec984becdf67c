"""What one changed variable changes of a sum over variables."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bostruct.domains.graphs import IntArray
from bostruct.domains.moves import Moves


def fewer_or_more_apart(moves: Moves, ys: IntArray) -> npt.NDArray[np.int8]:
    """By how much a move changes whether its variable differs from y's: -1, 0 or 1, (m, n)."""
    theirs = ys.T[moves.which]
    now = moves.vertices[:, None] != theirs
    before = moves.base[moves.of, moves.which][:, None] != theirs
    return now.view(np.int8) - before.view(np.int8)
