"""The resources that the items of an order use, as a user gives them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from bostruct.checks import short_repr
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.choices import list_entries, to_python

ResourceNames: TypeAlias = tuple[str | int, ...]  # of each item, one for each time that it occurs


def check_resources(
    kind: str, given: Mapping[Any, object], items: Sequence[Any], counts: Sequence[int], find: Callable[[Any], int]
) -> ResourceNames:
    """Return the resource of each occurrence of each item; raise DomainError unless each has one.

    kind: what errors call the variable.
    given: of items, one resource or a list, tuple or array with one for each time that the item occurs.
    items: of the variable.
    counts: how often each occurs.
    find: item -> its position; raises PointError for what is none.
    """
    if not isinstance(given, Mapping):
        raise DomainError(f"{kind}: resources: expected a mapping of each item, got {short_repr(given)}")
    found: dict[int, list[str | int]] = {}
    for item, named in given.items():
        try:
            position = find(item)
        except PointError as error:
            raise DomainError(f"{kind}: resources: {error}") from None
        listed = list_entries(named)
        names = list(listed) if isinstance(listed, list | tuple) else [listed] * counts[position]
        if len(names) != counts[position]:
            expected = f"a list of {counts[position]}, a resource for each time that it occurs"
            raise DomainError(f"{kind}: resources: {short_repr(item)}: expected {expected}, got {short_repr(named)}")
        found[position] = [_check_name(kind, item, to_python(name)) for name in names]
    for position, item in enumerate(items):
        if position not in found:
            raise DomainError(f"{kind}: resources: expected a resource of each item, got none of {short_repr(item)}")
    return tuple(name for position in range(len(items)) for name in found[position])


def split_names(items: Sequence[Any], counts: Sequence[int], names: Sequence[Any]) -> dict[Any, list[Any]]:
    """Return the resources of each item, as a user gives them: the inverse of `check_resources`.

    items: of the variable.
    counts: how often each occurs.
    names: as of `check_resources`.
    """
    ends = itertools.accumulate(counts)
    return {item: list(names[end - n : end]) for item, n, end in zip(items, counts, ends, strict=True)}


def _check_name(kind: str, item: object, name: object) -> str | int:
    if not isinstance(name, str | int) or isinstance(name, bool):
        expected = "a string or an integer, or a list of them"
        raise DomainError(f"{kind}: resources: {short_repr(item)}: expected {expected}, got {short_repr(name)}")
    return name
