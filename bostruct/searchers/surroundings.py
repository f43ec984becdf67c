"""Neighborhoods of a point that is good but was seen before."""

from __future__ import annotations

from typing import Any

import numpy as np

from bostruct.contracts import Batch, DomainError, HasMutation, HasNeighbors, Point

MAX_SEEN_NEIGHBORS = 5_000
N_MUTATIONS = 50


def neighbors_of(domain: HasNeighbors, x: Point, rng: np.random.Generator) -> Batch:
    """Return the neighbors of a point, or 5,000 of them, drawn at random.

    domain: with neighbors.
    x: one point.
    rng: the only source of chance.
    """
    return domain.sample_neighbors(x, MAX_SEEN_NEIGHBORS, rng)


def mutations_of(domain: HasMutation, x: Point, rng: np.random.Generator) -> Batch:
    """Return 50 mutations of a point; none where the domain leaves none.

    domain: with mutations.
    x: one point.
    rng: the only source of chance.
    """
    found: list[Any] = []
    for _ in range(N_MUTATIONS):
        try:
            found.append(domain.mutate(x, rng))
        except DomainError:  # bounds or constraints leave this point no other
            break
    return domain.join(found)
