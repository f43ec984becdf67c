"""Simulated annealing of a score, for domains whose scores have many local maxima and plateaus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from bostruct.acquisition.local_search import draw_with_neighbors, sample_neighborhoods
from bostruct.acquisition.pruning import best_of_each_unpruned
from bostruct.checks import check_integer, check_number, first_occurrences, has_capability
from bostruct.contracts import Batch, HasNeighbors, HasQuickChanges, Info, Score

MOST_SPRAYED = 5  # starts whose neighbors are candidates
ELITE = 0.25  # share of the starts that walks begin from
MOST_ENDS = 100  # points that are returned


@dataclass(frozen=True)
class AnnealedSearch:
    """Simulated annealing (Kirkpatrick et al. 1983): walks that also go to worse neighbors, less and less often.

    Half of the walks begin at the best of many candidates, as of `LocalSearch`, the other half at starts drawn from the
    best quarter. In each step a walk looks at some neighbors and goes to the best of them, if that is better, or else
    with the chance exp(difference / temperature). The temperature falls from the first to 0, as a parabola.

    random: number of candidates drawn as the domain draws, at least 1.
    spray: number of candidates drawn among the neighbors of each of the best five starts, at least 0.
    walks: how many, in lockstep, at least 2.
    steps: of each walk, at least 1.
    neighbors: how many neighbors a step looks at, at least 1.
    temperature: the first, in units of the score, at least 0.

    Raises TypeError, ValueError.
    """

    random: int = 300
    spray: int = 60
    walks: int = 10
    steps: int = 30
    neighbors: int = 20
    temperature: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("random", 1), ("spray", 0), ("walks", 2), ("steps", 1), ("neighbors", 1)):
            check_integer(name, getattr(self, name), least)
        check_number("temperature", self.temperature, 0.0)

    def __call__(
        self, score: Score, domain: HasNeighbors, starts: Batch, rng: np.random.Generator
    ) -> tuple[Batch, Info]:
        """Return the best points met, best first, each once, and what goes on record.

        score: the function to maximize.
        domain: with neighbors.
        starts: points to start from, best first; may be empty.
        rng: the only source of chance.
        """
        change = (
            domain.change_each if has_capability(domain, HasQuickChanges) else partial(sample_neighborhoods, domain)
        )
        candidates = draw_with_neighbors(domain, self.random, 0, starts[:MOST_SPRAYED], rng)
        if len(starts) and self.spray:
            near = change(domain.take(starts, np.arange(min(len(starts), MOST_SPRAYED))), self.spray, rng)[0]
            candidates = domain.join(candidates, near)
        scores = score(candidates)
        n_elite = min(len(starts), max(self.walks, round(ELITE * len(starts))))
        elite = rng.integers(n_elite, size=self.walks // 2).tolist() if n_elite else []
        chosen = np.argsort(-scores, kind="stable")[: self.walks - len(elite)]
        here = domain.join(domain.take(candidates, chosen), domain.take(starts, np.array(elite, dtype=np.int64)))
        now = np.concatenate([scores[chosen], score(here[len(chosen) :])]) if elite else scores[chosen]
        met, worth = [here], [now]
        for step in range(self.steps):
            batch, group = change(here, self.neighbors, rng)
            no_bound = np.full(len(here), -np.inf)
            winner, top = best_of_each_unpruned(score, batch, group, len(here), no_bound)
            heat = max(self.temperature * (1.0 - step / self.steps) ** 2, 1e-9)
            goes = (winner >= 0) & (rng.random(len(here)) < np.exp(np.minimum(top - now, 0.0) / heat))
            there = domain.take(batch, winner[winner >= 0])
            met.append(there)
            worth.append(top[winner >= 0])
            places = np.arange(len(here))
            places[goes] = len(here) + np.cumsum(winner >= 0)[goes] - 1
            here, now = domain.take(domain.join(here, there), places), np.where(goes, top, now)
        found, values = domain.join(*met), np.concatenate(worth)
        order = np.argsort(-values, kind="stable")
        ends = domain.take(found, order)
        ends = domain.take(ends, first_occurrences(domain, ends)[:MOST_ENDS])
        return ends, {"candidates": len(candidates), "steps": self.steps, "best_score": float(values[order[0]])}
