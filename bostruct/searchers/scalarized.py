"""Several objectives as one: each suggestion minimizes another weighting of them, drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Array, Domain, HistoryView, Json, Searcher, State, Suggestion
from bostruct.goals.pareto import is_feasible, merit
from bostruct.searchers.views import revalue

SUM_WEIGHT = 0.05  # of the weighted sum beside the weighted maximum, as published


@dataclass(frozen=True)
class Scalarized(Searcher):
    """A searcher of one objective that searches for the points which no other one dominates.

    Each suggestion draws weights of the objectives uniformly, and the searcher sees their augmented Chebyshev norm: the
    largest weighted objective plus 0.05 times their weighted sum, objectives being shares of their range. Points that
    break a limit come after all others, as `bostruct.goals.pareto.merit` orders them.

    searcher: of one objective.

    Source: ParEGO (Knowles 2006), equation 2.
    """

    searcher: Searcher

    @property
    def domain(self) -> Domain:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.searcher.domain

    @property
    def n_initial(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.searcher.n_initial

    def settings(self) -> Mapping[str, Json]:
        return self.searcher.settings()

    def initial_state(self) -> State:
        return self.searcher.initial_state()

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        weights = rng.dirichlet(np.ones(history.objectives.shape[1]))
        values = scalarize(history.objectives, history.slacks, weights)
        return self.searcher.suggest(revalue(history, values), state, rng)


def scalarize(objectives: Array, slacks: Array, weights: Array) -> Array:
    """Return the augmented Chebyshev norm of each point (n,), feasible points first.

    objectives: (n, k), minimized.
    slacks: (n, c).
    weights: at least 0, with the sum 1 (k,).
    """
    if not len(objectives):
        return np.zeros(0)
    feasible = is_feasible(slacks)
    known = 0.5 * (objectives[feasible] if feasible.any() else objectives)  # ranges of the largest floats are infinite
    low, range_ = known.min(axis=0), np.ptp(known, axis=0)
    weighted = weights * (0.5 * objectives - low) / np.where(range_ > 0.0, range_, 1.0)
    return merit((weighted.max(axis=1) + SUM_WEIGHT * weighted.sum(axis=1))[:, None], slacks)
