"""What a network costs, before anything is trained: counted where tensors have a shape and no content."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from bostruct.checks import check_integer


class Cost(NamedTuple):
    """parameters: numbers that are trained. flops: of a forward pass of one example, as torch counts them: two for each
    multiplication and addition of convolutions and matrix products, none for anything else.
    """

    parameters: int
    flops: int


def cost(network: nn.Module, input_shape: Sequence[int]) -> Cost:
    """Parameters and FLOPs of a module; input_shape: of one example. Nothing is computed. Raises ValueError."""
    shape = [check_integer("input_shape", size, 1) for size in input_shape]
    ghost = copy.deepcopy(network).to("meta").eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        ghost(torch.empty(1, *shape, device="meta"))
    return Cost(sum(p.numel() for p in network.parameters() if p.requires_grad), counter.get_total_flops())
