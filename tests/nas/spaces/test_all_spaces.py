"""What all search spaces of the literature keep to: as many networks as published, which train and travel."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

from bostruct.language import Exact, SearchSpace
from bostruct.nas.spaces.combo_cell import combo_cell
from bostruct.nas.spaces.darts import darts
from bostruct.nas.spaces.enas import enas_cell
from bostruct.nas.spaces.genetic import genetic_cnn
from bostruct.nas.spaces.hierarchical import flat, hierarchical
from bostruct.nas.spaces.nasbench101 import nasbench101
from bostruct.nas.spaces.nasbench201 import nasbench201
from bostruct.nas.spaces.nasnet import nasnet
from bostruct.nas.spaces.wrs_cnn import wrs_cnn

COUNTS = {
    "genetic": (genetic_cnn(), 2**19),
    "flat": (flat(), 6**10 * 7**45),
    "nasnet": (nasnet(), 720**4 * 8**10 * 7**10),
    "nasbench201": (nasbench201(), 15_625),
    "enas": (enas_cell(6), 4 * 120 * 4**6),
    "darts": (darts(), (180 * 7**8) ** 2),
    "wrs": (wrs_cnn(), sum(925**n for n in (3, 4, 5, 6)) * sum(1025**n for n in (1, 2, 3, 4))),
}
REDUCED = {
    "genetic": genetic_cnn(filters=(2, 3, 4), units=8),
    "flat": flat(nodes=5, filters=(2, 4)),
    "hierarchical": hierarchical(motifs=2, cell_nodes=3, filters=(2, 4)),
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
    assert SearchSpace(builder).count(budget=1_000_000) == Exact(count)


@pytest.mark.parametrize("name", REDUCED)
def test_networks_run_forward_and_backward(name):
    space = SearchSpace(REDUCED[name])
    rng = np.random.default_rng(sum(map(ord, name)))
    for trace in space.sample(1, rng):
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


@pytest.mark.parametrize("name", REDUCED)
def test_builders_travel(name):
    again = pickle.loads(pickle.dumps(REDUCED[name]))
    space, rng = SearchSpace(again), np.random.default_rng(1)
    trace = space.sample(1, rng)[0]
    assert SearchSpace(REDUCED[name]).present(trace) == space.present(trace)
