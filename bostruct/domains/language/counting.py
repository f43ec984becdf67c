"""Count the programs of a space by factoring: choices that do not touch each other are multiplied, not visited.

What a part of the space counts depends on the hyperparameters made around it that it turns out to use, which nobody
knows before it is built. A part is counted, therefore, into a table: from the values of such hyperparameters, where it
uses any, to a number. Tables of neighboring parts are joined where they speak of the same hyperparameters and
multiplied where they do not, and a hyperparameter is summed out in the part that made it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import islice, product
from typing import NamedTuple, TypeAlias

from bostruct.contracts import Infeasible
from bostruct.domains.counts import INFINITE, AtLeast, Count, Exact
from bostruct.domains.language.count_tables import (
    NO_SETTING,
    CountRow,
    CountTable,
    eliminate,
    join_tables,
    scale,
    scope_of,
    sum_rows,
    total,
)
from bostruct.domains.language.errors import TooDeep
from bostruct.domains.language.expansion import expand_module
from bostruct.domains.language.graph import DependentHyperparameter, Discrete, Fragment, Hyperparameter, Module
from bostruct.domains.language.hyperparameters import independent_ancestors
from bostruct.domains.language.signatures import signature
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import MISSING, Walk, opens_choices

Part: TypeAlias = Module | DependentHyperparameter  # what may hold choices, or lead nowhere
MAX_NESTING = (
    100  # substitutions around each other that are followed: each takes five calls of the interpreter's thousand
)
MAX_CACHED_COUNTS = (
    2_000  # parts that are kept for those who will ask again; of more, most time would go to collecting garbage
)
MAX_SETTINGS = 1_000  # settings looked at of modules that have more than the budget allows


class NotFactorable(Exception):
    """Choices in one part decide whether another is there at all: there is nothing to factor."""


class BudgetSpent(Exception):
    """The work that a count may cost was done before the part at hand was counted."""


def count(walk: Walk, budget: int) -> Count:
    """Count the ways that lead on from here.

    walk: where to count from.
    budget: int, the work to do: modules to look at, and pairs of entries of tables to join.

    A count that the budget or the depth cuts short is a lower bound, which may be 0.
    """
    tally = ProgramCounter(walk, budget, 0)
    try:
        found = tally.total(walk.root)
    except NotFactorable:
        return count_by_visits(walk, budget)
    if tally.is_recursive and found:
        again = ProgramCounter(walk, budget, 1)  # were a part inside itself worth one program, would there be more?
        if again.total(walk.root) > found:
            return INFINITE
    return AtLeast(found) if tally.cut else Exact(found)


def count_by_visits(walk: Walk, budget: int) -> Count:
    """Count the ways that lead on from here choice by choice, but for the last choices, which open nothing.

    walk: where to count from; it stays as it is.
    budget: modules to look at, at least 0; the bound found so far is returned once it is spent.
    """
    found, stack = 0, [walk.copy()]
    while stack:
        if budget <= 0:
            return AtLeast(found)
        at = stack.pop()
        try:
            h = at.next()
            if h is None or at.is_settled():
                found += math.prod(len(one.values) for one in at.remaining())
                continue
        except Infeasible:
            continue
        except TooDeep:
            budget = 0
            continue
        finally:
            budget -= at.n_visible
        for value in h.values:
            child = at.copy()
            child.assign(h, value)
            stack.append(child)
    return Exact(found)


class ProgramCounter:
    """One count of a space.

    walk: its values are what is chosen already.
    budget: int, the work to do, as of `count`.
    recurring: int, the count of a part that is met inside itself.

    `is_recursive` is true once such a part was met, `cut` once something was left out, for the budget or for depth.
    """

    def __init__(self, walk: Walk, budget: int, recurring: int) -> None:
        self.values = dict(walk.values)
        self.entered = {place for path in walk.values for place in enclosing_modules(path)}
        self.max_depth = walk.max_depth
        self.budget = budget
        self.overdraft = budget
        self.kept = 0  # parts
        self.recurring = recurring
        self.is_recursive = False
        self.cut = False
        self.around: set[Hashable] = set()  # signatures of the modules whose parts are being counted
        self.known: dict[Hashable, list[CachedCount]] = {}
        self.read: dict[Discrete, Value] = {}  # what the part being counted found of hyperparameters, or MISSING

    def total(self, root: Fragment) -> int:
        """Count the programs of the whole space.

        root: the outermost part.

        Raises NotFactorable where some of what a part makes may never be looked at.
        """
        try:
            return total(self.fragment(root))
        except BudgetSpent:
            self.cut = True
            return 0

    def fragment(self, fragment: Fragment) -> CountTable:
        """Count the programs of one part.

        fragment: a finished part.

        Raises NotFactorable where some of what it makes may never be looked at, and BudgetSpent.
        """
        waiting, plain = self.open_parts(fragment)
        tables = [sum_rows(rows) for rows in self.components(waiting)]
        spoken_of = scope_of(tables)
        factor = 1
        for h in plain:
            if h in spoken_of or h.fragment is not fragment:
                tables.append({frozenset(((h, value),)): 1 for value in h.values})
            else:
                factor *= len(h.values)
        return scale(eliminate(tables, fragment, self._join), factor)

    def open_parts(self, fragment: Fragment) -> tuple[dict[Part, tuple[Discrete, ...]], dict[Discrete, None]]:
        """Return what may hold choices in one part, with the hyperparameters that it waits for, and all others.

        fragment: a finished part.

        Raises NotFactorable.
        """
        check_factorable(fragment)
        plain: dict[Discrete, None] = {}
        waiting: dict[Part, tuple[Discrete, ...]] = {}
        for module in fragment.modules:
            if opens_choices(module):
                waiting[module] = self.free(module.hyperparameters.values())
                continue
            for h in module.hyperparameters.values():
                if isinstance(h, DependentHyperparameter):  # its function may find that this leads nowhere
                    waiting[h] = self.free((h,))
                else:
                    plain.update(dict.fromkeys(self.free((h,))))
        return waiting, plain

    def free(self, hyperparameters: Iterable[Hyperparameter]) -> tuple[Discrete, ...]:
        """Return the independent hyperparameters without a value that some hyperparameters are or depend on.

        hyperparameters: independent or dependent ones.
        """
        found: dict[Discrete, None] = {}
        for h in hyperparameters:
            for one in independent_ancestors(h):
                value = self.values.get(one.path, MISSING)
                self.read.setdefault(one, value)
                if value is MISSING:
                    found[one] = None
        return tuple(found)

    def components(self, waiting: Mapping[Part, tuple[Discrete, ...]]) -> Iterator[list[CountRow]]:
        """Yield the rows of each group of parts that share hyperparameters.

        waiting: part -> the hyperparameters without a value that it depends on.

        Raises BudgetSpent.
        """
        for parts, free in connected_components(waiting):
            alone = parts[0] if len(parts) == 1 else None
            yield self._module_rows(alone, free) if isinstance(alone, Module) else list(self._rows(parts, free))

    def _module_rows(self, module: Module, free: tuple[Discrete, ...]) -> list[CountRow]:
        """Count a module, from the cache where one written alike was counted and all that it looks at is as it was."""
        # where something inside has a value already, no other module counts the same
        name = module.path if module.path in self.entered else signature(module, free, self.values)
        if name in self.around:
            self.is_recursive = True
            return [CountRow({}, {NO_SETTING: self.recurring})]
        for known in self.known.get(name, ()):
            if known.fits(free, self.values):
                for h, value in known.read.items():
                    self.read.setdefault(h, value)
                return [CountRow(dict(zip(free, row.chosen.values(), strict=True)), row.table) for row in known.rows]
        before = self.is_recursive, self.read
        self.is_recursive, self.read = False, {}
        self.around.add(name)
        rows = list(self._rows([module], free))
        self.around.remove(name)
        outside = {h: value for h, value in self.read.items() if h.fragment.encloses(module.fragment)}
        read = {h: value for h, value in outside.items() if h not in free}
        if not self.is_recursive and not self.cut:
            self.known.setdefault(name, []).append(CachedCount(read, free, len(read) < len(outside), rows))
        self.is_recursive, self.read = self.is_recursive or before[0], read | before[1]
        return rows

    def _rows(self, parts: list[Part], free: tuple[Discrete, ...]) -> Iterator[CountRow]:
        """Yield a row for each way to choose the hyperparameters of parts that share them."""
        outside = self.values
        ways: Iterable[tuple[Value, ...]] = product(*[h.values for h in free])
        if math.prod(len(h.values) for h in free) > self.budget:
            self.cut, ways = True, islice(ways, MAX_SETTINGS)
        for chosen in ways:
            if self.budget <= 0:
                self.cut = True
                return
            self.values = outside | {h.path: value for h, value in zip(free, chosen, strict=True)}
            try:
                tables = [self._expand(part) for part in parts]
                joined = join_tables(tables, self._join)
            except Infeasible:
                continue
            except TooDeep:
                self.cut = True
                continue
            except BudgetSpent:
                self.cut = True
                return
            finally:
                self.values = outside
            yield CountRow(dict(zip(free, chosen, strict=True)), joined)

    def _join(self, pairs: int) -> None:
        """Charge the pairs of entries that a join looks at; what was counted may still be joined for as much again."""
        self.budget -= pairs
        if self.budget < -self.overdraft:
            raise BudgetSpent

    def _expand(self, part: Part) -> CountTable:
        self.budget -= 1
        reader = Walk(part.fragment, self.max_depth, self.values)
        if isinstance(part, DependentHyperparameter):
            reader.value(part)
            return {NO_SETTING: 1}
        if len(self.around) > MAX_NESTING:
            raise TooDeep(f"{part.path}: more than {MAX_NESTING} substitutions around each other")
        given = tuple(reader.value(h) for h in part.hyperparameters.values())
        self.kept += 1
        fragment = expand_module(part, given, self.max_depth, keep=self.kept <= MAX_CACHED_COUNTS)
        self.budget -= len(fragment.modules)
        return self.fragment(fragment)


class CachedCount(NamedTuple):
    """The counts of a module, for others that are written alike.

    read: what counting found of all other hyperparameters made outside, however it came by them.
    free: its own hyperparameters without a value.
    inward: bool, True where what it builds looks at these by itself.
    rows: the counts.
    """

    read: dict[Discrete, Value]
    free: tuple[Discrete, ...]
    inward: bool
    rows: list[CountRow]

    def fits(self, free: tuple[Discrete, ...], values: Mapping[str, Value]) -> bool:
        """Tell whether a module of the same signature with these free hyperparameters counts the same.

        free: hyperparameters of the module without a value.
        values: of all hyperparameters that have one, by place.
        """
        alike = not self.inward or free == self.free
        return alike and all(values.get(h.path, MISSING) is value for h, value in self.read.items())


def enclosing_modules(path: str) -> Iterator[str]:
    """Yield the paths of the substitution modules around a place, the outermost first.

    path: str, the place of a hyperparameter.
    """
    around = ""
    for part in path.split("/")[:-1]:
        yield around + part.partition("[")[0]
        around += f"{part}/"


def connected_components(
    waiting: Mapping[Part, tuple[Discrete, ...]],
) -> Iterator[tuple[list[Part], tuple[Discrete, ...]]]:
    """Yield groups of parts that share hyperparameters, with the hyperparameters of the group.

    waiting: part -> the hyperparameters without a value that it depends on.
    """
    groups: dict[Part, tuple[list[Part], dict[Discrete, None]]] = {}  # by the first part
    group_of: dict[Discrete, Part] = {}
    for part, free in waiting.items():
        parts: list[Part] = []
        shared: dict[Discrete, None] = {}
        for first in dict.fromkeys(group_of[h] for h in free if h in group_of):
            alike = groups.pop(first)
            parts += alike[0]
            shared |= alike[1]
        parts.append(part)
        shared |= dict.fromkeys(free)
        groups[parts[0]] = parts, shared
        group_of |= dict.fromkeys(shared, parts[0])
    for parts, shared in groups.values():
        yield parts, tuple(shared)


def check_factorable(fragment: Fragment) -> None:
    """Raise NotFactorable where some of what a part makes may never be looked at.

    fragment: a finished part.
    """
    read = {port.source for module in fragment.modules for port in module.inputs.values()}
    read.update(fragment.outputs.values())
    lost = any(output not in read for m in fragment.modules if m.substitution for output in m.outputs.values())
    host = fragment.host
    if lost or fragment.hides_choices or (host is not None and fragment.inputs.keys() != host.inputs.keys()):
        raise NotFactorable
