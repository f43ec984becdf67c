"""Hyperband and successive halving, asynchronous: many points evaluated cheaply, the best of them more thoroughly.

Brackets as in Li et al. 2018 (JMLR 18-185), promotion as in ASHA (Li et al. 2020, MLSys, algorithm 2): whenever a point
is asked for, one that is among the best share of its rung goes up; where there is none, a new one begins. Nobody waits.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bostruct.checks import check_number
from bostruct.contracts import (
    Appraisal,
    Domain,
    HasAppraisal,
    HistoryView,
    Json,
    Point,
    PointError,
    Searcher,
    SpaceExhausted,
    State,
    Suggestion,
)

MAX_DRAWS = 100


class Fidelities(Protocol):
    """What a searcher needs to know of a point's fidelity; levels ascend from 0."""

    @property
    def costs(self) -> tuple[float, ...]: ...
    def level(self, x: Point) -> int: ...
    def at_level(self, x: Point, level: int) -> Point: ...
    def keys(self, xs: Any) -> list[Hashable]: ...


@dataclass(frozen=True)
class Hyperband:
    """New points are random, and begin at the lowest level of their bracket, one bracket a level; halving: only the
    bracket of the lowest level (successive halving). reduction: of n points at a level, n / reduction go up (eta).
    proposals: where new points come from, None for random ones; where it names a point that was evaluated at some
    level, that point goes up by one (MOBSTER: Klein et al. 2020).

    A bracket that begins at level b gets in proportion reduction^(top - b) * (levels / (top - b + 1)) new points, top
    the highest level. All is read off the history: a point's bracket is the lowest level at which it was evaluated.
    Raises ValueError.
    """

    domain: Domain
    fidelities: Fidelities
    reduction: float = 3.0
    halving: bool = False
    proposals: Searcher | None = None

    def __post_init__(self) -> None:
        check_number("reduction", self.reduction, 1.000001)

    def settings(self) -> dict[str, Json]:
        own = {"reduction": self.reduction, "halving": self.halving, "costs": list(self.fidelities.costs)}
        return own if self.proposals is None else own | {"proposals": self.proposals.settings()}

    def initial_state(self) -> State:
        return None if self.proposals is None else self.proposals.initial_state()

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        """Raises SpaceExhausted when no unseen point is left at any level."""
        rungs = Rungs.of(history, self.fidelities)
        promoted = self._promote(rungs, history.seen)
        if promoted is not None:
            level = self.fidelities.level(promoted)
            return Suggestion(promoted, state, {"origin": "model", "level": level})
        brackets = self._brackets(rungs)
        if self.proposals is not None:
            found, state, info = self.proposals.suggest(history, state, rng)
            x = self._place_proposal(found, brackets[0], rungs, history.seen)
            if x is not None:
                return Suggestion(x, state, {**info, "level": self.fidelities.level(x)})
        for bracket in brackets:
            x = self._new(bracket, rungs, history.seen, rng)
            if x is not None:
                return Suggestion(x, state, {"origin": "random", "level": bracket})
        x = self.domain.sample_unseen(history.seen, rng)
        why = f"no new point was found in {MAX_DRAWS} draws"
        return Suggestion(x, state, {"origin": "fallback", "why": why, "level": self.fidelities.level(x)})

    def appraise(self, history: HistoryView, state: State, rng: np.random.Generator) -> Appraisal:
        """Leave only points at the highest level evaluated; predict them where proposals come from a model."""
        levels = np.array([self.fidelities.level(x) for x in history.completed])
        model = self.proposals if isinstance(self.proposals, HasAppraisal) else None
        prediction = None if model is None else model.appraise(history, state, rng).prediction
        return Appraisal(levels == levels.max(), prediction)

    def _promote(self, rungs: Rungs, seen: AbstractSet[Hashable]) -> Point | None:
        """The best that may go up, from the highest level down."""
        for level in range(len(self.fidelities.costs) - 2, -1, -1):
            for bracket in range(level + 1):
                found = sorted(rungs.completed(bracket, level), key=lambda one: one[0])
                for _, _, x in found[: math.floor(len(found) / self.reduction)]:
                    higher = self._at_level(x, level + 1)
                    if higher is not None and self.domain.keys(self.domain.join([higher]))[0] not in seen:
                        return higher
        return None

    def _at_level(self, x: Point, level: int) -> Point | None:
        try:
            return self.fidelities.at_level(x, level)
        except PointError:  # a constraint ties the fidelity to the rest
            return None

    def _place_proposal(self, x: Point, bracket: int, rungs: Rungs, seen: AbstractSet[Hashable]) -> Point | None:
        """A proposal where its bracket begins, or one level above where it was evaluated; None where that was seen."""
        key = self.fidelities.keys([x])[0]
        level = bracket if key not in rungs.bracket else rungs.highest[key] + 1
        found = self._at_level(x, level) if level < len(self.fidelities.costs) else None
        return None if found is None or self.domain.keys(self.domain.join([found]))[0] in seen else found

    def _brackets(self, rungs: Rungs) -> list[int]:
        """Where new points may begin, the bracket that lags behind its share most first."""
        if self.halving:
            return [0]
        levels = len(self.fidelities.costs)
        shares = [self.reduction ** (levels - 1 - b) * levels / (levels - b) for b in range(levels)]
        return sorted(range(levels), key=lambda b: (rungs.bracket_sizes[b] / shares[b], b))

    def _new(self, bracket: int, rungs: Rungs, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Point | None:
        for _ in range(MAX_DRAWS):
            try:
                x = self._at_level(self.domain.sample_unseen(seen, rng), bracket)
            except SpaceExhausted:
                return None
            if x is not None and self.fidelities.keys([x])[0] not in rungs.bracket:
                return x
        return None


@dataclass(frozen=True)
class Rungs:
    """bracket, highest: level of each point, by its key without fidelity. begun: points a bracket. entries: (value,
    order, point) by bracket and level.
    """

    bracket: dict[Hashable, int]
    highest: dict[Hashable, int]
    bracket_sizes: list[int]
    entries: dict[tuple[int, int], list[tuple[float, int, Point]]]

    @classmethod
    def of(cls, history: HistoryView, fidelities: Fidelities) -> Rungs:
        told = [*history.completed]
        every = [*told, *history.failed, *history.running]
        keys, levels = fidelities.keys(every), [fidelities.level(x) for x in every]
        bracket: dict[Hashable, int] = {}
        highest: dict[Hashable, int] = {}
        for key, level in zip(keys, levels, strict=True):
            bracket[key] = min(level, bracket.get(key, level))
            highest[key] = max(level, highest.get(key, level))
        bracket_sizes = [0] * len(fidelities.costs)
        for level in bracket.values():
            bracket_sizes[level] += 1
        entries: dict[tuple[int, int], list[tuple[float, int, Point]]] = {}
        for order, (x, value) in enumerate(zip(told, history.values.tolist(), strict=True)):
            entries.setdefault((bracket[keys[order]], levels[order]), []).append((value, order, x))
        return cls(bracket, highest, bracket_sizes, entries)

    def completed(self, bracket: int, level: int) -> list[tuple[float, int, Point]]:
        return self.entries.get((bracket, level), [])
