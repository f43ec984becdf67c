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

from bostruct.domains.architecture.validity import Adjacent

Form = tuple[tuple[int, ...], ...]


def canonical_order(keys: Sequence[str], parents: Adjacent, children: Adjacent) -> list[int]:
    """Layers in canonical order. keys: what a layer is apart from its edges; layers in topological order."""
    colors = _along_depths(keys, parents, children)
    if len(set(colors)) < len(colors):
        colors = _search(_twins_apart(colors, parents, children), parents, children)[1]
    return sorted(range(len(colors)), key=colors.__getitem__)


def _ranks(signatures: Sequence[Any]) -> list[int]:
    """Dense ranks, so that a color depends on what a layer is, never on where it was listed."""
    rank = {signature: r for r, signature in enumerate(sorted(set(signatures)))}
    return [rank[signature] for signature in signatures]


def _along_depths(keys: Sequence[str], parents: Adjacent, children: Adjacent) -> list[int]:
    """One sweep down and one up, depth by depth: all that ancestors, then all that descendants, can tell."""
    n = len(keys)
    depth, height = [0] * n, [0] * n
    for v in range(n):
        if parents[v]:
            depth[v] = 1 + max([depth[u] for u in parents[v]])
    for u in reversed(range(n)):
        if children[u]:
            height[u] = 1 + max([height[v] for v in children[u]])
    return _swept(_swept(_ranks(keys), depth, parents), height, children)


def _swept(own: Sequence[int], depth: Sequence[int], above: Adjacent) -> list[int]:
    """Colors by depth, then own color, then the colors of those above, which are of lesser depth."""
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


def _sorted_colors(colors: Sequence[Any], layers: Sequence[int]) -> tuple[Any, ...]:
    """Colors of some layers, in order, repeats kept."""
    return (colors[layers[0]],) if len(layers) == 1 else tuple(sorted(colors[u] for u in layers))


def _twins_apart(colors: Sequence[int], parents: Adjacent, children: Adjacent) -> list[int]:
    """Layers of one color with the same parents and children may change places: any order of them will do."""
    met: dict[tuple[int, tuple[int, ...], tuple[int, ...]], int] = {}
    turns = []
    for u, color in enumerate(colors):
        twin = (color, parents[u], children[u])
        met[twin] = met.get(twin, -1) + 1
        turns.append((color, met[twin]))
    return _ranks(turns)


def _refined(colors: list[int], parents: Adjacent, children: Adjacent) -> list[int]:
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


def _search(colors: list[int], parents: Adjacent, children: Adjacent) -> tuple[Form, list[int]]:
    """A form that depends on no order of the layers, and the colors, now all different, that show it."""
    colors = _refined(colors, parents, children)
    parts = _parts(colors, parents, children)
    if len(parts) == 1 and len(parts[0]) == len(colors):
        return _least(colors, parents, children)
    if parts:
        colors = _told_apart(colors, parts, parents, children)
    return _form(colors, children), colors


def _told_apart(colors: list[int], parts: list[list[int]], parents: Adjacent, children: Adjacent) -> list[int]:
    """Each part ordered for itself: its layers' colors say all about the rest; parts of one form may change places."""
    found = []
    for part in parts:
        place = {v: i for i, v in enumerate(part)}
        inner = [tuple(tuple(place[w] for w in near[v] if w in place) for v in part) for near in (parents, children)]
        form, order = _search(_ranks([colors[v] for v in part]), *inner)
        found.append((sorted(colors[v] for v in part), form, dict(zip(part, order, strict=True))))
    turns = [(0, 0)] * len(colors)
    for turn, (_, _, order) in enumerate(sorted(found, key=lambda one: one[:2])):
        for v, place in order.items():
            turns[v] = (turn, place)
    return _ranks([(color, turns[v]) for v, color in enumerate(colors)])


def _least(colors: list[int], parents: Adjacent, children: Adjacent) -> tuple[Form, list[int]]:
    """The least form over all ways to single out one layer of the first color that several share."""
    probed: dict[Form, list[int]] = {}
    for v in _cells(colors)[0]:
        alone = _singled_out(colors, v)
        leaf = _form(_any_leaf(alone, parents, children), children)
        probed.setdefault(leaf, alone)  # a leaf seen before: a symmetry takes an earlier layer of the cell to v
    return min(_search(alone, parents, children) for alone in probed.values())


def _parts(colors: Sequence[int], parents: Adjacent, children: Adjacent) -> list[list[int]]:
    """Layers whose colors others share, by which of them edges connect; not those to all layers of a color."""
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


def _any_leaf(colors: list[int], parents: Adjacent, children: Adjacent) -> list[int]:
    colors = _refined(colors, parents, children)
    while cells := _cells(colors):
        colors = _refined(_singled_out(colors, cells[0][0]), parents, children)
    return colors


def _cells(colors: Sequence[int]) -> list[list[int]]:
    """Layers of each color that several share, by color."""
    cells: dict[int, list[int]] = {}
    for v, color in enumerate(colors):
        cells.setdefault(color, []).append(v)
    return [cells[color] for color in sorted(cells) if len(cells[color]) > 1]


def _singled_out(colors: Sequence[int], v: int) -> list[int]:
    return _ranks([(color, u != v) for u, color in enumerate(colors)])


def _form(colors: Sequence[int], children: Adjacent) -> Form:
    place = sorted(range(len(colors)), key=colors.__getitem__)
    return tuple(tuple(sorted(colors[v] for v in children[u])) for u in place)
