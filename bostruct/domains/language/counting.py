"""Count the programs of a space by factoring: the counts of independent choices are multiplied, not enumerated.

The count of a part depends on the hyperparameters of enclosing parts that it uses, and these are known only after it is
built. Each part is therefore counted into a table, from the values of these hyperparameters to a number. Tables of
neighboring parts are joined on their shared hyperparameters, or multiplied if they share none. A hyperparameter is
summed out in the part that defines it. Modules with equal signatures build the same parts and are counted once.
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

Setting: TypeAlias = frozenset[tuple[Discrete, Value]]  # an assignment of some hyperparameters
CountTable: TypeAlias = dict[Setting, int]
NO_SETTING: Setting = frozenset()


class CountRow(NamedTuple):
    """The count of modules for one assignment of their hyperparameters."""

    chosen: dict[Discrete, Value]
    table: CountTable


def scope_of(tables: Iterable[CountTable]) -> dict[Discrete, None]:
    """Return the hyperparameters that occur in these tables, in order."""
    return {h: None for table in tables for setting in table for h, _ in setting}


def sum_rows(rows: Iterable[CountRow]) -> CountTable:
    """Return the sum of rows; the assignment of a row becomes part of its settings."""
    table: CountTable = {}
    for row in rows:
        chosen = frozenset(row.chosen.items())
        for setting, n in row.table.items():
            if n and (both := merge_settings(chosen, setting)) is not None:
                table[both] = table.get(both, 0) + n
    return table


def merge_settings(a: Setting, b: Setting) -> Setting | None:
    """Return the union of both settings, or None if they contradict each other."""
    if not a or not b:
        return a or b
    both = a | b
    return both if len({h for h, _ in both}) == len(both) else None


def join_tables(tables: Iterable[CountTable], spend: Callable[[int], None]) -> CountTable:
    """Return the join of tables: the products of entries with consistent settings.

    tables: of counts; the join of no tables is 1 with an empty setting.
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
    """Yield each entry of a with the entries of b that may be consistent with it.

    These agree on the hyperparameters that occur in all settings of both tables.
    """
    common = _shared_scope(a) & _shared_scope(b) if len(a) > 1 and len(b) > 1 else frozenset()
    if not common:
        for entry in a.items():
            yield entry, b.items()
        return
    groups: dict[Setting, list[tuple[Setting, int]]] = {}
    for setting, m in b.items():
        groups.setdefault(_restrict(setting, common), []).append((setting, m))
    for setting, n in a.items():
        yield (setting, n), groups.get(_restrict(setting, common), ())


def _shared_scope(table: CountTable) -> frozenset[Discrete]:
    return frozenset.intersection(*(frozenset(h for h, _ in setting) for setting in table))


def _restrict(setting: Setting, kept: frozenset[Discrete]) -> Setting:
    return frozenset(item for item in setting if item[0] in kept)


def eliminate(tables: list[CountTable], fragment: Fragment, spend: Callable[[int], None]) -> CountTable:
    """Return the join of tables, summed over the hyperparameters that this part defines."""
    kept = dict(enumerate(tables))
    places: dict[Discrete, dict[int, None]] = {}  # the tables that mention each hyperparameter
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
    """An object that equals only itself; it is kept alive so that its identity is not reused."""

    __slots__ = ("target",)

    def __init__(self, target: object) -> None:
        self.target = target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.target is self.target

    def __hash__(self) -> int:
        return id(self.target)


def signature(module: Module, free: tuple[Discrete, ...], values: Mapping[str, Value]) -> Hashable:
    """Return a key that is equal for modules built by the same code from equal objects."""
    if module.substitution is None:
        raise TypeError(f"expected a substitution module, got {module}")
    reader = _SignatureReader({h: i for i, h in enumerate(free)}, values)
    own = tuple((name, reader.of(h)) for name, h in module.hyperparameters.items())
    code = _SignatureReader({}, values).of(module.substitution.fn)
    return own, tuple(map(_values_key, free)), code, tuple(module.inputs), tuple(module.outputs)


