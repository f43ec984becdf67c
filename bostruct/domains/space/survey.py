"""Survey a constrained space once: do uniform draws hit valid points, and where are some?

Constraints are opaque predicates, so the search goes from exact to hopeful: uniform draws; draws tilted towards a
constant point, which meet budgets and cardinalities; walks that repair one constraint after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bostruct.contracts import IntArray
from bostruct.domains.space.call_limit import call_limit, limit_calls
from bostruct.domains.space.constraints import ConstrainedProduct, Survey, count_at_point, valid_mask, work_limit
from bostruct.domains.space.variable import ABSENT, Variable

MAX_SURVEY_CALLS = 240_000  # leaves a suggestion some
UNIFORM_DRAWS = 2_048
ENOUGH_DRAWS = 4_096  # where one of them was valid
BLOCK = 512
N_STARTS = 20  # valid points that are wanted
REPAIRS = 20
REPAIR_STEPS = 2_000
REPAIR_NOISE = 0.1  # share of repairing steps to a random neighbor, which lets a walk out of local minima (WalkSAT)


def survey_space(space: ConstrainedProduct) -> Survey:
    """Look for valid points from a fixed seed, within 240,000 calls of predicates.

    space: `Space` with constraints.

    Raises DomainError where a constraint itself fails.
    """
    rng = np.random.default_rng(0)
    with limit_calls(MAX_SURVEY_CALLS, reserved=0) as limit:
        uniform = space.sample_freely(UNIFORM_DRAWS, rng)
        found = uniform[valid_mask(space, uniform)]
        tried, uniform_hits = f"{UNIFORM_DRAWS} uniform draws", len(found) > 0
        for name, draw, most in SEARCHES:
            if not len(found):
                found, n_drawn = _draw_until_valid(space, draw, most, rng)
                tried += f", {n_drawn} {name} draws"
        if not len(found) and len(space.constraints) > 1:  # a single one gives a repair no direction
            found, best = _repair_starts(space, rng)
            tried += f" and by repairs (the best of which satisfied {best})"
        return Survey(found[:N_STARTS], uniform_hits, int(MAX_SURVEY_CALLS - limit.left), tried)


def _draw_until_valid(
    space: ConstrainedProduct, draw: Draw, most: int, rng: np.random.Generator
) -> tuple[IntArray, int]:
    """Draw until enough points are valid; return those, and how many were drawn."""
    found, n_drawn, limit = space.sample_freely(0, rng), 0, call_limit()
    most = min(most, work_limit(space))
    while len(found) < N_STARTS and not limit.is_reached and n_drawn < (ENOUGH_DRAWS if len(found) else most):
        block = draw(space, BLOCK, rng)
        found = np.concatenate([found, block[valid_mask(space, block)]])
        n_drawn += len(block)
    return found, n_drawn


def _draw_tilted_points(space: ConstrainedProduct, m: int, rng: np.random.Generator) -> IntArray:
    """Draw points that share a random part of their variables with the first, or the last, choice of each."""
    uniform = space.sample_freely(m, rng)
    last = [v.size - 1 if v.width == 1 else -1 for v in space.variables.values()]
    at, ends = space.layout.starts, np.array(last, dtype=np.int64)
    base = np.where(rng.random((m, 1)) < 0.5, 0, ends)
    tilted = (rng.random((m, space.d)) < rng.random((m, 1))) & (ends >= 0)
    uniform[:, at] = np.where(tilted, base, uniform[:, at])
    return space.conditions.settle_randomly(uniform, rng)


Draw = Callable[[ConstrainedProduct, int, np.random.Generator], IntArray]
SEARCHES: tuple[tuple[str, Draw, int], ...] = (  # name, draws, and how many of them before they are given up
    ("tilted", _draw_tilted_points, 20_000),
    ("more uniform", lambda space, m, rng: space.sample_freely(m, rng), 60_000),
)


def _repair_starts(space: ConstrainedProduct, rng: np.random.Generator) -> tuple[IntArray, int]:
    """Repair tilted draws until one is valid (1 or 0, columns), and return how many constraints the best satisfied."""
    most, limit = 0, call_limit()
    steps = min(REPAIR_STEPS, max(1, work_limit(space) // REPAIRS))
    for start in _draw_tilted_points(space, REPAIRS, rng):
        if limit.is_reached:
            break
        x, n_satisfied = _repair(space, start, steps, rng)
        most = max(most, n_satisfied)
        if most == len(space.constraints):
            return x[None], most
    return space.sample_freely(0, rng), most


def _repair(space: ConstrainedProduct, x: IntArray, steps: int, rng: np.random.Generator) -> tuple[IntArray, int]:
    """Change one variable at a time, keeping what satisfies no fewer constraints.

    Returns the point, and how many constraints hold.
    """
    point, row, limit = space.present(x), x, call_limit()
    target = len(space.constraints)
    held = count_at_point(space, point, space.constraints)
    which = rng.integers(space.d, size=steps)
    variables = list(space.variables.values())
    draws = _draw_values(variables, which, rng)
    noise = rng.random(steps) < REPAIR_NOISE
    for i, columns, anyway in zip(which.tolist(), draws, noise.tolist(), strict=True):
        if held == target or limit.left < target:
            break
        changed_row, changed = _change(space, row, point, i, columns)
        now = count_at_point(space, changed, space.constraints)
        if now >= held or anyway:
            point, row, held = changed, changed_row, now
    return row, held


def _change(
    space: ConstrainedProduct, row: IntArray, point: dict[str, Any], i: int, columns: list[int]
) -> tuple[IntArray, dict[str, Any]]:
    """Return a point, in both forms, with one variable at another value; as it is where it has no such variable."""
    own = space.layout.columns(i)
    if row[own.start] == ABSENT:
        return row, point
    changed = row.copy()
    changed[own] = columns
    if space.conditions:
        space.conditions.settle_simply(changed[None])
        return changed, space.present(changed)
    name = list(space.variables)[i]
    return changed, point | {name: space.variables[name].present(columns)}


def _draw_values(variables: Sequence[Variable], which: IntArray, rng: np.random.Generator) -> list[list[int]]:
    """Draw a value of each of some variables, in one call for those that are single choices."""
    singles = rng.integers(0, np.array([v.size if v.width == 1 else 1 for v in variables])[which])
    return [
        [single] if variables[i].width == 1 else variables[i].sample(1, rng)[0].tolist()
        for i, single in zip(which.tolist(), singles.tolist(), strict=True)
    ]
