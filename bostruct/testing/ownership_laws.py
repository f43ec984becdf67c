"""The laws of who owns what: nobody changes a point, and what is handed out is the receiver's own."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator

import numpy as np

from bostruct.contracts import Domain, Point


@contextlib.contextmanager
def unchanged(domain: Domain, xs: Iterable[Point], what: str) -> Iterator[None]:
    """Check that points are the same after a block as before.

    domain: of the points.
    xs: points; those of an array are read-only inside the block.
    what: the method that the block calls.
    """
    points = list(xs)
    before = [_text(domain, x) for x in points]
    arrays = [x for x in points if isinstance(x, np.ndarray) and x.flags.writeable]
    for x in arrays:
        x.flags.writeable = False
    try:
        yield
    finally:
        for x in arrays:
            x.flags.writeable = True
    for text, x in zip(before, points, strict=True):
        now = _text(domain, x)
        assert now == text, f"{what} changes no point that it is given: {text} became {now}"


def _text(domain: Domain, x: Point) -> str:
    return json.dumps(domain.encode(x))


def check_ownership(domain: Domain, xs: Iterable[Point]) -> None:
    """Check that what `present` and `encode` return can be changed, and `decode`'s argument, without changing a point.

    domain: any.
    xs: some of its points.
    """
    for x in xs:
        before = _text(domain, x)
        spoil(domain.present(x))
        assert _text(domain, x) == before, f"an objective may change what present returns: the point {before} changed"
        spoil(domain.encode(x))
        assert _text(domain, x) == before, f"encode returns data of its own: with it the point {before} changed"
        data = json.loads(before)
        again = domain.decode(data)
        spoil(data)
        assert _text(domain, again) == before, (
            f"decode keeps nothing of its argument: with it the point {before} changed"
        )


def spoil(value: object) -> None:
    """Change whatever can be changed of plain data: lists, dicts, sets and arrays, the innermost first.

    value: anything; what is of another type stays.
    """
    if isinstance(value, dict | list | tuple | set):
        for part in value.values() if isinstance(value, dict) else value:
            spoil(part)
    if isinstance(value, list):
        value.append(None)
        value.reverse()
    elif isinstance(value, dict | set):
        value.clear()
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        value.fill(0)
