"""Initial designs of searches of architectures: the pools of their domains."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

import numpy as np

from bostruct.domains.architecture.domain import ArchitectureDomain
from bostruct.domains.joint import Joint
from bostruct.searchers.proposals import Design, PoolFirst, random_design

RANDOM_DESIGN_SIZE = 12  # points before a model of architectures is asked, where there is no pool


def initial_design(domain: Any) -> tuple[Design, int]:
    """Return the design that begins with the domain's pool, and its size; without a pool, 12 random points.

    domain: any domain.
    """
    pool = pool_of(domain)
    return (PoolFirst(pool), len(pool)) if pool else (random_design, RANDOM_DESIGN_SIZE)


def pool_of(domain: Any) -> tuple[Any, ...]:
    """Return the points that a domain says to begin with; empty where it names none.

    For a joint domain these are the pools of its parts side by side, repeated to equal lengths. Parts without a pool
    are drawn, the same in every study, as pools are.

    domain: any domain.
    """
    if isinstance(domain, ArchitectureDomain):
        return domain.pool
    pools = [pool_of(part) for part in domain.domains] if isinstance(domain, Joint) else []
    n = max(map(len, pools), default=0)
    if not n:
        return ()
    rng = np.random.default_rng(0)
    both = zip(domain.domains, pools, strict=True)
    columns = [islice(cycle(pool), n) if pool else part.sample(n, rng) for part, pool in both]
    return tuple(domain.points(columns))
