"""Genetic CNN (Xie and Yuille 2017): stages of nodes, and a bit for each pair of nodes."""

from __future__ import annotations

from functools import partial
from itertools import combinations

from bostruct.domains.language.combinators import Outputs, apply_part, combine_outputs, siso_sequential
from bostruct.domains.language.graph import IO, Builder, substitution_module
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.values import Value
from bostruct.nas import ops


def genetic_cnn(
    stages: tuple[int, ...] = (3, 4, 5), filters: tuple[int, ...] = (64, 128, 256), classes: int = 10, units: int = 1024
) -> Builder:
    """Return the search space of Genetic CNN; by default as DeepArchitect searched it, 2^19 wirings.

    A stage is a 5 x 5 convolution, then a 3 x 3 convolution per node, of the sum of the node's inputs. Nodes without
    inputs read the first convolution, the outputs of nodes that no node reads are summed and convolved once more, and
    nodes without edges are left out. Raises ValueError if the numbers of filters and stages differ.

    Parameters
    ----------
    stages, filters : tuple of int
        Number of nodes and number of filters of each stage.
    classes, units : int
        Number of outputs of the network, and of units of the dense layer before the output.
    """
    if len(stages) != len(filters):
        raise ValueError(f"stages, filters: expected equal numbers, got {len(stages)} and {len(filters)}")
    return partial(_genetic_network, tuple(stages), tuple(filters), classes, units)


def _genetic_network(stages: tuple[int, ...], filters: tuple[int, ...], classes: int, units: int) -> IO:
    parts = []
    for nodes, width in zip(stages, filters, strict=True):
        bits = {f"{i}_{j}": D([0, 1]) for i, j in combinations(range(nodes), 2)}
        stage = partial(_wire_stage, nodes, width)
        parts += [substitution_module("Stage", stage, bits, ["in"], ["out"], opens_choices=False), ops.max_pool(3, 2)]
    head = [ops.flatten(), ops.dense(units), ops.relu(), ops.dropout(0.5), ops.dense(classes)]
    return siso_sequential([*parts, *head])


def _wire_stage(n: int, filters: int, bits: dict[str, Value]) -> IO:
    inputs, entry = ops.conv_bn_relu(filters, 5)
    edges = [(i, j) for i, j in combinations(range(n), 2) if bits[f"{i}_{j}"]]
    if not edges:
        return inputs, entry
    made: dict[int, Outputs] = {}
    for node in sorted({node for edge in edges for node in edge}):
        read = [made[i] for i, j in edges if j == node] or [entry]
        made[node] = apply_part(ops.conv_bn_relu(filters), combine_outputs(read, ops.add))
    ends = [made[node] for node in made if all(i != node for i, _ in edges)]
    return inputs, apply_part(ops.conv_bn_relu(filters), combine_outputs(ends, ops.add))
