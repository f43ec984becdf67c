"""Spaces that several tests compile: figures of Negrinho et al. 2019, of modules that run."""

import torch
from torch import nn

from bostruct import language as lang
from bostruct.nas import ops
from bostruct.nas.spaces.enas import enas_cell
from examples import language_figures
from examples.language_figures import lstm_cell


def figure_4(filters=(64, 128)):
    """The paper's running example: 25,008 models."""
    return language_figures.figure_4(ops.conv2d, ops.dropout, ops.concat, filters)


class Affine(nn.Module):
    """W [x; h] + b, then a function: one gate of an LSTM."""

    def __init__(self, features, units, fn):
        super().__init__()
        self.linear = nn.Linear(features, units)
        self.fn = fn

    def forward(self, x, h):
        return self.fn(self.linear(torch.cat((x, h), 1)))


def gate(fn):
    def build(values, shapes):
        return Affine(shapes["in0"][1] + shapes["in1"][1], values["units"], fn)

    return lambda units: lang.torch_module("Gate", build, {"units": units}, ["in0", "in1"])


def elementwise(name, fn, n):
    return lang.torch_module(name, lambda _values, _shapes: fn, {}, [f"in{i}" for i in range(n)])


def lstm_space():
    """Figure 15, of one width for all gates."""
    h_units = lang.D([4, 8])
    i, f, o, g = (gate(fn)(h_units) for fn in (torch.sigmoid, torch.sigmoid, torch.sigmoid, torch.tanh))
    c = elementwise("Cell", lambda f, c, i, g: f * c + i * g, 4)
    h = elementwise("Hidden", lambda o, c: o * torch.tanh(c), 2)
    return lstm_cell(i, f, g, o, c, h)


enas_space = enas_cell(8, (4, 8))  # figure 16
