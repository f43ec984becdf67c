"""Least-cost transport by the network simplex method, compiled; the solution of one problem is the start of the next.

Mass is shipped from a rows to b columns, at most the mass that each has. A unit costs less than 0, or infinity if the
row and the column are never matched; mass that is not shipped costs nothing. It is a flow in a network (Ahuja, Magnanti
and Orlin 1993, chapter 11): a root receives the remaining mass of rows, and supplies the missing mass of columns, at no
cost. Nodes are numbered rows 0 to a - 1, root n, columns n + 1 to n + b, so that costs are a table (n + 1, n) whose
last row and first column belong to the root. A solution is a spanning tree: only its arcs carry flow. Trees are kept
strongly feasible (Cunningham 1976), so that steps of length 0 cannot cycle in exact arithmetic. With rounding this is
not proven, so the number of steps is limited.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from bostruct.contracts import Array

TOLERANCE = 1e-13  # smallest saving for which an arc is used, if a unit of mass costs at most 2
PARENT, CHILD, NEXT, PREVIOUS, DEPTH = range(5)  # rows of `Workspace.links`
FLOW, ARC, POTENTIAL = range(3)  # rows of `Workspace.values`
NO_NODE = 2**32 - 1
STEPS_PER_NODE = 1000  # maximum; random problems of up to 300 rows took at most 4
LANES = 4  # independent minima of a row, for the processor to compute at once
# Arrays without reference counts: counting them, atomically, took an eighth of the time of distances. `_nrt` is a
# private option of Numba; these functions make no arrays.
JIT: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
Links: TypeAlias = npt.NDArray[np.uint32]


class Workspace(NamedTuple):
    """Memory for fewer than n rows and n columns; n is a multiple of `LANES`.

    cost: costs of rows and the root in columns, the root first (n + 1, n).
    cost_lanes: the same memory as (n + 1, n / LANES, LANES).
    links: parent, first child, next sibling, previous sibling, and hops to the root of each node (5, 2 n). Unsigned,
        because indices that may be negative, which are checked, take a fifth longer.
    values: mass on the arc between each node and its parent; the amount that this arc adds to the parent's potential:
        its cost for a row, minus its cost for a column; the potential: 0 at the root; the cost of a tree arc is the
        potential of its row minus the potential of its column (3, 2 n).
    value_lanes: the same memory as (3, 2 n / LANES, LANES).
    """

    cost: Array
    cost_lanes: Array
    links: Links
    values: Array
    value_lanes: Array


def allocate_workspace(size: int) -> Workspace:
    """Allocate memory for up to `size` rows and columns, uninitialized; not compiled, which takes longer."""
    n = (size // LANES + 1) * LANES
    cost, values = np.empty((n + 1, n)), np.empty((3, 2 * n))
    lanes = cost.reshape(n + 1, -1, LANES), values.reshape(3, -1, LANES)
    return Workspace(cost, lanes[0], np.empty((5, 2 * n), np.uint32), values, lanes[1])


@njit(inline="always")
def start_unmatched(supply: Array, demand: Array, cost: Array, links: Links, values: Array) -> None:
    """Start with nothing shipped: all nodes are children of the root."""
    a, b, root, last = len(supply), len(demand), cost.shape[1], NO_NODE
    links[PARENT, root] = links[NEXT, root] = links[PREVIOUS, root] = links[CHILD, root] = NO_NODE
    links[DEPTH, root] = 0
    for j in range(min(b + LANES, root)):
        cost[root, j] = 0.0
        values[POTENTIAL, root + j] = 0.0 if j <= b else np.inf
    for i in range(a + b):
        k = i if i < a else root + 1 + i - a
        values[FLOW, k] = supply[i] if i < a else demand[i - a]
        links[PARENT, k], links[CHILD, k], links[NEXT, k], links[PREVIOUS, k] = root, NO_NODE, NO_NODE, last
        links[DEPTH, k] = 1
        if last == NO_NODE:
            links[CHILD, root] = k
        else:
            links[NEXT, last] = k
        last = k


@njit(**JIT)
def solve(a, b, cost, cost_lanes, links, values, value_lanes, steps_per_node=STEPS_PER_NODE):
    """Ship from a rows to b columns at the least cost, and return the cost.

    Rows take turns: the arc of a row that saves most enters the tree, until no arc saves anything.

    cost: see above; infinite for a column without mass.
    steps_per_node: maximum number of steps for each node.

    Raises ArithmeticError if there are too few steps, or a mass is not finite.
    """
    root = np.uint32(cost.shape[1])
    _set_potentials(root, cost, links, values)
    left = steps_per_node * (a + 1 + b)
    i, idle = np.uint32(0), 0
    while idle <= a and left > 0:
        least = _least_sum(i, b, cost_lanes, value_lanes)
        idle += 1
        if least - values[POTENTIAL, i] < -TOLERANCE:
            j = root
            while cost[i, j - root] + values[POTENTIAL, j] != least:
                j = np.uint32(j + 1)
            _pivot(i, j, cost[i, j - root], least - values[POTENTIAL, i], root, links, values)
            left, idle = left - 1, 0
        i = np.uint32(i + 1 if i + 1 < a else 0 if i == root else root)
    total = 0.0
    for k in range(a):
        total += values[FLOW, k] * values[ARC, k]
    for k in range(root + 1, root + 1 + b):
        total -= values[FLOW, k] * values[ARC, k]
    if left == 0:
        raise ArithmeticError("transport: the network simplex method took too many steps")
    if not np.isfinite(total):
        raise ArithmeticError("transport: expected finite masses")
    return total


@njit(inline="always")  # a call passes each array as seven numbers
def _least_sum(i, b, cost_lanes, value_lanes):
    """Return the smallest sum of the cost of row i in a column and the potential of this column."""
    first = np.uint64(cost_lanes.shape[1])
    least = least1 = least2 = least3 = np.inf
    for q in range(np.uint64(b // LANES + 1)):
        cost, potential = cost_lanes[i, q], value_lanes[POTENTIAL, first + q]
        least, least1 = min(least, cost[0] + potential[0]), min(least1, cost[1] + potential[1])
        least2, least3 = min(least2, cost[2] + potential[2]), min(least3, cost[3] + potential[3])
    return min(min(least, least1), min(least2, least3))


@njit(inline="always")
def _set_potentials(root, cost, links, values):
    """Set the arc and the potential of each node, from the root down."""
    k = links[CHILD, root]
    while k != root:
        p = links[PARENT, k]
        values[ARC, k] = cost[k, p - root] if k < root else -cost[p, k - root]
        values[POTENTIAL, k] = values[POTENTIAL, p] + values[ARC, k]
        k = _next_below(root, k, links)


@njit(**JIT)
def _next_below(top, k, links):
    """Return the node after k in preorder, or top after the last one below it."""
    if links[CHILD, k] != NO_NODE:
        return links[CHILD, k]
    while k != top and links[NEXT, k] == NO_NODE:
        k = links[PARENT, k]
    return k if k == top else links[NEXT, k]


@njit(inline="always")
def _pivot(i, j, cost, change, root, links, values):
    """Add the arc from i to j to the tree, ship along the cycle that it closes, and drop an arc that becomes empty."""
    amount, leaving, above_row = _find_leaving_arc(i, j, root, links, values)
    if amount > 0.0:
        _ship(i, j, amount, root, links, values)
    k, parent, shift, added = (i, j, change, cost) if above_row else (j, i, -change, -cost)
    top, carried = k, amount
    while True:  # each node between the new and the dropped arc becomes the parent of its parent
        above, old_flow, old_arc = links[PARENT, k], values[FLOW, k], values[ARC, k]
        _reattach(k, parent, links)
        values[FLOW, k], values[ARC, k] = carried, added
        if k == leaving:
            break
        parent, k, carried, added = k, above, old_flow, -old_arc
    k = top
    while True:
        values[POTENTIAL, k] += shift
        links[DEPTH, k] = links[DEPTH, links[PARENT, k]] + 1
        k = _next_below(top, k, links)
        if k == top:
            break


@njit(inline="always")
def _find_leaving_arc(i, j, root, links, values):
    """Return the largest flow along the cycle, the node below the arc that it empties, and whether that is on i's side.

    Among several such arcs it is the last on the cycle, which starts at the node where the paths from i and j to the
    root meet, so that trees stay strongly feasible. A cycle always has an arc that becomes empty, because no arc enters
    a row and no arc leaves a column. It is found for any flow, including NaN: the first flow is compared with NaN.
    """
    amount, leaving, above_row = np.nan, NO_NODE, False
    while i != j:
        if links[DEPTH, j] >= links[DEPTH, i]:
            if j > root and not values[FLOW, j] > amount:
                amount, leaving, above_row = values[FLOW, j], j, False
            j = links[PARENT, j]
        else:
            if i < root and not values[FLOW, i] >= amount:
                amount, leaving, above_row = values[FLOW, i], i, True
            i = links[PARENT, i]
    return amount, leaving, above_row


@njit(inline="always")
def _ship(i, j, amount, root, links, values):
    """Change the flow on the cycle, except on the new arc."""
    while i != j:
        if links[DEPTH, j] >= links[DEPTH, i]:
            values[FLOW, j] += -amount if j > root else amount
            j = links[PARENT, j]
        else:
            values[FLOW, i] += -amount if i < root else amount
            i = links[PARENT, i]


@njit(inline="always")
def _reattach(k, parent, links):
    """Make k a child of another parent."""
    before, after, first = links[PREVIOUS, k], links[NEXT, k], links[CHILD, parent]
    if before != NO_NODE:
        links[NEXT, before] = after
    else:
        links[CHILD, links[PARENT, k]] = after
    if after != NO_NODE:
        links[PREVIOUS, after] = before
    links[PARENT, k], links[NEXT, k], links[PREVIOUS, k], links[CHILD, parent] = parent, first, NO_NODE, k
    if first != NO_NODE:
        links[PREVIOUS, first] = k
