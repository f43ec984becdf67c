"""Exact transport between the layers of many pairs of architectures, compiled.

One pair and one block of labels is a small transportation problem in its unbalanced form: ship mass from rows to
columns, at most what each has, at a cost of (mismatch + nu * structure - 2) a unit; what is not shipped costs nothing
more than the constant that every unit of mass costs when it is left unmatched. It is solved row by row by shortest
augmenting paths (Jonker & Volgenant 1987, with capacities), where a path may also end by leaving mass unshipped.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit

from bostruct.contracts import Array, IntArray

StackedProfiles: TypeAlias = tuple[IntArray, IntArray, Array, Array, IntArray]  # starts, labels, masses, paths, codes
CostArrays: TypeAlias = tuple[Array, Array, Array]  # structural weights, mismatch, costs of attributes


class Scratch(NamedTuple):
    """Memory for blocks of up to `size` by `size` layers.

    base: (size * size,), label cost less 2 of each pair of layers.
    structure: (size * size,), structural cost of each pair of layers.
    cost: (size * size,), total cost of each pair at one structural weight.
    flow: (size, size), the mass that each column got from each row.
    """

    base: Array
    structure: Array
    cost: Array
    flow: Array


@njit(cache=True, nogil=True)
def allocate_scratch(size: int) -> Scratch:
    """Allocate memory, uninitialized.

    size: the most layers of one block.
    """
    square = size * size
    return Scratch(np.empty(square), np.empty(square), np.empty(square), np.empty((size, size)))


@njit(cache=True, nogil=True)
def transport(cost: Array, supply: Array, demand: Array, flow: Array) -> float:
    """Return the least total cost of shipping mass from rows to columns (a, b).

    cost: (a, b), of one unit.
    supply: (a,), the most that each row ships.
    demand: (b,), the most that each column gets.
    flow: (>= b, >= a), overwritten by what each column got from each row.
    """
    a, b = cost.shape
    flow[:b, :a] = 0.0
    left = demand.copy()
    # fresh arrays, which the compiler knows to be apart: views of one scratch array cost a third of the speed
    columns = np.zeros(b), np.empty(b), np.empty(b, np.int64), np.empty(b, np.int64)
    rows = np.empty(a, np.int64), np.empty(a, np.int64)
    total = 0.0
    for i in range(a):
        rest = supply[i]
        while rest > 0.0:
            end, last, length = _shortest_path(cost, i, columns, rows, (flow, left))
            amount = rest if end < 0 else min(rest, left[end])
            amount = _augment((i, end, last), amount, columns[3], rows[1], flow)
            if end >= 0:
                left[end] -= amount
            rest -= amount
            total += amount * length
    return total


@njit(inline="always")
def _shortest_path(cost, i, columns, rows, shipped):
    """Find the shortest path from row i to a column with room, or to a row that leaves mass unshipped (end < 0).

    Returns end, the last row of the path, and its length. columns: price, distance, settled, row before; rows: reached,
    column before.
    """
    price, dist, settled, came = columns
    reached, via = rows
    flow, left = shipped
    a, b = cost.shape
    for j in range(b):
        dist[j] = cost[i, j] - price[j]
        came[j] = i
        settled[j] = 0
    for k in range(a):
        reached[k] = 0
    reached[i] = 1
    give_up, quitter = 0.0, i
    while True:
        best, end = give_up, -1
        for j in range(b):
            if settled[j] == 0 and dist[j] < best:
                best, end = dist[j], j
        if end < 0 or left[end] > 0.0:
            break
        settled[end] = 1
        for k in range(a):
            if reached[k] == 0 and flow[end, k] > 0.0:
                reached[k] = 1
                via[k] = end
                back = best - (cost[k, end] - price[end])
                if back < give_up:
                    give_up, quitter = back, k
                for j in range(b):
                    if settled[j] == 0 and back + cost[k, j] - price[j] < dist[j]:
                        dist[j] = back + cost[k, j] - price[j]
                        came[j] = k
    for j in range(b):
        if settled[j] == 1:
            price[j] += dist[j] - best
    return end, quitter if end < 0 else came[end], best


@njit(inline="always")
def _augment(path, amount, came, via, flow):
    """Ship along the path at most amount, and return how much. path: its first row, last column (or -1), last row."""
    first, end, last = path
    k = last
    while k != first:
        j = via[k]
        amount = min(amount, flow[j, k])
        k = came[j]
    if end >= 0:
        flow[end, last] += amount
    k = last
    while k != first:
        j = via[k]
        flow[j, k] -= amount
        k = came[j]
        flow[j, k] += amount
    return amount


@njit(cache=True, nogil=True)
def _pair_costs(first, rows, second, columns, costs, memory):
    """Return label cost less 2, and structural cost, of each pair of layers of one block, (a, b) each."""
    _, labels, _, paths, codes = first
    _, labels2, _, paths2, codes2 = second
    _, table, extra = costs
    (low, high), (low2, high2) = rows, columns
    a, b = high - low, high2 - low2
    base = memory.base[: a * b].reshape(a, b)
    structure = memory.structure[: a * b].reshape(a, b)
    for i in range(a):
        for j in range(b):
            cost = table[labels[low + i], labels2[low2 + j]]
            for q in range(len(extra)):
                if codes[low + i, q] != codes2[low2 + j, q]:
                    cost += extra[q]
            base[i, j] = cost - 2.0
            structure[i, j] = 0.0
        for k in range(paths.shape[0]):
            length = paths[k, low + i]
            for j in range(b):
                structure[i, j] += abs(length - paths2[k, low2 + j])
    return base, structure


@njit(cache=True, nogil=True)
def _block_distances(first, rows, second, columns, costs, memory, out):
    """Add the distances between the layers of one block to out (weights,)."""
    supply, demand = first[2][rows[0] : rows[1]], second[2][columns[0] : columns[1]]
    out += supply.sum() + demand.sum()
    a, b = len(supply), len(demand)
    if a == 0 or b == 0:
        return
    base, structure = _pair_costs(first, rows, second, columns, costs, memory)
    cost = memory.cost[: a * b].reshape(a, b)
    for w in range(len(out)):
        for r in range(a):
            for c in range(b):
                cost[r, c] = base[r, c] + costs[0][w] * structure[r, c]
        if a == 1 and b == 1:
            out[w] += min(cost[0, 0], 0.0) * min(supply[0], demand[0])
        else:
            out[w] += transport(cost, supply, demand, memory.flow)


@njit(cache=True, nogil=True)
def _largest_block(starts):
    size = 1
    for i in range(len(starts)):
        for block in range(starts.shape[1] - 1):
            size = max(size, starts[i, block + 1] - starts[i, block])
    return size


@njit(cache=True, nogil=True)
def _pair_distances(first, i, second, j, costs, memory, out):
    """Fill out (weights,) with the distances between architectures i and j; return their total mass."""
    starts, starts2 = first[0][i], second[0][j]
    total = 0.0
    out[:] = 0.0
    for block in range(len(starts) - 1):
        rows = (starts[block], starts[block + 1])
        columns = (starts2[block], starts2[block + 1])
        mass, mass2 = first[2][rows[0] : rows[1]].sum(), second[2][columns[0] : columns[1]].sum()
        total += mass + mass2
        if mass <= mass2:  # the lighter side is shipped: half the time, for its mass finds room at once
            _block_distances(first, rows, second, columns, costs, memory, out)
        else:
            _block_distances(second, columns, first, rows, costs, memory, out)
    for w in range(len(out)):
        out[w] = max(out[w], 0.0)  # rounding may leave -1e-12 where architectures are alike
    return total


@njit(cache=True, nogil=True)
def distances(first: StackedProfiles, second: StackedProfiles, costs: CostArrays, symmetric: bool, out: Array) -> None:
    """Fill out with the distances of all pairs, and the same over the total mass of both.

    first, second: profiles of n and of m architectures, stacked: (starts (n, blocks + 1), labels (l,), masses (l,),
        paths (k, l), codes (l, q)).
    costs: (weights, mismatch (labels, labels), costs of attributes (q,)).
    symmetric: the two are the same, so that one triangle is enough.
    out: (2, n, m, weights), overwritten.
    """
    starts, starts2 = first[0], second[0]
    memory = allocate_scratch(max(_largest_block(starts), _largest_block(starts2)))
    for i in range(len(starts)):
        if symmetric:
            out[:, i, i] = 0.0
        for j in range(i + 1 if symmetric else 0, len(starts2)):
            total = _pair_distances(first, i, second, j, costs, memory, out[0, i, j])
            out[1, i, j] = out[0, i, j] / (total if total > 0.0 else 1.0)
            if symmetric:
                out[:, j, i] = out[:, i, j]


@njit(cache=True, nogil=True)
def plans(first: StackedProfiles, second: StackedProfiles, costs: CostArrays, out: Array) -> None:
    """Fill out with the mass that each layer of one architecture is matched with in each layer of another.

    first, second: profiles of one architecture each, as of `distances`.
    costs: as of `distances`.
    out: (weights, l, l2), overwritten.
    """
    weights = costs[0]
    starts, starts2 = first[0], second[0]
    memory = allocate_scratch(max(_largest_block(starts), _largest_block(starts2)))
    out[:] = 0.0
    for block in range(starts.shape[1] - 1):
        low, high = starts[0, block], starts[0, block + 1]
        low2, high2 = starts2[0, block], starts2[0, block + 1]
        if low == high or low2 == high2:
            continue
        base, structure = _pair_costs(first, (low, high), second, (low2, high2), costs, memory)
        for w in range(len(weights)):
            cost = base + weights[w] * structure
            transport(cost, first[2][low:high], second[2][low2:high2], memory.flow)
            out[w, low:high, low2:high2] = memory.flow[: high2 - low2, : high - low].T
