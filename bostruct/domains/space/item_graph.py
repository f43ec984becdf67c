"""The graph of the items of a variable, as a user gives it: a networkx graph, or a list of edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bostruct.checks import short_repr
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.graphs import EDGE_WEIGHTS, WeightedGraph, normalized_edge


def read_item_graph(kind: str, graph: object, items: Sequence[Any], find: Callable[[Any], int]) -> WeightedGraph:
    """Return the graph over the positions of items; raise DomainError unless it connects all of them.

    kind: what errors call the variable.
    graph: `networkx.Graph` between items, whose edge attribute `weight` counts, 1 where absent; or a list of edges
        (item, item) or (item, item, weight).
    items: of the variable.
    find: item -> its position; raises PointError for what is none.
    """
    edges: dict[tuple[int, int], float] = {}
    for given in _list_edges(kind, graph):
        a, b = (_find_item(kind, end, find) for end in given[:2])
        told = given[2] if len(given) == 3 else 1.0
        if a == b:
            raise DomainError(f"{kind}: graph: expected no self loops, got {_name(items, a, b)}")
        try:
            first, second, weight = normalized_edge(a, b, told)
        except DomainError:
            raise DomainError(
                f"{kind}: graph: expected {EDGE_WEIGHTS}, got {short_repr(told)} for {_name(items, a, b)}"
            ) from None
        if (first, second) in edges:
            raise DomainError(
                f"{kind}: graph: expected each edge once, got {_name(items, first, second)} more than once"
            )
        edges[first, second] = weight
    found = WeightedGraph(len(items), tuple((a, b, weight) for (a, b), weight in sorted(edges.items())))
    parts = _split(found)
    if len(parts) > 1:
        some = " and ".join(short_repr([items[i] for i in part[:5]]) for part in parts[:2])
        raise DomainError(
            f"{kind}: graph: expected edges that connect all items, so that exchanges reach each subset; got "
            f"{len(parts)} parts, such as {some}"
        )
    return found


def _list_edges(kind: str, graph: Any) -> list[tuple[Any, ...]]:
    if isinstance(graph, list | tuple | set | frozenset):
        for edge in graph:
            if not isinstance(edge, list | tuple) or len(edge) not in (2, 3):
                raise DomainError(f"{kind}: graph: expected edges (item, item), got {short_repr(edge)}")
        return [tuple(edge) for edge in graph]
    import networkx as nx  # here, because it takes longer to import than the rest of the package

    if not isinstance(graph, nx.Graph) or graph.is_directed() or graph.is_multigraph():
        raise DomainError(
            f"{kind}: graph: expected an undirected simple networkx graph or a list of edges between items, "
            f"got {short_repr(graph)}"
        )
    return list(graph.edges(data="weight", default=1.0))


def _find_item(kind: str, end: Any, find: Callable[[Any], int]) -> int:
    try:
        return find(end)
    except PointError as error:
        raise DomainError(f"{kind}: graph: an edge ends at no item: {error}") from None


def _name(items: Sequence[Any], a: int, b: int) -> str:
    return f"{short_repr(items[a])} to {short_repr(items[b])}"


def _split(graph: WeightedGraph) -> list[list[int]]:
    """Return the connected parts, each as its vertices in order."""
    left, parts = set(range(graph.size)), list[list[int]]()
    while left:
        part, queue = set[int](), [min(left)]
        while queue:
            vertex = queue.pop()
            if vertex not in part:
                part.add(vertex)
                queue += graph.neighbors(vertex).tolist()
        parts.append(sorted(part))
        left -= part
    return parts
