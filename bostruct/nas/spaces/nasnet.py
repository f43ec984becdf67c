"""Cells like the cells of NASNet-A (Zoph et al. 2018), as DeepArchitect's library encodes them.

Each cell reads the two cells before it. `two_input_network` joins such cells to a network, also the cells of DARTS.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from bostruct.checks import check_number
from bostruct.domains.language.combinators import Outputs, apply_part, combine_outputs, identity, siso_sequential
from bostruct.domains.language.compilers.implementations import Shapes, Values, share_layer, share_partial
from bostruct.domains.language.graph import IO, Builder, siso_module, substitution_module
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.values import Value
from bostruct.nas import ops

if TYPE_CHECKING:
    from torch import nn

CellBuilder = Callable[
    [int, int, float, dict[str, Value]], IO
]  # (filters, stride, drop rate, choices) -> inputs in0, in1
REDUCTION = ("none", "separable3x3", "separable5x5", "separable7x7", "avgpool3x3", "maxpool3x3", "conv1x7-7x1")
NORMAL = (*REDUCTION, "dilated3x3")
NASNET_NODES = 5


class Macro(NamedTuple):
    """The shape of a network of cells with two inputs.

    keep: probability in (0, 1] of keeping a path in the last cell, 1 for no drop-path; it is larger in earlier cells.
    auxiliary: the cell with a second output, ``aux``, if any.
    """

    cells: int
    reductions: tuple[int, ...]
    filters: int
    stem: int
    classes: int
    keep: float = 1.0
    auxiliary: int | None = None


def two_input_network(macro: Macro, normal: dict[str, Value], reduction: dict[str, Value], build: CellBuilder) -> IO:
    """Build a network of cells with two inputs."""
    inputs, stem = siso_sequential([ops.conv2d(macro.stem, 3, bias=False), ops.batch_norm()])
    before, last, filters = stem, stem, macro.filters
    shrunk, auxiliary = False, None  # whether `before` is larger than `last`
    for position in range(macro.cells):
        is_reduction = position in macro.reductions
        filters *= 2 if is_reduction else 1
        chosen = reduction if is_reduction else normal
        read = (2 if shrunk else 1, before), (1, last)
        fitted = [apply_part(_fit_channels(filters, stride), outputs) for stride, outputs in read]
        built = partial(build, filters, 2 if is_reduction else 1, (1.0 - macro.keep) * (position + 1) / macro.cells)
        kind = "ReductionCell" if is_reduction else "NormalCell"
        part = substitution_module(kind, built, chosen, ["in0", "in1"], ["out"], opens_choices=False)
        for i, output in enumerate(fitted):
            part[0][f"in{i}"].connect(output["out"])
        before, last, shrunk = last, part[1], is_reduction
        if position == macro.auxiliary:
            auxiliary = apply_part(_head(macro.classes), last)
    outputs = {"out": apply_part(_head(macro.classes), last)["out"]}
    return inputs, outputs if auxiliary is None else outputs | {"aux": auxiliary["out"]}


def _fit_channels(filters: int, stride: int) -> IO:
    return siso_sequential([ops.relu(), ops.conv2d(filters, 1, stride, bias=False), ops.batch_norm()])


def _head(classes: int) -> IO:
    return siso_sequential([ops.relu(), ops.global_pool(), ops.dense(classes)])


def with_drop_path(output: Outputs, rate: float) -> Outputs:
    """Add drop-path to the output of an operation, unless every path is kept.

    rate: probability in [0, 1) of dropping a path.
    """
    if rate <= 0.0:
        return output
    return apply_part(siso_module("DropPath", {"rate": rate}, share_layer(_drop_path)), output)


def check_keep(keep: float) -> float:
    """Return the probability of keeping a path.

    keep: a number in (0, 1].

    Raises TypeError, ValueError for any other value.
    """
    return check_number("keep", keep, high=1.0, above=0.0)


def _drop_path(values: Values, shapes: Shapes) -> nn.Module:
    from bostruct.nas.networks import DropPath

    del shapes
    return DropPath(values["rate"])


def nasnet(
    cells: int = 18, filters: int = 36, classes: int = 10, keep: float = 0.7, *, auxiliary: bool = True
) -> Builder:
    """Return the search space of NASNet, 720^4 8^10 7^10 pairs of cells.

    Each of five nodes sums two operations, each on any of the states before it; states that no node reads are joined.
    `bostruct.nas.networks.program_to_torch` returns a module of only the main output, which is scored; training with
    ``Recipe(every_decision=True)`` adds the whole loss of the auxiliary output, while Zoph et al. add 0.4 of it.
    Raises TypeError, ValueError.

    Parameters
    ----------
    cells : int, default 18
        Number of normal cells; two reduction cells are before the seventh and the thirteenth of 18 cells, at thirds of
        other numbers.
    filters, classes : int
        Number of filters of the first cells, doubled by each reduction cell, and of outputs of the network.
    keep : float, default 0.7
        Probability in (0, 1] with which training keeps the output of an operation other than ``none`` in the last cell;
        it is larger in earlier cells.
    auxiliary : bool, default True
        Whether there is a second output, ``aux``, before the second reduction cell; its head is like the last head:
        ReLU, mean, dense.
    """
    return partial(_nasnet_network, cells, filters, classes, check_keep(keep), auxiliary)


def _nasnet_network(cells: int, filters: int, classes: int, keep: float, auxiliary: bool) -> IO:
    reductions = (cells // 3, 2 * (cells // 3) + 1)
    macro = Macro(cells + 2, reductions, filters, 3 * filters, classes, keep, reductions[1] - 1 if auxiliary else None)
    return two_input_network(
        macro, _nasnet_choices("normal", NORMAL), _nasnet_choices("reduction", REDUCTION), _wire_nasnet_cell
    )


def _nasnet_choices(cell: str, operations: tuple[str, ...]) -> dict[str, Value]:
    chosen = {}
    for node in range(NASNET_NODES):
        for side in "ab":
            chosen[f"input_{node}{side}"] = D(range(node + 2), name=f"{cell}_input_{node}{side}")
            chosen[f"operation_{node}{side}"] = D(operations, name=f"{cell}_operation_{node}{side}")
    return chosen


def _wire_nasnet_cell(filters: int, stride: int, rate: float, chosen: dict[str, Value]) -> IO:
    first, second = identity(), identity()
    states, read = [first[1], second[1]], set()
    for node in range(NASNET_NODES):
        sides = [(chosen[f"input_{node}{side}"], chosen[f"operation_{node}{side}"]) for side in "ab"]
        read |= {source for source, _ in sides}
        made = [_apply_nasnet_operation(name, filters, stride if i < 2 else 1, rate, states[i]) for i, name in sides]
        states.append(combine_outputs(made, ops.add))
    for source in {0, 1} - read:  # joined below, at the size of the others
        states[source] = apply_part(nasnet_operation("none", filters, stride), states[source])
    ends = [state for position, state in enumerate(states) if position not in read]
    return {"in0": first[0]["in"], "in1": second[0]["in"]}, combine_outputs(ends, ops.concat)


def _apply_nasnet_operation(name: str, filters: int, stride: int, rate: float, state: Outputs) -> Outputs:
    output = apply_part(nasnet_operation(name, filters, stride), state)
    return output if name == "none" else with_drop_path(output, rate)


def nasnet_operation(name: str, filters: int, stride: int) -> IO:
    """Build an operation; ``none`` is the identity, or a convolution of size 1 if the image shrinks.

    stride: 1, or 2 if the image shrinks.
    """
    if name == "none":
        return identity() if stride == 1 else ops.relu_conv_bn(filters, 1, stride)
    if name.startswith("separable"):
        size = int(name[-1])
        return siso_sequential([ops.relu_separable_bn(filters, size, stride), ops.relu_separable_bn(filters, size)])
    if name == "dilated3x3":
        narrow = max(filters // 4, 1)
        settings = (narrow, 1), (narrow, 3, stride, 2), (filters, 1)
        return siso_sequential([ops.relu_conv_bn(*one) for one in settings])
    if name == "conv1x7-7x1":
        built = share_layer(share_partial(_one_by_seven, filters, stride))
        return siso_sequential([ops.relu(), siso_module("Conv1x7", implementation=built)])
    return (ops.avg_pool if name == "avgpool3x3" else ops.max_pool)(3, stride)


def _one_by_seven(filters: int, stride: int, values: Values, shapes: Shapes) -> nn.Module:
    """Build a 1 x 7 convolution, then a 7 x 1 convolution, each normalized."""
    from torch import nn

    del values
    return nn.Sequential(
        nn.Conv2d(shapes["in"][1], filters, (1, 7), (1, stride), (0, 3), bias=False),
        nn.BatchNorm2d(filters),
        nn.ReLU(),
        nn.Conv2d(filters, filters, (7, 1), (stride, 1), (3, 0), bias=False),
        nn.BatchNorm2d(filters),
    )
