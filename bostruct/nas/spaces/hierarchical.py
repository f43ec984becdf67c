"""The hierarchical space of Liu et al. 2018 (Hierarchical representations): a motif of motifs, everywhere alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TypeAlias

from bostruct.domains.language.combinators import siso_sequential
from bostruct.domains.language.graph import IO, Builder
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.modules import substitution_module
from bostruct.domains.language.values import Value
from bostruct.nas import ops
from bostruct.nas.spaces.flat import FLAT_OPERATIONS, NONE, build_operation, wire_nodes
from bostruct.nas.spaces.wiring import apply_part

Edges: TypeAlias = dict[str, D]


def hierarchical(
    nodes: int = 4, motifs: int = 6, cell_nodes: int = 5, filters: tuple[int, ...] = (64, 128, 256), classes: int = 10
) -> Builder:
    """Return the hierarchical search space: networks of one cell, whose edges are motifs, whose edges are operations.

    nodes: of a motif.
    motifs: to choose from, as many as are shared by the whole network.
    cell_nodes: of the cell.
    filters: of each resolution.
    classes: of the data.

    Each edge (i - 1, i) is a motif, or an operation; every other one may also be none. The operation of edge i -> j of
    motif m is the hyperparameter ``motif_m_i_j``, the motif of edge i -> j of the cell is ``cell_i_j``. The network
    around the cells is that of `flat`, and a motif ends in a convolution as it does there (DeepArchitect's code).
    """
    return partial(_hierarchical_network, nodes, motifs, cell_nodes, tuple(filters), classes)


def _hierarchical_network(nodes: int, motifs: int, cell_nodes: int, filters: tuple[int, ...], classes: int) -> IO:
    inner = [_choose_edges(f"motif_{m}", nodes, FLAT_OPERATIONS) for m in range(motifs)]
    outer = _choose_edges("cell", cell_nodes, range(motifs))

    def cell(width: int) -> IO:
        return substitution_module("Cell", partial(_wire_cell, cell_nodes, nodes, inner, width), outer, ["in"], ["out"])

    parts = [ops.conv2d(filters[0], 3)]
    for width in filters:
        parts += [cell(width), ops.separable_conv2d(width), cell(width), ops.separable_conv2d(2 * width, stride=2)]
    return siso_sequential([*parts, ops.global_pool(), ops.dense(classes)])


def _choose_edges(name: str, nodes: int, values: Sequence[Value]) -> Edges:
    return {
        f"{i}_{j}": D(values if j == i + 1 else (NONE, *values), name=f"{name}_{i}_{j}")
        for i, j in combinations(range(nodes), 2)
    }


def _wire_cell(cell_nodes: int, nodes: int, inner: list[Edges], width: int, chosen: Mapping[str, Value]) -> IO:
    def motif(m: Value) -> IO:
        wire = partial(_wire_motif, nodes, width)
        return substitution_module("Motif", wire, inner[int(str(m))], ["in"], ["out"], opens_choices=False)

    return wire_nodes(cell_nodes, width, chosen, motif)


def _wire_motif(nodes: int, width: int, chosen: Mapping[str, Value]) -> IO:
    inputs, outputs = wire_nodes(nodes, width, chosen, lambda name: build_operation(str(name), width))
    return inputs, apply_part(ops.conv2d(width, 1), outputs)
