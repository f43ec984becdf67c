"""A canonical order of the layers, the same for isomorphic architectures.

Colors of layers are refined along the edges until they are stable; where equals remain, one of them is singled out and
the search goes on, as in McKay & Piperno 2014, "Practical graph isomorphism, II". A leaf that looks like an earlier one
proves a symmetry, so the branch that it stands for need not be searched: parallel copies of a path cost little.
"""

from __future__ import annotations

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
    """The least form over all ways to tell equals apart, and the colors that show it."""
    colors = _refined(colors, parents, children)
    cell = _first_cell(colors)
    if not cell:
        return _form(colors, children), colors
    probed: dict[Form, list[int]] = {}
    for v in cell:
        alone = _singled_out(colors, v)
        leaf = _form(_any_leaf(alone, parents, children), children)
        probed.setdefault(leaf, alone)  # a leaf seen before: a symmetry takes an earlier layer of the cell to v
    return min(_search(alone, parents, children) for alone in probed.values())


def _any_leaf(colors: list[int], parents: Adjacent, children: Adjacent) -> list[int]:
    colors = _refined(colors, parents, children)
    while cell := _first_cell(colors):
        colors = _refined(_singled_out(colors, cell[0]), parents, children)
    return colors


def _first_cell(colors: Sequence[int]) -> list[int]:
    """Layers of the smallest color that several share; empty where all differ."""
    cells: dict[int, list[int]] = {}
    for v, color in enumerate(colors):
        cells.setdefault(color, []).append(v)
    return next((cells[color] for color in sorted(cells) if len(cells[color]) > 1), [])


def _singled_out(colors: Sequence[int], v: int) -> list[int]:
    return _ranks([(color, u != v) for u, color in enumerate(colors)])


def _form(colors: Sequence[int], children: Adjacent) -> Form:
    place = sorted(range(len(colors)), key=colors.__getitem__)
    return tuple(tuple(sorted(colors[v] for v in children[u])) for u in place)
