"""A variable whose values are the orders of some items."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Array, IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.categorical import Categorical
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import check_choices
from bostruct.domains.space.rearrangements import (
    check_rearranged,
    count_rearrangements,
    cross_orders,
    list_rearrangements,
    rearrange,
)
from bostruct.domains.space.variable import NO_DEFAULT, Variable
from bostruct.domains.space.when import When, check_when

MAX_ITEMS = 500
DISTANCES = 3  # of a kernel, in each of which two orders differ as two points of so many choices do
MAX_LISTED = 8  # items whose orders are listed: 40,320


class Permutation(Variable):
    """A variable whose values are the orders of some items, each item once.

    items: 2 to 500 distinct values.
    when: mapping, the conditions under which a point has the variable, see `bostruct.Space`; None for always.
    default: a value, which trials had that were told before the variable existed; see docs/studies.md.

    A point has a tuple of the items, in order. One change swaps two items, moves an item to another place, or reverses
    a stretch; of more than 46 items the neighbors are those that change few places in a row.
    Raises DomainError and ValueError.
    """

    def __init__(self, items: Iterable[object], *, when: When | None = None, default: object = NO_DEFAULT) -> None:
        self._item = Categorical(check_choices(self.kind, items, "item", MAX_ITEMS))
        self.items = self._item.choices
        self.width = self.n_codes = len(self.items)
        self.degrees = DISTANCES * self.width
        self.when = check_when(self.kind, when)
        self.default_columns = self.read_default(default)

    def __repr__(self) -> str:
        return f"{self.kind}({short_repr(list(self.items))})"

    @property
    def size(self) -> int:
        """The number of orders, n!."""
        return math.factorial(self.width)

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m orders uniformly (m, n): the positions of the items, first place first.

        m: int >= 0.
        rng: the only source of chance.
        """
        return rng.permuted(np.tile(np.arange(self.width), (m, 1)), axis=1)

    def chances(self, values: IntArray) -> Array:
        """Return 1 / n! for each value (m,), 0 where that underflows.

        values: columns of m values (m, n).
        """
        return np.full(len(values), math.exp(-math.lgamma(self.width + 1)))

    def neighbors(self, columns: Sequence[int], leaps: bool = False) -> IntArray:
        """List the orders one change away (k, n): swaps, moves of one item, and reversals, short ones first.

        columns: of an order.
        leaps: True for changes across half of a long order, a quarter and so on too.
        """
        return np.asarray(columns, dtype=np.int64)[list_rearrangements(self.width, leaps)]

    def sample_neighbors(
        self, columns: Sequence[int], m: int, rng: np.random.Generator, leaps: bool = False
    ) -> IntArray:
        """Draw orders one change away, of those that `neighbors` lists (k, n), without listing them.

        columns: of an order.
        m: int >= 0, how many.
        rng: the only source of chance.
        leaps: as of `neighbors`.
        """
        table = list_rearrangements(self.width, leaps)
        chosen = table if len(table) <= m else table[rng.choice(len(table), size=m, replace=False)]
        return np.asarray(columns, dtype=np.int64)[chosen]

    def move(self, columns: Sequence[int], share: float) -> list[int]:
        """Return an order one change away, across any number of places.

        columns: of an order.
        share: a uniform number in [0, 1), which decides.
        """
        return rearrange(list(columns), int(share * count_rearrangements(self.width)))

    def cross(self, mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Return a child of two orders: a stretch of the first, and the other items as the second orders them.

        This is order crossover (Davis 1985), OX.

        mine, theirs: columns of two orders.
        rng: the only source of chance.
        """
        return cross_orders(mine, theirs, rng)

    def check(self, columns: Sequence[int]) -> None:
        """Raise PointError unless each item occurs once.

        columns: positions of items, n integers.
        """
        check_rearranged(columns, self.width)

    def parse(self, value: object) -> list[int]:
        """Return the positions of the items; raise PointError unless each item occurs once.

        value: sequence of all items.
        """
        if isinstance(value, np.ndarray) and value.ndim == 1:
            value = value.tolist()
        if not isinstance(value, list | tuple):
            raise PointError(f"expected a list or tuple of all items in some order, got {short_repr(value)}")
        return self._each_once([self._item.parse(item)[0] for item in value], value)

    def present(self, columns: Sequence[int]) -> Presented:
        """Return the items in order, a tuple of their copies where they can be changed.

        columns: of an order.
        """
        return tuple(self._item.present([item]) for item in columns)

    def encode(self, columns: Sequence[int]) -> Json:
        """Return the items in order, or their positions where JSON has no such values.

        columns: of an order.
        """
        return [self._item.encode([item]) for item in columns]

    def decode(self, data: ParsedJson) -> list[int]:
        """Rebuild the positions from what `encode` returned; raise PointError for anything else.

        data: list of items.
        """
        return self._decode_each(data, self._item.decode)

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Sequence[int]:
        """Rebuild the positions of items that another variable encoded; raise PointError unless all are there.

        data: what `encode` of the other returned.
        description: what `to_json` of the other returned, whose items may have another order.

        Python objects, which no file holds, are told apart by their `repr`.
        """
        if self.has_values_of(description):
            return self.decode(data)
        theirs = self._item.to_json() | {"choices": description.get("items")}
        return self._decode_each(
            data,
            lambda item: self._item.decode_from(item, theirs) if isinstance(item, dict) else self._item.parse(item),
        )

    def fallback(self) -> list[int]:
        """Return the order in which the items were given."""
        return list(range(self.width))

    def enumerate(self) -> IntArray:
        """List all orders of at most 8 items (n!, n); raise DomainError for more items."""
        if self.width > MAX_LISTED:
            return super().enumerate()
        return np.array(list(itertools.permutations(range(self.width))), dtype=np.int64)

    def describe(self) -> dict[str, Json]:
        """Return the items as JSON."""
        return {"items": self._item.describe()["choices"]}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Permutation:
        """Rebuild the variable from what `describe` returned.

        data: with its items.

        Raises DomainError where the items are Python objects, which no file holds.
        """
        return cls(choices_from_json(data["items"]))

    def _decode_each(self, data: ParsedJson, decode: Callable[[ParsedJson], Sequence[int]]) -> list[int]:
        if not isinstance(data, list):
            raise PointError(f"expected a list of all items in some order, got {short_repr(data)}")
        return self._each_once([decode(item)[0] for item in data], data)

    def _each_once(self, found: list[int], given: Any) -> list[int]:
        """Return positions of items; raise PointError, which names an item that is missing or occurs twice."""
        twice = next((item for i, item in enumerate(found) if item in found[:i]), None)
        if twice is not None:
            raise PointError(f"expected each item once, got {short_repr(self.items[twice])} more than once")
        if len(found) < self.width:
            missing = next(item for i, item in enumerate(self.items) if i not in found)
            raise PointError(f"expected all {self.width} items, got {short_repr(given)} without {short_repr(missing)}")
        return found
