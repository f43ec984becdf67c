"""Find the vertices of its variables that a point of a space is one change away from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bostruct.contracts import IntArray
from bostruct.domains.space.graphs import MAX_CHOICES, DyadicGraph, PathGraph, VariableGraph


class Adjacency:
    """The single changes of points whose variables have these graphs.

    graphs: the graph of each variable, in order.

    Equal graphs are one; what is adjacent is kept by their positions, for large graphs are slow to hash.
    """

    def __init__(self, graphs: Sequence[VariableGraph]) -> None:
        self.steps = list(dict.fromkeys(graphs))
        self.leaps = [DyadicGraph(g.size) if isinstance(g, PathGraph) else g for g in self.steps]
        position = {graph: i for i, graph in enumerate(self.steps)}
        self.positions = [position[graph] for graph in graphs]
        self.known: dict[tuple[int, int, bool], IntArray] = {}

    def single_changes(self, x: IntArray, leaps: bool = False) -> tuple[IntArray, IntArray]:
        """Return (which, vertices) of all moves from x: variable 0 first, its vertices ascending.

        x: integer row (d,).
        leaps: bool, True for steps of half their choices, a quarter and so on in ordered variables too.
        """
        adjacent = [self._adjacent(i, int(v), leaps) for i, v in zip(self.positions, x, strict=True)]
        return np.repeat(np.arange(len(adjacent)), [len(one) for one in adjacent]), np.concatenate(adjacent)

    def _adjacent(self, position: int, vertex: int, leaps: bool) -> IntArray:
        graph = (self.leaps if leaps else self.steps)[position]
        if graph.size > MAX_CHOICES:
            return graph.neighbors(vertex)
        key = position, vertex, leaps
        if key not in self.known:
            self.known[key] = graph.neighbors(vertex)
        return self.known[key]
