"""Models of success: the chance that a point has a value, learned from points that have one and points that failed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from bostruct.checks import has_capability, require_gradient
from bostruct.contracts import (
    Array,
    Batch,
    Chance,
    HasChanceGradient,
    HasPredictionGradient,
    IntArray,
    Posterior,
    Prediction,
    State,
    SuccessModel,
    Surrogate,
)

BoolArray: TypeAlias = npt.NDArray[np.bool_]

LOG_ROOT_2_PI = 0.5 * math.log(2.0 * math.pi)
HELD_OUT = 3  # one point in so many is kept from the models that are compared by it
FEWEST = 12  # points from which models are compared; with fewer they count the same
LEAST_WEIGHT = 1e-3  # of a model that takes part, for each prediction costs time
FEWEST_OF_EACH = 2  # successes and failures, of those that are learned from


@dataclass(frozen=True)
class RegressedSuccess:
    """Success as a label that is 1 where points succeed and 0 where they fail, which a surrogate regresses.

    The chance of success is the chance that the label exceeds a half.

    surrogate: of the label, on the domain's points.
    """

    surrogate: Surrogate

    def condition(
        self, points: Batch, succeeded: BoolArray, rng: np.random.Generator, before: Chance | None = None
    ) -> RegressedChance:
        """Return the chance of success as learned; raises NumericalError.

        points: n points.
        succeeded: for each, whether it did (n,), bool.
        rng: given to the surrogate.
        before: what this model learned of some of the points, from whose fit the next one starts.
        """
        state = before.state if isinstance(before, RegressedChance) else None
        label, state, _ = self.surrogate.condition(points, succeeded.astype(np.float64), state, rng)
        return RegressedChance(label, state)


@dataclass(frozen=True, eq=False)
class RegressedChance:
    """The chance that a label exceeds a half.

    label: its posterior.
    state: of the surrogate, from which its next fit may start; None for no start.
    """

    label: Posterior
    state: State = None

    def log_chance(self, xs: Batch) -> Array:
        """Return the logarithm of the chance that each of m points succeeds (m,).

        xs: m points.
        """
        label = self.label.predict(xs)
        chances = log_ndtr((label.mean - 0.5) / np.sqrt(label.variance))
        return np.logaddexp.reduce(chances, axis=0) - math.log(len(chances))

    def vary_log_chance(self, xs: Batch) -> Callable[[Array], tuple[Array, Array]]:
        """Return the log chance of m points as a function of their continuous coordinates: `HasChanceGradient`.

        xs: m points, whose other coordinates stay.

        Raises TypeError where the posterior has no gradient.
        """
        vary_label = require_gradient("posterior", self.label, HasPredictionGradient).vary_shares(xs)

        def at_shares(shares: Array) -> tuple[Array, Array]:
            label, pull = vary_label(shares)
            sd = np.sqrt(label.variance)
            z = (label.mean - 0.5) / sd
            logs = log_ndtr(z)
            chance = np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))
            hazard = np.exp(-0.5 * z * z - LOG_ROOT_2_PI - chance) / len(logs)  # the density over the mean chance
            return chance, pull(Prediction(hazard / sd, -0.5 * hazard * z / label.variance))

        return at_shares


@dataclass(frozen=True)
class AveragedSuccess:
    """Several models of success, averaged by how likely points that they were not shown are under each.

    models: at least one.
    take: the domain's, chooses points of a batch.
    """

    models: tuple[SuccessModel, ...]
    take: Callable[[Batch, IntArray], Batch]

    def condition(
        self, points: Batch, succeeded: BoolArray, rng: np.random.Generator, before: Chance | None = None
    ) -> AveragedChance:
        """Return the average of the models, each learned from all points; raises NumericalError.

        A model of next to no weight is left out.

        points: n points.
        succeeded: for each, whether it did (n,), bool.
        rng: chooses the third of the points by which the models are compared, and is given to them.
        before: unused.
        """
        del before
        learned, logs = self._compare(points, succeeded, rng)
        kept = np.flatnonzero(logs - np.logaddexp.reduce(logs) > math.log(LEAST_WEIGHT)).tolist()
        chances = tuple(self.models[i].condition(points, succeeded, rng, learned[i]) for i in kept)
        return AveragedChance(chances, logs[kept] - np.logaddexp.reduce(logs[kept]))

    def _compare(
        self, points: Batch, succeeded: BoolArray, rng: np.random.Generator
    ) -> tuple[Sequence[Chance | None], Array]:
        """Return what each model learns from two thirds of the points, and the log likelihood of the others under it.

        For few points, all are None and 0.
        """
        n = len(succeeded)
        order = rng.permutation(n)
        shown, kept = np.sort(order[n // HELD_OUT :]), np.sort(order[: n // HELD_OUT])
        few = min(np.count_nonzero(succeeded[shown]), np.count_nonzero(~succeeded[shown]))
        if n < FEWEST or few < FEWEST_OF_EACH:
            return [None] * len(self.models), np.zeros(len(self.models))
        others, held = self.take(points, shown), self.take(points, kept)
        learned = [model.condition(others, succeeded[shown], rng) for model in self.models]
        logs = [_log_likelihood(one.log_chance(held), succeeded[kept]) for one in learned]
        return learned, np.sum(logs, axis=1)


@dataclass(frozen=True, eq=False)
class AveragedChance:
    """A weighted mean of chances.

    chances: of k models.
    log_weights: the logarithms of weights that sum to 1 (k,).
    """

    chances: Sequence[Chance]
    log_weights: Array

    def log_chance(self, xs: Batch) -> Array:
        """Return the logarithm of the chance that each of m points succeeds (m,).

        xs: m points.
        """
        logs = [weight + one.log_chance(xs) for weight, one in zip(self.log_weights, self.chances, strict=True)]
        return np.asarray(np.logaddexp.reduce(logs, axis=0))

    def vary_log_chance(self, xs: Batch) -> Callable[[Array], tuple[Array, Array]]:
        """Return the log chance of m points as a function of their continuous coordinates: `HasChanceGradient`.

        xs: m points, whose other coordinates stay; a chance without gradient does not depend on them.
        """
        varied = [
            one.vary_log_chance(xs) if has_capability(one, HasChanceGradient) else _stay(one.log_chance(xs))
            for one in self.chances
        ]

        def at_shares(shares: Array) -> tuple[Array, Array]:
            found = [one(shares) for one in varied]
            logs = np.array([weight + log for weight, (log, _) in zip(self.log_weights, found, strict=True)])
            total = np.logaddexp.reduce(logs, axis=0)
            parts = [np.exp(log - total)[:, None] * slope for log, (_, slope) in zip(logs, found, strict=True)]
            return total, np.sum(parts, axis=0)

        return at_shares


def _stay(log_chance: Array) -> Callable[[Array], tuple[Array, Array]]:
    """Return a log chance that no continuous coordinate changes."""
    return lambda shares: (log_chance, np.zeros_like(shares))


def _log_likelihood(log_chance: Array, succeeded: BoolArray) -> Array:
    """Return the logarithm of the chance of what happened (n,), at least log 1e-4, so that no single point decides."""
    chance = np.clip(np.exp(log_chance), 1e-4, 1.0 - 1e-4)
    return np.log(np.where(succeeded, chance, 1.0 - chance))
