"""The recurrent cell of ENAS: how its nodes are wired, and that it runs."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from torch import nn

from bostruct.language import SearchSpace
from bostruct.nas.spaces.enas import enas_cell


def test_the_recurrent_cell_runs():
    space = SearchSpace(enas_cell(4, (8,)))
    for trace in space.sample(5, np.random.default_rng(0)):
        cell = space.present(trace).to_torch({"x": (2, 5), "ht": (2, 8)})
        assert cell(x=torch.randn(2, 5), ht=torch.randn(2, 8)).shape == (2, 8)


def test_what_no_node_reads_is_averaged():
    space = SearchSpace(enas_cell(4, (8,)))
    for sources in product(range(1), range(2), range(3)):
        chosen = {f"source_{i}": source for i, source in enumerate(sources, 1)}
        program = space.complete(chosen, np.random.default_rng(0)).program()
        (average,) = (node for node in program.nodes if node.kind == "Average")
        assert len(average.sources) == 4 - len(set(sources))
        assert sum(node.kind == "Dense" for node in program.nodes) == 2 + 3


def test_enas_cell_computes_what_its_equations_say():
    """Three nodes, 0 tanh, 1 relu of node 0, 2 sigmoid of node 0: the mean of 1 and 2."""
    space = SearchSpace(enas_cell(3, (4,)))
    trace = next(x for x in space.enumerate() if sorted(x.values(), key=str) == [0, 0, 4, "relu", "sigmoid", "tanh"]
                 and [node.kind for node in space.present(x).nodes].index("Tanh") == 3)  # fmt: skip
    program = space.present(trace)
    net = program.to_torch({"x": (2, 3), "ht": (2, 3)})
    x, h = torch.randn(2, 3), torch.randn(2, 3)
    dense = [layer for layer in net.layers.values() if isinstance(layer, nn.Linear)]
    first = torch.tanh(dense[0](x) + dense[1](h))
    ends = [torch.relu(dense[2](first)) + torch.sigmoid(dense[3](first)),
            torch.sigmoid(dense[2](first)) + torch.relu(dense[3](first))]  # fmt: skip
    found = net(x, h)
    assert any(torch.allclose(found, end / 2) for end in ends)
