"""Exact transport between the layers of many pairs of architectures, compiled.

One pair and one block of labels is a small transportation problem in its unbalanced form: ship mass from rows to
columns, at most what each has, at a cost of (mismatch + nu * structure - 2) a unit; what is not shipped costs nothing
more than the constant that every unit of mass costs when it is left unmatched. It is solved row by row by shortest
augmenting paths (Jonker & Volgenant 1987, with capacities), where a path may also end by leaving mass unshipped.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def transport(cost, supply, demand, flow, work):
    """The least total cost. cost: (a, b). flow: (b, a), overwritten: what each column got from each row.

    supply: (>= a,), kept. demand: (>= b,), overwritten: what is left. work: (4, >= max(a, b)) float scratch.
    """
    a, b = cost.shape
    price, dist = work[0], work[1]
    came = np.empty(b, np.int64)  # row from which a column was reached
    via = np.empty(a, np.int64)  # column from which a row was reached
    state = np.empty(b, np.int64)  # 1: the column is settled
    settled = np.empty(b, np.int64)
    reached = np.empty(a, np.int64)
    price[:b] = 0.0
    flow[:b, :a] = 0.0
    total = 0.0
    for i in range(a):
        left = supply[i]
        while left > 0.0:
            for j in range(b):
                dist[j] = cost[i, j] - price[j]
                came[j] = i
                state[j] = 0
            for k in range(a):
                reached[k] = 0
            reached[i] = 1
            n_settled = 0
            give_up, quitter = 0.0, i  # the cheapest way to end with mass unshipped, and the row that leaves it
            end = -1
            while True:
                best, j = give_up, -1
                for q in range(b):
                    if state[q] == 0 and dist[q] < best:
                        best, j = dist[q], q
                if j < 0:
                    break
                if demand[j] > 0.0:
                    end = j
                    break
                state[j] = 1
                settled[n_settled] = j
                n_settled += 1
                for k in range(a):
                    if reached[k] == 0 and flow[j, k] > 0.0:
                        reached[k] = 1
                        via[k] = j
                        base = dist[j] - (cost[k, j] - price[j])
                        if base < give_up:
                            give_up, quitter = base, k
                        for q in range(b):
                            if state[q] == 0 and base + cost[k, q] - price[q] < dist[q]:
                                dist[q] = base + cost[k, q] - price[q]
                                came[q] = k
            for s in range(n_settled):
                j = settled[s]
                price[j] += dist[j] - best
            amount = left if end < 0 else min(left, demand[end])
            k = quitter if end < 0 else came[end]
            while k != i:
                j = via[k]
                amount = min(amount, flow[j, k])
                k = came[j]
            k = quitter
            if end >= 0:
                demand[end] -= amount
                k = came[end]
                flow[end, k] += amount
            while k != i:
                j = via[k]
                flow[j, k] -= amount
                k = came[j]
                flow[j, k] += amount
            left -= amount
            total += amount * best
    return total


@njit(cache=True, nogil=True)
def pair_costs(first, second, table, extra, base, structure):
    """Fill base and structure (a, b), the label and the structural cost between two groups of layers.

    first, second: (labels, paths, codes) of a and of b layers.
    """
    labels, paths, codes = first
    others, other_paths, other_codes = second
    for i in range(len(labels)):
        for j in range(len(others)):
            cost = table[labels[i], others[j]]
            for q in range(len(extra)):
                if codes[i, q] != other_codes[j, q]:
                    cost += extra[q]
            base[i, j] = cost - 2.0
            structure[i, j] = 0.0
        for k in range(paths.shape[1]):
            length = paths[i, k]
            for j in range(len(others)):
                structure[i, j] += abs(length - other_paths[k, j])


@njit(cache=True, nogil=True)
def distances(first, second, costs, symmetric, out):
    """Fill out (n, m, weights). first, second: (starts (n, blocks + 1), labels, masses, paths, codes) stacked."""
    starts, labels, masses, paths, codes = first
    starts2, labels2, masses2, paths2, codes2 = second
    weights, table, extra = costs
    size = 1
    for i in range(len(starts)):
        for block in range(starts.shape[1] - 1):
            size = max(size, starts[i, block + 1] - starts[i, block])
    for j in range(len(starts2)):
        for block in range(starts.shape[1] - 1):
            size = max(size, starts2[j, block + 1] - starts2[j, block])
    base_of, structure_of, cost_of = np.empty(size * size), np.empty(size * size), np.empty(size * size)
    flow, work, demand = np.empty((size, size)), np.empty((2, size)), np.empty(size)
    flipped = np.ascontiguousarray(paths2.T)
    out[:] = 0.0
    for i in range(len(starts)):
        for j in range(i + 1 if symmetric else 0, len(starts2)):
            for block in range(starts.shape[1] - 1):
                low, high = starts[i, block], starts[i, block + 1]
                low2, high2 = starts2[j, block], starts2[j, block + 1]
                mass = masses[low:high].sum() + masses2[low2:high2].sum()
                out[i, j] += mass
                a, b = high - low, high2 - low2
                if a == 0 or b == 0:
                    continue
                base = base_of[: a * b].reshape(a, b)
                structure = structure_of[: a * b].reshape(a, b)
                cost = cost_of[: a * b].reshape(a, b)
                pair_costs(
                    (labels[low:high], paths[low:high], codes[low:high]),
                    (labels2[low2:high2], flipped[:, low2:high2], codes2[low2:high2]),
                    table,
                    extra,
                    base,
                    structure,
                )
                for w in range(len(weights)):
                    for r in range(a):
                        for c in range(b):
                            cost[r, c] = base[r, c] + weights[w] * structure[r, c]
                    if a == 1 and b == 1:
                        out[i, j, w] += min(cost[0, 0], 0.0) * min(masses[low], masses2[low2])
                        continue
                    demand[:b] = masses2[low2:high2]
                    out[i, j, w] += transport(cost, masses[low:high], demand, flow, work)
            if symmetric:
                out[j, i] = out[i, j]
