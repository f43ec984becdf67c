"""The best of random points: the maximizer of domains that have neither neighbors nor mutations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.acquisition.bounded_search import best
from bostruct.checks import check_integer, first_occurrences
from bostruct.contracts import Batch, Domain, Info, Maximizer, Score


@dataclass(frozen=True)
class Sampling(Maximizer):
    """A search for the best of random points.

    random: number of points drawn as the domain draws, at least 1.
    kept: how many of them are returned, the best ones, at least 1.

    Raises TypeError, ValueError.
    """

    random: int = 1_000
    kept: int = 20

    def __post_init__(self) -> None:
        check_integer("random", self.random, 1)
        check_integer("kept", self.kept, 1)

    def __call__(self, score: Score, domain: Domain, starts: Batch, rng: np.random.Generator) -> tuple[Batch, Info]:
        """Return the best points, best first, each once, and what goes on record.

        score: the function to maximize.
        domain: any.
        starts: unused.
        rng: the only source of chance.
        """
        del starts  # nothing leads from one point to another
        drawn = domain.sample(self.random, rng)
        distinct = domain.take(drawn, first_occurrences(domain, drawn))
        chosen, scores = best(score, domain, distinct, self.kept)
        return domain.take(distinct, chosen), {"candidates": len(distinct), "best_score": float(scores[0])}
