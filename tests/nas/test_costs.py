"""Costs of networks: as by hand, without weights, refused by name."""

from __future__ import annotations

import pytest
import torch

import bostruct as bo
from bostruct.language import SearchSpace
from bostruct.nas import to_torch
from bostruct.nas.networks import cost
from bostruct.nas.spaces.nasbench201 import nasbench201


def test_counts_are_those_by_hand():
    network = to_torch(bo.Architecture.chain("conv3-8 max-pool fc-5 softmax"), (3, 10, 10), 4)
    found = cost(network, (3, 10, 10))
    assert found.parameters == 3 * 8 * 9 + 2 * 8 + 8 * 5 + 5 + 5 * 4 + 4
    assert found.flops == 2 * (100 * 3 * 8 * 9 + 8 * 5 + 5 * 4)
    assert cost(to_torch(bo.Architecture.chain("relu-8 linear"), (6,), 1), (6,)).flops == 2 * (6 * 8 + 8)


def test_networks_too_large_for_memory_are_counted():
    wide = bo.Architecture.chain("relu-2000000 relu-2000000 linear")
    found = cost(wide, (10,), classes=1)
    n = 2_000_000
    assert found.parameters == (10 * n + n) + (n * n + n) + (n + 1)
    assert found.flops == 2 * (10 * n + n * n + n)


def test_what_is_built_costs_what_its_architecture_does():
    chain = bo.Architecture.chain("conv3-8 res3-8/2 fc-5 softmax")
    network = to_torch(chain, (3, 10, 10), 4)
    assert cost(network, (3, 10, 10)) == cost(chain, (3, 10, 10), classes=4)
    assert all(one.device.type == "cpu" for one in network.parameters())
    assert network.training
    program = SearchSpace(nasbench201(cells=1, filters=4)).specify(["nor_conv_3x3"] * 6).program()
    assert cost(program, (3, 8, 8)) == cost(program.to_torch((2, 3, 8, 8)), (3, 8, 8))


def test_parameters_that_are_shared_are_counted_once():
    layer = torch.nn.Linear(4, 4)
    assert cost(torch.nn.Sequential(layer, layer), (4,)) == (20, 2 * 2 * 16)


def test_what_cannot_be_counted_is_refused_by_name():
    chain = bo.Architecture.chain("conv3-8 softmax")
    network = to_torch(chain, (3, 8, 8), 2)
    refused = (
        (ValueError, lambda: cost(chain, (3, 8, 8)), "classes: expected a number for an Architecture"),
        (ValueError, lambda: cost(network, (3, 8, 8), classes=2), "classes: expected .* otherwise None, got 2"),
        (ValueError, lambda: cost(network, (1, 8, 8)), r"built for examples of shape \(3, 8, 8\), got \(1, 8, 8\)"),
        (ValueError, lambda: cost(torch.nn.Linear(3, 2), (4,)), r"input_shape: .*does not take .*\(4,\)"),
        (TypeError, lambda: cost(network, 32), r"input_shape: expected \(channels, height, width\).*got 32"),  # type: ignore[arg-type]
        (TypeError, lambda: cost("net", (3,)), "network: expected a torch.nn.Module, an Architecture or a Program"),  # type: ignore[arg-type]
    )
    for kind, count, message in refused:
        with pytest.raises(kind, match=message):
            count()
