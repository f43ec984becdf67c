"""Scoring: the error of all examples, a batch at a time, of a network that is left as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from bostruct.nas import Recipe, digits
from bostruct.nas.devices import DeviceContext, on_device
from bostruct.nas.outcomes import SCORED_AT_ONCE, Scoring, scoring_batches
from tests.nas.graphs import CPU
from tests.nas.trainings import QUICK, trained


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


@pytest.mark.parametrize(
    ("n", "batch_size", "by_batch", "expected"),
    [
        (2_500, 32, False, (SCORED_AT_ONCE, 2, 500)),
        (2_000, 32, False, (SCORED_AT_ONCE, 2, 0)),
        (10, 4, True, (4, 2, 2)),
        (9, 4, True, (4, 1, 5)),  # one example has no statistics by itself
        (1, 4, True, (4, 0, 1)),
        (3, 1, True, (1, 3, 0)),
    ],
)
def test_examples_are_cut_into_batches(n, batch_size, by_batch, expected):
    cut = scoring_batches(n, Recipe(batch_size=batch_size, statistics="batch" if by_batch else "running"))
    assert cut == expected
    assert cut.size * cut.whole + cut.rest == n
    assert cut.number == cut.whole + bool(cut.rest)


@pytest.mark.parametrize("statistics", ["batch", "running"])
def test_the_error_is_the_share_of_all_examples(statistics):
    data = digits()
    network = trained(data, QUICK).network
    expected = 0
    for cut in (slice(0, 598), slice(598, 599)) if statistics == "running" else (slice(0, 599),):
        examples = data.validation.inputs[cut]
        normalized = (examples - data.mean[0]) / data.scale[0]
        for one in network.modules():
            if statistics == "batch" and isinstance(one, torch.nn.BatchNorm2d):
                one.train()
        expected += int((network(normalized).argmax(dim=1) != data.validation.targets[cut]).sum())
    network.eval()
    assert scored(network, data, replace(QUICK, batch_size=599, statistics=statistics)) == expected / 599


def test_a_scoring_that_is_left_off_leaves_the_network_in_evaluation_mode():
    data, recipe = digits(), replace(QUICK, statistics="batch")
    network = trained(data, QUICK).network
    normalization = next(one for one in network.modules() if isinstance(one, torch.nn.BatchNorm2d))
    scoring = Scoring(network, on_device(data, CPU).validation, data.task, recipe, DeviceContext(CPU, 0))
    scoring.begin()
    scoring.add_batch(0)
    assert normalization.training
    assert normalization.momentum == 0.0
    scoring.close()
    assert not normalization.training
    assert normalization.momentum == 0.1
