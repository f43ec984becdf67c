"""A variable whose values are subsets of items, and the exchanges that transform one subset into another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Array, DomainError, IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import check_choices, list_entries, to_python
from bostruct.domains.space.clauses import When, check_when
from bostruct.domains.space.discrete import Categorical
from bostruct.domains.space.graphs import WeightedGraph, read_item_graph
from bostruct.domains.space.variable import MAX_ENUMERATED, NO_DEFAULT, Variable, pick, refuse_list_of_another_kind

MOST_LISTED = 4_000  # the most listed exchanges of one subset


class Subset(Variable):
    """A variable whose values are subsets of items, of one size or a range of sizes.

    A value is a tuple of items, in the order of `items`. Neighbors exchange one item for another, along an edge if
    there is a `graph`; in a range of sizes an item may also join or leave. If there are more than 4,000 exchanges,
    `neighbors` lists exchanges of items few places apart, and `sample_neighbors` draws among all. When drawn, each size
    has the same probability, and so has each subset of one size.

    Parameters
    ----------
    items : iterable
        2 to 1000 distinct values.
    size : int or tuple of (int, int)
        The number of items in a subset, 1 to one less than all, or the smallest and the largest number, 0 to all.
    graph : networkx.Graph or iterable of edges, optional
        A connected graph of all items in which similar items are adjacent. Edge weights are used.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError, TypeError, ValueError
        If an argument is invalid.
    """

    def __init__(
        self,
        items: Iterable[object],
        size: int | tuple[int, int],
        *,
        graph: object = None,
        when: When | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        self._item = Categorical(check_choices(self.kind, items, "item"))
        self.items = self._item.choices
        self.width, self.n_codes = len(self.items), 2
        self.sizes = _check_sizes(self.kind, size, self.width)
        own = (
            None
            if graph is None
            else read_item_graph(self.kind, graph, self.items, lambda one: self._item.parse(one)[0])
        )
        self.item_graph: WeightedGraph | None = own
        self.is_even = self.sizes[0] == self.sizes[1]
        self.exchanges = Exchanges(self.width, *self.sizes, own)
        self.degrees = max(1, round(4 * self.width * self.share * (1.0 - self.share)))
        self.when = check_when(self.kind, when)
        self.default_columns = self.read_default(default)

    @property
    def arguments(self) -> str:
        size = self.sizes[0] if self.sizes[0] == self.sizes[1] else self.sizes
        graph = "" if self.item_graph is None else f", graph=<{len(self.item_graph.edges)} edges>"
        return f"{short_repr(list(self.items))}, size={size}{graph}"

    @property
    def size(self) -> int:
        """The number of subsets, a sum of binomial coefficients."""
        return sum(math.comb(self.width, size) for size in self._all_sizes)

    @property
    def share(self) -> float:
        """The mean share of the items in a drawn subset."""
        return sum(self.sizes) / (2 * self.width)

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m subsets, the size of each uniformly, then its items (m, n): 1 for each item in the subset, else 0."""
        drawn = rng.random((m, self.width)).argsort(axis=1).argsort(axis=1)
        sizes = self.sizes[0] if self.is_even else rng.integers(self.sizes[0], self.sizes[1] + 1, size=(m, 1))
        return (drawn < sizes).astype(np.int64)

    def chances(self, values: IntArray) -> Array:
        each = np.array([1 / (len(self._all_sizes) * math.comb(self.width, size)) for size in self._all_sizes])
        return each[values.sum(axis=1) - self.sizes[0]]

    def neighbors(self, columns: Sequence[int], large_steps: bool = False) -> IntArray:
        """List the subsets one change away (k, n): one item fewer, one more, then exchanges, at most 4,000."""
        return self.exchanges.list_all(np.asarray(columns, dtype=np.int64), large_steps)

    def count_neighbors(self, columns: Sequence[int], large_steps: bool = False) -> int:
        return self.exchanges.count(np.asarray(columns, dtype=np.int64), large_steps)

    def sample_neighbors(
        self, columns: Sequence[int], m: int, rng: np.random.Generator, large_steps: bool = False
    ) -> IntArray:
        return self.exchanges.draw(np.asarray(columns, dtype=np.int64), m, rng, large_steps)

    def move(self, columns: Sequence[int], share: float) -> list[int]:
        """Return a subset one change away: an exchange of any two items, or one item fewer or more."""
        return self.exchanges.move(np.asarray(columns, dtype=np.int64), share).tolist()

    def cross(self, mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Return a child of two subsets: the common items, and other items up to the size of one of the subsets."""
        return cross_subsets(mine, theirs, rng)

    def check(self, columns: Sequence[int]) -> None:
        """Raise PointError unless the columns are bits, with as many ones as a subset may have items."""
        if any(one not in (0, 1) for one in columns):
            raise PointError(f"expected 0 or 1 for each of {self.width} items, got {short_repr(list(columns))}")
        self._check_size(int(sum(columns)), list(columns))

    def parse(self, value: object) -> list[int]:
        """Return the bits of a subset; raise PointError for items that are unknown, repeated, too few or too many."""
        value = list_entries(value)
        if not isinstance(value, list | tuple | set | frozenset):
            hint = '; in a table, write JSON such as ["a", "b"]' if isinstance(value, str) else ""
            raise PointError(f"expected a list, tuple or set of {self._expected()}, got {short_repr(value)}{hint}")
        return self._to_bits([self._item.parse(item)[0] for item in value], value)

    def present(self, columns: Sequence[int]) -> Presented:
        """Return the items of a subset in the order of `items`, a tuple of copies if they are mutable."""
        return tuple(self._item.present([i]) for i, one in enumerate(columns) if one)

    def encode(self, columns: Sequence[int]) -> Json:
        """Return the items of a subset, as positions if JSON cannot represent them."""
        return [self._item.encode([i]) for i, one in enumerate(columns) if one]

    def decode(self, data: ParsedJson) -> list[int]:
        return self._decode_each(data, self._item.decode)

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Sequence[int]:
        """Rebuild the bits of items that another variable encoded; raise PointError if they are invalid here.

        Python objects, which files do not store, are distinguished by their `repr`.
        """
        if self.has_values_of(description):
            return self.decode(data)
        refuse_list_of_another_kind(self, data, description)
        return self._decode_each(data, self._item.read_choices_of(description.get("items")))

    def fallback(self) -> list[int]:
        """Return the first items, as few as the smallest size, but at least one."""
        size = max(self.sizes[0], 1)
        return [1] * size + [0] * (self.width - size)

    def enumerate(self) -> IntArray:
        """List all subsets if they are at most 100,000 (size, n); otherwise raise DomainError."""
        if self.size > MAX_ENUMERATED:
            return super().enumerate()
        rows = np.zeros((self.size, self.width), dtype=np.int64)
        members = [chosen for size in self._all_sizes for chosen in itertools.combinations(range(self.width), size)]
        for row, chosen in zip(rows, members, strict=True):
            row[list(chosen)] = 1
        return rows

    def describe(self) -> dict[str, Json]:
        """Return the items, the sizes and the edges of the graph as JSON."""
        edges: dict[str, Json] = {}
        if self.item_graph is not None:
            edges["edges"] = [list(edge) for edge in self.item_graph.edges]
        size: Json = self.sizes[0] if self.sizes[0] == self.sizes[1] else list(self.sizes)
        return {"items": self._item.describe()["choices"], "size": size, **edges}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Subset:
        items, size = choices_from_json(data["items"]), data["size"]
        edges = [(items[a], items[b], weight) for a, b, weight in data["edges"]] if "edges" in data else None
        return cls(items, tuple(size) if isinstance(size, list) else size, graph=edges)

    @property
    def _all_sizes(self) -> range:
        return range(self.sizes[0], self.sizes[1] + 1)

    def _expected(self) -> str:
        smallest, largest = self.sizes
        return f"{smallest} items" if smallest == largest else f"{smallest} to {largest} items"

    def _check_size(self, size: int, given: Any) -> None:
        if not self.sizes[0] <= size <= self.sizes[1]:
            raise PointError(f"expected {self._expected()}, got {size}: {short_repr(given)}")

    def _decode_each(self, data: ParsedJson, decode: Callable[[ParsedJson], Sequence[int]]) -> list[int]:
        if not isinstance(data, list):
            raise PointError(f"expected a list of {self._expected()}, got {short_repr(data)}")
        return self._to_bits([decode(item)[0] for item in data], data)

    def _to_bits(self, found: list[int], given: Any) -> list[int]:
        """Return the bits of positions; raise PointError, which names an item that occurs twice, or the size."""
        bits = [0] * self.width
        for item in found:
            if bits[item]:
                raise PointError(f"expected each item at most once, got {short_repr(self.items[item])} more than once")
            bits[item] = 1
        self._check_size(len(found), given)
        return bits


def _check_sizes(kind: str, size: object, n: int) -> tuple[int, int]:
    """Return the smallest and the largest size; raise DomainError unless there are two subsets of such sizes."""
    pair = [to_python(one) for one in size] if isinstance(size, tuple | list) else [to_python(size)] * 2
    are_sizes = len(pair) == 2 and all(type(one) is int for one in pair) and 0 <= pair[0] <= pair[1] <= n
    if are_sizes and (pair[0] < pair[1] or 0 < pair[0] < n):
        return pair[0], pair[1]
    raise DomainError(
        f"{kind}: size: expected {f'an integer from 1 to {n - 1}' if n > 2 else 1} for {n} items, or a pair (smallest, "
        f"largest) from 0 to {n}; got {short_repr(size)}"
    )


@dataclass(frozen=True)
class Exchanges:
    """The changes of subsets of n items: an item leaves, an item joins, or an item replaces another item.

    n: number of items, at least 2.
    graph: graph of the items, whose edges are the exchanges; None if any two items can be exchanged.
    """

    n: int
    smallest: int
    largest: int
    graph: WeightedGraph | None = None

    def list_all(self, row: IntArray, large_steps: bool = False) -> IntArray:
        """List the subsets one change away (k, n): one item fewer, one more, then exchanges.

        row: bits of a subset (n,).
        large_steps: True for exchanges of any two items, regardless of the graph.

        If subsets of some size have more than 4,000 exchanges, at most 4,000 are listed: exchanges of items that are
        few places apart in the cyclic order of the items.
        """
        pairs = self._near_pairs if self._may_list_few(large_steps) else self._pairs(large_steps)
        if pairs is not None:
            pairs = self._cut(row, pairs)
        else:  # each item of the subset with each other item
            members, others = np.flatnonzero(row), np.flatnonzero(np.asarray(row) == 0)
            pairs = np.column_stack([np.repeat(members, len(others)), np.tile(others, len(members))])
        return self._apply(row, *self._sizes(row), pairs)

    def count(self, row: IntArray, large_steps: bool = False) -> int:
        """Return how many subsets `draw` draws from.

        row: bits of a subset (n,).
        """
        leaving, joining = self._sizes(row)
        pairs = self._pairs(large_steps)
        n_members = int(np.count_nonzero(row))
        n_exchanges = n_members * (len(row) - n_members) if pairs is None else len(self._cut(row, pairs))
        return len(leaving) + len(joining) + n_exchanges

    def draw(self, row: IntArray, m: int, rng: np.random.Generator, large_steps: bool = False) -> IntArray:
        """Draw m subsets one change away, without repeats, or all if there are at most m (k, n).

        row: bits of a subset (n,).
        m: int >= 0.
        rng: random number generator.
        """
        leaving, joining = self._sizes(row)
        pairs = self._pairs(large_steps)
        crossed = None if pairs is None else self._cut(row, pairs)
        members, others = np.flatnonzero(row), np.flatnonzero(row == 0)
        n_exchanges = len(members) * len(others) if crossed is None else len(crossed)
        total = len(leaving) + len(joining) + n_exchanges
        chosen = np.arange(total) if total <= m else np.sort(rng.choice(total, size=m, replace=False))
        removed = leaving[chosen[chosen < len(leaving)]]
        first = chosen - len(leaving)
        added = joining[first[(first >= 0) & (first < len(joining))]]
        number = first[first >= len(joining)] - len(joining)
        if crossed is None:
            exchanged = np.column_stack([members[number // max(len(others), 1)], others[number % max(len(others), 1)]])
        else:
            exchanged = crossed[number]
        return self._apply(row, removed, added, exchanged)

    def move(self, row: IntArray, share: float) -> IntArray:
        """Return the change that a uniform number chooses (n,); walks draw all sizes, and all of one size, evenly.

        row: bits of a subset (n,).
        share: in [0, 1).

        A quarter of the shares remove an item and a quarter add one, if the size allows it; half of the shares to and
        from no items or all items. The rest exchange any two items, or change nothing if that is impossible. So the
        probabilities of a change and its reverse are in the ratio of the numbers of subsets of both sizes.
        """
        size, moved = int(row.sum()), row.copy()
        members, others = np.flatnonzero(row), np.flatnonzero(row == 0)
        fewer, more = self._move_probability(size - 1), self._move_probability(size)
        if share < fewer:
            moved[members[pick(share / fewer, size)]] = 0
        elif share < fewer + more:
            moved[others[pick((share - fewer) / more, len(others))]] = 1
        elif len(members) and len(others):
            number = pick((share - fewer - more) / (1.0 - fewer - more), size * len(others))
            moved[members[number // len(others)]] = 0
            moved[others[number % len(others)]] = 1
        return moved

    def _move_probability(self, size: int) -> float:
        """Return the probability of a move from a size to the next larger size, and of its reverse."""
        if not self.smallest <= size < self.largest:
            return 0.0
        return 0.5 if size == 0 or size == self.n - 1 else 0.25

    def _may_list_few(self, large_steps: bool) -> bool:
        middle = min(max(self.n // 2, self.smallest), self.largest)  # the size with the most exchanges
        most = middle * (self.n - middle)
        if self._pairs(large_steps) is not None:
            most = min(most, len(self._edges), self._most_edges[middle], self._most_edges[self.n - middle])
        return most > MOST_LISTED

    def _sizes(self, row: IntArray) -> tuple[IntArray, IntArray]:
        """Return the items that may leave, and the items that may join."""
        size, none = int(np.sum(row)), np.empty(0, dtype=np.int64)
        return (
            np.flatnonzero(row) if size > self.smallest else none,
            np.flatnonzero(np.asarray(row) == 0) if size < self.largest else none,
        )

    def _pairs(self, large_steps: bool) -> IntArray | None:
        """Return the pairs of items that may be exchanged (k, 2); None for all pairs."""
        return None if large_steps or self.graph is None else self._edges

    @cached_property
    def _edges(self) -> IntArray:
        assert self.graph is not None
        return np.array([edge[:2] for edge in self.graph.edges], dtype=np.int64)

    @cached_property
    def _most_edges(self) -> list[int]:
        """The most edges that 0, 1, ..., n items can have, each edge counted at both ends."""
        degrees = np.bincount(self._edges.ravel(), minlength=self.n)
        return [0, *np.sort(degrees)[::-1].cumsum().tolist()]

    @cached_property
    def _near_pairs(self) -> IntArray:
        """The pairs of items that are the fewest places apart, at most 4,000 (k, 2); with a graph only its edges."""
        if self.graph is not None:
            apart = self._edges[:, 1] - self._edges[:, 0]
            nearest = np.minimum(apart, self.n - apart).argsort(kind="stable")[:MOST_LISTED]
            return self._edges[np.sort(nearest)]
        items, spans = np.arange(self.n), np.arange(1, max(1, MOST_LISTED // self.n) + 1)
        return np.stack([np.tile(items, len(spans)), np.concatenate([(items + span) % self.n for span in spans])], 1)

    def _cut(self, row: IntArray, pairs: IntArray) -> IntArray:
        """Return the pairs with exactly one item in the subset, that item first."""
        inside = np.asarray(row)[pairs]
        cut = inside[:, 0] != inside[:, 1]
        return np.where(inside[cut, :1] == 1, pairs[cut], pairs[cut, ::-1])

    def _apply(self, row: IntArray, removed: IntArray, added: IntArray, exchanged: IntArray) -> IntArray:
        rows = np.tile(np.asarray(row, dtype=np.int64), (len(removed) + len(added) + len(exchanged), 1))
        at = np.arange(len(rows))
        rows[at[: len(removed)], removed] = 0
        rows[at[len(removed) : len(removed) + len(added)], added] = 1
        last = at[len(removed) + len(added) :]
        rows[last, exchanged[:, 0]] = 0
        rows[last, exchanged[:, 1]] = 1
        return rows


def cross_subsets(mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Return a child with the common items of both parents, and as many items as one of them (n,).

    mine, theirs: bits of two subsets (n,).
    """
    first, second = np.asarray(mine), np.asarray(theirs)
    size = int((first if rng.random() < 0.5 else second).sum())
    child = first & second
    single = np.flatnonzero(first != second)
    child[rng.choice(single, size=size - int(child.sum()), replace=False)] = 1
    return child.tolist()
