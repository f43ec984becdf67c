"""Paths that are left out at random: how often, and what the rest is multiplied by."""

from __future__ import annotations

import pytest
import torch

from bostruct.nas.networks import DropPath


def test_paths_are_dropped_while_training_alone():
    layer, image = DropPath(0.25), torch.ones(4_000, 2, 1, 1)
    assert torch.equal(layer.eval()(image), image)
    torch.manual_seed(0)
    dropped = layer.train()(image)
    assert abs((dropped == 0).all(dim=1).float().mean() - 0.25) < 0.03
    assert abs(dropped.mean() - 1.0) < 0.04


@pytest.mark.parametrize("shape", [(50, 3), (50, 2, 4, 4)])
@pytest.mark.parametrize("rate", [0.0, 0.25, 0.9])
def test_an_example_is_dropped_as_a_whole_or_divided_by_the_chance_that_it_is_kept(shape, rate):
    torch.manual_seed(0)
    image = torch.rand(shape) + 1.0
    dropped = DropPath(rate)(image)
    for before, after in zip(image, dropped, strict=True):
        if after.any():
            torch.testing.assert_close(after, before / (1.0 - rate))
    kept = int(dropped.flatten(1).any(dim=1).sum())
    assert kept == 50 if rate == 0.0 else 0 < kept < 50
