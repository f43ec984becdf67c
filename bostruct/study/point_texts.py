"""Points as text on disk: of a space, the values alone in the order of its variables, since all share their names."""

from __future__ import annotations

from collections.abc import Sequence

from bostruct.contracts import Batch, Domain, ParsedJson, Point
from bostruct.domains.space.space import Space
from bostruct.storage.json_text import dump, dump_compactly, parse


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
        return dump_compactly(list(data.values()))
    return dump(data)


def read_point_texts(texts: Sequence[str], domain: Domain, names: Sequence[str] | None) -> Batch | None:
    """Return points as a batch of their domain; None where one has to be read by itself, or cannot be read.

    texts: as they are stored.
    domain: of the points.
    names: as of `find_names`, of the domain.
    """
    if names is None or type(domain) is not Space:
        return None
    try:
        points = [parse(text) for text in texts]
    except ValueError:
        return None
    return domain.decode_values(points) if all(isinstance(point, list) for point in points) else None


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
