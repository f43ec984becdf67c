"""Count the points of a space with conditions, and find the variables that no point has, without listing points.

Values of a parent that the same tests hold for are one class. One pass over the variables, parents first, carries the
number of ways to each setting of the classes that later variables still ask about.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, Protocol

from bostruct.contracts import DomainError
from bostruct.domains.space.variable import MAX_ENUMERATED, Variable

MAX_PREDICATES = 8  # on one parent whose values are not listed; beyond, they are taken to hold together or not at all
MAX_OPEN_SETTINGS = 100_000  # settings of classes that are told apart


class ValueTest(Protocol):
    """A test of the values of a parent: the view of `ParentTest` that counting needs."""

    @property
    def values(self) -> frozenset[tuple[int, ...]] | None:
        """The values for which it holds; None for a predicate."""
        ...

    def holds_for(self, columns: tuple[int, ...]) -> bool: ...


class Condition(Protocol):
    """One condition of a variable: the view of `ParentLink` that counting needs."""

    @property
    def parent(self) -> int: ...
    @property
    def test(self) -> ValueTest: ...


class ParentClasses(NamedTuple):
    """The values of a parent, sorted by the tests that hold for them.

    sizes: for each class, whether each test holds, and how many values are in the class.
    is_exact: False where the numbers are upper bounds, because a predicate of too many values decides.
    """

    sizes: tuple[tuple[tuple[bool, ...], int], ...]
    is_exact: bool


class PointCount(NamedTuple):
    """The number of points of a space with conditions.

    n_points: number of points, or an upper bound.
    is_exact: True where it is the number.
    reached: whether some point has the variable, for each variable; True where that is not known.
    """

    n_points: int
    is_exact: bool
    reached: tuple[bool, ...]


def split_into_classes(variable: Variable, tests: Sequence[ValueTest]) -> ParentClasses:
    """Sort the values of a parent by the tests that hold for them.

    variable: the parent.
    tests: of its values, at least one.
    """
    if (values := _list_values(variable)) is not None:
        found = Counter(tuple(test.holds_for(value) for test in tests) for value in values)
        return ParentClasses(tuple(found.items()), True)
    named = sorted({value for test in tests for value in test.values or ()})
    single = [(tuple(test.holds_for(value) for test in tests), 1) for value in named]
    rest = [(holds, variable.size - len(named)) for holds in _possible_results(tests)]
    return ParentClasses((*single, *rest), len(rest) == 1)


def _list_values(variable: Variable) -> list[tuple[int, ...]] | None:
    if variable.size > MAX_ENUMERATED:
        return None
    try:
        return [tuple(value) for value in variable.enumerate().tolist()]
    except DomainError:  # a kind that does not list its values
        return None


def _possible_results(tests: Sequence[ValueTest]) -> Iterator[tuple[bool, ...]]:
    """Yield what the tests may say of a value that no test names."""
    predicates = [k for k, test in enumerate(tests) if test.values is None]
    together = len(predicates) > MAX_PREDICATES
    for answers in product((False, True), repeat=1 if together else len(predicates)):
        results = dict(zip(predicates, answers * len(predicates) if together else answers, strict=True))
        yield tuple(results.get(k, False) for k in range(len(tests)))


def count_points(
    variables: Sequence[Variable], links: Sequence[Sequence[Condition]], classes: Mapping[int, ParentClasses]
) -> PointCount:
    """Count the points of a space with conditions.

    variables: in the order of the space.
    links: the conditions of each variable, without circles.
    classes: of each parent, for its tests in the order in which `links` has them.
    """
    places = _place_tests(links)
    settings: dict[tuple[tuple[int, tuple[bool, ...] | None], ...], int] = {(): 1}
    waiting = Counter(link.parent for own in links for link in own)
    reached = [False] * len(variables)
    for i in _order_children_early(links):
        waiting.subtract(link.parent for link in links[i])
        grown: dict[tuple[tuple[int, tuple[bool, ...] | None], ...], int] = defaultdict(int)
        for setting, count in settings.items():
            results = dict(setting)
            exists = all((held := results[p]) is not None and held[k] for p, k in places[i])
            reached[i] |= exists
            kept = tuple((p, held) for p, held in setting if waiting[p])
            if not exists:
                grown[(*kept, (i, None)) if waiting[i] else kept] += count
            elif waiting[i]:
                for held, size in classes[i].sizes:
                    grown[(*kept, (i, held))] += count * size
            else:
                grown[kept] += count * variables[i].size
        if len(grown) > MAX_OPEN_SETTINGS:
            return PointCount(math.prod(v.size + 1 for v in variables), False, (True,) * len(variables))
        settings = grown
    return PointCount(sum(settings.values()), all(one.is_exact for one in classes.values()), tuple(reached))


def _place_tests(links: Sequence[Sequence[Condition]]) -> list[list[tuple[int, int]]]:
    """Return for each condition of each variable its parent, and its position among the tests of that parent."""
    counted: Counter[int] = Counter()
    places: list[list[tuple[int, int]]] = []
    for own in links:
        places.append([])
        for link in own:
            places[-1].append((link.parent, counted[link.parent]))
            counted[link.parent] += 1
    return places


def _order_children_early(links: Sequence[Sequence[Condition]]) -> Iterator[int]:
    """Yield all variables, parents first, and each as soon as its parents allow, so that few classes stay open."""
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
