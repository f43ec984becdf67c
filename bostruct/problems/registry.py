"""Problems by name: `contamination`, or with parameters `contamination:case=758,lambda=0.01,relabel=3`.

Also `module:name` of a problem of the user's own, and problems that installed packages bring.
"""

from __future__ import annotations

import importlib
import re
from importlib.metadata import EntryPoint
from typing import Any

from bostruct import plugins
from bostruct.checks import check_choice, did_you_mean, short_repr
from bostruct.problems.base import SpaceProblem, relabel
from bostruct.problems.entries import ENTRIES, ProblemParameter
from bostruct.problems.own import AnyProblem, as_problem

RELABEL = "relabel"
PARAMETER_STARTS = re.compile(r",(?=\s*\w+\s*=)")  # other commas belong to a value, such as a file's name


def names() -> tuple[str, ...]:
    """Return the names of the problems that `load` knows, those of installed plug-ins last."""
    return (*ENTRIES, *list_installed())


def list_installed() -> dict[str, EntryPoint]:
    """Return the entry points `bostruct.problems` of installed packages by name; none is loaded."""
    return plugins.list_plugins(plugins.PROBLEMS, ENTRIES)


def load(spec: str) -> AnyProblem:
    """Return a problem by its name.

    spec: a name of `names()`, or name:parameter=value,... as in ``contamination:case=758``; `relabel=SEED` permutes
        the choices of a `Space`. Or ``module:name`` of a problem of your own, imported from the current directory or
        the path: a `bostruct.Problem`, an object with `space` and `objective`, a pair of these, or a function without
        arguments that returns one.

    Raises TypeError for no text; ValueError for an unknown problem or parameter, a value that cannot be read, or one
    out of range, and for a module or a plug-in that cannot be loaded or holds no problem.
    """
    if isinstance(spec, str) and spec.partition(":")[0] not in ENTRIES:
        if is_own(spec):
            return as_problem(f"problem: {spec}", plugins.import_reference("problem", spec), spec)
        if (installed := list_installed()).get(spec) is not None:
            found = plugins.load_plugin("problem", installed[spec])
            return as_problem(f"problem: {plugins.describe_plugin(installed[spec])}", found, spec)
    name, given = parse(spec)
    entry = ENTRIES[name]
    known = {parameter.name: parameter for parameter in entry.parameters}
    arguments = {
        known[key].argument: _parse_value(name, known[key], text) for key, text in given.items() if key != RELABEL
    }
    problem = getattr(importlib.import_module(entry.module), entry.factory)(**arguments)
    if RELABEL not in given:
        return problem
    if not isinstance(problem, SpaceProblem):
        raise ValueError(
            f"{name}: relabel={given[RELABEL]}: relabel permutes choices, of the problems that `bostruct problems` "
            f"lists under Choices"
        )
    return relabel(problem, _parse_value(name, ProblemParameter(RELABEL, RELABEL, int, ""), given[RELABEL]))


def is_own(spec: str) -> bool:
    """Tell whether a specification is ``module:name`` of a problem of the user's own.

    spec: as for `load`.
    """
    return spec.partition(":")[0] not in ENTRIES and plugins.is_reference(spec)


def parse(spec: str) -> tuple[str, dict[str, str]]:
    """Split a specification into the name and the parameters, as text.

    spec: as for `load`.

    Raises TypeError or ValueError.
    """
    if not isinstance(spec, str):
        raise TypeError(f"problem: expected a name such as 'contamination:case=758', got {short_repr(spec)}")
    name, _, rest = spec.partition(":")
    try:
        if name not in names():
            check_choice("problem", name, (*ENTRIES, *plugins.list_loadable(plugins.PROBLEMS, ENTRIES)))
    except ValueError as error:
        end = "" if str(error).endswith("?") else "."
        raise ValueError(f"{error}{end} A problem of your own is module:name or file.py:name") from None
    if name not in ENTRIES:
        raise ValueError(f"problem: {name}, which an installed package brings, takes no parameters; got {rest!r}")
    allowed = [*(parameter.name for parameter in ENTRIES[name].parameters), RELABEL]
    renamed = {parameter.old: parameter.name for parameter in ENTRIES[name].parameters if parameter.old}
    given: dict[str, str] = {}
    for part in PARAMETER_STARTS.split(rest) if rest else ():
        key, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not text:
            raise ValueError(f"{name}: expected parameter=value, got {short_repr(part)} in {short_repr(spec)}")
        key = renamed.get(key, key)
        if key not in allowed:
            hint = did_you_mean(key, allowed)
            raise ValueError(f"{name}: unknown parameter {short_repr(key)}; expected one of {', '.join(allowed)}{hint}")
        if key in given:
            raise ValueError(f"{name}: parameter {key} is given twice in {short_repr(spec)}")
        given[key] = text
    required = [p.name for p in ENTRIES[name].parameters if not p.default]
    if missing := [key for key in required if key not in given]:
        raise ValueError(f"{name}: expected {name}:{missing[0]}=..., for {missing[0]} has no default")
    return name, given


def old_name(name: str) -> str:
    """Return the name that a problem had before its parameters were renamed, as files may hold it.

    name: of a problem, as `load` gives it, or a text that begins with it.
    """
    for parameter in ENTRIES.get(name.partition(":")[0], ENTRIES["branin"]).parameters:
        if parameter.old:
            name = name.replace(f"{parameter.name}=", f"{parameter.old}=")
    return name


def _parse_value(name: str, parameter: ProblemParameter, text: str) -> Any:
    try:
        return parameter.read(text)
    except ValueError:
        kind = {int: "an integer", float: "a number"}.get(parameter.read, "a value")
        raise ValueError(f"{name}: {parameter.name}: expected {kind}, got {short_repr(text)}") from None
