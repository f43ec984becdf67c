"""Exact transport between the layers of many pairs of architectures, compiled.

Each block of labels of a pair is a small unbalanced transportation problem: ship mass from rows to columns, at most the
mass that each has, at a cost of (mismatch + nu * structure - 2) per unit. Mass that is not shipped costs nothing beyond
the constant cost of each unmatched unit. Pairs that would cost 0 or more are never matched. The structural weights nu
are processed from the largest to the smallest. Costs then decrease, so the solution at one weight is a start for the
next, which needs only a few more steps.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit

from bostruct.contracts import Array, IntArray
from bostruct.kernels.loops import announce_compilation
from bostruct.kernels.otmann.network_simplex import PARENT, Tree, allocate_tree, solve, start_unmatched

StackedProfiles: TypeAlias = tuple[IntArray, IntArray, Array, Array, IntArray]  # starts, labels, masses, paths, codes
CostArrays: TypeAlias = tuple[Array, Array, Array, IntArray]  # as `distances` lists them
Memory: TypeAlias = tuple[Array, Array, Array, Array, IntArray, Array, Array, Array]


class Scratch(NamedTuple):
    """Memory for blocks of up to `size` by `size` layers.

    base: label cost minus 2 of each pair of layers (size * size,).
    structure: structural cost of each pair of layers (size * size,).
    cost: total cost of each pair at one structural weight, and of the root ((size + 1) ** 2,).
    lengths: path lengths of one kind to the layers of one side (size,).
    """

    base: Array
    structure: Array
    cost: Array
    lengths: Array
    tree: Tree


def allocate_memory(size: int) -> Memory:
    """Allocate the parts of `Scratch` and then of its tree, uninitialized.

    It is not compiled, because compilation takes longer than all calls.
    """
    square, cost = size * size, np.empty((size + 1) ** 2)
    links, flow, arc, potential = allocate_tree(size)
    return np.empty(square), np.empty(square), cost, np.empty(size), links, flow, arc, potential


@njit(cache=True, nogil=True)
def _set_pair_costs(first, low, second, low2, costs, lengths, base, structure):
    """Set label cost minus 2, and structural cost, of each pair of layers of one block, (a, b) each."""
    _, labels, _, paths, codes = first
    _, labels2, masses2, paths2, codes2 = second
    _, table, extra, _ = costs
    a, b = base.shape
    for i in range(a):
        for j in range(b):
            base[i, j] = table[labels[low + i], labels2[low2 + j]] - 2.0
            structure[i, j] = 0.0
    for q in range(len(extra)):
        for i in range(a):
            for j in range(b):
                if codes[low + i, q] != codes2[low2 + j, q]:
                    base[i, j] += extra[q]
    for j in range(b):
        if masses2[low2 + j] == 0.0:
            for i in range(a):
                base[i, j] = np.inf
    for k in range(len(paths)):
        _add_differences(paths, low, paths2, low2, k, lengths, structure)


@njit(cache=True, nogil=True)
def _add_differences(paths, low, paths2, low2, k, lengths, structure):
    """Add the absolute differences of path lengths of kind k to structure (a, b)."""
    a, b = structure.shape
    for j in range(b):
        lengths[j] = paths2[k, low2 + j]
    for i in range(a):
        own = paths[k, low + i]
        for j in range(b):
            structure[i, j] += abs(own - lengths[j])


@njit(cache=True, nogil=True)
def _set_total_costs(base, structure, weight, cost):
    """Set the cost of each pair at one weight, infinite if the pair is never matched, and of the root's arcs."""
    a, b = base.shape
    for i in range(a):
        cost[i, 0] = 0.0
        for j in range(b):
            total = base[i, j] + weight * structure[i, j]
            cost[i, 1 + j] = total if total < 0.0 else np.inf
    cost[a] = 0.0


@njit(cache=True, nogil=True)
def _sum_between(masses, low, high):
    total = 0.0
    for k in range(low, high):
        total += masses[k]
    return total


@njit(inline="always")
def _add_block_distances(first, rows, second, columns, costs, scratch, out):
    """Add the distances between the layers of one block to out (weights,)."""
    weights, (a, b) = costs[0], (rows[1] - rows[0], columns[1] - columns[0])
    base, structure = scratch.base[: a * b].reshape(a, b), scratch.structure[: a * b].reshape(a, b)
    _set_pair_costs(first, rows[0], second, columns[0], costs, scratch.lengths, base, structure)
    if a * b == 1:
        for w in range(len(out)):
            shipped = min(first[2][rows[0]], second[2][columns[0]])
            out[w] += min(base[0, 0] + weights[w] * structure[0, 0], 0.0) * shipped
        return
    start_unmatched(first[2][rows[0] : rows[1]], second[2][columns[0] : columns[1]], scratch.tree)
    cost = scratch.cost[: (a + 1) * (b + 1)].reshape(a + 1, b + 1)
    for w in costs[3]:
        _set_total_costs(base, structure, weights[w], cost)
        out[w] += solve(cost, scratch.tree)


