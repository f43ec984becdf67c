"""Problems over subsets: knapsacks, with the weight limited or a second objective, and maximum coverage of a graph."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.space import Space
from bostruct.domains.space.subset import Subset
from bostruct.goals.declared import declare_goals
from bostruct.problems.base import ObjectivePoint, StructuredProblem, attach_optimum, read_variable

MOST_WEIGHT, CORRELATION = 100, 10  # weights are 1 to 100, values differ from them by at most 10
LOAD = 0.35  # capacity of the knapsack as a share of the items' total weight
MOST_ITEMS = 1000
MOST_WORTH = 100  # maximum of values and weights
PAIRS = 0.1  # share of pairs of items with additional value
RADIUS, AT_NODES = 0.17, 60  # maximum length of an edge in the unit square for 60 nodes; it scales with their number
MOST_PROVED = (60, 5)  # numbers of nodes and of chosen nodes, for which branch and bound takes 0.2 s


def knapsack(n: int = 40, seed: int = 0) -> StructuredProblem:
    """Return a 0/1 knapsack problem, weakly correlated: minimize minus the value of the packed items.

    The weight is measured, and limited to 35% of the total weight; about one random point of 20 is feasible.

    n: number of items, 1 to 1000.
    seed: seed of values and weights, from 0.

    The optimum is proved by dynamic programming. Raises TypeError, ValueError. Source: Pisinger 2005.
    """
    n = check_integer("items", n, 1, MOST_ITEMS)
    rng = np.random.default_rng([check_integer("seed", seed, 0), 61])
    weights = rng.integers(1, MOST_WEIGHT + 1, n)
    values = np.maximum(weights + rng.integers(-CORRELATION, CORRELATION + 1, n), 1)
    capacity = int(np.floor(LOAD * weights.sum()))
    packed = find_best_packing(values, weights, capacity)
    return StructuredProblem(
        name=f"knapsack:items={n},seed={seed}",
        space=item_space(n),
        objective=partial(_measure_packing, values, weights),
        source="generated: knapsack, weakly correlated, Pisinger 2005",
        goals=declare_goals("minimize", None, {"weight": ("<=", float(capacity))}),
        optimum=-float(values[packed].sum()),
        optimum_source="proved by dynamic programming",
        optimal_point={f"i{i}": bool(own) for i, own in enumerate(packed)},
    )


def biknapsack(n: int = 30, seed: int = 0) -> StructuredProblem:
    """Return a knapsack problem of two objectives: minimize minus the value of the items, and their weight.

    Values and weights are 1 to 100, and a tenth of the pairs of items have an additional value of 1 to 100. The
    reference point of the hypervolume is no value and the weight of all items.

    n: number of items, 1 to 1000.
    seed: seed of values and weights, from 0.

    Raises TypeError, ValueError. Source: Gallo, Hammer and Simeone 1980, for the pairs.
    """
    n = check_integer("items", n, 1, MOST_ITEMS)
    rng = np.random.default_rng([check_integer("seed", seed, 0), 71])
    weights, values = rng.integers(1, MOST_WORTH + 1, (2, n))
    together = np.triu(rng.integers(1, MOST_WORTH + 1, (n, n)) * (rng.random((n, n)) < PAIRS), 1)
    return StructuredProblem(
        name=f"biknapsack:items={n},seed={seed}",
        space=item_space(n),
        objective=partial(_measure_objectives, values, together, weights),
        source="generated: quadratic knapsack, Gallo, Hammer and Simeone 1980",
        goals=declare_goals("minimize", ["minimize", "minimize"], None),
        optimum_source="not known: two objectives have a Pareto front",
        reference=(0.0, float(weights.sum())),
    )


def item_space(n: int) -> Space:
    """Return the space of the subsets of items, with a bit for each item."""
    return Space({f"i{i}": bool for i in range(n)})


def read_items(point: ObjectivePoint) -> np.ndarray:
    """Return the packed items of a point, as a boolean mask (n,)."""
    return np.array([point[f"i{i}"] for i in range(len(point))], dtype=bool)


def _measure_packing(values: IntArray, weights: IntArray, point: ObjectivePoint) -> dict[str, object]:
    packed = read_items(point)
    return {"value": -float(values[packed].sum()), "constraints": {"weight": float(weights[packed].sum())}}


def find_best_packing(values: IntArray, weights: IntArray, capacity: int) -> np.ndarray:
    """Return the items of largest value within a capacity, as a boolean mask (n,), by dynamic programming.

    values: values of the items, from 0 (n,).
    weights: weights of the items, from 1 (n,).
    capacity: maximum weight, from 0.
    """
    best = np.zeros(capacity + 1, dtype=np.int64)  # largest value of the items so far, by maximum weight
    taken = np.zeros((len(values), capacity + 1), dtype=bool)
    for i, (value, weight) in enumerate(zip(values.tolist(), weights.tolist(), strict=True)):
        if weight > capacity:
            continue
        with_it = best[: capacity + 1 - weight] + value
        taken[i, weight:] = with_it > best[weight:]
        best[weight:] = np.maximum(best[weight:], with_it)
    packed = np.zeros(len(values), dtype=bool)
    for i in range(len(values) - 1, -1, -1):
        if taken[i, capacity]:
            packed[i] = True
            capacity -= int(weights[i])
    return packed


def _measure_objectives(
    values: IntArray, together: IntArray, weights: IntArray, point: ObjectivePoint
) -> tuple[float, float]:
    packed = read_items(point).astype(float)
    return -float(packed @ values + packed @ together @ packed), float(packed @ weights)


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
    import networkx as nx

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
