"""Points around one that is good but was seen before."""

from __future__ import annotations

from typing import Any

import numpy as np

from bostruct.contracts import Batch, DomainError, HasMutation, HasNeighbors, Point

MAX_SEEN_NEIGHBORS = 5_000
N_MUTATIONS = 50


def neighbors_of(domain: HasNeighbors, x: Point, rng: np.random.Generator) -> Batch:
    """Its neighbors, or 5,000 of them."""
    return domain.sample_neighbors(x, MAX_SEEN_NEIGHBORS, rng)


def mutations_of(domain: HasMutation, x: Point, rng: np.random.Generator) -> Batch:
    """50 mutations of it; none where the domain leaves none."""
    found: list[Any] = []
    for _ in range(N_MUTATIONS):
        try:
            found.append(domain.mutate(x, rng))
        except DomainError:  # bounds or constraints leave this point no other
            break
    return domain.join(found)
