"""The graph of long tables: symmetric, connected, of few neighbors that are alike, whatever the order of the rows."""

from __future__ import annotations

import networkx as nx
import numpy as np

from bostruct.domains.space.candidates import DIRECTIONS, RankedGraph
from bostruct.domains.space.descriptors import Descriptors

N = 300


def build(rng: np.random.Generator, rows=slice(None)) -> RankedGraph:
    numbers = {"a": rng.normal(size=N)[rows], "b": rng.exponential(size=N)[rows]}
    bits = (rng.random((N, 40)) < rng.random((N, 1)))[rows].astype(np.uint8)
    texts = {"t": tuple(np.array(["x", "y", "z"])[rng.integers(3, size=N)][rows].tolist())}
    return RankedGraph(Descriptors(numbers, bits, tuple(map(str, range(40))), texts))


def test_neighbors_are_symmetric_few_and_connect_all():
    graph = build(np.random.default_rng(0))
    near = [graph.neighbors(v).tolist() for v in range(N)]
    edges = {(v, w) for v, found in enumerate(near) for w in found}
    assert all((w, v) in edges and v != w for v, w in edges)
    assert nx.is_connected(nx.Graph(edges))
    assert max(map(len, near)) <= 2 * DIRECTIONS * 9


def test_neighbors_do_not_depend_on_the_order_of_the_rows():
    order = np.random.default_rng(1).permutation(N)
    graph, other = build(np.random.default_rng(0)), build(np.random.default_rng(0), order)
    for v in range(0, N, 17):
        assert sorted(order[other.neighbors(v)].tolist()) == graph.neighbors(int(order[v])).tolist()


def test_the_nearest_of_a_line_are_neighbors():
    values = np.random.default_rng(0).normal(size=N)
    graph = RankedGraph(Descriptors({"a": values}, np.zeros((N, 0), np.uint8)))
    order = np.argsort(values).tolist()
    assert {order[9], order[11], order[12], order[8]} <= set(graph.neighbors(order[10]).tolist())


def test_its_laplacian_is_that_of_its_neighbors():
    graph = build(np.random.default_rng(0))
    laplacian = graph.laplacian()
    np.testing.assert_array_equal(laplacian, laplacian.T)
    np.testing.assert_array_equal(laplacian.diagonal(), [len(graph.neighbors(v)) for v in range(N)])
