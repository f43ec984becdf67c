"""The cell of COMBO (Oh et al. 2019, section 4.3): 31 bits, two a node and one for each pair of seven."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

from bostruct.contracts import Infeasible
from bostruct.domains.language.combinators import identity, siso_sequential
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.modules import IO, Builder, substitution_module
from bostruct.nas import ops
from bostruct.nas.spaces.wiring import applied, combined, conv_bn_relu, on_paths

NODES = 7
PAIRS = tuple(combinations(range(NODES), 2))  # the upper triangle row by row, as the bits are


def combo_cell(filters: tuple[int, ...] = (16, 32, 64), classes: int = 10) -> Builder:
    """filters: of the three cells, which are alike. The bits, in order, are ``bit_0`` to ``bit_30``.

    Bits 2k and 2k + 1 are type and size of node k + 1: identity, 3 x 3 max pool, 3 x 3 and 5 x 5 convolution; bits 10
    to 30 the edges. Inputs of a node are summed; nodes on no path from input to output are cut, and without a path,
    which 149,607 of 2^21 wirings have none of, the cell is infeasible (published: an accuracy of 0.1).
    """
    return partial(_network, tuple(filters), classes)


def _network(filters: tuple[int, ...], classes: int) -> IO:
    bits = {f"bit_{i}": D([0, 1], name=f"bit_{i}") for i in range(31)}
    parts = [conv_bn_relu(filters[0])]
    for position, width in enumerate(filters):
        if position:
            parts.append(ops.conv2d(width, 1))
        parts.append(substitution_module("Cell", partial(_cell, width), bits, ["in"], ["out"]))
        parts.append(ops.max_pool(2, 2))
    return siso_sequential([*parts, ops.flatten(), ops.dense(classes)])


def _cell(width: int, bits: dict[str, Any]) -> IO:
    edges = {pair: bits[f"bit_{10 + position}"] for position, pair in enumerate(PAIRS)}
    used = on_paths(NODES, edges)
    if not used:
        raise Infeasible("no path leads from the cell's input to its output")
    inputs, outputs = identity()
    made = {0: outputs}
    for j in used[1:]:
        read = combined([made[i] for i in used if edges.get((i, j))])
        kind = (bits[f"bit_{2 * (j - 1)}"], bits[f"bit_{2 * j - 1}"]) if j < NODES - 1 else (0, 0)
        made[j] = applied(_node(kind, width), read)
    return inputs, made[NODES - 1]


def _node(kind: tuple[int, int], width: int) -> IO:
    if kind == (0, 0):
        return identity()
    if kind == (0, 1):
        return ops.max_pool(3, 1)
    return conv_bn_relu(width, 3 if kind == (1, 0) else 5)
