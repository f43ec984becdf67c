"""Cells of tabular benchmarks as architectures: operations are layers, what feeds what are edges.

A published cell is a code: for each position one of a few operations. Its architecture is what the cell computes, so
that codes which compute the same give isomorphic, hence equal, architectures: operations that no path connects from
input to output are left out, and a skip connection is not a layer but an edge. Where two paths carry the same tensor to
one place, one is that edge, and each other one a layer ``skip``, for a sum of two is not a sum of one. A cell that
computes nothing is one layer ``zero``. A stem comes before, and a
classifier, the decision layer, after every cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from bostruct.domains.architecture.layers import CELL, CNN, MBCONV, MLP, Family, Layer
from bostruct.domains.architecture.validity import Edges
from bostruct.domains.architecture.value import Architecture

Code = tuple[int, ...]

CHANNELS = 64  # of every tensor in a cell: in the last of NAS-Bench-201's three stages


class LayerGraph(NamedTuple):
    """An architecture before it is checked."""

    layers: tuple[Layer, ...]
    edges: Edges


@dataclass(frozen=True)
class CellSpace:
    """The codes of a tabular benchmark and the architectures they stand for."""

    name: str
    family: Family
    choices: tuple[tuple[str, ...], ...]
    build: Callable[[Code], LayerGraph]
    spell: Callable[[Sequence[str]], str]

    def architecture(self, code: Code) -> Architecture:
        """Build the architecture that a code stands for.

        code: tuple of int, one choice per position, each below the number of operations there.
        """
        return Architecture(*self.build(code), self.family)

    def to_string(self, code: Code) -> str:
        """Write a code as the benchmark does.

        code: tuple of int, one choice per position.
        """
        return self.spell([names[choice] for names, choice in zip(self.choices, code, strict=True)])


def wire(operations: Sequence[Layer], inputs: Sequence[Sequence[int]], last: Sequence[int]) -> LayerGraph:
    """Build the architecture of operations 1, 2 ... that add up their inputs; 0 is the tensor that enters the cell."""
    if not last:
        return wire([Layer("zero")], [(0,)], (1,))
    needed = {0}
    waiting = list(last)
    while waiting:
        if (u := waiting.pop()) not in needed:
            needed.add(u)
            waiting += inputs[u - 1]
    layers = [Layer("ip"), Layer("stem", CHANNELS)]
    edges = [(0, 1)]
    place = {0: 1}
    for u, layer in enumerate(operations, start=1):
        if u in needed:
            place[u] = _append_layer(layers, edges, [place[v] for v in inputs[u - 1]], layer)
    classifier = _append_layer(layers, edges, [place[v] for v in last], Layer("classifier"))
    _append_layer(layers, edges, [classifier], Layer("op"))
    return LayerGraph(tuple(layers), tuple(sorted(edges)))


def _append_layer(layers: list[Layer], edges: list[tuple[int, int]], sources: Sequence[int], layer: Layer) -> int:
    """Append a layer, fed by each source as often as it is listed; returns if it is."""
    feeding = list(dict.fromkeys(sources))
    for u in feeding[:] if len(feeding) < len(sources) else ():
        for _ in range(sources.count(u) - 1):
            edges.append((u, len(layers)))
            feeding.append(len(layers))
            layers.append(Layer("skip"))
    edges.extend((u, len(layers)) for u in feeding)
    layers.append(layer)
    return len(layers) - 1


@dataclass(frozen=True)
class EdgeCell:
    """Cells of four tensors 0 to 3, each the sum of operations on earlier ones; 0 enters and 3 leaves.

    edges: of each position, the tensors that its operation leads from and to. labels: of each choice, ``skip`` where it
    passes on its input, None if it gives nothing.
    """

    edges: tuple[tuple[int, int], ...]
    labels: tuple[str | None, ...]

    def __call__(self, code: Code) -> LayerGraph:
        layers: list[Layer] = []
        inputs: list[tuple[int, ...]] = []
        tensors: list[tuple[int, ...]] = [(0,), (), (), ()]  # the operations that each adds up; 0 is what enters
        for position in sorted(range(len(self.edges)), key=self.edges.__getitem__):
            source, target = self.edges[position]
            label = self.labels[code[position]]
            if label is None or not tensors[source]:
                continue
            if label == "skip":
                tensors[target] += tensors[source]
            else:
                layers.append(_operation_layer(label))
                inputs.append(tensors[source])
                tensors[target] += (len(layers),)
        return wire(layers, inputs, tensors[-1])


def build_node_cell(code: Code) -> LayerGraph:
    """Build a cell of NAS-Bench-101.

    code: 21 bits, the upper triangle of a 7 x 7 adjacency row by row, then 5 operations.
    """
    bits = iter(code[:21])
    parents: list[list[int]] = [[] for _ in range(7)]
    for u in range(7):
        for v in range(u + 1, 7):
            if next(bits):
                parents[v].append(u)
    fed = [True]  # whether anything reaches an operation
    for v in range(1, 7):
        parents[v] = [u for u in parents[v] if fed[u]]
        fed.append(bool(parents[v]))
    layers = [_operation_layer(NODE_LABELS[choice]) for choice in code[21:]]
    return wire(layers, parents[1:6], parents[6])


def build_modules(code: Code) -> LayerGraph:
    """Build a network of TransNAS-Bench-101's macro space: 4 to 6 modules of two residual blocks, one after the other.

    code: a choice for each module. Its first block may double the units (choices 2 and 4) and halve the image (3 and
        4); 0 is no module.
    """
    units = MODULE_UNITS
    layers = [Layer("ip"), Layer("conv3", units)]
    for choice in code:
        if choice:
            units *= 2 if choice % 2 == 0 else 1
            layers += [Layer("res3", units, 2 if choice > 2 else 1), Layer("res3", units)]
    layers += [Layer("softmax"), Layer("op")]
    return LayerGraph(tuple(layers), tuple(pairwise(range(len(layers)))))


def build_blocks(code: Code) -> LayerGraph:
    """Build a network of NAS-Bench-Macro, which has stages of 2, 3 and 3 blocks.

    code: for each block, 0 identity, 1 MBConv 3 x 3 or 2 MBConv 5 x 5.

    The first block of a stage halves the image and sets the units, if an identity is a convolution 1 x 1, as the
    published numbers of weights tell; any other identity is no layer.
    """
    layers = [Layer("ip"), Layer("conv3", STEM_UNITS)]
    choices = iter(code)
    for units, n_blocks in MACRO_STAGES:
        for block in range(n_blocks):
            choice = next(choices)
            if choice or block == 0:
                layers.append(Layer(BLOCK_LABELS[choice], units, 2 if block == 0 else 1))
    layers += [Layer("conv1", HEAD_UNITS), Layer("softmax"), Layer("op")]
    return LayerGraph(tuple(layers), tuple(pairwise(range(len(layers)))))


def build_perceptron(code: Code) -> LayerGraph:
    """Build a perceptron of FC-Net.

    code: activation and width of its first layer, then of its second.
    """
    first, units, second, units2 = (names[choice] for names, choice in zip(PERCEPTRON_CHOICES, code, strict=True))
    layers = (Layer("ip"), Layer(first, int(units)), Layer(second, int(units2)), Layer("linear"), Layer("op"))
    return LayerGraph(layers, tuple(pairwise(range(len(layers)))))


def spell_edges(names: Sequence[str]) -> str:
    """Write a cell as NAS-Bench-201 does: ``|op~0|+|op~0|op~1|+|op~0|op~1|op~2|``."""
    first, second, third = names[:1], names[1:3], names[3:]
    return "+".join("|" + "".join(f"{name}~{u}|" for u, name in enumerate(part)) for part in (first, second, third))


def spell_digits(names: Sequence[str]) -> str:
    """Write a cell as TransNAS-Bench-101 does: ``3_33_333``.

    names: its operations in the order of `spell_edges`; 0 none, 1 skip, 2 and 3 convolutions.
    """
    return "_".join(("".join(names[:1]), "".join(names[1:3]), "".join(names[3:])))


def _operation_layer(label: str) -> Layer:
    return Layer(label, CHANNELS if CELL.by_name[label].units else None)


NODE_LABELS = ("max-pool", "conv1", "conv3")
MODULE_UNITS = 64
BLOCK_LABELS = ("conv1", "mb3", "mb5")
MACRO_STAGES = ((64, 2), (128, 3), (256, 3))
STEM_UNITS, HEAD_UNITS = 32, 1280
PERCEPTRON_WIDTHS = ("16", "32", "64", "128", "256", "512")
PERCEPTRON_CHOICES = (("relu", "tanh"), PERCEPTRON_WIDTHS) * 2
BY_TARGET = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
NB201_OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
NB101_OPERATIONS = ("maxpool3x3", "conv1x1-bn-relu", "conv3x3-bn-relu")
CELL_SPACES = {
    space.name: space
    for space in (
        CellSpace(
            "nasbench201",
            CELL,
            (NB201_OPERATIONS,) * 6,
            EdgeCell(BY_TARGET, (None, "skip", "conv1", "conv3", "avg-pool")),
            spell_edges,
        ),
        CellSpace(
            "transnas-micro",
            CELL,
            (tuple("0123"),) * 6,
            EdgeCell(BY_TARGET, (None, "skip", "conv1", "conv3")),
            spell_digits,
        ),
        CellSpace("nasbench101", CELL, (("0", "1"),) * 21 + (NB101_OPERATIONS,) * 5, build_node_cell, " ".join),
        CellSpace("transnas-macro", CNN, (tuple("01234"),) * 6, build_modules, "".join),
        CellSpace("nasbench-macro", MBCONV, (tuple("012"),) * 8, build_blocks, "".join),
        CellSpace("fcnet", MLP, PERCEPTRON_CHOICES, build_perceptron, " ".join),
    )
}
