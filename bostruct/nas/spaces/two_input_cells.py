"""Networks of cells that read the two cells before them: what NASNet and DARTS share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from bostruct.checks import check_number
from bostruct.domains.language.combinators import Outputs, apply_part, siso_sequential
from bostruct.domains.language.compilers.implementations import Shapes, Values, siso_torch_module
from bostruct.domains.language.graph import IO, substitution_module
from bostruct.domains.language.values import Value
from bostruct.nas import ops

if TYPE_CHECKING:
    from torch import nn


CellBuilder = Callable[
    [int, int, float, dict[str, Value]], IO
]  # (filters, stride, drop rate, choices) -> inputs in0, in1


class Macro(NamedTuple):
    """The shape of a network of cells with two inputs.

    keep: chance in (0, 1] that a path is kept in the last cell, 1 for no drop-path; earlier cells keep more.
    auxiliary: the cell after which a second output, ``aux``, leaves; None for none.
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
        fitted = (
            apply_part(_fit_channels(filters, 2 if shrunk else 1), before),
            apply_part(_fit_channels(filters, 1), last),
        )
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
    """Add drop-path to what an operation gives; nothing is added where every path is kept.

    rate: chance in [0, 1) that a path is dropped.
    """
    return output if rate <= 0.0 else apply_part(siso_torch_module("DropPath", _drop_path, {"rate": rate}), output)


def check_keep(keep: float) -> float:
    """Return the chance that a path is kept.

    keep: a number in (0, 1].

    Raises TypeError, ValueError for any other.
    """
    return check_number("keep", keep, high=1.0, above=0.0)


def _drop_path(values: Values, shapes: Shapes) -> nn.Module:
    from bostruct.nas.networks import DropPath

    del shapes
    return DropPath(values["rate"])
