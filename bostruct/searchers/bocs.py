"""Bayesian optimization of combinatorial structures (BOCS): Baptista and Poloczek 2018, algorithm 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import (
    Batch,
    HistoryView,
    HyperparameterSamples,
    LocalDomain,
    NumericalError,
    Point,
    Regression,
    Searcher,
    State,
    Suggestion,
)
from bostruct.searchers.proposals import draw_blindly, fall_back

Minimizer = Callable[[Any, Any, np.random.Generator], Batch]
"""(posterior sample, its domain, rng) -> candidates for the minimum of the sample, the best first."""


@dataclass(frozen=True)
class BOCS(Searcher):
    """Thompson sampling: suggest the minimum of a sample from the posterior of a sparse regression.

    The best unseen candidate of the minimizer is suggested, or else the best unseen neighbor of the best candidate.

    n_initial: number of initial random points, at least 1; 20 as published.

    Raises TypeError, ValueError.
    """

    domain: LocalDomain
    regression: Regression
    minimizer: Minimizer
    n_initial: int = 20

    def __post_init__(self) -> None:
        check_integer("n_initial", self.n_initial, 1)

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        if len(history.seen) < self.n_initial:
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "initial"})
        if not len(history.values):
            return draw_blindly(self.domain, history, state, rng)
        try:
            sample, state, info = self.regression(history.completed, history.values, state, rng)
        except NumericalError as error:
            return fall_back(self.domain, history, state, rng, str(error), has_model_failed=True)
        xs = self.minimizer(sample, self.domain, rng)
        x = self._unseen(xs, history)
        if x is None and len(xs):
            near = self.domain.neighbors(xs[0])
            x = self._unseen(near[np.argsort(sample(near), kind="stable")], history) if len(near) else None
        if x is None:
            return fall_back(self.domain, history, state, rng, "no unseen point near the minimum")
        return Suggestion(x, state, {"origin": "model", **info})

    def sample_hyperparameters(
        self, history: HistoryView, state: State, rng: np.random.Generator
    ) -> list[list[HyperparameterSamples]]:
        variables = list(self.domain.variables.items())
        terms = self.regression.sample_terms(history.completed, history.values, state, rng)
        found = list[HyperparameterSamples]()
        for choices, coefficients in terms:
            factors = [f"{variables[i][0]}={variables[i][1].present([choice])}" for i, choice in choices]
            found.append(HyperparameterSamples("coefficient", " x ".join(factors), coefficients, has_sign=True))
        return [found]

    def _unseen(self, xs: Batch, history: HistoryView) -> Point | None:
        keys = self.domain.keys(xs)
        return next((xs[i] for i, key in enumerate(keys) if key not in history.seen), None)
