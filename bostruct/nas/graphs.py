"""Read graphs of operations as architectures: find the layers of a family among the operations of a network.

Normalization, activation and dropout belong to the layer before them. Convolutions with a parallel shortcut are one
residual layer, as in He et al. 2016.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from bostruct.checks import check_choice, short_repr
from bostruct.contracts import DomainError, PointError
from bostruct.domains.architecture.layers import CNN, MLP, Family, Label, Layer, kernel_size_costs
from bostruct.domains.architecture.value import Architecture

MAX_OPERATIONS = 20_000
MAX_KERNEL = 31  # height and width
MAX_CHAIN = 200  # maximum number of operations on a path through a residual block
SCALE = 0.1 * math.sqrt(2.0)  # scale of the costs between sizes of kernels in `CNN`
SMALL_POOL = 0.2  # cost of matching a pool that keeps the size of an image to a pool that halves it
ACTIVATIONS = {  # labels in `MLP`; None for activations without a label
    **{name: name for name in ("relu", "crelu", "leaky-relu", "softplus", "elu", "tanh")},
    **{"sigmoid": "logistic"},
    **dict.fromkeys(("relu6", "hardswish", "hardsigmoid", "silu", "gelu", "selu", "mish", "prelu")),
}
FOLLOWING = {"batch-norm", "dropout", "identity", *ACTIVATIONS}  # operations that belong to the layer before them
PASSED = {"batch-norm", "dropout", "identity", "flatten", "mean", "pad"}  # operations that are not layers
POOLS = ("max-pool", "avg-pool")
SHORTCUT = {"conv", "batch-norm", "pad", "identity", *POOLS}
SCALED = ("add", "sub", "mul", "div")  # not layers if one operand is a constant
BEHIND = {"identity", "flatten", "mean", "stack", "softmax", "log-softmax", "logsumexp", "sigmoid"}  # after decisions


class GraphNode(NamedTuple):
    """An operation of a network, as a node of its graph.

    name: name in messages.
    kind: input, conv, linear, cat, add or one of the names above; otherwise the operation's name, as in ``layer-norm``.
    inputs: keys of the operations that feed it, without weights and constants.
    units: number of output channels; None if unknown.
    kernel, stride: height and width for a convolution or a pool.
    groups, dilation: groups and dilation of a convolution.
    rate: rate of dropout.
    attributes: attributes of a layer that represents several operations.
    weights: name of the weights, which several operations may share.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    units: int | None = None
    kernel: tuple[int, ...] = (1, 1)
    stride: tuple[int, ...] = (1, 1)
    groups: int = 1
    dilation: int = 1
    rate: float = 0.0
    attributes: tuple[tuple[str, str | float], ...] = ()
    weights: str = ""


