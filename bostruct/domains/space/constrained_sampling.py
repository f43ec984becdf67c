"""Draw points that satisfy all constraints of a space: by rejection where that works, else by walks from valid points.

Walks begin at points that the caller knows, such as those of a history, and at those of the space's survey, so that
nothing is searched for twice. The survey is a function of the space alone: it changes no draw of a seed, whatever was
asked of the space before.
"""

from __future__ import annotations

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import DomainError, IntArray
from bostruct.domains.space.call_limit import call_limit, limit_search
from bostruct.domains.space.constraints import ConstrainedProduct, valid_mask, work_limit
from bostruct.domains.space.listed_draws import draw_listed
from bostruct.domains.space.survey import find_survey
from bostruct.domains.space.walks import random_walk
from bostruct.domains.space.when import predicate_name

REJECTION_DRAWS = 20_000  # before they are given up
N_CHAINS = 20
MIN_STEPS = 20  # of a walk from one independent draw to the next; d / 2 in large spaces
MAX_WALK_CALLS = 60_000
MIN_GAP = 5  # steps between two points of one chain where steps are scarce


def sample_satisfying(space: ConstrainedProduct, m: int, rng: np.random.Generator) -> IntArray:
    """Draw m points that satisfy every constraint -> (m, columns).

    space: `Space`.
    m: int >= 0.
    rng: `numpy.random.Generator`.

    Independent, each variable even on its scale given those that it depends on, where at least one draw in 20 (in
    d / 2 for large spaces) is valid, or where the space can be enumerated (`draw_listed`); elsewhere dependent draws of
    walks, some of them repeated where m exceeds what 60,000 calls of predicates reach. Raises DomainError where no
    valid point is found.
    """
    found = sample_distinct(space, m, np.empty((0, space.layout.n_columns), dtype=np.int64), rng)
    return found if len(found) == m else found[rng.permutation(np.resize(np.arange(len(found)), m))]


def sample_distinct(space: ConstrainedProduct, m: int, starts: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw points as `sample_satisfying` does, but fewer, at least one, where walks would repeat them.

    space: `Space`.
    m: int >= 0.
    starts: valid points to walk from, integer rows (k, columns).
    rng: `numpy.random.Generator`.

    Raises DomainError where no valid point is found.
    """
    thin = max(MIN_STEPS, space.d // 2)
    with limit_search():
        found = _rejection_sample(space, m, thin, rng)
        if len(found) >= m:
            return found[:m]
        if space.enumerable:
            return np.concatenate([found, _sample_from_all(space, m - len(found), rng)])
        survey = find_survey(space)
        known = np.concatenate([found, starts[:N_CHAINS], survey.points])
        if not len(known):
            raise DomainError(
                f"constraints: no point that satisfies all {len(space.constraints)} was found in {survey.refusal}"
                "; give initial_points= that satisfy them, loosen them, or split them into smaller predicates; give an "
                "equality of numbers a tolerance, or compute one number from the others in the objective"
            )
        rows = np.concatenate([found, _walk_from(space, known, m - len(found), thin, rng)])
        return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]


def _rejection_draws(space: ConstrainedProduct) -> int:
    """Return how many uniform draws to try before they are given up: 0 where the survey has shown that they miss."""
    if not space.enumerable and not find_survey(space).uniform_hits:
        return 0
    return min(REJECTION_DRAWS, work_limit(space), space.n_points)


def _rejection_sample(space: ConstrainedProduct, m: int, rate: int, rng: np.random.Generator) -> IntArray:
    """Draw up to m valid points by rejection, which goes on up to a limit or while one in `rate` is valid."""
    found = [np.empty((0, space.layout.n_columns), dtype=np.int64)]
    n_found = n_drawn = 0
    limit, calls = _rejection_draws(space), call_limit()
    while n_found < m and (n_drawn < limit or 0 < n_drawn <= n_found * rate) and not calls.is_reached:
        block = space.sample_freely(max(64, min(m - n_found, 4096)), rng)
        kept = block[valid_mask(space, block)]
        n_drawn += len(block)
        n_found += len(kept)
        found.append(kept)
    return np.concatenate(found)


def _sample_from_all(space: ConstrainedProduct, m: int, rng: np.random.Generator) -> IntArray:
    every = space.enumerate()
    if not len(every):
        names = ", ".join(predicate_name(c) for c in space.constraints)
        raise DomainError(f"constraints: none of the {space.n_points} points satisfies all of {short_repr(names, 200)}")
    return every[draw_listed([space], [every], m, rng)]


def _walk_from(space: ConstrainedProduct, starts: IntArray, m: int, thin: int, rng: np.random.Generator) -> IntArray:
    """Walk from several valid points at once, and collect up to m points, as far apart as the calls left allow.

    starts: integer rows (k, columns), k at least 1.
    thin: steps after which two points of one chain count as independent.

    Returns at least one point; each point of the walks once.
    """
    limit = call_limit()
    steps = int(min(limit.left - limit.reserved, MAX_WALK_CALLS)) // len(space.constraints)
    n_chains = min(m, N_CHAINS)
    chains = [starts[i] for i in np.resize(rng.permutation(len(starts)), n_chains)]
    burn_in = min(10 * thin, max(0, steps) // (2 * n_chains))
    gap = max(MIN_GAP, min(thin, (steps - burn_in * n_chains) // m))
    n_rounds = max(1, min(-(-m // n_chains), (steps - burn_in * n_chains) // (gap * n_chains)))
    found: dict[bytes, IntArray] = {}
    for n_steps in [burn_in, *[gap] * (n_rounds - 1)]:
        chains = [random_walk(space, x, n_steps, rng)[0] for x in chains]
        found |= {x.tobytes(): x for x in chains}
    return np.array(list(found.values())[:m], dtype=np.int64)
