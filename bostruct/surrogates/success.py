"""Models of success: the probability that a point has a value, learned from points with a value and failed points.

A noisy-OR explains failures by choices. Its causes are single choices, pairs of choices of a point, and two successive
choices in a row (a forbidden step of a sequence, at any place). A rule that forbids some causes is learned from few
failures, because a success is evidence against all causes that its point has.
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
from bostruct.contracts import Array, Batch, IntArray, State
from bostruct.contracts.model import Feasibility, Posterior, Prediction, SuccessModel, Surrogate, VariedValues
from bostruct.goals.logarithms import hazard, log_mean_exp

BoolArray: TypeAlias = npt.NDArray[np.bool_]
HELD_OUT = 3  # one point in HELD_OUT is held out, to compare models by it
FEWEST = 12  # number of points from which models are compared; with fewer points their weights are equal
LEAST_WEIGHT = 1e-3  # of a model that is used, because each prediction takes time
FEWEST_OF_EACH = 2  # successes and failures in a selection of points to learn from


@dataclass(frozen=True)
class RegressedSuccess(SuccessModel):
    """A surrogate's regression of a label that is 1 if a point succeeds and 0 if it fails.

    The probability of success is the probability that the label exceeds a half.

    most: maximum number of points to learn from, at least 4: the last successes and the last failures in proportion to
        their numbers, if possible at least two of each; None for all points.

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
        """Return the learned probability of success, and the surrogate's state; raises NumericalError."""
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
    """The probability that a label exceeds a half."""

    label: Posterior

    def log_probability(self, xs: Batch) -> Array:
        label = self.label.predict(xs)
        logs = scipy.special.log_ndtr((label.mean - 0.5) / np.sqrt(label.variance))
        return log_mean_exp(logs)

    def log_probability_bound(self, xs: Batch) -> Array:
        """Return upper bounds of the log probability (m,).

        If the label's mean is below a half, the probability increases with its variance. If not, the bound is 0.
        """
        label = self.label.upper_bound(xs)
        logs = np.where(label.mean < 0.5, scipy.special.log_ndtr((label.mean - 0.5) / np.sqrt(label.variance)), 0.0)
        return log_mean_exp(logs)

    def log_probability_vjp(self, xs: Batch) -> VariedValues | None:
        vary_label = self.label.input_vjp(xs)
        if vary_label is None:
            return None

        def at_shares(shares: Array) -> tuple[Array, Array]:
            label, pull = vary_label(shares)
            sd = np.sqrt(label.variance)
            z = (label.mean - 0.5) / sd
            logs = scipy.special.log_ndtr(z)
            log_probability = log_mean_exp(logs)
            slope = np.exp(logs - log_probability) / len(logs) * hazard(z)  # the density over the mean probability
            return log_probability, pull(Prediction(slope / sd, -0.5 * slope * z / label.variance))

        return at_shares


@dataclass(frozen=True)
class AveragedSuccess(SuccessModel):
    """An average of several models of success, weighted by their likelihoods of held-out points.

    models: models to average, at least one.
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

        A model is omitted if its weight is at most 0.001.
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
        learned = []
        for i in kept:
            start = compared[i] if models[i] is None else models[i]
            found, models[i] = self.models[i].condition(points, succeeded, start, rng, keep=keep)
            learned.append(found)
        state = {"kept": kept, "log_weights": log_weights.tolist(), "compared": compared, "models": models}
        return AveragedFeasibility(learned, log_weights), state

    def _compare(
        self, points: Batch, succeeded: BoolArray, states: list[State], rng: np.random.Generator
    ) -> tuple[list[State], Array]:
        """Return each model's state after two thirds of the points, and its log likelihood of the other points.

        For few points, the states are unchanged, and the log likelihoods are 0.
        """
        n = len(succeeded)
        order = rng.permutation(n)
        train, test = np.sort(order[n // HELD_OUT :]), np.sort(order[: n // HELD_OUT])
        few = min(np.count_nonzero(succeeded[train]), np.count_nonzero(~succeeded[train]))
        if n < FEWEST or few < FEWEST_OF_EACH:
            return states, np.zeros(len(self.models))
        shown, held_out = self.take(points, train), self.take(points, test)
        pairs = zip(self.models, states, strict=True)
        learned = [model.condition(shown, succeeded[train], last, rng) for model, last in pairs]
        logs = np.array([found.log_probability(held_out) for found, _ in learned])
        probabilities = np.clip(np.exp(logs), 1e-4, 1.0 - 1e-4)
        likelihoods = np.log(np.where(succeeded[test], probabilities, 1.0 - probabilities))
        return [state for _, state in learned], np.sum(likelihoods, axis=1)


@dataclass(frozen=True, eq=False)
class AveragedFeasibility(Feasibility):
    """A weighted mean of probabilities.

    log_weights: logarithms of the weights, which sum to 1 (k,).
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
        varied = [one.log_probability_vjp(xs) or _constant(one.log_probability(xs)) for one in self.chances]

        def at_shares(shares: Array) -> tuple[Array, Array]:
            found = [one(shares) for one in varied]
            logs = np.array([weight + log for weight, (log, _) in zip(self.log_weights, found, strict=True)])
            total = np.logaddexp.reduce(logs, axis=0)
            parts = [np.exp(log - total)[:, None] * gradient for log, (_, gradient) in zip(logs, found, strict=True)]
            return total, np.sum(parts, axis=0)

        return at_shares


