"""A graph of items as users give it: what is read, and what is refused by name."""

import networkx as nx
import pytest

from bostruct.contracts import DomainError
from bostruct.domains.space.discrete import Categorical
from bostruct.domains.space.graphs import read_item_graph

ITEMS = list("abcd")
EDGES = [("a", "b"), ("b", "c", 2.5), ("d", "c")]


def read(graph):
    return read_item_graph("Subset", graph, ITEMS, lambda item: Categorical(ITEMS).parse(item)[0])


def test_edges_and_networkx_graphs_are_read_alike():
    graph = nx.Graph([("a", "b"), ("c", "d")])
    graph.add_edge("c", "b", weight=2.5)
    for given in (EDGES, tuple(EDGES), graph):
        assert read(given).edges == ((0, 1, 1.0), (1, 2, 2.5), (2, 3, 1.0))


REFUSED = [
    ([("a", "b"), ("b", "z")], "Subset: graph: an edge ends at an unknown item: expected one of .*, got 'z'"),
    ([("a", "b"), ("c", "d")], r"connect all items, .* got 2 parts, such as \['a', 'b'\] and \['c', 'd'\]"),
    ([("a", "b"), ("b", "c")], r"got 2 parts, such as \['a', 'b', 'c'\] and \['d'\]"),
    ([*EDGES, ("b", "a")], "Subset: graph: expected each edge once, got 'a' to 'b' more than once"),
    ([("a", "a")], "Subset: graph: expected no self loops, got 'a' to 'a'"),
    ([("a", "b", -1.0)], r"Subset: graph: expected edge weights from 1e-300 to 1e\+300, got -1.0 for 'a' to 'b'$"),
    ([("a",)], r"Subset: graph: expected edges \(item, item\), got \('a',\)"),
    (["ab"], "Subset: graph: expected edges"),
    (nx.DiGraph([("a", "b")]), "Subset: graph: expected an undirected simple networkx graph"),
    (7, "Subset: graph: expected an undirected simple networkx graph or a list of edges between items, got 7"),
]


@pytest.mark.parametrize(("graph", "message"), REFUSED)
def test_bad_graphs_are_refused(graph, message):
    with pytest.raises(DomainError, match=message):
        read(graph)
