"""Random search without replacement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bostruct.contracts import Domain, HistoryView, Json, State, Suggestion


@dataclass(frozen=True)
class RandomSearch:
    """Random search without replacement: points that were never seen, drawn as the domain draws them.

    domain: any.
    """

    domain: Domain

    def settings(self) -> dict[str, Json]:
        return {}

    def initial_state(self) -> State:
        return None

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        """Return the next point to evaluate; raises SpaceExhausted when no unseen point is left.

        history: all that was told so far.
        state: of `initial_state`, or of the last suggestion.
        rng: the only source of chance.
        """
        return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random"})
