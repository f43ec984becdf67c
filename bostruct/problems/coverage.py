"""The maximum coverage problem: few nodes of a graph that cover much of its weight."""

from __future__ import annotations

import math
from functools import partial

import networkx as nx
import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array
from bostruct.domains.space.space import Space
from bostruct.domains.space.subset import Subset
from bostruct.problems.base import StructuredProblem, attach_optimum, read_variable

RADIUS, AT_NODES = 0.17, 60  # maximum length of an edge in the unit square for 60 nodes; it scales with their number
MOST_PROVED = (60, 5)  # numbers of nodes and of chosen nodes, for which branch and bound takes 0.2 s


def max_coverage(n: int = 60, chosen: int = 5, seed: int = 0) -> StructuredProblem:
    """Return a maximum coverage problem: minimize minus the weight of all chosen nodes and their neighbors.

    Nodes are random points of the unit square with random weights. Edges join near nodes, and a path joins the
    connected components. Points are subsets of the nodes, in a variable with the graph.

    n: number of nodes, 2 to 1000.
    chosen: number of nodes of a subset, 1 to n - 1.
    seed: seed of nodes and weights, from 0.

    The optimum is proved up to 5 of 60 nodes by branch and bound. Raises TypeError, ValueError. Source: Nemhauser,
    Wolsey and Fisher 1978.
    """
    n = check_integer("nodes", n, 2, 1000)
    chosen = check_integer("chosen", chosen, 1, n - 1)
    check_integer("seed", seed, 0)
    graph = nx.random_geometric_graph(n, RADIUS * math.sqrt(AT_NODES / n), seed=seed)
    nx.add_path(graph, [min(part) for part in nx.connected_components(graph)])
    weights = np.random.default_rng([seed, 42]).random(n)
    near = [frozenset({node, *graph[node]}) for node in range(n)]
    problem = StructuredProblem(
        name=f"coverage:nodes={n},chosen={chosen},seed={seed}",
        space=Space({"nodes": Subset(list(graph), chosen, graph=graph)}),
        objective=read_variable("nodes", partial(_miss_weight, near, weights)),
        source="generated: maximum coverage, Nemhauser, Wolsey and Fisher 1978",
    )
    if n > MOST_PROVED[0] or chosen > MOST_PROVED[1]:
        return problem
    table = np.array([[other in own for other in range(n)] for own in near])
    point = {"nodes": find_best_cover(table, weights, chosen)}
    return attach_optimum(problem, point, "branch and bound")


def _miss_weight(near: list[frozenset[int]], weights: Array, nodes: tuple[int, ...]) -> float:
    return -float(sum(weights[node] for node in set[int]().union(*(near[node] for node in nodes))))


def find_best_cover(near: np.ndarray, weights: Array, chosen: int) -> tuple[int, ...]:
    """Return nodes that cover the greatest weight, sorted, by branch and bound.

    near: whether the row's node covers the column's node (n, n).
    weights: weights of the nodes, from 0 (n,).
    chosen: number of nodes to return, 1 to n.

    The gain of r more nodes is at most the sum of the r largest gains, because the covered weight is submodular.
    Source: Nemhauser, Wolsey and Fisher 1978.
    """
    best: tuple[float, tuple[int, ...]] = (-math.inf, ())

    def extend(value: float, nodes: tuple[int, ...], left: Array, candidates: np.ndarray) -> None:
        nonlocal best
        missing = chosen - len(nodes)
        if not missing:
            best = max(best, (value, nodes))
            return
        gains = near[candidates] @ left
        order = np.argsort(-gains, kind="stable")
        candidates, gains = candidates[order], gains[order]
        for i in range(len(candidates) - missing + 1):
            if value + gains[i : i + missing].sum() <= best[0]:
                return
            node = int(candidates[i])
            extend(value + float(gains[i]), (*nodes, node), np.where(near[node], 0.0, left), candidates[i + 1 :])

    extend(0.0, (), weights, np.arange(len(weights)))
    return tuple(sorted(best[1]))
