"""Points as text on disk: of a space, the values alone in the order of its variables, since all share their names."""

from __future__ import annotations

from collections.abc import Sequence

from bostruct.contracts import Domain, ParsedJson, Point
from bostruct.storage.json_text import dump, parse


def find_names(description: ParsedJson) -> tuple[str, ...] | None:
    """Return the names that all points of a domain may have, in their order; None where points have no names.

    description: of the domain, as JSON.
    """
    if not isinstance(description, dict) or description.get("domain") != "space":
        return None
    variables = description.get("variables")
    return tuple(variables) if isinstance(variables, dict) else None


def write_point_text(domain: Domain, x: Point, names: Sequence[str] | None) -> str:
    """Return a point as it is stored; one that lacks a variable, as conditions allow, is stored with its names.

    domain: of the point.
    x: a point of it.
    names: as of `find_names`.
    """
    data = domain.encode(x)
    if names is not None and isinstance(data, dict) and tuple(data) == names:
        return dump(list(data.values()))
    return dump(data)


def read_point_text(text: str, names: Sequence[str] | None) -> ParsedJson:
    """Return what the domain of a point encoded; raise ValueError where the text is none, or has too many values.

    text: as it is stored.
    names: as of `find_names`, of the domain that the point is of.
    """
    data = parse(text)
    if names is None or not isinstance(data, list):
        return data
    if len(data) != len(names):
        raise ValueError(f"point: expected {len(names)} values, got {len(data)}")
    return dict(zip(names, data, strict=True))
