"""Models of success: the chance that a point has a value, learned from points that have one and points that failed.

A noisy-OR blames choices. The causes are single choices, two choices of a point, and one choice after another in a row
(a banned step of a sequence, wherever it stands). A rule that forbids some of these is learned from few failures, since
a success clears everything that it has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from bostruct.checks import check_integer, check_part
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
    """Success as a label that is 1 if points succeed and 0 if they fail, which a surrogate regresses.

    The chance of success is the chance that the label exceeds a half.

    most: how many points to learn from, at least 4: of more, the last that succeeded and the last that failed, by their
        shares, but two of each if there are; None for all.

    Raises TypeError or ValueError for `most`.
    """

    surrogate: Surrogate
    take: Callable[[Batch, IntArray], Batch]
    most: int | None = None

    def __post_init__(self) -> None:
        check_part("surrogate", self.surrogate, Surrogate)
        if self.most is not None:
            check_integer("most", self.most, 2 * FEWEST_OF_EACH)

    def condition(
        self, points: Batch, succeeded: BoolArray, state: State, rng: np.random.Generator, *, keep: bool = False
    ) -> tuple[RegressedFeasibility, State]:
        """Return the chance of success as learned, and the surrogate's state; raises NumericalError."""
        if self.most is not None and len(succeeded) > self.most:
            kept = _keep_last(succeeded, self.most)
            points, succeeded = self.take(points, kept), succeeded[kept]
        labels = succeeded.astype(np.float64)
        label = self.surrogate.condition_at(points, labels, state) if keep else None
        if label is None:
            label, state, _ = self.surrogate.condition(points, labels, state, rng)
        return RegressedFeasibility(label), state


@dataclass(frozen=True, eq=False)
class RegressedFeasibility(Feasibility):
    """The chance that a label exceeds a half."""

    label: Posterior

    def log_probability(self, xs: Batch) -> Array:
        label = self.label.predict(xs)
        chances = scipy.special.log_ndtr((label.mean - 0.5) / np.sqrt(label.variance))
        return log_mean_exp(chances)

    def log_probability_bound(self, xs: Batch) -> Array:
        """Return bounds never below the log chance (m,).

        A label below a half exceeds it the more often the less is known of it. Where it may be above, the bound is 0.
        """
        label = self.label.upper_bound(xs)
        chances = np.where(label.mean < 0.5, scipy.special.log_ndtr((label.mean - 0.5) / np.sqrt(label.variance)), 0.0)
        return log_mean_exp(chances)

    def log_probability_vjp(self, xs: Batch) -> VariedValues | None:
        vary_label = self.label.input_vjp(xs)
        if vary_label is None:
            return None

        def at_shares(shares: Array) -> tuple[Array, Array]:
            label, pull = vary_label(shares)
            sd = np.sqrt(label.variance)
            z = (label.mean - 0.5) / sd
            logs = scipy.special.log_ndtr(z)
            chance = log_mean_exp(logs)
            slope = np.exp(logs - chance) / len(logs) * hazard(z)  # the density over the mean chance
            return chance, pull(Prediction(slope / sd, -0.5 * slope * z / label.variance))

        return at_shares


