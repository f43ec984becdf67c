"""Draw a point of a space that has not been seen: at random while that works, else by looking for one."""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Set as AbstractSet

import numpy as np

from bostruct.contracts import DRAWS_UNSEEN, IntArray, SpaceExhausted, draw_unseen
from bostruct.domains.space.call_limit import call_limit
from bostruct.domains.space.constraints import ConstrainedProduct, Sample
from bostruct.domains.space.listed_draws import draw_listed
from bostruct.domains.space.survey import find_survey
from bostruct.domains.space.walks import find_unseen_nearby


def sample_unseen(
    space: ConstrainedProduct, sample: Sample, seen: AbstractSet[Hashable], rng: np.random.Generator
) -> IntArray:
    """Draw a valid point (columns,) whose key is not in `seen`.

    space: `Space`.
    sample: draws valid points of it.
    seen: frozenset of keys.
    rng: the only source of chance.

    Raises SpaceExhausted when none is left, or found.
    """
    if known_only_by_history := _knows_none_but(space, seen):
        known = sorted(space.from_keys(seen), key=lambda row: row.tobytes())[rng.integers(len(seen))]
        x = find_unseen_nearby(space, known, seen)
    elif (x := draw_unseen(sample, space.keys, seen, rng)) is None and space.enumerable:
        return _sample_unseen_from_list(space, seen, rng)
    elif x is None:
        start = sample(1, rng)[0]
        is_simple = space.layout.is_simple and not space.constraints and not space.conditions
        x = _first_unseen(space, start, seen) if is_simple else find_unseen_nearby(space, start, seen)
    if x is None:
        tried = "from a seen point" if known_only_by_history else f"in up to {DRAWS_UNSEEN} draws and from one of them"
        ended = "the limit of calls of constraints ended the search, " if call_limit().is_reached else ""
        raise SpaceExhausted(
            f"no unseen valid point was found {tried} by changing a variable or swapping two; {len(seen)} were seen; "
            f"{ended}more may exist"
        )
    return x


def _knows_none_but(space: ConstrainedProduct, seen: AbstractSet[Hashable]) -> bool:
    """Tell whether seen points are the only valid ones known."""
    return bool(seen and space.constraints) and not space.enumerable and not len(find_survey(space).points)


def _sample_unseen_from_list(
    space: ConstrainedProduct, seen: AbstractSet[Hashable], rng: np.random.Generator
) -> IntArray:
    every = space.enumerate()
    left = [row for row, key in enumerate(space.keys(every)) if key not in seen]
    if not left:
        raise SpaceExhausted(f"all {len(every)} points of the space have been seen")
    return every[left[int(draw_listed([space], [every[left]], 1, rng)[0])]].copy()


def _first_unseen(space: ConstrainedProduct, x: IntArray, seen: AbstractSet[Hashable]) -> IntArray | None:
    """Return the first unseen point from x on: of one more point than were seen, one is unseen."""
    for _ in range(min(len(seen) + 1, space.n_points)):
        if space.keys(x[None])[0] not in seen:
            return x
        for i in reversed(range(space.d)):  # the next point, the last variable fastest
            x[i] = (x[i] + 1) % space.n_choices[i]
            if x[i]:
                break
    return None
