"""Rearrangements of a row of n places: swaps of two, moves of one to another place, reversals of a stretch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from bostruct.contracts import IntArray, PointError

MOST_PATTERNS = 4  # rearrangements that change the same first place and the same last one
MOST_LISTED = 4_000  # rearrangements, of longer rows those that change the fewest places in a row


def count_rearrangements(n: int) -> int:
    """Return the number of rearrangements of n places: n(n - 1) / 2 swaps, (n - 1)(n - 2) moves, and reversals.

    n: at least 2.

    A move to the next place is a swap, and so is the reversal of three places or fewer: they count as swaps.
    """
    return sum(_count_of_span(n, span) for span in range(1, n))


@lru_cache(maxsize=32)
def list_rearrangements(n: int, leaps: bool = False) -> IntArray:
    """List rearrangements as the old place of what stands in each place after (k, n), short ones first.

    n: number of places, at least 2.
    leaps: True to add, where the row is so long that not all are listed, those that span half the row, a quarter, ...

    All up to 46 places; of longer rows those that span so few places that they are at most 4,000.
    """
    spans, total = [], 0
    for span in range(1, n):
        total += _count_of_span(n, span)
        if spans and total > MOST_LISTED:
            break
        spans.append(span)
    if leaps:
        spans += sorted({n >> k for k in range(1, n.bit_length())} - {0, *spans})
    table = np.concatenate([_list_of_span(n, span) for span in spans])
    table.flags.writeable = False
    return table


def find_effective(row: IntArray, some: IntArray, leaps: bool) -> IntArray:
    """Return which rearrangements of a row with equal values count, so that each outcome has one of them.

    row: values (n,).
    some: positions of rearrangements in what `list_rearrangements` lists (m,).
    leaps: as of `list_rearrangements`.

    A rearrangement that leaves the value in its first place or its last place as it was is one of fewer places. Of
    those of the same places the first one counts.

    Returns positions in `some`, ascending.
    """
    table, (first, last) = list_rearrangements(len(row), leaps), _find_ends(len(row), leaps)
    rows, (i, j) = row[table[some]], (first[some], last[some])
    counts = (rows[np.arange(len(some)), i] != row[i]) & (rows[np.arange(len(some)), j] != row[j])
    for back in range(1, MOST_PATTERNS):
        before = some - back
        beside = np.flatnonzero(counts & (before >= 0) & (first[before] == i) & (last[before] == j))
        counts[beside] = (row[table[before[beside]]] != rows[beside]).any(axis=1)
    return np.flatnonzero(counts)


def rearrange(row: list[int], number: int) -> list[int]:
    """Return a row after one rearrangement.

    row: n values.
    number: which one, in 0..count_rearrangements(n) - 1: by span, then by the first place, then by kind.
    """
    n, span = len(row), 1
    while number >= (count := _count_of_span(n, span)):
        number, span = number - count, span + 1
    first, kind = divmod(number, len(_patterns(span)))
    return row[:first] + [row[first + place] for place in _patterns(span)[kind]] + row[first + span + 1 :]


def cross_orders(mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Return order crossover (Davis 1985) of two orders of the same items.

    mine: of which the child has a stretch, in its places.
    theirs: the order of all other items.
    rng: draws the stretch.
    """
    first, last = sorted(rng.choice(len(mine) + 1, size=2, replace=False).tolist())
    kept = list(mine[first:last])
    others = [item for item in theirs if item not in set(kept)]
    return others[:first] + kept + others[first:]


def list_orders(counts: Sequence[int]) -> IntArray:
    """List all orders of items of which some occur several times (k, n), the item in each place, the last one fastest.

    counts: how often each item occurs, each at least 1.
    """
    rows, left = np.empty((1, 0), dtype=np.int64), np.array([counts], dtype=np.int64)
    for _ in range(sum(counts)):
        before, item = np.nonzero(left)  # which items each row may have next
        rows, left = np.column_stack([rows[before], item]), left[before]
        left[np.arange(len(left)), item] -= 1
    return rows


def check_order(columns: Sequence[int], n: int) -> None:
    """Raise PointError unless columns are 0 to n - 1 in some order.

    columns: n integers.
    n: at least 2.
    """
    if sorted(columns) != list(range(n)):
        raise PointError(f"expected each of 0..{n - 1} once, got {list(columns)}")


def _count_of_span(n: int, span: int) -> int:
    return (n - span) * (1 if span == 1 else 3 if span == 2 else 4)


def _patterns(span: int) -> list[list[int]]:
    """List the rearrangements of span + 1 places that change the first and the last: a swap, two moves, a reversal."""
    swap, first_to_last, last_to_first = [span, *range(1, span), 0], [*range(1, span + 1), 0], [span, *range(span)]
    return [swap, first_to_last, last_to_first, list(range(span, -1, -1))][: 1 if span == 1 else 3 if span == 2 else 4]


def _list_of_span(n: int, span: int) -> IntArray:
    """List the rearrangements that span so many places (k, n), by their first place and then by their kind."""
    firsts, patterns = np.arange(n - span)[:, None, None], np.array(_patterns(span))
    rows = np.tile(np.arange(n), (n - span, len(patterns), 1))
    np.put_along_axis(rows, firsts + np.arange(span + 1) + np.zeros_like(patterns), firsts + patterns, axis=2)
    return rows.reshape(-1, n)


@lru_cache(maxsize=32)
def _find_ends(n: int, leaps: bool) -> tuple[IntArray, IntArray]:
    """Return the first and the last place that each rearrangement changes (k,), (k,)."""
    changes = list_rearrangements(n, leaps) != np.arange(n)
    return changes.argmax(axis=1), n - 1 - changes[:, ::-1].argmax(axis=1)
