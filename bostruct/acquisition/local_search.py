"""Local searches over a domain with neighbors: breadth-first, by pairs of changes, and by many changes at once.

`LocalSearch` is the search of Oh et al. 2019 (Algorithm 1 and section 3). `PairSearch` continues from its maxima.
`JointAscent` is for domains with so many variables that single changes take too long.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bostruct.acquisition.bounded_search import best, best_of_each, best_of_each_unpruned
from bostruct.checks import check_integer, check_part, first_occurrences
from bostruct.contracts import ADDED_LATER, Array, Batch, Info, LocalDomain, Maximizer, Point, Score, stored_as

PRUNED_UP_TO = 0.1  # share of a step's neighbors that are scored, above which bounds cost more than they save
UNPRUNED_STEPS = 5  # that score all neighbors after such a step, before bounds are tried again
REPEATS_MATTER_UP_TO = 100  # points of the domain for each sampled point
MAX_NEIGHBORS = 20_000  # default number of neighbors of one point in a step


@dataclass(frozen=True)
class LocalSearch(Maximizer):
    """Local search for the maxima of a score: ascents from the best of many candidates (Oh et al. 2019, Algorithm 1).

    Parameters
    ----------
    raw_samples : int
        Number of random candidates, at least 1.
    num_spray_points : int
        Number of candidates sampled from the neighbors of each given start, at least 0.
    num_restarts : int
        Number of the best candidates from which ascents start, in lockstep, at least 1.
    large_steps : bool
        If True, ascents also step by half of an ordered variable's choices, a quarter and so on, so that few steps
        cross many choices; if False, the search is as published.
    most : int, optional
        Number of neighbors scored by all ascents together after which they stop, at least 1. If None, they stop only
        at local maxima, as published.
    neighbors : int
        Maximum number of neighbors of one point in a step, at least 1; if there are more, this many are sampled.
    distinct : bool
        If True, repeated candidates are dropped, and all points of a domain with at most `raw_samples` listed points
        are used; if False, candidates are sampled as published.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """

    raw_samples: int = field(default=20_000, metadata=stored_as("random"))
    num_spray_points: int = field(default=20, metadata=stored_as("spray"))
    num_restarts: int = field(default=20, metadata=stored_as("ascents"))
    large_steps: bool = field(default=False, metadata=stored_as("leaps"))
    most: int | None = None
    neighbors: int = field(default=MAX_NEIGHBORS, metadata=ADDED_LATER)
    distinct: bool = field(default=True, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        for name, low in (("raw_samples", 1), ("num_spray_points", 0), ("num_restarts", 1), ("neighbors", 1)):
            check_integer(name, getattr(self, name), low)
        if self.most is not None:
            check_integer("most", self.most, 1)

    def __call__(
        self, score: Score, domain: LocalDomain, starts: Batch, rng: np.random.Generator
    ) -> tuple[Batch, Info]:
        """Return local maxima of the score, best first, each once, and the info to record.

        If `most` stopped the ascents, the points may not be local maxima yet.

        score: function to maximize.
        domain: domain with neighbors.
        starts: good points to start from; may be empty.
        rng: random number generator.
        """
        draw = draw_distinct if self.distinct else draw_with_neighbors
        candidates = draw(domain, self.raw_samples, self.num_spray_points, starts, rng)
        chosen, scores = best(score, domain, candidates, self.num_restarts)
        climbers = domain.take(candidates, chosen)
        ends, scores, steps = ascend(score, domain, climbers, scores, rng, self.large_steps, self.most, self.neighbors)
        order = np.argsort(-scores, kind="stable")
        info = {"candidates": len(candidates), "steps": steps, "best_score": float(scores[order[0]])}
        return domain.take(ends, order), info


def draw_with_neighbors(
    domain: LocalDomain, raw_samples: int, num_spray_points: int, starts: Batch, rng: np.random.Generator
) -> Batch:
    """Sample candidates: points of the domain, fewer if there would be repeats, and neighbors of the starts.

    raw_samples: number of points, at least 1.
    num_spray_points: number of neighbors of each start, at least 0.
    rng: random number generator.
    """
    drawn = domain.sample_candidates(raw_samples, starts, rng)
    return domain.join(drawn, domain.sample_neighborhoods(starts, num_spray_points, rng)[0]) if len(starts) else drawn


def draw_distinct(
    domain: LocalDomain, raw_samples: int, num_spray_points: int, starts: Batch, rng: np.random.Generator
) -> Batch:
    """Return all points of the domain if they can be listed and are few, else `draw_with_neighbors` without repeats.

    Repeats are kept in domains so large that fewer than one sample in 200 repeats another.

    raw_samples: number of points, at least 1.
    num_spray_points: number of neighbors of each start, at least 0.
    rng: random number generator.
    """
    few = domain.list_few(raw_samples)
    if few is not None:
        return few
    drawn = draw_with_neighbors(domain, raw_samples, num_spray_points, starts, rng)
    if domain.count_at_most() > REPEATS_MATTER_UP_TO * raw_samples:
        return drawn
    return domain.take(drawn, first_occurrences(domain, drawn))


def ascend(
    score: Score,
    domain: LocalDomain,
    xs: Batch,
    scores: Array,
    rng: np.random.Generator,
    large_steps: bool = False,
    most: int | None = None,
    neighbors: int = MAX_NEIGHBORS,
    discrete: bool = False,
) -> tuple[Batch, Array, int]:
    """Move every point to its best neighbor as long as that is strictly better.

    All points step together, so that their neighborhoods are scored in one batch. Points that meet continue as one. If
    bounds left more than a tenth of a step, the next five score all neighbors at once. Scores are then rounded
    differently, which may choose another of several neighbors with nearly equal scores, and another end.

    scores: scores of the points (m,).
    discrete: whether continuous coordinates stay unchanged.

    Returns the ends, their scores, and the number of steps.
    """
    first = first_occurrences(domain, xs)
    points: list[Point] = list(domain.take(xs, first))
    scores = scores[first]
    climbing = np.arange(len(points))
    merged = np.zeros(len(points), dtype=bool)
    steps, n_scored, unpruned = 0, 0, 0
    while len(climbing) and (most is None or n_scored < most):
        here = domain.join([points[i] for i in climbing])
        if discrete:
            batch, group = domain.sample_discrete_neighborhoods(here, neighbors, rng)
        else:
            batch, group = domain.sample_neighborhoods(here, neighbors, rng, large_steps)
        if unpruned:
            winner, top = best_of_each_unpruned(score, batch, group, len(climbing), scores[climbing])
            unpruned -= 1
        else:
            winner, top, share = best_of_each(score, domain, batch, group, len(climbing), scores[climbing])
            unpruned = UNPRUNED_STEPS if share > PRUNED_UP_TO else 0
        moved = winner >= 0
        climbing, winner = climbing[moved], winner[moved]
        for i, w, value in zip(climbing, winner, top[moved], strict=True):
            points[i], scores[i] = batch[w], value
        distinct = first_occurrences(domain, domain.join([points[i] for i in climbing]))
        merged[np.delete(climbing, distinct)] = True
        climbing = climbing[distinct]
        steps, n_scored = steps + 1, n_scored + len(batch)
    ends = domain.join([points[i] for i in np.flatnonzero(~merged)])
    first = first_occurrences(domain, ends)  # an ascent may reach the end of an earlier one
    return domain.take(ends, first), scores[~merged][first], steps


ASCENT = 10  # neighbors scored by single changes after a step, for each pair of a step


@dataclass(frozen=True)
class PairSearch(Maximizer):
    """Another search, then steps from its best maximum by pairs of changes, as long as a pair is better.

    Single changes get stuck at a constraint: adding an item violates it, and removing an item is worse. Exchanging two
    items is a pair of changes.

    begin: the search that comes first.
    most: number of pairs of changes scored in a step, at least 1; if there are more, about this many are sampled.
    steps: maximum number of steps by pairs, at least 1.
    kept: number of the best points of a step to return, at least 1: the best point may have been observed already.

    Raises TypeError, ValueError.
    """

    begin: Maximizer
    most: int = 4_000
    steps: int = 10
    kept: int = 10

    def __post_init__(self) -> None:
        check_part("begin", self.begin, Maximizer)
        for name in ("most", "steps", "kept"):
            check_integer(name, getattr(self, name), 1)

    def __call__(
        self, score: Score, domain: LocalDomain, starts: Batch, rng: np.random.Generator
    ) -> tuple[Batch, Info]:
        """Return the maxima and the best scored points, best first, each once, and the info to record."""
        maxima, info = self.begin(score, domain, starts, rng)
        scores, n_pairs = score(maxima), 0
        x, value, found = maxima[0], float(scores[0]), [(maxima, scores)]
        for _ in range(self.steps):
            pairs = self._draw_pairs(domain, x, rng)
            n_pairs += len(pairs)
            chosen, scores = best(score, domain, pairs, self.kept)
            found.append((domain.take(pairs, chosen), scores))
            if not len(scores) or scores[0] <= value:
                break
            top = domain.take(pairs, chosen[:1])
            ends, scores, _ = ascend(score, domain, top, scores[:1], rng, True, ASCENT * self.most, self.most)
            found.append((ends, scores))
            x, value = ends[0], float(scores[0])
        points, scores = domain.join(*(one for one, _ in found)), np.concatenate([one for _, one in found])
        order = np.argsort(-scores, kind="stable")
        ranked = domain.take(points, order)
        pairs_info = {"pairs": n_pairs, "best_score": float(scores[order[0]])}
        return domain.take(ranked, first_occurrences(domain, ranked)), info | pairs_info

    def _draw_pairs(self, domain: LocalDomain, x: Point, rng: np.random.Generator) -> Batch:
        """Return the neighbors of the neighbors of a point, each once, including the point itself."""
        near, _ = domain.sample_neighborhoods(domain.join([x]), self.most, rng)
        if not len(near):
            return near
        far, _ = domain.sample_neighborhoods(near, -(-self.most // len(near)), rng)
        return domain.take(far, first_occurrences(domain, far))


LOCAL_SEARCH = LocalSearch()
COUNT_RATIO = 1.5  # between successive numbers of changes that one step tries


@dataclass(frozen=True)
class JointAscent(Maximizer):
    """Ascents of a score in steps that make many changes together.

    A step orders the neighbors of a point by the upper bounds of their scores, which need no variances. It makes the
    first 1, 2, 3, 4, 6, 9 ... changes together, and moves to the best of these points, as long as that is better. If
    the score is a sum over variables, one step finds its maximum, however many variables have to change.

    raw_samples: number of random points to climb from in addition to the starts, at least 1.
    most_steps: maximum number of steps of one ascent, at least 1.
    instead: the search to use if no start has a neighbor.

    Raises TypeError, ValueError.
    """

    raw_samples: int = field(default=1, metadata=stored_as("random"))
    most_steps: int = 30
    instead: LocalSearch = LOCAL_SEARCH

    def __post_init__(self) -> None:
        check_integer("raw_samples", self.raw_samples, 1)
        check_integer("most_steps", self.most_steps, 1)

    def __call__(
        self, score: Score, domain: LocalDomain, starts: Batch, rng: np.random.Generator
    ) -> tuple[Batch, Info]:
        """Return the ends of the ascents, best first, and the info to record."""
        first = domain.join(starts, domain.sample(self.raw_samples, rng))
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
            near, _ = domain.sample_neighborhoods(domain.join([x]), MAX_NEIGHBORS, rng, True)
            if not len(near):
                return x, value, step
            bounds = score.upper_bounds(near)
            if np.all(bounds == np.inf):  # the score has no bounds
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
    """Return numbers of changes from 1 to `most`, each about 1.5 times the previous one.

    most: the last number, at least 1.
    """
    counts = [1]
    while counts[-1] < most:
        counts.append(min(most, max(counts[-1] + 1, round(counts[-1] * COUNT_RATIO))))
    return counts
