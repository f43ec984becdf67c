"""Tables of counts: from settings, what some hyperparameters must be, to numbers; their joins and sums."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from bostruct.domains.language.graph import Discrete, Fragment
from bostruct.domains.language.values import Value

Setting: TypeAlias = frozenset[tuple[Discrete, Value]]  # what some hyperparameters must be
CountTable: TypeAlias = dict[Setting, int]
NO_SETTING: Setting = frozenset()


class CountRow(NamedTuple):
    """A count of modules whose hyperparameters are chosen in one way.

    chosen: the values of these hyperparameters.
    table: the counts by the settings of other hyperparameters.
    """

    chosen: dict[Discrete, Value]
    table: CountTable


def total(table: CountTable) -> int:
    """Return the sum of all counts of a table.

    table: counts by setting.
    """
    return sum(table.values())


def scale(table: CountTable, factor: int) -> CountTable:
    """Return a table with all counts multiplied.

    table: counts by setting; returned itself where the factor is 1.
    factor: at least 0.
    """
    return {setting: n * factor for setting, n in table.items()} if factor != 1 else table


def scope_of(tables: Iterable[CountTable]) -> dict[Discrete, None]:
    """Return the hyperparameters that these tables speak of, in order.

    tables: of counts.
    """
    return {h: None for table in tables for setting in table for h, _ in setting}


def sum_rows(rows: Iterable[CountRow]) -> CountTable:
    """Return the sum of rows, in which what was chosen is part of the settings.

    rows: one for each way to choose the same hyperparameters; counts whose setting contradicts the way are left out.
    """
    table: CountTable = {}
    for row in rows:
        chosen = frozenset(row.chosen.items())
        for setting, n in row.table.items():
            if n and (both := merge_settings(chosen, setting)) is not None:
                table[both] = table.get(both, 0) + n
    return table


def merge_settings(a: Setting, b: Setting) -> Setting | None:
    """Return both settings together; None where they contradict each other.

    a, b: settings, empty where they ask for nothing.
    """
    if not a or not b:
        return a or b
    both = a | b
    return both if len({h for h, _ in both}) == len(both) else None


def join_tables(tables: Iterable[CountTable], spend: Callable[[int], None]) -> CountTable:
    """Return the join of tables: the products of what agrees in all of them.

    tables: of counts; for none the result is 1 under no setting.
    spend: is told how many pairs of entries are looked at, and may raise.
    """
    result: CountTable = {NO_SETTING: 1}
    for table in tables:
        found: CountTable = {}
        for (a, n), some in _match(result, table):
            if len(some) > 1:
                spend(len(some))
            for b, m in some:
                if n and m and (both := merge_settings(a, b)) is not None:
                    found[both] = found.get(both, 0) + n * m
        result = found
    return result


def _match(a: CountTable, b: CountTable) -> Iterator[tuple[tuple[Setting, int], Collection[tuple[Setting, int]]]]:
    """Yield each entry of a with the entries of b that may agree with it.

    Those agree on the hyperparameters that all settings of both tables speak of.
    """
    common = _spoken_of_by_all(a) & _spoken_of_by_all(b) if len(a) > 1 and len(b) > 1 else frozenset()
    if not common:
        for entry in a.items():
            yield entry, b.items()
        return
    groups: dict[Setting, list[tuple[Setting, int]]] = {}
    for setting, m in b.items():
        groups.setdefault(_restrict(setting, common), []).append((setting, m))
    for setting, n in a.items():
        yield (setting, n), groups.get(_restrict(setting, common), ())


def _spoken_of_by_all(table: CountTable) -> frozenset[Discrete]:
    return frozenset.intersection(*(frozenset(h for h, _ in setting) for setting in table))


def _restrict(setting: Setting, kept: frozenset[Discrete]) -> Setting:
    return frozenset(item for item in setting if item[0] in kept)


def eliminate(tables: list[CountTable], fragment: Fragment, spend: Callable[[int], None]) -> CountTable:
    """Return the join of tables, without the hyperparameters that were made in this part.

    tables: counts by setting.
    fragment: the part.
    spend: as of `join_tables`.
    """
    kept = dict(enumerate(tables))
    places: dict[Discrete, dict[int, None]] = {}  # of the tables that mention each of these
    for place, table in kept.items():
        for h in scope_of([table]):
            places.setdefault(h, {})[place] = None
    for last, h in enumerate((h for h in [*places] if h.fragment is fragment), len(kept)):
        summed: CountTable = {}
        for setting, n in join_tables([kept.pop(place) for place in places[h] if place in kept], spend).items():
            without = frozenset(item for item in setting if item[0] is not h)
            summed[without] = summed.get(without, 0) + n
        kept[last] = summed
        for other in scope_of([summed]):
            places[other][last] = None
    return join_tables(kept.values(), spend)
