"""Exchanges: how one subset of n items becomes another that differs in few items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bostruct.contracts import IntArray
from bostruct.domains.space.graphs import WeightedGraph
from bostruct.domains.space.variable import pick

MOST_LISTED = 4_000  # exchanges of one subset


@dataclass(frozen=True)
class Exchanges:
    """The changes of subsets of n items: an item leaves, an item joins, or one takes the place of another.

    n: number of items, at least 2.
    smallest, largest: how many items a subset has.
    graph: of the items, whose edges are the exchanges; None where each item takes the place of any other.
    """

    n: int
    smallest: int
    largest: int
    graph: WeightedGraph | None = None

    def list_all(self, row: IntArray, leaps: bool = False) -> IntArray:
        """List the subsets one change away (k, n): one item fewer, one more, then exchanges.

        row: bits of a subset (n,).
        leaps: True for exchanges of any two items, whatever the graph.

        Where a subset of some size has more than 4,000 exchanges, those of items that are few places apart in the order
        of the items, the last item beside the first, are listed: 4,000 at most.
        """
        pairs = self._near_pairs if self._may_list_few(leaps) else self._pairs(leaps)
        return self._apply(row, *self._sizes(row), self._cut(row, pairs) if pairs is not None else _all_pairs(row))

    def count(self, row: IntArray, leaps: bool = False) -> int:
        """Return how many subsets `draw` draws from.

        row: bits of a subset (n,).
        leaps: as of `draw`.
        """
        leaving, joining = self._sizes(row)
        pairs = self._pairs(leaps)
        n_members = int(np.count_nonzero(row))
        n_exchanges = n_members * (len(row) - n_members) if pairs is None else len(self._cut(row, pairs))
        return len(leaving) + len(joining) + n_exchanges

    def draw(self, row: IntArray, m: int, rng: np.random.Generator, leaps: bool = False) -> IntArray:
        """Draw m subsets one change away, without repeats, or all where they are no more (k, n).

        row: bits of a subset (n,).
        m: int >= 0.
        rng: the only source of chance.
        leaps: as of `list_all`, but no exchange is left out.
        """
        leaving, joining = self._sizes(row)
        pairs = self._pairs(leaps)
        crossed = None if pairs is None else self._cut(row, pairs)
        members, others = np.flatnonzero(row), np.flatnonzero(row == 0)
        n_exchanges = len(members) * len(others) if crossed is None else len(crossed)
        total = len(leaving) + len(joining) + n_exchanges
        chosen = np.arange(total) if total <= m else np.sort(rng.choice(total, size=m, replace=False))
        gone = leaving[chosen[chosen < len(leaving)]]
        first = chosen - len(leaving)
        come = joining[first[(first >= 0) & (first < len(joining))]]
        number = first[first >= len(joining)] - len(joining)
        if crossed is None:
            exchanged = np.column_stack([members[number // max(len(others), 1)], others[number % max(len(others), 1)]])
        else:
            exchanged = crossed[number]
        return self._apply(row, gone, come, exchanged)

    def move(self, row: IntArray, share: float) -> IntArray:
        """Return the subset that a uniform number leads to (n,); walks draw all sizes alike, and all of one size.

        row: bits of a subset (n,).
        share: in [0, 1).

        A quarter of the shares take an item out and a quarter put one in, where the size allows it, half of them where
        none or all are in; the rest exchange any two items, and change nothing where there are no two. So chances there
        and back are as the numbers of subsets of both sizes.
        """
        size, moved = int(row.sum()), row.copy()
        members, others = np.flatnonzero(row), np.flatnonzero(row == 0)
        fewer, more = self._chance(size - 1), self._chance(size)
        if share < fewer:
            moved[members[pick(share / fewer, size)]] = 0
        elif share < fewer + more:
            moved[others[pick((share - fewer) / more, len(others))]] = 1
        elif len(members) and len(others):
            number = pick((share - fewer - more) / (1.0 - fewer - more), size * len(others))
            moved[members[number // len(others)]] = 0
            moved[others[number % len(others)]] = 1
        return moved

    def _chance(self, size: int) -> float:
        """Return the chance of a move from a size to the one above, and back."""
        if not self.smallest <= size < self.largest:
            return 0.0
        return 0.5 if size == 0 or size == self.n - 1 else 0.25

    def _may_list_few(self, leaps: bool) -> bool:
        middle = min(max(self.n // 2, self.smallest), self.largest)  # the size with the most exchanges
        most = middle * (self.n - middle)
        if self._pairs(leaps) is not None:
            most = min(most, len(self._edges), self._most_edges[middle], self._most_edges[self.n - middle])
        return most > MOST_LISTED

    def _sizes(self, row: IntArray) -> tuple[IntArray, IntArray]:
        """Return the items that may leave, and those that may join."""
        size, none = int(np.sum(row)), np.empty(0, dtype=np.int64)
        return (
            np.flatnonzero(row) if size > self.smallest else none,
            np.flatnonzero(np.asarray(row) == 0) if size < self.largest else none,
        )

    def _pairs(self, leaps: bool) -> IntArray | None:
        """Return the pairs of items that are exchanged (k, 2); None for all."""
        return None if leaps or self.graph is None else self._edges

    @cached_property
    def _edges(self) -> IntArray:
        assert self.graph is not None
        return np.array([edge[:2] for edge in self.graph.edges], dtype=np.int64)

    @cached_property
    def _most_edges(self) -> list[int]:
        """The most edges that 0, 1, ..., n items may have, each counted at both ends."""
        degrees = np.bincount(self._edges.ravel(), minlength=self.n)
        return [0, *np.sort(degrees)[::-1].cumsum().tolist()]

    @cached_property
    def _near_pairs(self) -> IntArray:
        """Return the pairs of items that are the fewest places apart, 4,000 at most (k, 2); of a graph only edges."""
        if self.graph is not None:
            apart = self._edges[:, 1] - self._edges[:, 0]
            nearest = np.minimum(apart, self.n - apart).argsort(kind="stable")[:MOST_LISTED]
            return self._edges[np.sort(nearest)]
        items, spans = np.arange(self.n), np.arange(1, max(1, MOST_LISTED // self.n) + 1)
        return np.stack([np.tile(items, len(spans)), np.concatenate([(items + span) % self.n for span in spans])], 1)

    def _cut(self, row: IntArray, pairs: IntArray) -> IntArray:
        """Return the pairs of which one item is in the subset, that one first."""
        inside = np.asarray(row)[pairs]
        cut = inside[:, 0] != inside[:, 1]
        return np.where(inside[cut, :1] == 1, pairs[cut], pairs[cut, ::-1])

    def _apply(self, row: IntArray, gone: IntArray, come: IntArray, exchanged: IntArray) -> IntArray:
        rows = np.tile(np.asarray(row, dtype=np.int64), (len(gone) + len(come) + len(exchanged), 1))
        at = np.arange(len(rows))
        rows[at[: len(gone)], gone] = 0
        rows[at[len(gone) : len(gone) + len(come)], come] = 1
        last = at[len(gone) + len(come) :]
        rows[last, exchanged[:, 0]] = 0
        rows[last, exchanged[:, 1]] = 1
        return rows


def cross_subsets(mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Return a child that has what both parents have, and as many items as one of them (n,).

    mine, theirs: bits of two subsets (n,).
    rng: draws whose size it has, and which of the items that one parent alone has.
    """
    first, second = np.asarray(mine), np.asarray(theirs)
    size = int((first if rng.random() < 0.5 else second).sum())
    child = first & second
    single = np.flatnonzero(first != second)
    child[rng.choice(single, size=size - int(child.sum()), replace=False)] = 1
    return child.tolist()


def _all_pairs(row: IntArray) -> IntArray:
    """Return each item of a subset with each other item (k, 2)."""
    members, others = np.flatnonzero(row), np.flatnonzero(np.asarray(row) == 0)
    return np.column_stack([np.repeat(members, len(others)), np.tile(others, len(members))])
