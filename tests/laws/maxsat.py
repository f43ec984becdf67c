"""A small random weighted Max-3-SAT, on which searchers are compared, and the comparison itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import bostruct as bo
from bostruct.contracts import Array
from bostruct.testing.searcher_laws import MakeSearcher, Objective, Schedule, play


def max3sat(seed: int, d: int = 60, clauses: int = 300) -> Objective:
    """Weight of the unsatisfied clauses, weights U(0, 1); a hidden assignment satisfies all, so the optimum is 0."""
    rng = np.random.default_rng([seed, 987])
    hidden = rng.integers(0, 2, d)
    rows: list[tuple[Any, Any]] = []
    while len(rows) < clauses:
        variables, signs = rng.choice(d, 3, replace=False), rng.integers(0, 2, 3)
        if np.any(hidden[variables] == signs):
            rows.append((variables, signs))
    variables, signs = np.array([v for v, _ in rows]), np.array([s for _, s in rows])
    weights = rng.random(clauses)

    def unsatisfied(point: dict[str, bool]) -> float:
        x = np.array(list(point.values()), dtype=np.int64)
        return float(weights[~np.any(x[variables] == signs, axis=1)].sum())

    return unsatisfied


def best_so_far(make_searcher: MakeSearcher, seed: int, n_trials: int) -> Array:
    """Of a run on the instance of this seed; (n_trials,)."""
    values: list[float] = []
    play(make_searcher, bits(60), recording(max3sat(seed), values), Schedule(n_trials, seed))
    return np.minimum.accumulate(values)


def recording(objective: Objective, values: list[float]) -> Callable[[Any], float]:
    def recorded(point: Any) -> float:
        values.append(objective(point))
        return values[-1]

    return recorded


def bits(d: int) -> bo.Space:
    return bo.Space({f"x{i}": bool for i in range(d)})
