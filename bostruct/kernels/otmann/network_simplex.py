"""Least-cost transport by the network simplex method, compiled; the solution of one problem is the start of the next.

Mass is shipped from a rows to b columns, at most the mass that each has. A unit costs less than 0, or infinity if the
row and the column are never matched; mass that is not shipped costs nothing. It is a flow in a network (Ahuja, Magnanti
and Orlin 1993, chapter 11): a root receives the remaining mass of rows, and supplies the missing mass of columns, at no
cost. Nodes are numbered rows 0 to a - 1, root a, columns a + 1 to a + b, so that costs are a table (a + 1, b + 1) whose
last row and first column belong to the root. A solution is a spanning tree: only its arcs carry flow. Trees are kept
strongly feasible (Cunningham 1976), so that steps of length 0 cannot cycle in exact arithmetic. With rounding this is
not proven, so the number of steps is limited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from bostruct.contracts import Array, IntArray

TOLERANCE = 1e-13  # smallest saving for which an arc is used, if a unit of mass costs at most 2
PARENT, CHILD, NEXT, PREVIOUS, DEPTH = range(5)  # rows of `Tree.links`
NO_NODE = -1
STEPS_PER_NODE = 1000  # maximum; random problems of up to 300 rows took at most 4


class Tree(NamedTuple):
    """A spanning tree of up to n nodes.

    links: parent, first child, next sibling, previous sibling, and hops to the root of each node (5, n).
    flow: mass on the arc between each node and its parent (n,).
    arc: the amount that this arc adds to the parent's potential: its cost for a row, minus its cost for a column (n,).
    potential: 0 at the root; the cost of a tree arc is the potential of its row minus the potential of its column (n,).
    """

    links: IntArray
    flow: Array
    arc: Array
    potential: Array


def allocate_tree(size: int) -> Tree:
    """Allocate a tree, uninitialized."""
    n = 2 * size + 1
    return Tree(np.empty((5, n), np.int64), np.empty(n), np.empty(n), np.empty(n))


@njit(cache=True, nogil=True)
def start_unmatched(supply: Array, demand: Array, tree: Tree) -> None:
    """Start with nothing shipped: all nodes are children of the root."""
    links, flow, _, potential = tree
    a, n = len(supply), len(supply) + 1 + len(demand)
    last = NO_NODE
    links[PARENT, a] = links[NEXT, a] = links[PREVIOUS, a] = links[CHILD, a] = NO_NODE
    links[DEPTH, a] = 0
    potential[a] = 0.0
    for k in range(n):
        if k == a:
            continue
        flow[k] = supply[k] if k < a else demand[k - a - 1]
        links[PARENT, k], links[CHILD, k], links[NEXT, k], links[PREVIOUS, k] = a, NO_NODE, NO_NODE, last
        if last == NO_NODE:
            links[CHILD, a] = k
        else:
            links[NEXT, last] = k
        last = k


@njit(cache=True, nogil=True)
def solve(cost: Array, tree: Tree, steps_per_node: int = STEPS_PER_NODE) -> float:
    """Ship at the least cost, and return the cost.

    Rows take turns: the arc of a row that saves most enters the tree, until no arc saves anything.

    cost: (a + 1, b + 1), see above; infinite for a column without mass.
    steps_per_node: maximum number of steps for each node.

    Raises ArithmeticError if there are too few steps, or a mass is not finite.
    """
    links, flow, arc, potential = tree
    a, width = len(cost) - 1, cost.shape[1]
    _set_potentials(cost, links, arc, potential)
    columns = potential[a : a + width]
    left = steps_per_node * (a + width)
    i = idle = np.int64(0)  # with a literal, `_pivot` would be compiled again
    while idle <= a and left > 0:
        row = cost[i]
        least = _least_sum(row, columns)
        idle += 1
        if least - potential[i] < -TOLERANCE:
            j = 0
            while row[j] + columns[j] != least:
                j += 1
            _pivot(i, a + j, row[j], least - potential[i], a, links, flow, arc, potential)
            left -= 1
            idle = 0
        i = i + 1 if i < a else 0
    total = 0.0
    for k in range(a):
        total += flow[k] * arc[k]
    for k in range(a + 1, a + width):
        total -= flow[k] * arc[k]
    if left == 0:
        raise ArithmeticError("transport: the network simplex method took too many steps")
    if not np.isfinite(total):
        raise ArithmeticError("transport: expected finite masses")
    return total


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})  # nothing is NaN, so comparisons are vectorized
def _least_sum(left, right):
    """Return the smallest sum of the entries of two rows (b,)."""
    least = np.inf
    for j in range(len(left)):
        both = left[j] + right[j]
        least = both if both < least else least
    return least


@njit(cache=True, nogil=True)
def _set_potentials(cost, links, arc, potential):
    """Set the depth, the arc and the potential of each node, from the root down."""
    a = len(cost) - 1
    k = links[CHILD, a]
    while k != a:
        p = links[PARENT, k]
        links[DEPTH, k] = links[DEPTH, p] + 1
        arc[k] = cost[k, p - a] if k < a else -cost[p, k - a]
        potential[k] = potential[p] + arc[k]
        k = _next_below(a, k, links)


@njit(cache=True, nogil=True)
def _next_below(top, k, links):
    """Return the node after k in preorder, or top after the last one below it."""
    if links[CHILD, k] != NO_NODE:
        return links[CHILD, k]
    while k != top and links[NEXT, k] == NO_NODE:
        k = links[PARENT, k]
    return k if k == top else links[NEXT, k]


@njit(cache=True, nogil=True)
def _pivot(i, j, cost, change, a, links, flow, arc, potential):
    """Add the arc from i to j to the tree, ship along the cycle that it closes, and drop an arc that becomes empty."""
    amount, leaving, above_row = _find_leaving_arc(i, j, a, links, flow)
    if amount > 0.0:
        _ship(i, j, amount, a, links, flow)
    k, parent, shift, added = (i, j, change, cost) if above_row else (j, i, -change, -cost)
    top, carried = k, amount
    while True:  # each node between the new and the dropped arc becomes the parent of its parent
        above, old_flow, old_arc = links[PARENT, k], flow[k], arc[k]
        _reattach(k, parent, links)
        flow[k], arc[k] = carried, added
        if k == leaving:
            break
        parent, k, carried, added = k, above, old_flow, -old_arc
    k = top
    while True:
        potential[k] += shift
        links[DEPTH, k] = links[DEPTH, links[PARENT, k]] + 1
        k = _next_below(top, k, links)
        if k == top:
            break


@njit(cache=True, nogil=True)
def _find_leaving_arc(i, j, a, links, flow):
    """Return the largest flow along the cycle, the node below the arc that it empties, and whether that is on i's side.

    Among several such arcs it is the last on the cycle, which starts at the node where the paths from i and j to the
    root meet, so that trees stay strongly feasible. A cycle always has an arc that becomes empty, because no arc enters
    a row and no arc leaves a column. It is found for any flow, including NaN: the first flow is compared with NaN.
    """
    amount, leaving, above_row = np.nan, NO_NODE, False
    while i != j:
        if links[DEPTH, j] >= links[DEPTH, i]:
            if j > a and not flow[j] > amount:
                amount, leaving, above_row = flow[j], j, False
            j = links[PARENT, j]
        else:
            if i < a and not flow[i] >= amount:
                amount, leaving, above_row = flow[i], i, True
            i = links[PARENT, i]
    return amount, leaving, above_row


@njit(cache=True, nogil=True)
def _ship(i, j, amount, a, links, flow):
    """Change the flow on the cycle, except on the new arc."""
    while i != j:
        if links[DEPTH, j] >= links[DEPTH, i]:
            flow[j] += -amount if j > a else amount
            j = links[PARENT, j]
        else:
            flow[i] += -amount if i < a else amount
            i = links[PARENT, i]


@njit(cache=True, nogil=True)
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
