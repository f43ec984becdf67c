"""Short trainings of small networks, for the tests of what a training consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

import bostruct as bo
from bostruct.nas import Dataset, Recipe, to_torch, train
from bostruct.nas.outcomes import Trained
from bostruct.nas.recipes import FAST

QUICK = replace(FAST, epochs=3, batch_size=32)
PERCEPTRON = bo.Architecture.chain("relu-16 linear")
CONVOLUTION = bo.Architecture.chain("conv3-8 conv3-8/2 softmax")
RESIDUAL = bo.Architecture.chain("conv3-8 res3-8/2 softmax")


def built(architecture: bo.Architecture, data: Dataset, dropout: float = 0.0) -> Callable[[], torch.nn.Module]:
    """Return what builds a network for a data set."""
    return lambda: to_torch(architecture, data.input_shape, data.classes, dropout)


def trained(
    data: Dataset, recipe: Recipe, seed: int = 0, architecture: bo.Architecture | None = None, **settings: Any
) -> Trained:
    """Train a network, by default the one of this file that is for the task of the data."""
    chosen = architecture or (CONVOLUTION if data.task == "classification" else PERCEPTRON)
    return train(built(chosen, data), data, recipe, seed, **settings)
