"""Spaces that several tests compile: figures of Negrinho et al. 2019, of modules that run."""

from __future__ import annotations

import torch
from torch import nn

from bostruct import language as lang
from bostruct.nas import ops


def figure_4(filters=(64, 128)):
    """The paper's running example: 25,008 models."""
    h_n = lang.D([1, 2, 4])
    h_ndep = lang.DependentHyperparameter(lambda dh: 2 * dh["x"], {"x": h_n})
    c_inputs, c_outputs = ops.conv2d(lang.D(filters))
    o_inputs, o_outputs = lang.siso_optional(lambda: ops.dropout(lang.D([0.25, 0.5])), lang.D([0, 1]))
    r1_inputs, r1_outputs = lang.siso_repeat(lambda: ops.conv2d(lang.D(filters)), h_n)
    r2_inputs, r2_outputs = lang.siso_repeat(lambda: ops.conv2d(lang.D(filters)), h_ndep)
    cc_inputs, cc_outputs = ops.concat(2)
    o_inputs["in"].connect(c_outputs["out"])
    r1_inputs["in"].connect(o_outputs["out"])
    r2_inputs["in"].connect(o_outputs["out"])
    cc_inputs["in0"].connect(r1_outputs["out"])
    cc_inputs["in1"].connect(r2_outputs["out"])
    return c_inputs, cc_outputs


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


def lstm(h_units):
    """Figure 15, with two connections mended: c reads i and g as in2 and in3 once, o reads what x and hprev give."""
    x, hprev, cprev = lang.identity(), lang.identity(), lang.identity()
    i, f, o = (gate(torch.sigmoid)(h_units) for _ in range(3))
    g = gate(torch.tanh)(h_units)
    c = elementwise("Cell", lambda f, c, i, g: f * c + i * g, 4)
    h = elementwise("Hidden", lambda o, c: o * torch.tanh(c), 2)
    for part in (i, f, g, o):
        part[0]["in0"].connect(x[1]["out"])
        part[0]["in1"].connect(hprev[1]["out"])
    for position, source in enumerate((f, cprev, i, g)):
        c[0][f"in{position}"].connect(source[1]["out"])
    h[0]["in0"].connect(o[1]["out"])
    h[0]["in1"].connect(c[1]["out"])
    inputs = {"x": x[0]["in"], "hprev": hprev[0]["in"], "cprev": cprev[0]["in"]}
    return inputs, {"c": c[1]["out"], "h": h[1]["out"]}


def lstm_space():
    return lstm(lang.D([4, 8]))


def nonlinearity(h_type):
    makers = {"tanh": ops.tanh, "relu": ops.relu, "sigmoid": ops.sigmoid, "identity": lang.identity}
    return lang.siso_or(makers, h_type)


def types():
    return lang.D(["tanh", "relu", "sigmoid", "identity"])


def average(n):
    return elementwise("Average", lambda *xs: sum(xs) / len(xs), n)


def input_node(h_units):
    """Figure 16: the nonlinearity of the sum of affine maps of x and of the state."""
    x, h, total, end = ops.dense(h_units), ops.dense(h_units), ops.add(2), nonlinearity(types())
    total[0]["in0"].connect(x[1]["out"])
    total[0]["in1"].connect(h[1]["out"])
    end[0]["in"].connect(total[1]["out"])
    return {"x": x[0]["in"], "ht": h[0]["in"]}, end[1]


def intermediate_node(h_units):
    return lang.siso_sequential([ops.dense(h_units), nonlinearity(types())])


def enas_cell(num_nodes, h_units):
    """Figure 16: each node reads one before it; what no node reads is averaged."""

    def substitution_fn(dh):
        nodes = [input_node(h_units), *(intermediate_node(h_units) for _ in range(1, num_nodes))]
        for i in range(1, num_nodes):
            nodes[i][0]["in"].connect(nodes[dh[str(i)]][1]["out"])
        unused = sorted(set(range(num_nodes)) - set(dh.values()))
        c_inputs, c_outputs = average(len(unused))
        for j, i in enumerate(unused):
            c_inputs[f"in{j}"].connect(nodes[i][1]["out"])
        return nodes[0][0], {"ht+1": c_outputs["out"]}

    chosen = {str(i): lang.D(range(i)) for i in range(1, num_nodes)}
    return lang.substitution_module("Cell", substitution_fn, chosen, ["x", "ht"], ["ht+1"])


def enas_space():
    return enas_cell(8, lang.D([4, 8]))
