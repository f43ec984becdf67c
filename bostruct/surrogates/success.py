"""Models of success: the chance that a point has a value, learned from points that have one and points that failed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from bostruct.checks import check_integer
from bostruct.contracts import (
    Array,
    Batch,
    Feasibility,
    IntArray,
    Posterior,
    Prediction,
    State,
    SuccessModel,
    Surrogate,
    VariedValues,
)
from bostruct.goals.logarithms import hazard, log_mean_exp

BoolArray: TypeAlias = npt.NDArray[np.bool_]

HELD_OUT = 3  # one point in so many is kept from the models that are compared by it
FEWEST = 12  # points from which models are compared; with fewer they count the same
LEAST_WEIGHT = 1e-3  # of a model that takes part, for each prediction costs time
FEWEST_OF_EACH = 2  # successes and failures, of those that are learned from


@dataclass(frozen=True)
class RegressedSuccess(SuccessModel):
    """Success as a label that is 1 where points succeed and 0 where they fail, which a surrogate regresses.

    The chance of success is the chance that the label exceeds a half.

    surrogate: of the label, on the domain's points.
    take: the domain's, chooses points of a batch.
    most: how many points to learn from, at least 4: of more, the last that succeeded and the last that failed, by their
        shares, but two of each where there are; None for all.

    Raises TypeError or ValueError for `most`.
    """

    surrogate: Surrogate
    take: Callable[[Batch, IntArray], Batch]
    most: int | None = None

    def __post_init__(self) -> None:
        if self.most is not None:
            check_integer("most", self.most, 2 * FEWEST_OF_EACH)

    def condition(
        self, points: Batch, succeeded: BoolArray, state: State, rng: np.random.Generator, *, keep: bool = False
    ) -> tuple[RegressedChance, State]:
        """Return the chance of success as learned, and the surrogate's state; raises NumericalError.

        points: n points; those that succeeded, and those that failed, each in the order told.
        succeeded: for each, whether it did (n,), bool.
        state: None, or the surrogate's, of the last call.
        rng: given to the surrogate.
        keep: whether the hyperparameters of the state serve, where the surrogate can keep them.
        """
        if self.most is not None and len(succeeded) > self.most:
            kept = _keep_last(succeeded, self.most)
            points, succeeded = self.take(points, kept), succeeded[kept]
        labels = succeeded.astype(np.float64)
        label = self.surrogate.condition_at(points, labels, state) if keep else None
        if label is None:
            label, state, _ = self.surrogate.condition(points, labels, state, rng)
        return RegressedChance(label), state


@dataclass(frozen=True, eq=False)
class RegressedChance(Feasibility):
    """The chance that a label exceeds a half.

    label: its posterior.
    """

    label: Posterior

    def log_chance(self, xs: Batch) -> Array:
        label = self.label.predict(xs)
        chances = log_ndtr((label.mean - 0.5) / np.sqrt(label.variance))
        return log_mean_exp(chances)

    def bound_log_chance(self, xs: Batch) -> Array:
        """Return bounds never below the log chance (m,).

        xs: m points.

        A label below a half exceeds it the more often the less is known of it. Where it may be above, the bound is 0.
        """
        label = self.label.bound_above(xs)
        chances = np.where(label.mean < 0.5, log_ndtr((label.mean - 0.5) / np.sqrt(label.variance)), 0.0)
        return log_mean_exp(chances)

    def vary_log_chance(self, xs: Batch) -> VariedValues | None:
        vary_label = self.label.vary_shares(xs)
        if vary_label is None:
            return None

        def at_shares(shares: Array) -> tuple[Array, Array]:
            label, pull = vary_label(shares)
            sd = np.sqrt(label.variance)
            z = (label.mean - 0.5) / sd
            logs = log_ndtr(z)
            chance = log_mean_exp(logs)
            slope = np.exp(logs - chance) / len(logs) * hazard(z)  # the density over the mean chance
            return chance, pull(Prediction(slope / sd, -0.5 * slope * z / label.variance))

        return at_shares


@dataclass(frozen=True)
class AveragedSuccess(SuccessModel):
    """Several models of success, averaged by how likely points that they were not shown are under each.

    models: at least one.
    take: the domain's, chooses points of a batch.
    """

    models: tuple[SuccessModel, ...]
    take: Callable[[Batch, IntArray], Batch]

    def condition(
        self, points: Batch, succeeded: BoolArray, state: State, rng: np.random.Generator, *, keep: bool = False
    ) -> tuple[AveragedChance, State]:
        """Return the average of the models, each learned from all points; raises NumericalError.

        A model of next to no weight is left out.

        points: n points.
        succeeded: for each, whether it did (n,), bool.
        state: None, or that of the last call: positions of the models that are not left out, the logarithms of their
            weights, and of each model its state after two thirds of the points, and after all.
        rng: chooses the third of the points by which the models are compared, and is given to them.
        keep: whether the weights, and what the models can keep, serve as they are in the state.
        """
        if state is None or len(state["models"]) != len(self.models):
            state, keep = dict.fromkeys(("compared", "models"), [None] * len(self.models)), False
        compared, models = state["compared"], list(state["models"])
        if keep:
            kept, log_weights = state["kept"], np.array(state["log_weights"])
        else:
            compared, logs = self._compare(points, succeeded, compared, rng)
            kept = np.flatnonzero(logs - np.logaddexp.reduce(logs) > math.log(LEAST_WEIGHT)).tolist()
            log_weights = logs[kept] - np.logaddexp.reduce(logs[kept])
        chances = []
        for i in kept:
            start = compared[i] if models[i] is None else models[i]
            chance, models[i] = self.models[i].condition(points, succeeded, start, rng, keep=keep)
            chances.append(chance)
        state = {"kept": kept, "log_weights": log_weights.tolist(), "compared": compared, "models": models}
        return AveragedChance(chances, log_weights), state

    def _compare(
        self, points: Batch, succeeded: BoolArray, states: list[State], rng: np.random.Generator
    ) -> tuple[list[State], Array]:
        """Return the state of each model after two thirds of the points, and the log likelihood of the others under it.

        For few points, the states are as they were, and the likelihoods 0.
        """
        n = len(succeeded)
        order = rng.permutation(n)
        shown, kept = np.sort(order[n // HELD_OUT :]), np.sort(order[: n // HELD_OUT])
        few = min(np.count_nonzero(succeeded[shown]), np.count_nonzero(~succeeded[shown]))
        if n < FEWEST or few < FEWEST_OF_EACH:
            return states, np.zeros(len(self.models))
        others, held = self.take(points, shown), self.take(points, kept)
        learned = [
            model.condition(others, succeeded[shown], last, rng)
            for model, last in zip(self.models, states, strict=True)
        ]
        logs = [_log_likelihood(chance.log_chance(held), succeeded[kept]) for chance, _ in learned]
        return [state for _, state in learned], np.sum(logs, axis=1)


@dataclass(frozen=True, eq=False)
class AveragedChance(Feasibility):
    """A weighted mean of chances.

    chances: of k models.
    log_weights: the logarithms of weights that sum to 1 (k,).
    """

    chances: Sequence[Feasibility]
    log_weights: Array

    def log_chance(self, xs: Batch) -> Array:
        return self._average([one.log_chance(xs) for one in self.chances])

    def bound_log_chance(self, xs: Batch) -> Array:
        return self._average([one.bound_log_chance(xs) for one in self.chances])

    def _average(self, logs: Sequence[Array]) -> Array:
        weighted = [weight + log for weight, log in zip(self.log_weights, logs, strict=True)]
        return np.asarray(np.logaddexp.reduce(weighted, axis=0))

    def vary_log_chance(self, xs: Batch) -> VariedValues:
        """Return the log chance of m points as a function of their continuous coordinates.

        xs: m points, whose other coordinates stay; a chance without gradient does not depend on them.
        """
        varied = [one.vary_log_chance(xs) or _stay(one.log_chance(xs)) for one in self.chances]

        def at_shares(shares: Array) -> tuple[Array, Array]:
            found = [one(shares) for one in varied]
            logs = np.array([weight + log for weight, (log, _) in zip(self.log_weights, found, strict=True)])
            total = np.logaddexp.reduce(logs, axis=0)
            parts = [np.exp(log - total)[:, None] * slope for log, (_, slope) in zip(logs, found, strict=True)]
            return total, np.sum(parts, axis=0)

        return at_shares


def _keep_last(succeeded: BoolArray, most: int) -> IntArray:
    """Return the positions of the last successes and the last failures, in their shares, ascending (most,)."""
    successes, failures = np.flatnonzero(succeeded), np.flatnonzero(~succeeded)
    fewest_successes, fewest_failures = (min(len(one), FEWEST_OF_EACH) for one in (successes, failures))
    share = round(most * len(failures) / len(succeeded))
    n_failures = min(max(share, fewest_failures), most - fewest_successes)
    n_successes = most - n_failures
    return np.sort(np.concatenate([successes[len(successes) - n_successes :], failures[len(failures) - n_failures :]]))


def _stay(log_chance: Array) -> VariedValues:
    """Return a log chance that no continuous coordinate changes."""
    return lambda shares: (log_chance, np.zeros_like(shares))


def _log_likelihood(log_chance: Array, succeeded: BoolArray) -> Array:
    """Return the logarithm of the chance of what happened (n,), at least log 1e-4, so that no single point decides."""
    chance = np.clip(np.exp(log_chance), 1e-4, 1.0 - 1e-4)
    return np.log(np.where(succeeded, chance, 1.0 - chance))
