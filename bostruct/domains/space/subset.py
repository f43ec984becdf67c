"""A variable whose values are the subsets of some items that have an allowed size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Array, DomainError, IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.categorical import Categorical
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import check_choices, list_entries, to_python
from bostruct.domains.space.exchanges import Exchanges, cross_subsets
from bostruct.domains.space.graphs import WeightedGraph
from bostruct.domains.space.item_graph import read_item_graph
from bostruct.domains.space.variable import MAX_ENUMERATED, NO_DEFAULT, Variable, refuse_list_of_another_kind
from bostruct.domains.space.when import When, check_when


class Subset(Variable):
    """A variable whose values are the subsets of some items, of one size or of a range of sizes.

    items: 2 to 1000 distinct values.
    size: int, the number of items of each subset, from 1 to one less than all; or a pair (smallest, largest) of such
        numbers, from 0 to all.
    graph: which items are alike, as a networkx graph of all items, or a list of edges between items; None for no such
        knowledge. It connects all items; the weights of edges count.
    when: mapping, the conditions under which a point has the variable, see `bostruct.Space`; None for always.
    default: a value, which trials had that were told before the variable existed; see docs/studies.md.

    A point has a tuple of the items, in the order of `items`. One change exchanges an item for another, along an edge
    where there is a graph; in a range of sizes an item may also leave or join. Where a subset has more than 4,000
    exchanges, `neighbors` lists those of items few places apart, and `sample_neighbors` draws among all. All sizes are
    drawn by the same chance, and so are all subsets of one size. Raises DomainError and ValueError.
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
        self.graph: WeightedGraph | None = own
        self.is_even = self.sizes[0] == self.sizes[1]
        self.exchanges = Exchanges(self.width, *self.sizes, own)
        self.degrees = max(1, round(4 * self.width * self.share * (1.0 - self.share)))
        self.when = check_when(self.kind, when)
        self.default_columns = self.read_default(default)

    @property
    def arguments(self) -> str:
        """The values in short, as arguments of a call."""
        size = self.sizes[0] if self.sizes[0] == self.sizes[1] else self.sizes
        graph = "" if self.graph is None else f", graph=<{len(self.graph.edges)} edges>"
        return f"{short_repr(list(self.items))}, size={size}{graph}"

    @property
    def size(self) -> int:
        """The number of subsets, a sum of binomial coefficients."""
        return sum(math.comb(self.width, size) for size in self._all_sizes)

    @property
    def share(self) -> float:
        """The mean share of the items that a drawn subset has."""
        return sum(self.sizes) / (2 * self.width)

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m subsets, the size of each uniformly, then its items (m, n): 1 for each that is in it, else 0.

        m: int >= 0.
        rng: the only source of chance.
        """
        drawn = rng.random((m, self.width)).argsort(axis=1).argsort(axis=1)
        sizes = self.sizes[0] if self.is_even else rng.integers(self.sizes[0], self.sizes[1] + 1, size=(m, 1))
        return (drawn < sizes).astype(np.int64)

    def chances(self, values: IntArray) -> Array:
        """Return the chance with which `sample` draws each of some subsets (m,).

        values: bits of m subsets (m, n).
        """
        each = np.array([1 / (len(self._all_sizes) * math.comb(self.width, size)) for size in self._all_sizes])
        return each[values.sum(axis=1) - self.sizes[0]]

    def neighbors(self, columns: Sequence[int], leaps: bool = False) -> IntArray:
        """List the subsets one change away (k, n): an item fewer, one more, then exchanges, some 4,000 at most.

        columns: bits of a subset.
        leaps: True for exchanges of any two items, also where there is a graph.
        """
        return self.exchanges.list_all(np.asarray(columns, dtype=np.int64), leaps)

    def count_neighbors(self, columns: Sequence[int], leaps: bool = False) -> int:
        """Return how many subsets are one change away, all exchanges among them.

        columns: bits of a subset.
        leaps: as of `neighbors`.
        """
        return self.exchanges.count(np.asarray(columns, dtype=np.int64), leaps)

    def sample_neighbors(
        self, columns: Sequence[int], m: int, rng: np.random.Generator, leaps: bool = False
    ) -> IntArray:
        """Draw subsets one change away (k, n), among all exchanges, without listing them.

        columns: bits of a subset.
        m: int >= 0, how many.
        rng: the only source of chance.
        leaps: as of `neighbors`.
        """
        return self.exchanges.draw(np.asarray(columns, dtype=np.int64), m, rng, leaps)

    def move(self, columns: Sequence[int], share: float) -> list[int]:
        """Return a subset one change away, by an exchange of any two items, or one item fewer or more.

        columns: bits of a subset.
        share: a uniform number in [0, 1), which decides.
        """
        return self.exchanges.move(np.asarray(columns, dtype=np.int64), share).tolist()

    def cross(self, mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Return a child of two subsets: what both have, filled up with what one has to the size of one of them.

        mine, theirs: bits of two subsets.
        rng: the only source of chance.
        """
        return cross_subsets(mine, theirs, rng)

    def check(self, columns: Sequence[int]) -> None:
        """Raise PointError unless the columns are bits, of which as many are 1 as a subset has items.

        columns: n integers.
        """
        if any(one not in (0, 1) for one in columns):
            raise PointError(f"expected 0 or 1 for each of {self.width} items, got {short_repr(list(columns))}")
        self._check_size(int(sum(columns)), list(columns))

    def parse(self, value: object) -> list[int]:
        """Return the bits of a subset; raise PointError for items that are unknown, repeated, too few or too many.

        value: list, tuple, set, frozenset, array or pandas Index of items, in any order.
        """
        value = list_entries(value)
        if not isinstance(value, list | tuple | set | frozenset):
            raise PointError(f"expected a list, tuple or set of {self._words()}, got {short_repr(value)}")
        return self._to_bits([self._item.parse(item)[0] for item in value], value)

    def present(self, columns: Sequence[int]) -> Presented:
        """Return the items of a subset in the order of `items`, a tuple of their copies where they can be changed.

        columns: bits of a subset.
        """
        return tuple(self._item.present([i]) for i, one in enumerate(columns) if one)

    def encode(self, columns: Sequence[int]) -> Json:
        """Return the items of a subset, or their positions where JSON has no such values.

        columns: bits of a subset.
        """
        return [self._item.encode([i]) for i, one in enumerate(columns) if one]

    def decode(self, data: ParsedJson) -> list[int]:
        """Rebuild the bits from what `encode` returned; raise PointError for anything else.

        data: list of items.
        """
        return self._decode_each(data, self._item.decode)

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Sequence[int]:
        """Rebuild the bits of items that another variable encoded; raise PointError where they are no value here.

        data: what `encode` of the other returned.
        description: what `to_json` of the other returned, whose items and sizes may be others.

        Python objects, which no file holds, are told apart by their `repr`.
        """
        if self.has_values_of(description):
            return self.decode(data)
        refuse_list_of_another_kind(self, data, description)
        return self._decode_each(data, self._item.read_choices_of(description.get("items")))

    def fallback(self) -> list[int]:
        """Return the first items, as few as a subset has, but at least one."""
        size = max(self.sizes[0], 1)
        return [1] * size + [0] * (self.width - size)

    def enumerate(self) -> IntArray:
        """List all subsets, of at most 100,000 (size, n); raise DomainError for more."""
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
        if self.graph is not None:
            edges["edges"] = [list(edge) for edge in self.graph.edges]
        return {"items": self._item.describe()["choices"], "size": self._size_json(), **edges}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Subset:
        """Rebuild the variable from what `describe` returned.

        data: with its items.

        Raises DomainError where the items are Python objects, which no file holds.
        """
        items, size = choices_from_json(data["items"]), data["size"]
        edges = [(items[a], items[b], weight) for a, b, weight in data["edges"]] if "edges" in data else None
        return cls(items, tuple(size) if isinstance(size, list) else size, graph=edges)

    @property
    def _all_sizes(self) -> range:
        return range(self.sizes[0], self.sizes[1] + 1)

    def _size_json(self) -> Json:
        return self.sizes[0] if self.sizes[0] == self.sizes[1] else list(self.sizes)

    def _words(self) -> str:
        smallest, largest = self.sizes
        return f"{smallest} items" if smallest == largest else f"{smallest} to {largest} items"

    def _check_size(self, size: int, given: Any) -> None:
        if not self.sizes[0] <= size <= self.sizes[1]:
            raise PointError(f"expected {self._words()}, got {size}: {short_repr(given)}")

    def _decode_each(self, data: ParsedJson, decode: Callable[[ParsedJson], Sequence[int]]) -> list[int]:
        if not isinstance(data, list):
            raise PointError(f"expected a list of {self._words()}, got {short_repr(data)}")
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
        f"{kind}: size: expected an integer from 1 to {n - 1}, for {n} items, or a pair (smallest, largest) from 0 to "
        f"{n}; got {short_repr(size)}"
    )
