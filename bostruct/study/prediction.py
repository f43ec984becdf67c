"""Predictions of a study's method at any points, in the user's units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_number
from bostruct.contracts import (
    Array,
    Batch,
    BostructError,
    HistoryView,
    IntArray,
    Searcher,
)
from bostruct.goals.declared import Goals
from bostruct.storage.json_text import MALFORMED, parse
from bostruct.study.history import History

HALF_WIDTH = 1.959963984540054  # of a 95 % interval, in standard deviations of a normal distribution
FEWEST_VALIDATED = 3  # completed trials: of two, each is predicted by one value
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


class LeftOutTrials(NamedTuple):
    """Predictions of the values of n trials, each made by a model that was not told the value.

    numbers: of the trials (n,).
    told: their values (n,), in the user's units.
    mean: predicted of each (n,).
    sd: standard deviations of what would be told, noise included (n,).
    """

    numbers: IntArray
    told: Array
    mean: Array
    sd: Array

    @property
    def residuals(self) -> Array:
        """The differences of told and predicted values, in standard deviations (n,)."""
        return (self.told - self.mean) / self.sd

    def coverage(self, level: float = 0.95) -> float:
        """Return the share of the values told that lie in the central intervals of their predictions, in [0, 1].

        level: probability of an interval, in (0, 1).
        """
        check_number("level", level, 0.0, 1.0)
        return float(np.mean(np.abs(self.residuals) <= NormalDist().inv_cdf(0.5 + 0.5 * level)))


@contextmanager
def explain_bad_state(what: str) -> Iterator[None]:
    """Raise BostructError for what a searcher raises that is given a state that no searcher wrote.

    what: was asked of the searcher, named first.
    """
    try:
        yield
    except BostructError:
        raise
    except MALFORMED as error:
        raise BostructError(f"{what}: the model cannot use its state: {error!r}") from error


def cross_validate(
    searcher: Searcher,
    state: str,
    history: History,
    numbers: Sequence[int],
    goals: Goals,
    objective: int,
    seed: int,
    who: str,
) -> LeftOutTrials:
    """Return what a method predicts of each value told without that value, the same for the same study.

    searcher: of the study.
    state: of the last suggestion, JSON text.
    history: all that was told so far.
    numbers: of the completed trials (n,), in the order told.
    goals: of the study.
    objective: its position, from 0.
    seed: of the study.
    who: the name that people call the method by.

    Raises BostructError for a method without a Gaussian process, or with too few completed trials; NumericalError.
    """
    if not searcher.cross_validates:
        raise BostructError(
            f"cross_validate: {who} has no Gaussian process{_of_each(goals)}, which predicts what it was told without "
            "having been told; auto has one"
        )
    if len(history.values) < FEWEST_VALIDATED:
        raise BostructError(
            f"cross_validate: expected at least {FEWEST_VALIDATED} completed trials, got {len(history.values)}"
        )
    rng = _make_generator(seed, history)
    with explain_bad_state("cross_validate"):
        positions, found = searcher.cross_validate(history, parse(state), objective, rng)
    sign = -1.0 if goals.directions[objective] == "maximize" else 1.0
    told, mean = (sign * one for one in (history.objectives[positions, objective], found.mean.mean(axis=0)))
    return LeftOutTrials(np.array(numbers, dtype=np.int64)[positions], told, mean, mix_sds(found.mean, found.variance))


def mix_sds(mean: Array, variance: Array) -> Array:
    """Return the standard deviations of even mixtures of s normal distributions (m,), by the law of total variance.

    mean, variance: of the distributions (s, m).
    """
    return np.sqrt(variance.mean(axis=0) + mean.var(axis=0))


def _make_generator(seed: int, history: HistoryView) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(history.values), STREAM)))


def _of_each(goals: Goals) -> str:
    """Write that a model is of each objective, where there are several."""
    return f" of each of {goals.n_objectives} objectives" if goals.n_objectives > 1 else ""


def predict(
    searcher: Searcher, state: str, history: HistoryView, xs: Batch, goals: Goals, seed: int, who: str
) -> Predictions:
    """Return what a method believes of points, the same for the same study.

    searcher: of the study.
    state: of the last suggestion, JSON text.
    history: all that was told so far.
    xs: m points.
    goals: of the study.
    seed: of the study.
    who: the name that people call the method by.

    Raises BostructError for a method without a model, and where none has completed; NumericalError.
    """
    if not searcher.has_model:
        raise BostructError(f"predict: {who} has no model{_of_each(goals) or ' of the objective'}; auto has one")
    if not len(history.values):
        raise BostructError("predict: expected at least one completed trial, got none")
    rng = _make_generator(seed, history)
    with explain_bad_state("predict"):
        found = searcher.predict(history, parse(state), xs, rng)
    mean = np.array([goals.orient(row) for row in found.mean.mean(axis=1).T]).reshape(len(xs), goals.n_objectives)
    sd = np.array([mix_sds(*one) for one in zip(found.mean, found.variance, strict=True)]).T
    single = goals.n_objectives == 1
    return Predictions(mean[:, 0] if single else mean, sd[:, 0] if single else sd, np.exp(found.log_chance))
