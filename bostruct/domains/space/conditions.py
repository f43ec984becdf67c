"""The conditions of a space: which variables each point has, given the values of others, and how many points there are.

Clauses are checked against the variables that they name: unknown names and values, and order among strings. Points are
counted without listing them. Values of a parent that pass the same tests form one class. One pass over the variables,
parents first, counts the ways to reach each setting of the classes that later variables still test.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import DomainError, IntArray, PointError, Presented
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.clauses import (
    ORDERS,
    RELATIONS,
    AllOf,
    AnyOf,
    Clause,
    Compare,
    CompareVariables,
    IsIn,
    Not,
    OneOf,
    PartialPoint,
    Restriction,
    ValueOf,
    ask_predicate,
    describe_when,
    list_leaves,
)
from bostruct.domains.space.graphs import MAX_CHOICES
from bostruct.domains.space.linear import Linear
from bostruct.domains.space.single_changes import Layout
from bostruct.domains.space.variable import INACTIVE, MAX_ENUMERATED, Variable

MAX_CALLS = 20_000  # the most calls of clauses when a space is created


def check_constraints(rules: Iterable[object], variables: Mapping[str, Variable], names: Collection[str]) -> None:
    """Raise DomainError, naming the clause, if a clause is not defined for the points of a space.

    names: names of the variables and of other domains in the space.
    """
    for i, rule in enumerate(rules):
        if isinstance(rule, Clause):
            for leaf, depth in list_leaves(rule):
                _check_point_test(leaf, depth, variables, names, f"constraints: {i}: {leaf!r}")


def refuse_contradictions(rules: Iterable[object], variables: Mapping[str, Variable]) -> None:
    """Raise DomainError if clauses about a few listed variables, which all points have, exclude all points.

    At most 20,000 calls of clauses are made. A clause that raises an error is left to the first draw, which names it.
    """
    groups = defaultdict[frozenset[str], list[Clause]](list)
    for rule in rules:
        if isinstance(rule, Clause):
            leaves = [leaf for leaf, _ in list_leaves(rule)]
            if all(leaf.names or isinstance(leaf, Restriction) for leaf in leaves):
                groups[frozenset(name for leaf in leaves for name in leaf.names)].append(rule)
    left = MAX_CALLS
    for names in map(sorted, list(groups)):
        tested = {name: variables.get(name) for name in names}
        listed = [v.choices for v in tested.values() if isinstance(v, ChoiceVariable) and v.grid is None and not v.when]
        parts = [names, *([name] for name in names if len(names) > 1)]
        own = [rule for part in parts for rule in groups.get(frozenset(part), ())]
        n_calls = math.prod(map(len, listed)) * len(own)
        if len(listed) < len(names) or n_calls > left:
            continue
        left -= n_calls
        points = (PartialPoint(dict(zip(tested, values, strict=True)), (), ()) for values in product(*listed))
        if all(any(point.decide(rule) is False for rule in own) for point in points):
            more = f", or add values to {', '.join(names)}" if names else ""
            raise DomainError(f"constraints: no point satisfies {', '.join(map(repr, own))}; leave one out{more}")


def name_levels(rule: Any, values: Mapping[str, Variable], variable: Variable | None = None) -> Any:
    """Return a clause with its numbers replaced by listed numbers of its variables, as `Levels.find` reads them."""
    if isinstance(rule, AllOf | AnyOf):
        return replace(rule, clauses=tuple(name_levels(one, values, variable) for one in rule.clauses))
    if isinstance(rule, Not):
        return Not(name_levels(rule.clause, values, variable))
    if isinstance(rule, ValueOf):
        return replace(rule, test=name_levels(rule.test, values, values.get(rule.name)))
    if isinstance(rule, IsIn):
        return IsIn(tuple(_name_level(value, variable) for value in rule.values))
    if isinstance(rule, Linear):
        return rule.bind(values, f"constraints: {rule!r}")
    return replace(rule, value=_name_level(rule.value, variable)) if isinstance(rule, Compare) else rule


def _name_level(value: Presented, variable: Variable | None) -> Presented:
    """Return the listed number that a number represents; anything else unchanged."""
    if variable is None or variable.choices is None or variable.grid is not None:
        return value
    try:
        level = variable.present(variable.parse(value))
        return value if bool(level == value) else level
    except (PointError, TypeError, ValueError):
        return value


def check_value_test(test: Clause, variable: Variable, where: str, depth: int = 1) -> None:
    """Raise DomainError if a test is not defined for the values of a variable."""
    for leaf, _ in list_leaves(test, depth):
        if isinstance(leaf, ValueOf | CompareVariables):
            raise DomainError(f"{where}: expected Compare or IsIn, a test of a value; got {leaf!r}, a test of a point")
        if isinstance(leaf, Compare) and leaf.relation in ORDERS:
            _check_order(leaf, variable, where)
        elif isinstance(leaf, Compare | IsIn):
            for value in leaf.values if isinstance(leaf, IsIn) else (leaf.value,):
                _check_value(value, variable, where)


def _check_point_test(
    leaf: Clause, depth: int, variables: Mapping[str, Variable], known_names: Collection[str], where: str
) -> None:
    """Raise DomainError unless a clause that joins no other clauses is a test of points of a space."""
    if isinstance(leaf, Compare | IsIn):
        raise DomainError(f"{where}: expected a test of a point, such as ValueOf(name, {type(leaf).__name__}(...))")
    if isinstance(leaf, Linear):
        leaf.bind(variables, where)
    for name in leaf.names:
        if name not in known_names:
            known = f"expected one of {short_repr(list(known_names), 200)}{did_you_mean(name, known_names)}"
            raise DomainError(f"{where}: there is no variable {short_repr(name)}; {known}")
    named = {name: variables[name] for name in leaf.names if name in variables}
    if isinstance(leaf, ValueOf) and named:
        check_value_test(leaf.test, named[leaf.name], where, depth + 1)
    if isinstance(leaf, CompareVariables) and leaf.relation in ORDERS:
        for name, variable in named.items():
            _require_order(leaf.relation, variable, f"{where}: {name}", "ValueOf(name, IsIn((...)))")


def _check_order(test: Compare, variable: Variable, where: str) -> None:
    """Raise DomainError unless the values of a variable can be less or greater than the value of a comparison."""
    _require_order(test.relation, variable, where, "IsIn((...))")
    value = variable.present(variable.fallback())
    try:
        bool(RELATIONS[test.relation](value, test.value))
    except (TypeError, ValueError):
        raise DomainError(
            f"{where}: {test.relation} does not compare {short_repr(value)} with {short_repr(test.value)}"
        ) from None


def _require_order(relation: str, variable: Variable, where: str, instead: str) -> None:
    if variable.grid is not None:
        return
    if variable.choices is not None:
        unordered = [value for value in variable.choices if isinstance(value, str)]
    else:  # orders, subsets and sequences would compare item by item
        unordered = [variable.present(variable.fallback())]
    if unordered:
        raise DomainError(
            f"{where}: {relation} compares only numbers, not values such as {short_repr(unordered[0])}; list the "
            f"intended values in {instead}"
        )


def _check_value(value: Presented, variable: Variable, where: str) -> None:
    """Raise DomainError unless a value equals a value of a variable."""
    try:
        nearest = variable.present(variable.parse(value))
        if bool(nearest == _name_level(value, variable)):
            return
    except PointError as error:
        raise DomainError(f"{where}: {error}") from None
    except (TypeError, ValueError):
        raise DomainError(f"{where}: expected a value that compares by ==, got {short_repr(value)}") from None
    raise DomainError(f"{where}: the variable has no {short_repr(value)}; the nearest is {short_repr(nearest)}")


MAX_REMEMBERED = 100_000  # answers of one predicate
MAX_PREDICATES = 8  # on one parent whose values are not listed; more are assumed to hold all together or not at all
MAX_OPEN_SETTINGS = 100_000  # the most settings of classes that are distinguished

Mask = npt.NDArray[np.bool_]
Fill = Callable[[int, int], IntArray]  # a variable's position, and k -> columns for k points that gain it


def read_lists(variable: Variable, variables: Mapping[str, Variable]) -> Variable:
    """Return a variable with each list of values of a parent replaced by a `OneOf`."""
    when = {name: _list_alternatives(test, variables.get(name)) for name, test in variable.when.items()}
    return (
        variable.with_conditions(when)
        if any(when[name] is not test for name, test in variable.when.items())
        else variable
    )


def _list_alternatives(test: Any, parent: Variable | None) -> Any:
    """Return a `OneOf` for a list that contains values of a parent; any other test, and a value, unchanged."""
    if parent is None or not isinstance(test, list | tuple | set | frozenset) or _columns_of(parent, test) is not None:
        return test
    listed = [(_columns_of(parent, value), value) for value in test]
    if not any(columns for columns, _ in listed):
        return test
    if isinstance(test, set | frozenset):  # a set has no order
        listed.sort(key=lambda one: tuple(one[0] or ()))
    return OneOf(*(value for _, value in listed))


def _columns_of(variable: Variable, value: object) -> Sequence[int] | None:
    try:
        return variable.parse(value)
    except PointError:
        return None


class ParentTest:
    """A test of the value of one variable, the parent, on which another variable depends.

    Raises DomainError for a value that the parent does not have.
    """

    def __init__(self, owner: str, name: str, parent: Variable, test: object) -> None:
        self.owner, self.name, self.parent = owner, name, parent
        self.values: frozenset[tuple[int, ...]] | None = None
        self.predicate: Callable[[object], object] | None = None
        self._answers: dict[tuple[int, ...], bool] = {}
        try:
            given = test.values if isinstance(test, OneOf) else (test,)
            self.values = frozenset(tuple(int(column) for column in parent.parse(value)) for value in given)
        except PointError as error:
            if isinstance(test, OneOf) or not callable(test):
                several = isinstance(test, OneOf) and any(isinstance(one, list | tuple) for one in test.values)
                hint = "; OneOf takes the values one by one: OneOf('a', 'b')" if several else ""
                hint = f"; write list({test!r}), or a function of the value" if isinstance(test, range) else hint
                hint = "; an empty list matches no value" if isinstance(test, list | tuple) and not test else hint
                raise DomainError(f"{owner}: when: {name}: {error}{hint}") from None
            if isinstance(test, Clause):
                check_value_test(test, parent, f"{owner}: when: {name} {test!r}")
            self.predicate = name_levels(test, {}, parent)

    def holds(self, columns: IntArray) -> Mask:
        """Return whether the test holds for each value of the parent (m,).

        columns: columns of values of the parent (m, width).

        Raises PredicateError if the predicate raises an error.
        """
        if self._table is not None:
            return self._table[columns[:, 0]]
        return np.array([self.holds_for(tuple(own)) for own in columns.tolist()], dtype=bool)

    def holds_for(self, columns: tuple[int, ...]) -> bool:
        """Return whether the test holds for one value of the parent."""
        if self.values is not None:
            return columns in self.values
        if columns not in self._answers:
            if len(self._answers) >= MAX_REMEMBERED:
                self._answers.clear()
            value = self.parent.present(columns)
            self._answers[columns] = ask_predicate(self.predicate, value, self.owner, self.name)  # type: ignore[arg-type]
        return self._answers[columns]

    @cached_property
    def _table(self) -> Mask | None:
        """The answer for each choice; None if the parent has too many, or several columns."""
        if self.parent.choices is None or self.parent.size > MAX_CHOICES:
            return None
        return np.array([self.holds_for((vertex,)) for vertex in range(self.parent.size)], dtype=bool)


class ParentLink(NamedTuple):
    """One condition of a variable."""

    parent: int
    test: ParentTest


class NeverActive(DomainError):
    """An error about a variable that no point has.

    name: name of the variable.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, str(self))


