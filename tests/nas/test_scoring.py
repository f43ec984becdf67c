"""Scoring: the error of all examples, a batch at a time, of a network that is left as it was."""

from __future__ import annotations

from dataclasses import replace

import torch

import bostruct as bo
from bostruct.nas import digits, to_torch, train
from bostruct.nas.device_data import on_device
from bostruct.nas.devices import DeviceContext
from bostruct.nas.recipes import FAST
from bostruct.nas.scoring import Scoring
from tests.nas.graphs import CPU

QUICK = replace(FAST, epochs=3, batch_size=32)
CONVOLUTION = bo.Architecture.chain("conv3-8 conv3-8/2 softmax")


def trained(data, recipe):
    return train(lambda: to_torch(CONVOLUTION, data.input_shape, data.classes), data, recipe, 0)


def scored(network, data, recipe):
    return Scoring(network, on_device(data, CPU).validation, data.task, recipe, DeviceContext(CPU, 0)).error()


def test_a_network_that_was_scored_by_batch_is_left_in_evaluation_mode():
    found = trained(digits(), replace(QUICK, statistics="batch"))
    network = found.network
    assert not any(one.training for one in network.modules())
    assert found.test_error < 1.0
    assert not any(one.training for one in network.modules())
    before = {name: value.clone() for name, value in network.state_dict().items()}
    network(digits().test.inputs)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_batch_statistics_score_without_moving_the_averages():
    data = digits()
    network = trained(data, QUICK).network
    for name, value in network.state_dict().items():
        if "running_mean" in name:
            value += torch.arange(float(len(value)))
    before = {name: value.clone() for name, value in network.state_dict().items() if "running" in name}
    by_batch = scored(network, data, replace(QUICK, statistics="batch"))
    running = scored(network, data, QUICK)
    assert by_batch != running
    for name, value in before.items():
        assert torch.equal(network.state_dict()[name], value)
