"""Sequential model-based optimization with random candidates: Negrinho et al. 2019, section 7.2."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bostruct.checks import check_integer, check_number, require
from bostruct.contracts import (
    ADDED_LATER,
    Array,
    Batch,
    Domain,
    HistoryView,
    NumericalError,
    Posterior,
    Searcher,
    State,
    Suggestion,
    Surrogate,
    TreeDomain,
)
from bostruct.searchers.mcts import TreeSearch
from bostruct.searchers.proposals import Design, draw_blindly, fall_back, random_design


@dataclass(frozen=True)
class SMBO(Searcher):
    """Sequential model-based optimization: suggest the candidate with the best predicted mean of a surrogate.

    The defaults are as published, except that no model is fitted before the first observation.

    candidates: number of candidates per suggestion, at least 1; fewer if their tokens are expensive
        (`Domain.most_described`).
    exploration: probability of suggesting a random point instead, in [0, 1].
    n_initial: number of points that `design` chooses first, at least 1.
    design: (domain, seen, rng) -> an unseen initial point.
    tree: searches candidates in a tree of decisions; None for random candidates.

    Raises TypeError, ValueError.
    """

    domain: Domain
    surrogate: Surrogate
    candidates: int = 512
    exploration: float = 0.1
    n_initial: int = 1
    design: Design = random_design
    tree: TreeSearch | None = field(default=None, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        check_integer("candidates", self.candidates, 1)
        check_number("exploration", self.exploration, 0.0, 1.0)
        check_integer("n_initial", self.n_initial, 1)
        if self.tree is not None:
            require(self.domain.traits.tree, self.domain, TreeDomain, "smbo with a tree")

    def initial_state(self) -> State:
        return {"surrogate": self.surrogate.initial_state()}

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        if len(history.seen) < self.n_initial:
            return Suggestion(self.design(self.domain, history.seen, rng), state, {"origin": "initial"})
        if rng.random() < self.exploration:
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random"})
        if not len(history.values):
            return draw_blindly(self.domain, history, state, rng)
        try:
            posterior, learned, info = self.surrogate.condition(
                history.completed, history.values, state["surrogate"], rng
            )
        except NumericalError as error:
            return fall_back(self.domain, history, state, rng, str(error), has_model_failed=True)
        state = {"surrogate": learned}
        xs, means = self._find_candidates(posterior, history, rng)
        for i in np.argsort(means, kind="stable"):  # keys are computed lazily: some take milliseconds
            if self.domain.key(xs[i]) not in history.seen:
                return Suggestion(xs[i], state, {"origin": "model", "predicted": float(means[i]), **info})
        return fall_back(self.domain, history, state, rng, f"{len(xs)} draws led only to seen points")

    def _find_candidates(
        self, posterior: Posterior, history: HistoryView, rng: np.random.Generator
    ) -> tuple[Batch, Array]:
        """Return candidates and their predicted means (m,)."""

        def predict(xs: Batch) -> Array:
            return posterior.screen(xs).mean.mean(axis=0)

        m = int(min(self.candidates, self.domain.most_described))
        if self.tree is None:
            xs = self.domain.sample_candidates(m, history.completed, rng)
            return xs, predict(xs)
        center, scale = float(np.mean(history.values)), float(np.std(history.values)) or 1.0
        domain = require(self.domain.traits.tree, self.domain, TreeDomain, "smbo with a tree")
        found, standard = self.tree(domain, m, lambda xs: (predict(xs) - center) / scale, rng)
        return found, center + scale * standard
