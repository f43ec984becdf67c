"""Count the programs of a space by factoring: choices that do not touch each other are multiplied, not visited.

What a part of the space counts depends on the hyperparameters made around it that it turns out to use, which nobody
knows before it is built. A part is counted, therefore, into a table: from the values of such hyperparameters, if it
uses any, to a number. Tables of neighboring parts are joined on the hyperparameters that they share, and multiplied if
they share none, and a hyperparameter is summed out in the part that made it. Modules with equal signatures build the
same parts, and are counted once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice, product
from types import FunctionType, MethodType
from typing import Any, NamedTuple, TypeAlias

from bostruct.contracts import INFINITE, AtLeast, Count, Exact, Infeasible
from bostruct.domains.language.build import expand_module
from bostruct.domains.language.errors import TooDeep
from bostruct.domains.language.fingerprints import closure_values
from bostruct.domains.language.graph import DependentHyperparameter, Discrete, Fragment, Hyperparameter, Module
from bostruct.domains.language.hyperparameters import independent_ancestors
from bostruct.domains.language.values import Value, targets_of
from bostruct.domains.language.walk import MISSING, Walk, opens_choices

Setting: TypeAlias = frozenset[tuple[Discrete, Value]]  # what some hyperparameters must be
CountTable: TypeAlias = dict[Setting, int]
NO_SETTING: Setting = frozenset()


class CountRow(NamedTuple):
    """A count of modules whose hyperparameters are chosen in one way."""

    chosen: dict[Discrete, Value]
    table: CountTable


def scope_of(tables: Iterable[CountTable]) -> dict[Discrete, None]:
    """Return the hyperparameters that these tables speak of, in order."""
    return {h: None for table in tables for setting in table for h, _ in setting}


def sum_rows(rows: Iterable[CountRow]) -> CountTable:
    """Return the sum of rows, in which what was chosen is part of the settings."""
    table: CountTable = {}
    for row in rows:
        chosen = frozenset(row.chosen.items())
        for setting, n in row.table.items():
            if n and (both := merge_settings(chosen, setting)) is not None:
                table[both] = table.get(both, 0) + n
    return table


def merge_settings(a: Setting, b: Setting) -> Setting | None:
    """Return both settings together; None if they contradict each other."""
    if not a or not b:
        return a or b
    both = a | b
    return both if len({h for h, _ in both}) == len(both) else None


def join_tables(tables: Iterable[CountTable], spend: Callable[[int], None]) -> CountTable:
    """Return the join of tables: the products of what agrees in all of them.

    tables: of counts; for none the result is 1 under no setting.
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
    """Return the join of tables, without the hyperparameters that were made in this part."""
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


class IdentityKey:
    """An object that equals itself alone, kept alive so that its identity is not given to another."""

    __slots__ = ("target",)

    def __init__(self, held: object) -> None:
        self.target = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.target is self.target

    def __hash__(self) -> int:
        return id(self.target)


def signature(module: Module, free: tuple[Discrete, ...], values: Mapping[str, Value]) -> Hashable:
    """Return a key that is equal for modules built by the same code from equal things."""
    if module.substitution is None:
        raise TypeError(f"expected a substitution module, got {module}")
    reader = _SignatureReader({h: i for i, h in enumerate(free)}, values)
    own = tuple((name, reader.of(h)) for name, h in module.hyperparameters.items())
    code = _SignatureReader({}, values).of(module.substitution.fn)
    return own, tuple(map(_values_key, free)), code, tuple(module.inputs), tuple(module.outputs)


def _values_key(h: Discrete) -> Hashable:
    """Return a key for the possible values; names of functions are equal only where the functions are."""
    return (h.values, tuple(IdentityKey(part) for part in targets_of(h.values))) if h.is_named else h.values


class _SignatureReader:
    """A reader of what functions hold.

    What is met again, such as a function that calls itself, is named by when it was.
    """

    def __init__(self, places: Mapping[Discrete, int], values: Mapping[str, Value]) -> None:
        self.places = places
        self.values = values
        self.met: dict[int, int] = {}

    def of(self, thing: object) -> Hashable:
        if isinstance(thing, Discrete):
            if thing in self.places:
                return self.places[thing]
            return IdentityKey(thing), self.values.get(thing.path, MISSING)
        if (plain := _plain_key(thing)) is not None:
            return plain
        if not isinstance(thing, DependentHyperparameter | FunctionType | partial | list | tuple | dict):
            return (
                (IdentityKey(thing.__self__), IdentityKey(thing.__func__))
                if isinstance(thing, MethodType)
                else IdentityKey(thing)
            )
        if (before := self.met.get(id(thing))) is not None:
            return before, "again"
        self.met[id(thing)] = len(self.met)
        if isinstance(thing, DependentHyperparameter):
            return tuple((name, self.of(h)) for name, h in thing.parents.items()), IdentityKey(thing)
        if isinstance(thing, FunctionType):
            return IdentityKey(thing.__code__), tuple(map(self.of, closure_values(thing)))
        if isinstance(thing, partial):
            return partial, self.of(thing.func), tuple(map(self.of, thing.args)), self.of(thing.keywords)
        if isinstance(thing, dict):
            return dict, tuple((self.of(key), self.of(value)) for key, value in thing.items())
        return type(thing), tuple(map(self.of, thing))


