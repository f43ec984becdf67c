"""Simulated annealing on the objective itself: one random mutation a step, Metropolis acceptance, geometric cooling."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_integer, check_number, try_mutation
from bostruct.contracts import (
    PARENT_POSITION,
    Array,
    Domain,
    HistoryView,
    Json,
    Point,
    Searcher,
    State,
    Suggestion,
)


@dataclass(frozen=True)
class Annealing(Searcher):
    """Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983) as a searcher.

    domain: with mutations.
    n_initial: number of random points before the walk starts from the best of them, at least 1.
    temperature: at the start of the walk, at least 0, in interquartile ranges of the values told so far, so that a
        rescaled objective is searched alike.
    cooling: factor of the temperature for each value told, in (0, 1].
    free_steps: mutations tried for one suggestion, at least 1.

    A mutation that was evaluated before is accepted or rejected at its known value, at no cost, and the walk goes on
    until it meets an unseen point. Where it meets none it is reheated once, then continues at a random unseen point.
    Every value told, in the order told, is a proposal to the walk, whoever asked for it. Raises TypeError, ValueError.
    """

    domain: Domain
    n_initial: int = 20
    temperature: float = 0.1
    cooling: float = 0.97
    free_steps: int = 200

    def __post_init__(self) -> None:
        check_integer("n_initial", self.n_initial, 1)
        check_number("temperature", self.temperature, 0.0)
        check_number("cooling", self.cooling, high=1.0, above=0.0)
        check_integer("free_steps", self.free_steps, 1)

    def settings(self) -> dict[str, Json]:
        return {
            "n_initial": self.n_initial,
            "temperature": self.temperature,
            "cooling": self.cooling,
            "free_steps": self.free_steps,
        }

    def initial_state(self) -> State:
        """Return current, where the walk stands; told, values proposed to it; steps, told since it was heated."""
        return {"current": None, "told": 0, "steps": 0}

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        if len(history.seen) < self.n_initial or not len(history.completed):
            origin = "initial" if len(history.seen) < self.n_initial else "random"
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": origin})
        current, steps = self._catch_up(history, state, rng)
        for start in (steps, 0):
            heat = self._heat(history.values, start)
            current, proposal = self._walk(history, current, heat, rng)
            if proposal is not None:
                parent = self.domain.keys(history.completed).index(self.domain.key(current))
                info = {"origin": "model", "temperature": heat, "reheated": start < steps, PARENT_POSITION: parent}
                return Suggestion(proposal, self._state(history, current, start), info)
        why = f"no unseen point was found in two walks of up to {self.free_steps} steps"
        chosen = self.domain.sample_unseen(history.seen, rng)
        return Suggestion(chosen, self._state(history, current, 0), {"origin": "fallback", "why": why})

    def _state(self, history: HistoryView, current: Point, steps: int) -> State:
        return {"current": self.domain.encode(current), "told": len(history.completed), "steps": steps}

    def _heat(self, values: Array, steps: int) -> float:
        return min(self.temperature * interquartile_range(values) * self.cooling**steps, sys.float_info.max)

    def _catch_up(self, history: HistoryView, state: State, rng: np.random.Generator) -> tuple[Point, int]:
        """Propose what was told since the last suggestion; the walk starts at the best of the first values."""
        if state["current"] is None:
            return history.completed[int(np.argmin(history.values))], 0
        current = self.domain.decode(state["current"])
        value = find_values(self.domain, history)[self.domain.key(current)]
        steps = state["steps"]
        for i in range(state["told"], len(history.completed)):
            if metropolis_accepts(float(history.values[i]) - value, self._heat(history.values, steps), rng):
                current, value = history.completed[i], float(history.values[i])
            steps += 1
        return current, steps

    def _walk(
        self, history: HistoryView, current: Point, heat: float, rng: np.random.Generator
    ) -> tuple[Point, Point | None]:
        """Walk until an unseen point is met; return where the walk stands, and that point or None."""
        known = find_values(self.domain, history)
        value = known[self.domain.key(current)]
        for _ in range(self.free_steps):
            if (proposal := try_mutation(self.domain, current, rng)) is None:
                return current, None
            key = self.domain.key(proposal)
            if key not in history.seen:
                return current, proposal
            if key in known and metropolis_accepts(known[key] - value, heat, rng):
                current, value = proposal, known[key]
        return current, None


def interquartile_range(values: Array) -> float:
    """Return the interquartile range: a scale of the values that a few penalties do not set.

    values: (n,), at least one.
    """
    ordered = np.sort(values)
    return float(ordered[3 * len(ordered) // 4]) - float(ordered[len(ordered) // 4])


def metropolis_accepts(rise: float, temperature: float, rng: np.random.Generator) -> bool:
    """Tell whether a step is accepted: always downhill and level, uphill with probability exp(-rise / temperature).

    rise: of the objective.
    temperature: in the same units, at least 0.
    rng: the only source of chance.

    Source: Metropolis et al. 1953.
    """
    return rise <= 0 or (temperature > 0 and rng.random() < math.exp(-rise / temperature))


def find_values(domain: Domain, history: HistoryView) -> dict[Hashable, float]:
    """Return the value last told of each completed point, by key.

    domain: of the points.
    history: all that was told so far.
    """
    return dict(zip(domain.keys(history.completed), map(float, history.values), strict=True))
