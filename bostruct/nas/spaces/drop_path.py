"""Paths that are left out at random while training (Larsson et al. 2017; Zoph et al. 2018 schedule it by depth)."""

from __future__ import annotations

import torch
from torch import nn


class DropPath(nn.Module):
    """While training, an example is 0 with chance `rate` in [0, 1), else divided by the chance that it is kept."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return image
        kept = torch.rand(len(image), *[1] * (image.dim() - 1), device=image.device) >= self.rate
        return image * kept / (1.0 - self.rate)
