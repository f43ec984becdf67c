"""The numbers of added points as their user gave them, where a domain moves them to the nearest that it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bostruct.contracts import Domain, ParsedJson, Presented
from bostruct.domains.space.variable import Variable


def find_moved_numbers(given: object, presented: object, domain: Domain | None = None) -> dict[str, ParsedJson]:
    """Return the numbers of a point that its domain holds as others, by name, as plain JSON; none give {}.

    A listed number is the one of the list, however it was given.

    given: the point as the user wrote it.
    presented: the same point as the domain presents it. Only dicts are looked into.
    domain: of the point; None for one that lists no numbers.
    """
    if not isinstance(given, Mapping) or not isinstance(presented, Mapping):
        return {}
    moved: dict[str, ParsedJson] = {}
    values = {} if domain is None else domain.named_values
    for name in presented.keys() & given.keys():
        own, kept, one = given[name], presented[name], values.get(name)
        if isinstance(kept, Mapping):
            if inside := find_moved_numbers(own, kept, one if isinstance(one, Domain) else None):
                moved[name] = inside
            continue
        choices, kind = (one.choices, one.kind) if isinstance(one, Variable) else (None, "")
        if choices is not None and kind != "Real":
            continue
        number = _to_python(own)
        is_moved = _is_number(kept) and _is_number(number) and number != kept
        if is_moved and (choices is None or choices.low <= number <= choices.high):  # no end that rounding moved out
            moved[name] = number
    return moved


def restore_numbers(presented: Presented, moved: ParsedJson) -> Presented:
    """Return a point with the numbers that its user gave.

    presented: as its domain presents it.
    moved: what `find_moved_numbers` returned.
    """
    if not isinstance(presented, Mapping) or not isinstance(moved, Mapping) or not moved:
        return presented
    known = {name: number for name, number in moved.items() if name in presented}
    inside = {name: restore_numbers(presented[name], one) for name, one in known.items() if isinstance(one, Mapping)}
    return {**presented, **known, **inside}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _to_python(value: object) -> Any:
    return value.item() if isinstance(value, np.generic) else value
