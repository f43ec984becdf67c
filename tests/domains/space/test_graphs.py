"""The graphs of choices: neighbors, Laplacians, and the networkx graphs that they are made of."""

import networkx as nx
import numpy as np
import pytest

from bostruct.contracts import DomainError
from bostruct.domains.space import graphs
from bostruct.domains.space.graphs import (
    MAX_CHOICES,
    CompleteGraph,
    DyadicGraph,
    PathGraph,
    VariableGraph,
    WeightedGraph,
)

WEIGHTED = WeightedGraph(4, ((0, 1, 2.0), (0, 3, 0.5), (1, 2, 1.0)))


GRAPHS = [CompleteGraph(2), CompleteGraph(5), PathGraph(2), PathGraph(6, 3.0), WEIGHTED, DyadicGraph(9)]


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_laplacian_has_an_entry_for_each_pair_of_neighbors(graph):
    laplacian = graph.laplacian()
    np.testing.assert_array_equal(laplacian, laplacian.T)
    np.testing.assert_array_equal(laplacian.sum(axis=1), 0.0)
    for vertex in range(graph.size):
        near = np.flatnonzero(laplacian[vertex] < 0.0)
        np.testing.assert_array_equal(near, graph.neighbors(vertex))


def test_it_is_that_of_networkx():
    own = nx.Graph()
    own.add_nodes_from("abcd")
    own.add_weighted_edges_from([("b", "a", 2.0), ("d", "a", 0.5), ("b", "c", 1.0)])
    nodes, graph = graphs.weighted_graph(own)
    assert (nodes, graph) == (tuple("abcd"), WEIGHTED)
    np.testing.assert_allclose(graph.laplacian(), nx.laplacian_matrix(own).toarray())


def test_a_long_row_has_steps_that_halve():
    graph = graphs.DyadicGraph(16)
    assert graph.neighbors(5).tolist() == [1, 3, 4, 6, 7, 9, 13]
    assert all(v in graph.neighbors(int(u)) for v in range(16) for u in graph.neighbors(v))
    with pytest.raises(DomainError, match="no Laplacian"):
        DyadicGraph(MAX_CHOICES + 1).laplacian()


class Ring(VariableGraph):
    """A graph that says no more than the base asks for."""

    size = 5

    def neighbors(self, vertex):
        return np.array(sorted({(vertex - 1) % self.size, (vertex + 1) % self.size}))


@pytest.mark.parametrize("graph", [CompleteGraph(2), CompleteGraph(5), PathGraph(2), PathGraph(6), DyadicGraph(16)])
def test_the_laplacian_of_the_base_is_that_of_edges_of_weight_1(graph):
    np.testing.assert_array_equal(VariableGraph.laplacian(graph), graph.laplacian())
    expected = nx.laplacian_matrix(nx.cycle_graph(5)).toarray()
    np.testing.assert_array_equal(Ring().laplacian(), expected)


def test_a_graph_is_rebuilt_from_its_edges_in_any_order():
    assert graphs.weighted_graph_from_json(4, [[2, 1, 1.0], [3, 0, 0.5], [0, 1, 2.0]]) == WEIGHTED
    assert graphs.normalized_edge(3, 0, 1) == (0, 3, 1.0)


@pytest.mark.parametrize(
    ("edge", "message"), [((1, 1, 1.0), "self loops"), ((0, 1, 0.0), "weights"), ((0, 1, "x"), "weights")]
)
def test_what_is_no_edge_is_refused(edge, message):
    with pytest.raises(DomainError, match=message):
        graphs.weighted_graph_from_json(2, [edge])


NO_GRAPHS = [
    (3, "a networkx graph"),
    (nx.DiGraph([(0, 1)]), "undirected"),
    (nx.MultiGraph([(0, 1)]), "simple"),
    (nx.empty_graph(1), "2 to 1000 nodes"),
    (nx.Graph([(0, 1), (2, 3)]), "connected"),
]


@pytest.mark.parametrize(("graph", "message"), NO_GRAPHS)
def test_what_is_no_graph_is_refused(graph, message):
    with pytest.raises(DomainError, match=message):
        graphs.weighted_graph(graph)