def _values_key(h: Discrete) -> Hashable:
    """Return a key for the possible values; names of functions are equal only if the functions are."""
    return (h.values, tuple(IdentityKey(part) for part in targets_of(h.values))) if h.is_named else h.values


class _SignatureReader:
    """A reader of the contents of functions.

    Objects that occur again, such as a function that calls itself, are named by their first occurrence.
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
            if isinstance(thing, MethodType):
                return IdentityKey(thing.__self__), IdentityKey(thing.__func__)
            return IdentityKey(thing)
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
    """Return a key for a value, or for a tuple or frozenset of values; None for any other object."""
    if thing is None or isinstance(thing, bool | int | float | str):
        return type(thing), thing
    if type(thing) not in (tuple, frozenset):
        return None
    parts = [_plain_key(part) for part in thing]
    return None if None in parts else (type(thing), type(thing)(parts))


Part: TypeAlias = Module | DependentHyperparameter  # may contain choices or be infeasible
# maximum nesting of substitutions; each takes five of the interpreter's thousand calls
MAX_NESTING = 100
# maximum number of cached parts; with more, most time would be spent on garbage collection
MAX_CACHED_COUNTS = 2_000
MAX_SETTINGS = 1_000  # settings examined for modules that have more than the budget allows


class NotFactorable(Exception):
    """Raised if choices in one part decide whether another part exists, so that counts do not factor."""


class BudgetSpent(Exception):
    """Raised if the budget of a count is spent before the current part is counted."""


def count(walk: Walk, budget: int) -> Count:
    """Count the completions of a walk.

    If the budget or the depth limit cuts the count short, it is a lower bound, which may be 0.
    """
    tally = ProgramCounter(walk, budget, 0)
    try:
        found = tally.total(walk.root)
    except NotFactorable:
        return count_by_visits(walk, budget)
    if tally.is_recursive and found:
        again = ProgramCounter(walk, budget, 1)  # would the count be larger if a recursive part had one program?
        if again.total(walk.root) > found:
            return INFINITE
    return AtLeast(found) if tally.cut else Exact(found)


def count_by_visits(walk: Walk, budget: int) -> Count:
    """Count the completions of a walk choice by choice, except for the last choices, which build no new parts.

    budget: modules to visit, at least 0; the current bound is returned once the budget is spent.
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
    """The state of one count of a space.

    `is_recursive` is true once a recursive part was found, `cut` once the budget or the depth limit omitted a part.
    """

    def __init__(self, walk: Walk, budget: int, recurring: int) -> None:
        self.values = dict(walk.values)
        self.entered = {place for path in walk.values for place in enclosing_modules(path)}
        self.max_depth = walk.max_depth
        self.budget = budget
        self.overdraft = budget
        self.kept = 0  # cached parts
        self.recurring = recurring
        self.is_recursive = False
        self.cut = False
        self.around: set[Hashable] = set()  # signatures of the modules whose parts are being counted
        self.known: dict[Hashable, list[CachedCount]] = {}
        self.read: dict[Discrete, Value] = {}  # values that the current part has read, or MISSING

    def total(self, root: Fragment) -> int:
        """Count the programs of the whole space.

        Raises NotFactorable if some modules of a part may never be visited.
        """
        try:
            return sum(self.fragment(root).values())
        except BudgetSpent:
            self.cut = True
            return 0

    def fragment(self, fragment: Fragment) -> CountTable:
        """Count the programs of one part.

        Raises BudgetSpent, and NotFactorable if some of its modules may never be visited.
        """
        waiting, plain = self.open_parts(fragment)
        tables = [sum_rows(rows) for rows in self.components(waiting)]
        scope = scope_of(tables)
        factor = 1
        for h in plain:
            if h in scope or h.fragment is not fragment:
                tables.append({frozenset(((h, value),)): 1 for value in h.values})
            else:
                factor *= len(h.values)
        return {setting: n * factor for setting, n in eliminate(tables, fragment, self._join).items()}

    def open_parts(self, fragment: Fragment) -> tuple[dict[Part, tuple[Discrete, ...]], dict[Discrete, None]]:
        """Return the objects of one part that may contain choices, with the hyperparameters they use, and all others.

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
                if isinstance(h, DependentHyperparameter):  # its function may raise Infeasible
                    waiting[h] = self.free((h,))
                else:
                    plain.update(dict.fromkeys(self.free((h,))))
        return waiting, plain

    def free(self, hyperparameters: Iterable[Hyperparameter]) -> tuple[Discrete, ...]:
        """Return the unassigned independent hyperparameters that these hyperparameters are or depend on."""
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
        """Count a module; use the cache if a module with the same signature was counted with the same dependencies."""
        # if an inner hyperparameter has a value, no other module has the same count
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
        """Yield one row for each assignment of the hyperparameters that parts share."""
        outside = self.values
        settings: Iterable[tuple[Value, ...]] = product(*[h.values for h in free])
        if math.prod(len(h.values) for h in free) > self.budget:
            self.cut, settings = True, islice(settings, MAX_SETTINGS)
        for chosen in settings:
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
        """Charge the pairs of entries that a join examines; joins after a count may spend the same budget again."""
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
            raise TooDeep(f"{part.path}: more than {MAX_NESTING} nested substitutions")
        given = tuple(reader.value(h) for h in part.hyperparameters.values())
        self.kept += 1
        fragment = expand_module(part, given, self.max_depth, keep=self.kept <= MAX_CACHED_COUNTS)
        self.budget -= len(fragment.modules)
        return self.fragment(fragment)


class CachedCount(NamedTuple):
    """The counts of a module, for other modules with the same signature.

    inward: bool, True if the parts that it builds read these hyperparameters directly.
    """

    read: dict[Discrete, Value]
    free: tuple[Discrete, ...]
    inward: bool
    rows: list[CountRow]

    def fits(self, free: tuple[Discrete, ...], values: Mapping[str, Value]) -> bool:
        """Return whether a module of the same signature with these free hyperparameters has the same count."""
        is_same = not self.inward or free == self.free
        return is_same and all(values.get(h.path, MISSING) is value for h, value in self.read.items())


def enclosing_modules(path: str) -> Iterator[str]:
    """Yield the paths of the substitution modules around a path, outermost first."""
    prefix = ""
    for part in path.split("/")[:-1]:
        yield prefix + part.partition("[")[0]
        prefix += f"{part}/"


def connected_components(
    waiting: Mapping[Part, tuple[Discrete, ...]],
) -> Iterator[tuple[list[Part], tuple[Discrete, ...]]]:
    """Yield groups of parts that share hyperparameters, with these hyperparameters."""
    groups: dict[Part, tuple[list[Part], dict[Discrete, None]]] = {}  # by the first part
    group_of: dict[Discrete, Part] = {}
    for part, free in waiting.items():
        parts: list[Part] = []
        shared: dict[Discrete, None] = {}
        for first in dict.fromkeys(group_of[h] for h in free if h in group_of):
            group = groups.pop(first)
            parts += group[0]
            shared |= group[1]
        parts.append(part)
        shared |= dict.fromkeys(free)
        groups[parts[0]] = parts, shared
        group_of |= dict.fromkeys(shared, parts[0])
    for parts, shared in groups.values():
        yield parts, tuple(shared)


def check_factorable(fragment: Fragment) -> None:
    """Raise NotFactorable if some modules of a part may never be visited."""
    read = {port.source for module in fragment.modules for port in module.inputs.values()}
    read.update(fragment.outputs.values())
    lost = any(output not in read for m in fragment.modules if m.substitution for output in m.outputs.values())
    host = fragment.host
    if lost or fragment.hides_choices or (host is not None and fragment.inputs.keys() != host.inputs.keys()):
        raise NotFactorable
