"""Layers, their shorthand, and their labels: the types of layers in a family.

The labels and costs of `CNN` and `MLP` are from Kandasamy et al. 2018, "Neural Architecture Search with Bayesian
Optimization and Optimal Transport" (NASBOT), with the values of its released code. One unit of cost is the cost of
leaving one unit of mass unmatched in one architecture.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from bostruct.checks import check_choice, check_number, short_repr
from bostruct.contracts import Array, DomainError, Json, ParsedJson, PointError
from bostruct.domains.space.choices import to_python

SHORTHAND = re.compile(r"(?P<label>.+?)(?:-(?P<units>\d+))?(?:/(?P<stride>\d+))?")
Attributes = tuple[tuple[str, Json], ...]
SCALARS = (str, bool, int, float)


class Layer(NamedTuple):
    """One layer of an architecture.

    units: int, 1 to 10^9, None if the label has none.
    stride: 1 or 2.
    attributes: other properties that distinguish layers (dropout, normalization ...), as (name, JSON scalar) sorted by
        name.
    """

    label: str
    units: int | None = None
    stride: int = 1
    attributes: Attributes = ()

    def __str__(self) -> str:
        units = "" if self.units is None else f"-{self.units}"
        stride = "" if self.stride == 1 else f"/{self.stride}"
        attributes = "".join(f" {name}={value}" for name, value in self.attributes)
        return f"{self.label}{units}{stride}{attributes}"


def as_layer(given: object, where: str) -> Layer:
    """Read a layer from itself, shorthand (``conv3-16/2``), a tuple of its fields, or a mapping of them.

    Raises PointError.
    """
    if isinstance(given, Layer) and _is_normalized(given):
        return given
    if isinstance(given, str):
        return _from_shorthand(given, where)
    if isinstance(given, Mapping):
        if unknown := set(given) - set(Layer._fields):
            raise PointError(
                f"{where}: expected the fields {', '.join(Layer._fields)}, got {short_repr(sorted(unknown))}"
            )
        given = (given.get("label"), given.get("units"), given.get("stride", 1), given.get("attributes", ()))
    if not isinstance(given, tuple | list) or not 1 <= len(given) <= 4:
        raise PointError(
            f"{where}: expected a Layer, a string like 'conv3-16/2', or its fields; got {short_repr(given)}"
        )
    fields = (*given, *(None, 1, ())[len(given) - 1 :])
    label, units, stride, attributes = fields
    if not isinstance(label, str):
        raise PointError(f"{where}: expected a label, got {short_repr(label)}")
    return Layer(str(label), to_python(units), to_python(stride), _check_attributes(attributes, where))


def layer_to_json(layer: Layer) -> Json:
    """Return a layer's shorthand, or a dict of its fields if it has attributes."""
    return layer._asdict() | {"attributes": dict(layer.attributes)} if layer.attributes else str(layer)


def _from_shorthand(text: str, where: str) -> Layer:
    match = SHORTHAND.fullmatch(text.strip())
    if match is None:
        raise PointError(f"{where}: expected a string like 'conv3-16/2' or 'max-pool', got {text!r}")
    label, units, stride = match.group("label", "units", "stride")
    try:
        return Layer(label, None if units is None else int(units), 1 if stride is None else int(stride))
    except ValueError:  # a number of more than 4,300 digits
        raise PointError(f"{where}: expected shorter numbers, got {short_repr(text)}") from None


def _is_normalized(layer: Layer) -> bool:
    """Return whether the fields already have the types that a `Layer` stores; others are displayed differently."""
    types = type(layer.label), type(layer.units), type(layer.stride)
    return types in ((str, int, int), (str, type(None), int)) and layer.attributes == ()


