"""A step of the optimizer: the loss of the task, the rate that graphs read, weights for images."""

from __future__ import annotations

import torch

from bostruct.nas.steps import decision_loss, make_optimizer, to_channels_last
from tests.nas.graphs import CPU, Graphs, context_with
from tests.nas.trainings import QUICK


def test_the_rate_that_graphs_read_is_of_the_type_that_they_read():
    torch.set_default_dtype(torch.float64)
    try:
        optimizer = make_optimizer([torch.zeros(2, requires_grad=True)], QUICK, context_with(Graphs)(CPU, 0))
    finally:
        torch.set_default_dtype(torch.float32)
    assert optimizer.param_groups[0]["lr"].dtype == torch.float32


def test_weights_for_images_become_channels_last_and_others_stay():
    network = torch.nn.ModuleList([torch.nn.Conv2d(3, 4, 3), torch.nn.Conv3d(3, 4, 3), torch.nn.Linear(3, 2)])
    before = [one.detach().clone() for one in network.parameters()]
    to_channels_last(network)
    assert network[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert all(torch.equal(one, old) for one, old in zip(network.parameters(), before, strict=True))
    assert network[1].weight.is_contiguous()


def test_the_loss_is_that_of_the_task():
    given, classes = torch.tensor([[0.0, 5.0], [5.0, 0.0]]), torch.tensor([1, 0], dtype=torch.uint8)
    expected = torch.nn.functional.cross_entropy(given, classes.long())
    assert decision_loss(given, classes.long(), "classification", QUICK) == expected
    assert decision_loss(given, torch.tensor([[0, 5], [5, 0]]), "regression", QUICK) == 0.0
