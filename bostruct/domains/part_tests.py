"""Conditions of variables on other domains of their space: a binary variable for each tells whether its test holds."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import Domain, DomainError, Point, PointError
from bostruct.domains.space.clauses import OneOf, ask_predicate, describe_when
from bostruct.domains.space.discrete import Binary
from bostruct.domains.space.registry import is_part
from bostruct.domains.space.variable import Variable

MAX_REMEMBERED = 10_000  # answers of one test


@dataclass(frozen=True)
class PartTest:
    """A test of a part of a point, on which variables depend.

    label: name of the binary variable that tells whether the test holds.
    part: position of the part.
    owner: name of a variable that depends on it, for messages.
    name: of the part, for messages.
    domain: of the part.
    test: a point of that domain, `OneOf`, or a predicate of what an objective receives of the part.

    Raises DomainError for a point that the domain does not have.
    """

    label: str
    part: int
    owner: str = field(compare=False)
    name: str = field(compare=False)
    domain: Domain = field(compare=False, repr=False)
    test: object = field(hash=False)

    def __post_init__(self) -> None:
        if isinstance(self.test, OneOf) or not callable(self.test):
            _ = self._keys  # refused now, if at all

    def holds(self, x: Point) -> bool:
        """Tell whether the test holds.

        x: a point of the part's domain.

        Raises PredicateError where the predicate itself fails.
        """
        key = self.domain.key(x)
        if key not in self._answers:
            if len(self._answers) >= MAX_REMEMBERED:
                self._answers.clear()
            self._answers[key] = self._ask(x) if self._keys is None else key in self._keys
        return self._answers[key]

    def _ask(self, x: Point) -> bool:
        return ask_predicate(self.test, self.domain.present(x), self.owner, self.name)  # type: ignore[arg-type]

    @cached_property
    def _keys(self) -> frozenset[Hashable] | None:
        """The keys of the points for which it holds; None for a predicate."""
        given = self.test.values if isinstance(self.test, OneOf) else (self.test,)
        try:
            return frozenset(self.domain.key(self.domain.parse(value)) for value in given)
        except PointError as error:
            if callable(self.test) and not isinstance(self.test, OneOf):
                return None
            raise DomainError(f"{self.owner}: when: {self.name}: {error}") from None

    @cached_property
    def _answers(self) -> dict[Hashable, bool]:
        return {}


def check_condition_names(values: Mapping[str, object]) -> None:
    """Raise DomainError, naming the variable, for a condition on a name that the variable's dict lacks.

    values: a dict that stands for a space: name -> a variable or its shorthand, another domain, or a dict.
    """
    for name, one in values.items():
        for parent in one.when if isinstance(one, Variable) else ():
            if parent not in values:
                raise DomainError(f"{name}: when: {_refuse_name(name, parent, values)}")


def _refuse_name(name: str, parent: str, values: Mapping[str, object]) -> str:
    """Say what a condition of a variable may name instead of a name that is not there."""
    others = [other for other in values if other != name]
    parts = [other for other in others if is_part(values[other])]
    known = f"expected one of {short_repr(others, 200)}" if others else "there is nothing else"
    whole = f", and tests {parts[0]} as a whole, by a point or a predicate" if parts else ""
    rule = f"a condition names what is in its own dict{whole}"
    return f"there is no variable {short_repr(parent)} in its dict; {known}; {rule}{did_you_mean(parent, others)}"


def split_conditions(
    variables: Mapping[str, Variable], parts: Mapping[str, Domain]
) -> tuple[dict[str, Variable], tuple[PartTest, ...]]:
    """Put a binary variable in place of each condition on a part.

    variables: by name; conditions may name parts.
    parts: the other domains of the space, by name.

    Returns the variables, the new ones behind the others, and the test that each new one stands for. Raises DomainError
    for a point that a part does not have.
    """
    positions = {name: i for i, name in enumerate(parts, start=1)}
    found: dict[str, Variable] = {}
    tests: dict[str, PartTest] = {}
    for name, one in variables.items():
        own = {parent: test for parent, test in one.when.items() if parent not in parts}
        for parent, test in one.when.items():
            if parent in parts:
                made = PartTest(describe_when({parent: test}), positions[parent], name, parent, parts[parent], test)
                own[_place(tests, made, {*variables, *parts})] = True
        found[name] = one
        if own != dict(one.when):
            found[name] = copy.copy(one)
            found[name].when = own
    return found | {label: Binary() for label in tests}, tuple(tests.values())


def _place(tests: dict[str, PartTest], made: PartTest, taken: set[str]) -> str:
    """Add a test to others unless it is there already; return its label, which no other has."""
    label, number = made.label, 2
    while (label in tests and tests[label].test != made.test) or label in taken:
        label, number = f"{made.label} ({number})", number + 1
    if label not in tests:
        tests[label] = replace(made, label=label)
    return label
