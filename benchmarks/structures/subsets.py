"""Subsets of items: features of a data set, and nodes of a graph."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np

import bostruct as bo
from benchmarks.peers.tasks import Point, Task, Value, from_problem
from bostruct.problems.subsets import max_coverage

FEATURES, CHOSEN_FEATURES, FOLDS, NEIGHBORS = 40, 5, 3, 5
NODES, CHOSEN_NODES = 60, 5
PASSES_ON, CASCADES = 0.15, 60  # probability that a node infects a neighbor, and number of simulations


def features(seed: int, data: Path | None = None) -> Task:
    """Make the choice of 5 features of 40 for nearest neighbors: the share of errors in cross-validation.

    The features are scikit-learn's 30 standardized features of breast cancer and 10 features of noise, in random order.

    seed: seed of the noise, the order and the folds.
    data: unused.
    """
    del data
    from sklearn.datasets import load_breast_cancer

    columns, labels = map(np.asarray, load_breast_cancer(return_X_y=True))
    rng = np.random.default_rng([seed, 41])
    noise = rng.normal(size=(len(labels), FEATURES - columns.shape[1]))
    table = np.hstack([(columns - columns.mean(axis=0)) / columns.std(axis=0), noise])[:, rng.permutation(FEATURES)]
    fold = rng.integers(FOLDS, size=len(labels))

    def value(point: Point) -> float:
        chosen = table[:, list(point["features"])]
        wrong = [_count_errors(chosen, labels, fold == k) for k in range(FOLDS)]
        return sum(wrong) / len(labels)

    return Task(bo.Space({"features": bo.Subset(range(FEATURES), CHOSEN_FEATURES)}), value)


def _count_errors(table: np.ndarray, labels: np.ndarray, held: np.ndarray) -> int:
    """Return the number of held-out labels that the five nearest other rows predict wrongly."""
    distances = np.linalg.norm(table[held][:, None] - table[~held], axis=2)
    nearest = np.argpartition(distances, NEIGHBORS, axis=1)[:, :NEIGHBORS]
    return int(np.count_nonzero((labels[~held][nearest].mean(axis=1) > 0.5) != labels[held]))


def coverage(seed: int, data: Path | None = None) -> Task:
    """Make the choice of 5 nodes of 60: minus the weight of the chosen nodes and their neighbors.

    seed: seed of nodes and weights.
    data: unused.
    """
    del data
    return from_problem(max_coverage(NODES, CHOSEN_NODES, seed))


def spread(seed: int, data: Path | None = None) -> Task:
    """Make the choice of 5 nodes of 60 that infect the most nodes: minus the mean of 60 cascades drawn beforehand.

    The graph is a Barabasi-Albert graph (1999), and the cascades are independent (Kempe et al. 2003).

    seed: seed of the graph and the cascades.
    data: unused.
    """
    del data
    graph = nx.barabasi_albert_graph(NODES, 2, seed=seed)
    rng = np.random.default_rng([seed, 43])
    parts, sizes = [], []
    for _ in range(CASCADES):
        kept = nx.Graph()
        kept.add_nodes_from(graph)
        kept.add_edges_from(edge for edge in graph.edges if rng.random() < PASSES_ON)
        part = np.empty(NODES, dtype=np.int64)
        found = list(nx.connected_components(kept))
        for k, nodes in enumerate(found):
            part[list(nodes)] = k
        parts.append(part)
        sizes.append(np.array([len(nodes) for nodes in found]))

    def value(point: Point) -> float:
        chosen = list(point["nodes"])
        reached = [size[np.unique(part[chosen])].sum() for part, size in zip(parts, sizes, strict=True)]
        return -float(np.mean(reached))

    return _choose_nodes(graph, value)


def _choose_nodes(graph: nx.Graph, value: Value) -> Task:
    return Task(bo.Space({"nodes": bo.Subset(list(graph), CHOSEN_NODES, graph=graph)}), value)


SUBSETS = {"features 40/5": features, "coverage 60/5": coverage, "spread 60/5": spread}
TEXT = """\
Which 5 of 40 features serve nearest neighbors best (breast cancer data of scikit-learn, with 10 features of noise), and
which 5 of 60 nodes of a graph cover or infect most of it. The nodes have their graph, `Subset(nodes, 5, graph=graph)`.
**bits with a predicate** is `auto` on a bit for each item with the constraint that five are set. With ten seeds half
the intervals contained zero, so seeds were added."""
