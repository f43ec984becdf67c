"""Simulated annealing of a score, for domains whose scores have many local maxima and plateaus."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bostruct.acquisition.bounded_search import best_of_each_unpruned
from bostruct.acquisition.local_search import draw_with_neighbors
from bostruct.checks import check_integer, check_number, first_occurrences
from bostruct.contracts import Array, Batch, Domain, Info, LocalDomain, Maximizer, Score, stored_as

MOST_SPRAYED = 5  # maximum number of starts whose neighbors are candidates
ELITE = 0.25  # share of the starts from which walks may start
MOST_ENDS = 100  # maximum number of points to return
COLDEST = 1e-9  # lowest temperature, at which worse neighbors are never accepted


class Scored(NamedTuple):
    """Points and their scores (m,)."""

    points: Batch
    scores: Array


@dataclass(frozen=True)
class AnnealedSearch(Maximizer):
    """Simulated annealing (Kirkpatrick et al. 1983): walks that also go to worse neighbors, less and less often.

    Half of the walks start at the best of many candidates, as in `LocalSearch`. The other half start at random starts
    from the best quarter, or from as many of the best starts as there are walks if that is more. In each step a walk
    scores some neighbors and goes to the best of them if that is better, otherwise with the probability
    exp(difference / temperature). The temperature decreases to 0 as a parabola.

    raw_samples: number of candidates sampled from the domain, at least 1.
    num_spray_points: number of candidates sampled from the neighbors of each of the best five starts, at least 0.
    walks: number of walks, in lockstep, at least 2.
    steps: number of steps of each walk, at least 1.
    neighbors: number of neighbors scored in a step, at least 1.
    temperature: initial temperature, in units of the score, at least 0.

    Raises TypeError, ValueError.
    """

    raw_samples: int = field(default=300, metadata=stored_as("random"))
    num_spray_points: int = field(default=60, metadata=stored_as("spray"))
    walks: int = 10
    steps: int = 30
    neighbors: int = 20
    temperature: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("raw_samples", 1), ("num_spray_points", 0), ("walks", 2), ("steps", 1), ("neighbors", 1)):
            check_integer(name, getattr(self, name), least)
        check_number("temperature", self.temperature, 0.0)

    def __call__(
        self, score: Score, domain: LocalDomain, starts: Batch, rng: np.random.Generator
    ) -> tuple[Batch, Info]:
        """Return the best scored points, best first, each once, and the info to record."""
        candidates = draw_with_neighbors(domain, self.raw_samples, 0, starts[:MOST_SPRAYED], rng)
        if len(starts) and self.num_spray_points:
            first = domain.take(starts, np.arange(min(len(starts), MOST_SPRAYED)))
            candidates = domain.join(candidates, domain.change_each(first, self.num_spray_points, rng)[0])
        walkers = self._begin(score, domain, candidates, starts, rng)
        visited = [walkers]
        for step in range(self.steps):
            neighbors, group = domain.change_each(walkers.points, self.neighbors, rng)
            n_walks = len(walkers.scores)
            winner, top = best_of_each_unpruned(score, neighbors, group, n_walks, np.full(n_walks, -np.inf))
            has = winner >= 0  # which walks have a neighbor above -inf
            found = Scored(domain.take(neighbors, winner[has]), top[has])
            temperature = max(self.temperature * (1.0 - step / self.steps) ** 2, COLDEST)
            losses = np.full(n_walks, -np.inf)
            losses[has] = np.minimum(found.scores - walkers.scores[has], 0.0)
            accepted = rng.random(n_walks) < np.exp(losses / temperature)  # Metropolis et al. 1953
            places = np.where(accepted, n_walks + np.cumsum(has) - 1, np.arange(n_walks))  # other walks stay
            both = np.concatenate([walkers.scores, found.scores])
            walkers = Scored(domain.take(domain.join(walkers.points, found.points), places), both[places])
            visited.append(found)
        points, scores = domain.join(*(one.points for one in visited)), np.concatenate([one.scores for one in visited])
        order = np.argsort(-scores, kind="stable")
        ranked = domain.take(points, order)
        first = first_occurrences(domain, ranked)[:MOST_ENDS]
        ends = Scored(domain.take(ranked, first), scores[order[first]])
        info = {"candidates": len(candidates), "steps": self.steps, "best_score": float(ends.scores[0])}
        return ends.points, info

    def _begin(
        self, score: Score, domain: Domain, candidates: Batch, starts: Batch, rng: np.random.Generator
    ) -> Scored:
        """Return the points from which walks start: the best candidates, and some of the first starts."""
        scores = score(candidates)
        n_elite = min(len(starts), max(self.walks, round(ELITE * len(starts))))
        elite = rng.integers(n_elite, size=self.walks // 2) if n_elite else np.zeros(0, dtype=np.int64)
        chosen = np.argsort(-scores, kind="stable")[: self.walks - len(elite)]
        points = domain.join(domain.take(candidates, chosen), domain.take(starts, elite))
        of_elite = score(points[len(chosen) :]) if len(elite) else np.zeros(0)
        return Scored(points, np.concatenate([scores[chosen], of_elite]))
