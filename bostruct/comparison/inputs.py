"""Reads the problems and methods that a user gives for a comparison, by label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from bostruct.checks import short_repr
from bostruct.comparison.plan import Method
from bostruct.contracts import Searcher
from bostruct.problems import registry
from bostruct.problems.own import AnyProblem, Problem, as_problem


def read_problems(given: Any) -> dict[str, str | AnyProblem]:
    """Return problems by their names, those given by a specification as such, once it is found to load.

    given: one problem, a list of problems, or a mapping from names to problems.

    Raises TypeError, ValueError.
    """
    if isinstance(given, Mapping):
        return {str(name): _read_problem(f"problems[{name!r}]", one, str(name)) for name, one in given.items()}
    if not isinstance(given, Iterable) or isinstance(given, str) or _is_pair(given):
        given = [given]
    found: dict[str, str | AnyProblem] = {}
    for one in given:
        problem = _read_problem("problems", one, None)
        name = problem if isinstance(problem, str) else problem.name
        if name in found:
            raise ValueError(f"problems: two are named {name!r}; give a dict from names to problems")
        found[name] = problem
    if not found:
        raise ValueError("problems: expected at least one, got none")
    return found


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and callable(given[0]) and not isinstance(given[0], Problem)


def _read_problem(argument: str, given: object, name: str | None) -> str | AnyProblem:
    if not isinstance(given, str):
        return as_problem(argument, given, name)
    problem = registry.load(given)
    if name is None or name == given:
        return given
    if not isinstance(problem, Problem):
        raise ValueError(f"{argument}: a benchmark problem keeps its name; give {given!r} in a list")
    return as_problem(argument, problem, name)


def read_methods(given: Any) -> dict[str, Method]:
    """Return methods by label, in the order given.

    given: one method, a list of methods, or a mapping from labels to methods. A method is a name, a searcher, or a
        function from a domain to a searcher, whose label is its name.

    Raises TypeError, ValueError.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    named: Iterable[tuple[Any, Any]] = (
        given.items() if isinstance(given, Mapping) else ((_label(one), one) for one in given)
    )
    found: dict[str, Method] = {}
    for label, one in named:
        if not isinstance(label, str) or not label:
            raise TypeError(f"methods: expected labels, non-empty strings, got {short_repr(label)}")
        if not (isinstance(one, str | Searcher) or callable(one)):
            raise TypeError(
                f"methods[{label!r}]: expected a name, a searcher or a function from a domain to a searcher, "
                f"got {short_repr(one)}"
            )
        if label in found and found[label] is not one and found[label] != one:
            raise ValueError(f"methods: two are labeled {label!r}; give a dict from labels to methods")
        found[label] = cast(Method, one)
    if not found:
        raise ValueError("methods: expected at least one, got none")
    return found


def _label(method: object) -> str:
    return method if isinstance(method, str) else str(getattr(method, "__name__", type(method).__name__))
