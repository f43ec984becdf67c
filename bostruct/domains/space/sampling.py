"""Draw points that satisfy all constraints of a space: by rejection if that works, otherwise by walks.

A space is surveyed once to find whether uniform draws hit valid points, and to find some valid points. Constraints are
opaque predicates, so the survey makes these searches, from exact to heuristic:

1. uniform draws;
2. draws tilted toward a constant point, which satisfy budgets and cardinalities;
3. walks that repair one constraint after another, then the best repairs, recombined with tilted draws;
4. the point of each variable's first value, which finds a permutation whose items are given in a valid order.

The survey depends only on the space: earlier calls never change the draws of a seed. Walks start at points that the
caller passes, such as a history, and at the points of the survey, so that no search is repeated.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import DRAWS_UNSEEN, Array, DomainError, IntArray, SpaceExhausted, draw_unseen
from bostruct.domains.space.call_limit import CallLimit, call_limit, charge_once, limit_calls, limit_search
from bostruct.domains.space.constraints import (
    ConstrainedProduct,
    Sample,
    Survey,
    count_until_broken,
    describe_draws,
    find_broken,
    label_rules,
    satisfies_all,
    valid_mask,
    work_limit,
)
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.single_changes import Layout, SingleChanges, pad_columns
from bostruct.domains.space.variable import INACTIVE, Variable

MAX_SURVEY_CALLS = 240_000  # less than the limit of a suggestion, so that some calls are left
UNIFORM_DRAWS = 2_048
LINEAR_DRAWS = 128  # if all constraints are linear, because draws satisfy them
ENOUGH_DRAWS = 4_096  # the most draws after one was valid
BLOCK = 512
N_STARTS = 20  # the number of valid points to find
REPAIRS = 20
REPAIR_STEPS = 2_000
RECOMBINED = 10  # the number of best repairs that are recombined
REPAIR_NOISE = 0.1  # share of repairing steps to a random neighbor, which lets a walk out of local minima (WalkSAT)


def find_survey(space: ConstrainedProduct) -> Survey:
    """Return the survey of a constrained space, made once; each suggestion is charged its calls."""
    if space.surveyed is None:
        space.surveyed = find_feasible(space)
    charge_once(space, space.surveyed.calls)
    return space.surveyed


def find_feasible(space: ConstrainedProduct) -> Survey:
    """Search for valid points from a fixed seed, within 240,000 calls of predicates.

    space: `Space` with constraints.

    If no valid point is found, up to 10,000 further calls count how many draws satisfy each constraint. Raises
    DomainError if a constraint raises an error.
    """
    rng = np.random.default_rng(0)
    with limit_calls(MAX_SURVEY_CALLS, reserved=0) as limit:
        are_linear = space.linear is not None and len(space.linear.rules) == len(space.constraints)
        uniform = space.sample_freely(LINEAR_DRAWS if are_linear else UNIFORM_DRAWS, rng)
        counts = [count_until_broken(space, uniform)]
        found = uniform[counts[0] == len(space.constraints)]
        uniform_hits = len(found) > 0
        for draw, most in SEARCHES:
            if not len(found):
                found = _draw_until_valid(space, draw, most, rng, counts)
        repairs: list[Repair] = []
        if not len(found) and len(space.constraints) > 1:  # a single constraint gives a repair no direction
            repairs = _repair_starts(space, rng)
            found = np.array([repair.row for repair in repairs if not repair.broken][-1:], dtype=np.int64)
        if not len(found):
            firsts = np.concatenate([variable.fallback() for variable in space.variables.values()])
            given = space.conditions.apply_with_fallbacks(firsts[None].astype(np.int64))
            found = given[valid_mask(space, given)]
        found = found[:N_STARTS].reshape(-1, space.layout.n_columns)
        refusal = "" if len(found) else _describe_failure(space, np.concatenate(counts), repairs, limit)
        return Survey(found, uniform_hits, int(MAX_SURVEY_CALLS - limit.left), refusal)


class Repair(NamedTuple):
    """The best point that a repairing walk has visited."""

    row: IntArray
    broken: list[int]


def _describe_failure(space: ConstrainedProduct, counts: IntArray, repairs: Sequence[Repair], limit: CallLimit) -> str:
    """Describe the searches, how many of the first draws satisfied each constraint, and what the best repair broke."""
    rules, rng = space.constraints, np.random.default_rng(0)
    uniform, tilted = space.sample_freely(UNIFORM_DRAWS, rng), _draw_tilted_points(space, BLOCK, rng)
    rows = [row for pair in zip(uniform, tilted, strict=False) for row in pair]  # in turn, as only some may be used
    points = [space.present(row) for row in rows]
    described = describe_draws(rules, points, lambda point, rule: not find_broken(space, point, [rule]))
    text = f"{np.sum(counts >= 0)} draws{f' and {len(repairs)} repaired points' if repairs else ''}: {described}"
    if repairs:
        best = min(repairs, key=lambda repair: len(repair.broken))
        text += (
            f"; the best repair satisfied {len(rules) - len(best.broken)} of {len(rules)} and broke "
            f"{label_rules(rules, best.broken)}: {short_repr(space.present(best.row), 200)}"
        )
    ended = limit.left < len(rules)
    return text + (f"; the search ended at its limit of {MAX_SURVEY_CALLS} calls of constraints" if ended else "")


def _draw_until_valid(
    space: ConstrainedProduct, draw: Draw, most: int, rng: np.random.Generator, counts: list[IntArray]
) -> IntArray:
    """Draw until enough points are valid; return these, and append to `counts` how many constraints each satisfied."""
    found, n_drawn, limit = space.sample_freely(0, rng), 0, call_limit()
    most = min(most, work_limit(space))
    while len(found) < N_STARTS and not limit.is_reached and n_drawn < (ENOUGH_DRAWS if len(found) else most):
        block = draw(space, BLOCK, rng)
        counts.append(count_until_broken(space, block))
        found = np.concatenate([found, block[counts[-1] == len(space.constraints)]])
        n_drawn += len(block)
    return found


def _draw_tilted_points(space: ConstrainedProduct, m: int, rng: np.random.Generator) -> IntArray:
    """Draw points in which a random part of the variables has its first choice, or its last choice."""
    uniform = space.sample_freely(m, rng)
    last = [v.size - 1 if v.width == 1 else -1 for v in space.variables.values()]
    at, ends = space.layout.starts, np.array(last, dtype=np.int64)
    base = np.where(rng.random((m, 1)) < 0.5, 0, ends)
    tilted = (rng.random((m, space.d)) < rng.random((m, 1))) & (ends >= 0)
    uniform[:, at] = np.where(tilted, base, uniform[:, at])
    return space.conditions.apply_randomly(uniform, rng)


Draw = Callable[[ConstrainedProduct, int, np.random.Generator], IntArray]
SEARCHES: tuple[tuple[Draw, int], ...] = (  # draws, and the most draws of each
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
    """Change one variable at a time, keep changes that satisfy no fewer constraints; return the best point visited."""
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
    """Replace a random share of the variables from tilted draws; keep points that satisfy no fewer constraints.

    Several variables change at once, which a constraint on their sum may need.
    """
    best, limit, rules = start, call_limit(), space.constraints
    kept = rng.random((steps, space.d)) < rng.random((steps, 1))
    columns = np.repeat(kept, [v.width for v in space.variables.values()], axis=1)
    for draw, keeps in zip(_draw_tilted_points(space, steps, rng), columns, strict=True):
        if not best.broken or limit.left < len(rules):
            break
        row = space.conditions.apply_randomly(np.where(keeps, best.row, draw)[None], rng)[0]
        broken = find_broken(space, space.present(row), rules)
        best = Repair(row, broken) if len(broken) <= len(best.broken) else best
    return best


def _change(
    space: ConstrainedProduct, row: IntArray, point: dict[str, Any], i: int, columns: list[int]
) -> tuple[IntArray, dict[str, Any]]:
    """Return a point, in both forms, with one variable at another value; unchanged if the variable is inactive."""
    own = space.layout.columns(i)
    if row[own.start] == INACTIVE:
        return row, point
    changed = row.copy()
    changed[own] = columns
    if space.conditions:
        space.conditions.apply_with_fallbacks(changed[None])
        return changed, space.present(changed)
    name = list(space.variables)[i]
    return changed, point | {name: space.variables[name].present(columns)}


def _draw_values(variables: Sequence[Variable], which: IntArray, rng: np.random.Generator) -> list[list[int]]:
    """Draw a value of each variable in `which`, in one call for all single choices."""
    singles = rng.integers(0, np.array([v.size if v.width == 1 else 1 for v in variables])[which])
    return [
        [single] if variables[i].width == 1 else variables[i].sample(1, rng)[0].tolist()
        for i, single in zip(which.tolist(), singles.tolist(), strict=True)
    ]


def draw_listed(
    spaces: Sequence[Mapping[str, Variable]], rows: Sequence[IntArray], m: int, rng: np.random.Generator
) -> IntArray:
    """Draw positions in a list of points, with the probabilities that unconstrained draws give these points (m,).

    If no variable has conditions, and each draws its values equally often, all points have the same probability.

    spaces: the variables of each space.
    rows: for each space, the rows of the n points (n, columns), n at least 1.
    m: int >= 0.
    rng: random number generator.
    """
    if all(one.is_even and not one.when for space in spaces for one in space.values()):
        return rng.integers(len(rows[0]), size=m)
    probabilities = np.prod([_point_chances(space, own) for space, own in zip(spaces, rows, strict=True)], axis=0)
    return rng.choice(len(rows[0]), size=m, p=probabilities / np.sum(probabilities))


def _point_chances(space: Mapping[str, Variable], rows: IntArray) -> Array:
    probabilities = np.ones(len(rows))
    layout = Layout(tuple(one.width for one in space.values()))
    for i, variable in enumerate(space.values()):
        own = rows[:, layout.columns(i)]
        has = own[:, 0] != INACTIVE
        probabilities[has] *= variable.chances(own[has])
    return probabilities


SWAP = 0
Proposal = tuple[int, list[int], list[float]]  # how many variables, which ones, and uniform numbers
PROPOSALS = (1, 2, 3, SWAP, SWAP)  # how many variables the walk changes; swaps keep sums and permutations valid


def random_walk(
    space: ConstrainedProduct, x: IntArray, steps: int, rng: np.random.Generator, max_moves: float = math.inf
) -> tuple[IntArray, int]:
    """Walk at random over valid points from x; return the last point and the number of moves.

    x: integer row (d,), valid.

    The walk ends early if the limit of calls is reached. Its stationary distribution is that of the variables' moves,
    on the valid points that the moves connect: uniform, except that the lengths of sequences and the sizes of subsets
    have equal probabilities. Variables that a proposal activates are drawn, so that branches have their probabilities.
    """
    names, variables, row = list(space.variables), list(space.variables.values()), space.layout.split(x)
    point, moves, limit = space.present(x), 0, call_limit()
    proposals = zip(
        rng.choice(PROPOSALS, size=steps).tolist(),
        rng.integers(space.d, size=(steps, 3)).tolist(),
        rng.random((steps, 3)).tolist(),
        strict=True,
    )
    if space.conditions:
        return _walk_under_conditions(space, np.array(x), proposals, rng, max_moves)
    for kind, which, uniforms in proposals:
        if moves >= max_moves or limit.is_reached:
            break
        changed = _propose(row, variables, kind, which, uniforms)
        values = {names[i]: variables[i].present(own) for i, own in changed.items() if own != row[i]}
        if values and satisfies_all(space, point | values):
            point.update(values)
            moves += 1
            for i, own in changed.items():
                row[i] = list(own)
    return np.array([column for own in row for column in own], dtype=np.int64), moves


def _walk_under_conditions(
    space: ConstrainedProduct, x: IntArray, proposals: Iterable[Proposal], rng: np.random.Generator, max_moves: float
) -> tuple[IntArray, int]:
    """Walk as `random_walk` does in a space in which a change may activate or deactivate other variables."""
    variables, moves, limit = list(space.variables.values()), 0, call_limit()
    for kind, which, uniforms in proposals:
        if moves >= max_moves or limit.is_reached:
            break
        split = space.layout.split(x)
        changed = _propose(split, variables, kind, [i for i in which if split[i][0] != INACTIVE], uniforms)
        row = x.copy()
        for i, own in changed.items():
            row[space.layout.columns(i)] = own
        space.conditions.apply_randomly(row[None], rng)
        if not np.array_equal(row, x) and satisfies_all(space, space.present(row)):
            x, moves = row, moves + 1
    return x, moves


def find_unseen_nearby(space: ConstrainedProduct, x: IntArray, seen: AbstractSet[Hashable]) -> IntArray | None:
    """Find an unseen valid point, connected to x over valid points by changes of one variable and swaps of two.

    x: integer row (d,), valid.

    The search is breadth-first; None if all connected points were seen, or a limit of work or calls is reached.
    """
    queue = deque([x])
    known = set(space.keys(x[None]))
    if not known & seen:
        return x
    left, limit = work_limit(space), call_limit()
    while queue and not limit.is_reached:
        around = _changes_and_swaps(space, queue.popleft())
        left -= len(around)
        for near, key in zip(around, space.keys(around), strict=True):
            if key in known:
                continue
            known.add(key)
            if not valid_mask(space, near[None])[0]:
                continue
            if key not in seen:
                return near
            queue.append(near)
        if left <= 0:
            return None
    return None


def _other_values(variable: Variable, columns: Sequence[int]) -> IntArray:
    """Return all other values of a variable, or only its neighbors if there are too many values (k, width)."""
    if columns[0] == INACTIVE:
        return np.empty((0, variable.width), dtype=np.int64)
    if variable.width > 1 or variable.size > MAX_CHOICES:
        return variable.neighbors(columns)
    return np.delete(variable.enumerate(), columns[0], axis=0)


def _changes_and_swaps(space: ConstrainedProduct, row: IntArray) -> IntArray:
    """List every other value of each variable, and every swap of two variables that can take each other's choice.

    Constraints are not checked.
    """
    split = space.layout.split(row)
    others = [_other_values(v, own) for v, own in zip(space.variables.values(), split, strict=True)]
    which = np.repeat(np.arange(space.d), [len(o) for o in others])
    of = np.zeros(len(which), dtype=np.int64)
    changed = SingleChanges(row[None], of, which, pad_columns(others), space.layout).rows()
    single = [i for i, v in enumerate(space.variables.values()) if v.width == 1 and split[i][0] != INACTIVE]
    at, sizes = space.layout.starts[single], np.array([v.size for v in space.variables.values()])[single]
    first, second = np.triu_indices(len(single), 1)
    mine, other = row[at[first]], row[at[second]]
    fits = (other < sizes[first]) & (mine < sizes[second]) & (mine != other)
    first, second = at[first[fits]], at[second[fits]]
    swapped = np.repeat(row[None], len(first), axis=0)
    swapped[np.arange(len(first)), first] = row[second]
    swapped[np.arange(len(first)), second] = row[first]
    return space.conditions.apply_with_fallbacks(np.concatenate([changed, swapped]))


def _propose(
    row: list[list[int]], variables: list[Variable], kind: int, which: list[int], uniforms: list[float]
) -> dict[int, Sequence[int]]:
    """Move `kind` variables to other values, or swap the choices of two variables if both have them."""
    if kind == SWAP and len(which) < 2:
        return {}
    if kind == SWAP:
        a, b = which[:2]
        single = variables[a].width == variables[b].width == 1
        fits = single and row[b][0] < variables[a].size and row[a][0] < variables[b].size
        return {a: row[b], b: row[a]} if fits else {}
    pairs = zip(which[:kind], uniforms, strict=False)
    return {i: variables[i].move(row[i], u) for i, u in pairs}


def sample_unseen(
    space: ConstrainedProduct, sample: Sample, seen: AbstractSet[Hashable], rng: np.random.Generator
) -> IntArray:
    """Draw a valid point (columns,) whose key is not in `seen`.

    rng: random number generator.

    Raises SpaceExhausted if no such point is left, or none is found.
    """
    known_only_by_history = seen and space.constraints and not space.enumerable and not len(find_survey(space).points)
    if known_only_by_history:
        known = sorted(space.from_keys(seen), key=lambda row: row.tobytes())[rng.integers(len(seen))]
        x = find_unseen_nearby(space, known, seen)
    elif (x := draw_unseen(sample, space.keys, seen, rng)) is None and space.enumerable:
        return _sample_unseen_from_list(space, seen, rng)
    elif x is None:
        start = sample(1, rng)[0]
        is_simple = space.layout.is_simple and not space.constraints and not space.conditions
        x = _first_unseen(space, start, seen) if is_simple else find_unseen_nearby(space, start, seen)
    if x is None:
        tried = "from a seen point" if known_only_by_history else f"in up to {DRAWS_UNSEEN} draws and from one of them"
        ended = "the limit of calls of constraints ended the search, " if call_limit().is_reached else ""
        raise SpaceExhausted(
            f"no unseen valid point was found {tried} by changing a variable or swapping two; {len(seen)} were seen; "
            f"{ended}more may exist"
        )
    return x


def _sample_unseen_from_list(
    space: ConstrainedProduct, seen: AbstractSet[Hashable], rng: np.random.Generator
) -> IntArray:
    every = space.enumerate()
    left = [row for row, key in enumerate(space.keys(every)) if key not in seen]
    if not left:
        points = "the only point" if len(every) == 1 else f"all {len(every)} points"
        raise SpaceExhausted(f"{points} of the space {'has' if len(every) == 1 else 'have'} been seen")
    return every[left[int(draw_listed([space.variables], [every[left]], 1, rng)[0])]].copy()


def _first_unseen(space: ConstrainedProduct, x: IntArray, seen: AbstractSet[Hashable]) -> IntArray | None:
    """Return the first unseen point from x on; among one more point than were seen, at least one is unseen."""
    for _ in range(min(len(seen) + 1, space.n_points)):
        if space.keys(x[None])[0] not in seen:
            return x
        for i in reversed(range(space.d)):  # the next point, the last variable fastest
            x[i] = (x[i] + 1) % space.n_choices[i]
            if x[i]:
                break
    return None


REJECTION_DRAWS = 20_000  # the most draws if too few are valid
N_CHAINS = 20
MIN_STEPS = 20  # steps of a walk between independent draws; d / 2 in large spaces
MAX_WALK_CALLS = 60_000
MIN_GAP = 5  # steps between two points of one chain if few steps are left


def sample_satisfying(space: ConstrainedProduct, m: int, rng: np.random.Generator) -> IntArray:
    """Draw m points that satisfy every constraint -> (m, columns).

    m: int >= 0.

    If at least one draw in 20 (in d / 2 for large spaces) is valid, or if the space can be enumerated (`draw_listed`),
    the points are independent, each variable uniform on its scale given its parents. Otherwise they are dependent draws
    of walks, and some are repeated if 60,000 calls of predicates reach fewer than m. Raises DomainError if no valid
    point is found.
    """
    found = sample_distinct(space, m, np.empty((0, space.layout.n_columns), dtype=np.int64), rng)
    return found if len(found) == m else found[rng.permutation(np.resize(np.arange(len(found)), m))]


def sample_distinct(space: ConstrainedProduct, m: int, starts: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw points as `sample_satisfying` does, but fewer, at least one, if walks would repeat points.

    m: int >= 0.
    starts: valid points to walk from, integer rows (k, columns).

    Raises DomainError if no valid point is found.
    """
    thin = max(MIN_STEPS, space.d // 2)
    with limit_search():
        found = _rejection_sample(space, m, thin, rng)
        if len(found) >= m:
            return found[:m]
        if space.enumerable:
            return np.concatenate([found, _sample_from_all(space, m - len(found), rng)])
        survey = find_survey(space)
        known = np.concatenate([found, starts[:N_CHAINS], survey.points])
        if not len(known):
            raise DomainError(
                f"constraints: no valid point was found in {survey.refusal}; give initial_points= that satisfy "
                "them, loosen them, or split them into smaller predicates; give an equality of numbers a tolerance, or "
                "compute one number from the others in the objective"
            )
        rows = np.concatenate([found, _walk_from(space, known, m - len(found), thin, rng)])
        return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]


