"""An architecture: an immutable directed acyclic graph of layers, equal to any that is isomorphic to it.

Isomorphic architectures have the same canonical order of layers. Colors of layers are refined along the edges until
they are stable. The layers that still share a color fall into parts, and colors determine all edges between parts. Each
part is ordered separately, so the cost of parallel copies is proportional to their number. Within a part, one of the
layers of equal color is singled out and the search continues, as in McKay & Piperno 2014, "Practical graph isomorphism,
II". A leaf that equals an earlier leaf proves a symmetry, so its branch need not be searched. Parts that are highly
regular but have no symmetry may take exponential time.

The mass of each layer follows the released NASBOT code (Kandasamy et al. 2018, section 3).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import log10
from typing import TYPE_CHECKING, Any

from bostruct.checks import load_by_name, short_repr
from bostruct.contracts import DomainError, Json, MissingExtra, ParsedJson, PointError
from bostruct.display import render_svg
from bostruct.domains.architecture.layers import (
    BUILT_IN,
    Family,
    Label,
    Layer,
    as_layer,
    family_from_json,
    layer_to_json,
)
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

if TYPE_CHECKING:
    from networkx import DiGraph

Form = tuple[tuple[int, ...], ...]
END_SHARE = 0.1
END_FLOOR = 100.0
DENSE_FACTOR = 0.1


class Architecture:
    """An immutable directed acyclic graph of layers.

    Isomorphic architectures are equal. Layers are kept in a topological order, the given one if it is topological. The
    inputs of a layer are concatenated, or added if the family says so. The outputs of decision layers are averaged.
    `halvings` is how often the image has been halved after each layer.

    Parameters
    ----------
    layers : iterable
        `Layer` objects, strings such as ``"conv3-16/2"`` (label, units, stride) or ``"max-pool"``, tuples or dicts of a
        layer's fields. One ``ip``, one ``op``, and at least one decision layer (``softmax``, ``linear``).
    edges : iterable of tuple of (int, int)
        Pairs (from, to) of positions in `layers`.
    family : Family or str, optional
        The family, or its name. By default the first built-in one (``cnn``, ``mlp``, ``cell``, ``mbconv``) with all
        labels.

    Raises
    ------
    PointError
        If an argument is invalid.
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
        self._connect(family, given, check_edges(edges, len(given)))

    def _connect(self, family: Family, given: Sequence[Layer], pairs: Edges) -> None:
        """Set the fields from layers and distinct, sorted edges, in a topological order; raises PointError."""
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

        Parameters
        ----------
        layers : str or sequence
            A list of layers, or a string of them with spaces. ``ip`` and ``op`` are added if missing.
        family : Family or str, optional
            As in `Architecture`.

        Returns
        -------
        Architecture
            The architecture.

        Raises
        ------
        PointError
            If a layer is invalid.

        Examples
        --------
        >>> bo.Architecture.chain("conv3-16 conv3-32/2 max-pool fc-64 softmax")
        Architecture('ip conv3-16 conv3-32/2 max-pool fc-64 softmax op', chain)
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
        """Rebuild an architecture without layer attributes from ``str(architecture)``.

        Parameters
        ----------
        text : str
            Layers as in `chain`, followed by a bar and the edges between their positions unless they form a chain:
            ``ip conv3-8 conv3-8 softmax op | 0>1 0>2 1>3 2>3 3>4``.
        family : Family or str, optional
            As in `Architecture`.

        Raises
        ------
        PointError
            If the text is invalid.
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

        Parameters
        ----------
        data : dict
            Parsed JSON.
        family : Family, optional
            The family, needed if it is not built in.

        Raises
        ------
        PointError
            If the description is invalid.
        """
        if isinstance(data, str):
            raise PointError("expected an object, got a string; json.loads reads one from text")
        if not isinstance(data, Mapping) or not {"family", "layers", "edges"} <= set(data):
            raise PointError(f"expected an object with family, layers and edges, got {short_repr(data)}")
        if family is not None and family.name != data["family"]:
            raise PointError(f"family: expected {family.name}, got {data['family']} in the description")
        return cls(data["layers"], data["edges"], data["family"] if family is None else family)

    def to_json(self) -> Json:
        """Return ``{"family": name, "layers": [shorthand or fields, ...], "edges": [[from, to], ...]}``."""
        layers = [layer_to_json(layer) for layer in self.layers]
        return {"family": self.family.name, "layers": layers, "edges": [list(edge) for edge in self.edges]}

    @classmethod
    def from_networkx(cls, graph: DiGraph, family: Family | str | None = None) -> Architecture:
        """Build an architecture from a directed networkx graph.

        Parameters
        ----------
        graph : networkx.DiGraph
            A graph whose nodes have the fields of a layer (``label``, ``units``, ...) as attributes.
        family : Family or str, optional
            As in `Architecture`.

        Raises
        ------
        PointError
            If the graph is invalid.
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
        """Return a `networkx.DiGraph` of layer positions, with the fields of each layer as attributes."""
        import networkx

        graph = networkx.DiGraph(family=self.family.name)
        for u, layer in enumerate(self.layers):
            graph.add_node(u, **(layer._asdict() | {"attributes": dict(layer.attributes)}))
        graph.add_edges_from(self.edges)
        return graph

    def to_dot(self) -> str:
        """Return the architecture in the DOT language of Graphviz."""
        labels = [self.family.by_name[layer.label] for layer in self.layers]
        return architecture_dot([str(layer) for layer in self.layers], labels, self.edges)

    def to_svg(self) -> str:
        """Draw the architecture as SVG.

        Raises
        ------
        MissingExtra
            If the extra ``plot`` or Graphviz is not installed.
        """
        return render_svg(self.to_dot())

    def _repr_svg_(self) -> str | None:
        """Return the drawing for notebooks; None without matplotlib, so that they show the text."""
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
        """Return the layers, and the edges unless they form a chain, on one line that `from_text` can read."""
        names = " ".join(map(str, self.layers))
        if self.edges == tuple(pairwise(range(len(self.layers)))):
            return names
        return f"{names} | {' '.join(f'{u}>{v}' for u, v in self.edges)}"

    def to_text(self) -> str:
        """Return one line for each layer: its position, the layer, and the layers that it feeds."""
        return "\n".join(
            f"{u} {layer}" + (f" > {' '.join(map(str, self.children[u]))}" if self.children[u] else "")
            for u, layer in enumerate(self.layers)
        )

    @cached_property
    def canonical(self) -> tuple[tuple[Layer, ...], Edges]:
        """The layers in an order that is the same for all isomorphic architectures, and the edges between them."""
        order = canonical_order(_layer_texts(self.layers), self.parents, self.children)
        place = {u: position for position, u in enumerate(order)}
        edges = tuple(sorted((place[u], place[v]) for u, v in self.edges))
        return tuple(self.layers[u] for u in order), edges

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that are equal if and only if architectures of one family are isomorphic."""
        layers, edges = self.canonical
        text = f"({self.family.identity!r}, [{', '.join(_layer_texts(layers))}], {edges})"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @cached_property
    def channels(self) -> tuple[int, ...]:
        """The output channels (units, features) of each layer: 1 for the input, unchanged by a layer without units."""
        leaving: list[int] = []
        for u, layer in enumerate(self.layers):
            leaving.append(layer.units or self._entering_channels(u, leaving) or 1)
        return tuple(leaving)

    @cached_property
    def hops_from_input(self) -> tuple[int, ...]:
        """The fewest edges from the input to each layer."""
        hops: list[int] = []
        for above in self.parents:
            hops.append(1 + min(map(hops.__getitem__, above)) if above else 0)
        return tuple(hops)

    @cached_property
    def hops_to_output(self) -> tuple[int, ...]:
        """The fewest edges from each layer to the output."""
        hops = [0] * len(self.layers)
        for u in reversed(range(len(self.layers) - 1)):
            hops[u] = 1 + min(map(hops.__getitem__, self.children[u]))
        return tuple(hops)

    @cached_property
    def masses(self) -> tuple[float, ...]:
        """The mass of each layer: units times incoming channels for a processing layer, 0 for any other.

        A processing layer without units has its incoming channels as its mass (Kandasamy et al. 2018, section 3).
        Distances apply their factors to these masses.

        Raises PointError if a mass is above 1e150, because repeated concatenation multiplies channels.
        """
        masses: list[int] = []
        for u, layer in enumerate(self.layers):
            processing = self.family.by_name[layer.label].role == "processing"
            masses.append((layer.units or 1) * self._entering_channels(u, self.channels) if processing else 0)
        if (largest := max(masses)) > MAX_MASS:
            u = masses.index(largest)
            limit = f"at most {MAX_MASS:g}, got 10^{log10(largest):.0f}"
            raise PointError(f"layer {u} ({self.layers[u]}): expected a mass, units times input channels, of {limit}")
        return tuple(map(float, masses))

    def _entering_channels(self, u: int, leaving: Sequence[int]) -> int:
        """Return the input channels of a layer, given the output channels of earlier layers.

        Layers that are added should have equal numbers of channels.
        """
        arriving = [leaving[p] for p in self.parents[u]]
        return sum(arriving) if self.family.joins == "concatenates" else max(arriving, default=0)


