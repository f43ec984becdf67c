"""Networks without content, whose tensors have a shape alone."""

from __future__ import annotations

import copy

import torch
from torch import nn


def copy_to_meta(network: nn.Module) -> nn.Module:
    """Return a copy whose parameters and buffers have a shape and no content, shared ones still shared.

    network: with content or without.
    """
    held = {id(tensor): torch.empty_like(tensor, device="meta") for tensor in network.buffers()}
    for one in network.parameters():
        held[id(one)] = nn.Parameter(torch.empty_like(one, device="meta"), one.requires_grad)
    return copy.deepcopy(network, held)
