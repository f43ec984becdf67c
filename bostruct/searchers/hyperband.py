"""Searchers over a `Fidelity`: many points are evaluated cheaply, and the best points more thoroughly.

Hyperband and successive halving are asynchronous: brackets as in Li et al. 2018 (JMLR 18-185), promotion as in ASHA (Li
et al. 2020, MLSys, algorithm 2). Each suggestion promotes a point among the best share of its rung, or starts a new
point if there is none, so that no worker waits. Successive narrowing proceeds in rounds: it is the searcher of that
name in the code of Negrinho et al. 2019, a synchronous successive halving (Jamieson and Talwalkar 2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import check_integer, check_number, check_part
from bostruct.contracts import (
    Batch,
    Domain,
    HistoryView,
    HyperparameterSamples,
    Json,
    Point,
    PointError,
    Predicted,
    Searcher,
    SpaceExhausted,
    State,
    Suggestion,
    TrainingPrediction,
)
from bostruct.domains.fidelity import FidelityLevels
from bostruct.goals.pareto import constrained_rank

MAX_DRAWS = 100
LARGEST_COUNTS = "the largest fidelity counts"  # in `TrainingPrediction.why`


def move_to_level(fidelities: FidelityLevels, x: Point, level: int) -> Point | None:
    """Return a point at another level; None if a constraint prevents it.

    level: level of the fidelity, from 0.
    """
    try:
        return fidelities.at_level(x, level)
    except PointError:
        return None


@dataclass(frozen=True)
class Hyperband(Searcher):
    """Asynchronous Hyperband or successive halving (Li et al. 2018, 2020).

    New points start at the lowest level of their bracket. There is one bracket per level.

    reduction: eta, above 1: n / eta of n points at a level are promoted.
    halving: use only the bracket of the lowest level (successive halving).
    proposals: searcher that proposes new points, None for random points; a proposed point that was evaluated at a lower
        level is promoted by one level (MOBSTER: Klein et al. 2020).

    A bracket that starts at level b receives new points in proportion to reduction^(top - b) * (levels / (top - b +
    1)); top is the highest level. The state is derived from the history: a point's bracket is the lowest level at which
    it was evaluated. Raises ValueError.
    """

    domain: Domain
    fidelities: FidelityLevels
    reduction: float = 3.0
    halving: bool = False
    proposals: Searcher | None = None
    reads_objectives = True

    def __post_init__(self) -> None:
        check_number("reduction", self.reduction, above=1.0)
        if self.proposals is not None:
            check_part("proposals", self.proposals, Searcher)

    @property
    def n_initial(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 0 if self.proposals is None else self.proposals.n_initial

    @property
    def has_model(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.proposals is not None and self.proposals.has_model

    def change_model(self, change: Callable[[Any], Searcher | None], other: Callable[[Searcher], Searcher]) -> Searcher:
        if self.proposals is None:
            return other(self)
        return replace(self, proposals=self.proposals.change_model(change, other))

    def settings(self) -> dict[str, Json]:
        own = {"reduction": self.reduction, "halving": self.halving, "costs": list(self.fidelities.costs)}
        return own if self.proposals is None else own | {"proposals": self.proposals.settings()}

    def initial_state(self) -> State:
        return None if self.proposals is None else self.proposals.initial_state()

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        rungs = Rungs.of(history, self.fidelities)
        promoted = self._promote(rungs, history.seen)
        if promoted is not None:
            level = self.fidelities.level(promoted)
            return Suggestion(promoted, state, {"origin": "model", "level": level})
        brackets = self._brackets(rungs)
        if self.proposals is not None:
            found, state, info = self.proposals.suggest(history, state, rng)
            # the level of the bracket furthest below its share, or one level above the highest that it was evaluated at
            key = self.fidelities.keys([found])[0]
            level = brackets[0] if key not in rungs.bracket else rungs.highest[key] + 1
            x = move_to_level(self.fidelities, found, level) if level < len(self.fidelities.costs) else None
            if x is not None and self.domain.key(x) not in history.seen:
                return Suggestion(x, state, {**info, "level": self.fidelities.level(x)})
        for bracket in brackets:
            x = self._new(bracket, rungs, history.seen, rng)
            if x is not None:
                return Suggestion(x, state, {"origin": "random", "level": bracket})
        x = self.domain.sample_unseen(history.seen, rng)
        why = f"no new point was found in {MAX_DRAWS} draws"
        return Suggestion(x, state, {"origin": "fallback", "why": why, "level": self.fidelities.level(x)})

    def appraise(self, history: HistoryView, state: State, rng: np.random.Generator) -> TrainingPrediction:
        levels = np.array([self.fidelities.level(x) for x in history.completed])
        prediction = None if self.proposals is None else self.proposals.appraise(history, state, rng).prediction
        return TrainingPrediction(levels == levels.max(), prediction, LARGEST_COUNTS)

    def predict(self, history: HistoryView, state: State, xs: Batch, rng: np.random.Generator) -> Predicted:
        """Predict points at the highest level by the model of `proposals`."""
        if self.proposals is None:
            return super().predict(history, state, xs, rng)
        top = len(self.fidelities.costs) - 1
        moved = [move_to_level(self.fidelities, x, top) for x in xs]
        tops = self.domain.join([x if at_top is None else at_top for x, at_top in zip(xs, moved, strict=True)])
        return self.proposals.predict(history, state, tops, rng)

    def sample_hyperparameters(
        self, history: HistoryView, state: State, rng: np.random.Generator
    ) -> list[list[HyperparameterSamples]]:
        return [] if self.proposals is None else self.proposals.sample_hyperparameters(history, state, rng)

    def _promote(self, rungs: Rungs, seen: AbstractSet[Hashable]) -> Point | None:
        """Return the best point of the highest level with promotable points, promoted; None if there are none."""
        for level in range(len(self.fidelities.costs) - 2, -1, -1):
            for bracket in range(level + 1):
                found = sorted(rungs.completed(bracket, level), key=lambda one: one[0])
                for _, _, x in found[: math.floor(len(found) / self.reduction)]:
                    higher = move_to_level(self.fidelities, x, level + 1)
                    if higher is not None and self.domain.key(higher) not in seen:
                        return higher
        return None

    def _brackets(self, rungs: Rungs) -> list[int]:
        """Return the levels at which new points may start, the bracket furthest below its share first."""
        if self.halving:
            return [0]
        levels = len(self.fidelities.costs)
        shares = [self.reduction ** (levels - 1 - b) * levels / (levels - b) for b in range(levels)]
        return sorted(range(levels), key=lambda b: (rungs.bracket_sizes[b] / shares[b], b))

    def _new(self, bracket: int, rungs: Rungs, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Point | None:
        for _ in range(MAX_DRAWS):
            try:
                x = move_to_level(self.fidelities, self.domain.sample_unseen(seen, rng), bracket)
            except SpaceExhausted:
                return None
            if x is not None and self.fidelities.keys([x])[0] not in rungs.bracket:
                return x
        return None


def rank_points(history: HistoryView, places: Sequence[int]) -> list[float]:
    """Return the constrained ranks of some completed points among each other; the smallest is best."""
    return constrained_rank(history.objectives[places], history.violations[places]).tolist()


@dataclass(frozen=True)
class Rungs:
    """The points of a history by bracket and level.

    bracket, highest: the lowest and the highest level of each point, by its key without fidelity.
    bracket_sizes: number of points in each bracket.
    entries: (constrained rank among these trials, order, point) of the completed trials at each bracket and level.
    """

    bracket: dict[Hashable, int]
    highest: dict[Hashable, int]
    bracket_sizes: list[int]
    entries: dict[tuple[int, int], list[tuple[float, int, Point]]]

    @classmethod
    def of(cls, history: HistoryView, fidelities: FidelityLevels) -> Rungs:
        """Derive the bracket and the levels of each point from a history."""
        completed = [*history.completed]
        every = [*completed, *history.failed, *history.running]
        keys, levels = fidelities.keys(every), [fidelities.level(x) for x in every]
        bracket: dict[Hashable, int] = {}
        highest: dict[Hashable, int] = {}
        for key, level in zip(keys, levels, strict=True):
            bracket[key] = min(level, bracket.get(key, level))
            highest[key] = max(level, highest.get(key, level))
        bracket_sizes = [0] * len(fidelities.costs)
        for level in bracket.values():
            bracket_sizes[level] += 1
        places: dict[tuple[int, int], list[int]] = {}
        for order in range(len(completed)):
            places.setdefault((bracket[keys[order]], levels[order]), []).append(order)
        entries = {
            place: [(rank, order, completed[order]) for rank, order in zip(rank_points(history, own), own, strict=True)]
            for place, own in places.items()
        }
        return cls(bracket, highest, bracket_sizes, entries)

    def completed(self, bracket: int, level: int) -> list[tuple[float, int, Point]]:
        """Return (rank, order, point) of the completed trials at one level of a bracket, in the order observed.

        bracket: the level at which its points start, from 0.
        level: at least `bracket`.
        """
        return self.entries.get((bracket, level), [])


DRAWS = 100  # maximum number of draws until a point is unseen at the lowest level


class Narrowing(NamedTuple):
    """The state of a narrowing: the points of its round, how many were suggested, and points of the next narrowing."""

    level: int
    members: tuple[Point, ...]
    asked: int
    waiting: tuple[Point, ...]


@dataclass(frozen=True)
class SuccessiveNarrowing(Searcher):
    """Successive narrowing over a `Fidelity`, in rounds, as in the code of Negrinho et al. 2019.

    A narrowing starts with random points at the lowest level. When all points of a round are finished, the best share
    of them, rounded down, is evaluated at the next level, until the highest level is reached or no point is left. Then
    another narrowing starts, but the published search ends. While points of a round are running, the published search
    rejects further calls; this searcher returns a random point of the next narrowing. Failed points are dropped.

    n_initial: number of points of the first round, at least 1.
    share: fraction of a round's points that is kept, above 0 and below 1.

    Raises TypeError, ValueError.
    """

    domain: Domain
    fidelities: FidelityLevels
    n_initial: int = 27
    share: float = 1 / 3
    reads_objectives = True

    def __post_init__(self) -> None:
        check_integer("n_initial", self.n_initial, 1)
        check_number("share", self.share, above=0.0, below=1.0)

    def settings(self) -> dict[str, Json]:
        return {"n_initial": self.n_initial, "share": self.share, "costs": list(self.fidelities.costs)}

    def initial_state(self) -> State:
        return self._write(Narrowing(0, (), 0, ()))

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        now = self._advance(self._read(state), history)
        while now.asked < len(now.members):
            x = now.members[now.asked]
            now = self._advance(now._replace(asked=now.asked + 1), history)
            if self.domain.key(x) not in history.seen:
                return Suggestion(x, self._write(now), {"origin": "model", "level": self.fidelities.level(x)})
        x = self._draw(history, rng)
        if now.level == 0 and len(now.members) < self.n_initial:
            now = now._replace(members=(*now.members, x), asked=now.asked + 1)
        else:
            now = now._replace(waiting=(*now.waiting, x))
        return Suggestion(x, self._write(now), {"origin": "random", "level": self.fidelities.level(x)})

    def appraise(self, history: HistoryView, state: State, rng: np.random.Generator) -> TrainingPrediction:
        levels = np.array([self.fidelities.level(x) for x in history.completed])
        return TrainingPrediction(levels == levels.max(), None, LARGEST_COUNTS)

    def _advance(self, now: Narrowing, history: HistoryView) -> Narrowing:
        """Return the next round if all points of this round are finished, otherwise this round."""
        is_full = now.level > 0 or len(now.members) >= self.n_initial
        if not is_full or now.asked < len(now.members):
            return now
        running = set(self.domain.keys(history.running))
        finished = {key: place for place, key in enumerate(self.domain.keys(history.completed))}
        keys = [self.domain.key(x) for x in now.members]
        known = history.seen
        if any(key in running or key not in known for key in keys):
            return now
        left = [i for i, key in enumerate(keys) if key in finished]
        ranked = sorted(zip(rank_points(history, [finished[keys[i]] for i in left]), left, strict=True))
        kept = [now.members[i] for _, i in ranked[: int(self.share * len(keys) + 1e-9)]]
        above = now.level + 1
        higher = [] if above == len(self.fidelities.costs) else [move_to_level(self.fidelities, x, above) for x in kept]
        members = tuple(x for x in higher if x is not None)
        if members:
            return Narrowing(above, members, 0, now.waiting)
        first = now.waiting[: self.n_initial]
        return self._advance(Narrowing(0, first, len(first), now.waiting[self.n_initial :]), history)

    def _draw(self, history: HistoryView, rng: np.random.Generator) -> Point:
        """Return a random unseen point at the lowest level, or at any level if 100 draws find none."""
        for _ in range(DRAWS):
            lowest = move_to_level(self.fidelities, self.domain.sample(1, rng)[0], 0)
            if lowest is not None and self.domain.key(lowest) not in history.seen:
                return lowest
        return self.domain.sample_unseen(history.seen, rng)

    def _write(self, now: Narrowing) -> State:
        encode = self.domain.encode
        points = {"members": [encode(x) for x in now.members], "waiting": [encode(x) for x in now.waiting]}
        return {"level": now.level, "asked": now.asked, **points}

    def _read(self, state: State) -> Narrowing:
        members, waiting = (tuple(self.domain.decode(x) for x in state[name]) for name in ("members", "waiting"))
        return Narrowing(state["level"], members, state["asked"], waiting)