def replace_layers(x: Architecture, changed: Mapping[int, Layer]) -> Architecture:
    """Return an architecture with other layers at some positions, and the same edges; raises PointError."""
    layers = tuple(changed.get(u, layer) for u, layer in enumerate(x.layers))
    check_layers(x.family, layers)
    halvings = x.halvings
    if any(layer[::2] != x.layers[u][::2] for u, layer in changed.items()):  # another label or stride
        check_graph(x.family, layers, x.parents, x.children)
        halvings = image_halvings(x.family, layers, x.parents, range(len(x))) if x.family.image else halvings
    other = object.__new__(Architecture)
    vars(other).update(family=x.family, layers=layers, edges=x.edges)
    vars(other).update(parents=x.parents, children=x.children, halvings=halvings)
    return other


def rewire(x: Architecture, layers: Sequence[Layer], edges: Iterable[tuple[int, int]]) -> Architecture:
    """Return an architecture of the family of x, with distinct edges between distinct layers; raises PointError."""
    check_layers(x.family, layers)
    other = object.__new__(Architecture)
    other._connect(x.family, layers, tuple(sorted(edges)))
    return other


def check_architecture(x: object, family: Family) -> Architecture:
    """Return x if it is an `Architecture` of the family; raises PointError."""
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
    if (known := next((one for one in BUILT_IN.values() if labels <= one.by_name.keys()), None)) is not None:
        return known
    missing = {name: sorted(labels - family.by_name.keys()) for name, family in BUILT_IN.items()}
    lacking = "; ".join(f"{name} lacks {', '.join(unknown)}" for name, unknown in missing.items())
    raise PointError(
        f"no family has all of these labels: {lacking}; use one of their labels as layer=, or pass your own family as "
        "family= of Architecture or Program.to_architecture, which nasbot does not use"
    )