class Conditions:
    """The conditions of all variables of a space. A point has `INACTIVE` in the columns of a variable that it lacks.

    Raises DomainError, naming the variable, for a condition on an unknown name or value, cyclic conditions, and a
    variable that no point has.
    """

    def __init__(self, variables: Mapping[str, Variable], layout: Layout) -> None:
        self.names, self.variables, self.layout = tuple(variables), tuple(variables.values()), layout
        self.links: tuple[tuple[ParentLink, ...], ...] = tuple(_link(name, variables) for name in variables)
        self.order: tuple[int, ...] = _sort_parents_first(self.names, self.links)
        self.parents: frozenset[int] = frozenset(link.parent for links in self.links for link in links)
        if self:
            for name, is_reached in zip(self.names, self._count.reached, strict=True):
                if not is_reached:
                    rule = describe_when(variables[name].when)
                    raise NeverActive(name, f"{name}: when: no point has this variable: it never holds that {rule}")

    def __bool__(self) -> bool:
        return bool(self.parents)

    @property
    def n_points(self) -> int:
        """The number of points; an upper bound if predicates of numbers make it unknown."""
        return self._count.n_points if self else math.prod(v.size for v in self.variables)

    @property
    def is_exact(self) -> bool:
        """True if `n_points` is the number of points."""
        return self._count.is_exact

    def has(self, rows: IntArray) -> Mask:
        """Return which variables each point has (m, d).

        rows: points (m, columns).
        """
        return rows[:, self.layout.starts] != INACTIVE

    def holds(self, i: int, rows: IntArray) -> Mask:
        """Return whether the conditions of a variable hold at each point (m,).

        rows: points (m, columns), in which all variables before it in `order` satisfy their conditions.
        """
        found = np.ones(len(rows), dtype=bool)
        for parent, test in self.links[i]:
            columns = self.layout.columns(parent)
            found &= rows[:, columns.start] != INACTIVE
            if found.any():
                found[found] = test.holds(rows[found, columns])
        return found

    def apply(self, rows: IntArray, fill: Fill) -> IntArray:
        """Activate and deactivate the variables of each row by its conditions, in place, and return the rows.

        rows: (m, columns); a variable that a point lacks may have any value, or be `INACTIVE`.
        """
        for i in self._conditional:
            columns = self.layout.columns(i)
            exists = self.holds(i, rows)
            new = exists & (rows[:, columns.start] == INACTIVE)
            if new.any():
                rows[new, columns] = fill(i, int(new.sum()))
            rows[~exists, columns] = INACTIVE
        return rows

    def apply_randomly(self, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """Apply the conditions to rows in place, with random values of activated variables; return the rows.

        rows: (m, columns), see `apply`.
        rng: random number generator.
        """
        return self.apply(rows, lambda i, k: self.variables[i].sample(k, rng))

    def apply_with_fallbacks(self, rows: IntArray) -> IntArray:
        """Apply the conditions to rows in place, with fallback values of activated variables; return the rows.

        rows: (m, columns), see `apply`.
        """
        return self.apply(rows, lambda i, k: np.repeat([self.variables[i].fallback()], k, axis=0))

    def find_broken(self, row: IntArray) -> str | None:
        """Describe the first variable whose presence in a row contradicts its conditions; None if there is none."""
        for i in self.order:
            exists, given = bool(self.holds(i, row[None])[0]), row[self.layout.columns(i)]
            if exists == bool((given == INACTIVE).any()) or (not exists and (given != INACTIVE).any()):
                words = describe_when(self.variables[i].when)
                return f"{self.names[i]}: expected {'a' if exists else 'no'} value; it exists if {words}"
        return None

    def enumerate(self) -> IntArray:
        """List all points (m, columns), the last variable fastest; raises DomainError if a kind cannot be listed."""
        rows = np.full((1, self.layout.n_columns), INACTIVE, dtype=np.int64)
        for i in self.order:
            exists, columns = self.holds(i, rows), self.layout.columns(i)
            own = self.variables[i].enumerate()
            grown = np.repeat(rows[exists], len(own), axis=0)
            grown[:, columns] = np.tile(own, (int(exists.sum()), 1))
            rows = np.concatenate([rows[~exists], grown])
        return rows[np.lexsort(rows.T[::-1])] if self else rows

    @cached_property
    def _conditional(self) -> list[int]:
        """The positions of the variables with conditions, parents first."""
        return [i for i in self.order if self.links[i]]

    @cached_property
    def _count(self) -> PointCount:
        tests: dict[int, list[ParentTest]] = {}
        for parent, test in (link for own in self.links for link in own):
            tests.setdefault(parent, []).append(test)
        classes = {i: split_into_classes(self.variables[i], own) for i, own in tests.items()}
        return count_points(self.variables, self.links, classes)


def _link(name: str, variables: Mapping[str, Variable]) -> tuple[ParentLink, ...]:
    """Return the conditions of one variable, with their parents looked up."""
    if not variables[name].when:
        return ()
    positions = {other: i for i, other in enumerate(variables)}
    found = []
    for parent, test in variables[name].when.items():
        if parent not in variables:
            raise DomainError(
                f"{name}: when: there is no variable {short_repr(parent)}; expected one of "
                f"{short_repr(list(variables), 200)}{did_you_mean(parent, variables)}"
            )
        found.append(ParentLink(positions[parent], ParentTest(name, parent, variables[parent], test)))
    return tuple(found)


def _sort_parents_first(names: Sequence[str], links: Sequence[Sequence[ParentLink]]) -> tuple[int, ...]:
    """Return the positions of all variables, each after its parents; raises DomainError for a cycle."""
    try:
        return tuple(
            TopologicalSorter({i: [link.parent for link in own] for i, own in enumerate(links)}).static_order()
        )
    except CycleError as error:
        cycle = [str(names[i]) for i in error.args[1]]
        raise DomainError(f"{cycle[0]}: when: the conditions form a cycle: {' on '.join(cycle)}") from None


class ParentClasses(NamedTuple):
    """The values of a parent, grouped by the tests that hold for them.

    sizes: for each class, whether each test holds, and the number of values in the class.
    is_exact: False if the numbers are upper bounds, because a predicate has too many values to test.
    """

    sizes: tuple[tuple[tuple[bool, ...], int], ...]
    is_exact: bool


class PointCount(NamedTuple):
    """The number of points of a space with conditions.

    n_points: number of points, or an upper bound.
    is_exact: True if `n_points` is exact.
    reached: for each variable, whether some point has it; True if that is unknown.
    """

    n_points: int
    is_exact: bool
    reached: tuple[bool, ...]


def split_into_classes(variable: Variable, tests: Sequence[ParentTest]) -> ParentClasses:
    """Group the values of a parent by the tests that hold for them.

    tests: tests of its values, at least one.
    """
    if (values := _enumerate_columns(variable)) is not None:
        found = Counter(tuple(test.holds_for(value) for test in tests) for value in values)
        return ParentClasses(tuple(found.items()), True)
    named = sorted({value for test in tests for value in test.values or ()})
    single = [(tuple(test.holds_for(value) for test in tests), 1) for value in named]
    rest = [(holds, variable.size - len(named)) for holds in _possible_results(tests)]
    return ParentClasses((*single, *rest), len(rest) == 1)


def _enumerate_columns(variable: Variable) -> list[tuple[int, ...]] | None:
    if variable.size > MAX_ENUMERATED:
        return None
    try:
        return [tuple(value) for value in variable.enumerate().tolist()]
    except DomainError:  # the kind does not list its values
        return None


def _possible_results(tests: Sequence[ParentTest]) -> Iterator[tuple[bool, ...]]:
    """Yield the possible results of the tests for a value that no test names."""
    predicates = [k for k, test in enumerate(tests) if test.values is None]
    together = len(predicates) > MAX_PREDICATES
    for answers in product((False, True), repeat=1 if together else len(predicates)):
        results = dict(zip(predicates, answers * len(predicates) if together else answers, strict=True))
        yield tuple(results.get(k, False) for k in range(len(tests)))


def count_points(
    variables: Sequence[Variable], links: Sequence[Sequence[ParentLink]], classes: Mapping[int, ParentClasses]
) -> PointCount:
    """Count the points of a space with conditions."""
    places = _place_tests(links)
    settings: dict[tuple[tuple[int, tuple[bool, ...] | None], ...], int] = {(): 1}
    waiting = Counter(link.parent for own in links for link in own)
    reached = [False] * len(variables)
    for i in _order_children_early(links):
        waiting.subtract(link.parent for link in links[i])
        grown: dict[tuple[tuple[int, tuple[bool, ...] | None], ...], int] = defaultdict(int)
        for setting, count in settings.items():
            results = dict(setting)
            exists = all((holds := results[p]) is not None and holds[k] for p, k in places[i])
            reached[i] |= exists
            kept = tuple((p, holds) for p, holds in setting if waiting[p])
            if not exists:
                grown[(*kept, (i, None)) if waiting[i] else kept] += count
            elif waiting[i]:
                for holds, size in classes[i].sizes:
                    grown[(*kept, (i, holds))] += count * size
            else:
                grown[kept] += count * variables[i].size
        if len(grown) > MAX_OPEN_SETTINGS:
            return PointCount(math.prod(v.size + 1 for v in variables), False, (True,) * len(variables))
        settings = grown
    return PointCount(sum(settings.values()), all(one.is_exact for one in classes.values()), tuple(reached))


def _place_tests(links: Sequence[Sequence[ParentLink]]) -> list[list[tuple[int, int]]]:
    """Return the parent of each condition of each variable, and the position among the tests of that parent."""
    counted: Counter[int] = Counter()
    places: list[list[tuple[int, int]]] = []
    for own in links:
        places.append([])
        for link in own:
            places[-1].append((link.parent, counted[link.parent]))
            counted[link.parent] += 1
    return places


def _order_children_early(links: Sequence[Sequence[ParentLink]]) -> Iterator[int]:
    """Yield all variables, each as soon as possible after its parents, so that few classes stay open."""
    children: dict[int, list[int]] = defaultdict(list)
    missing = [len({link.parent for link in own}) for own in links]
    for i, own in enumerate(links):
        for parent in {link.parent for link in own}:
            children[parent].append(i)
    stack = [i for i in reversed(range(len(links))) if not missing[i]]
    while stack:
        i = stack.pop()
        yield i
        for child in reversed(children[i]):
            missing[child] -= 1
            if not missing[child]:
                stack.append(child)
