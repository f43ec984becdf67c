"""Draw a point that nobody has seen."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

import numpy as np

from bostruct.contracts import Batch, Point

DRAWS_UNSEEN = 1024
DRAW_BLOCKS = (1, 15, 112, 896)  # most first draws are unseen: begin small


class Drawable(Protocol):
    """The view of a domain that drawing needs."""

    def sample(self, m: int, rng: np.random.Generator) -> Batch: ...
    def keys(self, batch: Batch) -> Iterable[Hashable]: ...


def draw_unseen(
    domain: Drawable, seen: AbstractSet[Hashable], rng: np.random.Generator, blocks: Sequence[int] = DRAW_BLOCKS
) -> Point | None:
    """Draw an unseen point by rejection; return None where all draws were seen before.

    domain: `Domain`.
    seen: frozenset of keys of the domain.
    rng: `numpy.random.Generator`.
    blocks: how many points are drawn at once, in turn.
    """
    for block in blocks:
        drawn = domain.sample(block, rng)
        for x, key in zip(drawn, domain.keys(drawn), strict=True):
            if key not in seen:
                return x
    return None
