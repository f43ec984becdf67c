"""Breadth-first local search over a domain with neighbors (Oh et al. 2019, Algorithm 1 and section 3)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bostruct.acquisition.bounded_search import best, best_of_each, best_of_each_unpruned
from bostruct.checks import check_integer, first_occurrences
from bostruct.contracts import ADDED_LATER, Array, Batch, Info, LocalDomain, Maximizer, Point, Score

PRUNED_UP_TO = 0.35  # share of a step's neighbors scored, above which the next step scores all of them at once
SHARE_KEPT = 0.8  # by which the share is multiplied after such a step, so that bounds are tried again after five
REPEATS_MATTER_UP_TO = 100  # points of the domain for each draw
MAX_NEIGHBORS = 20_000  # of one point, looked at in one step unless told


@dataclass(frozen=True)
class LocalSearch(Maximizer):
    """Local search for the maxima of a score: ascents from the best of many candidates (Oh et al. 2019, Algorithm 1).

    random: number of candidates drawn as the domain draws, at least 1.
    spray: number of candidates drawn among the neighbors of each start given, at least 0.
    ascents: how many of the best candidates are climbed from, in lockstep, at least 1.
    leaps: also step by half of an ordered variable's choices, a quarter and so on, so that many choices in a row cost
        few steps; without leaps the search is as published.
    most: number of neighbors looked at by all ascents together, after which they end where they are, at least 1; None:
        they end at local maxima, as published.
    neighbors: how many neighbors of one point a step looks at, at least 1; of more that many are drawn.
    distinct: drop candidates that repeat others, and take all points of a domain that lists them and has no more than
        `random`.

    Raises TypeError, ValueError.
    """

    random: int = 20_000
    spray: int = 20
    ascents: int = 20
    leaps: bool = False
    most: int | None = None
    neighbors: int = field(default=MAX_NEIGHBORS, metadata=ADDED_LATER)
    distinct: bool = field(default=False, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        check_integer("random", self.random, 1)
        check_integer("spray", self.spray, 0)
        check_integer("ascents", self.ascents, 1)
        if self.most is not None:
            check_integer("most", self.most, 1)
        check_integer("neighbors", self.neighbors, 1)

    def __call__(
        self, score: Score, domain: LocalDomain, starts: Batch, rng: np.random.Generator
    ) -> tuple[Batch, Info]:
        """Return local maxima of the score, best first, each once, and what goes on record.

        Where `most` ended the ascents, the points are on the way to local maxima.

        score: the function to maximize.
        domain: with neighbors.
        starts: good points to start from; may be empty.
        rng: the only source of chance.
        """
        draw = draw_distinct if self.distinct else draw_with_neighbors
        candidates = draw(domain, self.random, self.spray, starts, rng)
        chosen, scores = best(score, domain, candidates, self.ascents)
        climbers = domain.take(candidates, chosen)
        ends, scores, steps = ascend(score, domain, climbers, scores, rng, self.leaps, self.most, self.neighbors)
        order = np.argsort(-scores, kind="stable")
        info = {"candidates": len(candidates), "steps": steps, "best_score": float(scores[order[0]])}
        return domain.take(ends, order), info


def draw_with_neighbors(domain: LocalDomain, random: int, spray: int, starts: Batch, rng: np.random.Generator) -> Batch:
    """Draw candidates: points of the domain, fewer where it would repeat them, and neighbors of known points.

    domain: to draw from.
    random: number of points, at least 1.
    spray: number of neighbors of each start, at least 0.
    starts: known points, which a domain may begin from; may be none.
    rng: the only source of chance.
    """
    drawn = domain.sample_candidates(random, starts, rng)
    return domain.join(drawn, domain.sample_neighborhoods(starts, spray, rng)[0]) if len(starts) else drawn


def draw_distinct(domain: LocalDomain, random: int, spray: int, starts: Batch, rng: np.random.Generator) -> Batch:
    """Return all points of the domain where they can be listed and are few, else `draw_with_neighbors` without repeats.

    Of a domain so large that fewer than one draw in 200 repeats another, no repeats are looked for.

    domain: to draw from.
    random: number of points, at least 1.
    spray: number of neighbors of each start, at least 0.
    starts: known points, which a domain may begin from; may be none.
    rng: the only source of chance.
    """
    few = domain.list_few(random)
    if few is not None:
        return few
    drawn = draw_with_neighbors(domain, random, spray, starts, rng)
    if domain.count_at_most() > REPEATS_MATTER_UP_TO * random:
        return drawn
    return domain.take(drawn, first_occurrences(domain, drawn))


def ascend(
    score: Score,
    domain: LocalDomain,
    xs: Batch,
    scores: Array,
    rng: np.random.Generator,
    leaps: bool = False,
    most: int | None = None,
    neighbors: int = MAX_NEIGHBORS,
) -> tuple[Batch, Array, int]:
    """Move every point to its best neighbor for as long as that is strictly better.

    All points step together, so that their neighborhoods are scored in one batch. Points that meet go on as one, and
    end as one. Where bounds saved little when they were last asked, all neighbors of a step are scored at once. Scores
    round otherwise then. Between neighbors of nearly equal score that may decide, and lead to another end.

    score: the function to maximize.
    domain: with neighbors.
    xs: m points to start from.
    scores: (m,), theirs.
    rng: draws neighbors where there are too many.
    leaps, most, neighbors: as of `LocalSearch`.

    Returns the ends, their scores, and the number of steps.
    """
    first = first_occurrences(domain, xs)
    points: list[Point] = list(domain.take(xs, first))
    scores = scores[first]
    climbing = np.arange(len(points))
    merged = np.zeros(len(points), dtype=bool)
    steps, looked_at, share = 0, 0, 0.0
    while len(climbing) and (most is None or looked_at < most):
        here = domain.join([points[i] for i in climbing])
        batch, group = domain.sample_neighborhoods(here, neighbors, rng, leaps)
        if share <= PRUNED_UP_TO:
            winner, top, share = best_of_each(score, domain, batch, group, len(climbing), scores[climbing])
        else:
            winner, top = best_of_each_unpruned(score, batch, group, len(climbing), scores[climbing])
            share *= SHARE_KEPT
        moved = winner >= 0
        climbing, winner = climbing[moved], winner[moved]
        for i, w, value in zip(climbing, winner, top[moved], strict=True):
            points[i], scores[i] = batch[w], value
        apart = first_occurrences(domain, domain.join([points[i] for i in climbing]))
        merged[np.delete(climbing, apart)] = True
        climbing = climbing[apart]
        steps, looked_at = steps + 1, looked_at + len(batch)
    ends = domain.join([points[i] for i in np.flatnonzero(~merged)])
    first = first_occurrences(domain, ends)  # some arrive where others ended before
    return domain.take(ends, first), scores[~merged][first], steps
