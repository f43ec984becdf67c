"""One layer of an architecture, and the shorthand in which people write it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from bostruct.checks import short_repr
from bostruct.contracts import Json, PointError
from bostruct.domains.space.choices import to_python

SHORTHAND = re.compile(r"(?P<label>.+?)(?:-(?P<units>\d+))?(?:/(?P<stride>\d+))?")
Attributes = tuple[tuple[str, Json], ...]
SCALARS = (str, bool, int, float)


class Layer(NamedTuple):
    """One layer of an architecture.

    label: str, a label of the family.
    units: int, 1 to 10^9, None where the label has none.
    stride: 1 or 2.
    attributes: anything more that sets layers apart (dropout, normalization ...), as (name, JSON scalar) sorted by
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

    given: the layer in any of these forms.
    where: str, what errors call it.

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
    """Return a layer's shorthand, or a dict of its fields where it has attributes.

    layer: `Layer`.
    """
    return (
        str(layer)
        if not layer.attributes
        else {
            "label": layer.label,
            "units": layer.units,
            "stride": layer.stride,
            "attributes": dict(layer.attributes),
        }
    )


def _from_shorthand(text: str, where: str) -> Layer:
    match = SHORTHAND.fullmatch(text.strip())
    if match is None:
        raise PointError(f"{where}: expected a string like 'conv3-16/2' or 'max-pool', got {text!r}")
    label, units, stride = match.group("label", "units", "stride")
    try:
        return Layer(label, None if units is None else int(units), 1 if stride is None else int(stride))
    except ValueError:  # of more than 4,300 digits
        raise PointError(f"{where}: expected numbers that are shorter, got {short_repr(text)}") from None


def _is_normalized(layer: Layer) -> bool:
    """Tell whether the fields already have the types a `Layer` keeps; other integers and texts print in other words."""
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