@dataclass
class GraphReader:
    """A reader that collects the layers of a network.

    source: name of the network in messages.
    operations: operations by key, each after its inputs.
    given: family of the layers; by default `CNN` if there are convolutions, otherwise `MLP`, with missing labels added.
    """

    source: str
    operations: dict[str, GraphNode]
    given: Family | None
    notes: set[str] = field(default_factory=set)
    layers: list[Layer] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    users: dict[str, list[str]] = field(default_factory=dict)  # operation -> operations that it feeds
    sources: dict[str, tuple[int, ...]] = field(default_factory=dict)  # operation -> layers whose output it passes on
    merged: set[str] = field(default_factory=set)  # operations that belong to the layer before them
    loose: set[str] = field(default_factory=set)  # dropout that does not belong to a layer so far
    scaled: set[str] = field(default_factory=set)  # sums and products with constants

    def __post_init__(self) -> None:
        if self.given is not None and not isinstance(self.given, Family):
            raise TypeError(f"family: expected a Family or None, got {short_repr(self.given)}")
        if len(self.operations) > MAX_OPERATIONS:
            n = len(self.operations)
            raise DomainError(f"{self.source}: expected at most {MAX_OPERATIONS} operations, got {n}")
        self.scaled = {key for key, one in self.operations.items() if one.kind in SCALED and len(one.inputs) == 1}
        self.operations |= {key: self.operations[key]._replace(kind="identity") for key in self.scaled}
        weights = [one.weights for one in self.operations.values() if one.weights]
        if len(set(weights)) < len(weights):
            self.notes.add("layers that share weights have their own")
        self.image = any(one.kind == "conv" for one in self.operations.values())
        self.family = self.given or (CNN if self.image else MLP)

    def read(self, output: str, decision: str | None, has_norms: bool = True) -> Architecture:
        """Return the architecture of the operations that lead to an output.

        output: key of the output.
        decision: label of decision layers; by default the label of the family's domain, ``softmax`` or ``linear``.
        has_norms: False if normalization may have been merged into convolutions.

        Warns about operations that the layers cannot express. Raises DomainError if an operation cannot be read.
        """
        label = decision or ("softmax" if self.image else "linear")
        check_choice("decision", label, [one.name for one in self.family.labels if one.role == "decision"])
        self._count_users([output])
        decisions = self._find_decisions(output)
        below = [key for last in decisions for key in self.operations[last].inputs]
        for key in self._list_reached(below):
            self.operations[key] = self._fold(self.operations[key], has_norms)
        self._count_users(decisions)
        if self.scaled.intersection(self._list_reached(below)):
            self.notes.add("sums and products with constants are left out")
        for key in self._list_reached(below):
            self._read_operation(key, self.operations[key], has_norms)
        ends = [self._add_layer(self._decision_layer(key, label), self.operations[key]) for key in decisions]
        self.edges += [(end, len(self.layers)) for end in ends]
        self.layers.append(Layer(self.family.output.name))
        self.notes |= {"dropout that follows no layer with weights is left out"} if self.loose else set()
        try:
            found = Architecture(self.layers, self.edges, self._extend_family())
        except PointError as error:
            raise PointError(f"{self.source}: {error}") from None
        if self.notes:
            changed = "; ".join(sorted(self.notes))
            warnings.warn(f"{self.source}: the layers of {found.family.name} differ: {changed}", stacklevel=3)
        return found

    def _list_reached(self, keys: Sequence[str]) -> list[str]:
        """List the operations that lead to some keys, in order; raise DomainError if one comes before its input."""
        waiting, reached, met = list(keys), set[str](), set[str]()
        while waiting:
            if (key := waiting.pop()) not in reached:
                reached.add(key)
                waiting += self.operations[key].inputs
        for key in (order := [key for key in self.operations if key in reached]):
            if not met.issuperset(self.operations[key].inputs):
                raise self._refuse(self.operations[key], "it comes before the operations that feed it")
            met.add(key)
        return order

    def _count_users(self, ends: Sequence[str]) -> None:
        self.users = {key: [] for key in self.operations}
        for key in self._list_reached(ends):
            for entering in self.operations[key].inputs:
                self.users[entering].append(key)

    def _find_decisions(self, output: str) -> list[str]:
        """List the linear operations before the output."""
        waiting, found = [output], dict[str, None]()
        while waiting:
            one = self.operations[key := waiting.pop()]
            if one.kind == "linear":
                found[key] = None
            elif one.kind in BEHIND:
                waiting += reversed(one.inputs)
            else:
                raise self._refuse(one, "expected linear layers before the output")
        return list(found)

    def _fold(self, one: GraphNode, has_norms: bool) -> GraphNode:
        """Return an operation that represents itself and operations before it, or the operation itself."""
        if one.kind == "add" and self.family.joins == "concatenates":
            return self._fold_addition(one, has_norms)
        if one.kind == "conv" and (one.kernel, one.groups) == ((1, 1), 1):
            return self._fold_separable(one)
        return self._fold_rectifiers(one) if one.kind == "cat" else one

    def _fold_rectifiers(self, joined: GraphNode) -> GraphNode:
        """Return a concatenation in which one operation replaces each pair of ReLU(x) and ReLU(-x)."""
        kept = list(joined.inputs)
        for first, second in pairwise(joined.inputs):
            pair = [self.operations[key] for key in (first, second)]
            if [one.kind for one in pair] == ["relu", "relu"] and len(self.users[second]) == 1:
                negative = self.operations[pair[1].inputs[0]]
                if negative.kind == "neg" and negative.inputs == pair[0].inputs:
                    self.operations[second] = pair[1]._replace(kind="crelu", inputs=pair[0].inputs)
                    kept.remove(first)
        return joined._replace(inputs=tuple(kept))

    def _fold_separable(self, one: GraphNode) -> GraphNode:
        """Return a separable convolution for a convolution of size 1 after a depthwise convolution."""
        (key,) = one.inputs
        while self.operations[key].kind in FOLLOWING and len(self.users[key]) == 1:
            (key,) = self.operations[key].inputs
        first = self.operations[key]
        is_depthwise = first.kind == "conv" and first.groups == first.units and not first.attributes
        if not is_depthwise or len(self.users[key]) > 1 or (first.groups == 1 and key != one.inputs[0]):
            return one
        return first._replace(name=one.name, units=one.units, groups=1, attributes=(("separable", True),))

    def _fold_addition(self, add: GraphNode, has_norms: bool) -> GraphNode:
        """Return the residual layer of the block that an addition closes."""
        chains = [self._list_chain(entering) for entering in add.inputs]
        shared = next((key for key in chains[0] if key in chains[-1]), "")
        inner = [chain[: chain.index(shared)] if shared else [] for chain in chains]
        sides = [[self.operations[key] for key in keys] for keys in inner]
        if len(sides) != 2:
            raise self._refuse(add, "expected two inputs")
        short, main = sorted(sides, key=lambda side: sum(one.kind == "conv" for one in side))
        convs, kinds = [one for one in reversed(main) if one.kind == "conv"], {one.kind for one in main}
        is_block = bool(convs) and all(len(self.users[key]) == 1 for keys in inner for key in keys)
        is_block &= all(one.kind in SHORTCUT and (one.kind != "conv" or one.kernel == (1, 1)) for one in short)
        if not is_block or not kinds <= FOLLOWING | {"conv", "pad"}:
            fix = "a Family with joins='adds' reads any addition, such as replace(CNN, name='adding', joins='adds')"
            raise self._refuse(add, f"it closes no residual block; {fix}")
        sizes = [self._check_square(one) for one in convs]
        size = max(sizes)
        if sizes != [size, size] or any(one.groups > 1 or one.attributes for one in convs):
            self.notes.add(f"res{size} stands for blocks of {', '.join(f'{n}x{n}' for n in sizes)}")
        return convs[-1]._replace(
            name=add.name,
            kind="res",
            inputs=(shared,),
            kernel=(size, size),
            stride=tuple(math.prod(one.stride[i] for one in convs) for i in (0, 1)),
            groups=1,
            dilation=max(one.dilation for one in convs),
            attributes=() if "batch-norm" in kinds or not has_norms else (("normalization", "none"),),
        )

    def _check_square(self, one: GraphNode) -> int:
        """Return the size of a kernel; raise DomainError unless height and width are the same odd number."""
        if one.kernel[0] != one.kernel[1] or not one.kernel[0] % 2 or one.kernel[0] > MAX_KERNEL:
            raise self._refuse(one, f"expected a kernel of an odd size up to {MAX_KERNEL}, got {one.kernel}")
        return one.kernel[0]

    def _list_chain(self, key: str) -> list[str]:
        """List the operations from a key back to the first without exactly one input, at most `MAX_CHAIN`."""
        found = [key]
        while len(inputs := self.operations[found[-1]].inputs) == 1 and len(found) < MAX_CHAIN:
            found.append(inputs[0])
        return found

    def _list_following(self, key: str) -> list[str]:
        """List the operations that follow an operation without branches, and belong to its layer."""
        found: list[str] = []
        while len(users := self.users[key]) == 1 and self.operations[users[0]].kind in FOLLOWING:
            found.append(key := users[0])
        return found

    def _read_operation(self, key: str, one: GraphNode, has_norms: bool) -> None:
        """Record which layers an operation passes on, or add its layer."""
        passes = key in self.merged or one.kind in PASSED or (self.image and one.kind in ACTIVATIONS)
        passes |= one.kind == ("cat" if self.family.joins == "concatenates" else "add")
        if one.kind == "input":
            self.sources[key] = (self._add_layer(Layer(self.family.input.name), one),)
        elif passes or (one.kind in POOLS and self._is_no_pool(key, one)):
            self.sources[key] = self._list_arriving(one)
            self.loose |= {key} if one.kind == "dropout" and key not in self.merged else set()
        else:
            self.sources[key] = (self._add_layer(self._layer(key, one, has_norms), one),)

    def _is_no_pool(self, key: str, one: GraphNode) -> bool:
        """Return whether a pool is an identity, or averages a whole image: it is large and before flattening."""
        is_last = one.kind == "avg-pool" and {self.operations[user].kind for user in self.users[key]} <= {"flatten"}
        return one.kernel == (1, 1) == one.stride or (is_last and one.kernel[0] > 3)

    def _list_arriving(self, one: GraphNode) -> tuple[int, ...]:
        return tuple(dict.fromkeys(u for entering in one.inputs for u in self.sources[entering]))

    def _add_layer(self, layer: Layer, one: GraphNode) -> int:
        self.edges += [(u, len(self.layers)) for u in self._list_arriving(one)]
        if layer.label not in self.family.by_name and self.given is not None:
            known = ", ".join(self.family.by_name)
            raise self._refuse(one, f"the family {self.family.name} has no label {layer.label}; it knows {known}")
        self.layers.append(layer)
        return len(self.layers) - 1

    def _layer(self, key: str, one: GraphNode, has_norms: bool) -> Layer:
        """Return the layer of an operation; raise DomainError if the operation is not a layer of the family."""
        if one.kind in ("conv", "res") and self.image:
            return self._convolution(key, one, has_norms)
        if one.kind == "linear":
            return self._dense_layer(key, one)
        if one.kind in POOLS and self.image:
            if one.stride == (2, 2):
                return Layer(one.kind)
            if one.stride != (1, 1):
                raise self._refuse(one, f"expected a pool of stride 1 or 2, got {one.stride}")
            return Layer(f"{one.kind}{self._check_square(one)}")
        label, is_single = self.family.by_name.get(one.kind), len(one.inputs) == 1 and one.kind not in ACTIVATIONS
        if label is None or label.role != "processing" or not is_single:
            own = (
                f"; a family with Label({one.kind!r}, units=False) reads it: pass family=, and builders= to train it"
                if is_single and " " not in one.kind
                else ""
            )
            raise self._refuse(one, f"the family {self.family.name} has no such layer{own}")
        return Layer(one.kind, one.units if label.units else None)

    def _convolution(self, key: str, one: GraphNode, has_norms: bool) -> Layer:
        """Return a convolution or a residual layer, with the attributes of its operations."""
        if one.stride not in ((1, 1), (2, 2)) or one.groups > 1:
            raise self._refuse(one, f"expected stride 1 or 2 and one group, got {one.stride} and {one.groups}")
        found = (
            dict(one.attributes) | self._merge_dropout(key) | ({"dilation": one.dilation} if one.dilation > 1 else {})
        )
        behind = [self.operations[each].kind for each in self._list_following(key)]
        if one.kind == "conv" and has_norms and "batch-norm" not in behind and not self._has_norm_before(one):
            found["normalization"] = "none"
        self._note_activation(behind)
        return Layer(f"{one.kind}{self._check_square(one)}", one.units, one.stride[0], tuple(sorted(found.items())))

    def _has_norm_before(self, one: GraphNode) -> bool:
        """Return whether an operation is fed by normalization that does not belong to a convolution."""
        while one.kind != "batch-norm":
            one = self.operations[one.inputs[0]]
            if one.kind not in FOLLOWING:
                return False
        is_before = self.operations[one.inputs[0]].kind != "conv"
        self.notes |= {"normalization before a layer is read behind it"} if is_before else set()
        return is_before

    def _dense_layer(self, key: str, one: GraphNode) -> Layer:
        """Return a fully connected layer; in a family of features, the layer of its activation."""
        keys = self._list_following(key)
        behind = [self.operations[each].kind for each in keys]
        attributes = tuple(self._merge_dropout(key).items())
        if self.image:
            self._note_activation(behind)
            return Layer("fc", one.units, 1, attributes)
        self.notes |= {"batch normalization is left out"} if "batch-norm" in behind else set()
        first = next((i for i, kind in enumerate(behind) if ACTIVATIONS.get(kind)), None)
        if first is None:
            raise self._refuse(one, f"expected an activation of {self.family.name} behind it, got {behind or 'none'}")
        self.merged.update(keys[: first + 1])
        return Layer(ACTIVATIONS[behind[first]] or "", one.units, 1, attributes)

    def _note_activation(self, behind: Sequence[str]) -> None:
        kinds = ACTIVATIONS.keys() & behind
        self.notes.update(f"{kind} is read as relu" for kind in kinds - {"relu"})
        self.notes |= set() if kinds else {"no activation behind a layer is read as relu"}

    def _merge_dropout(self, key: str) -> dict[str, str | float]:
        """Return the attribute of the first dropout that follows an operation."""
        keys = [each for each in self._list_following(key) if self.operations[each].kind == "dropout"]
        self.merged.update(keys[:1])
        return {"dropout": self.operations[keys[0]].rate} if keys and self.operations[keys[0]].rate else {}

    def _decision_layer(self, key: str, label: str) -> Layer:
        """Return a decision layer, with the dropout before it unless that belongs to another layer."""
        (before,) = self.operations[key].inputs
        while self.operations[before].kind in ("identity", "flatten", "mean"):
            (before,) = self.operations[before].inputs
        is_loose = before in self.loose
        self.loose.discard(before)
        return Layer(label, None, 1, (("dropout", self.operations[before].rate),) if is_loose else ())

    def _extend_family(self) -> Family:
        """Return the family with added labels for missing sizes."""
        family, digits = self.family, "0123456789"
        for name in sorted({layer.label for layer in self.layers} - family.by_name.keys()):
            kind = name.rstrip(digits)
            if kind in POOLS:
                family = family.with_label(Label(name, group="pool", units=False), {kind: SMALL_POOL})
                continue
            sizes = {
                int(one.lstrip("convres")) for one in (*family.by_name, name) if one.rstrip(digits) in ("conv", "res")
            }
            pairs = [(first, second, cost) for first, second, cost in kernel_size_costs((*sizes,), SCALE)]
            costs = {a if b == name else b: cost for a, b, cost in pairs if name in (a, b)}
            known = {other: cost for other, cost in costs.items() if other in family.by_name}
            family = family.with_label(Label(name, group="conv", image="strides"), known)
        return family

    def _refuse(self, one: GraphNode, why: str) -> DomainError:
        return DomainError(f"{self.source}: {one.name} ({one.kind}): {why}")
