"""Exact searches for the best of many points that do not score all points.

A point is scored only if its upper bound could still place it before the k-th best point found. The result is the same
as if every point was scored; ties are broken by the lowest index.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_integer, first_occurrences
from bostruct.contracts import Array, Batch, Domain, Info, Maximizer, Score, stored_as

FIRST_BLOCK = 32
BLOCK_GROWTH = 4
SORTED_AT_FIRST = 2048  # points that are sorted first, out of many more
LARGEST_BLOCK = 1024  # points that a posterior predicts at once; larger blocks cost more than they save


def best(score: Score, domain: Domain, xs: Batch, k: int) -> tuple[npt.NDArray[np.int64], Array]:
    """Return the indices and the scores of the k best points, best first; all points if there are fewer.

    k: number of points, at least 1.
    """
    bounds = score.upper_bounds(xs)
    order = np.arange(len(bounds))
    if len(bounds) > SORTED_AT_FIRST:
        order = np.flatnonzero(bounds > np.partition(bounds, -SORTED_AT_FIRST)[-SORTED_AT_FIRST])
    order = order[np.argsort(-bounds[order], kind="stable")]
    scores = np.full(len(bounds), -np.inf)
    done, block = 0, max(FIRST_BLOCK, k)
    ranked = order[:0]
    while done < len(bounds):
        if len(order) < min(done + block + 1, len(bounds)):
            order = np.argsort(-bounds, kind="stable")  # the points sorted first were not enough
        fresh = order[done : done + block]
        if len(ranked) == k:
            fresh = fresh[bounds[fresh] >= scores[ranked[-1]]]  # at least one, otherwise the loop had ended
        scores[fresh] = score(domain.take(xs, fresh))
        done, block = done + len(fresh), max(block, min(block * BLOCK_GROWTH, LARGEST_BLOCK))
        candidates = np.concatenate([ranked, fresh])
        ranked = candidates[np.lexsort((candidates, -scores[candidates]))][:k]
        if done < len(bounds) and len(ranked) == k:
            last, following = ranked[-1], order[done]
            bound, least = bounds[following], scores[last]
            if bound < least or (bound == least and following >= last):
                break
    return ranked, scores[ranked]


def best_of_each(
    score: Score, domain: Domain, xs: Batch, group: npt.NDArray[np.int64], n_groups: int, floor: Array
) -> tuple[npt.NDArray[np.int64], Array, float]:
    """Return the index and the score of the best point of each group (lowest index if equal), and the share scored.

    group: group of each point (m,), in 0..n_groups - 1.
    n_groups: number of groups.
    floor: scores (n_groups,) that a group's best point must exceed; otherwise its index may be -1.
    """
    bounds = score.upper_bounds(xs)
    order = np.lexsort((np.arange(len(bounds)), -bounds, group))  # by group, best bound first
    starts = np.searchsorted(group[order], np.arange(n_groups + 1))
    position, stop = starts[:-1].copy(), starts[1:]
    winner = np.full(n_groups, -1, dtype=np.int64)
    top = floor.astype(np.float64, copy=True)
    block, n_scored = 1, 0
    while True:
        groups = np.flatnonzero(position < stop)
        open_groups = groups[_could_win(bounds, order[position[groups]], winner[groups], top[groups])]
        if not len(open_groups):
            return winner, top, n_scored / max(len(bounds), 1)
        fresh = np.concatenate([order[position[g] : min(position[g] + block, stop[g])] for g in open_groups])
        fresh = fresh[_could_win(bounds, fresh, winner[group[fresh]], top[group[fresh]])]
        n_scored += len(fresh)
        scored = zip(fresh.tolist(), group[fresh].tolist(), score(domain.take(xs, fresh)).tolist(), strict=True)
        for index, g, value in scored:
            if value > top[g] or (value == top[g] and 0 <= index < winner[g]):
                winner[g], top[g] = index, value
        position[open_groups] = np.minimum(position[open_groups] + block, stop[open_groups])
        block *= BLOCK_GROWTH


def best_of_each_unpruned(
    score: Score, xs: Batch, group: npt.NDArray[np.int64], n_groups: int, floor: Array
) -> tuple[npt.NDArray[np.int64], Array]:
    """Return the indices and scores of `best_of_each` from all scores, which is faster if bounds save little.

    group: group of each point (m,), in 0..n_groups - 1.
    n_groups: number of groups.
    floor: (n_groups,), see `best_of_each`.
    """
    scores = score(xs)
    order = np.lexsort((np.arange(len(scores)), -scores, group))
    first = order[np.unique(group[order], return_index=True)[1]]  # the best point of each group with points
    first = first[scores[first] > floor[group[first]]]
    winner, top = np.full(n_groups, -1, dtype=np.int64), floor.astype(np.float64, copy=True)
    winner[group[first]], top[group[first]] = first, scores[first]
    return winner, top


def _could_win(
    bounds: Array, points: npt.NDArray[np.int64], winner: npt.NDArray[np.int64], top: Array
) -> npt.NDArray[np.bool_]:
    """Return which points could still win (m,); `winner` and `top` are the best of each point's group so far."""
    own = bounds[points]
    return (own > top) | ((own == top) & (points < winner))


@dataclass(frozen=True)
class Sampling(Maximizer):
    """A search for the best of random points.

    raw_samples: number of points sampled from the domain, at least 1.
    kept: number of the best points to return, at least 1.

    Raises TypeError, ValueError.
    """

    raw_samples: int = field(default=1_000, metadata=stored_as("random"))
    kept: int = 20

    def __post_init__(self) -> None:
        check_integer("raw_samples", self.raw_samples, 1)
        check_integer("kept", self.kept, 1)

    def __call__(self, score: Score, domain: Domain, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        """Return the best points, best first, each once, and the info to record."""
        drawn = domain.sample(self.raw_samples, rng)
        distinct = domain.take(drawn, first_occurrences(domain, drawn))
        chosen, scores = best(score, domain, distinct, self.kept)
        return domain.take(distinct, chosen), {"candidates": len(distinct), "best_score": float(scores[0])}
