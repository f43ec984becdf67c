"""Builders that the spaces share: layers in a row, and graphs of parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from bostruct.domains.language.combinators import siso_sequential
from bostruct.domains.language.graph import IO, Output
from bostruct.domains.language.values import Value
from bostruct.nas import ops

Outputs: TypeAlias = dict[str, Output]  # the outputs of a part, by name
Combine: TypeAlias = Callable[[int], IO]


def conv_bn_relu(filters: int, kernel: int = 3, stride: int = 1, bias: bool = False) -> IO:
    """Build a convolution, by default without bias, batch normalization, ReLU.

    filters: number of filters, at least 1.
    bias: whether the convolution has one.
    """
    return siso_sequential([ops.conv2d(filters, kernel, stride, bias=bias), ops.batch_norm(), ops.relu()])


def relu_conv_bn(filters: int, kernel: int = 3, stride: int = 1, dilation: int = 1) -> IO:
    """Build ReLU, a convolution without bias, batch normalization.

    filters: number of filters, at least 1.
    """
    return siso_sequential([ops.relu(), ops.conv2d(filters, kernel, stride, dilation, bias=False), ops.batch_norm()])


def relu_separable_bn(filters: int, kernel: int = 3, stride: int = 1, dilation: int = 1) -> IO:
    """Build ReLU, a depthwise convolution, one of size 1, batch normalization.

    filters: number of filters, at least 1.
    """
    made = ops.separable_conv2d(filters, kernel, stride, dilation, bias=False)
    return siso_sequential([ops.relu(), made, ops.batch_norm()])


def combine_outputs(outputs: Sequence[Outputs], combine: Combine = ops.add) -> Outputs:
    """Combine several outputs into one; a single one is returned as it is.

    outputs: at least one.
    combine: number of inputs -> a part with the inputs in0, in1, ... and one output.
    """
    if len(outputs) == 1:
        return outputs[0]
    inputs, together = combine(len(outputs))
    for i, output in enumerate(outputs):
        inputs[f"in{i}"].connect(output["out"])
    return together


def apply_part(part: IO, output: Outputs) -> Outputs:
    """Connect a part with one input and one output to an output, and return the part's outputs.

    part: with the input ``in``.
    output: whose port ``out`` the part reads.
    """
    part[0]["in"].connect(output["out"])
    return part[1]


def on_path_nodes(n: int, edges: Mapping[tuple[int, int], Value]) -> list[int]:
    """Return the nodes on a path from the first of n nodes to the last; an empty list if there is no path.

    n: number of nodes, at least 2.
    """
    ahead, behind = {0}, {n - 1}
    for j in range(1, n):
        if any(edges.get((i, j)) for i in ahead):
            ahead.add(j)
    for i in range(n - 2, -1, -1):
        if any(edges.get((i, j)) for j in behind):
            behind.add(i)
    used = ahead & behind
    return sorted(used) if {0, n - 1} <= used else []
