"""Initial designs: the points that a search begins with, before it has learned anything."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np

from bostruct.contracts import Batch, Point

Design = Callable[[Any, AbstractSet[Hashable], np.random.Generator], Point]
"""(domain, seen, rng) -> an unseen point; raises SpaceExhausted where none is left."""


def random_design(domain: Any, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Point:
    """Draw a random unseen point; raises SpaceExhausted where none is left.

    domain: to draw from.
    seen: keys of points that are not drawn.
    rng: the only source of chance.
    """
    return domain.sample_unseen(seen, rng)


@dataclass(frozen=True)
class PoolFirst:
    """The points of a pool in their order, then random ones."""

    pool: Batch

    def __call__(self, domain: Any, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Point:
        for x, key in zip(self.pool, domain.keys(self.pool), strict=True):
            if key not in seen:
                return x
        return random_design(domain, seen, rng)
