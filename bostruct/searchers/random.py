"""Random search without replacement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Domain, HistoryView, Json, State, Suggestion


@dataclass(frozen=True)
class RandomSearch:
    """Uniform points that were never seen."""

    domain: Domain

    def settings(self) -> dict[str, Json]:
        return {}

    def initial_state(self) -> State:
        return None

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random"})