def _keep_last(succeeded: BoolArray, most: int) -> IntArray:
    """Return the positions of the last successes and failures, in proportion to their numbers, ascending (most,)."""
    successes, failures = np.flatnonzero(succeeded), np.flatnonzero(~succeeded)
    fewest_successes, fewest_failures = (min(len(one), FEWEST_OF_EACH) for one in (successes, failures))
    share = round(most * len(failures) / len(succeeded))
    n_failures = min(max(share, fewest_failures), most - fewest_successes)
    n_successes = most - n_failures
    return np.sort(np.concatenate([successes[len(successes) - n_successes :], failures[len(failures) - n_failures :]]))


def _constant(log_probability: Array) -> VariedValues:
    """Return a log probability that does not depend on continuous coordinates."""
    return lambda shares: (log_probability, np.zeros_like(shares))


SINGLE, PAIR, STEP = 0.3, 0.3, 1.0  # prior mean number of causes of each kind that fire at a point
PRIOR_COUNT = 0.4  # weight of the prior, in points
MOST_PAIRED = 400  # maximum number of choices in all for pairs to be causes
MOST_COLUMNS = 80  # maximum number of columns for pairs to be causes
LATEST = 1_000  # maximum number of successes, and of failures, to learn from
CLEARED = 12  # number of successes with a cause from which it explains no failure
MOST_ROUNDS = 100
TOLERANCE = 1e-3
BATCH = 4_096  # points scored together, which bounds memory


@dataclass(frozen=True)
class ChoiceCodes:
    """The columns of a point that contain choices, and their numbers of choices.

    columns: positions of the columns, ascending (c,). sizes: their numbers of choices (c,).
    steps: pairs of successive columns of a row, as positions in `columns`.
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
    """A noisy-OR (Pearl 1988): each cause fires with its own probability, which has a beta prior."""

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
        """Learn the probability of success, by expectation maximization over the causes that fired at failures.

        The returned state is None.
        """
        causes = _Causes(self.codes)
        codes = causes.codes.encode(points)
        of_successes, of_failures = (causes.list_all(codes[which][-LATEST:]) for which in (succeeded, ~succeeded))
        cleared = np.bincount(of_successes.ravel(), minlength=causes.n)
        at_failures = np.bincount(of_failures.ravel(), minlength=causes.n)
        fired = _count_fired(of_failures, causes.prior, cleared + at_failures, cleared)
        probability = (causes.prior + fired) / (PRIOR_COUNT + causes.prior + cleared + at_failures)
        return NoisyOrPosterior(causes, -np.log1p(-probability)), None


@dataclass(frozen=True, eq=False)
class NoisyOrPosterior(Feasibility):
    """The probability that points succeed: that none of their causes fires.

    costs: minus the log probability that each cause does not fire.
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
        """The cost of each pair of choices, in either order (n_single, n_single); 0 for two choices of one column."""
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

        codes: codes of n points (n, c).
        """
        first, second = self.pairs.T
        pairs = self.pair_starts + codes[:, first] * self.pair_widths + codes[:, second]
        return np.hstack([self.offsets + codes, pairs, self.list_steps(codes)])

    def list_steps(self, codes: IntArray) -> IntArray:
        """Return the steps that each of n points has, by their places (n, k).

        codes: codes of n points (n, c).
        """
        first, second = self.steps.T
        return self.step_starts + codes[:, first] * self.step_widths + codes[:, second]

    def _number_rows(self, start: int) -> tuple[IntArray, int]:
        """Return the number of each step's first cause, which steps of one row share, and the number of all causes."""
        starts = np.empty(len(self.steps), dtype=np.int64)
        for k, (left, _) in enumerate(self.steps.tolist()):
            if k and self.steps[k - 1, 1] == left:
                starts[k] = starts[k - 1]
            else:
                starts[k] = start
                start += self.codes.sizes[left] ** 2
        return starts, start


def _count_fired(of_failures: IntArray, prior: Array, seen: IntArray, cleared: IntArray) -> Array:
    """Return the expected number of failures at which each cause fired (n,).

    of_failures: the causes that each failure has (f, k).

    A cause with many successes keeps its prior probability, so that later rounds cost less.
    """
    initial = prior / (PRIOR_COUNT + prior + seen)
    suspect = cleared[of_failures] < CLEARED
    rows = np.nonzero(suspect)[0]
    causes, own = np.unique(of_failures[suspect], return_inverse=True)
    fixed = np.where(suspect, 0.0, np.log1p(-initial[of_failures])).sum(axis=1)
    fired, weight = np.zeros(len(causes)), PRIOR_COUNT + prior[causes] + seen[causes]
    for _ in range(MOST_ROUNDS):
        probabilities = (prior[causes] + fired) / weight
        log_none = fixed + np.bincount(rows, np.log1p(-probabilities)[own], minlength=len(of_failures))
        factor = 1.0 / -np.expm1(log_none)  # of a cause's probability, given that some cause fired
        now = probabilities * np.bincount(own, factor[rows], minlength=len(causes))
        change = float(np.max(np.abs(now - fired), initial=0.0))
        fired = now
        if change < TOLERANCE:
            break
    found = np.zeros(len(prior))
    found[causes] = fired
    return found
