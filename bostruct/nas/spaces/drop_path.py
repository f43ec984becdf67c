"""Paths that are left out at random while training (Larsson et al. 2017; Zoph et al. 2018 schedule it by depth)."""

from __future__ import annotations

import torch
from torch import nn


class DropPath(nn.Module):
    """A layer that sets an example to 0 with some chance while training, else divides it by the chance that it is kept.

    rate: the chance, in [0, 1).
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return image
        kept = torch.rand(len(image), *[1] * (image.dim() - 1), device=image.device) >= self.rate
        return image * kept / (1.0 - self.rate)
