"""Tabular benchmarks: cells as architectures, and the finite domain of a table, in which equal cells are one point.

A published cell is a code: one of a few operations for each position. Operations are layers, and connections are edges.
Codes that compute the same function give isomorphic, hence equal, architectures: operations on no path from input to
output are left out, and a skip connection is an edge, not a layer. If several paths carry one tensor to a layer, the
first is that edge and each other path is a layer ``skip``, because the layer adds the tensor several times. A cell that
computes nothing is one layer ``zero``. Each cell follows a stem and precedes a classifier, the decision layer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import (
    DomainError,
    Json,
    LocalDomain,
    ParsedJson,
    Point,
    PointError,
    SpaceExhausted,
    draw_unseen,
)
from bostruct.domains.architecture.layers import CELL, CNN, MBCONV, MLP, Family, Layer
from bostruct.domains.architecture.validity import AdjacencyLists, Edges, adjacency
from bostruct.domains.architecture.value import Architecture, check_architecture

Code = tuple[int, ...]

CHANNELS = 64  # of every tensor in a cell, as in the last of NAS-Bench-201's three stages
CHANGE_TRIES = 100  # attempts at a change or a child, because a table may lack codes

SubtreeKey = tuple[int, ...]
Number = Callable[[Hashable], int]


class LayerGraph(NamedTuple):
    """An architecture before it is checked."""

    layers: tuple[Layer, ...]
    edges: Edges


@dataclass(frozen=True)
class CellSpace:
    """The codes of a tabular benchmark and the architectures that they represent."""

    name: str
    family: Family
    choices: tuple[tuple[str, ...], ...]
    build: Callable[[Code], LayerGraph]
    format: Callable[[Sequence[str]], str]

    def architecture(self, code: Code) -> Architecture:
        """Build the architecture that a code represents.

        code: tuple of int, one choice per position, each below the number of operations there.
        """
        return Architecture(*self.build(code), self.family)

    def to_string(self, code: Code) -> str:
        """Write a code as the benchmark does.

        code: tuple of int, one choice per position.
        """
        return self.format([names[choice] for names, choice in zip(self.choices, code, strict=True)])


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
    """Append a layer that each source feeds as often as it is listed; return its position."""
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

    edges: source and target tensor of the operation at each position.
    labels: label of each choice; ``skip`` if it passes on its input, None if it has no output.
    """

    edges: tuple[tuple[int, int], ...]
    labels: tuple[str | None, ...]

    def __call__(self, code: Code) -> LayerGraph:
        layers: list[Layer] = []
        inputs: list[tuple[int, ...]] = []
        tensors: list[tuple[int, ...]] = [(0,), (), (), ()]  # the operations that each tensor sums; 0 is the input
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
    fed = [True]  # whether the input reaches an operation
    for v in range(1, 7):
        parents[v] = [u for u in parents[v] if fed[u]]
        fed.append(bool(parents[v]))
    layers = [_operation_layer(NODE_LABELS[choice]) for choice in code[21:]]
    return wire(layers, parents[1:6], parents[6])


def build_modules(code: Code) -> LayerGraph:
    """Build a network of TransNAS-Bench-101's macro space: 4 to 6 modules of two residual blocks, one after the other.

    code: a choice for each module. Its first block may double the units (choices 2 and 4) and halve the image (3 and
        4); 0 omits the module.
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

    The first block of a stage halves the image and sets the units. In this block an identity is a 1 x 1 convolution,
    according to the published numbers of weights; any other identity is omitted.
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


def format_edges(names: Sequence[str]) -> str:
    """Write a cell as NAS-Bench-201 does: ``|op~0|+|op~0|op~1|+|op~0|op~1|op~2|``."""
    first, second, third = names[:1], names[1:3], names[3:]
    return "+".join("|" + "".join(f"{name}~{u}|" for u, name in enumerate(part)) for part in (first, second, third))


def format_digits(names: Sequence[str]) -> str:
    """Write a cell as TransNAS-Bench-101 does: ``3_33_333``.

    names: its operations in the order of `format_edges`; 0 none, 1 skip, 2 and 3 convolutions.
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
            format_edges,
        ),
        CellSpace(
            "transnas-micro",
            CELL,
            (tuple("0123"),) * 6,
            EdgeCell(BY_TARGET, (None, "skip", "conv1", "conv3")),
            format_digits,
        ),
        CellSpace("nasbench101", CELL, (("0", "1"),) * 21 + (NB101_OPERATIONS,) * 5, build_node_cell, " ".join),
        CellSpace("transnas-macro", CNN, (tuple("01234"),) * 6, build_modules, "".join),
        CellSpace("nasbench-macro", MBCONV, (tuple("012"),) * 8, build_blocks, "".join),
        CellSpace("fcnet", MLP, PERCEPTRON_CHOICES, build_perceptron, " ".join),
    )
}