COLORS = {"input": "#f2c9d4", "output": "#f2c9d4", "decision": "#cfe8cf"}
GROUP_COLORS = {"pool": "#dfe7f5", "fc": "#f6e5c3"}


def layer_color(label: Label) -> str:
    """Return a layer's fill color: ends and decision layers as in the paper's figures, pools and fc layers tinted."""
    return COLORS.get(label.role) or GROUP_COLORS.get(label.group or "", "#ffffff")


def architecture_dot(names: Sequence[str], labels: Sequence[Label], edges: Iterable[tuple[int, int]]) -> str:
    """Write one box per layer, from the input at the top."""
    lines = ["digraph architecture {", '  node [shape=box, style="filled,rounded", fontname="Helvetica"];']
    for u, (name, label) in enumerate(zip(names, labels, strict=True)):
        text = f"{u}: {name}".replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  {u} [label="{text}", fillcolor="{layer_color(label)}"];')
    lines += [f"  {u} -> {v};" for u, v in edges]
    return "\n".join([*lines, "}", ""])


def _layer_texts(layers: Sequence[Layer]) -> list[str]:
    return [f"({label!r}, {units}, {stride}, {attributes!r})" for label, units, stride, attributes in layers]


def canonical_order(keys: Sequence[str], parents: AdjacencyLists, children: AdjacencyLists) -> list[int]:
    """Return the layers in canonical order."""
    colors = _initial_colors(keys, parents, children)
    if len(set(colors)) < len(colors):
        colors = _break_twins(colors, parents, children)
    if len(set(colors)) < len(colors):
        colors = _canonical_form(colors, parents, children)[1]
    return sorted(range(len(colors)), key=colors.__getitem__)


