"""Points to evaluate beside another one, of the same search."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from collections.abc import Set as AbstractSet

import numpy as np

from bostruct.contracts import Batch, Domain, Point, Score

MOST_JOINT = 8  # points of one search; a choice, as are the next two
MOST_AROUND = 200  # points around one that are looked at in a step
MOST_STEPS = 5  # of a climb


def choose_beside(
    x: Point,
    maxima: Batch,
    score: Score,
    domain: Domain,
    seen: AbstractSet[Hashable],
    surroundings: Callable[[Point], Batch],
) -> Iterator[Point]:
    """Yield up to seven points to evaluate beside x: each by a climb once x, and those before it, are believed.

    A climb begins at the best of the maxima and of the points around those before, and steps to the best point around
    for as long as that is better. A score that cannot believe leads to none.

    x: the first point.
    maxima: of the search that found it.
    score: of that search.
    domain: of the points.
    seen: keys of points that are not chosen; it may grow between two points.
    surroundings: a point -> points around it; of more than 200 the same share is looked at everywhere.
    """
    candidates, chosen = maxima, {domain.key(x)}

    def drop_known(xs: Batch) -> Batch:
        return domain.take(xs, [i for i, key in enumerate(domain.keys(xs)) if key not in seen and key not in chosen])

    def look_around(x: Point) -> Batch:
        around = surroundings(x)
        return drop_known(domain.take(around, range(0, len(around), -(-len(around) // MOST_AROUND) or 1)))

    for _ in range(MOST_JOINT - 1):
        believing = score.believe(domain.join([x]))
        if believing is None:
            return
        score = believing
        candidates = drop_known(domain.join(candidates, look_around(x)))
        if not len(candidates):
            return
        x = _climb(candidates, score, look_around)
        chosen.add(domain.key(x))
        yield x


def _climb(xs: Batch, score: Score, look_around: Callable[[Point], Batch]) -> Point:
    worths = score(xs)
    x, worth = xs[int(np.argmax(worths))], np.max(worths)
    for _ in range(MOST_STEPS):
        around = look_around(x)
        worths = score(around) if len(around) else np.array([-np.inf])
        if np.max(worths) <= worth:
            break
        x, worth = around[int(np.argmax(worths))], np.max(worths)
    return x
