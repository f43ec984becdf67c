"""A variable whose values are orders of items, and the rearrangements that transform one order into another.

Rearrangements of n places are swaps of two items, moves of one item to another place, and reversals of a segment. An
order of some of the items is also changed by exchanges of an item for an absent one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Array, DomainError, IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import check_choices, list_entries, to_python
from bostruct.domains.space.clauses import When, check_when
from bostruct.domains.space.discrete import Categorical
from bostruct.domains.space.variable import MAX_ENUMERATED, NO_DEFAULT, Variable, refuse_list_of_another_kind

MAX_ITEMS = 500
DISTANCES = 3  # distances of a kernel; in each, two orders differ as two points with as many choices do
SEVERAL = 3  # rearrangements drawn for each neighbor, if several may give the same neighbor
MOST_PATTERNS = 4  # rearrangements that change the same first place and the same last place
MOST_EXCHANGES = 20_000  # of an order of some items; if there are more, only those that move no other item are listed
MOST_LISTED = 4_000  # rearrangements; in longer rows, only those that span the fewest places are listed
ResourceNames: TypeAlias = tuple[str | int, ...]  # of each item, one for each occurrence


class Permutation(Variable):
    """A variable whose values are orders of items: of all of them, with repetitions, or of k of n.

    A value is a tuple of items. Neighbors swap two items, move an item, or reverse a segment; with more than 46 items,
    only neighbors that change few adjacent places are listed. With `length`, neighbors also replace an item by an
    absent item, insert an absent item so that the last drops out, or remove an item and append an absent one, up to
    20,000 of them. An item that occurs several times is represented by its first, second, ... occurrence (a permutation
    with repetition, Bierwirth 1995).

    Parameters
    ----------
    items : iterable or dict of int
        2 to 500 distinct values, or a dict from each value to the number of its occurrences, at least 1, at most 500 in
        all.
    resources : dict, optional
        The resource of each item, a string or an integer, or a list with one for each of its occurrences. An order is
        then a schedule: items of one resource, and occurrences of one item, follow each other, and all others run in
        parallel. Points and neighbors stay the same; models learn how long each item takes.
    length : int, optional
        Number of items in an order, 2 to the number of items. Each item then occurs at most once and has no resource.
        By default all items are ordered.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError, TypeError, ValueError
        If an argument is invalid.
    """

    is_order = True

    def __init__(
        self,
        items: Iterable[object] | Mapping[Any, int],
        *,
        resources: Mapping[Any, object] | None = None,
        length: int | None = None,
        when: When | None = None,
        default: object = NO_DEFAULT,
    ) -> None:
        given = list(items) if isinstance(items, Mapping) else items
        self._item = Categorical(check_choices(self.kind, given, "item", MAX_ITEMS))
        self.items = self._item.choices
        counts = list(items.values()) if isinstance(items, Mapping) else [1] * len(self.items)
        self.counts = _check_item_counts(self.kind, self.items, counts)
        self.n_codes = sum(self.counts)
        self.width = self.n_codes if length is None else _check_order_length(self.kind, length, self.counts, resources)
        self.n_absent = self.n_codes - self.width  # the number of items that an order lacks
        self._starts = np.cumsum([0, *self.counts[:-1]])  # the first column value of each item
        self._item_of = np.repeat(np.arange(len(self.items)), self.counts)  # the item of each column value
        if resources is not None:
            self.resources = check_resources(self.kind, resources, self.items, self.counts, self._find_item)
        self.degrees = DISTANCES * self.width
        self.when = check_when(self.kind, when)
        self.default_columns = self.read_default(default)

    @property
    def arguments(self) -> str:
        items = short_repr(dict(zip(self.items, self.counts, strict=True)) if self.has_repeats else list(self.items))
        if self.resources is None:
            return f"{items}, length={self.width}" if self.n_absent else items
        return f"{items}, resources={short_repr(split_names(self.items, self.counts, self.resources))}"

    @property
    def chains(self) -> tuple[int, ...]:
        """The position of the item of each column value: the occurrences of an item follow one another."""
        return tuple(self._item_of.tolist())

    @property
    def has_repeats(self) -> bool:
        """True if an item occurs more than once."""
        return self.n_codes > len(self.items)

    @property
    def size(self) -> int:
        """The number of orders, n! over the factorial of each item's count, or n! / (n - k)! for k of n items."""
        return math.factorial(self.n_codes) // math.prod(map(math.factorial, (*self.counts, self.n_absent)))

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m orders uniformly (m, k): the positions of the items, first place first."""
        drawn = rng.permuted(np.tile(np.arange(self.n_codes), (m, 1)), axis=1)
        return self._number(drawn[:, : self.width])

    def chances(self, values: IntArray) -> Array:
        """Return one over the number of orders for each value (m,), 0 if that underflows."""
        log_size = math.lgamma(self.n_codes + 1) - sum(math.lgamma(n + 1) for n in (*self.counts, self.n_absent))
        return np.full(len(values), math.exp(-log_size))

    def neighbors(self, columns: Sequence[int], large_steps: bool = False) -> IntArray:
        """List the orders one change away: swaps, moves of one item and reversals, short ones first, then exchanges."""
        return self._change(columns, np.arange(self._count_listed(large_steps)), large_steps)

    def count_neighbors(self, columns: Sequence[int], large_steps: bool = False) -> int:
        n_listed = self._count_listed(large_steps)
        if not self.has_repeats:
            return n_listed
        return len(find_effective(self._item_of[np.asarray(columns)], np.arange(n_listed), large_steps))

    def sample_neighbors(
        self, columns: Sequence[int], m: int, rng: np.random.Generator, large_steps: bool = False
    ) -> IntArray:
        """Draw orders one change away, among those that `neighbors` lists (k, n), without listing them."""
        n_listed = self._count_listed(large_steps)
        several = min(SEVERAL * m if self.has_repeats else m, n_listed)
        found = self._change(columns, np.sort(rng.choice(n_listed, size=several, replace=False)), large_steps)
        if len(found) < min(m, n_listed):
            found = self._change(columns, np.arange(n_listed), large_steps)
        return found if len(found) <= m else found[np.sort(rng.choice(len(found), size=m, replace=False))]

    @property
    def has_quick_changes(self) -> bool:
        """True for an order with resources, because a search examines very many of them."""
        return self.resources is not None

    def change_each(self, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw a change of each order (k, n); with resources the draw is quick, and may return the same order."""
        if not self.has_quick_changes:
            return super().change_each(rows, rng)
        table = list_rearrangements(self.width)
        changes = table[rng.integers(len(table), size=len(rows))]
        return self._number(np.take_along_axis(rows, changes, axis=1))

    def move(self, columns: Sequence[int], share: float) -> list[int]:
        """Return an order one change away, across any number of places; a swap if items occur several times."""
        if self.has_repeats:  # all orders have equally many swaps, so that a swap and its reverse are equally probable
            first, second = np.triu_indices(self.width, 1)
            here = self._item_of[np.asarray(columns)]
            swaps = np.flatnonzero(here[first] != here[second])
            i, j = (int(ends[swaps[int(share * len(swaps))]]) for ends in (first, second))
            row = list(columns)
            row[i], row[j] = row[j], row[i]
            return self._number(np.array([row]))[0].tolist()
        n_rearranged = count_rearrangements(self.width)
        number = int(share * (n_rearranged + count_exchanges(self.width, self.n_absent)))
        if number < n_rearranged:
            return rearrange(list(columns), number)
        return exchange(np.asarray(columns), np.array([number - n_rearranged]), self.n_codes)[0].tolist()

    def cross(self, mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Return a child of two orders: a segment of the first, and the other items in the order of the second.

        This is order crossover (Davis 1985), OX.
        """
        child = cross_orders(mine, theirs, rng)
        return self._number(np.array([child]))[0].tolist() if self.has_repeats else child

    def check(self, columns: Sequence[int]) -> None:
        """Raise PointError unless each item occurs as often as it must, its occurrences in turn."""
        check_order(columns, self.width, self.n_codes)
        if self.has_repeats and self._number(np.array([columns]))[0].tolist() != list(columns):
            raise PointError(f"expected the occurrences of each item in turn, got {list(columns)}")

    def parse(self, value: object) -> list[int]:
        """Return the positions of the items; raise PointError unless each occurs as often as it must."""
        value = list_entries(value)
        if not isinstance(value, list | tuple):
            raise PointError(f"expected a list or tuple of {self._needed_items} in some order, got {short_repr(value)}")
        return self._each_once([self._item.parse(item)[0] for item in value], value)

    def present(self, columns: Sequence[int]) -> Presented:
        """Return the items in order, a tuple of copies if they are mutable."""
        found = self._item_of[np.asarray(columns)].tolist()
        if self._item.has_mutable_choices:
            return tuple(self._item.present([item]) for item in found)
        return tuple(map(self.items.__getitem__, found))  # fast, because constraints read very many points

    def encode(self, columns: Sequence[int]) -> Json:
        """Return the items in order, as positions if JSON cannot represent them."""
        return [self._item.encode([item]) for item in self._item_of[np.asarray(columns)].tolist()]

    def decode(self, data: ParsedJson) -> list[int]:
        return self._decode_each(data, self._item.decode)

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> Sequence[int]:
        """Rebuild the positions of items that another variable encoded; raise PointError unless all are known here.

        Python objects, which files do not store, are distinguished by their `repr`.
        """
        if self.has_values_of(description):
            return self.decode(data)
        refuse_list_of_another_kind(self, data, description)
        return self._decode_each(data, self._item.read_choices_of(description.get("items")))

    def fallback(self) -> list[int]:
        """Return the first items in the order in which they were given."""
        return list(range(self.width))

    def enumerate(self) -> IntArray:
        """List all orders if they are at most 100,000 (size, n), by the item in each place; otherwise DomainError."""
        if self.size > MAX_ENUMERATED:
            return super().enumerate()
        return self._number(self._starts[list_orders(self.counts, self.width)])

    def describe(self) -> dict[str, Json]:
        """Return the items as JSON, their counts if an item occurs more than once, and resources and length, if any."""
        counts: dict[str, Json] = {"counts": list(self.counts)} if self.has_repeats else {}
        resources: dict[str, Json] = {} if self.resources is None else {"resources": list(self.resources)}
        length: dict[str, Json] = {"length": self.width} if self.n_absent else {}
        return {"items": self._item.describe()["choices"], **counts, **resources, **length}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Permutation:
        found = cls(choices_from_json(data["items"]))
        counts = data.get("counts", [1] * len(found.items))
        resources = split_names(found.items, counts, data["resources"]) if "resources" in data else None
        return cls(dict(zip(found.items, counts, strict=True)), resources=resources, length=data.get("length"))

    @property
    def _needed_items(self) -> str:
        return f"{self.width} of the {self.n_codes} items" if self.n_absent else "all items"

    def _count_listed(self, large_steps: bool) -> int:
        """Return the number of changes; with repeated items, several may give the same neighbor."""
        return len(list_rearrangements(self.width, large_steps)) + count_exchanges(self.width, self.n_absent)

    def _decode_each(self, data: ParsedJson, decode: Callable[[ParsedJson], Sequence[int]]) -> list[int]:
        if not isinstance(data, list):
            raise PointError(f"expected a list of {self._needed_items} in some order, got {short_repr(data)}")
        return self._each_once([decode(item)[0] for item in data], data)

    def _each_once(self, found: list[int], given: Any) -> list[int]:
        """Return columns of positions of items; raise PointError, which names an item that is missing or repeated."""
        counted = [found.count(item) for item in range(len(self.items))]
        for item, n, count in zip(self.items, counted, self.counts, strict=True):
            if n != count and self.has_repeats:
                raise PointError(f"expected {short_repr(item)} {_times(count)}, got it {_times(n)}")
            if n > count:
                raise PointError(f"expected each item once, got {short_repr(item)} more than once")
        if self.n_absent and len(found) != self.width:
            raise PointError(f"expected {self._needed_items}, got {len(found)}: {short_repr(given)}")
        if len(found) < self.width:
            missing = short_repr(self.items[counted.index(0)])
            raise PointError(f"expected all {self.width} items, got {short_repr(given)} without {missing}")
        return self._number(self._starts[np.array([found])])[0].tolist()

    def _number(self, rows: IntArray) -> IntArray:
        """Return orders with the occurrences of each item in turn (k, n).

        rows: columns, in which the occurrences may be in any order (k, n).
        """
        if not self.has_repeats:
            return rows
        turns = np.argsort(self._item_of[rows].astype(np.int16), axis=1, kind="stable")
        found = np.empty_like(rows)
        np.put_along_axis(found, turns, np.arange(self.width)[None], axis=1)
        return found

    def _change(self, columns: Sequence[int], some: IntArray, large_steps: bool) -> IntArray:
        """Return the results of changes, each once, in the order of the changes (k, n).

        some: positions in the list of rearrangements, followed by exchanges, ascending.
        """
        here, table = np.asarray(columns, dtype=np.int64), list_rearrangements(self.width, large_steps)
        if self.n_absent:
            moved, exchanged = np.split(some, np.searchsorted(some, [len(table)]))
            return np.concatenate([here[table[moved]], exchange(here, exchanged - len(table), self.n_codes)])
        if not self.has_repeats:
            return here[table[some]]
        return self._number(here[table[some[find_effective(self._item_of[here], some, large_steps)]]])

    def _find_item(self, item: object) -> int:
        return self._item.parse(item)[0]


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _check_item_counts(kind: str, items: Sequence[Presented], counts: Sequence[object]) -> tuple[int, ...]:
    """Return how often each item occurs; raise DomainError unless these are integers from 1 with a sum up to 500."""
    for item, count in zip(items, counts, strict=True):
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
            allowed = "an integer from 1, the number of its occurrences"
            raise DomainError(f"{kind}: {short_repr(item)}: expected {allowed}, got {short_repr(count)}")
    found = tuple(int(count) for count in counts)  # type: ignore[call-overload]
    if sum(found) > MAX_ITEMS:
        raise DomainError(f"{kind}: expected at most {MAX_ITEMS} places, got {sum(found)}")
    return found


def _check_order_length(kind: str, length: object, counts: Sequence[int], resources: object) -> int:
    """Return how many items an order has; raise DomainError if that is not possible."""
    n = to_python(length)
    if max(counts) > 1 or resources is not None:
        what = "with resources" if resources is not None else "that occur several times; use a Sequence"
        raise DomainError(f"{kind}: length: expected None for items {what}, got {short_repr(length)}")
    if type(n) is not int or not 2 <= n <= len(counts):
        allowed = f"an integer from 2 to {len(counts)}, the number of items"
        raise DomainError(f"{kind}: length: expected {allowed}, got {short_repr(length)}")
    return n


def check_resources(
    kind: str, given: Mapping[Any, object], items: Sequence[Any], counts: Sequence[int], find: Callable[[Any], int]
) -> ResourceNames:
    """Return the resource of each occurrence of each item; raise DomainError unless each has one."""
    if not isinstance(given, Mapping):
        raise DomainError(f"{kind}: resources: expected a dict from items to resources, got {short_repr(given)}")
    found: dict[int, list[str | int]] = {}
    for item, named in given.items():
        try:
            position = find(item)
        except PointError as error:
            raise DomainError(f"{kind}: resources: {error}") from None
        listed = list_entries(named)
        names = list(listed) if isinstance(listed, list | tuple) else [listed] * counts[position]
        if len(names) != counts[position]:
            expected = f"a list of {counts[position]}, a resource for each occurrence"
            raise DomainError(f"{kind}: resources: {short_repr(item)}: expected {expected}, got {short_repr(named)}")
        found[position] = [_check_resource_name(kind, item, to_python(name)) for name in names]
    for position, item in enumerate(items):
        if position not in found:
            raise DomainError(f"{kind}: resources: expected a resource for each item, got none for {short_repr(item)}")
    return tuple(name for position in range(len(items)) for name in found[position])


def split_names(items: Sequence[Any], counts: Sequence[int], names: Sequence[Any]) -> dict[Any, list[Any]]:
    """Return the resources of each item, in the form that users pass: the inverse of `check_resources`."""
    ends = itertools.accumulate(counts)
    return {item: list(names[end - n : end]) for item, n, end in zip(items, counts, ends, strict=True)}


def _check_resource_name(kind: str, item: object, name: object) -> str | int:
    if not isinstance(name, str | int) or isinstance(name, bool):
        expected = "a string or an integer, or a list of them"
        raise DomainError(f"{kind}: resources: {short_repr(item)}: expected {expected}, got {short_repr(name)}")
    return name


def count_rearrangements(n: int) -> int:
    """Return the number of rearrangements of n places: n(n - 1) / 2 swaps, (n - 1)(n - 2) moves, and reversals.

    n: at least 2.

    A move to the next place, and the reversal of at most three places, are swaps, and count as swaps.
    """
    return sum(_count_of_span(n, span) for span in range(1, n))


@lru_cache(maxsize=32)
def list_rearrangements(n: int, large_steps: bool = False) -> IntArray:
    """List rearrangements, short ones first, as the old place of the new item in each place (k, n).

    n: number of places, at least 2.
    large_steps: True to add those that span half the row, a quarter and so on, if the row is too long to list all.

    Up to 46 places, all are listed; in longer rows, those that span the fewest places, at most 4,000.
    """
    spans, total = [], 0
    for span in range(1, n):
        total += _count_of_span(n, span)
        if spans and total > MOST_LISTED:
            break
        spans.append(span)
    if large_steps:
        spans += sorted({n >> k for k in range(1, n.bit_length())} - {0, *spans})
    table = np.concatenate([_list_of_span(n, span) for span in spans])
    table.flags.writeable = False
    return table


def find_effective(row: IntArray, some: IntArray, large_steps: bool) -> IntArray:
    """Return one rearrangement of a row with equal values for each distinct result.

    row: values (n,).
    some: positions of rearrangements in the list of `list_rearrangements` (m,).

    A rearrangement that keeps the value in its first place or its last place equals a rearrangement of fewer places. Of
    several of the same places with the same result, the first is returned.

    Returns positions in `some`, ascending.
    """
    table, (first, last) = list_rearrangements(len(row), large_steps), _find_ends(len(row), large_steps)
    rows, (i, j) = row[table[some]], (first[some], last[some])
    counts = (rows[np.arange(len(some)), i] != row[i]) & (rows[np.arange(len(some)), j] != row[j])
    for back in range(1, MOST_PATTERNS):
        before = some - back
        same = np.flatnonzero(counts & (before >= 0) & (first[before] == i) & (last[before] == j))  # the same places
        counts[same] = (row[table[before[same]]] != rows[same]).any(axis=1)
    return np.flatnonzero(counts)


def rearrange(row: list[int], number: int) -> list[int]:
    """Return a row after one rearrangement.

    number: the rearrangement, in 0..count_rearrangements(n) - 1: by span, then by the first place, then by kind.
    """
    n, span = len(row), 1
    while number >= (count := _count_of_span(n, span)):
        number, span = number - count, span + 1
    first, kind = divmod(number, len(_patterns(span)))
    return row[:first] + [row[first + place] for place in _patterns(span)[kind]] + row[first + span + 1 :]


@lru_cache(maxsize=32)
def list_exchanges(k: int) -> IntArray:
    """List the exchanges of k places, as the old place of the new item in each place (3 k - 2, k).

    k: number of places, at least 2; in the result, k represents the item that was absent.

    The absent item replaces the item in a place, or is appended after an item is removed, or is inserted before an item
    so that the last item drops out. The second and the third kind undo each other.
    """
    places, at = np.arange(k), np.arange(k)[:, None]
    removed, inserted = places + (places >= at), np.where(places == at, k, places - (places > at))
    table = np.concatenate([np.where(places == at, k, places), removed[:-1], inserted[:-1]])
    table.flags.writeable = False
    return table


def count_exchanges(k: int, n_absent: int) -> int:
    """Return the number of exchanges of an item of an order of k items for one of n_absent others."""
    total = (3 * k - 2) * n_absent
    return total if total <= MOST_EXCHANGES else k * n_absent


def exchange(row: IntArray, numbers: IntArray, n_items: int) -> IntArray:
    """Return the results of exchanges (m, k).

    row: the items of an order (k,), in 0..n_items - 1.
    numbers: the exchanges, in 0..count_exchanges(k, n_items - k) - 1 (m,): by place, then by the absent item.
    """
    absent = np.setdiff1d(np.arange(n_items), row)
    which, item = np.divmod(numbers, len(absent))
    sources = list_exchanges(len(row))[which]
    rows = np.append(row, -1)[sources]
    rows[sources == len(row)] = absent[item]
    return rows


def cross_orders(mine: Sequence[int], theirs: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Return the order crossover (Davis 1985) of two orders of equal length, with the same or different items."""
    first, last = sorted(rng.choice(len(mine) + 1, size=2, replace=False).tolist())
    kept = list(mine[first:last])
    others = [item for item in theirs if item not in set(kept)]
    return others[:first] + kept + others[first : len(mine) - len(kept)]


def list_orders(counts: Sequence[int], length: int) -> IntArray:
    """List all orders of items, some of which occur several times (k, length), by place, the last place fastest.

    counts: how often each item may occur, each at least 1.
    length: number of places of an order, at most the sum of the counts.
    """
    rows, left = np.empty((1, 0), dtype=np.int64), np.array([counts], dtype=np.int64)
    for _ in range(length):
        before, item = np.nonzero(left)  # which items each row may have next
        rows, left = np.column_stack([rows[before], item]), left[before]
        left[np.arange(len(left)), item] -= 1
    return rows


def check_order(columns: Sequence[int], k: int, n: int) -> None:
    """Raise PointError unless columns are k of 0 to n - 1 in some order."""
    if len(columns) != k or len(set(columns) & set(range(n))) < k:
        allowed = f"{k} of 0..{n - 1}, each at most once" if k < n else f"each of 0..{n - 1} once"
        raise PointError(f"expected {allowed}, got {list(columns)}")


def _count_of_span(n: int, span: int) -> int:
    return (n - span) * (1 if span == 1 else 3 if span == 2 else 4)


def _patterns(span: int) -> list[list[int]]:
    """List the rearrangements of span + 1 places that change the first and the last: a swap, two moves, a reversal."""
    swap, first_to_last, last_to_first = [span, *range(1, span), 0], [*range(1, span + 1), 0], [span, *range(span)]
    return [swap, first_to_last, last_to_first, list(range(span, -1, -1))][: 1 if span == 1 else 3 if span == 2 else 4]


def _list_of_span(n: int, span: int) -> IntArray:
    """List the rearrangements that span a number of places (k, n), by their first place and then by their kind."""
    firsts, patterns = np.arange(n - span)[:, None, None], np.array(_patterns(span))
    rows = np.tile(np.arange(n), (n - span, len(patterns), 1))
    np.put_along_axis(rows, firsts + np.arange(span + 1) + np.zeros_like(patterns), firsts + patterns, axis=2)
    return rows.reshape(-1, n)


@lru_cache(maxsize=32)
def _find_ends(n: int, large_steps: bool) -> tuple[IntArray, IntArray]:
    """Return the first and the last place that each rearrangement changes (k,), (k,)."""
    changes = list_rearrangements(n, large_steps) != np.arange(n)
    return changes.argmax(axis=1), n - 1 - changes[:, ::-1].argmax(axis=1)
