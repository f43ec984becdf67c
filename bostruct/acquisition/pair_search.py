"""Search by pairs of changes, from where no single change is better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.acquisition.bounded_search import best
from bostruct.acquisition.local_search import ascend
from bostruct.checks import check_integer, first_occurrences
from bostruct.contracts import Batch, Info, LocalDomain, Maximizer, Point, Score

ASCENT = 10  # times as many neighbors as pairs are looked at by single changes after a step


@dataclass(frozen=True)
class PairSearch(Maximizer):
    """Another search, whose best maximum climbs on by pairs of changes, as long as one is better.

    Under a limit single changes lead nowhere: one more item breaks the limit, and one less is worse. One for another is
    a pair of changes.

    begin: the other search.
    most: pairs of changes of one point that a step looks at, at least 1. Where there are more, about as many are drawn.
    steps: by pairs, at least 1.
    kept: how many of the best points of a step are returned, at least 1: the best of all may have been told.

    Raises TypeError, ValueError.
    """

    begin: Maximizer
    most: int = 4_000
    steps: int = 10
    kept: int = 10

    def __post_init__(self) -> None:
        for name in ("most", "steps", "kept"):
            check_integer(name, getattr(self, name), 1)

    def __call__(
        self, score: Score, domain: LocalDomain, starts: Batch, rng: np.random.Generator
    ) -> tuple[Batch, Info]:
        """Return the maxima and the best of the points looked at, best first, each once, and what goes on record.

        score: the function to maximize.
        domain: with neighbors.
        starts: good points to start from; may be empty.
        rng: the only source of chance.
        """
        maxima, info = self.begin(score, domain, starts, rng)
        scores, n_pairs = score(maxima), 0
        x, value, looked_at = maxima[0], float(scores[0]), [(maxima, scores)]
        for _ in range(self.steps):
            pairs = self._draw_pairs(domain, x, rng)
            n_pairs += len(pairs)
            chosen, scores = best(score, domain, pairs, self.kept)
            looked_at.append((domain.take(pairs, chosen), scores))
            if not len(scores) or scores[0] <= value:
                break
            top = domain.take(pairs, chosen[:1])
            ends, scores, _ = ascend(score, domain, top, scores[:1], rng, True, ASCENT * self.most, self.most)
            looked_at.append((ends, scores))
            x, value = ends[0], float(scores[0])
        points, scores = domain.join(*(one for one, _ in looked_at)), np.concatenate([one for _, one in looked_at])
        order = np.argsort(-scores, kind="stable")
        ranked = domain.take(points, order)
        pairs_info = {"pairs": n_pairs, "best_score": float(scores[order[0]])}
        return domain.take(ranked, first_occurrences(domain, ranked)), info | pairs_info

    def _draw_pairs(self, domain: LocalDomain, x: Point, rng: np.random.Generator) -> Batch:
        """Return the neighbors of the neighbors of a point, each once; the point is one of them."""
        near, _ = domain.sample_neighborhoods(domain.join([x]), self.most, rng)
        if not len(near):
            return near
        far, _ = domain.sample_neighborhoods(near, -(-self.most // len(near)), rng)
        return domain.take(far, first_occurrences(domain, far))
