"""Searchers without a model: random search, evolution, hill climbing, simulated annealing."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bostruct.checks import check_bool, check_integer, check_number, try_mutation
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
    describe_part,
)
from bostruct.searchers.proposals import Design, draw_blindly, fall_back, mutate_unseen, random_design

MUTATION_TRIES = 100  # per center, if its neighbors cannot be listed


@dataclass(frozen=True)
class RandomSearch(Searcher):
    """Random search without replacement: unseen points from the domain's own distribution.

    note: stored with each suggestion; None for no note.
    """

    domain: Domain
    note: str | None = field(default=None, kw_only=True)
    reads_objectives = True

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        return self.with_note(Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random"}))


@dataclass(frozen=True)
class HillClimbing(Searcher):
    """Hill climbing: evaluate the neighbors of the best point in random order, and move to the first better one.

    n_initial: number of random points before the climb starts from the best of them, at least 1.

    Spaces with continuous variables are also searched by mutations, because their neighbors are mostly numeric.

    If the center has no unseen neighbor and no better one, the climb restarts at a random unseen point and ignores all
    earlier values. It also restarts if 100 mutations of the center have only led to seen points. Raises TypeError,
    ValueError.
    """

    domain: Domain
    n_initial: int = 20
    best_improvement: bool = False

    def __post_init__(self) -> None:
        check_integer("n_initial", self.n_initial, 1)
        check_bool("best_improvement", self.best_improvement)

    def initial_state(self) -> State:
        """Return the state: `start`, the number of values before this climb, and `center`, its center's position."""
        return {"start": 0, "center": None}

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        if len(history.seen) < self.n_initial:
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "initial"})
        start = state["start"]
        if len(history.completed) == start:
            why = "no observed value to climb from yet"
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "random", "why": why})
        best = start + int(np.argmin(history.values[start:]))
        stays = self.best_improvement and state["center"] is not None
        for center in (state["center"], best) if stays else (best,):
            if (x := self._unseen_neighbor(history, center, rng)) is not None:
                info = {"origin": "model", "center": float(history.values[center]), PARENT_POSITION: center}
                return Suggestion(x, {"start": start, "center": center}, info)
        chosen = self.domain.sample_unseen(history.seen, rng)
        restarted = {"start": len(history.completed), "center": None}
        return Suggestion(chosen, restarted, {"origin": "random", "why": "restarted at a local optimum"})

    def _unseen_neighbor(self, history: HistoryView, center: int, rng: np.random.Generator) -> Point | None:
        """Return a uniformly random unseen neighbor, or None if all were seen."""
        x = history.completed[center]
        local = self.domain.traits.local
        if local is None or (not self.best_improvement and self.domain.n_continuous > 0):
            for _ in range(MUTATION_TRIES):
                if (changed := try_mutation(self.domain, x, rng)) is None:
                    return None
                if self.domain.key(changed) not in history.seen:
                    return changed
            return None
        # One neighbor more than there are seen points includes an unseen one, so these limits lose nothing.
        for most in (16, len(history.seen) + 1):
            neighbors = local.sample_neighbors(x, most, rng)
            unseen = [i for i, key in enumerate(self.domain.keys(neighbors)) if key not in history.seen]
            if unseen:
                return neighbors[unseen[rng.integers(len(unseen))]]
        return None


ParentSelection = Callable[[Array], Array]  # fitness (m,) in the order observed -> probabilities (m,)


@dataclass(frozen=True)
class EvolutionSearch(Searcher):
    """An evolutionary algorithm: each suggestion is a mutation of one evaluated point.

    selection: fitness (m,) of all completed trials, in the order observed -> the probability of each as parent (m,).
    n_initial: number of points that `design` chooses first, at least 1.
    design: (domain, seen, rng) -> an unseen initial point.
    tries: mutations of newly sampled parents, at least 1, until one was not seen.
    note: stored with each suggestion; None for no note.

    Raises TypeError, ValueError.
    """

    domain: Domain
    selection: ParentSelection
    n_initial: int = 20
    design: Design = random_design
    tries: int = 200
    origin: str = "model"
    note: str | None = field(default=None, kw_only=True)
    reads_objectives = True

    def __post_init__(self) -> None:
        check_integer("n_initial", self.n_initial, 1)
        check_integer("tries", self.tries, 1)

    def settings(self) -> dict[str, Json]:
        parts: dict[str, Any] = {"selection": self.selection, "n_initial": self.n_initial, "design": self.design}
        return {name: describe_part(part) for name, part in (parts | {"tries": self.tries}).items()}

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        return self.with_note(self._suggest(history, state, rng))

    def _suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        if len(history.seen) < self.n_initial:
            return Suggestion(self.design(self.domain, history.seen, rng), state, {"origin": "initial"})
        if not len(history.values):
            return draw_blindly(self.domain, history, state, rng)
        parents = rng.choice(len(history.values), size=self.tries, p=self.selection(-history.values)).tolist()
        if (child := mutate_unseen(self.domain, history, parents, rng)) is None:
            why = f"no unseen point was found in up to {self.tries} mutations"
            return fall_back(self.domain, history, state, rng, why)
        x, parent = child
        return Suggestion(x, state, {"origin": self.origin, PARENT_POSITION: parent})


@dataclass(frozen=True)
class Annealing(Searcher):
    """Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983).

    n_initial: number of random points before the walk starts from the best of them, at least 1.
    temperature: initial temperature, at least 0, in interquartile ranges of the observed values, so that the search
        does not depend on the scale of the objective.
    cooling: factor of the temperature per observed value, in (0, 1].
    free_steps: maximum number of mutations per suggestion, at least 1.

    A mutation that was evaluated before is accepted or rejected at its known value, without cost, and the walk
    continues until it reaches an unseen point. If it reaches none, it is reheated once and then continues at a random
    unseen point. Every observed value is a proposal to the walk, in the order observed, also if another method
    suggested its point. Raises TypeError, ValueError.
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
        """Return the state: the current position, and the numbers of values proposed in all and since heating."""
        return {"current": None, "told": 0, "steps": 0}

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        if len(history.seen) < self.n_initial or not len(history.completed):
            origin = "initial" if len(history.seen) < self.n_initial else "random"
            return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": origin})
        current, steps = self._replay_observations(history, state, rng)
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

    def _replay_observations(self, history: HistoryView, state: State, rng: np.random.Generator) -> tuple[Point, int]:
        """Propose the values observed since the last suggestion; the walk starts at the best of the first values."""
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
        """Walk until an unseen point is reached; return the position of the walk, and that point or None."""
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
    """Return the interquartile range, a scale of the values that is robust to a few penalties.

    values: at least one (n,).
    """
    ordered = np.sort(values)
    return float(ordered[3 * len(ordered) // 4]) - float(ordered[len(ordered) // 4])


def metropolis_accepts(rise: float, temperature: float, rng: np.random.Generator) -> bool:
    """Return whether a step is accepted: if it is not worse, or with probability exp(-rise / temperature).

    temperature: in the units of `rise`, at least 0.
    rng: random number generator.

    Source: Metropolis et al. 1953.
    """
    return rise <= 0 or (temperature > 0 and rng.random() < math.exp(-rise / temperature))


def find_values(domain: Domain, history: HistoryView) -> dict[Hashable, float]:
    """Return the last observed value of each completed point, by key."""
    return dict(zip(domain.keys(history.completed), map(float, history.values), strict=True))
