"""NAS-Bench-101: which wirings are feasible, that each is built once, and what a published cell costs."""

from __future__ import annotations

import numpy as np
import pytest
from torch import nn

from bostruct.language import Exact, SearchSpace
from bostruct.nas.networks import cost
from bostruct.nas.spaces.nasbench101 import is_feasible, nasbench101, on_path_nodes, wiring
from tests.nas.spaces.programs import PAIRS, specify_by_name

# The inception-like cell of the README of NAS-Bench-101.
INCEPTION = {(0, 1), (0, 2), (0, 3), (0, 5), (1, 6), (2, 6), (3, 4), (4, 6), (5, 6)}


INCEPTION_NODES = ["conv1x1-bn-relu", *["conv3x3-bn-relu"] * 3, "maxpool3x3"]


def inception():
    bits = {f"edge_{i}_{j}": int((i, j) in INCEPTION) for i, j in PAIRS}
    return bits | {f"node_{k}": operation for k, operation in enumerate(INCEPTION_NODES, 1)}


def rows_of(numbers):
    """The bits of wirings of seven nodes (m, 21)."""
    return (numbers[:, None] >> np.arange(len(PAIRS)) & 1).astype(bool)


def edges_of(row):
    return dict(zip(PAIRS, row.tolist(), strict=True))


def nodes_on_paths(rows):
    """Which nodes lie on a path from first to last (m, 7): where powers of adjacency matrices are not zero."""
    adjacency = np.zeros((len(rows), 7, 7), dtype=np.float32)
    adjacency[:, *np.transpose(PAIRS)] = rows
    ahead, behind = np.zeros((2, len(rows), 7), dtype=np.float32)
    ahead[:, 0] = behind[:, 6] = 1.0
    for _ in range(6):
        ahead = ahead + np.einsum("mi,mij->mj", ahead, adjacency)
        behind = behind + np.einsum("mij,mj->mi", adjacency, behind)
    return (ahead > 0) & (behind > 0) & (ahead[:, 6:] > 0)


def feasible_in_nasbench101(rows, used):
    touched = np.stack([rows[:, [node in pair for pair in PAIRS]].any(axis=1) for node in range(7)], axis=1)
    return used.any(axis=1) & (touched == used).all(axis=1) & (rows.sum(axis=1) <= 9)


def test_as_many_wirings_have_paths_and_are_feasible_as_published():
    rng = np.random.default_rng(0)
    with_path = feasible = 0
    for first in range(0, 2**21, 2**17):
        rows = rows_of(np.arange(first, first + 2**17))
        used = nodes_on_paths(rows)
        allowed = feasible_in_nasbench101(rows, used)
        with_path += int(used.any(axis=1).sum())
        feasible += int(allowed.sum())
        drawn = [*np.flatnonzero(allowed)[::32], *rng.choice(np.flatnonzero(rows.sum(axis=1) <= 9), 50)]
        for i in [*drawn, *rng.choice(len(rows), 50)]:
            edges = edges_of(rows[i])
            assert on_path_nodes(7, edges) == np.flatnonzero(used[i]).tolist()
            assert is_feasible(edges) == allowed[i]
    assert with_path == 2**21 - 149_607 == 1_947_545
    assert feasible == 13_839


@pytest.mark.slow
def test_all_wirings_one_by_one():
    with_path = feasible = 0
    for row in rows_of(np.arange(2**21)):
        edges = edges_of(row)
        with_path += bool(on_path_nodes(7, edges))
        feasible += is_feasible(edges)
    assert (with_path, feasible) == (1_947_545, 13_839)


def test_infeasible_cells_are_never_drawn():
    space = SearchSpace(nasbench101(cells=1, filters=4))
    rng = np.random.default_rng(0)
    for trace in space.sample(5, rng):
        for other in (trace, space.mutate(trace, rng)):
            assert is_feasible(wiring(other))


@pytest.mark.slow
def test_each_feasible_wiring_of_nasbench101_is_built_once():
    assert SearchSpace(nasbench101(stacks=1, cells=1)).count(budget=10_000_000) == Exact(13_839 * 3**5)


def test_feasible_wirings_are_drawn_without_a_miss():
    space = SearchSpace(nasbench101(stacks=1, cells=1))
    drawn = space.sample(500, np.random.default_rng(0))
    assert len({tuple(wiring(trace).values()) for trace in drawn}) > 250
    assert all(is_feasible(wiring(trace)) for trace in drawn)
    bits = dict.fromkeys(PAIRS, 0) | dict.fromkeys(INCEPTION, 1)
    assert wiring(specify_by_name(space, inception()).trace) == bits


def test_the_published_cell_costs_what_was_published():
    program = specify_by_name(SearchSpace(nasbench101()), inception()).program()
    assert cost(program.to_torch((2, 3, 32, 32)), (3, 32, 32)).parameters == 2_694_282


def test_edges_of_no_path_ten_edges_and_no_edges_are_infeasible():
    through = {(0, 1): 1, (1, 6): 1}
    assert is_feasible(through)
    assert is_feasible({(0, 6): 1})
    for wrong in ({}, {(0, 1): 1}, through | {(2, 3): 1}, through | {(0, 2): 1}, through | {(2, 6): 1}):
        assert not is_feasible(wrong)
    assert not is_feasible(dict.fromkeys([*PAIRS[:5], (1, 6), (2, 6), (3, 6)], 1))  # 4 and 5 lead nowhere
    nine = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (0, 2), (0, 3), (0, 4)]
    assert is_feasible(dict.fromkeys(nine, 1))
    assert not is_feasible(dict.fromkeys([*nine, (0, 5)], 1))


def test_the_nodes_that_feed_the_output_share_its_channels():
    program = specify_by_name(SearchSpace(nasbench101(stacks=1, cells=1, filters=9)), inception()).program()
    kernels: dict[int, list[int]] = {1: [], 3: []}
    for node in program.nodes:
        if node.kind == "Conv2D":
            kernels[node.values["kernel"]].append(node.values["filters"])
    assert sorted(kernels[3]) == [2, 2, 2, 9]  # nodes 2, 3 and 4, the stem
    assert sorted(kernels[1]) == [2, 2, 2, 3, 3]  # node 1, and what fits the input of the cell to four readers
    (dense,) = (layer for layer in program.to_torch((2, 3, 8, 8)).modules() if isinstance(layer, nn.Linear))
    assert dense.in_features == 9
