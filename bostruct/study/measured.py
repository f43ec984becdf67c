"""Measurements at the completed points of a study, in the form that searchers see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array
from bostruct.goals.declared import Goals
from bostruct.goals.pareto import LARGEST, merit
from bostruct.outcome import Outcome
from bostruct.study.growing import GrowingArray

LEAST_FREEDOM = 5  # degrees of freedom from which repeats tell the noise, whose sd is then off by about a third
ROUNDING = 1e-24  # of a variance to the square of the values: what rounding may make of repeats that agree


class Measured(NamedTuple):
    """Measurements at n completed points; smaller is better.

    values: of the only objective, or a merit that orders the points (n,).
    objectives: (n, k).
    slacks: by how much each limit is broken (n, c), at most 0 where it is kept.
    variances: of the noise of the values (n,), NaN where unknown; None where none is known.
    """

    values: Array
    objectives: Array
    slacks: Array
    variances: Array | None


class Measurements:
    """The measurements of a study in the order told, which grow by one outcome at a time.

    goals: of the study.
    """

    def __init__(self, goals: Goals) -> None:
        self._goals = goals
        self._fresh: list[Outcome] = []  # not yet in the arrays
        self._objectives = GrowingArray(np.empty((0, goals.n_objectives)))
        self._slacks = GrowingArray(np.empty((0, len(goals.limits))))
        self._noise = GrowingArray(np.empty((0, 4)))  # as of `_describe_noise`
        self._has_noise = False

    def append(self, outcome: Outcome) -> None:
        """Take the outcome of one more completed trial.

        outcome: with values, that was checked.
        """
        self._fresh.append(outcome)

    def read(self) -> Measured:
        """Return all measurements so far."""
        fresh, self._fresh = self._fresh, []
        if fresh:
            self._objectives.extend(np.array([self._goals.orient(outcome.values) for outcome in fresh]))
            self._slacks.extend(np.array([self._goals.slacks(outcome) for outcome in fresh]))
            self._noise.extend(np.array([_describe_noise(outcome) for outcome in fresh]))
            self._has_noise |= any(outcome.sd is not None or len(outcome.repeats) > 1 for outcome in fresh)
        objectives, slacks = self._objectives.read(), self._slacks.read()
        values = objectives[:, 0] if self._goals.is_single else merit(objectives, slacks)
        variances = _find_variances(self._noise.read()) if self._has_noise else None
        return Measured(values, objectives, slacks, variances)


def measure(goals: Goals, outcomes: Sequence[Outcome]) -> Measured:
    """Return the measurements of outcomes.

    goals: of the study.
    outcomes: of completed trials, in the order told.
    """
    measurements = Measurements(goals)
    for outcome in outcomes:
        measurements.append(outcome)
    return measurements.read()


def _describe_noise(outcome: Outcome) -> tuple[float, float, float, float]:
    """Return the variance as told, NaN where nobody said, the number of repeats, the sum of their squared deviations,
    and the square of the largest.
    """
    told = np.nan if outcome.sd is None else min(outcome.sd * outcome.sd, LARGEST)  # an old file may hold any sd
    if not outcome.repeats:
        return told, 1.0, 0.0, 0.0
    repeats = np.array(outcome.repeats)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(np.square(repeats - repeats.mean()).sum())
        return told, len(repeats), squares, float(np.max(np.square(repeats)))


def _find_variances(noise: Array) -> Array | None:
    """Return the variance of each value: as told, or the pooled variance of repeats over their number; None for none.

    A single value counts as one repeat: a model that learned its noise would know nothing of the scatter within points
    (docs/auto-evidence.md). Repeats that all agree, up to the rounding of their mean, may be one measurement, read
    several times. They tell nothing of the noise, which is learned then.

    noise: told variance, number of repeats, sum of their squared deviations, square of the largest, of each value
        (n, 4).
    """
    told, counts, squares, largest = noise.T
    freedom = float((counts - 1.0).sum())
    with np.errstate(over="ignore"):
        pooled = float(squares.sum()) / freedom if freedom >= LEAST_FREEDOM else np.nan
    tells = np.isfinite(pooled) and pooled > ROUNDING * float(np.max(largest))  # squares of the largest floats do not
    variances = np.where(np.isnan(told), pooled / counts, told) if tells else told
    return None if np.isnan(variances).all() else variances