@dataclass(frozen=True)
class AveragedSuccess(SuccessModel):
    """Several models of success, averaged by how likely points that they were not shown are under each.

    models: at least one.
    """

    models: tuple[SuccessModel, ...]
    take: Callable[[Batch, IntArray], Batch]

    def __post_init__(self) -> None:
        for i, model in enumerate(self.models):
            check_part(f"models[{i}]", model, SuccessModel)

    def condition(
        self, points: Batch, succeeded: BoolArray, state: State, rng: np.random.Generator, *, keep: bool = False
    ) -> tuple[AveragedFeasibility, State]:
        """Return the average of the models, each learned from all points; raises NumericalError.

        A model of next to no weight is left out.
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
        return AveragedFeasibility(chances, log_weights), state

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
        logs = np.array([chance.log_probability(held) for chance, _ in learned])
        chances = np.clip(np.exp(logs), 1e-4, 1.0 - 1e-4)
        likelihoods = np.log(np.where(succeeded[kept], chances, 1.0 - chances))
        return [state for _, state in learned], np.sum(likelihoods, axis=1)


@dataclass(frozen=True, eq=False)
class AveragedFeasibility(Feasibility):
    """A weighted mean of chances.

    log_weights: the logarithms of weights that sum to 1 (k,).
    """

    chances: Sequence[Feasibility]
    log_weights: Array

    def log_probability(self, xs: Batch) -> Array:
        return self._average([one.log_probability(xs) for one in self.chances])

    def log_probability_bound(self, xs: Batch) -> Array:
        return self._average([one.log_probability_bound(xs) for one in self.chances])

    def _average(self, logs: Sequence[Array]) -> Array:
        weighted = [weight + log for weight, log in zip(self.log_weights, logs, strict=True)]
        return np.asarray(np.logaddexp.reduce(weighted, axis=0))

    def log_probability_vjp(self, xs: Batch) -> VariedValues:
        varied = [one.log_probability_vjp(xs) or _stay(one.log_probability(xs)) for one in self.chances]

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


def _stay(log_probability: Array) -> VariedValues:
    """Return a log chance that no continuous coordinate changes."""
    return lambda shares: (log_probability, np.zeros_like(shares))


SINGLE, PAIR, STEP = 0.3, 0.3, 1.0  # causes of each kind that fire at a point, on average, before any is known
PRIOR_COUNT = 0.4  # the weight of that, in points
MOST_PAIRED = 400  # choices in all, of which pairs are causes
MOST_COLUMNS = 80  # with pairs
LATEST = 1_000  # successes, and as many failures, that are learned from
CLEARED = 12  # successes of a cause, after which no failure is laid at its door
MOST_ROUNDS = 100
TOLERANCE = 1e-3
BATCH = 4_096  # points scored together, which bounds memory


@dataclass(frozen=True)
class ChoiceCodes:
    """The columns of a point that hold choices, and how many choices each has.

    columns: of a point, ascending (c,).
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]

    def encode(self, xs: Batch) -> IntArray:
        """Return the code of each column, in 0..size - 1 (n, c)."""
        codes = np.asarray(xs, dtype=np.int64)[:, list(self.columns)]
        return np.where(codes < 0, np.array(self.sizes) - 1, codes)


@dataclass(frozen=True)
class NoisyOr(SuccessModel):
    """A noisy-OR (Pearl 1988) whose causes fire with probabilities of their own, each with a beta prior."""

    codes: ChoiceCodes

    def condition(
        self,
        points: Batch,
        succeeded: npt.NDArray[np.bool_],
        state: State,
        rng: np.random.Generator,
        *,
        keep: bool = False,
    ) -> tuple[NoisyOrPosterior, State]:
        """Return what points succeed, learned by expectation maximization over which cause fired at a failure.

        The state returned is None.
        """
        causes = _Causes(self.codes)
        codes = causes.codes.encode(points)
        of_successes, of_failures = (causes.list_all(codes[which][-LATEST:]) for which in (succeeded, ~succeeded))
        cleared = np.bincount(of_successes.ravel(), minlength=causes.n)
        at_failures = np.bincount(of_failures.ravel(), minlength=causes.n)
        fired = _lay_blame(of_failures, causes.prior, cleared + at_failures, cleared)
        chance = (causes.prior + fired) / (PRIOR_COUNT + causes.prior + cleared + at_failures)
        return NoisyOrPosterior(causes, -np.log1p(-chance)), None


@dataclass(frozen=True, eq=False)
class NoisyOrPosterior(Feasibility):
    """The chance that points succeed: none of their causes fires.

    costs: minus the logarithm of the chance that a cause does not fire, for each.
    """

    causes: _Causes
    costs: Array

    def log_probability(self, xs: Batch) -> Array:
        codes = self.causes.codes.encode(xs)
        found = [self._sum_costs(codes[first : first + BATCH]) for first in range(0, len(codes), BATCH)]
        return -np.concatenate([np.empty(0), *found])

    def _sum_costs(self, codes: IntArray) -> Array:
        causes = self.causes
        single = causes.offsets + codes
        total = self.costs[single].sum(axis=1)
        if causes.has_pairs:  # as a quadratic form of indicators, each pair twice
            has = np.zeros((len(codes), causes.n_single), dtype=np.float32)
            np.put_along_axis(has, single, 1.0, axis=1)
            total += 0.5 * np.take_along_axis(has @ self._pair_costs, single, axis=1).sum(axis=1)
        return total + self.costs[causes.list_steps(codes)].sum(axis=1)

    @cached_property
    def _pair_costs(self) -> npt.NDArray[np.float32]:
        """The cost of each two choices, in either order (n_single, n_single), 0 of two of one column."""
        causes = self.causes
        table = np.zeros((causes.n_single, causes.n_single), dtype=np.float32)
        for start, (i, j) in zip(causes.pair_starts.tolist(), causes.pairs.tolist(), strict=True):
            rows, columns = causes.codes.sizes[i], causes.codes.sizes[j]
            own = self.costs[start : start + rows * columns].reshape(rows, columns)
            table[causes.offsets[i] :, causes.offsets[j] :][:rows, :columns] = own
        return table + table.T


