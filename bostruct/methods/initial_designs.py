"""Initial designs: the pool of a domain, or random points."""

from __future__ import annotations

from bostruct.contracts import Domain
from bostruct.searchers.proposals import Design, PoolFirst, random_design

RANDOM_DESIGN_SIZE = 12  # points before a model of architectures is asked, where there is no pool


def initial_design(domain: Domain) -> tuple[Design, int]:
    """Return the design that begins with the domain's pool, and its size; without a pool, 12 random points.

    domain: any domain.
    """
    pool = domain.pool
    return (PoolFirst(pool), len(pool)) if len(pool) else (random_design, RANDOM_DESIGN_SIZE)
