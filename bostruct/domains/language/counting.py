"""How many programs a space holds, by factoring: choices that do not touch each other are multiplied, not visited.

What a part of the space counts depends on the hyperparameters made around it that it turns out to use, which nobody
knows before it is built. A part is counted, therefore, into a table: from the values of such hyperparameters, where it
uses any, to a number. Tables of neighbouring parts are joined where they speak of the same hyperparameters and
multiplied where they do not, and a hyperparameter is summed out in the part that made it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from bostruct.contracts import Infeasible
from bostruct.domains.language.errors import TooDeep
from bostruct.domains.language.fragments import Fragment
from bostruct.domains.language.hyperparameters import DependentHyperparameter, Discrete, Hyperparameter, Value
from bostruct.domains.language.modules import Module
from bostruct.domains.language.signatures import signature
from bostruct.domains.language.walk import MISSING, Walk, ancestors, expansion, opens_choices

Setting: TypeAlias = frozenset[tuple[Discrete, Value]]  # what some hyperparameters must be
Table: TypeAlias = dict[Setting, int]
NOTHING: Setting = frozenset()


class Exact(NamedTuple):
    """All of them."""

    count: int


class AtLeast(NamedTuple):
    """As many were found before the budget was spent."""

    count: int


class Infinite(NamedTuple):
    """A substitution can contain itself."""

    count: float = math.inf


INFINITE = Infinite()
Size: TypeAlias = Exact | AtLeast | Infinite


class Entangled(Exception):
    """Choices in one part decide whether another is there at all: there is nothing to factor."""


def count(walk: Walk, budget: int) -> Size:
    """How many ways lead on from here; budget: of parts looked at."""
    tally = Tally(walk, budget, 0)
    try:
        found = total(tally.fragment(walk.root))
    except Entangled:
        return count_by_visits(walk, budget)
    if tally.repeated and found:
        again = Tally(walk, budget, 1)  # were a part inside itself worth one program, would there be more?
        if total(again.fragment(walk.root)) > found:
            return INFINITE
    return AtLeast(found) if tally.cut else Exact(found)


def count_by_visits(walk: Walk, budget: int) -> Size:
    """The same, choice by choice, but for the last ones that open nothing."""
    found, stack = 0, [walk.copy()]
    while stack:
        if budget == 0:
            return AtLeast(found)
        budget -= 1
        at = stack.pop()
        try:
            h = at.next()
            if h is None or at.is_settled():
                found += math.prod(len(one.values) for one in at.left())
                continue
        except Infeasible:
            continue
        except TooDeep:
            budget = 0
            continue
        for value in h.values:
            child = at.copy()
            child.assign(h, value)
            stack.append(child)
    return Exact(found)


class Tally:
    """One count. values: what is chosen already. repeated: whether a part was met inside itself, which then counts as
    `recurring`; cut: whether something was left out, for the budget or for depth.
    """

    def __init__(self, walk: Walk, budget: int, recurring: int) -> None:
        self.values = walk.values
        self.max_depth = walk.max_depth
        self.budget = budget
        self.recurring = recurring
        self.repeated = False
        self.cut = False
        self.around: set[Any] = set()  # signatures of the modules whose parts are being counted
        self.known: dict[Any, list[Row]] = {}

    def fragment(self, fragment: Fragment) -> Table:
        """Of one part."""
        check_whole(fragment)
        plain: dict[Discrete, None] = {}
        waiting: list[tuple[Module, tuple[Discrete, ...]]] = []
        for module in fragment.modules:
            free = self.free(module.hyperparameters.values())
            if not opens_choices(module):
                plain.update(dict.fromkeys(free))
            else:
                waiting.append((module, free))
        tables = [collapsed(rows) for rows in self._components(waiting)]
        factor = 1
        for h in plain:
            if any(mentions(table, h) for table in tables) or h.fragment is not fragment:
                tables.append({frozenset(((h, value),)): 1 for value in h.values})
            else:
                factor *= len(h.values)
        return scaled(eliminated(tables, fragment), factor)

    def free(self, hyperparameters: Iterable[Hyperparameter]) -> tuple[Discrete, ...]:
        """The independent ones without a value that these are or depend on."""
        found: dict[Discrete, None] = {}
        for h in hyperparameters:
            for one in ancestors(h) if isinstance(h, DependentHyperparameter) else (h,):
                if one.path not in self.values:
                    found[one] = None
        return tuple(found)

    def _components(self, waiting: list[tuple[Module, tuple[Discrete, ...]]]) -> Iterator[list[Row]]:
        for modules, free in connected(waiting):
            yield self._single(modules[0], free) if len(modules) == 1 else list(self._rows(modules, free))

    def _single(self, module: Module, free: tuple[Discrete, ...]) -> list[Row]:
        """Modules that are written alike count alike."""
        name = signature(module, free, self.values)
        if name in self.around:
            self.repeated = True
            return [Row({}, {NOTHING: self.recurring})]
        if (rows := self.known.get(name)) is None:
            self.around.add(name)
            before, self.repeated = self.repeated, False
            rows = list(self._rows([module], free))
            if not self.repeated and not self.cut:
                self.known[name] = [Row({i: v for i, v in enumerate(row.chosen.values())}, row.table) for row in rows]
            self.repeated |= before
            self.around.remove(name)
            return rows
        return [Row(dict(zip(free, row.chosen.values(), strict=True)), row.table) for row in rows]

    def _rows(self, modules: list[Module], free: tuple[Discrete, ...]) -> Iterator[Row]:
        """One for each way to choose the hyperparameters of modules that share them."""
        outside = self.values
        for chosen in product(*[h.values for h in free]):
            if self.budget <= 0:
                self.cut = True
                return
            self.values = outside | {h.path: value for h, value in zip(free, chosen, strict=True)}
            try:
                tables = [self._expanded(module) for module in modules]
            except Infeasible:
                continue
            except TooDeep:
                self.cut = True
                continue
            finally:
                self.values = outside
            yield Row(dict(zip(free, chosen, strict=True)), joined(tables))

    def _expanded(self, module: Module) -> Table:
        self.budget -= 1
        reader = Walk(module.fragment, self.max_depth)
        reader.values = self.values
        given = tuple(reader.value(h) for h in module.hyperparameters.values())
        assert MISSING not in given
        return self.fragment(expansion(module, given, self.max_depth))


class Row(NamedTuple):
    """What modules count when their hyperparameters are chosen so."""

    chosen: dict[Any, Value]
    table: Table


def total(table: Table) -> int:
    return sum(table.values())


def scaled(table: Table, factor: int) -> Table:
    return {setting: n * factor for setting, n in table.items()} if factor != 1 else table


def mentions(table: Table, h: Discrete) -> bool:
    return any(one is h for setting in table for one, _ in setting)


def collapsed(rows: Iterable[Row]) -> Table:
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
    own = {h: None for table in tables for setting in table for h, _ in setting if h.fragment is fragment}
    for h in own:
        touched = [table for table in tables if mentions(table, h)]
        rest = [table for table in tables if not mentions(table, h)]
        summed: Table = {}
        for setting, n in joined(touched).items():
            without = frozenset(item for item in setting if item[0] is not h)
            summed[without] = summed.get(without, 0) + n
        tables = [*rest, summed]
    return joined(tables)


def connected(
    waiting: list[tuple[Module, tuple[Discrete, ...]]],
) -> Iterator[tuple[list[Module], tuple[Discrete, ...]]]:
    """Modules that share hyperparameters, together, with these."""
    groups: list[tuple[list[Module], dict[Discrete, None]]] = []
    for module, free in waiting:
        alike = [group for group in groups if not group[1].keys().isdisjoint(free)]
        groups = [group for group in groups if group not in alike]
        merged: dict[Discrete, None] = {}
        for group in alike:
            merged |= group[1]
        groups.append(([*(m for group in alike for m in group[0]), module], merged | dict.fromkeys(free)))
    for modules, shared in groups:
        yield modules, tuple(shared)


def check_whole(fragment: Fragment) -> None:
    """Raise Entangled where some of what a part makes may never be looked at."""
    read = {port.source for module in fragment.modules for port in module.inputs.values()}
    read.update(fragment.outputs.values())
    lost = any(output not in read for m in fragment.modules if m.substitution for output in m.outputs.values())
    host = fragment.host
    if lost or (host is not None and fragment.inputs.keys() != host.inputs.keys()):
        raise Entangled
