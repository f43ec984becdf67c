"""Walk from valid point to valid point of a constrained space: at random, or breadth-first to an unseen one."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from bostruct.contracts import IntArray
from bostruct.domains.space.call_limit import call_limit
from bostruct.domains.space.constraints import ConstrainedProduct, satisfies_all, valid_mask, work_limit
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.single_changes import SingleChanges, pad_columns
from bostruct.domains.space.variable import ABSENT, Variable

SWAP = 0
Proposal = tuple[int, list[int], list[float]]  # how many variables, which ones, and uniform numbers
PROPOSALS = (1, 2, 3, SWAP, SWAP)  # how many variables the walk changes; swaps keep sums and permutations valid


def random_walk(
    space: ConstrainedProduct, x: IntArray, steps: int, rng: np.random.Generator, max_moves: float = math.inf
) -> tuple[IntArray, int]:
    """Walk at random over valid points from x, and return where the walk ends and how often it moved.

    space: `Space`.
    x: integer row (d,), valid.
    steps: int, proposals.
    rng: `numpy.random.Generator`.
    max_moves: the walk stops after as many moves.

    It ends early where the limit of calls is reached. Its stationary law is that of the variables' moves, on the valid
    points that they connect: uniform, but even over the lengths of sequences and the sizes of subsets. Under
    conditions, variables that a proposal makes exist are drawn anew, so that branches have their chances.
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
    """Walk as `random_walk` does, where a change may make other variables exist or not."""
    variables, moves, limit = list(space.variables.values()), 0, call_limit()
    for kind, which, uniforms in proposals:
        if moves >= max_moves or limit.is_reached:
            break
        split = space.layout.split(x)
        changed = _propose(split, variables, kind, [i for i in which if split[i][0] != ABSENT], uniforms)
        row = x.copy()
        for i, own in changed.items():
            row[space.layout.columns(i)] = own
        space.conditions.settle_randomly(row[None], rng)
        if not np.array_equal(row, x) and satisfies_all(space, space.present(row)):
            x, moves = row, moves + 1
    return x, moves


def find_unseen_nearby(space: ConstrainedProduct, x: IntArray, seen: AbstractSet[Hashable]) -> IntArray | None:
    """Find an unseen valid point that changes of one variable, and swaps of two, lead to from x over valid points.

    space: `Space`.
    x: integer row (d,), valid.
    seen: frozenset of keys.

    The search is breadth-first; None where all that is connected was seen, or a limit of work or calls is reached.
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
    """Return all other values of a variable, or those next to one where they are too many (k, width)."""
    if columns[0] == ABSENT:
        return np.empty((0, variable.width), dtype=np.int64)
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
    single = [i for i, v in enumerate(space.variables.values()) if v.width == 1 and split[i][0] != ABSENT]
    at, sizes = space.layout.starts[single], np.array([v.size for v in space.variables.values()])[single]
    first, second = np.triu_indices(len(single), 1)
    mine, other = row[at[first]], row[at[second]]
    fits = (other < sizes[first]) & (mine < sizes[second]) & (mine != other)
    first, second = at[first[fits]], at[second[fits]]
    swapped = np.repeat(row[None], len(first), axis=0)
    swapped[np.arange(len(first)), first] = row[second]
    swapped[np.arange(len(first)), second] = row[first]
    return space.conditions.settle_simply(np.concatenate([changed, swapped]))


def _propose(
    row: list[list[int]], variables: list[Variable], kind: int, which: list[int], uniforms: list[float]
) -> dict[int, Sequence[int]]:
    """Move `kind` variables to other values, or swap the choices of two variables where both have them."""
    if kind == SWAP and len(which) < 2:
        return {}
    if kind == SWAP:
        a, b = which[:2]
        single = variables[a].width == variables[b].width == 1
        fits = single and row[b][0] < variables[a].size and row[a][0] < variables[b].size
        return {a: row[b], b: row[a]} if fits else {}
    pairs = zip(which[:kind], uniforms, strict=False)
    return {i: variables[i].move(row[i], u) for i, u in pairs}
