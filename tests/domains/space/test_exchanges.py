"""How a subset becomes another: lists, draws and moves against what the definitions say."""

import math
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct.domains.space.graphs import WeightedGraph
from bostruct.domains.space.subset import MOST_LISTED, Exchanges, cross_subsets
from tests.strategies import rngs

PATH = WeightedGraph(6, tuple((i, i + 1, 1.0) for i in range(5)))


def draw(rng, n, size):
    return (rng.random(n).argsort().argsort() < size).astype(np.int64)


def list_by_hand(row, exchanges, large_steps):
    """Try all rows, which differ in one item, or in two of which one is in the subset."""
    edges = None if large_steps or exchanges.graph is None else {edge[:2] for edge in exchanges.graph.edges}
    found = set()
    for i in range(exchanges.n):
        for j in range(i, exchanges.n):
            other = row.copy()
            other[i] ^= 1
            if i != j:
                other[j] ^= 1
            allowed = exchanges.smallest <= other.sum() <= exchanges.largest
            if allowed and (i == j or (row[i] != row[j] and (edges is None or (i, j) in edges))):
                found.add(tuple(other.tolist()))
    return found


@given(st.integers(0, 6), st.integers(0, 6), st.booleans(), st.booleans(), rngs())
def test_lists_and_draws_are_those_of_the_definition(a, b, has_graph, large_steps, rng):
    exchanges = Exchanges(6, min(a, b), max(a, b), PATH if has_graph else None)
    row = draw(rng, 6, int(rng.integers(min(a, b), max(a, b) + 1)))
    expected = list_by_hand(row, exchanges, large_steps)
    listed = exchanges.list_all(row, large_steps)
    assert (len(listed), set(map(tuple, listed.tolist()))) == (len(expected), expected)
    np.testing.assert_array_equal(exchanges.draw(row, 40, rng, large_steps), listed)
    few = exchanges.draw(row, 3, rng, large_steps).tolist()
    assert len(set(map(tuple, few))) == min(3, len(expected))
    assert set(map(tuple, few)) <= expected


def test_draws_are_even():
    rng, row = np.random.default_rng(0), draw(np.random.default_rng(1), 8, 3)
    counts = Counter(tuple(r) for _ in range(4_000) for r in Exchanges(8, 2, 4).draw(row, 2, rng).tolist())
    assert len(counts) == 3 + 5 + 15
    assert max(counts.values()) < 1.3 * min(counts.values())


@pytest.mark.parametrize("has_graph", [False, True])
def test_lists_of_many_items_are_short_and_symmetric(has_graph):
    n, rng = 300, np.random.default_rng(0)
    edges = {tuple(sorted(pair)) for pair in rng.integers(n, size=(9_000, 2)).tolist() if pair[0] != pair[1]}
    graph = WeightedGraph(n, tuple((a, b, 1.0) for a, b in sorted(edges)))
    exchanges = Exchanges(n, 150, 150, graph if has_graph else None)
    row = draw(rng, n, 150)
    listed = exchanges.list_all(row)
    assert 0 < len(listed) <= MOST_LISTED
    for other in listed[:: len(listed) // 3]:
        assert row.tolist() in exchanges.list_all(other).tolist()
    assert len(exchanges.draw(row, 2 * MOST_LISTED, rng)) > len(listed)  # which leaves none out


def test_few_items_of_a_graph_with_many_edges_have_all_their_exchanges(rng):
    edges = sorted(tuple(sorted(edge)) for edge in nx.random_regular_graph(10, 1000, seed=1).edges)
    graph = WeightedGraph(1000, tuple((a, b, 1.0) for a, b in edges))
    for size in (5, 400, 995):
        exchanges = Exchanges(1000, size, size, graph)
        row = draw(rng, 1000, size)
        assert len(exchanges.list_all(row)) == exchanges.count(row) > 0
    row, exchanges = draw(rng, 1000, 450), Exchanges(1000, 450, 450, graph)
    assert 1_000 < len(exchanges.list_all(row)) < exchanges.count(row)


@pytest.mark.parametrize(("smallest", "largest"), [(2, 2), (1, 3), (3, 5), (0, 5), (0, 1)])
def test_moves_there_and_back_are_as_likely_from_draws_even_over_sizes(smallest, largest):
    n_shares, exchanges = 2_400, Exchanges(5, smallest, largest)
    rows = [np.array([(code >> i) & 1 for i in range(5)]) for code in range(32)]
    rows = [row for row in rows if smallest <= row.sum() <= largest]
    shares = [(k + 0.5) / n_shares for k in range(n_shares)]
    led = {tuple(row): Counter(tuple(exchanges.move(row, share)) for share in shares) for row in rows}
    for row, counts in led.items():
        assert (row in counts) == (sum(row) in (0, 5))  # where there is nothing to exchange
        for other, count in counts.items():
            there, back = count / math.comb(5, sum(row)), led[other][row] / math.comb(5, sum(other))
            assert abs(there - back) <= 1


@given(st.integers(2, 30), rngs())
def test_a_child_has_what_both_parents_have(n, rng):
    mine, theirs = (draw(rng, n, int(rng.integers(0, n + 1))) for _ in range(2))
    child = np.array(cross_subsets(mine.tolist(), theirs.tolist(), rng))
    assert child.sum() in (mine.sum(), theirs.sum())
    assert (child >= (mine & theirs)).all()
    assert (child <= (mine | theirs)).all()