def _rejection_draws(space: ConstrainedProduct) -> int:
    """Return the most uniform draws to try if none is valid: 0 if the survey found no valid point by them."""
    if not space.enumerable and not find_survey(space).uniform_hits:
        return 0
    return min(REJECTION_DRAWS, work_limit(space), space.n_points)


def _rejection_sample(space: ConstrainedProduct, m: int, rate: int, rng: np.random.Generator) -> IntArray:
    """Draw up to m valid points by rejection, up to a limit of draws or while one in `rate` is valid."""
    found = [np.empty((0, space.layout.n_columns), dtype=np.int64)]
    n_found = n_drawn = 0
    limit, calls = _rejection_draws(space), call_limit()
    while n_found < m and (n_drawn < limit or 0 < n_drawn <= n_found * rate) and not calls.is_reached:
        block = space.sample_freely(max(64, min(m - n_found, 4096)), rng)
        kept = block[valid_mask(space, block)]
        n_drawn += len(block)
        n_found += len(kept)
        found.append(kept)
    return np.concatenate(found)


def _sample_from_all(space: ConstrainedProduct, m: int, rng: np.random.Generator) -> IntArray:
    every = space.enumerate()
    if not len(every):
        rules = label_rules(space.constraints, range(len(space.constraints)))
        few = "all of " if len(space.constraints) > 1 else ""
        raise DomainError(f"constraints: none of the {space.n_points} points satisfies {few}{rules:.200}")
    return every[draw_listed([space.variables], [every], m, rng)]


def _walk_from(space: ConstrainedProduct, starts: IntArray, m: int, thin: int, rng: np.random.Generator) -> IntArray:
    """Walk from several valid points at once; return up to m points, as far apart as the remaining calls allow.

    starts: integer rows (k, columns), k at least 1.

    Returns at least one point, and no point twice.
    """
    limit = call_limit()
    steps = int(min(limit.left - limit.reserved, MAX_WALK_CALLS)) // len(space.constraints)
    n_chains = min(m, N_CHAINS)
    chains = [starts[i] for i in np.resize(rng.permutation(len(starts)), n_chains)]
    burn_in = min(10 * thin, max(0, steps) // (2 * n_chains))
    gap = max(MIN_GAP, min(thin, (steps - burn_in * n_chains) // m))
    n_rounds = max(1, min(-(-m // n_chains), (steps - burn_in * n_chains) // (gap * n_chains)))
    found: dict[bytes, IntArray] = {}
    for n_steps in [burn_in, *[gap] * (n_rounds - 1)]:
        chains = [random_walk(space, x, n_steps, rng)[0] for x in chains]
        found |= {x.tobytes(): x for x in chains}
    return np.array(list(found.values())[:m], dtype=np.int64)