def _check_attributes(given: Any, where: str) -> Attributes:
    pairs = given.items() if isinstance(given, Mapping) else given
    try:
        attributes = tuple(sorted((to_python(name), to_python(value)) for name, value in pairs))
    except (TypeError, ValueError):
        raise PointError(f"{where}: expected attributes as a mapping, got {short_repr(given)}") from None
    for position, (name, value) in enumerate(attributes):
        if type(name) is not str or type(value) not in SCALARS:
            raise PointError(
                f"{where}: expected attributes from names to JSON scalars, got {name!r}: {short_repr(value)}"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise PointError(f"{where}: expected a finite number for attribute {name}, got {value}")
        if position and attributes[position - 1][0] == name:
            raise PointError(f"{where}: attribute {name} is given twice")
    return attributes


Role = Literal["input", "output", "decision", "processing"]
ImageEffect = Literal["keeps", "strides", "halves", "collapses"]
Joins = Literal["concatenates", "adds"]
LabelCosts = tuple[tuple[str, str, float], ...]
LABEL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*")
UNMATCHED = 2.0  # cost of a unit of mass that both architectures leave unmatched: no match costs more


@dataclass(frozen=True)
class Label:
    """A type of layer.

    Parameters
    ----------
    name : str
        Letters, digits and ``_.+-``, not ending in a hyphen and digits, because ``conv3-16`` is a layer of 16 units.
    role : {"input", "output", "decision", "processing"}, default "processing"
        The role of the layer.
    group : str, optional
        The group of the family's path lengths that counts the layer.
    units : bool, default True
        Whether a layer of this type has a number of units. Otherwise, it passes on its incoming units.
    image : {"keeps", "strides", "halves", "collapses"}, default "keeps"
        The effect on an image: its size is kept, may be halved by stride 2, is always halved, or the image becomes
        features.

    Raises
    ------
    DomainError, ValueError
        If an argument is invalid.
    """

    name: str
    role: Role = "processing"
    group: str | None = None
    units: bool = True
    image: ImageEffect = "keeps"

    def __post_init__(self) -> None:
        if not LABEL_NAME.fullmatch(self.name) or re.search(r"-\d+$", self.name):
            raise DomainError(
                f"label: expected a name of letters, digits and _.+- that starts with a letter and does not end in a "
                f"hyphen and digits, got {short_repr(self.name)}"
            )
        check_choice("role", self.role, get_args(Role))
        check_choice("image", self.image, get_args(ImageEffect))
        if self.group is not None and not isinstance(self.group, str):
            raise DomainError(f"label {self.name}: expected a group's name or None, got {short_repr(self.group)}")
        _check_bool(f"label {self.name}: units", self.units)

    @property
    def dense(self) -> bool:
        """True if the layer is fully connected, on the features of an image."""
        return self.role == "processing" and self.image == "collapses"


BUILT_IN: dict[str, Family] = {}  # filled at the end of the file


@dataclass(frozen=True)
class Family:
    """The labels that an architecture may use, and the costs of matching layers of different labels.

    Parameters
    ----------
    name : str
        The name of the family.
    labels : tuple of Label
        The labels, with distinct names.
    groups : tuple of str
        Groups of layers with path lengths of their own.
    costs : tuple of tuple of (str, str, float)
        The cost of each pair of labels that may be matched, once. Other pairs are never matched.
    image : bool
        Whether the input is an image, whose sizes are checked, or features.
    joins : {"concatenates", "adds"}, default "concatenates"
        Whether the inputs of a layer are concatenated, so that their channels add up, or added.

    Raises
    ------
    DomainError
        If the costs violate the triangle inequality, because the distance would violate it too.
    """

    name: str
    labels: tuple[Label, ...]
    groups: tuple[str, ...]
    costs: LabelCosts
    image: bool
    joins: Joins = "concatenates"

    def __post_init__(self) -> None:
        self._check_types()
        names = [label.name for label in self.labels]
        if len(set(names)) != len(names):
            raise DomainError(f"labels: expected distinct names, got {short_repr(names)}")
        for role in ("input", "output"):
            if sum(label.role == role for label in self.labels) != 1:
                raise DomainError(f"labels: expected exactly one label of role {role}")
        for label in self.labels:
            if label.group is not None and label.group not in self.groups:
                raise DomainError(f"label {label.name}: its group {label.group!r} is not among {self.groups}")
        self._check_costs()
        check_triangles(names, self.mismatch)

    def _check_types(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DomainError(f"name: expected a non-empty string, got {short_repr(self.name)}")
        if not isinstance(self.labels, tuple) or not all(isinstance(label, Label) for label in self.labels):
            raise DomainError(f"labels: expected a tuple of Label, got {short_repr(self.labels)}")
        if not isinstance(self.groups, tuple) or not all(isinstance(group, str) for group in self.groups):
            raise DomainError(f"groups: expected a tuple of names, got {short_repr(self.groups)}")
        if len(set(self.groups)) != len(self.groups):
            raise DomainError(f"groups: expected distinct names, got {short_repr(self.groups)}")
        _check_bool("image", self.image)
        check_choice("joins", self.joins, get_args(Joins))
        is_costs = isinstance(self.costs, tuple) and all(isinstance(c, tuple) and len(c) == 3 for c in self.costs)
        if not is_costs:
            raise DomainError(f"costs: expected a tuple of (label, label, cost), got {short_repr(self.costs)}")
        known = BUILT_IN.get(self.name)
        if known is not None and known != self:
            raise DomainError(f"name: {self.name!r} is a built-in family; give a different family another name")

    def _check_costs(self) -> None:
        pairs: set[frozenset[str]] = set()
        for first, second, cost in self.costs:
            if first not in self.index or second not in self.index:
                raise DomainError(f"costs: expected pairs of {', '.join(self.index)}; got {first!r}, {second!r}")
            if first == second:
                raise DomainError(f"costs: expected pairs of different labels (equal labels cost 0); got {first} twice")
            if (pair := frozenset((first, second))) in pairs:
                raise DomainError(f"costs: expected each pair once, got {first} and {second} twice")
            pairs.add(pair)
            check_number(f"cost of matching {first} to {second}", cost, 0.0)

    def __hash__(self) -> int:
        return hash(self.name)

    @cached_property
    def index(self) -> dict[str, int]:
        """The row in `mismatch` of each label, by name."""
        return {label.name: row for row, label in enumerate(self.labels)}

    @cached_property
    def by_name(self) -> dict[str, Label]:
        return {label.name: label for label in self.labels}

    @cached_property
    def input(self) -> Label:
        return next(label for label in self.labels if label.role == "input")

    @cached_property
    def output(self) -> Label:
        return next(label for label in self.labels if label.role == "output")

    @cached_property
    def mismatch(self) -> Array:
        """The cost of matching a unit of mass, (labels, labels): symmetric, zero diagonal, inf if never matched."""
        table = np.full((len(self.labels), len(self.labels)), np.inf)
        np.fill_diagonal(table, 0.0)
        for first, second, cost in self.costs:
            table[self.index[first], self.index[second]] = table[self.index[second], self.index[first]] = cost
        return table

    def with_label(self, label: Label, costs: Mapping[str, float], name: str | None = None) -> Family:
        """Return a new family with another label.

        Parameters
        ----------
        label : Label
            The new label.
        costs : dict of float
            The cost, above 0, of matching the new label to existing labels, by name. Matching it to any other label
            costs as much as the cheapest detour over these labels.
        name : str, optional
            The name of the new family. By default both names, such as ``cnn+conv9``.

        Returns
        -------
        Family
            The new family.

        Raises
        ------
        DomainError, ValueError
            If an argument is invalid.
        """
        for other, cost in costs.items():
            check_choice("costs", other, self.index)
            check_number(f"costs[{other!r}]", cost, 1e-12)
        known = np.full(len(self.labels), np.inf)
        for other, cost in costs.items():
            known = np.minimum(known, cost + self.mismatch[self.index[other]])
        cheapest = {x.name: float(c) for x, c in zip(self.labels, known, strict=True) if c < UNMATCHED}
        pairs = tuple((label.name, other, float(cost)) for other, cost in (cheapest | dict(costs)).items())
        groups = self.groups if label.group in (None, *self.groups) else (*self.groups, label.group)
        name = f"{self.name}+{label.name}" if name is None else name
        return replace(self, name=name, labels=(*self.labels, label), groups=groups, costs=(*self.costs, *pairs))

    def to_json(self) -> Json:
        """Return the name of a built-in family, otherwise its full description."""
        if self.name in BUILT_IN:
            return self.name
        labels = [[x.name, x.role, x.group, x.units, x.image] for x in self.labels]
        costs = [[first, second, float(cost)] for first, second, cost in self.costs]
        joins = {} if self.joins == "concatenates" else {"joins": self.joins}  # older descriptions have no joins
        description = {"name": self.name, "labels": labels, "groups": list(self.groups), "costs": costs}
        return description | {"image": self.image} | joins

    @cached_property
    def identity(self) -> str:
        """A string that is unique to the family: its name, and a digest of its description unless it is built in."""
        description = self.to_json()
        if isinstance(description, str):
            return description
        digest = hashlib.blake2b(json.dumps(description).encode(), digest_size=16).hexdigest()
        return f"{self.name} {digest}"

    def __reduce__(self) -> tuple[object, ...]:
        return family_from_json, (self.to_json(),)  # pickled by description: a family's tables are larger


def check_triangles(names: Sequence[str], costs: Array) -> None:
    """Check that no match of labels costs more than a detour over a third label, with costs capped at `UNMATCHED`.

    costs: (n, n), symmetric, cost of matching each pair.

    Raises DomainError.
    """
    capped = np.minimum(costs, UNMATCHED)
    detour = (capped[:, :, None] + capped[None, :, :]).min(axis=1)
    if (broken := np.argwhere(capped > detour + 1e-12)).size:
        i, k = broken[0]
        j = int((capped[i] + capped[:, k]).argmin())
        raise DomainError(
            f"costs: matching {names[i]} to {names[k]} costs {costs[i, k]:g}, more than by way of {names[j]} "
            f"({detour[i, k]:g}); the distance would break the triangle inequality"
        )


def family_from_json(data: ParsedJson) -> Family:
    """Rebuild a family from its description; raises DomainError for an unknown name."""
    if isinstance(data, str):
        if data not in BUILT_IN:
            raise DomainError(f"family: expected one of {', '.join(BUILT_IN)}, or a description; got {data!r}")
        return BUILT_IN[data]
    labels = tuple(Label(*fields) for fields in data["labels"])
    costs = tuple((first, second, float(cost)) for first, second, cost in data["costs"])
    joins = data.get("joins", "concatenates")
    return Family(data["name"], labels, tuple(data["groups"]), costs, data["image"], joins)


def _check_bool(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise DomainError(f"{name}: expected True or False, got {short_repr(value)}")


def kernel_size_costs(sizes: tuple[int, ...], scale: float) -> LabelCosts:
    """Return the costs of matching convolutions and residual blocks of kernel sizes k and l.

    scale: float; the cost within one type is scale * sqrt(|k - l|).

    Between the types it is 0.9 of that plus 0.1: a residual block differs from a convolution of the same size by 0.1.
    """
    costs: list[tuple[str, str, float]] = []
    for k in sizes:
        for other in sizes:
            raw = scale * float(np.sqrt(abs(k - other)))
            costs.append((f"conv{k}", f"res{other}", 0.9 * raw + 0.1))
            if k < other:
                costs += [(f"conv{k}", f"conv{other}", raw), (f"res{k}", f"res{other}", raw)]
    return tuple(costs)


def _activation_costs() -> LabelCosts:
    named = [(name, group) for group, names in (("r", RECTIFIERS), ("s", SIGMOIDS)) for name in names]
    return tuple(
        (first, second, 0.1 if group == other else 0.25) for (first, group), (second, other) in combinations(named, 2)
    )


KERNEL_SIZES = (3, 5, 7)
POOL_LABELS = ("max-pool", "avg-pool")
RECTIFIERS = ("relu", "crelu", "leaky-relu", "softplus", "elu")
SIGMOIDS = ("logistic", "tanh")

ENDS = (Label("ip", "input", units=False), Label("op", "output", units=False))
CNN = Family(
    "cnn",
    (
        *ENDS,
        *(Label(f"{kind}{k}", group="conv", image="strides") for kind in ("conv", "res") for k in KERNEL_SIZES),
        *(Label(name, group="pool", units=False, image="halves") for name in POOL_LABELS),
        Label("fc", group="fc", image="collapses"),
        Label("softmax", "decision", units=False, image="collapses"),
    ),
    ("conv", "pool", "fc"),
    (*kernel_size_costs(KERNEL_SIZES, 0.1 * float(np.sqrt(2.0))), ("max-pool", "avg-pool", 0.5)),
    image=True,
)
MLP = Family(
    "mlp",
    (
        *ENDS,
        *(Label(name, group="rectifier") for name in RECTIFIERS),
        *(Label(name, group="sigmoid") for name in SIGMOIDS),
        Label("linear", "decision", units=False),
        Label("softmax", "decision", units=False),
    ),
    ("rectifier", "sigmoid"),
    _activation_costs(),
    image=False,
)
CELL = Family(  # for tabular benchmarks, with our own costs
    "cell",
    (
        *ENDS,
        Label("stem"),
        Label("conv1", group="conv"),
        Label("conv3", group="conv"),
        Label("max-pool", group="pool", units=False),
        Label("avg-pool", group="pool", units=False),
        Label("skip", units=False),
        Label("zero", units=False),
        Label("classifier", "decision", units=False),
    ),
    ("conv", "pool"),
    (("conv1", "conv3", 0.2), ("max-pool", "avg-pool", 0.5)),
    image=False,
    joins="adds",
)
MBCONV = Family(  # for chains of inverted residual blocks, with our own costs
    "mbconv",
    (
        *ENDS,
        Label("conv1", group="conv", image="strides"),
        Label("conv3", group="conv", image="strides"),
        Label("mb3", group="block", image="strides"),
        Label("mb5", group="block", image="strides"),
        Label("softmax", "decision", units=False, image="collapses"),
    ),
    ("conv", "block"),
    (
        *(("conv1", "conv3", 0.2), ("mb3", "mb5", 0.2)),
        *((conv, block, 0.5) for conv in ("conv1", "conv3") for block in ("mb3", "mb5")),
    ),
    image=True,
)
ALL_KERNEL_SIZES = tuple(range(1, 12))
CNN_ALL_KERNELS = replace(  # the labels and costs of `cnn`, and convolutions of all sizes up to 11
    CNN,
    name="cnn-all-kernels",
    labels=(
        *ENDS,
        *(Label(f"{kind}{k}", group="conv", image="strides") for kind in ("conv", "res") for k in ALL_KERNEL_SIZES),
        *CNN.labels[2 + 2 * len(KERNEL_SIZES) :],
    ),
    costs=(*kernel_size_costs(ALL_KERNEL_SIZES, 0.1 * float(np.sqrt(2.0))), ("max-pool", "avg-pool", 0.5)),
)
BUILT_IN |= {family.name: family for family in (CNN, MLP, CELL, MBCONV, CNN_ALL_KERNELS)}
