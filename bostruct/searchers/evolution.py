"""Evolution on the objective itself: the baseline of Kandasamy et al. 2018, section 6, and variants of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bostruct.checks import check_integer, try_mutation
from bostruct.contracts import (
    PARENT_POSITION,
    Array,
    Domain,
    HistoryView,
    Json,
    Point,
    Searcher,
    State,
    Suggestion,
    describe_part,
)
from bostruct.searchers.proposals import Design, draw_blindly, fall_back, random_design

ParentSelection = Callable[[Array], Array]  # fitness (m,), in the order told -> chances (m,)


@dataclass(frozen=True)
class EvolutionSearch(Searcher):
    """Evolution as a searcher: each suggestion is a mutation of one evaluated point.

    domain: with mutations.
    selection: fitness (m,) of all completed trials, in the order told -> the chance of each to be the parent (m,).
    n_initial: number of points that `design` chooses first, at least 1.
    design: (domain, seen, rng) -> an unseen initial point.
    tries: mutations tried, each of a parent drawn anew, until one was not seen, at least 1.
    origin: name of such suggestions on record.
    note: goes on record with each suggestion; None for nothing.

    Raises TypeError, ValueError.
    """

    domain: Domain
    selection: ParentSelection
    n_initial: int = 20
    design: Design = random_design
    tries: int = 200
    origin: str = "model"
    note: str | None = field(default=None, kw_only=True)
    reads_objectives = True

    def __post_init__(self) -> None:
        check_integer("n_initial", self.n_initial, 1)
        check_integer("tries", self.tries, 1)

    def settings(self) -> dict[str, Json]:
        parts: dict[str, Any] = {"selection": self.selection, "n_initial": self.n_initial, "design": self.design}
        return {name: describe_part(part) for name, part in (parts | {"tries": self.tries}).items()}

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        return self.with_note(self._suggest(history, state, rng))

    def _suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        if len(history.seen) < self.n_initial:
            return Suggestion(self.design(self.domain, history.seen, rng), state, {"origin": "initial"})
        if not len(history.values):
            return draw_blindly(self.domain, history, state, rng)
        child = self._child(history, rng)
        if child is None:
            why = f"no unseen point was found in up to {self.tries} mutations"
            return fall_back(self.domain, history, state, rng, why)
        x, parent = child
        return Suggestion(x, state, {"origin": self.origin, PARENT_POSITION: parent})

    def _child(self, history: HistoryView, rng: np.random.Generator) -> tuple[Point, int] | None:
        """Return an unseen mutation and the position of its parent; None where every try met a point that was seen."""
        parents = rng.choice(len(history.values), size=self.tries, p=self.selection(-history.values))
        for parent in parents.tolist():
            x = try_mutation(self.domain, history.completed[parent], rng)
            if x is not None and self.domain.key(x) not in history.seen:
                return x, parent
        return None
