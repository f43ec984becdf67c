"""Weighted random search: Florea and Andonie 2019, algorithms 1 and 2."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Literal

import numpy as np

from bostruct.checks import check_choice, check_integer, check_number
from bostruct.contracts import (
    Array,
    Choice,
    ChoiceDomain,
    HistoryView,
    Json,
    Point,
    Searcher,
    State,
    Suggestion,
    describe_part,
)
from bostruct.searchers.proposals import fall_back

MODES = ("shared", "independent", "single", "auto")
MAX_CHANGES = 200
STALL_FACTOR = 4  # trials per variable without improvement, before several variables may change at once
DRAWS = 1_024  # sample of a domain whose points have different choices
Choices = Sequence[Sequence[Choice]]  # of each point
Effects = Callable[[Choices, Array, int, Choices], Mapping[str, float]]
"""(choices of each point, values, seed, draws) -> the main effect of each choice, by path.

The draws are the choices of points sampled from the domain, empty if all points have the same choices.
"""


@dataclass(frozen=True)
class WeightedRandomSearch(Searcher):
    """Weighted random search: random points, then random changes of the incumbent, preferably of important variables.

    effects: (choices of each point, values, seed, draws) -> the main effect of each choice, from the first phase. The
        draws are choices of points sampled from the domain, empty if all points have the same choices.
    n_random: trials of the first phase, at least 2. Published is the number of trials divided by e (`wrs_trials`),
        which is too large for long runs: docs/wrs.md compares both.
    mode: how a step selects the variables to change. ``shared``, as published: one uniform number for all variables,
        and a variable changes if its probability is at least that number. ``independent``: one number per variable.
        ``single``: exactly one variable, sampled by the probabilities. ``auto``: ``single``, but every second step is
        ``independent`` once the trials without improvement exceed four times the number of variables, because a single
        change may not improve a local optimum.
    floor: minimum probability, in (0, 1], so that no variable stays fixed.
    least: number of trials until which a variable changes in every step, by its name.

    A variable's probability is its main effect over the largest one; if all effects are 0, every variable changes in
    every step. Choices that a point lacks, and choices that a change opens, are sampled. Ties count as improvements, as
    published. Unlike the published search, no point is suggested twice: a change that leads to a seen point is sampled
    again, up to 200 times, and then a random unseen point is suggested. If only one variable changes, it takes another
    value if the domain's `resample` ensures this, as in a `Space`. Raises TypeError, ValueError.
    """

    domain: ChoiceDomain
    effects: Effects
    n_random: int = 37
    mode: Literal["shared", "independent", "single", "auto"] = "auto"
    floor: float = 0.01
    least: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_integer("n_random", self.n_random, 2)
        check_choice("mode", self.mode, MODES)
        check_number("floor", self.floor, high=1.0, above=0.0)
        for name, trials in self.least.items():
            check_integer(f"least[{name!r}]", trials, 0)

    @property
    def n_initial(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.n_random

    def settings(self) -> dict[str, Json]:
        names = ("effects", "n_random", "mode", "floor")
        return {name: describe_part(getattr(self, name)) for name in names} | {"least": dict(self.least)}

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        n_finished = len(history.values) + len(history.failed)
        if n_finished < self.n_random or not len(history.values):
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random"})
        if state is None:
            points = [self.domain.coordinates(x) for x in history.completed]
            seed = int(rng.integers(2**31))
            state = dict(self.effects(points, history.values, seed, self._draw(points, seed)))
        best = len(history.values) - 1 - int(np.argmin(history.values[::-1]))  # the last of equal values
        for _ in range(MAX_CHANGES):
            x = self._change(history.completed[best], state, n_finished, len(history.values) - 1 - best, rng)
            if self.domain.key(x) not in history.seen:
                return Suggestion(x, state, {"origin": "model"})
        why = f"{MAX_CHANGES} changes of the incumbent led only to seen points"
        return fall_back(self.domain, history, state, rng, why)

    def probabilities(self, weights: Mapping[str, float], names: Sequence[str]) -> Array:
        """Return the probability that each variable changes: its weight over the largest, at least `floor` (d,).

        If no weight is positive, every probability is 1.

        names: names of the d variables; a variable that was not in the first phase has probability 1.
        """
        largest = max(weights.values(), default=0.0)
        if largest <= 0.0:
            return np.ones(len(names))
        found = np.array(list(map(weights.get, names, repeat(largest))), dtype=np.float64)
        return np.maximum(found / largest, self.floor)

    def _draw(self, points: Choices, seed: int) -> Choices:
        """Return the choices of points sampled from the domain; empty if all given points have the same choices."""
        if len({frozenset(one.path for one in point) for point in points}) == 1:
            return []
        drawn = self.domain.sample(DRAWS, np.random.default_rng(seed))
        return [self.domain.coordinates(x) for x in drawn]

    def _change(
        self, x: Point, weights: Mapping[str, float], n_finished: int, n_stalled: int, rng: np.random.Generator
    ) -> Point:
        names = self.domain.names(x)
        probabilities = self.probabilities(weights, names)
        mode = self.mode
        if mode == "auto":
            mode = "independent" if n_stalled >= STALL_FACTOR * len(names) and n_finished % 2 else "single"
        if mode == "single":
            total = np.cumsum(probabilities)
            changes = [names[min(int(np.searchsorted(total, rng.random() * total[-1], "right")), len(names) - 1)]]
        else:
            u = rng.random() if mode == "shared" else rng.random(len(names))
            changes = [names[i] for i in np.flatnonzero(probabilities >= u).tolist()]
        if self.least:
            changes += [name for name in names if n_finished < self.least.get(name, 0) and name not in changes]
        return self.domain.resample(x, changes, rng)


def wrs_trials(n_trials: int) -> int:
    """Return the number of random trials in the published search: n_trials / e, rounded, at least 2.

    Parameters
    ----------
    n_trials : int
        Total number of trials.
    """
    return max(round(n_trials / math.e), 2)
