"""The cell of COMBO (Oh et al. 2019, section 4.3): 31 bits, two per inner node and one for each pair of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import NamedTuple

from bostruct.checks import check_integer
from bostruct.contracts import Infeasible, Presented
from bostruct.domains.language.combinators import apply_part, combine_outputs, identity, siso_sequential
from bostruct.domains.language.graph import IO, Builder, substitution_module
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.program import Program
from bostruct.domains.language.space import SearchSpace
from bostruct.domains.language.values import Value
from bostruct.domains.space.space import Space
from bostruct.nas import ops
from bostruct.nas.spaces.nasbench101 import on_path_nodes

COMBO_NODES = 7
PAIRS = tuple(combinations(range(COMBO_NODES), 2))  # the upper triangle row by row, the order of the bits
# type and size of a node; the fourth is the 5 x 5 convolution
IDENTITY_BITS, POOL_BITS, SMALL_BITS = (0, 0), (0, 1), (1, 0)


def combo_cell(filters: tuple[int, ...] = (16, 32, 64), classes: int = 10) -> Builder:
    """Return the search space of cells of Oh et al. 2019, 31 bits in order ``bit_0`` to ``bit_30``.

    Bits 2k and 2k + 1 are type and size of node k + 1: identity, 3 x 3 max pool, 3 x 3 and 5 x 5 convolution; bits 10
    to 30 are the edges. Inputs of a node are summed, and nodes on no path from input to output are removed. A cell
    without a path, 149,607 of 2^21 wirings, is infeasible (published: an accuracy of 0.1).

    Parameters
    ----------
    filters : tuple of int, default (16, 32, 64)
        Number of filters of each stage, at least 1.
    classes : int, default 10
        Number of outputs of the network.
    """
    return partial(_combo_network, tuple(filters), classes)


class CellNode(NamedTuple):
    """A node on a path from a cell's input to its output."""

    position: int
    reads: tuple[int, ...]
    kind: tuple[int, int]


def decode_bits(bits: Sequence[int]) -> tuple[CellNode, ...]:
    """Return the nodes of a cell after its input, the output last.

    Raises Infeasible if no path leads through the cell; TypeError, ValueError unless there are 31 bits.

    Parameters
    ----------
    bits : sequence of int
        31 bits, see `combo_cell`.
    """
    b = [check_integer("bits", bit, 0, 1) for bit in bits]
    if len(b) != 31:
        raise ValueError(f"bits: expected 31 bits, got {len(b)}")
    edges = dict(zip(PAIRS, b[10:], strict=True))
    used = on_path_nodes(COMBO_NODES, edges)
    if not used:
        raise Infeasible("no path leads from the cell's input to its output")
    kinds = [IDENTITY_BITS, *zip(b[0:10:2], b[1:10:2], strict=True), IDENTITY_BITS]
    return tuple(CellNode(j, tuple(i for i in used if edges.get((i, j))), kinds[j]) for j in used[1:])


def program_of(bits: Sequence[int], filters: tuple[int, ...] = (16, 32, 64)) -> Program:
    """Return the network of `combo_cell`, with its default classes, for a cell.

    bits: 31 bits, see `combo_cell`.
    filters: number of filters of each stage, from 1.
    """
    return SearchSpace(combo_cell(filters)).replay({f"bit_{i}": bit for i, bit in enumerate(bits)}).program()


