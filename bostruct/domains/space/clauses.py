"""Predicates that are data, and the `when=` of a variable, which tests the values of other variables.

Unlike functions, clauses can be compared, pickled and written to files.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from bostruct.checks import check_answer, short_repr
from bostruct.contracts import DomainError, Json, ParsedJson, PredicateError, Presented
from bostruct.domains.space.choice_json import choice_to_json, choices_from_json
from bostruct.domains.space.expressions import evaluate_expression, parse_expression

RELATIONS: dict[str, Callable[[Presented, Presented], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ORDERS = ("<", "<=", ">", ">=")
TESTED = "the values of a condition or a clause"
MAX_DEPTH = 100  # the most nested clauses, so that calling or writing a clause raises no RecursionError


class PartialPoint(dict):
    """The values that all points of a space share; a predicate that reads other values is undecided.

    free: names that points may have.
    gone: names that no point has any more.
    """

    def __init__(self, values: Mapping[str, Presented], free: Collection[str], gone: Collection[str]) -> None:
        super().__init__(values)
        self.free, self.gone = frozenset(free), frozenset(gone)
        self._is_undecided = False

    def decide(self, rule: Callable[[Any], object]) -> bool | None:
        """Return the answer of a predicate of points; None if it fails, or reads a value in which points differ.

        Raises KeyError if the predicate fails because it reads a name that is gone.
        """
        self._is_undecided = False
        try:
            answer = check_answer(rule(self))
        except Exception as error:
            if isinstance(error, KeyError) and set(error.args) <= self.gone and not self._is_undecided:
                raise
            return None
        return None if self._is_undecided else answer

    def _leave_undecided(self, *_: object) -> Any:
        self._is_undecided = True
        raise LookupError("points differ in it")

    __iter__ = __len__ = __eq__ = keys = values = items = copy = _leave_undecided
    __hash__ = None  # type: ignore[assignment]

    def __missing__(self, name: object) -> Presented:
        if name in self.free:
            self._leave_undecided()
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return self._leave_undecided() if name in self.free else super().__contains__(name)

    def get(self, name: str, default: Presented = None) -> Presented:
        return self._leave_undecided() if name in self.free else super().get(name, default)


class Clause(ABC):
    """A predicate of a value, as a test of `when=`, or of a point, as a constraint. Its `repr` shows the test."""

    names: tuple[str, ...] = ()  # the variables that a test of a point reads itself, not by clauses inside it

    @abstractmethod
    def __call__(self, given: Presented) -> bool:
        """Return whether the clause holds."""

    @abstractmethod
    def to_json(self) -> Json:
        """Return the clause as JSON, from which `clause_from_json` rebuilds an equal one."""

    def simplify(self, point: PartialPoint) -> Clause | bool:
        """Return the clause without names that are gone, or its answer if that is the same at all points.

        Parameters
        ----------
        point : PartialPoint
            The values that all points have.

        Returns
        -------
        Clause or bool
            The rest of the clause.
        """
        answer = point.decide(self)
        return self if answer is None else answer


@dataclass(frozen=True, repr=False)
class Compare(Clause):
    """A comparison of a value with a constant.

    Parameters
    ----------
    relation : {"<", "<=", ">", ">=", "==", "!="}
        The relation.
    value : object
        The right-hand side. Strings support only "==" and "!=".

    Raises
    ------
    DomainError
        If the relation is unknown, or a string is compared by order.
    """

    relation: str
    value: Presented

    def __post_init__(self) -> None:
        _check_relation(self.relation)
        if self.relation in ORDERS and isinstance(self.value, str):
            raise DomainError(
                f"value: {self.relation} would compare strings letter by letter; list the intended strings in "
                f"IsIn((...)), got {short_repr(self.value)}"
            )

    def __call__(self, given: Presented) -> bool:
        return bool(RELATIONS[self.relation](given, self.value))

    def __repr__(self) -> str:
        return f"{self.relation} {self.value!r}"

    def to_json(self) -> Json:
        return {"relation": self.relation, "value": choice_to_json(self.value)}


@dataclass(frozen=True, repr=False)
class IsIn(Clause):
    """A test whether a value is one of several.

    Parameters
    ----------
    values : tuple
        The allowed values, compared by ``==``.
    """

    values: tuple[Presented, ...]

    def __call__(self, given: Presented) -> bool:
        return any(given == value for value in self.values)

    def __repr__(self) -> str:
        return f"in {short_repr(list(self.values))}"

    def to_json(self) -> Json:
        return {"in": [choice_to_json(value) for value in self.values]}


@dataclass(frozen=True, repr=False)
class ValueOf(Clause):
    """A test of the value of a variable, which fails if the variable is inactive.

    Parameters
    ----------
    name : str
        The variable.
    test : Clause
        The test of the value, a `Compare` or `IsIn`.
    """

    name: str
    test: Clause

    def __post_init__(self) -> None:
        _check_clause_name("name", self.name)

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.name,)

    def __call__(self, given: Presented) -> bool:
        return self.name in given and self.test(given[self.name])

    def __repr__(self) -> str:
        return f"{self.name} {self.test!r}"

    def to_json(self) -> Json:
        return {"of": self.name, "test": self.test.to_json()}


@dataclass(frozen=True, repr=False)
class CompareVariables(Clause):
    """A comparison of the values of two variables, which fails if one of them is inactive.

    Parameters
    ----------
    left, right : str
        Names of variables. Comparisons by order need numbers.
    relation : {"<", "<=", ">", ">=", "==", "!="}
        The relation.
    """

    left: str
    relation: str
    right: str

    def __post_init__(self) -> None:
        _check_relation(self.relation)
        _check_clause_name("left", self.left)
        _check_clause_name("right", self.right)

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.left, self.right)

    def __call__(self, given: Presented) -> bool:
        if self.left not in given or self.right not in given:
            return False
        return bool(RELATIONS[self.relation](given[self.left], given[self.right]))

    def __repr__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def simplify(self, point: PartialPoint) -> Clause | bool:
        return False if point.gone & {self.left, self.right} else super().simplify(point)

    def to_json(self) -> Json:
        return {"left": self.left, "relation": self.relation, "right": self.right}


@dataclass(frozen=True, repr=False)
class AllOf(Clause):
    """The conjunction of clauses.

    Parameters
    ----------
    clauses : tuple of Clause
        All clauses of values, or all of points.
    """

    clauses: tuple[Clause, ...]

    def __call__(self, given: Presented) -> bool:
        return all(clause(given) for clause in self.clauses)

    def __repr__(self) -> str:
        return f"({' and '.join(map(repr, self.clauses))})"

    def simplify(self, point: PartialPoint) -> Clause | bool:
        return _simplify_parts(self, point, False)

    def to_json(self) -> Json:
        return {"all": [clause.to_json() for clause in self.clauses]}


@dataclass(frozen=True, repr=False)
class AnyOf(Clause):
    """The disjunction of clauses.

    Parameters
    ----------
    clauses : tuple of Clause
        All clauses of values, or all of points.
    """

    clauses: tuple[Clause, ...]

    def __call__(self, given: Presented) -> bool:
        return any(clause(given) for clause in self.clauses)

    def __repr__(self) -> str:
        return f"({' or '.join(map(repr, self.clauses))})"

    def simplify(self, point: PartialPoint) -> Clause | bool:
        return _simplify_parts(self, point, True)

    def to_json(self) -> Json:
        return {"any": [clause.to_json() for clause in self.clauses]}


@dataclass(frozen=True, repr=False)
class Not(Clause):
    """The negation of a clause.

    Parameters
    ----------
    clause : Clause
        Any clause.
    """

    clause: Clause

    def __call__(self, given: Presented) -> bool:
        return not self.clause(given)

    def __repr__(self) -> str:
        return f"not {self.clause!r}"

    def simplify(self, point: PartialPoint) -> Clause | bool:
        rest = self.clause.simplify(point)
        return not rest if isinstance(rest, bool) else Not(rest)

    def to_json(self) -> Json:
        return {"not": self.clause.to_json()}


@dataclass(frozen=True, repr=False)
class Restriction(Clause):
    """A test of a point, written as an expression, which is parsed and never run as code.

    A point for which the expression divides by zero satisfies the test, as in Kernel Tuner.

    Parameters
    ----------
    expression : str
        Names of parameters, numbers, strings, comparisons, arithmetic, `and`, `or`, `not`, and calls of functions such
        as `min`.
    constants : tuple of tuple of (str, Presented), default ()
        The parameters with only one value, and their values.

    Raises
    ------
    ExpressionError
    """

    expression: str
    constants: tuple[tuple[str, Presented], ...] = ()

    def __post_init__(self) -> None:
        parse_expression(self.expression)

    def __repr__(self) -> str:
        return self.expression

    @property
    def __name__(self) -> str:  # type: ignore[override]
        return self.expression

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(parse_expression(self.expression)[1].keys() - dict(self.constants).keys())

    def __call__(self, given: Presented) -> bool:
        try:
            names = ChainMap(given, dict(self.constants))
            return bool(evaluate_expression(parse_expression(self.expression)[0], names))
        except ZeroDivisionError:
            return True

    def simplify(self, point: PartialPoint) -> Clause | bool:
        answer, known = point.decide(self), [name for name in self.names if dict.__contains__(point, name)]
        constants = (*self.constants, *((name, point[name]) for name in known))
        return replace(self, constants=constants) if answer is None else answer

    def to_json(self) -> Json:
        return {"expression": self.expression, "constants": [[name, choice_to_json(v)] for name, v in self.constants]}


def _simplify_parts(joined: AllOf | AnyOf, point: PartialPoint, decisive: bool) -> Clause | bool:
    """Return joined clauses without the decided ones; the decisive answer if one of them has it."""
    parts = [clause.simplify(point) for clause in joined.clauses]
    rest = tuple(part for part in parts if not isinstance(part, bool))
    if decisive in parts:
        return decisive
    return replace(joined, clauses=rest) if rest else not decisive


def list_leaves(clause: object, depth: int = 1) -> Iterator[tuple[Clause, int]]:
    """Yield the clauses that `AllOf`, `AnyOf` and `Not` join, each with its depth, 1 for an outermost clause.

    Raises DomainError for an object that is not a clause, and for more than 100 nested clauses.
    """
    waiting = [(clause, depth)]
    while waiting:
        one, level = waiting.pop()
        if level > MAX_DEPTH:
            raise DomainError(f"clause: expected at most {MAX_DEPTH} nested clauses")
        if isinstance(one, AllOf | AnyOf):
            waiting += [(part, level + 1) for part in reversed(one.clauses)]
        elif isinstance(one, Not):
            waiting.append((one.clause, level + 1))
        elif isinstance(one, Clause):
            yield one, level
        else:
            raise DomainError(f"clause: expected a clause such as ValueOf(...) inside a clause, got {short_repr(one)}")


def clause_from_json(data: ParsedJson, depth: int = 1) -> Clause:
    """Rebuild a clause from the result of `Clause.to_json`.

    depth: 1 plus the number of enclosing clauses.

    Raises DomainError for anything else, for more than 100 nested clauses, and for values that are Python objects,
    which files do not store.
    """
    if depth > MAX_DEPTH:
        raise DomainError(f"clause: expected at most {MAX_DEPTH} nested clauses")
    for key, (keys, build) in BUILDERS.items():
        if isinstance(data, Mapping) and key in data:
            try:
                return build(data, depth + 1)
            except (AttributeError, KeyError, TypeError):  # the JSON has no list, string or dict where it needs it
                raise DomainError(f"clause: expected a dict with {keys}, got {_show(data)}") from None
    raise DomainError(f"clause: expected a dict with one of {', '.join(BUILDERS)}, got {_show(data)}")


BUILDERS: dict[str, tuple[str, Callable[[ParsedJson, int], Clause]]] = {  # by the key that identifies the kind
    "left": (
        "the names left and right and a relation",
        lambda data, _: CompareVariables(data["left"], data["relation"], data["right"]),
    ),
    "relation": (
        "a relation and a value",
        lambda data, _: Compare(data["relation"], choices_from_json([data["value"]], TESTED)[0]),
    ),
    "in": ("a list of values", lambda data, _: IsIn(tuple(choices_from_json(_require_list(data["in"]), TESTED)))),
    "of": ("the name of and a test", lambda data, depth: ValueOf(data["of"], clause_from_json(data["test"], depth))),
    "all": ("a list of clauses", lambda data, depth: AllOf(_clauses_from_json(data["all"], depth))),
    "any": ("a list of clauses", lambda data, depth: AnyOf(_clauses_from_json(data["any"], depth))),
    "not": ("a clause", lambda data, depth: Not(clause_from_json(data["not"], depth))),
    "expression": (
        "a string expression and constants",
        lambda data, _: Restriction(data["expression"], tuple(map(_constant_from_json, data["constants"]))),
    ),
}


def _clauses_from_json(data: ParsedJson, depth: int) -> tuple[Clause, ...]:
    return tuple(clause_from_json(one, depth) for one in _require_list(data))


def _constant_from_json(data: ParsedJson) -> tuple[str, Presented]:
    name, value = _require_list(data)
    return name, choices_from_json([value], TESTED)[0]


def _require_list(data: ParsedJson) -> list[ParsedJson]:
    if not isinstance(data, list):
        raise TypeError(data)
    return data


def _show(data: ParsedJson) -> str:
    """Return a string for messages; for JSON that is nested too deeply, it has only the keys."""
    try:
        return short_repr(data)
    except RecursionError:
        return f"one with the keys {', '.join(map(str, data))}" if isinstance(data, Mapping) else "a list"


def _check_relation(relation: object) -> None:
    if not isinstance(relation, str) or relation not in RELATIONS:
        raise DomainError(f"relation: expected one of {', '.join(RELATIONS)}, got {short_repr(relation)}")


def _check_clause_name(argument: str, name: object) -> None:
    if not isinstance(name, str):
        raise DomainError(f"{argument}: expected the name of a variable, got {short_repr(name)}")


class OneOf:
    """A condition of `when=`: the other variable has one of several values.

    Parameters
    ----------
    *values : object
        At least one value.

    Raises
    ------
    DomainError
        If there are no values.
    """

    def __init__(self, *values: Presented) -> None:
        if not values:
            raise DomainError("OneOf: expected at least one value")
        self.values = values

    def __repr__(self) -> str:
        return f"OneOf({', '.join(map(repr, self.values))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOf) and self.values == other.values

    def __hash__(self) -> int:
        return hash(len(self.values))  # values may be unhashable


When: TypeAlias = Mapping[str, Any]  # the name of a variable -> a value, a list of values, `OneOf`, or a predicate


def check_when(kind: str, when: object) -> dict[str, Any]:
    """Return the conditions of a variable as a new dict, empty for None.

    when: None, or a mapping from at least one name to a value, a list of values, `OneOf` or a predicate.

    Raises DomainError for anything else.
    """
    if when is None:
        return {}
    if not isinstance(when, Mapping) or not when or not all(isinstance(name, str) for name in when):
        raise DomainError(
            f"{kind}: when: expected a mapping from the names of other variables to a value, a list of values "
            f"or a predicate, got {short_repr(when)}"
        )
    return dict(when)


def predicate_name(predicate: Callable[..., object]) -> str:
    """Return the name of a predicate in messages and files: its `__name__`, otherwise its repr."""
    return getattr(predicate, "__name__", repr(predicate))


def ask_predicate(predicate: Callable[..., object], value: object, owner: str, name: str) -> bool:
    """Call a predicate of `when=` with a value.

    Raises PredicateError if the predicate raises an error, or returns neither True nor False.
    """
    try:
        return check_answer(predicate(value))
    except Exception as error:
        failure = f"{owner}: when: {predicate_name(predicate)} failed for {name} = {short_repr(value)}"
        raise PredicateError(f"{failure}: {error!r}") from error


def describe_when(when: When) -> str:
    """Describe in words when a variable exists."""
    return " and ".join(f"{name} {_describe_test(test)}" for name, test in when.items())


def _describe_test(test: object) -> str:
    if isinstance(test, OneOf):
        return f"is one of {', '.join(short_repr(value) for value in test.values)}"
    if isinstance(test, Clause):
        return f"is {test!r}"
    return f"satisfies {predicate_name(test)}" if callable(test) else f"is {short_repr(test)}"


def show_when(when: When) -> str:
    """Write conditions as a user does, predicates by name, and shorten long tests."""
    return "{" + ", ".join(f"{name!r}: {_show_test(test)}" for name, test in when.items()) + "}"


def _show_test(test: object) -> str:
    if isinstance(test, Clause):
        return short_repr(test)
    return predicate_name(test) if callable(test) else short_repr(test)


def when_to_json(when: When) -> dict[str, Json]:
    """Return conditions as JSON; a predicate that is not a `Clause` is stored only by its name."""
    return {name: _test_to_json(test) for name, test in when.items()}


def _test_to_json(test: object) -> Json:
    if isinstance(test, OneOf):
        return {"one_of": [choice_to_json(value) for value in test.values]}
    if isinstance(test, Clause):
        return {"clause": test.to_json()}
    return {"predicate": predicate_name(test)} if callable(test) else {"is": choice_to_json(test)}


def when_from_json(data: ParsedJson) -> dict[str, Any]:
    """Rebuild conditions from the result of `when_to_json`.

    Raises DomainError for predicates, whose code files do not store, and for values that are Python objects.
    """
    return {name: _test_from_json(test) for name, test in data.items()}


def _test_from_json(test: ParsedJson) -> Any:
    if "predicate" in test:
        raise DomainError(f"when: the predicate {short_repr(test['predicate'])} is code, which cannot be stored")
    if "clause" in test:
        return clause_from_json(test["clause"])
    if "one_of" in test:
        return OneOf(*choices_from_json(test["one_of"], TESTED))
    return choices_from_json([test["is"]], TESTED)[0]
