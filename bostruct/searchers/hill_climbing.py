"""One-exchange hill climbing with random restarts: the baseline that a model has to earn its cost against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_bool, check_integer, try_mutation
from bostruct.contracts import (
    PARENT_POSITION,
    Domain,
    HistoryView,
    Point,
    Searcher,
    State,
    Suggestion,
)

MUTATION_TRIES = 100  # of the center, where its neighbors cannot be listed


@dataclass(frozen=True)
class HillClimbing(Searcher):
    """Hill climbing: visit the neighbors of the best point in random order, and move to what improves on it.

    domain: with neighbors, or with mutations, which take their place where neighbors cannot be listed.
    n_initial: number of random points before the climb starts from the best of them, at least 1.
    best_improvement: visit all neighbors before moving to the best of them; else move at the first improvement.

    A space with numbers is searched by mutations, too, for a point has more neighbors by its numbers than by all else.

    Where no neighbor of the center is unseen and none is better, the climb starts again at a random unseen point; it
    then looks at values told since that moment only. So it does where 100 mutations of the center led to seen points
    alone. Raises TypeError, ValueError.
    """

    domain: Domain
    n_initial: int = 20
    best_improvement: bool = False

    def __post_init__(self) -> None:
        check_integer("n_initial", self.n_initial, 1)
        check_bool("best_improvement", self.best_improvement)

    def initial_state(self) -> State:
        """Return start, values told before this climb, and center, position of its center among the values told."""
        return {"start": 0, "center": None}

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        if len(history.seen) < self.n_initial:
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "initial"})
        start = state["start"]
        if len(history.completed) == start:
            why = "no value told yet to climb from"
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random", "why": why})
        best = start + int(np.argmin(history.values[start:]))
        stays = self.best_improvement and state["center"] is not None
        for center in (state["center"], best) if stays else (best,):
            if (x := self._unseen_neighbor(history, center, rng)) is not None:
                info = {"origin": "model", "center": float(history.values[center]), PARENT_POSITION: center}
                return Suggestion(x, {"start": start, "center": center}, info)
        chosen = self.domain.sample_unseen(history.seen, rng)
        restarted = {"start": len(history.completed), "center": None}
        return Suggestion(chosen, restarted, {"origin": "random", "why": "restarted at a local optimum"})

    def _unseen_neighbor(self, history: HistoryView, center: int, rng: np.random.Generator) -> Point | None:
        """Draw one of the unseen neighbors, uniformly; return None where all were seen."""
        x = history.completed[center]
        local = self.domain.traits.local
        if local is None or self._has_numbers:
            return self._unseen_mutation(history, x, rng)
        # Of one more neighbor than there are seen points, one is unseen: so these bounds lose nothing.
        for most in (16, len(history.seen) + 1):
            neighbors = local.sample_neighbors(x, most, rng)
            unseen = [i for i, key in enumerate(self.domain.keys(neighbors)) if key not in history.seen]
            if unseen:
                return neighbors[unseen[rng.integers(len(unseen))]]
        return None

    @property
    def _has_numbers(self) -> bool:
        """True where few neighbors but those by a number would be visited."""
        return not self.best_improvement and self.domain.n_continuous > 0

    def _unseen_mutation(self, history: HistoryView, x: Point, rng: np.random.Generator) -> Point | None:
        """Draw mutations until one is unseen; return None where none of 100 is."""
        for _ in range(MUTATION_TRIES):
            if (changed := try_mutation(self.domain, x, rng)) is None:
                return None
            if self.domain.key(changed) not in history.seen:
                return changed
        return None
