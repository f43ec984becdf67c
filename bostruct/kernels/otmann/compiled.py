"""Exact transport between the layers of many pairs of architectures, compiled.

Each block of labels of a pair is a small unbalanced transportation problem: ship mass from rows to columns, at most the
mass that each has, at a cost of (mismatch + nu * structure - 2) per unit. Mass that is not shipped costs nothing beyond
the constant cost of each unmatched unit. Pairs that would cost 0 or more are never matched. The structural weights nu
are processed from the largest to the smallest. Costs then decrease, so the solution at one weight is a start for the
next, which needs only a few more steps.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import njit

from bostruct.contracts import Array, IntArray
from bostruct.kernels.loops import announce_compilation
from bostruct.kernels.otmann.network_simplex import FLOW, JIT, PARENT, allocate_workspace, solve, start_unmatched

StackedProfiles: TypeAlias = tuple[IntArray, IntArray, Array, Array, IntArray]  # starts, labels, masses, paths, codes
CostArrays: TypeAlias = tuple[Array, Array, Array, IntArray]  # as `distances` lists them
Memory: TypeAlias = tuple[Any, ...]  # arrays, as `allocate_memory` lists them


def allocate_memory(size: int) -> Memory:
    """Allocate memory for blocks of up to `size` by `size` layers, uninitialized.

    It is the label cost minus 2 of each pair of layers, the structural cost of each pair, and a `Workspace`.
    """
    workspace = allocate_workspace(size)
    return np.empty((size, size)), np.empty((size, workspace.cost.shape[1])), *workspace


@njit(inline="always")
def _set_pair_costs(first, low, high, second, low2, high2, costs, base, structure):
    """Set label cost minus 2, and structural cost, of each pair of layers of one block."""
    _, labels, _, paths, codes = first
    _, labels2, masses2, paths2, codes2 = second
    _, table, extra, _ = costs
    low, low2 = np.uint64(low), np.uint64(low2)  # indices that may be negative are checked, and not vectorized
    a, b = np.uint64(high) - low, np.uint64(high2) - low2
    wide = min((b + np.uint64(3)) & ~np.uint64(3), np.uint64(len(labels2)) - low2)  # whole vectors of 4
    for i in range(a):
        for j in range(wide):
            structure[i, j] = 0.0
        for j in range(b):
            base[i, j] = np.inf if masses2[low2 + j] == 0.0 else table[labels[low + i], labels2[low2 + j]] - 2.0
    for q in range(len(extra)):
        for i in range(a):
            for j in range(b):
                if codes[low + i, q] != codes2[low2 + j, q]:
                    base[i, j] += extra[q]
    for k in range(0, len(paths), 6):  # six kinds of paths at once
        for i in range(a):
            x, y, z = paths[k, low + i], paths[k + 1, low + i], paths[k + 2, low + i]
            u, v, w = paths[k + 3, low + i], paths[k + 4, low + i], paths[k + 5, low + i]
            for j in range(wide):
                far = structure[i, j] + abs(x - paths2[k, low2 + j]) + abs(y - paths2[k + 1, low2 + j])
                far = far + abs(z - paths2[k + 2, low2 + j]) + abs(u - paths2[k + 3, low2 + j])
                structure[i, j] = far + abs(v - paths2[k + 4, low2 + j]) + abs(w - paths2[k + 5, low2 + j])


@njit(inline="always")
def _set_total_costs(a, b, base, structure, weight, cost):
    """Set the cost of each pair at one weight, infinite if the pair is never matched, and of the arcs to the root."""
    for i in range(a):
        cost[i, 0] = 0.0
        for j in range(b):
            total = base[i, j] + weight * structure[i, j]
            cost[i, 1 + j] = total if total < 0.0 else np.inf


@njit(**JIT)
def distances(
    first: StackedProfiles, second: StackedProfiles, costs: CostArrays, memory: Memory, symmetric: bool, out: Array
) -> None:
    """Fill out with the distances of all pairs, and with the distances over the total mass of both.

    It has loops alone: array expressions take longer to compile.

    first, second: stacked profiles of n and m architectures: (starts (n, blocks + 1), labels (l,), masses (l,),
        paths (k, l), k a multiple of 6, codes (l, q)).
    costs: (weights (w,), mismatch (labels, labels), costs of attributes (q,), positions of the weights from the largest
        to the smallest (w,)).
    memory: the result of `allocate_memory` for the largest block.
    out: zeros (2, n, m, weights).
    """
    (starts, _, masses, _, _), (starts2, _, masses2, _, _), (weights, _, _, order) = first, second, costs
    base, structure, cost, cost_lanes, links, values, value_lanes = memory
    for i in range(len(starts)):
        for j in range(i + 1 if symmetric else 0, len(starts2)):
            total, found = 0.0, out[0, i, j]
            for block in range(starts.shape[1] - 1):
                low, high = starts[i, block], starts[i, block + 1]
                low2, high2 = starts2[j, block], starts2[j, block + 1]
                mass = mass2 = 0.0
                for k in range(low, high):
                    mass += masses[k]
                for k in range(low2, high2):
                    mass2 += masses2[k]
                total += mass + mass2
                for w in range(len(found)):
                    found[w] += mass + mass2
                if low == high or low2 == high2:
                    continue
                light, heavy = first, second
                if mass > mass2:  # shipping the lighter side takes half the time, because all of its mass fits
                    light, low, high, heavy, low2, high2 = second, low2, high2, first, low, high
                a, b, supply, demand = high - low, high2 - low2, light[2][low:high], heavy[2][low2:high2]
                _set_pair_costs(light, low, high, heavy, low2, high2, costs, base, structure)
                if a * b == 1:
                    for w in range(len(found)):
                        found[w] += min(base[0, 0] + weights[w] * structure[0, 0], 0.0) * min(supply[0], demand[0])
                    continue
                start_unmatched(supply, demand, cost, links, values)
                for w in order:
                    _set_total_costs(a, b, base, structure, weights[w], cost)
                    found[w] += solve(a, b, cost, cost_lanes, links, values, value_lanes)
            for w in range(len(found)):
                found[w] = max(found[w], 0.0)  # if all mass matches, rounding leaves about 1e-16 of it, of either sign
                out[1, i, j, w] = found[w] / (total if total > 0.0 else 1.0)
                if symmetric:
                    out[0, j, i, w], out[1, j, i, w] = found[w], out[1, i, j, w]


@njit(**JIT)
def plans(first: StackedProfiles, second: StackedProfiles, costs: CostArrays, memory: Memory, out: Array) -> None:
    """Fill out with the mass matched between each layer of one architecture and each layer of another.

    out: (weights, l, l2), overwritten.
    """
    (starts, _, masses, _, _), (starts2, _, masses2, _, _) = first, second
    base, structure, cost, cost_lanes, links, values, value_lanes = memory
    out[:] = 0.0
    for block in range(starts.shape[1] - 1):
        low, high, low2, high2 = starts[0, block], starts[0, block + 1], starts2[0, block], starts2[0, block + 1]
        a, b = high - low, high2 - low2
        if not a * b:
            continue
        _set_pair_costs(first, low, high, second, low2, high2, costs, base, structure)
        start_unmatched(masses[low:high], masses2[low2:high2], cost, links, values)
        for w in costs[3]:
            _set_total_costs(a, b, base, structure, costs[0][w], cost)
            solve(a, b, cost, cost_lanes, links, values, value_lanes)
            _copy_matched(links, values, out[w, low:high, low2:high2])


@njit(**JIT)
def _copy_matched(links, values, matched):
    """Copy the mass that a solution ships from rows to columns to matched (a, b); pairs without mass stay unchanged."""
    (a, b), root = matched.shape, links.shape[1] // 2
    for k in range(a):
        if links[PARENT, k] > root:
            matched[k, links[PARENT, k] - root - 1] = values[FLOW, k]
    for j in range(b):
        if links[PARENT, root + 1 + j] < root:
            matched[links[PARENT, root + 1 + j], j] = values[FLOW, root + 1 + j]


announce_compilation(distances)
