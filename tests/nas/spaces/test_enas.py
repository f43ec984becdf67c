"""The recurrent cell of ENAS: how its nodes are wired, and that it runs."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch

from bostruct.language import SearchSpace
from bostruct.nas.spaces.enas import ENAS_ACTIVATIONS, enas_cell


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


def test_a_cell_of_identities_averages_linear_maps_of_its_inputs():
    space = SearchSpace(enas_cell(3, (4,)))
    chosen = {"units": 4, "source_1": 0, "source_2": 0}
    *_, trace = (t for t in space.enumerate() if {path: t[path] for path in chosen} == chosen)
    assert [value for value in trace.values() if value in ENAS_ACTIVATIONS] == ["identity"] * 3  # the last of all
    cell = space.present(trace).to_torch({"x": (2, 5), "ht": (2, 4)})
    layers = [layer for layer in cell.modules() if isinstance(layer, torch.nn.Linear)]
    x, h = torch.randn(2, 5), torch.randn(2, 4)
    (from_x,) = (layer for layer in layers if layer.in_features == 5)
    from_h, *others = (layer for layer in layers if layer.in_features == 4)
    first = from_x(x) + from_h(h)
    torch.testing.assert_close(cell(x=x, ht=h), sum(layer(first) for layer in others) / 2)
