"""The laws of points and batches: batch operations, and no changes of arguments."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Batch, Domain, Point


def check_batch(domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    """Check the operations of any batch: length, indexing, slicing, iteration, take and join."""
    own = [domain.key(x) for x in xs]
    for key in own:
        assert isinstance(key, Hashable), f"key returns a hashable: got {short_repr(key)}"
    assert len(xs) == len(own), "the length of a batch is its number of points"
    assert domain.keys(xs) == own, "keys of a batch are the keys of its points"
    assert [domain.key(xs[i]) for i in range(len(xs))] == own, "a batch is indexed by integers"
    for cut in (slice(1, None), slice(0, 0)):
        assert domain.keys(xs[cut]) == own[cut], "a slice of a batch is a batch"
    for positions in (rng.permutation(len(xs)), [0, 0] if len(xs) else [], []):
        taken, expected = domain.take(xs, positions), [own[i] for i in positions]
        assert hasattr(taken, "__len__"), f"take returns a batch, which has a length: got {short_repr(taken)}"
        assert domain.keys(taken) == expected, "take returns the points at the given positions, in their order"
        assert domain.keys(domain.take(taken, range(len(taken)))) == expected, "take returns a batch"
    assert domain.keys(domain.join(xs)) == own, "join of one batch is that batch"
    for cut in (1, len(xs) // 2):
        turned = domain.keys(domain.join(xs[cut:], xs[:cut]))
        assert turned == own[cut:] + own[:cut], (
            f"join keeps the order of its batches: expected {own[cut:] + own[:cut]}, got {turned}"
        )
    assert domain.keys(domain.join(list(xs))) == own, "join accepts a list of points"


def check_readable_keys(domain: Domain, xs: Batch) -> None:
    """Check that keys contain only their own points and no reference to the batch."""
    for batch in (xs, xs[:1], xs[:0]):
        keys = domain.keys(batch)
        again = domain.from_keys(keys)
        assert again is not None, "from_keys returns points for all keys, or for none"
        assert domain.keys(again) == keys, f"from_keys returns points with the given keys: got {short_repr(again)}"
        expected, found = ([domain.encode(x) for x in points] for points in (batch, again))
        assert found == expected, f"from_keys returns the points of the keys: expected {expected}, got {found}"


def keys_of(domain: Domain, xs: Iterable[Point]) -> list[Hashable]:
    """Return the keys of points, in a batch or a list."""
    return domain.keys(domain.join(xs))


def same(domain: Domain, x: Point, y: Point) -> bool:
    """Return whether two points are equal."""
    return domain.key(x) == domain.key(y)


def forms_of(domain: Domain, xs: Iterable[Point]) -> list[Hashable]:
    """Return values that identify the forms of points: keys, or encodings if a point may have several."""
    return domain.encodings(domain.join(xs))


@contextlib.contextmanager
def unchanged(domain: Domain, xs: Iterable[Point], what: str) -> Iterator[None]:
    """Check that a block does not change points."""
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
        assert now == text, f"{what} does not change its arguments: {text} became {now}"


def check_ownership(domain: Domain, xs: Iterable[Point]) -> None:
    """Check that changes of the objects that `present`, `encode` and `decode` exchange do not change points."""
    for x in xs:
        before = _text(domain, x)
        spoil(domain.present(x))
        assert _text(domain, x) == before, f"present returns a copy: with it the point {before} changed"
        spoil(domain.encode(x))
        assert _text(domain, x) == before, f"encode returns a copy: with it the point {before} changed"
        data = json.loads(before)
        again = domain.decode(data)
        spoil(data)
        assert _text(domain, again) == before, f"decode copies its argument: with it the point {before} changed"


def spoil(value: object) -> None:
    """Modify all mutable parts of plain data: lists, dicts, sets and arrays, innermost first."""
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


def _text(domain: Domain, x: Point) -> str:
    return json.dumps(domain.encode(x))
