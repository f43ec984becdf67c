"""A searcher that was chosen for its domain, and says on every trial which it is and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from bostruct.checks import has_capability
from bostruct.contracts import (
    Appraisal,
    Batch,
    Domain,
    HasAppraisal,
    HasCrossValidation,
    HasPrediction,
    HasRegretBound,
    HistoryView,
    Json,
    LeftOut,
    MayRepeat,
    Predicted,
    Searcher,
    State,
    Suggestion,
    SuggestsJointly,
)


@runtime_checkable
class _Model(HasAppraisal, HasPrediction, Protocol):
    """A searcher with a model."""


@runtime_checkable
class _Regression(_Model, HasRegretBound, HasCrossValidation, SuggestsJointly, Protocol):
    """A searcher whose model bounds the regret, predicts what it was told, and serves several suggestions."""


@dataclass(frozen=True)
class Explained:
    """A searcher whose suggestions carry a note, as ``info["auto"]``.

    searcher: that suggests.
    note: which it is and why.
    """

    searcher: Searcher
    note: str

    @property
    def domain(self) -> Domain:
        return self.searcher.domain

    @property
    def repeats(self) -> bool:
        """True where the searcher may suggest a told point again: `MayRepeat`."""
        return has_capability(self.searcher, MayRepeat) and self.searcher.repeats

    @property
    def n_initial(self) -> int:
        """The number of points that the searcher begins with."""
        return getattr(self.searcher, "n_initial", 0)

    def settings(self) -> Mapping[str, Json]:
        return self.searcher.settings()

    def initial_state(self) -> State:
        return self.searcher.initial_state()

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        """Return what the searcher suggests, with the note; raises what the searcher raises.

        history: all that was told so far.
        state: of `initial_state`, or of the last suggestion.
        rng: the only source of chance.
        """
        return self._explain(self.searcher.suggest(history, state, rng))

    def _explain(self, found: Suggestion) -> Suggestion:
        return found._replace(info={**found.info, "auto": self.note})


@dataclass(frozen=True)
class ExplainedModel(Explained):
    """An explained searcher that has a model: `HasAppraisal` and `HasPrediction`.

    searcher: that suggests, appraises and predicts.
    note: which it is and why.
    """

    searcher: _Model

    def appraise(self, history: HistoryView, state: State, rng: np.random.Generator) -> Appraisal:
        """Appraise the completed points as the searcher does.

        history: at least one completed point.
        state: of the last suggestion.
        rng: the only source of chance.
        """
        return self.searcher.appraise(history, state, rng)

    def predict(self, history: HistoryView, state: State, xs: Batch, rng: np.random.Generator) -> Predicted:
        """Predict points as the searcher does; raises NumericalError.

        history: all that was told so far.
        state: of `initial_state`, or of the last suggestion.
        xs: m points.
        rng: the only source of chance.
        """
        return self.searcher.predict(history, state, xs, rng)


@dataclass(frozen=True)
class ExplainedRegression(ExplainedModel):
    """An explained Bayesian optimization: `HasRegretBound`, `HasCrossValidation`, `SuggestsJointly`.

    searcher: that suggests, appraises, bounds and validates.
    note: which it is and why.
    """

    searcher: _Regression

    def suggest_jointly(self, history: HistoryView, state: State, rng: np.random.Generator) -> Iterator[Suggestion]:
        """Yield what the searcher suggests jointly, with the note; raises what the searcher raises.

        history: all that was told so far.
        state: of `initial_state`, or of the last suggestion.
        rng: the only source of chance.
        """
        for found in self.searcher.suggest_jointly(history, state, rng):
            yield self._explain(found)

    @property
    def bounds_regret(self) -> bool:
        """True where the searcher may bound the regret."""
        return self.searcher.bounds_regret

    def bound_regret_probability(
        self, history: HistoryView, state: State, regret: float, rng: np.random.Generator
    ) -> float:
        """Return what the searcher does.

        history: at least one completed point.
        state: of the last suggestion.
        regret: the difference to the optimum, at least 0, in the user's units.
        rng: the only source of chance.
        """
        return self.searcher.bound_regret_probability(history, state, regret, rng)

    def cross_validate(self, history: HistoryView, state: State, objective: int, rng: np.random.Generator) -> LeftOut:
        """Predict each value told from all others as the searcher does; raises BostructError.

        history: at least one completed point.
        state: of the last suggestion.
        objective: its position, from 0.
        rng: the only source of chance.
        """
        return self.searcher.cross_validate(history, state, objective, rng)


def explain(searcher: Searcher, note: str) -> Explained:
    """Return a searcher whose suggestions carry a note.

    searcher: any.
    note: which it is and why.
    """
    if has_capability(searcher, _Regression):
        return ExplainedRegression(searcher, note)
    return ExplainedModel(searcher, note) if has_capability(searcher, _Model) else Explained(searcher, note)