@njit(cache=True, nogil=True)
def distances(
    first: StackedProfiles, second: StackedProfiles, costs: CostArrays, memory: Memory, symmetric: bool, out: Array
) -> None:
    """Fill out with the distances of all pairs, and with the distances over the total mass of both.

    It is compiled once, as one function of loops: compiled callers and array expressions would be compiled again.

    first, second: stacked profiles of n and m architectures: (starts (n, blocks + 1), labels (l,), masses (l,),
        paths (k, l), codes (l, q)).
    costs: (weights (w,), mismatch (labels, labels), costs of attributes (q,), positions of the weights from the largest
        to the smallest (w,)).
    memory: the result of `allocate_memory` for the largest block.
    out: zeros (2, n, m, weights).
    """
    starts, starts2 = first[0], second[0]
    scratch = Scratch(*memory[:4], Tree(*memory[4:]))
    for i in range(len(starts)):
        for j in range(i + 1 if symmetric else 0, len(starts2)):
            total, found = 0.0, out[0, i, j]
            for block in range(starts.shape[1] - 1):
                one, two = first, second
                rows, columns = (starts[i, block], starts[i, block + 1]), (starts2[j, block], starts2[j, block + 1])
                mass = _sum_between(first[2], rows[0], rows[1])
                mass2 = _sum_between(second[2], columns[0], columns[1])
                total += mass + mass2
                for w in range(len(found)):
                    found[w] += mass + mass2
                if mass > mass2:  # shipping the lighter side takes half the time, because all of its mass fits
                    one, rows, two, columns = second, columns, first, rows
                if rows[0] < rows[1] and columns[0] < columns[1]:
                    _add_block_distances(one, rows, two, columns, costs, scratch, found)
            for w in range(len(found)):
                found[w] = max(found[w], 0.0)  # if all mass matches, rounding leaves about 1e-16 of it, of either sign
                out[1, i, j, w] = found[w] / (total if total > 0.0 else 1.0)
                if symmetric:
                    out[0, j, i, w], out[1, j, i, w] = found[w], out[1, i, j, w]


@njit(cache=True, nogil=True)
def plans(first: StackedProfiles, second: StackedProfiles, costs: CostArrays, memory: Memory, out: Array) -> None:
    """Fill out with the mass matched between each layer of one architecture and each layer of another.

    out: (weights, l, l2), overwritten.
    """
    weights = costs[0]
    starts, starts2 = first[0], second[0]
    scratch = Scratch(*memory[:4], Tree(*memory[4:]))
    out[:] = 0.0
    for block in range(starts.shape[1] - 1):
        low, high = starts[0, block], starts[0, block + 1]
        low2, high2 = starts2[0, block], starts2[0, block + 1]
        if low == high or low2 == high2:
            continue
        a, b = high - low, high2 - low2
        base, structure = scratch.base[: a * b].reshape(a, b), scratch.structure[: a * b].reshape(a, b)
        _set_pair_costs(first, low, second, low2, costs, scratch.lengths, base, structure)
        start_unmatched(first[2][low:high], second[2][low2:high2], scratch.tree)
        cost = scratch.cost[: (a + 1) * (b + 1)].reshape(a + 1, b + 1)
        for w in costs[3]:
            _set_total_costs(base, structure, weights[w], cost)
            solve(cost, scratch.tree)
            _copy_matched(scratch.tree, out[w, low:high, low2:high2])


@njit(cache=True, nogil=True)
def _copy_matched(tree, matched):
    """Copy the mass that a solution ships from rows to columns to matched (a, b); pairs without mass stay unchanged."""
    a, b = matched.shape
    for k in range(a):
        if tree.links[PARENT, k] > a:
            matched[k, tree.links[PARENT, k] - a - 1] = tree.flow[k]
    for j in range(b):
        if tree.links[PARENT, a + 1 + j] < a:
            matched[tree.links[PARENT, a + 1 + j], j] = tree.flow[a + 1 + j]


announce_compilation(distances)
