"""A canonical order of the layers, the same for isomorphic architectures.

Colors of layers are refined along the edges until they are stable. The layers that still share a color fall into parts
between which colors say all, and each part is ordered for itself, so that copies side by side cost what one costs times
their number. Within a part one of the equals is singled out and the search goes on, as in McKay & Piperno 2014,
"Practical graph isomorphism, II". A leaf that looks like an earlier one proves a symmetry, so the branch that it stands
for need not be searched. Parts that are highly regular and yet have no symmetry may take exponential time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bostruct.domains.architecture.validity import AdjacencyLists

Form = tuple[tuple[int, ...], ...]


def canonical_order(keys: Sequence[str], parents: AdjacencyLists, children: AdjacencyLists) -> list[int]:
    """Return the layers in canonical order.

    keys: for each layer, what it is apart from its edges; layers in topological order.
    parents: the parents of each layer.
    children: the children of each layer.
    """
    colors = _initial_colors(keys, parents, children)
    if len(set(colors)) < len(colors):
        colors = _canonical_form(_break_twins(colors, parents, children), parents, children)[1]
    return sorted(range(len(colors)), key=colors.__getitem__)


def _ranks(signatures: Sequence[Any]) -> list[int]:
    """Return dense ranks, so that a color depends on what a layer is, never on where it was listed."""
    rank = {signature: r for r, signature in enumerate(sorted(set(signatures)))}
    return [rank[signature] for signature in signatures]


def _initial_colors(keys: Sequence[str], parents: AdjacencyLists, children: AdjacencyLists) -> list[int]:
    """Color layers by one sweep down and one up, depth by depth: all that ancestors, then descendants, can tell."""
    n = len(keys)
    depth, height = [0] * n, [0] * n
    for v in range(n):
        if parents[v]:
            depth[v] = 1 + max([depth[u] for u in parents[v]])
    for u in reversed(range(n)):
        if children[u]:
            height[u] = 1 + max([height[v] for v in children[u]])
    return _sweep_depths(_sweep_depths(_ranks(keys), depth, parents), height, children)


def _sweep_depths(own: Sequence[int], depth: Sequence[int], above: AdjacencyLists) -> list[int]:
    """Color layers by depth, then own color, then the colors of those above, which are of lesser depth."""
    levels: list[list[int]] = [[] for _ in range(max(depth) + 1)]
    for v, d in enumerate(depth):
        levels[d].append(v)
    colors, met = [0] * len(own), 0
    for level in levels:
        ranks = [0] if len(level) == 1 else _ranks([(own[v], _sorted_colors(colors, above[v])) for v in level])
        for v, rank in zip(level, ranks, strict=True):
            colors[v] = met + rank
        met += 1 + max(ranks)
    return colors


def _sorted_colors(colors: Sequence[Any], layers: Sequence[int]) -> tuple[object, ...]:
    """Return the colors of some layers, in order, repeats kept."""
    return (colors[layers[0]],) if len(layers) == 1 else tuple(sorted(colors[u] for u in layers))


def _break_twins(colors: Sequence[int], parents: AdjacencyLists, children: AdjacencyLists) -> list[int]:
    """Put layers of one color with the same parents and children in any order: they may change places."""
    met: dict[tuple[int, tuple[int, ...], tuple[int, ...]], int] = {}
    turns = []
    for u, color in enumerate(colors):
        twin = (color, parents[u], children[u])
        met[twin] = met.get(twin, -1) + 1
        turns.append((color, met[twin]))
    return _ranks(turns)


def _refine(colors: list[int], parents: AdjacencyLists, children: AdjacencyLists) -> list[int]:
    n_colors = len(set(colors))
    while True:
        colors = _ranks(
            [
                (own, _sorted_colors(colors, parents[u]), _sorted_colors(colors, children[u]))
                for u, own in enumerate(colors)
            ]
        )
        if len(set(colors)) == n_colors:
            return colors
        n_colors = len(set(colors))


def _canonical_form(colors: list[int], parents: AdjacencyLists, children: AdjacencyLists) -> tuple[Form, list[int]]:
    """Return a form that depends on no order of the layers, and the colors, now all different, that show it."""
    colors = _refine(colors, parents, children)
    parts = _components(colors, parents, children)
    if len(parts) == 1 and len(parts[0]) == len(colors):
        return _least_form(colors, parents, children)
    if parts:
        colors = _order_parts(colors, parts, parents, children)
    return _form(colors, children), colors


def _order_parts(
    colors: list[int], parts: list[list[int]], parents: AdjacencyLists, children: AdjacencyLists
) -> list[int]:
    """Order each part for itself.

    Its layers' colors say all about the rest; parts of one form may change places.
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
    """Return the least form over all ways to single out one layer of the first color that several share."""
    probed: dict[Form, list[int]] = {}
    for v in _shared_cells(colors)[0]:
        alone = _individualize(colors, v)
        leaf = _form(_first_leaf(alone, parents, children), children)
        probed.setdefault(leaf, alone)  # a leaf seen before: a symmetry takes an earlier layer of the cell to v
    return min(_canonical_form(alone, parents, children) for alone in probed.values())


def _components(colors: Sequence[int], parents: AdjacencyLists, children: AdjacencyLists) -> list[list[int]]:
    """Group layers whose colors others share by which of them edges connect; not edges to all layers of a color."""
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
    colors = _refine(colors, parents, children)
    while cells := _shared_cells(colors):
        colors = _refine(_individualize(colors, cells[0][0]), parents, children)
    return colors


def _shared_cells(colors: Sequence[int]) -> list[list[int]]:
    """Return the layers of each color that several share, by color."""
    cells: dict[int, list[int]] = {}
    for v, color in enumerate(colors):
        cells.setdefault(color, []).append(v)
    return [cells[color] for color in sorted(cells) if len(cells[color]) > 1]


def _individualize(colors: Sequence[int], v: int) -> list[int]:
    return _ranks([(color, u != v) for u, color in enumerate(colors)])


def _form(colors: Sequence[int], children: AdjacencyLists) -> Form:
    place = sorted(range(len(colors)), key=colors.__getitem__)
    return tuple(tuple(sorted(colors[v] for v in children[u])) for u in place)
