"""A law of searchers on small domains: each point once, then SpaceExhausted."""

from __future__ import annotations

import numpy as np

from bostruct.contracts import Domain, SpaceExhausted
from bostruct.testing.common import is_raised
from bostruct.testing.searcher_laws import MakeSearcher, Objective, Schedule, play


def check_exhausts(make_searcher: MakeSearcher, domain: Domain, objective: Objective, rng: np.random.Generator) -> None:
    """Check that a study of a small domain visits each point once, then says that there is none left.

    The points are told one at a time; then all run at once, and none is ever told.
    """
    size = int(domain.size)
    seed = int(rng.integers(2**31))
    for parallel in (1, size + 1):
        longer = Schedule(size + 1, seed, parallel)
        exhausted = is_raised(SpaceExhausted, lambda one=longer: play(make_searcher, domain, objective, one))
        assert exhausted, "suggest raises SpaceExhausted once every point has been seen"
        steps = play(make_searcher, domain, objective, Schedule(size, seed, parallel))
        assert len({step.key for step in steps}) == size, "a study visits each point of a small domain once"
