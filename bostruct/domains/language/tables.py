"""Tables of counts: from settings, what some hyperparameters must be, to numbers; their joins and sums."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from bostruct.domains.language.graph import Discrete, Fragment
from bostruct.domains.language.values import Value

Setting: TypeAlias = frozenset[tuple[Discrete, Value]]  # what some hyperparameters must be
Table: TypeAlias = dict[Setting, int]
NOTHING: Setting = frozenset()


class Row(NamedTuple):
    """What modules count when their hyperparameters are chosen so."""

    chosen: dict[Any, Value]
    table: Table


def total(table: Table) -> int:
    return sum(table.values())


def scaled(table: Table, factor: int) -> Table:
    return {setting: n * factor for setting, n in table.items()} if factor != 1 else table


def mentioned(tables: Iterable[Table]) -> dict[Discrete, None]:
    """The hyperparameters that these speak of, in order."""
    return {h: None for table in tables for setting in table for h, _ in setting}


def collapsed(rows: Iterable[Row]) -> Table:
    """Their sum, in which what was chosen is part of the settings."""
    table: Table = {}
    for row in rows:
        chosen = frozenset(row.chosen.items())
        for setting, n in row.table.items():
            if n and (both := united(chosen, setting)) is not None:
                table[both] = table.get(both, 0) + n
    return table


def united(a: Setting, b: Setting) -> Setting | None:
    """None where they contradict each other."""
    if not a or not b:
        return a or b
    both = a | b
    return both if len({h for h, _ in both}) == len(both) else None


def joined(tables: Iterable[Table]) -> Table:
    """The products of what agrees in all of them."""
    result: Table = {NOTHING: 1}
    for table in tables:
        found: Table = {}
        for (a, n), (b, m) in product(result.items(), table.items()):
            if n and m and (both := united(a, b)) is not None:
                found[both] = found.get(both, 0) + n * m
        result = found
    return result


def eliminated(tables: list[Table], fragment: Fragment) -> Table:
    """Their join, without the hyperparameters that were made here."""
    kept = dict(enumerate(tables))
    places: dict[Discrete, dict[int, None]] = {}  # of the tables that mention each of these
    for place, table in kept.items():
        for h in mentioned([table]):
            places.setdefault(h, {})[place] = None
    for last, h in enumerate((h for h in [*places] if h.fragment is fragment), len(kept)):
        summed: Table = {}
        for setting, n in joined([kept.pop(place) for place in places[h] if place in kept]).items():
            without = frozenset(item for item in setting if item[0] is not h)
            summed[without] = summed.get(without, 0) + n
        kept[last] = summed
        for other in mentioned([summed]):
            places[other][last] = None
    return joined(kept.values())
