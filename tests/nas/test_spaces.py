"""Search spaces of the literature: how many networks they hold, that any of them trains, and their rules."""

from __future__ import annotations

import pickle
from itertools import combinations, product

import numpy as np
import pytest
import torch

from bostruct.language import Exact, SearchSpace
from bostruct.nas.spaces.combo_cell import combo_cell
from bostruct.nas.spaces.darts import darts
from bostruct.nas.spaces.drop_path import DropPath
from bostruct.nas.spaces.enas import enas_cell
from bostruct.nas.spaces.flat import flat
from bostruct.nas.spaces.genetic import genetic_cnn
from bostruct.nas.spaces.nasbench101 import NODES, is_feasible, nasbench101
from bostruct.nas.spaces.nasbench201 import nasbench201
from bostruct.nas.spaces.nasnet import nasnet
from bostruct.nas.spaces.wiring import on_paths
from bostruct.nas.spaces.wrs_cnn import reduced_wrs_cnn, wrs_cnn

COUNTS = {
    "genetic": (genetic_cnn(), 2**19),
    "flat": (flat(), 6**10 * 7**45),
    "nasnet": (nasnet(), 720**4 * 8**10 * 7**10),
    "nasbench201": (nasbench201(), 15_625),
    "enas": (enas_cell(), 4 * 5040 * 4**8),
    "darts": (darts(), (180 * 7**8) ** 2),
    "wrs": (wrs_cnn(), sum(925**n for n in (3, 4, 5, 6)) * sum(1025**n for n in (1, 2, 3, 4))),
}
REDUCED = {
    "genetic": genetic_cnn(filters=(2, 3, 4), units=8),
    "flat": flat(nodes=5, filters=(2, 4)),
    "nasnet": nasnet(cells=3, filters=4),
    "nasbench101": nasbench101(cells=1, filters=8),
    "nasbench201": nasbench201(cells=1, filters=2),
    "darts": darts(cells=4, filters=2, keep=0.8),
    "combo": combo_cell(filters=(2, 3, 4)),
    "wrs": wrs_cnn(filters=(2, 5), units=(4, 9)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    builder, count = COUNTS[name]
    assert SearchSpace(builder).count() == Exact(count)


@pytest.mark.parametrize("name", REDUCED)
def test_networks_run_forward_and_backward(name):
    space = SearchSpace(REDUCED[name])
    rng = np.random.default_rng(sum(map(ord, name)))
    for trace in space.sample(4, rng):
        torch.manual_seed(0)
        network = space.present(trace).to_torch((2, 3, 16, 16))
        answer = network(torch.randn(2, 3, 16, 16))
        outputs = list(answer.values()) if isinstance(answer, dict) else [answer]
        assert all(output.shape == (2, 10) for output in outputs)
        sum(output.square().sum() for output in outputs).backward()
        missing = [key for key, p in network.named_parameters() if p.grad is None]
        assert missing == []
        again = space.present(trace).to_torch((2, 3, 16, 16))
        assert list(again.state_dict()) == list(network.state_dict())


def test_the_recurrent_cell_runs():
    space = SearchSpace(enas_cell(4, (8,)))
    for trace in space.sample(5, np.random.default_rng(0)):
        cell = space.present(trace).to_torch({"x": (2, 5), "ht": (2, 8)})
        assert cell(x=torch.randn(2, 5), ht=torch.randn(2, 8)).shape == (2, 8)


@pytest.mark.parametrize("name", REDUCED)
def test_builders_travel(name):
    again = pickle.loads(pickle.dumps(REDUCED[name]))
    space, rng = SearchSpace(again), np.random.default_rng(1)
    trace = space.sample(1, rng)[0]
    assert SearchSpace(REDUCED[name]).present(trace) == space.present(trace)


def test_13839_wirings_of_nasbench101_are_feasible():
    pairs = list(combinations(range(NODES), 2))
    bits = np.arange(2 ** len(pairs))[:, None] >> np.arange(len(pairs)) & 1
    few = bits[bits.sum(axis=1) <= 9].astype(bool)
    edge = {pair: few[:, k] for k, pair in enumerate(pairs)}
    ahead = [np.ones(len(few), bool)]
    for j in range(1, NODES):
        ahead.append(np.any([ahead[i] & edge[i, j] for i in range(j)], axis=0))
    behind = {NODES - 1: np.ones(len(few), bool)}
    for i in range(NODES - 2, -1, -1):
        behind[i] = np.any([behind[j] & edge[i, j] for j in range(i + 1, NODES)], axis=0)
    feasible = ahead[NODES - 1].copy()
    for node in range(1, NODES - 1):
        touched = np.any([edge[pair] for pair in pairs if node in pair], axis=0)
        feasible &= ~touched | (ahead[node] & behind[node])
    assert feasible.sum() == 13_839
    rng = np.random.default_rng(0)
    for row in rng.choice(len(few), 400, replace=False):
        assert is_feasible({pair: edge[pair][row] for pair in pairs}) == feasible[row]
    for row in rng.choice(np.flatnonzero(feasible), 100, replace=False):
        assert is_feasible({pair: edge[pair][row] for pair in pairs})


def test_infeasible_cells_are_never_drawn():
    space = SearchSpace(nasbench101(cells=1, filters=4))
    rng = np.random.default_rng(0)
    for trace in space.sample(5, rng):
        for other in (trace, space.mutate(trace, rng)):
            bits = {(i, j): other[f"edge_{i}_{j}"] for i, j in combinations(range(NODES), 2)}
            assert is_feasible(bits)


def test_wirings_of_the_combo_cell_that_have_a_path():
    pairs = list(combinations(range(5), 2))
    found = sum(bool(on_paths(5, dict(zip(pairs, bits, strict=True)))) for bits in product((0, 1), repeat=10))
    reachable = 0
    for bits in product((0, 1), repeat=10):
        edges = {pair for pair, bit in zip(pairs, bits, strict=True) if bit}
        ahead = {0}
        for j in range(1, 5):
            if any((i, j) in edges for i in ahead):
                ahead.add(j)
        reachable += 4 in ahead
    assert found == reachable


def test_a_genetic_stage_without_edges_is_its_first_node():
    space = SearchSpace(genetic_cnn(stages=(3,), filters=(2,), units=4))
    empty = space.present(space.parse(dict.fromkeys([h.path for h in space.hyperparameters], 0)))
    full = space.present(space.parse(dict.fromkeys([h.path for h in space.hyperparameters], 1)))
    assert sum(node.kind == "Conv2D" for node in empty.nodes) == 1
    assert sum(node.kind == "Conv2D" for node in full.nodes) == 1 + 3 + 1


def test_pools_come_after_every_second_convolution():
    space = SearchSpace(reduced_wrs_cnn())
    for n, pools in ((3, 1), (4, 2), (5, 2), (6, 3)):
        program = space.complete({"convolutions": n}, np.random.default_rng(n)).program()
        kinds = [node.kind for node in program.nodes]
        assert kinds.count("Conv2D") == n
        assert kinds.count("MaxPool2D") == pools
        assert kinds.count("Dropout") == pools + program.trace["dense_layers"]


def test_paths_are_dropped_while_training_alone():
    layer, image = DropPath(0.25), torch.ones(4_000, 2, 1, 1)
    assert torch.equal(layer.eval()(image), image)
    torch.manual_seed(0)
    dropped = layer.train()(image)
    assert abs((dropped == 0).all(dim=1).float().mean() - 0.25) < 0.03
    assert abs(dropped.mean() - 1.0) < 0.04
