"""A variable whose choices are the nodes of a graph."""

from __future__ import annotations

from bostruct.contracts import Json, ParsedJson
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import ChoiceVariable, check_choices
from bostruct.domains.space.graphs import WeightedGraph, weighted_graph, weighted_graph_from_json
from bostruct.domains.space.variable import NO_DEFAULT
from bostruct.domains.space.when import When


class Graph(ChoiceVariable):
    """A variable whose choices are the nodes of a graph; its edges are one change.

    graph: connected undirected `networkx.Graph` of 2 to 1000 nodes without loops; edges may have the attribute `weight`
        > 0.
    when: mapping, the conditions under which a point has the variable, see `bostruct.Space`; None for always.
    default: a value, which trials had that were told before the variable existed; see docs/studies.md.

    Raises DomainError.
    """

    graph: WeightedGraph

    def __init__(self, graph: object, *, when: When | None = None, default: object = NO_DEFAULT) -> None:
        nodes, weighted = weighted_graph(graph)
        super().__init__(check_choices("Graph", nodes), weighted, when, default)

    def describe(self) -> dict[str, Json]:
        """Return the nodes and the weighted edges as JSON."""
        return super().describe() | {"edges": [list(edge) for edge in self.graph.edges]}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Graph:
        """Rebuild the variable from what `describe` returned.

        data: with its nodes and weighted edges.

        Raises DomainError where the nodes are Python objects, which no file holds, and for an edge that is a loop or
        has no positive weight.
        """
        nodes, found = choices_from_json(data["choices"]), cls.__new__(cls)
        ChoiceVariable.__init__(found, tuple(nodes), weighted_graph_from_json(len(nodes), data["edges"]))
        return found
