"""Random search without replacement."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bostruct.contracts import Domain, HistoryView, Searcher, State, Suggestion


@dataclass(frozen=True)
class RandomSearch(Searcher):
    """Random search without replacement: points that were never seen, drawn as the domain draws them.

    domain: any.
    note: goes on record with each suggestion; None for nothing.
    """

    domain: Domain
    note: str | None = field(default=None, kw_only=True)
    reads_objectives = True

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        return self.with_note(Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random"}))