def _ranks(signatures: Sequence[Any]) -> list[int]:
    """Return dense ranks, so that a color depends on the signature of a layer, never on its position."""
    rank = {signature: r for r, signature in enumerate(sorted(set(signatures)))}
    return [rank[signature] for signature in signatures]


def _initial_colors(keys: Sequence[str], parents: AdjacencyLists, children: AdjacencyLists) -> list[int]:
    """Color layers by their ancestors in a sweep down, then by their descendants in a sweep up, depth by depth."""
    n = len(keys)
    depth, height = [0] * n, [0] * n
    for v in range(n):
        if parents[v]:
            depth[v] = 1 + max(map(depth.__getitem__, parents[v]))
    for u in reversed(range(n)):
        if children[u]:
            height[u] = 1 + max(map(height.__getitem__, children[u]))
    return _sweep_depths(_sweep_depths(_ranks(keys), depth, parents), height, children)


def _sweep_depths(own: Sequence[int], depth: Sequence[int], above: AdjacencyLists) -> list[int]:
    """Color layers by depth, then own color, then the colors of the layers above, which have smaller depths."""
    levels: list[list[int]] = [[] for _ in range(max(depth) + 1)]
    for v, d in enumerate(depth):
        levels[d].append(v)
    colors, met = [0] * len(own), 0
    for level in levels:
        if len(level) == 1:
            colors[level[0]], met = met, met + 1
            continue
        ranks = _ranks([(own[v], _sorted_colors(colors, above[v])) for v in level])
        for v, rank in zip(level, ranks, strict=True):
            colors[v] = met + rank
        met += 1 + max(ranks)
    return colors


def _sorted_colors(colors: Sequence[Any], layers: Sequence[int]) -> tuple[object, ...]:
    """Return the sorted colors of some layers, with repeats."""
    return (colors[layers[0]],) if len(layers) == 1 else tuple(sorted(map(colors.__getitem__, layers)))


def _break_twins(colors: Sequence[int], parents: AdjacencyLists, children: AdjacencyLists) -> list[int]:
    """Order layers with equal colors, parents and children arbitrarily, because they are interchangeable."""
    met: dict[object, int] = {}
    turns = []
    for twin in zip(colors, parents, children, strict=True):
        turns.append((twin[0], met.get(twin, 0)))
        met[twin] = turns[-1][1] + 1
    return _ranks(turns)


def _refine_labels(colors: list[int], parents: AdjacencyLists, children: AdjacencyLists) -> list[int]:
    n_colors = len(set(colors))
    while True:
        near = zip(colors, parents, children, strict=True)
        colors = _ranks([(own, _sorted_colors(colors, p), _sorted_colors(colors, c)) for own, p, c in near])
        if len(set(colors)) == n_colors:
            return colors
        n_colors = len(set(colors))


def _canonical_form(colors: list[int], parents: AdjacencyLists, children: AdjacencyLists) -> tuple[Form, list[int]]:
    """Return a form that is independent of the order of the layers, and the distinct colors that give it."""
    colors = _refine_labels(colors, parents, children)
    parts = _components(colors, parents, children)
    if len(parts) == 1 and len(parts[0]) == len(colors):
        return _least_form(colors, parents, children)
    if parts:
        colors = _order_parts(colors, parts, parents, children)
    return _form(colors, children), colors


def _order_parts(
    colors: list[int], parts: list[list[int]], parents: AdjacencyLists, children: AdjacencyLists
) -> list[int]:
    """Order each part separately.

    The colors of its layers determine the edges to other parts; parts with equal forms are interchangeable.
    """
    found = []
    for part in parts:
        place = {v: i for i, v in enumerate(part)}
        inner = [tuple(tuple(place[w] for w in near[v] if w in place) for v in part) for near in (parents, children)]
        form, order = _canonical_form(_ranks([colors[v] for v in part]), *inner)
        found.append((sorted(colors[v] for v in part), form, dict(zip(part, order, strict=True))))
    turns = [(0, 0)] * len(colors)
    for turn, (_, _, order) in enumerate(sorted(found, key=lambda one: one[:2])):
        for v, place in order.items():
            turns[v] = (turn, place)
    return _ranks([(color, turns[v]) for v, color in enumerate(colors)])


