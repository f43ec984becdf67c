"""Bayesian optimization of combinatorial structures (BOCS): Baptista and Poloczek 2018, algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import (
    Array,
    Batch,
    HistoryView,
    Info,
    Json,
    LocalDomain,
    NumericalError,
    Point,
    State,
    Suggestion,
)
from bostruct.searchers.bayesian import describe_part
from bostruct.searchers.proposals import draw_blindly, fall_back


class Regression(Protocol):
    """A model whose posterior samples can be minimized."""

    def initial_state(self) -> State: ...

    def draw(self, xs: Batch, values: Array, state: State, rng: np.random.Generator) -> tuple[Any, State, Info]:
        """Draw one sample from the posterior.

        xs: n points.
        values: (n,), in the user's units, minimized.
        state: of `initial_state`, or what the last call returned.
        rng: the only source of chance.

        Returns the sample, the state for the next call, and what goes on record.
        """
        ...


class Minimizer(Protocol):
    """A search for the minimum of one posterior sample."""

    def minimize(self, objective: Any, space: Any, rng: np.random.Generator) -> Batch:
        """Return candidates for the minimum, the best first.

        objective: one posterior sample.
        space: its domain.
        rng: the only source of chance.
        """
        ...


@dataclass(frozen=True)
class BOCS:
    """Thompson sampling: suggest the minimum of one sample from the posterior of a sparse regression.

    The best unseen candidate of the minimizer is taken; where all were seen, the best unseen neighbor of the best one.

    domain: with neighbors.
    regression: draws posterior samples of the objective.
    minimizer: of a sample.
    n_initial: number of random points first, at least 1; 20 as published.

    Raises TypeError, ValueError.
    """

    domain: LocalDomain
    regression: Regression
    minimizer: Minimizer
    n_initial: int = 20

    def __post_init__(self) -> None:
        check_integer("n_initial", self.n_initial, 1)

    def settings(self) -> dict[str, Json]:
        return {name: describe_part(getattr(self, name)) for name in ("regression", "minimizer", "n_initial")}

    def initial_state(self) -> State:
        return self.regression.initial_state()

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        """Return the next point to evaluate; raises SpaceExhausted when no unseen point is left.

        history: all that was told so far.
        state: of `initial_state`, or of the last suggestion.
        rng: the only source of chance.
        """
        if len(history.seen) < self.n_initial:
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "initial"})
        if not len(history.values):
            return draw_blindly(self.domain, history, state, rng)
        try:
            sample, state, info = self.regression.draw(history.completed, history.values, state, rng)
        except NumericalError as error:
            return fall_back(self.domain, history, state, rng, str(error), has_model_failed=True)
        xs = self.minimizer.minimize(sample, self.domain, rng)
        x = self._unseen(xs, history)
        if x is None and len(xs):
            near = self.domain.neighbors(xs[0])
            x = self._unseen(near[np.argsort(sample(near), kind="stable")], history) if len(near) else None
        if x is None:
            return fall_back(self.domain, history, state, rng, "no unseen point near the minimum")
        return Suggestion(x, state, {"origin": "model", **info})

    def _unseen(self, xs: Batch, history: HistoryView) -> Point | None:
        keys = self.domain.keys(xs)
        return next((xs[i] for i, key in enumerate(keys) if key not in history.seen), None)
