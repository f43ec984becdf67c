"""Check what every architecture must satisfy, with one message each.

The rules are those of Kandasamy et al. 2018, section 2.2, and of the released code.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from bostruct.checks import short_repr
from bostruct.contracts import PointError
from bostruct.domains.architecture.layers import Family, Layer
from bostruct.domains.space.choices import to_python

Edges = tuple[tuple[int, int], ...]
AdjacencyLists = tuple[tuple[int, ...], ...]
MAX_UNITS = 10**9  # of a layer
MAX_MASS = 1e150  # of an architecture: sums and squares of its distances stay finite


def check_layers(family: Family, layers: Sequence[Layer]) -> None:
    """Check labels, units and strides, and that there are exactly one input and one output; raises PointError."""
    known = family.by_name
    for u, (name, units, stride, _) in enumerate(layers):
        label = known.get(name)
        if label is None:
            raise PointError(f"layer {u}: label {name!r} is unknown; the family {family.name} has {', '.join(known)}")
        if label.units and (type(units) is not int or not 1 <= units <= MAX_UNITS):
            allowed = f"a number of units, an integer from 1 to {MAX_UNITS}"
            raise PointError(f"layer {u} ({name}): expected {allowed}, got {short_repr(units)}")
        if units is not None and not label.units:
            raise PointError(f"layer {u} ({name}): a layer of this kind has no units, got {units}")
        if type(stride) is not int or (stride != 1 and (stride != 2 or label.image != "strides")):
            allowed = "stride 1 or 2" if label.image == "strides" else "stride 1"
            raise PointError(f"layer {u} ({name}): expected {allowed}, got {stride}")
    names = [layer.label for layer in layers]
    for label in (family.input, family.output):
        if names.count(label.name) != 1:
            found = [u for u, name in enumerate(names) if name == label.name]
            raise PointError(f"expected exactly one {label.role} layer ({label.name}), got layers {found}")
    decisions = [label.name for label in family.labels if label.role == "decision"]
    if not any(name in names for name in decisions):
        raise PointError(f"expected a decision layer ({' or '.join(decisions)}) before the output, got none")


def check_edges(edges: Any, n: int) -> Edges:
    """Check that edges are distinct pairs of distinct layers, and return them sorted.

    n: int, the number of layers.

    Raises PointError.
    """
    try:
        given = [(u, v) if type(u) is type(v) is int else (to_python(u), to_python(v)) for u, v in edges]
    except (TypeError, ValueError):
        raise PointError(f"edges: expected pairs (from, to) of layer numbers, got {short_repr(edges)}") from None
    for position, (u, v) in enumerate(given):
        if not type(u) is type(v) is int:
            raise PointError(f"edges[{position}]: expected two layer numbers, got {short_repr((u, v))}")
    pairs = sorted(given)
    for position, (u, v) in enumerate(pairs):
        if not (0 <= u < n and 0 <= v < n):
            raise PointError(f"edge {u} > {v}: expected layers between 0 and {n - 1}")
        if u == v:
            raise PointError(f"edge {u} > {v}: a layer cannot feed itself")
        if position and pairs[position - 1] == (u, v):
            raise PointError(f"edge {u} > {v} is given twice")
    return tuple(pairs)


def adjacency(edges: Edges, n: int) -> tuple[AdjacencyLists, AdjacencyLists]:
    """Return the parents and the children of each layer, ascending.

    n: int, the number of layers.
    """
    parents: list[list[int]] = [[] for _ in range(n)]
    children: list[list[int]] = [[] for _ in range(n)]
    for u, v in edges:
        children[u].append(v)
        parents[v].append(u)
    return tuple(map(tuple, parents)), tuple(map(tuple, children))


def topological_order(parents: AdjacencyLists, children: AdjacencyLists) -> list[int]:
    """Return an order with parents before children, as close to the given order as possible.

    Raises PointError that names a cycle.
    """
    waiting = [len(p) for p in parents]
    ready = [u for u, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order = []
    while ready:
        order.append(u := heappop(ready))
        for v in children[u]:
            waiting[v] -= 1
            if waiting[v] == 0:
                heappush(ready, v)
    if len(order) < len(parents):
        raise PointError(f"the edges have a cycle: {_edge_cycle(parents, waiting)}")
    return order


def check_graph(family: Family, layers: Sequence[Layer], parents: AdjacencyLists, children: AdjacencyLists) -> None:
    """Check that every layer lies between input and output, and that decisions come last; raises PointError."""
    roles = [family.by_name[layer.label].role for layer in layers]
    first, last = roles.index("input"), roles.index("output")
    if above := list(parents[first]):
        raise PointError(f"layer {first} ({layers[first].label}) is the input, but layers {above} feed it")
    if below := list(children[last]):
        raise PointError(f"layer {last} ({layers[last].label}) is the output, but it feeds layers {below}")
    for u, (layer, role) in enumerate(zip(layers, roles, strict=True)):
        if role != "input" and not parents[u]:
            raise PointError(f"layer {u} ({layer}) has no parents, so no path from the input reaches it")
        if role != "output" and not children[u]:
            raise PointError(f"layer {u} ({layer}) has no children, so no path from it reaches the output")
        for v in children[u]:
            if (role == "decision") != (v == last):
                decisions = ", ".join(x.name for x in family.labels if x.role == "decision")
                raise PointError(
                    f"edge {u} > {v} ({layer} > {layers[v]}): the output is fed by decision layers ({decisions}), "
                    "and they feed nothing else"
                )


def image_halvings(
    family: Family, layers: Sequence[Layer], parents: AdjacencyLists, order: Sequence[int]
) -> tuple[int | None, ...]:
    """Count how often the image was halved once it has left each layer; None if it has collapsed to features.

    Raises PointError if the parents of a layer differ in this number, if a layer that needs an image gets features, or
    if the input feeds a layer whose label does not allow a stride.
    """
    halved: list[int | None] = [0] * len(layers)
    for v in order:
        label = family.by_name[layers[v].label]
        if label.role == "input":
            continue
        if label.image != "strides" and any(layers[u].label == family.input.name for u in parents[v]):
            allowed = ", ".join(x.name for x in family.labels if x.image == "strides")
            raise PointError(f"layer {v} ({layers[v]}): a child of the input must be one of {allowed}")
        first = parents[v][0]
        for u in parents[v][1:]:
            if halved[u] != halved[first]:
                raise PointError(
                    f"layer {v} ({layers[v]}): its parents give images of different sizes: layer {first} "
                    f"({layers[first]}) {_image_size(halved[first])}, layer {u} ({layers[u]}) {_image_size(halved[u])}"
                )
        given = halved[first]
        if label.image == "collapses" or label.role == "output":
            halved[v] = None
        elif given is None:
            raise PointError(f"layer {v} ({layers[v]}) needs an image; layer {first} ({layers[first]}) has none left")
        else:
            halved[v] = given + (label.image == "halves" or layers[v].stride == 2)
    return tuple(halved)


def _image_size(halvings: int | None) -> str:
    return "features" if halvings is None else f"1/{2**halvings} of the input"


def _edge_cycle(parents: AdjacencyLists, waiting: Sequence[int]) -> str:
    u = next(u for u, count in enumerate(waiting) if count)
    walk: list[int] = []
    while u not in walk:
        walk.append(u)
        u = next(p for p in parents[u] if waiting[p])
    return " > ".join(map(str, [u, *reversed(walk[walk.index(u) :])]))
