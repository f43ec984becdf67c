"""The `when=` of a variable: tests of the values of other variables, in a user's words and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from bostruct.checks import check_answer, short_repr
from bostruct.contracts import DomainError, Json, ParsedJson, PredicateError, Presented
from bostruct.domains.space.choice_json import TESTED, choice_to_json, choices_from_json
from bostruct.domains.space.clauses import Clause, clause_from_json


class OneOf:
    """A condition of `when=`: the other variable has any of some values.

    values: at least one.

    Raises DomainError without values.
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


When: TypeAlias = Mapping[str, Any]  # the name of a variable -> a value, `OneOf`, or a predicate of its value


def check_when(kind: str, when: object) -> dict[str, Any]:
    """Return the conditions of a variable as a dict of its own, empty for None.

    kind: what errors call the variable.
    when: None, or a mapping from at least one name to a value, `OneOf` or a predicate.

    Raises DomainError for anything else.
    """
    if when is None:
        return {}
    if not isinstance(when, Mapping) or not when or not all(isinstance(name, str) for name in when):
        raise DomainError(
            f"{kind}: when: expected a mapping from the names of other variables to a value, OneOf(...) or a "
            f"predicate, got {short_repr(when)}"
        )
    return dict(when)


def predicate_name(predicate: Callable[..., object]) -> str:
    """Return what messages and files call a predicate: its name, else its repr.

    predicate: callable.
    """
    return getattr(predicate, "__name__", repr(predicate))


def ask_predicate(predicate: Callable[..., object], value: object, owner: str, name: str) -> bool:
    """Ask a predicate of `when=` about a value.

    predicate: of the value.
    value: as a user has it.
    owner: name of the variable that depends on the value, for messages.
    name: of what has the value, for messages.

    Raises PredicateError where the predicate fails, or answers neither True nor False.
    """
    try:
        return check_answer(predicate(value))
    except Exception as error:
        where = f"{owner}: when: {predicate_name(predicate)} failed for {name} = {short_repr(value)}"
        raise PredicateError(f"{where}: {error!r}") from error


def describe_when(when: When) -> str:
    """Say in words when a variable exists.

    when: its conditions, as `check_when` returned them.
    """
    return " and ".join(f"{name} {_describe_test(test)}" for name, test in when.items())


def _describe_test(test: object) -> str:
    if isinstance(test, OneOf):
        return f"is one of {', '.join(short_repr(value) for value in test.values)}"
    if isinstance(test, Clause):
        return f"is {test!r}"
    return f"satisfies {predicate_name(test)}" if callable(test) else f"is {short_repr(test)}"


def show_when(when: When) -> str:
    """Write conditions as a user did, predicates by name, each test cut where it grows long.

    when: as `check_when` returned it.
    """
    return "{" + ", ".join(f"{name!r}: {_show_test(test)}" for name, test in when.items()) + "}"


def _show_test(test: object) -> str:
    if isinstance(test, Clause):
        return short_repr(test)
    return predicate_name(test) if callable(test) else short_repr(test)


def when_to_json(when: When) -> dict[str, Json]:
    """Return conditions as JSON; of a predicate that is no `Clause` its name alone.

    when: as `check_when` returned it.
    """
    return {name: _test_to_json(test) for name, test in when.items()}


def _test_to_json(test: object) -> Json:
    if isinstance(test, OneOf):
        return {"one_of": [choice_to_json(value) for value in test.values]}
    if isinstance(test, Clause):
        return {"clause": test.to_json()}
    return {"predicate": predicate_name(test)} if callable(test) else {"is": choice_to_json(test)}


def when_from_json(data: ParsedJson) -> dict[str, Any]:
    """Rebuild conditions from the result of `when_to_json`.

    data: dict.

    Raises DomainError for predicates, whose code no file holds, and for values that are Python objects.
    """
    return {name: _test_from_json(test) for name, test in data.items()}


def _test_from_json(test: ParsedJson) -> Any:
    if "predicate" in test:
        raise DomainError(f"when: the predicate {short_repr(test['predicate'])} is code that no file holds")
    if "clause" in test:
        return clause_from_json(test["clause"])
    if "one_of" in test:
        return OneOf(*choices_from_json(test["one_of"], TESTED))
    return choices_from_json([test["is"]], TESTED)[0]