class _Causes:
    """The causes of failure: single choices first, then pairs of choices, then steps of rows."""

    def __init__(self, codes: ChoiceCodes) -> None:
        self.codes = codes
        sizes = np.array(codes.sizes)
        self.n_single = int(sizes.sum())
        self.has_pairs = 1 < len(sizes) <= MOST_COLUMNS and self.n_single <= MOST_PAIRED
        self.offsets = np.cumsum(sizes) - sizes
        self.pairs = np.column_stack(np.triu_indices(len(sizes), 1)) if self.has_pairs else np.empty((0, 2), np.int64)
        self.pair_widths = sizes[self.pairs[:, 1]]
        counts = sizes[self.pairs[:, 0]] * self.pair_widths
        ends = self.n_single + np.cumsum(counts)
        self.pair_starts, end = ends - counts, int(ends[-1]) if len(ends) else self.n_single
        self.steps = np.array(codes.steps, dtype=np.int64).reshape(-1, 2)
        self.step_starts, self.n = self._number_rows(end)
        self.step_widths = sizes[self.steps[:, 0]]
        prior = np.full(self.n, PRIOR_COUNT * SINGLE / len(self.codes.sizes))
        prior[self.n_single : end] = PRIOR_COUNT * PAIR / max(len(self.pairs), 1)
        prior[end:] = PRIOR_COUNT * STEP / max(len(self.steps), 1)
        self.prior = prior

    def list_all(self, codes: IntArray) -> IntArray:
        """Return the causes that each of n points has, some twice (n, k).

        codes: of n points (n, c).
        """
        first, second = self.pairs.T
        pairs = self.pair_starts + codes[:, first] * self.pair_widths + codes[:, second]
        return np.hstack([self.offsets + codes, pairs, self.list_steps(codes)])

    def list_steps(self, codes: IntArray) -> IntArray:
        """Return the steps that each of n points has, by their places (n, k).

        codes: of n points (n, c).
        """
        first, second = self.steps.T
        return self.step_starts + codes[:, first] * self.step_widths + codes[:, second]

    def _number_rows(self, start: int) -> tuple[IntArray, int]:
        """Return if the steps of each row begin, a row at a time, and the number of all causes."""
        starts = np.empty(len(self.steps), dtype=np.int64)
        for k, (left, _) in enumerate(self.steps.tolist()):
            if k and self.steps[k - 1, 1] == left:
                starts[k] = starts[k - 1]
            else:
                starts[k] = start
                start += self.codes.sizes[left] ** 2
        return starts, start


def _lay_blame(of_failures: IntArray, prior: Array, seen: IntArray, cleared: IntArray) -> Array:
    """Return how often each cause is expected to have fired at the failures (n,).

    of_failures: the causes that each failure has (f, k).

    A cause with many successes keeps its prior chance, so that later rounds cost less.
    """
    chance = prior / (PRIOR_COUNT + prior + seen)
    suspect = cleared[of_failures] < CLEARED
    rows = np.nonzero(suspect)[0]
    causes, own = np.unique(of_failures[suspect], return_inverse=True)
    beside = np.where(suspect, 0.0, np.log1p(-chance[of_failures])).sum(axis=1)
    fired, weight = np.zeros(len(causes)), PRIOR_COUNT + prior[causes] + seen[causes]
    for _ in range(MOST_ROUNDS):
        chances = (prior[causes] + fired) / weight
        quiet = beside + np.bincount(rows, np.log1p(-chances)[own], minlength=len(of_failures))
        share = 1.0 / -np.expm1(quiet)  # of a cause's chance, since one fired
        now = chances * np.bincount(own, share[rows], minlength=len(causes))
        moved = float(np.max(np.abs(now - fired), initial=0.0))
        fired = now
        if moved < TOLERANCE:
            break
    found = np.zeros(len(prior))
    found[causes] = fired
    return found
