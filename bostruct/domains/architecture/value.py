"""An architecture: an immutable directed acyclic graph of layers, equal to any that is isomorphic to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import log10
from typing import TYPE_CHECKING

from bostruct.checks import load_by_name, short_repr
from bostruct.contracts import DomainError, Json, MissingExtra, ParsedJson, PointError
from bostruct.domains.architecture.canonical import canonical_order
from bostruct.domains.architecture.dot import architecture_dot
from bostruct.domains.architecture.labels import BUILT_IN, Family, family_from_json
from bostruct.domains.architecture.layers import Layer, as_layer, layer_to_json
from bostruct.domains.architecture.validity import (
    MAX_MASS,
    AdjacencyLists,
    Edges,
    adjacency,
    check_edges,
    check_graph,
    check_layers,
    image_halvings,
    topological_order,
)
from bostruct.domains.graphviz import render_svg

if TYPE_CHECKING:
    from networkx import DiGraph


class Architecture:
    """An immutable directed acyclic graph of layers.

    layers: `Layer`s, strings such as ``"conv3-16/2"`` (label, units, stride) or ``"max-pool"``, tuples or mappings of a
        layer's fields; one ``ip``, one ``op``, at least one decision layer (``softmax``, ``linear``).
    edges: pairs (from, to) of positions in `layers`.
    family: a `Family` or its name; by default the first of the package's (``cnn``, ``mlp``, ``cell``, ``mbconv``) that
        knows every label.

    Isomorphic architectures are equal. Layers are kept in a topological order, the one given where it is one. A layer's
    inputs are concatenated, or added where the family says so; the decision layers are averaged. `halvings` says how
    often the image was halved once it has left each layer; None without one.

    Raises PointError, which names the layer that is wrong.
    """

    family: Family
    layers: tuple[Layer, ...]
    edges: Edges
    parents: AdjacencyLists
    children: AdjacencyLists
    halvings: tuple[int | None, ...]

    def __init__(
        self, layers: Iterable[object], edges: Iterable[Sequence[int]], family: Family | str | None = None
    ) -> None:
        if isinstance(layers, str | Mapping) or not isinstance(layers, Iterable):
            raise PointError(f"layers: expected a sequence of layers, got {short_repr(layers)}")
        given = [as_layer(layer, f"layer {u}") for u, layer in enumerate(layers)]
        family = _resolve_family(family, given)
        check_layers(family, given)
        pairs = check_edges(edges, len(given))
        parents, children = adjacency(pairs, len(given))
        order = topological_order(parents, children)
        check_graph(family, given, parents, children)
        halvings = image_halvings(family, given, parents, order) if family.image else (None,) * len(given)
        if order != list(range(len(given))):
            place = {u: position for position, u in enumerate(order)}
            given, halvings = [given[u] for u in order], tuple(halvings[u] for u in order)
            pairs = tuple(sorted((place[u], place[v]) for u, v in pairs))
            parents, children = adjacency(pairs, len(given))
        vars(self).update(family=family, layers=tuple(given), edges=pairs)
        vars(self).update(parents=parents, children=children, halvings=halvings)

    @classmethod
    def chain(cls, layers: str | Sequence[object], family: Family | str | None = None) -> Architecture:
        """Build an architecture in which each layer feeds the next.

        layers: a list of layers, or a string, which is split at spaces; ``ip`` and ``op`` are added where missing.
        family: as of `Architecture`.

        ``Architecture.chain("conv3-16 conv3-32/2 max-pool fc-64 softmax")``

        Raises PointError.
        """
        sequence = layers.split() if isinstance(layers, str) else layers
        given = [as_layer(layer, f"layer {u}") for u, layer in enumerate(sequence)]
        ends = _resolve_family(family, given)
        if not given or given[0].label != ends.input.name:
            given.insert(0, Layer(ends.input.name))
        if given[-1].label != ends.output.name:
            given.append(Layer(ends.output.name))
        return cls(given, pairwise(range(len(given))), ends)

    @classmethod
    def from_text(cls, text: str, family: Family | str | None = None) -> Architecture:
        """Rebuild an architecture from what ``str`` of it gives, unless layers have attributes.

        text: the layers, as of `chain`; without edges each feeds the next; else a bar and edges between their numbers,
            ``ip conv3-8 conv3-8 softmax op | 0>1 0>2 1>3 2>3 3>4``.
        family: as of `Architecture`.

        Raises PointError.
        """
        if not isinstance(text, str):
            raise PointError(f"text: expected a string, got {short_repr(text)}")
        layers, bar, edges = text.partition("|")
        if not bar:
            return cls.chain(layers, family)
        pairs = [tuple(edge.split(">")) for edge in edges.split()]
        for pair in pairs:
            if len(pair) != 2 or not all(end.isdecimal() and len(end) < 10 for end in pair):
                raise PointError(
                    f"edges: expected pairs of layer numbers such as 0>1, got {short_repr('>'.join(pair))}"
                )
        return cls(layers.split(), [(int(u), int(v)) for u, v in pairs], family)

    @classmethod
    def from_json(cls, data: ParsedJson, family: Family | None = None) -> Architecture:
        """Rebuild an architecture from the result of `to_json`.

        data: the dict that `to_json` returns.
        family: `Family`, needed where the architecture is of none of the built-in ones.

        Raises PointError.
        """
        if isinstance(data, str):
            raise PointError("expected an object, got a string; json.loads reads one from text")
        if not isinstance(data, Mapping) or not {"family", "layers", "edges"} <= set(data):
            raise PointError(f"expected an object with family, layers and edges, got {short_repr(data)}")
        if family is not None and family.name != data["family"]:
            raise PointError(f"family: expected {family.name}, the description says {data['family']}")
        return cls(data["layers"], data["edges"], data["family"] if family is None else family)

    def to_json(self) -> Json:
        """Return ``{"family": name, "layers": [shorthand or fields, ...], "edges": [[from, to], ...]}``."""
        layers = [layer_to_json(layer) for layer in self.layers]
        return {"family": self.family.name, "layers": layers, "edges": [list(edge) for edge in self.edges]}

    @classmethod
    def from_networkx(cls, graph: DiGraph, family: Family | str | None = None) -> Architecture:
        """Build an architecture from a directed networkx graph.

        graph: `networkx.DiGraph` whose nodes hold the fields of a layer (``label``, ``units``, ...) as node data.
        family: as of `Architecture`.

        Raises PointError.
        """
        is_directed = getattr(graph, "is_directed", None)
        if not callable(is_directed) or not is_directed() or graph.is_multigraph():
            raise PointError(f"graph: expected a networkx.DiGraph, got {short_repr(graph)}")
        place = {node: u for u, node in enumerate(graph.nodes)}
        layers = [
            as_layer(data["label"] if set(data) == {"label"} else data, f"node {short_repr(node)}")
            for node, data in graph.nodes(data=True)
        ]
        return cls(layers, [(place[u], place[v]) for u, v in graph.edges], family)

    def to_networkx(self) -> DiGraph:
        """Return a `networkx.DiGraph` of layer numbers, with the fields of each layer as node data."""
        import networkx

        graph = networkx.DiGraph(family=self.family.name)
        for u, layer in enumerate(self.layers):
            graph.add_node(u, **(layer._asdict() | {"attributes": dict(layer.attributes)}))
        graph.add_edges_from(self.edges)
        return graph

    def to_dot(self) -> str:
        """Return the architecture in Graphviz's language."""
        labels = [self.family.by_name[layer.label] for layer in self.layers]
        return architecture_dot([str(layer) for layer in self.layers], labels, self.edges)

    def to_svg(self) -> str:
        """Draw the architecture as SVG; raises MissingExtra without the extra ``plot`` or the Graphviz program."""
        return render_svg(self.to_dot())

    def _repr_svg_(self) -> str | None:
        """Return the drawing that notebooks show; None, for them to show the text, without matplotlib."""
        try:
            return load_by_name(f"{__package__}.drawing:draw_svg")(self)
        except MissingExtra:
            return None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Architecture is immutable; build another instead of setting {name}")

    def __len__(self) -> int:
        return len(self.layers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Architecture) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        chained = self.edges == tuple(pairwise(range(len(self.layers))))
        names = " ".join(map(str, self.layers))
        return f"Architecture({short_repr(names, 100)}, {'chain' if chained else f'{len(self.edges)} edges'})"

    def __str__(self) -> str:
        """Return all of it on one line: the layers, then the edges unless each layer feeds the next: `from_text`."""
        names = " ".join(map(str, self.layers))
        if self.edges == tuple(pairwise(range(len(self.layers)))):
            return names
        return f"{names} | {' '.join(f'{u}>{v}' for u, v in self.edges)}"

    def to_text(self) -> str:
        """Return one line per layer: its number, the layer, the layers it feeds."""
        return "\n".join(
            f"{u} {layer}" + (f" > {' '.join(map(str, self.children[u]))}" if self.children[u] else "")
            for u, layer in enumerate(self.layers)
        )

    @cached_property
    def canonical_positions(self) -> tuple[int, ...]:
        """The position of each layer in an order that is the same for every isomorphic architecture."""
        order = canonical_order([repr(tuple(layer)) for layer in self.layers], self.parents, self.children)
        canonical_positions = [0] * len(order)
        for place, u in enumerate(order):
            canonical_positions[u] = place
        return tuple(canonical_positions)

    @cached_property
    def canonical(self) -> tuple[tuple[Layer, ...], Edges]:
        """The layers in the order of `canonical_positions`, and the edges between them."""
        order = sorted(range(len(self.layers)), key=self.canonical_positions.__getitem__)
        edges = tuple(sorted((self.canonical_positions[u], self.canonical_positions[v]) for u, v in self.edges))
        return tuple(self.layers[u] for u in order), edges

    @cached_property
    def fingerprint(self) -> str:
        """The 32 hexadecimal digits that are equal exactly for isomorphic architectures of one family."""
        layers, edges = self.canonical
        text = repr((self.family.identity, [tuple(layer) for layer in layers], edges))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @cached_property
    def channels(self) -> tuple[int, ...]:
        """The channels (units, features) that leave each layer: 1 from the input; a layer without units passes on."""
        leaving: list[int] = []
        for u, layer in enumerate(self.layers):
            leaving.append(layer.units or self._entering_channels(u, leaving) or 1)
        return tuple(leaving)

    @cached_property
    def hops_from_input(self) -> tuple[int, ...]:
        """The fewest edges from the input to each layer."""
        hops: list[int] = []
        for above in self.parents:
            hops.append(1 + min(hops[u] for u in above) if above else 0)
        return tuple(hops)

    @cached_property
    def hops_to_output(self) -> tuple[int, ...]:
        """The fewest edges from each layer to the output."""
        hops = [0] * len(self.layers)
        for u in reversed(range(len(self.layers) - 1)):
            hops[u] = 1 + min(hops[v] for v in self.children[u])
        return tuple(hops)

    @cached_property
    def masses(self) -> tuple[float, ...]:
        """The mass of each layer: units times incoming channels for a processing layer, 0 for any other.

        A processing layer without units has its incoming channels as its mass (Kandasamy et al. 2018, section 3).
        Factors that a distance puts on masses come later.

        Raises PointError where a mass is above 1e150, as channels may grow that are concatenated again and again.
        """
        masses: list[int] = []
        for u, layer in enumerate(self.layers):
            entering = self._entering_channels(u, self.channels)
            processing = self.family.by_name[layer.label].role == "processing"
            masses.append((layer.units or 1) * entering if processing else 0)
        if (largest := max(masses)) > MAX_MASS:
            u = masses.index(largest)
            told = f"at most {MAX_MASS:g}, got 10^{log10(largest):.0f}"
            raise PointError(f"layer {u} ({self.layers[u]}): expected a mass, units times entering channels, of {told}")
        return tuple(map(float, masses))

    def _entering_channels(self, u: int, leaving: Sequence[int]) -> int:
        """Return the channels that enter a layer, from those that leave its parents.

        Layers that are added should have equally many.
        """
        arriving = [leaving[p] for p in self.parents[u]]
        return sum(arriving) if self.family.joins == "concatenates" else max(arriving, default=0)


def check_architecture(x: object, family: Family) -> Architecture:
    """Return x where it is an `Architecture` of the family; raises PointError.

    x: anything.
    family: `Family`.
    """
    if not isinstance(x, Architecture):
        raise PointError(f"expected an Architecture, got {short_repr(x)}")
    if x.family is not family and x.family != family:
        other = x.family.name if x.family.name != family.name else "another family of that name"
        raise PointError(f"expected an architecture of the family {family.name}, got one of {other}")
    return x


def _resolve_family(given: Family | str | None, layers: Sequence[Layer]) -> Family:
    if isinstance(given, Family):
        return given
    if isinstance(given, str):
        try:
            return family_from_json(given)
        except DomainError as error:
            raise PointError(str(error)) from None
    if given is not None:
        raise PointError(f"family: expected a Family, its name or None, got {short_repr(given)}")
    labels = {layer.label for layer in layers}
    for family in BUILT_IN.values():
        if labels <= family.by_name.keys():
            return family
    missing = {name: sorted(labels - family.by_name.keys()) for name, family in BUILT_IN.items()}
    told = "; ".join(f"{name} does not know {', '.join(unknown)}" for name, unknown in missing.items())
    raise PointError(f"no family knows all of these labels: {told}; for others pass family=")
