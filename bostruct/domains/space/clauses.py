"""Predicates that are data: compared, pickled and written to files, as functions cannot be."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bostruct.checks import short_repr
from bostruct.contracts import DomainError, Json, ParsedJson, Presented
from bostruct.domains.space.choice_json import choice_to_json, choices_from_json

RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Clause(ABC):
    """A predicate of a value, as a test of `when=`, or of a point, as a constraint. Its `repr` says what it asks."""

    @abstractmethod
    def __call__(self, given: Any) -> bool:
        """Tell whether the clause holds.

        given: a value, or a point as a dict; see the kinds.
        """

    @abstractmethod
    def to_json(self) -> Json:
        """Return the clause as JSON, from which `clause_from_json` rebuilds an equal one."""


@dataclass(frozen=True, repr=False)
class Compare(Clause):
    """A comparison of a value with a constant.

    relation: of `RELATIONS`.
    value: on the right of it.
    """

    relation: str
    value: Presented

    def __post_init__(self) -> None:
        _check_relation(self.relation)

    def __call__(self, given: Any) -> bool:
        return bool(RELATIONS[self.relation](given, self.value))

    def __repr__(self) -> str:
        return f"{self.relation} {self.value!r}"

    def to_json(self) -> Json:
        return {"relation": self.relation, "value": choice_to_json(self.value)}


@dataclass(frozen=True, repr=False)
class IsIn(Clause):
    """A test whether a value is one of several.

    values: any that compare with ``==``.
    """

    values: tuple[Presented, ...]

    def __call__(self, given: Any) -> bool:
        return any(given == value for value in self.values)

    def __repr__(self) -> str:
        return f"in {short_repr(list(self.values))}"

    def to_json(self) -> Json:
        return {"in": [choice_to_json(value) for value in self.values]}


@dataclass(frozen=True, repr=False)
class ValueOf(Clause):
    """A test of the value that a point has for a variable; it fails where the point has not the variable.

    name: of the variable.
    test: `Compare` or `IsIn`.
    """

    name: str
    test: Clause

    def __call__(self, given: Any) -> bool:
        return self.name in given and self.test(given[self.name])

    def __repr__(self) -> str:
        return f"{self.name} {self.test!r}"

    def to_json(self) -> Json:
        return {"of": self.name, "test": self.test.to_json()}


@dataclass(frozen=True, repr=False)
class CompareVariables(Clause):
    """A comparison of the values of two variables of a point; it fails where the point has not both.

    left, right: names of variables.
    relation: of `RELATIONS`.
    """

    left: str
    relation: str
    right: str

    def __post_init__(self) -> None:
        _check_relation(self.relation)

    def __call__(self, given: Any) -> bool:
        if self.left not in given or self.right not in given:
            return False
        return bool(RELATIONS[self.relation](given[self.left], given[self.right]))

    def __repr__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def to_json(self) -> Json:
        return {"left": self.left, "relation": self.relation, "right": self.right}


@dataclass(frozen=True, repr=False)
class AllOf(Clause):
    """The conjunction of clauses.

    clauses: of one kind of thing, values or points.
    """

    clauses: tuple[Clause, ...]

    def __call__(self, given: Any) -> bool:
        return all(clause(given) for clause in self.clauses)

    def __repr__(self) -> str:
        return f"({' and '.join(map(repr, self.clauses))})"

    def to_json(self) -> Json:
        return {"all": [clause.to_json() for clause in self.clauses]}


@dataclass(frozen=True, repr=False)
class AnyOf(Clause):
    """The disjunction of clauses.

    clauses: of one kind of thing, values or points.
    """

    clauses: tuple[Clause, ...]

    def __call__(self, given: Any) -> bool:
        return any(clause(given) for clause in self.clauses)

    def __repr__(self) -> str:
        return f"({' or '.join(map(repr, self.clauses))})"

    def to_json(self) -> Json:
        return {"any": [clause.to_json() for clause in self.clauses]}


@dataclass(frozen=True, repr=False)
class Not(Clause):
    """The negation of a clause, such as a forbidden one.

    clause: of any kind.
    """

    clause: Clause

    def __call__(self, given: Any) -> bool:
        return not self.clause(given)

    def __repr__(self) -> str:
        return f"not {self.clause!r}"

    def to_json(self) -> Json:
        return {"not": self.clause.to_json()}


def clause_from_json(data: ParsedJson) -> Clause:
    """Rebuild a clause from what `Clause.to_json` returned.

    data: dict.

    Raises DomainError for anything else, and for values that are Python objects, which no file holds.
    """
    if isinstance(data, Mapping):
        for key, build in BUILDERS.items():
            if key in data:
                return build(data)
    raise DomainError(f"clause: expected a dict with one of {', '.join(BUILDERS)}, got {short_repr(data)}")


BUILDERS: dict[str, Callable[[ParsedJson], Clause]] = {  # by the key that tells a kind from those below it
    "left": lambda data: CompareVariables(data["left"], data["relation"], data["right"]),
    "relation": lambda data: Compare(data["relation"], choices_from_json([data["value"]])[0]),
    "in": lambda data: IsIn(tuple(choices_from_json(data["in"]))),
    "of": lambda data: ValueOf(data["of"], clause_from_json(data["test"])),
    "all": lambda data: AllOf(tuple(map(clause_from_json, data["all"]))),
    "any": lambda data: AnyOf(tuple(map(clause_from_json, data["any"]))),
    "not": lambda data: Not(clause_from_json(data["not"])),
}


def _check_relation(relation: str) -> None:
    if relation not in RELATIONS:
        raise DomainError(f"relation: expected one of {', '.join(RELATIONS)}, got {short_repr(relation)}")
