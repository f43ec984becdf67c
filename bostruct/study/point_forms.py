"""Representations of points: in memory, as text on disk, and with the user's numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bostruct.contracts import Batch, Domain, Info, ParsedJson, Point, Presented
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable
from bostruct.storage.json_text import dump, dump_compactly, parse, parse_all

Kept: TypeAlias = Any  # a point's key, or the point itself; None if it is unreadable


class PointForm:
    """The in-memory representation of a domain's points."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._by_key: Any = None if domain.from_keys(()) is None else domain

    @property
    def is_complete(self) -> bool:
        """True if points are kept as keys from which their stored form can be written."""
        return self._by_key is not None

    def keep(self, x: Point) -> Kept:
        """Return the representation of a point."""
        return x if self._by_key is None else self._by_key.key(x)

    def keep_all(self, batch: Batch) -> list[Kept]:
        """Return the representations of points."""
        return list(batch) if self._by_key is None else self._by_key.keys(batch)

    def key(self, kept: Kept) -> Hashable:
        """Return the key of a point."""
        return self.domain.key(kept) if self._by_key is None else kept

    def join(self, kept: Sequence[Kept]) -> Batch:
        """Return points as a batch of the domain."""
        return self.domain.join(kept) if self._by_key is None else self._by_key.from_keys(kept)

    def restore(self, kept: Kept) -> Point:
        """Return a point."""
        return kept if self._by_key is None else self._by_key.from_keys([kept])[0]

    def __call__(self, kept: Kept, info: Info) -> Presented:
        """Return a point as the objective receives it, with the user's numbers."""
        return restore_numbers(self.domain.present(self.restore(kept)), info.get("given"))

    def show_all(self, kept: Sequence[Kept], infos: Sequence[Info]) -> list[Presented]:
        """Return points as the objective receives them, as a call does one by one."""
        points = self.domain.present_all(self.join(kept)) if self.is_complete else map(self.domain.present, kept)
        return [restore_numbers(one, info.get("given")) for one, info in zip(points, infos, strict=True)]


class PointStore(NamedTuple):
    """The points of all trials at one time.

    kept: representations of the points, by trial number.
    """

    form: PointForm
    kept: tuple[Kept, ...]

    def take(self, numbers: Sequence[int]) -> Batch:
        """Return the points of some trials as a batch."""
        return self.form.join([self.kept[number] for number in numbers])

    def keys(self, numbers: Sequence[int]) -> frozenset[Hashable]:
        """Return the keys of the points of some trials."""
        return frozenset(self.form.key(self.kept[number]) for number in numbers)


def find_moved_numbers(given: object, presented: object, domain: Domain | None = None) -> dict[str, ParsedJson]:
    """Return the numbers of a point that its domain rounds, by name, as plain JSON; {} if there are none.

    A listed number is stored as in the list, in whatever form it was given.

    domain: domain of the point; None if it lists no numbers.
    """
    if not isinstance(given, Mapping) or not isinstance(presented, Mapping):
        return {}
    moved: dict[str, ParsedJson] = {}
    values = {} if domain is None else domain.named_values
    for name in presented.keys() & given.keys():
        own, kept, one = given[name], presented[name], values.get(name)
        if isinstance(kept, Mapping):
            if isinstance(one, Variable):
                continue  # numbers that sum to a total were rescaled
            if inside := find_moved_numbers(own, kept, one if isinstance(one, Domain) else None):
                moved[name] = inside
            continue
        choices, is_real = (one.choices, one.is_real) if isinstance(one, Variable) else (None, False)
        if choices is not None and not is_real:
            continue
        number = own.item() if isinstance(own, np.generic) else own
        is_moved = _is_real_number(kept) and _is_real_number(number) and number != kept
        if is_moved and (choices is None or choices.low <= number <= choices.high):  # not rounded beyond an end
            moved[name] = number
    return moved


def restore_numbers(presented: Presented, moved: ParsedJson) -> Presented:
    """Return a point with the numbers that the user gave."""
    if not isinstance(presented, Mapping) or not isinstance(moved, Mapping) or not moved:
        return presented
    known = {name: number for name, number in moved.items() if name in presented}
    inside = {name: restore_numbers(presented[name], one) for name, one in known.items() if isinstance(one, Mapping)}
    return {**presented, **known, **inside}


def _is_real_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def find_names(description: ParsedJson) -> tuple[str, ...] | None:
    """Return the possible names of a domain's points, in their order; None if points have no names.

    description: description of the domain, as JSON.
    """
    if not isinstance(description, dict) or description.get("domain") != "space":
        return None
    variables = description.get("variables")
    return tuple(variables) if isinstance(variables, dict) else None


def write_point_text(domain: Domain, x: Point, names: Sequence[str] | None) -> str:
    """Return a point as text; a point with inactive variables is stored with its names."""
    data = domain.encode(x)
    if names is not None and isinstance(data, dict) and tuple(data) == names:
        return dump_compactly(list(data.values()))
    return dump(data)


def read_point_texts(texts: Sequence[str], domain: Domain, names: Sequence[str] | None) -> Batch | None:
    """Return points as a batch of their domain; None if a point must be read separately, or cannot be read."""
    if names is None or type(domain) is not Space:
        return None
    points = parse_all(texts)
    if points is None or not all(isinstance(point, list) for point in points):
        return None
    return domain.decode_values(points)


def read_point_text(text: str, names: Sequence[str] | None) -> ParsedJson:
    """Return the encoding of a point; raise ValueError if the text is not JSON or has too many values."""
    data = parse(text)
    if names is None or not isinstance(data, list):
        return data
    if len(data) != len(names):
        raise ValueError(f"point: expected {len(names)} values, got {len(data)}")
    return dict(zip(names, data, strict=True))
