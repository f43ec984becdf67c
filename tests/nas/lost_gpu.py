"""Layers of a simulated GPU that is lost: from a step on, every call in the process that met the error fails.

Its memory may be lost, too, which does not come back when caches are emptied.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import torch
from torch import nn

from bostruct.nas.devices import MemoryPeak

STEPS = 8  # calls before the first process meets the error, fewer than those of one training
calls = 0


class Lost(nn.Module):
    """A convolution that fails as a sticky error of CUDA does."""

    def fail(self):
        raise RuntimeError("CUDA error: unspecified launch failure\nCUDA kernel errors might be reported later")

    def __init__(self, channels, units, stride):
        super().__init__()
        self.inner = nn.Conv2d(channels, units, 3, stride, padding=1)

    def forward(self, x):
        global calls
        if not x.is_meta:
            calls += 1
            mark = Path(os.environ["LOST_GPU_FILE"])
            if calls >= STEPS:
                with suppress(FileExistsError), mark.open("x") as file:  # one process alone
                    file.write(str(os.getpid()))
            if mark.exists() and mark.read_text() == str(os.getpid()):
                self.fail()
        return self.inner(x)


class Leaking(Lost):
    """A convolution that finds no memory, in a process that cannot have again what it had."""

    def fail(self):
        MemoryPeak.still_fits = lambda _: False  # in this process
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def lost(layer, shape):
    return Lost(shape[0], layer.units, layer.stride)


def leaking(layer, shape):
    return Leaking(shape[0], layer.units, layer.stride)
