"""Survey a constrained space once: do uniform draws hit valid points, and where are some?

Constraints are opaque predicates, so the search goes from exact to hopeful: uniform draws; draws tilted towards a
constant point, which meet budgets and cardinalities; walks that repair one constraint after another; the best of these
repairs, recombined with tilted draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import IntArray
from bostruct.domains.space.call_limit import CallLimit, call_limit, charge_once, limit_calls
from bostruct.domains.space.constraints import (
    ConstrainedProduct,
    Survey,
    count_until_broken,
    describe_draws,
    find_broken,
    label_rules,
    work_limit,
)
from bostruct.domains.space.variable import ABSENT, Variable

MAX_SURVEY_CALLS = 240_000  # leaves a suggestion some
UNIFORM_DRAWS = 2_048
ENOUGH_DRAWS = 4_096  # where one of them was valid
BLOCK = 512
N_STARTS = 20  # valid points that are wanted
REPAIRS = 20
REPAIR_STEPS = 2_000
RECOMBINED = 10  # of the best repairs
REPAIR_NOISE = 0.1  # share of repairing steps to a random neighbor, which lets a walk out of local minima (WalkSAT)


def find_survey(space: ConstrainedProduct) -> Survey:
    """Return the survey of a constrained space, made once; each suggestion is charged the calls that it took.

    space: with constraints.
    """
    if space.surveyed is None:
        space.surveyed = survey_space(space)
    charge_once(space, space.surveyed.calls)
    return space.surveyed


def survey_space(space: ConstrainedProduct) -> Survey:
    """Look for valid points from a fixed seed, within 240,000 calls of predicates.

    space: `Space` with constraints. If no point is valid, up to 10,000 calls more count the draws that satisfy each.

    Raises DomainError where a constraint itself fails.
    """
    rng = np.random.default_rng(0)
    with limit_calls(MAX_SURVEY_CALLS, reserved=0) as limit:
        uniform = space.sample_freely(UNIFORM_DRAWS, rng)
        counts = [count_until_broken(space, uniform)]
        found = uniform[counts[0] == len(space.constraints)]
        uniform_hits = len(found) > 0
        for draw, most in SEARCHES:
            if not len(found):
                found = _draw_until_valid(space, draw, most, rng, counts)
        repairs: list[Repair] = []
        if not len(found) and len(space.constraints) > 1:  # a single one gives a repair no direction
            repairs = _repair_starts(space, rng)
            found = np.array([repair.row for repair in repairs if not repair.broken][-1:], dtype=np.int64)
        found = found[:N_STARTS].reshape(-1, space.layout.n_columns)
        refusal = "" if len(found) else _describe_failure(space, np.concatenate(counts), repairs, limit)
        return Survey(found, uniform_hits, int(MAX_SURVEY_CALLS - limit.left), refusal)


class Repair(NamedTuple):
    """The best point that a repairing walk has seen.

    row: integer row (columns,).
    broken: positions of the constraints that it breaks.
    """

    row: IntArray
    broken: list[int]


def _describe_failure(space: ConstrainedProduct, counts: IntArray, repairs: Sequence[Repair], limit: CallLimit) -> str:
    """Say what was tried, how many of the first draws satisfied each constraint, and what the best repair broke."""
    rules, rng = space.constraints, np.random.default_rng(0)
    uniform, tilted = space.sample_freely(UNIFORM_DRAWS, rng), _draw_tilted_points(space, BLOCK, rng)
    rows = [row for pair in zip(uniform, tilted, strict=False) for row in pair]  # in turn, as only some may be taken
    points = [space.present(row) for row in rows]
    described = describe_draws(rules, points, lambda point, rule: not find_broken(space, point, [rule]))
    said = f"{np.sum(counts >= 0)} draws{f' and {len(repairs)} repairs' if repairs else ''}: {described}"
    if repairs:
        best = min(repairs, key=lambda repair: len(repair.broken))
        said += (
            f"; the best repair satisfied {len(rules) - len(best.broken)} of {len(rules)} and broke "
            f"{label_rules(rules, best.broken)}: {short_repr(space.present(best.row), 200)}"
        )
    ended = limit.left < len(rules)
    return said + (f"; the search ended at its limit of {MAX_SURVEY_CALLS} calls of constraints" if ended else "")


def _draw_until_valid(
    space: ConstrainedProduct, draw: Draw, most: int, rng: np.random.Generator, counts: list[IntArray]
) -> IntArray:
    """Draw until enough points are valid; return those, and append to `counts` how many constraints each satisfied."""
    found, n_drawn, limit = space.sample_freely(0, rng), 0, call_limit()
    most = min(most, work_limit(space))
    while len(found) < N_STARTS and not limit.is_reached and n_drawn < (ENOUGH_DRAWS if len(found) else most):
        block = draw(space, BLOCK, rng)
        counts.append(count_until_broken(space, block))
        found = np.concatenate([found, block[counts[-1] == len(space.constraints)]])
        n_drawn += len(block)
    return found


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
SEARCHES: tuple[tuple[Draw, int], ...] = (  # draws, and how many of them before they are given up
    (_draw_tilted_points, 20_000),
    (lambda space, m, rng: space.sample_freely(m, rng), 60_000),
)


def _repair_starts(space: ConstrainedProduct, rng: np.random.Generator) -> list[Repair]:
    """Repair tilted draws one by one, then recombine the best repairs with such draws, until the last is valid."""
    repairs: list[Repair] = []
    limit, n_rules = call_limit(), len(space.constraints)
    steps = min(REPAIR_STEPS, max(1, work_limit(space) // REPAIRS))
    for start in _draw_tilted_points(space, REPAIRS, rng):
        if limit.left < n_rules:
            return repairs
        repairs.append(_repair(space, start, steps, rng))
        if not repairs[-1].broken:
            return repairs
    for start in sorted(repairs, key=lambda repair: len(repair.broken))[:RECOMBINED]:
        if limit.left < n_rules:
            break
        repairs.append(_recombine(space, start, steps, rng))
        if not repairs[-1].broken:
            break
    return repairs


def _repair(space: ConstrainedProduct, x: IntArray, steps: int, rng: np.random.Generator) -> Repair:
    """Change one variable at a time, keeping what satisfies no fewer constraints; return the best point seen."""
    point, row, limit, rules = space.present(x), x, call_limit(), space.constraints
    broken = find_broken(space, point, rules)
    best = Repair(row, broken)
    which = rng.integers(space.d, size=steps)
    variables = list(space.variables.values())
    draws = _draw_values(variables, which, rng)
    noise = rng.random(steps) < REPAIR_NOISE
    for i, columns, anyway in zip(which.tolist(), draws, noise.tolist(), strict=True):
        if not broken or limit.left < len(rules):
            break
        changed_row, changed = _change(space, row, point, i, columns)
        now = find_broken(space, changed, rules)
        if len(now) <= len(broken) or anyway:
            point, row, broken = changed, changed_row, now
            best = Repair(row, broken) if len(broken) < len(best.broken) else best
    return best


def _recombine(space: ConstrainedProduct, start: Repair, steps: int, rng: np.random.Generator) -> Repair:
    """Replace a random share of the variables by those of tilted draws, keeping what satisfies no fewer constraints.

    Several variables change at once, which a sum of them may need.
    """
    best, limit, rules = start, call_limit(), space.constraints
    kept = rng.random((steps, space.d)) < rng.random((steps, 1))
    columns = np.repeat(kept, [v.width for v in space.variables.values()], axis=1)
    for draw, keeps in zip(_draw_tilted_points(space, steps, rng), columns, strict=True):
        if not best.broken or limit.left < len(rules):
            break
        row = space.conditions.settle_randomly(np.where(keeps, best.row, draw)[None], rng)[0]
        broken = find_broken(space, space.present(row), rules)
        best = Repair(row, broken) if len(broken) <= len(best.broken) else best
    return best


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
