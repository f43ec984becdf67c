"""Copies without content."""

import torch

from bostruct.nas.own_layers import copy_to_meta


def test_a_copy_has_shapes_and_shares_what_was_shared():
    layer = torch.nn.Linear(3, 3)
    network = torch.nn.Sequential(layer, torch.nn.BatchNorm1d(3), layer)
    copied = copy_to_meta(network)
    assert all(one.device.type == "meta" for one in (*copied.parameters(), *copied.buffers()))
    assert copied[0] is copied[2]
    assert len(list(copied.parameters())) == len(list(network.parameters()))
    assert layer.weight.device.type == "cpu"
