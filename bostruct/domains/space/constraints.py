"""Count the known constraints of a space that hold at a point, and draw points for which all do.

Constraints are opaque predicates, so drawing goes from exact to hopeful: uniform draws; draws tilted towards a constant
point, which meet budgets and cardinalities; walks that repair one constraint after another; and from what was found, a
random walk over valid points with a uniform stationary law.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bostruct.checks import short_repr
from bostruct.contracts import DomainError, IntArray
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.single_changes import Layout, SingleChanges, pad_columns
from bostruct.domains.space.variable import Variable

Constraint = Callable[[dict[str, Any]], bool]

REJECTION_DRAWS = 20_000  # of each kind before it is given up
REPAIRS = 20
REPAIR_STEPS = 2_000
WORK = 5_000_000  # most variables looked at by one kind of search, so that refusing takes a second or two
REPAIR_NOISE = 0.1  # share of repairing steps to a random neighbor, which lets a walk out of local minima (WalkSAT)
SWAP = 0
PROPOSALS = (1, 2, 3, SWAP, SWAP)  # how many variables the walk changes; swaps keep sums and permutations valid


class ConstrainedProduct(Protocol):
    """The view of a `Space` that drawing under constraints needs: variables, predicates, and points in both forms."""

    @property
    def variables(self) -> Mapping[str, Variable]: ...
    @property
    def constraints(self) -> Sequence[Constraint]: ...
    @property
    def d(self) -> int: ...
    @property
    def n_choices(self) -> IntArray: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def n_points(self) -> int: ...
    @property
    def enumerable(self) -> bool: ...
    @property
    def positions(self) -> Mapping[str, int]: ...
    def enumerate(self) -> IntArray: ...
    def sample_freely(self, m: int, rng: np.random.Generator) -> IntArray: ...
    def present(self, x: IntArray) -> dict[str, Any]: ...
    def keys(self, batch: IntArray) -> list[Hashable]: ...


def count_satisfied_rules(space: ConstrainedProduct, xs: IntArray, rules: Sequence[Constraint]) -> IntArray:
    """Count the rules that hold at each point -> (m,); raises DomainError where one itself fails.

    space: `Space`.
    xs: integer rows (m, d).
    rules: predicates of a point as a dict of the user's values.
    """
    return np.array([_count_at_point(rules, point) for point in _present_rows(space, xs)], dtype=np.int64)


def valid_mask(space: ConstrainedProduct, xs: IntArray) -> npt.NDArray[np.bool_]:
    """Tell for each point whether all constraints hold -> (m,) of bool; raises DomainError where one itself fails.

    space: `Space`.
    xs: integer rows (m, d).
    """
    return np.array([satisfies_all(space, point) for point in _present_rows(space, xs)], dtype=bool)


def sample_satisfying(space: ConstrainedProduct, m: int, rng: np.random.Generator) -> IntArray:
    """Draw m points that satisfy every constraint -> (m, d).

    space: `Space`.
    m: int >= 0.
    rng: `numpy.random.Generator`.

    Uniform and independent where at least one draw in 20 (in d / 2 for large spaces) is valid, or where the space can
    be enumerated; elsewhere dependent draws of a walk. Raises DomainError where no valid point is found.
    """
    thin = max(20, space.d // 2)
    found = _rejection_sample(space, m, thin, lambda size: space.sample_freely(size, rng))
    if len(found) >= m:
        return found[:m]
    if space.enumerable:
        return np.concatenate([found, _sample_from_all(space, m - len(found), rng)])
    if not len(found):
        found = random_walk(space, _find_valid_point(space, rng), 10 * thin, rng)[0][None]
    points = list(found)
    for i in range(m - len(found)):
        points.append(random_walk(space, points[i], thin, rng)[0])
    return np.array(points, dtype=np.int64)


def random_walk(
    space: ConstrainedProduct, x: IntArray, steps: int, rng: np.random.Generator, max_moves: float = math.inf
) -> tuple[IntArray, int]:
    """Walk at random over valid points from x, and return where the walk ends and how often it moved.

    space: `Space`.
    x: integer row (d,), valid.
    steps: int, proposals.
    rng: `numpy.random.Generator`.
    max_moves: the walk stops after as many moves.

    Its proposals are symmetric, hence its stationary law uniform over the valid points that they connect.
    """
    names, variables, row = list(space.variables), list(space.variables.values()), space.layout.split(x)
    point, moves = space.present(x), 0
    proposals = zip(
        rng.choice(PROPOSALS, size=steps).tolist(),
        rng.integers(space.d, size=(steps, 3)).tolist(),
        rng.random((steps, 3)).tolist(),
        strict=True,
    )
    for kind, which, uniforms in proposals:
        if moves >= max_moves:
            break
        changed = _propose(row, variables, kind, which, uniforms)
        values = {names[i]: variables[i].present(own) for i, own in changed.items() if own != row[i]}
        if values and satisfies_all(space, point | values):
            point.update(values)
            moves += 1
            for i, own in changed.items():
                row[i] = list(own)
    return np.array([column for own in row for column in own], dtype=np.int64), moves


def find_unseen_nearby(space: ConstrainedProduct, x: IntArray, seen: AbstractSet[Hashable]) -> IntArray | None:
    """Find an unseen valid point that changes of one variable, and swaps of two, lead to from x over valid points.

    space: `Space`.
    x: integer row (d,), valid.
    seen: frozenset of keys.

    The search is breadth-first; None where all that is connected was seen, or the limit of work is reached.
    """
    queue = deque([x])
    known = set(space.keys(x[None]))
    if not known & seen:
        return x
    left = _work_limit(space, WORK)
    while queue:
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
    """Return all other values of a variable, or those next to one where they are too many (k, width)."""
    if variable.width > 1 or variable.size > MAX_CHOICES:
        return variable.neighbors(columns)
    return np.delete(variable.enumerate(), columns[0], axis=0)


def _changes_and_swaps(space: ConstrainedProduct, row: IntArray) -> IntArray:
    """List every other value of each variable, and every swap of two variables that can take each other's choice.

    Constraints may forbid some of them.
    """
    split = space.layout.split(row)
    others = [_other_values(v, own) for v, own in zip(space.variables.values(), split, strict=True)]
    which = np.repeat(np.arange(space.d), [len(o) for o in others])
    of = np.zeros(len(which), dtype=np.int64)
    changed = SingleChanges(row[None], of, which, pad_columns(others), space.layout).rows()
    single = [i for i, v in enumerate(space.variables.values()) if v.width == 1]
    at, sizes = space.layout.starts[single], np.array([v.size for v in space.variables.values()])[single]
    first, second = np.triu_indices(len(single), 1)
    mine, other = row[at[first]], row[at[second]]
    fits = (other < sizes[first]) & (mine < sizes[second]) & (mine != other)
    first, second = at[first[fits]], at[second[fits]]
    swapped = np.repeat(row[None], len(first), axis=0)
    swapped[np.arange(len(first)), first] = row[second]
    swapped[np.arange(len(first)), second] = row[first]
    return np.concatenate([changed, swapped])


def _propose(
    row: list[list[int]], variables: list[Variable], kind: int, which: list[int], uniforms: list[float]
) -> dict[int, Sequence[int]]:
    """Move `kind` variables to other values, or swap the choices of two variables where both have them."""
    if kind == SWAP:
        a, b, _ = which
        single = variables[a].width == variables[b].width == 1
        fits = single and row[b][0] < variables[a].size and row[a][0] < variables[b].size
        return {a: row[b], b: row[a]} if fits else {}
    pairs = zip(which[:kind], uniforms, strict=False)
    return {i: variables[i].move(row[i], u) for i, u in pairs}


def _sample_from_all(space: ConstrainedProduct, m: int, rng: np.random.Generator) -> IntArray:
    every = space.enumerate()
    if not len(every):
        names = ", ".join(rule_name(c) for c in space.constraints)
        raise DomainError(f"constraints: none of the {space.n_points} points satisfies all of {short_repr(names, 200)}")
    return every[rng.integers(len(every), size=m)]


def _rejection_sample(space: ConstrainedProduct, m: int, rate: int, draw: Callable[[int], IntArray]) -> IntArray:
    """Draw up to m valid points by rejection, which goes on while it is cheap or one in `rate` is valid."""
    found = [np.empty((0, space.layout.n_columns), dtype=np.int64)]
    n_found = n_drawn = 0
    limit = min(_work_limit(space, REJECTION_DRAWS), space.n_points)
    while n_found < m and (n_drawn < limit or n_found * rate >= n_drawn):
        block = draw(max(64, min(m - n_found, 4096)))
        kept = block[valid_mask(space, block)]
        n_drawn += len(block)
        n_found += len(kept)
        found.append(kept)
    return np.concatenate(found)


def _find_valid_point(space: ConstrainedProduct, rng: np.random.Generator) -> IntArray:
    """Find one valid point where uniform draws found none."""
    tilted = _rejection_sample(space, 1, 1, lambda size: _draw_tilted_points(space, size, rng))
    if len(tilted):
        return tilted[0]
    tried = f"{_work_limit(space, REJECTION_DRAWS)} uniform and as many tilted draws"
    if len(space.constraints) > 1:  # a single one gives a repair no direction
        steps = max(1, _work_limit(space, REPAIRS * REPAIR_STEPS) // REPAIRS)
        repaired = (_repair(space, start, steps, rng) for start in _draw_tilted_points(space, REPAIRS, rng))
        most = 0
        for x, held in repaired:
            if held == len(space.constraints):
                return x
            most = max(most, held)
        tried += f" and {REPAIRS} repairs (the best of which satisfied {most})"
    raise DomainError(
        f"constraints: no point that satisfies all {len(space.constraints)} was found in {tried}; loosen them, or "
        "split them into smaller predicates"
    )


def _draw_tilted_points(space: ConstrainedProduct, m: int, rng: np.random.Generator) -> IntArray:
    """Draw points that share a random part of their variables with the first, or the last, choice of each."""
    uniform = space.sample_freely(m, rng)
    last = [v.size - 1 if v.width == 1 else -1 for v in space.variables.values()]
    at, ends = space.layout.starts, np.array(last, dtype=np.int64)
    base = np.where(rng.random((m, 1)) < 0.5, 0, ends)
    tilted = (rng.random((m, space.d)) < rng.random((m, 1))) & (ends >= 0)
    uniform[:, at] = np.where(tilted, base, uniform[:, at])
    return uniform


def _repair(space: ConstrainedProduct, x: IntArray, steps: int, rng: np.random.Generator) -> tuple[IntArray, int]:
    """Change one variable at a time, keeping what satisfies no fewer constraints.

    Returns the point, and how many constraints hold.
    """
    point, row, names, target = space.present(x), x.copy(), list(space.variables), len(space.constraints)
    held = _count_at_point(space.constraints, point.copy())
    which = rng.integers(space.d, size=steps)
    variables = list(space.variables.values())
    draws = _draw_values(variables, which, rng)
    noise = rng.random(steps) < REPAIR_NOISE
    for i, columns, anyway in zip(which.tolist(), draws, noise.tolist(), strict=True):
        if held == target:
            break
        changed = point | {names[i]: variables[i].present(columns)}
        now = _count_at_point(space.constraints, changed.copy())
        if now >= held or anyway:
            point, held = changed, now
            row[space.layout.columns(i)] = columns
    return row, held


def _draw_values(variables: Sequence[Variable], which: IntArray, rng: np.random.Generator) -> list[list[int]]:
    """Draw a value of each of some variables, in one call for those that are single choices."""
    singles = rng.integers(0, np.array([v.size if v.width == 1 else 1 for v in variables])[which])
    return [
        [single] if variables[i].width == 1 else variables[i].sample(1, rng)[0].tolist()
        for i, single in zip(which.tolist(), singles.tolist(), strict=True)
    ]


def _work_limit(space: ConstrainedProduct, most: int) -> int:
    return min(most, WORK // (space.d + 5 * len(space.constraints)))


def _present_rows(space: ConstrainedProduct, xs: IntArray) -> Iterator[dict[str, Any]]:
    variables = space.variables
    if all(isinstance(v, ChoiceVariable) and not v.has_mutable_choices for v in variables.values()):
        choices = [(name, v.choices) for name, v in variables.items() if isinstance(v, ChoiceVariable)]
        for row in np.asarray(xs).tolist():
            yield {name: own[vertex] for (name, own), vertex in zip(choices, row, strict=True)}
        return
    for row in np.asarray(xs):
        yield {name: v.present(own) for (name, v), own in zip(variables.items(), space.layout.split(row), strict=True)}


def satisfies_all(space: ConstrainedProduct, point: dict[str, Any]) -> bool:
    """Tell whether all constraints hold at a point; raises DomainError where one itself fails.

    space: `Space`.
    point: dict of the user's values.
    """
    return all(_satisfies(constraint, point) for constraint in space.constraints)


def _count_at_point(rules: Sequence[Constraint], point: dict[str, Any]) -> int:
    return sum(_satisfies(rule, point) for rule in rules)


def _satisfies(constraint: Constraint, point: dict[str, Any]) -> bool:
    try:
        return bool(constraint(point))
    except Exception as error:
        raise DomainError(
            f"constraint {rule_name(constraint)} failed on {short_repr(point, 200)}: {error!r}"
        ) from error


def rule_name(constraint: Constraint) -> str:
    """Return what errors call a constraint: its name, or its repr where it has none.

    constraint: a predicate of a point.
    """
    return getattr(constraint, "__name__", repr(constraint))