def _least_form(colors: list[int], parents: AdjacencyLists, children: AdjacencyLists) -> tuple[Form, list[int]]:
    """Return the least form over all choices of one layer to single out from the first shared color."""
    probed: dict[Form, list[int]] = {}
    for v in _shared_cells(colors)[0]:
        alone = _individualize(colors, v)
        leaf = _form(_first_leaf(alone, parents, children), children)
        probed.setdefault(leaf, alone)  # a repeated leaf: a symmetry maps an earlier layer of the cell to v
    return min(_canonical_form(alone, parents, children) for alone in probed.values())


def _components(colors: Sequence[int], parents: AdjacencyLists, children: AdjacencyLists) -> list[list[int]]:
    """Group the layers of shared colors into connected components, without edges to all layers of a color."""
    size = Counter(colors)
    waiting, parts = {v for v, color in enumerate(colors) if size[color] > 1}, []
    for first in sorted(waiting):
        if first not in waiting:
            continue
        waiting.remove(first)
        part = [first]
        for v in part:
            for near in (parents[v], children[v]):
                met = Counter(colors[w] for w in near)
                found = [w for w in near if w in waiting and met[colors[w]] < size[colors[w]]]
                waiting.difference_update(found)
                part.extend(found)
        parts.append(sorted(part))
    return parts


def _first_leaf(colors: list[int], parents: AdjacencyLists, children: AdjacencyLists) -> list[int]:
    colors = _refine_labels(colors, parents, children)
    while cells := _shared_cells(colors):
        colors = _refine_labels(_individualize(colors, cells[0][0]), parents, children)
    return colors


def _shared_cells(colors: Sequence[int]) -> list[list[int]]:
    """Return the layers of each shared color, in the order of colors."""
    cells: dict[int, list[int]] = {}
    for v, color in enumerate(colors):
        cells.setdefault(color, []).append(v)
    return [cells[color] for color in sorted(cells) if len(cells[color]) > 1]


def _individualize(colors: Sequence[int], v: int) -> list[int]:
    return _ranks([(color, u != v) for u, color in enumerate(colors)])


def _form(colors: Sequence[int], children: AdjacencyLists) -> Form:
    place = sorted(range(len(colors)), key=colors.__getitem__)
    return tuple(tuple(sorted(colors[v] for v in children[u])) for u in place)


def all_masses(
    architecture: Architecture,
    end_share: float = END_SHARE,
    end_floor: float = END_FLOOR,
    dense_factor: float = DENSE_FACTOR,
) -> list[float]:
    """Return the mass of each layer, including the input, the output and the decision layers.

    end_share, end_floor: the input, the output, and all decision layers together each have the mass
        max(end_share * processing mass, end_floor); both at least 0.
    dense_factor: scales the mass of layers of group ``fc``, above 0.
    """
    by_name = architecture.family.by_name
    labels = [by_name[layer.label] for layer in architecture.layers]
    masses = [
        mass * dense_factor if label.group == "fc" else mass
        for mass, label in zip(architecture.masses, labels, strict=True)
    ]
    end = max(end_share * math.fsum(masses), end_floor)
    n_decisions = sum(label.role == "decision" for label in labels)
    shares = {"input": end, "output": end, "decision": end / n_decisions}
    return [shares.get(label.role, mass) for mass, label in zip(masses, labels, strict=True)]


def summarize(x: Architecture) -> dict[str, float]:
    """Return numbers that describe an architecture, by name: its size, depth, units, masses, and layers of each label.

    Units and masses, which range over orders of magnitude, are logarithms.
    """
    units = [layer.units for layer in x.layers if layer.units is not None]
    labels = Counter(layer.label for layer in x.layers)
    return {
        "layers": float(len(x)),
        "edges": float(len(x.edges)),
        "hops": float(max(x.hops_from_input)),
        "strides": float(sum(layer.stride > 1 for layer in x.layers)),
        "mass": math.log1p(sum(x.masses)),
        "largest mass": math.log1p(max(x.masses)),
        "units": math.log1p(sum(units)),
        "least units": math.log1p(min(units, default=0)),
        "most units": math.log1p(max(units, default=0)),
        **{f"layers of {label.name}": float(labels[label.name]) for label in x.family.labels},
    }
