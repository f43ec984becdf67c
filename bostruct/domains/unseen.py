"""Draw a point that nobody has seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from bostruct.contracts import Batch, Point

DRAWS_UNSEEN = 1024
DRAW_BLOCKS = (1, 15, 112, 896)  # most first draws are unseen: begin small


def draw_unseen(
    sample: Callable[[int, np.random.Generator], Batch],
    keys: Callable[[Batch], Iterable[Hashable]],
    seen: AbstractSet[Hashable],
    rng: np.random.Generator,
    blocks: Sequence[int] = DRAW_BLOCKS,
) -> Point | None:
    """Draw an unseen point by rejection; return None where all draws were seen before.

    sample: draws a number of points, as a domain does.
    keys: of a batch of points, in their order.
    seen: frozenset of keys of the domain.
    rng: `numpy.random.Generator`.
    blocks: how many points are drawn at once, in turn.
    """
    for block in blocks:
        drawn = sample(block, rng)
        for x, key in zip(drawn, keys(drawn), strict=True):
            if key not in seen:
                return x
    return None