def _plain_key(thing: Any) -> Hashable:
    """Return a key for a value, or a tuple or frozenset of such, equal for equal ones; None for all else."""
    if thing is None or isinstance(thing, bool | int | float | str):
        return type(thing), thing
    if type(thing) not in (tuple, frozenset):
        return None
    parts = [_plain_key(part) for part in thing]
    return None if None in parts else (type(thing), type(thing)(parts))


Part: TypeAlias = Module | DependentHyperparameter  # what may hold choices, or lead nowhere
# substitutions around each other that are followed: each takes five calls of the interpreter's thousand
MAX_NESTING = 100
# parts that are kept for those who will ask again; of more, most time would go to collecting garbage
MAX_CACHED_COUNTS = 2_000
MAX_SETTINGS = 1_000  # settings looked at of modules that have more than the budget allows


class NotFactorable(Exception):
    """Choices in one part decide whether another is there at all: there is nothing to factor."""


class BudgetSpent(Exception):
    """The work that a count may cost was done before the part at hand was counted."""


def count(walk: Walk, budget: int) -> Count:
    """Count the ways that lead on from here.

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
        stack += at.children(h)
    return Exact(found)


class ProgramCounter:
    """One count of a space.

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

        Raises NotFactorable if some of what a part makes may never be looked at.
        """
        try:
            return sum(self.fragment(root).values())
        except BudgetSpent:
            self.cut = True
            return 0

    def fragment(self, fragment: Fragment) -> CountTable:
        """Count the programs of one part.

        Raises NotFactorable if some of what it makes may never be looked at, and BudgetSpent.
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
        return {setting: n * factor for setting, n in eliminate(tables, fragment, self._join).items()}

    def open_parts(self, fragment: Fragment) -> tuple[dict[Part, tuple[Discrete, ...]], dict[Discrete, None]]:
        """Return what may hold choices in one part, with the hyperparameters that it waits for, and all others.

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
        """Return the independent hyperparameters without a value that some hyperparameters are or depend on."""
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

        Raises BudgetSpent.
        """
        for parts, free in connected_components(waiting):
            alone = parts[0] if len(parts) == 1 else None
            yield self._module_rows(alone, free) if isinstance(alone, Module) else list(self._rows(parts, free))

    def _module_rows(self, module: Module, free: tuple[Discrete, ...]) -> list[CountRow]:
        """Count a module, from the cache if one written alike was counted and all that it looks at is as it was."""
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

    inward: bool, True if what it builds looks at these by itself.
    """

    read: dict[Discrete, Value]
    free: tuple[Discrete, ...]
    inward: bool
    rows: list[CountRow]

    def fits(self, free: tuple[Discrete, ...], values: Mapping[str, Value]) -> bool:
        """Tell whether a module of the same signature with these free hyperparameters counts the same."""
        alike = not self.inward or free == self.free
        return alike and all(values.get(h.path, MISSING) is value for h, value in self.read.items())


def enclosing_modules(path: str) -> Iterator[str]:
    """Yield the paths of the substitution modules around a place, the outermost first."""
    around = ""
    for part in path.split("/")[:-1]:
        yield around + part.partition("[")[0]
        around += f"{part}/"


def connected_components(
    waiting: Mapping[Part, tuple[Discrete, ...]],
) -> Iterator[tuple[list[Part], tuple[Discrete, ...]]]:
    """Yield groups of parts that share hyperparameters, with the hyperparameters of the group."""
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
    """Raise NotFactorable if some of what a part makes may never be looked at."""
    read = {port.source for module in fragment.modules for port in module.inputs.values()}
    read.update(fragment.outputs.values())
    lost = any(output not in read for m in fragment.modules if m.substitution for output in m.outputs.values())
    host = fragment.host
    if lost or fragment.hides_choices or (host is not None and fragment.inputs.keys() != host.inputs.keys()):
        raise NotFactorable
