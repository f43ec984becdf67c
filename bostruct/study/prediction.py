"""Predictions of a study's method at any points, in the user's units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bostruct.checks import has_capability
from bostruct.contracts import Array, Batch, BostructError, HasPrediction, HistoryView, Searcher
from bostruct.goals.declared import Goals
from bostruct.storage.json_text import MALFORMED, parse

STREAM = 2**32 - 2  # keeps the generator apart from those of suggestions and recommendations


class Predictions(NamedTuple):
    """The prediction of a method at m points.

    mean: of the objective, noise aside (m,), in the user's units; (m, k) of k objectives.
    sd: its standard deviations, of the same shape.
    chance: that the point has a value and keeps all limits (m,), in [0, 1].
    """

    mean: Array
    sd: Array
    chance: Array


def predict(searcher: Searcher, state: str, history: HistoryView, xs: Batch, goals: Goals, seed: int) -> Predictions:
    """Return what a method believes of points, the same for the same study.

    searcher: of the study.
    state: of the last suggestion, JSON text.
    history: all that was told so far.
    xs: m points.
    goals: of the study.
    seed: of the study.

    Raises BostructError for a method without a model, and where none has completed; NumericalError.
    """
    if not has_capability(searcher, HasPrediction):
        raise BostructError(f"predict: {type(searcher).__name__} has no model of the objective; auto has one")
    if not len(history.values):
        raise BostructError("predict: expected at least one completed trial, got none")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(history.values), STREAM)))
    try:
        found = searcher.predict(history, parse(state), xs, rng)
    except BostructError:
        raise
    except MALFORMED as error:  # a state that no searcher wrote
        raise BostructError(f"predict: the model cannot use its state: {error!r}") from error
    mean = np.array([goals.orient(row) for row in found.mean.mean(axis=1).T]).reshape(len(xs), goals.n_objectives)
    sd = np.sqrt(found.variance.mean(axis=1) + found.mean.var(axis=1)).T  # law of total variance
    single = goals.n_objectives == 1
    return Predictions(mean[:, 0] if single else mean, sd[:, 0] if single else sd, np.exp(found.log_chance))
