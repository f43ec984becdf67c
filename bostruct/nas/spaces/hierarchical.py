"""The flat and the hierarchical space of Liu et al. 2018 (Hierarchical representations), of repeated motifs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TypeAlias

from bostruct.domains.language.combinators import apply_part, combine_outputs, identity, siso_sequential
from bostruct.domains.language.graph import IO, Builder, substitution_module
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.values import Value
from bostruct.nas import ops

FLAT_OPERATIONS = ("conv1x1", "depthwise3x3", "separable3x3", "maxpool3x3", "avgpool3x3", "identity")
NONE = "none"
Edges: TypeAlias = dict[str, D]


def hierarchical(
    nodes: int = 4, motifs: int = 6, cell_nodes: int = 5, filters: tuple[int, ...] = (64, 128, 256), classes: int = 10
) -> Builder:
    """Return the hierarchical search space: networks of one cell, whose edges are motifs, whose edges are operations.

    Each edge (i - 1, i) is a motif, or an operation; every other edge may also be none. The operation of edge i -> j of
    motif m is the hyperparameter ``motif_m_i_j``, the motif of edge i -> j of the cell is ``cell_i_j``. The network
    around the cells is the same as in `flat`, and so is the last convolution of a motif (DeepArchitect's code).

    Parameters
    ----------
    nodes, motifs, cell_nodes : int
        Number of nodes of a motif, of motifs, and of nodes of the cell.
    filters, classes
        See `flat`.
    """
    return partial(_hierarchical_network, nodes, motifs, cell_nodes, tuple(filters), classes)


def flat(nodes: int = 11, filters: tuple[int, ...] = (64, 128, 256), classes: int = 10) -> Builder:
    """Return the flat search space: networks of one motif, whose edges each have an operation.

    The operation of edge i -> j is the hyperparameter ``edge_i_j``. A node concatenates its inputs, normalizes them and
    convolves them with size 1; the motif ends in another convolution of size 1. Each resolution has a motif, a
    separable convolution, a motif, and a separable convolution of stride 2 to twice the filters. The filters of the
    first separable convolution follow the resolution; DeepArchitect's code keeps 64.

    Parameters
    ----------
    nodes : int, default 11
        Nodes of a motif. Edges (i - 1, i) have an operation, other edges may have none: 6^10 7^45 motifs for 11.
    filters : tuple of int, default (64, 128, 256)
        Number of filters at each resolution.
    classes : int, default 10
        Number of outputs of the network.
    """
    return partial(_flat_network, nodes, tuple(filters), classes)


def _flat_network(nodes: int, filters: tuple[int, ...], classes: int) -> IO:
    chosen = _choose_motif_edges("edge", nodes, FLAT_OPERATIONS)

    def motif(width: int) -> IO:
        built = partial(_wire_motif, nodes, width)
        return substitution_module("Motif", built, chosen, ["in"], ["out"], opens_choices=False)

    return _stack_parts(motif, filters, classes)


def _stack_parts(build: Callable[[int], IO], filters: tuple[int, ...], classes: int) -> IO:
    """Stack two equally wide parts for each resolution, each followed by a separable convolution."""
    parts = [ops.conv2d(filters[0], 3)]
    for width in filters:
        parts += [build(width), ops.separable_conv2d(width), build(width), ops.separable_conv2d(2 * width, stride=2)]
    return siso_sequential([*parts, ops.global_pool(), ops.dense(classes)])


def wire_nodes(nodes: int, width: int, chosen: Mapping[str, Value], build: Callable[[Value], IO]) -> IO:
    """Build a graph of nodes, each of which concatenates its inputs, normalizes them and convolves them with size 1.

    nodes: number of nodes, at least 2; the last node is the output.
    width: number of filters.
    chosen: ``i_j`` -> the part on the edge from node i to node j, ``none`` for no edge.
    """
    inputs, outputs = identity()
    made = [outputs]
    for j in range(1, nodes):
        edges = [(i, chosen[f"{i}_{j}"]) for i in range(j)]
        read = [apply_part(build(one), made[i]) for i, one in edges if one != NONE]
        joined = siso_sequential([ops.batch_norm(), ops.conv2d(width, 1), ops.relu()])
        made.append(apply_part(joined, combine_outputs(read, ops.concat)))
    return inputs, made[-1]


def build_operation(name: str, width: int) -> IO:
    """Build one of `FLAT_OPERATIONS`.

    width: number of filters.
    """
    return {
        "conv1x1": partial(ops.conv2d, width, 1),
        "depthwise3x3": ops.depthwise_conv2d,
        "separable3x3": partial(ops.separable_conv2d, width),
        "maxpool3x3": partial(ops.max_pool, 3, 1),
        "avgpool3x3": partial(ops.avg_pool, 3, 1),
        "identity": identity,
    }[name]()


def _hierarchical_network(nodes: int, motifs: int, cell_nodes: int, filters: tuple[int, ...], classes: int) -> IO:
    inner = [_choose_motif_edges(f"motif_{m}", nodes, FLAT_OPERATIONS) for m in range(motifs)]
    outer = _choose_motif_edges("cell", cell_nodes, range(motifs))

    def cell(width: int) -> IO:
        return substitution_module("Cell", partial(_wire_cell, cell_nodes, nodes, inner, width), outer, ["in"], ["out"])

    return _stack_parts(cell, filters, classes)


def _choose_motif_edges(name: str, nodes: int, values: Sequence[Value]) -> Edges:
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
