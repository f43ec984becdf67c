"""Canonical orders of graphs that are hard to put in order: regular, symmetric or not, alone and side by side."""

import random

import pytest

from bostruct.domains.architecture import value
from bostruct.domains.architecture.value import canonical_order

JUMPS = (-5, -2, -4, 2, 5, -2, 2, 5, -2, -5, 4, 2)  # of the Frucht graph: cubic, and without any symmetry
RING = [(v, (v + 1) % 12) for v in range(12)]
FRUCHT = sorted({(min(u, v), max(u, v)) for u, v in [*RING, *((v, (v + jump) % 12) for v, jump in enumerate(JUMPS))]})
PRISM = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5)]
BIPARTITE = [(u, v) for u in range(3) for v in range(3, 6)]  # cubic as the prism is, and another graph
GRAPHS = {"frucht": FRUCHT, "prism": PRISM, "bipartite": BIPARTITE}


def form(graph: list[tuple[int, int]], copies: int, seed: int, joined: bool = False) -> tuple:
    """Of a network between input and output: a layer a vertex, which feeds a layer for each of its edges.

    The layers are shuffled. joined: behind them comes a layer for each vertex again, which all edges feed.
    """
    rng = random.Random(seed)
    edges = [((c, u), (c, v)) for c in range(copies) for u, v in graph]
    vertices = sorted({v for edge in edges for v in edge})
    last = [("again", v) for v in vertices] if joined else []
    for layers in (vertices, edges, last):
        rng.shuffle(layers)
    names = ["ip", *vertices, *edges, *last, "op"]
    place = {name: u for u, name in enumerate(names)}
    pairs = [("ip", v) for v in vertices] + [(v, edge) for edge in edges for v in edge]
    pairs += [(edge, "op") for edge in edges] if not joined else [(edge, v) for edge in edges for v in last]
    pairs += [(v, "op") for v in last]
    children = tuple(tuple(sorted(place[b] for a, b in pairs if a == name)) for name in names)
    parents = tuple(tuple(sorted(place[a] for a, b in pairs if b == name)) for name in names)
    keys = ["a", *"v" * len(vertices), *"e" * len(edges), *"w" * len(last), "z"]
    order = canonical_order(keys, parents, children)
    turn = {u: t for t, u in enumerate(order)}
    return tuple((keys[u], tuple(sorted(turn[v] for v in children[u]))) for u in order)


@pytest.mark.parametrize("joined", [False, True], ids=["apart", "joined"])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_one_form_however_layers_are_listed_and_one_for_each_graph(copies, joined):
    forms = {name: {form(graph, copies, seed, joined) for seed in range(3)} for name, graph in GRAPHS.items()}
    assert all(len(found) == 1 for found in forms.values())
    assert forms["prism"] != forms["bipartite"]


@pytest.mark.parametrize("joined", [False, True], ids=["apart", "joined"])
def test_copies_side_by_side_cost_their_number(monkeypatch, joined):
    refined, colors_met = value._refine_labels, []

    def counting(colors, parents, children):
        colors_met.append(len(colors))
        return refined(colors, parents, children)

    monkeypatch.setattr(value, "_refine_labels", counting)
    costs = []
    for copies in (1, 5):
        colors_met.clear()
        form(FRUCHT, copies, 0, joined)
        costs.append(sum(colors_met))
    assert costs[1] <= 5 * costs[0]
