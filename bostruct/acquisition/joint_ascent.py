"""Ascents that change many variables in one step, for domains of so many variables that single steps take too long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.acquisition.local_search import MAX_NEIGHBORS, LocalSearch
from bostruct.checks import check_integer
from bostruct.contracts import Batch, Info, LocalDomain, Maximizer, Point, Score

LOCAL_SEARCH = LocalSearch()
COUNT_RATIO = 1.5  # of the numbers of changes that one step tries


@dataclass(frozen=True)
class JointAscent(Maximizer):
    """Ascents of a score in steps that make many changes together.

    A step orders the neighbors of a point by the upper bounds of their scores, which cost no variance. It makes the
    first 1, 2, 3, 4, 6, 9 ... changes together, and moves to the best of these points, as long as that is better. Where
    the score is a sum over variables one step finds its maximum, however many variables have to change.

    random: number of random points to climb from beside the starts, at least 1.
    most_steps: of one ascent, at least 1.
    instead: searches where no start has a neighbor, because constraints forbid every single change.

    Raises TypeError, ValueError.
    """

    random: int = 1
    most_steps: int = 30
    instead: LocalSearch = LOCAL_SEARCH

    def __post_init__(self) -> None:
        check_integer("random", self.random, 1)
        check_integer("most_steps", self.most_steps, 1)

    def __call__(
        self, score: Score, domain: LocalDomain, starts: Batch, rng: np.random.Generator
    ) -> tuple[Batch, Info]:
        """Return the ends of the ascents, best first, and what goes on record.

        score: the function to maximize.
        domain: whose changes can be combined.
        starts: good points to climb from; may be empty.
        rng: the only source of chance.
        """
        first = domain.join(starts, domain.sample(self.random, rng))
        scores, steps, ends = score(first), 0, list[Point]()
        for i, x in enumerate(first):
            end, scores[i], taken = self._climb(score, domain, x, float(scores[i]), rng)
            ends.append(end)
            steps += taken
        if not steps and not len(domain.sample_neighborhoods(first, 1, rng)[0]):
            return self.instead(score, domain, starts, rng)
        order = np.argsort(-scores, kind="stable")
        info: Info = {"candidates": len(first), "steps": steps, "best_score": float(scores[order[0]])}
        return domain.take(domain.join(ends), order), info

    def _climb(
        self, score: Score, domain: LocalDomain, x: Point, value: float, rng: np.random.Generator
    ) -> tuple[Point, float, int]:
        """Return the end of the ascent from a point, its score, and the number of steps."""
        for step in range(self.most_steps):
            near, _ = domain.sample_neighborhoods(domain.join([x]), MAX_NEIGHBORS, rng, leaps=True)
            if not len(near):
                return x, value, step
            bounds = score.upper_bounds(near)
            if np.all(bounds == np.inf):  # of a score without bounds
                bounds = score(near)
            order = np.argsort(-bounds, kind="stable")
            tried = domain.combine(x, domain.take(near, order), list_counts(len(near)))
            found = score(tried) if len(tried) else np.empty(0)
            if not len(found) or not found.max() > value:
                return x, value, step
            best = int(np.argmax(found))
            x, value = tried[best], float(found[best])
        return x, value, self.most_steps


def list_counts(most: int) -> list[int]:
    """Return numbers of changes from 1 to a number, each about 1.5 times the one before it.

    most: the last of them, at least 1.
    """
    counts = [1]
    while counts[-1] < most:
        counts.append(min(most, max(counts[-1] + 1, round(counts[-1] * COUNT_RATIO))))
    return counts