class CodeTable(NamedTuple):
    """An index of the points of a table by code and by architecture."""

    index_of: dict[Code, int]
    position: dict[SubtreeKey, int]
    met: dict[Hashable, int]


@dataclass(frozen=True)
class TableDomain(LocalDomain):
    """The architectures of a table of codes; isomorphic ones are one point.

    codes: tuple of codes, the rows of the table; None for every code of the space.

    A change is another choice at one position of one of the point's codes. Raises DomainError.
    """

    space: str
    codes: tuple[Code, ...] | None = None

    def __post_init__(self) -> None:
        if self.space not in CELL_SPACES:
            raise DomainError(f"space: expected one of {', '.join(CELL_SPACES)}; got {short_repr(self.space)}")
        counts = [len(names) for names in self.cells.choices]
        for row, code in enumerate(self.codes or ()):
            if len(code) != len(counts) or not all(0 <= c < k for c, k in zip(code, counts, strict=True)):
                raise DomainError(f"codes[{row}]: expected choices below {counts}, got {short_repr(code)}")
        if self.codes is not None and len(set(self.codes)) < max(len(self.codes), 1):
            raise DomainError("codes: expected at least one code and no duplicates")

    def __reduce__(self) -> tuple[object, ...]:
        return shared_table, (self.space, self.codes)  # without cached attributes

    @property
    def cells(self) -> CellSpace:
        """The codes of the benchmark and the architectures that they represent."""
        return CELL_SPACES[self.space]

    @property
    def family(self) -> Family:
        """The family of the architectures."""
        return self.cells.family

    @property
    def size(self) -> int:
        """The number of points; isomorphic architectures are one point."""
        return len(self.members)

    @cached_property
    def rows(self) -> tuple[Code, ...]:
        """The codes of the table; if none were given, all codes of the space in lexicographic order."""
        if self.codes is not None:
            return self.codes
        return tuple(product(*(range(len(names)) for names in self.cells.choices)))

    @cached_property
    def members(self) -> tuple[tuple[Code, ...], ...]:
        """The codes of each point, in the order of `rows`; points are in the order of their first code."""
        found: list[list[Code]] = [[] for _ in self._codes.position]
        for code, place in self._codes.index_of.items():
            found[place].append(code)
        return tuple(map(tuple, found))

    def at(self, place: int) -> Architecture:
        """Return the point at a position.

        place: int, 0 to size - 1.
        """
        known = self._architectures
        if place not in known:
            known[place] = self.cells.architecture(self.members[place][0])
        return known[place]

    def index_of(self, x: Point) -> int:
        """Return the position of a point, the inverse of `at`.

        Raises PointError if the table does not contain the point.
        """
        check_architecture(x, self.family)
        try:
            return self._codes.position[_subtree_key(x.layers, x.parents, x.children, self._codes.met.__getitem__)]
        except KeyError:  # also for a subtree of no architecture in the table, which a lookup must not add
            raise PointError(f"{x!r} is not in the table of {self.space}") from None

    def index_of_code(self, code: Iterable[int]) -> int:
        """Return the position of the point that a code represents.

        code: choices, one per position.

        Raises PointError for a code that is not in the table.
        """
        given = tuple(code)
        try:
            return self._codes.index_of[given]
        except (KeyError, TypeError):
            raise PointError(f"the code {short_repr(given)} is not in the table of {self.space}") from None

    def sample(self, m: int, rng: np.random.Generator) -> list[Architecture]:
        """Draw m points, independent and each equally likely."""
        return [self.at(int(place)) for place in rng.integers(self.size, size=m)]

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Architecture:
        if (x := draw_unseen(self.sample, self.keys, seen, rng)) is not None:
            return x
        left = [x for x in map(self.at, range(self.size)) if x.fingerprint not in seen]
        if not left:
            raise SpaceExhausted(f"all {self.size} architectures of the table have been seen")
        return left[int(rng.integers(len(left)))]

    def check(self, x: object) -> None:
        """Raise PointError unless x is in the table."""
        self.index_of(x)

    def parse(self, point: object) -> Architecture:
        """Read a point as a user writes it.

        Raises PointError.
        """
        if isinstance(point, str):
            return self.decode(point)
        if isinstance(point, Mapping):
            point = Architecture.from_json(point, self.family)
        elif isinstance(point, list | tuple | np.ndarray):
            return self.at(self.index_of_code(point))
        return self.at(self.index_of(point))

    def encode(self, x: Architecture) -> Json:
        """Return the first of the point's codes, as the benchmark writes it."""
        return self.cells.to_string(self.members[self.index_of(x)][0])

    def decode(self, data: ParsedJson) -> Architecture:
        """Read a code as the benchmark writes it; raises PointError for one that is not in the table."""
        if data not in self._index_by_string:
            raise PointError(
                f"{short_repr(data)} is not in the table of {self.space}; it has "
                f"{short_repr(next(iter(self._index_by_string)))}"
            )
        return self.at(self._index_by_string[data])

    def key(self, x: Architecture) -> Hashable:
        return x.fingerprint

    def architectures(self, xs: Sequence[Architecture]) -> Sequence[Architecture]:
        return xs

    def neighbors(self, x: Architecture) -> list[Architecture]:
        """List all points one change away, in the order of the table."""
        return list(map(self.at, self._neighbor_indices(self.index_of(x))))

    def sample_neighbors(self, x: Architecture, m: int, rng: np.random.Generator) -> list[Architecture]:
        near = self._neighbor_indices(self.index_of(x))
        if len(near) > m:
            near = [near[i] for i in np.sort(rng.choice(len(near), size=m, replace=False))]
        return list(map(self.at, near))

    def mutate(self, x: Architecture, rng: np.random.Generator) -> Architecture:
        """Change one random choice in a random one of x's codes.

        Returns any other point if no such change is found. Raises DomainError if the table has no other point.
        """
        place = self.index_of(x)
        members = self.members[place]
        for _ in range(CHANGE_TRIES):
            code = list(members[int(rng.integers(len(members)))])
            position = int(rng.integers(len(code)))
            k = len(self.cells.choices[position])
            code[position] = (code[position] + 1 + int(rng.integers(k - 1))) % k
            changed = self._codes.index_of.get(tuple(code), place)
            if changed != place:
                return self.at(changed)
        if self.size == 1:
            raise DomainError(f"the table of {self.space} has no other architecture than {x!r}")
        return self.at((place + 1 + int(rng.integers(self.size - 1))) % self.size)

    def crossover(self, x: Architecture, y: Architecture, rng: np.random.Generator) -> Architecture:
        """Take each choice from the first code of x or of y with equal probability.

        Returns x if no such child is found in the table.
        """
        first, second = (self.members[self.index_of(parent)][0] for parent in (x, y))
        for _ in range(CHANGE_TRIES):
            child = tuple(a if rng.random() < 0.5 else b for a, b in zip(first, second, strict=True))
            if child in self._codes.index_of:
                return self.at(self._codes.index_of[child])
        return x

    def to_json(self) -> Json:
        """Describe the domain as JSON."""
        codes = None if self.codes is None else [list(code) for code in self.codes]
        return {"domain": "table", "space": self.space, "codes": codes}

    @classmethod
    def from_json(cls, data: ParsedJson) -> TableDomain:
        """Rebuild a domain from its description."""
        codes = data["codes"]
        return cls(data["space"], None if codes is None else tuple(map(tuple, codes)))

    def _neighbor_indices(self, place: int) -> list[int]:
        found = set()
        for code in self.members[place]:
            for position, names in enumerate(self.cells.choices):
                for choice in range(len(names)):
                    changed = (*code[:position], choice, *code[position + 1 :])
                    found.add(self._codes.index_of.get(changed, place))
        return sorted(found - {place})

    @cached_property
    def _codes(self) -> CodeTable:
        index = CodeTable({}, {}, {})

        def number(subtree: Hashable) -> int:
            return index.met.setdefault(subtree, len(index.met))

        for code in self.rows:
            layers, edges = self.cells.build(code)
            key = _subtree_key(layers, *adjacency(edges, len(layers)), number)
            index.index_of[code] = index.position.setdefault(key, len(index.position))
        return index

    @cached_property
    def _index_by_string(self) -> dict[str, int]:
        return {self.cells.to_string(code): place for code, place in self._codes.index_of.items()}

    @cached_property
    def _architectures(self) -> dict[int, Architecture]:
        return {}


@lru_cache(maxsize=8)
def shared_table(space: str, codes: tuple[Code, ...] | None = None) -> TableDomain:
    """Return the same domain for the same arguments, because indexing a table takes a second."""
    return TableDomain(space, codes)


def _subtree_key(
    layers: Sequence[Layer], parents: AdjacencyLists, children: AdjacencyLists, number: Number
) -> SubtreeKey:
    """Return a key that is equal for isomorphic architectures and, in the tables of this file, for no others.

    It costs a fraction of a fingerprint. Layers are distinguished by all layers before them, then by all after them.

    number: see `CodeTable.met`.
    """
    down = [0] * len(layers)
    for u, layer in enumerate(layers):
        down[u] = number((layer, *sorted([down[p] for p in parents[u]])))
    up = [0] * len(layers)
    for u in range(len(layers) - 1, -1, -1):
        up[u] = number((down[u], *sorted([up[v] for v in children[u]])))
    return tuple(sorted(up))
