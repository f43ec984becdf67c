"""Hypothesis strategies: random variables of every kind, spaces of them, generators."""

from __future__ import annotations

import zlib
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st

import bostruct as bo
from bostruct.domains.space.variable import Variable

SCALARS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=5), st.booleans(), st.none()
)
OBJECTS = st.one_of(st.tuples(st.integers(0, 9), st.text(max_size=2)), st.lists(st.integers(0, 9), max_size=2))


def rngs() -> st.SearchStrategy[np.random.Generator]:
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def choices(elements: st.SearchStrategy[Any] = SCALARS, most: int = 6) -> st.SearchStrategy[list[Any]]:
    """Two or more that differ, by equality."""
    return st.lists(elements, min_size=2, max_size=most).map(distinct).filter(lambda values: len(values) > 1)


def distinct(values: list[Any]) -> list[Any]:
    return [value for i, value in enumerate(values) if value not in values[:i]]


@st.composite
def integers(draw: st.DrawFn, most: int = 8) -> Variable:
    low = draw(st.integers(-(2**52), 2**52))
    return bo.Integer(low, low + draw(st.integers(1, most - 1)))


@st.composite
def graphs(draw: st.DrawFn, most: int = 7) -> Variable:
    """A random tree over random nodes, some more edges, and weights on some of them."""
    nodes = draw(choices(SCALARS.filter(lambda value: value is not None), most))  # networkx has no node None
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    for i in range(1, len(nodes)):
        graph.add_edge(nodes[draw(st.integers(0, i - 1))], nodes[i])
    pairs = st.tuples(*[st.integers(0, len(nodes) - 1)] * 2).filter(lambda pair: pair[0] != pair[1])
    for a, b in draw(st.lists(pairs, max_size=4)):
        graph.add_edge(nodes[a], nodes[b], weight=draw(st.floats(1e-6, 1e6)))
    return bo.Graph(graph)


def variables() -> st.SearchStrategy[Variable]:
    """Every kind, whose choices are plain JSON values."""
    return st.one_of(
        st.builds(bo.Binary),
        choices().map(bo.Categorical),
        st.builds(bo.Ordinal, choices(), st.floats(1e-6, 1e6)),
        integers(),
        graphs(),
    )


def object_variables() -> st.SearchStrategy[Variable]:
    """Choices that no file holds: tuples and lists."""
    return choices(OBJECTS).map(bo.Categorical)


def spaces(most: int = 5, kinds: st.SearchStrategy[Variable] | None = None) -> st.SearchStrategy[bo.Space]:
    names = st.text(min_size=1, max_size=6)
    return st.dictionaries(names, variables() if kinds is None else kinds, min_size=1, max_size=most).map(bo.Space)


@st.composite
def constrained_spaces(draw: st.DrawFn, most: int = 4) -> bo.Space:
    """A random space of which a random point, and a random share of the others, is valid."""
    free = draw(spaces(most))
    rng = draw(rngs())
    valid, share = free.present(free.sample(1, rng)[0]), draw(st.sampled_from([0.0, 0.1, 0.5, 0.9]))
    salt = int(rng.integers(2**31))

    def lucky(point: dict[str, Any]) -> bool:
        drawn = zlib.crc32(f"{salt} {sorted(point.items())}".encode()) / 2**32  # in [0, 1), the same in every process
        return point == valid or drawn < share

    return bo.Space(free.variables, [lucky])
