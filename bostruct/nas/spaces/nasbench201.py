"""NAS-Bench-201 (Dong and Yang 2020): one of five operations on each of the six edges of a cell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from bostruct.domains.language.combinators import apply_part, combine_outputs, identity, siso_or, siso_sequential
from bostruct.domains.language.compilers.implementations import Shapes, Values, siso_torch_module
from bostruct.domains.language.graph import IO, Builder, Hyperparameter
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.values import Value
from bostruct.nas import ops

if TYPE_CHECKING:
    from torch import Tensor


NASBENCH201_OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
NASBENCH201_EDGES = tuple(combinations(range(4), 2))


def nasbench201(cells: int = 5, filters: int = 16, classes: int = 10) -> Builder:
    """Return the search space of NAS-Bench-201, 5^6 = 15,625 cells.

    The operation of edge i -> j is the hyperparameter ``edge_i_j``; the edges are (0, 1), (0, 2), (0, 3), (1, 2),
    (1, 3), (2, 3). Between stages there is a residual block of stride 2.

    Parameters
    ----------
    cells, filters, classes : int
        Cells in each of three stages, filters of the first stage, doubled in each later stage, and outputs.
    """
    return partial(_nasbench201_network, cells, filters, classes)


def _nasbench201_network(cells: int, filters: int, classes: int) -> IO:
    chosen = {edge: D(NASBENCH201_OPERATIONS, name=f"edge_{edge[0]}_{edge[1]}") for edge in NASBENCH201_EDGES}
    parts = [ops.conv2d(filters, 3, bias=False), ops.batch_norm()]
    for stage in range(3):
        if stage:
            parts.append(_reduction(filters * 2**stage))
        parts += [_wire_nasbench201_cell(chosen, filters * 2**stage) for _ in range(cells)]
    return siso_sequential([*parts, ops.batch_norm(), ops.relu(), ops.global_pool(), ops.dense(classes)])


def _wire_nasbench201_cell(chosen: dict[tuple[int, int], Value], filters: int) -> IO:
    inputs, outputs = identity()
    nodes = [outputs]
    for j in range(1, 4):
        read = [apply_part(_edge(chosen[i, j], filters), nodes[i]) for i in range(j)]
        nodes.append(combine_outputs(read, ops.add))
    return inputs, nodes[-1]


def _edge(h: Hyperparameter, filters: int) -> IO:
    return siso_or({name: partial(nasbench201_operation, name, filters) for name in NASBENCH201_OPERATIONS}, h, "Edge")


def nasbench201_operation(name: str, filters: int) -> IO:
    """Build an operation."""
    if name == "none":
        return siso_torch_module("Zero", _zero)
    if name == "skip_connect":
        return identity()
    if name == "avg_pool_3x3":
        return ops.avg_pool(3, 1)
    return ops.relu_conv_bn(filters, 1 if name == "nor_conv_1x1" else 3)


def _zero(values: Values, shapes: Shapes) -> Callable[[Tensor], Tensor]:
    del values, shapes
    return _nothing


def _nothing(image: Tensor) -> Tensor:
    return image * 0.0


def _reduction(filters: int) -> IO:
    """Build a basic residual block of stride 2, whose shortcut is an average pool and a convolution of size 1."""
    inputs, outputs = identity()
    main = siso_sequential([ops.relu_conv_bn(filters, 3, 2), ops.relu_conv_bn(filters, 3)])
    shortcut = siso_sequential([ops.avg_pool(2, 2), ops.conv2d(filters, 1, bias=False)])
    return inputs, combine_outputs([apply_part(main, outputs), apply_part(shortcut, outputs)], ops.add)