def published_flops(bits: Sequence[int], filters: Sequence[int] = (16, 32, 64), size: int = 32) -> int:
    """Count the FLOPs of one image like the authors' code.

    A convolution counts each multiplication once and its bias; normalization, ReLU and each input in the sum of a node
    count 2 per number, pooling one less than its window. All 31 bits at 1 give 101,055,498. Raises Infeasible if no
    path leads through the cell; TypeError, ValueError unless there are 31 bits.

    Parameters
    ----------
    bits : sequence of int
        31 bits, see `combo_cell`.
    filters : sequence of int, default (16, 32, 64)
        Number of filters of each stage, at least 1.
    size : int, default 32
        Height and width in pixels of the image, which has 3 channels.
    """
    nodes = decode_bits(bits)
    total, channels = 0, 3
    for position, width in enumerate(filters):
        area = size * size
        each = 2 * area * width  # normalization, ReLU, or one input of a sum
        total += area * width * (channels * (9 if position == 0 else 1) + 1) + (2 * each if position == 0 else 0)
        for node in nodes:
            total += each * len(node.reads)
            if node.kind == POOL_BITS:
                total += 8 * area * width
            elif node.kind != IDENTITY_BITS:
                total += area * width * (width * (9 if node.kind == SMALL_BITS else 25) + 1) + 2 * each
        size, channels = size // 2, width
        total += 3 * size * size * width
    return total + 10 * (size * size * channels + 1)


INITIAL_CELLS = (
    "1100000000100000100001000100101",
    "1111111111100000100001000100101",
    "0011111111100001100001000100101",
    "0011011101100001100001000100101",
    "0011111111111000000011000001101",
    "0011011101111000000011000001101",
    "1111111111111000000011000001101",
    "1111011101111000000011000001101",
    "1111111111111111111111111111111",
    "1101110111111111111111111111111",
)
"""The ten initial cells of every published search, as bits."""


@dataclass(frozen=True)
class ComboObjective:
    """An objective: error plus 0.02 FLOPs / FLOPs of the largest cell, 0.92 for cells without a path.

    It is called with a dict of the bits ``bit_0`` to ``bit_30``, a point of `bits_space`, or with a program (Oh et al.
    2019, section 4.3).

    Parameters
    ----------
    error : callable
        Error of a `Program` of `combo_cell`, such as `bostruct.nas.CIFAR10Objective(path, "combo")`.
    filters : tuple of int, default (16, 32, 64)
        Number of filters of each stage, at least 1.
    """

    error: Callable[[Presented], float]
    filters: tuple[int, ...] = (16, 32, 64)

    def __call__(self, point: Program | Mapping[str, int]) -> float:
        values = point.trace if isinstance(point, Program) else point
        bits = [int(values[f"bit_{i}"]) for i in range(31)]
        try:
            flops = published_flops(bits, self.filters)
        except Infeasible:
            return 0.92
        program = point if isinstance(point, Program) else program_of(bits, self.filters)
        return self.error(program) + 0.02 * flops / published_flops([1] * 31, self.filters)


def bits_space() -> Space:
    """Return the space of the published searches: 31 binary variables, including cells without a path."""
    return Space({f"bit_{i}": [0, 1] for i in range(31)})


def _combo_network(filters: tuple[int, ...], classes: int) -> IO:
    bits = {f"bit_{i}": D([0, 1], name=f"bit_{i}") for i in range(31)}
    parts = [ops.conv_bn_relu(filters[0], bias=True)]
    for position, width in enumerate(filters):
        if position:
            parts.append(ops.conv2d(width, 1))
        parts.append(substitution_module("Cell", partial(_wire_combo_cell, width), bits, ["in"], ["out"]))
        parts.append(ops.max_pool(2, 2))
    return siso_sequential([*parts, ops.flatten(), ops.dense(classes)])


def _wire_combo_cell(width: int, bits: dict[str, Value]) -> IO:
    nodes = decode_bits([bits[f"bit_{i}"] for i in range(31)])
    inputs, outputs = identity()
    made = {0: outputs}
    for node in nodes:
        made[node.position] = apply_part(
            _node_operation(node.kind, width), combine_outputs([made[i] for i in node.reads], ops.add)
        )
    return inputs, made[COMBO_NODES - 1]


def _node_operation(kind: tuple[int, int], width: int) -> IO:
    if kind == IDENTITY_BITS:
        return identity()
    if kind == POOL_BITS:
        return ops.max_pool(3, 1)
    return ops.conv_bn_relu(width, 3 if kind == SMALL_BITS else 5, bias=True)
