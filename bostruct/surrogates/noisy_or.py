"""A noisy-OR of choices: points fail because of one thing that they have, which others that succeeded have not.

The causes are single choices, two choices of a point, and one choice after another in a row (a banned step of a
sequence, wherever it stands). A rule that forbids some of these is learned from few failures, since a success clears
everything that it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, Batch, Feasibility, IntArray, State, SuccessModel

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
    sizes: how many codes each has, that of an absent variable, the last one, included (c,).
    steps: pairs of positions in `columns` that follow each other in a row of equal choices, by row: what follows what
        may mean the same wherever it stands.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]

    def encode(self, xs: Batch) -> IntArray:
        """Return the code of each column, in 0..size - 1 (n, c).

        xs: n points, as integers, negative where a variable is absent.
        """
        codes = np.asarray(xs, dtype=np.int64)[:, list(self.columns)]
        return np.where(codes < 0, np.array(self.sizes) - 1, codes)


@dataclass(frozen=True)
class NoisyOr(SuccessModel):
    """A noisy-OR (Pearl 1988) whose causes fire with probabilities of their own, each with a beta prior.

    codes: the choices of a domain's points.
    """

    codes: ChoiceCodes

    def condition(
        self,
        points: Batch,
        succeeded: npt.NDArray[np.bool_],
        state: State,
        rng: np.random.Generator,
        *,
        keep: bool = False,
    ) -> tuple[BlamedChoices, State]:
        """Return what points succeed, learned by expectation maximization over which cause fired at a failure.

        points: n points, of which one or more failed.
        succeeded: for each, whether it did (n,), bool.
        state, rng, keep: unused; all is learned from all points in milliseconds.

        The state returned is None.
        """
        del state, rng, keep
        causes = _Causes(self.codes)
        codes = causes.codes.encode(points)
        of_successes, of_failures = (causes.list_all(codes[which][-LATEST:]) for which in (succeeded, ~succeeded))
        cleared = np.bincount(of_successes.ravel(), minlength=causes.n)
        at_failures = np.bincount(of_failures.ravel(), minlength=causes.n)
        fired = _lay_blame(of_failures, causes.prior, cleared + at_failures, cleared)
        chance = (causes.prior + fired) / (PRIOR_COUNT + causes.prior + cleared + at_failures)
        return BlamedChoices(causes, -np.log1p(-chance)), None


@dataclass(frozen=True, eq=False)
class BlamedChoices(Feasibility):
    """The chance that points succeed: none of their causes fires.

    causes: all that there are.
    costs: minus the logarithm of the chance that a cause does not fire, for each.
    """

    causes: _Causes
    costs: Array

    def log_chance(self, xs: Batch) -> Array:
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
    """The causes of failure: single choices first, then pairs of choices, then steps of rows.

    codes: of a domain.
    """

    def __init__(self, codes: ChoiceCodes) -> None:
        self.codes = codes
        sizes = np.array(codes.sizes)
        self.n_single = int(sizes.sum())
        self.has_pairs = 1 < len(sizes) <= MOST_COLUMNS and self.n_single <= MOST_PAIRED
        self.offsets = np.cumsum(sizes) - sizes
        self.pairs = np.column_stack(np.triu_indices(len(sizes), 1)) if self.has_pairs else np.empty((0, 2), np.int64)
        self.pair_starts, end = _number(sizes[self.pairs[:, 0]] * sizes[self.pairs[:, 1]], self.n_single)
        self.pair_widths = sizes[self.pairs[:, 1]]
        self.steps = np.array(codes.steps, dtype=np.int64).reshape(-1, 2)
        self.step_starts, self.n = self._number_rows(end)
        self.step_widths = sizes[self.steps[:, 0]]
        self.prior = self._spread_prior(end)

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
        """Return where the steps of each row begin, a row at a time, and the number of all causes."""
        starts = np.empty(len(self.steps), dtype=np.int64)
        for k, (left, _) in enumerate(self.steps.tolist()):
            if k and self.steps[k - 1, 1] == left:
                starts[k] = starts[k - 1]
            else:
                starts[k] = start
                start += self.codes.sizes[left] ** 2
        return starts, start

    def _spread_prior(self, first_step: int) -> Array:
        """Return the count of firings that is expected of each cause before any point is known (n,)."""
        prior = np.full(self.n, PRIOR_COUNT * SINGLE / len(self.codes.sizes))
        prior[self.n_single : first_step] = PRIOR_COUNT * PAIR / max(len(self.pairs), 1)
        prior[first_step:] = PRIOR_COUNT * STEP / max(len(self.steps), 1)
        return prior


def _number(counts: IntArray, start: int) -> tuple[IntArray, int]:
    """Return where each group of numbered things begins, and where the last one ends."""
    ends = start + np.cumsum(counts)
    return ends - counts, int(ends[-1]) if len(ends) else start


def _lay_blame(of_failures: IntArray, prior: Array, seen: IntArray, cleared: IntArray) -> Array:
    """Return how often each cause is expected to have fired at the failures (n,).

    of_failures: the causes that each failure has (f, k).
    prior: firings that were expected of each cause.
    seen: points that have each cause.
    cleared: those of them that succeeded.

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
