"""Read files of Kernel Tuner: T1 files as spaces, cache files as problems, cache and T4 files as data frames.

Files are read as data: an expression is parsed, and its syntax tree is walked. The format is the documented format of
Kernel Tuner 1.0 and later, whose package is not imported. Files may be compressed (.gz, .bz2, .xz).
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bostruct.checks import optional_import, short_repr
from bostruct.contracts import DomainError, ParsedJson, Presented
from bostruct.domains.space.clauses import Restriction
from bostruct.domains.space.discrete import Binary, Categorical, Ordinal
from bostruct.domains.space.expressions import ExpressionError, evaluate_expression, parse_expression
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable
from bostruct.goals.declared import Direction
from bostruct.outcome import Outcome
from bostruct.problems.own import Problem
from bostruct.problems.paths import read_content

if TYPE_CHECKING:
    from pandas import DataFrame

MAX_MEMORY = 2**30  # bytes of a file and of its parsed JSON
MEMORY = {b"{": 240, b"[": 136, b",": 48, b'"': 32}  # upper bounds of bytes in memory by character of JSON
INFEASIBLE = ("InvalidConfig", "constraints")  # reasons that mark a configuration as invalid for any kernel
LONG = re.compile(b"[0-9]{4301}")  # more digits than Python reads
VALID = (None, "", "correct")
SCALARS = (bool, int, float, str)
Names: TypeAlias = Mapping[str, Presented]
JsonPath: TypeAlias = tuple[str | int, ...]  # the keys and the positions that lead to a value


class Measurement(NamedTuple):
    """The outcome of one configuration.

    Attributes
    ----------
    configuration : dict of str to Presented
        A value for each parameter, including parameters of one value.
    outcome : Outcome
        The value of the configuration, or the reason why it has no value.
    others : dict of str to Presented
        Further measured numbers and strings, by name.
    path : tuple of str or int
        The keys and positions that lead to the configuration in the file.
    """

    configuration: dict[str, Presented]
    outcome: Outcome
    others: dict[str, Presented]
    path: JsonPath


def read_space(file: str | os.PathLike[str]) -> Space:
    """Read the parameters and the conditions of a T1 file as a space.

    Numbers become `Ordinal`, `True` and `False` a `Binary`, anything else `Categorical`. A parameter of one value is
    not a variable: conditions use its value, and `{**read_constants(file), **point}` is the whole configuration. Kernel
    Tuner evaluates the expressions of a file; here they are data, made of numbers, strings, lists, parameters,
    comparisons, arithmetic, `and`, `or`, `not`, `if`, one `for` over a list, and some functions, such as `range`.

    >>> space = read_space("convolution.json")                                            # doctest: +SKIP
    >>> bo.minimize(run, space, n_trials=100)                                             # doctest: +SKIP

    Parameters
    ----------
    file : str or path-like
        JSON, or a cache file of Kernel Tuner, which does not store conditions.

    Raises
    ------
    DomainError, ValueError
        The message names the file, the line and the column.
    """
    data, source = _parse_file(file)
    parameters, conditions = _read_parameters(data, source)
    variables = _make_variables(source, parameters)
    rules = [_make_restriction(source, path, one, parameters) for path, one in conditions]
    try:
        return Space(variables, rules)
    except DomainError as error:
        raise DomainError(f"{source.locate()}: {error}") from None


def read_constants(file: str | os.PathLike[str]) -> dict[str, Presented]:
    """Read the parameters of one value from a T1 or a cache file; they are not variables of its space.

    Parameters
    ----------
    file : str or path-like
        See `read_space`.
    """
    return {name: values[0] for name, values in _read_parameters(*_parse_file(file))[0].items() if len(values) == 1}


def read_results(file: str | os.PathLike[str], objective: str = "auto") -> DataFrame:
    """Read the results of a tuning run as a data frame for `Study.add_frame`; needs the extra `pandas`.

    The columns are the parameters, `value`, `status`, `reason`, and `attribute.NAME` for each other measured quantity.

    >>> study = bo.Study(read_space("convolution.json"))                                  # doctest: +SKIP
    >>> study.add_frame(read_results("results_T4.json"))                                  # doctest: +SKIP

    Parameters
    ----------
    file : str or path-like
        A T4 file, or a cache file, which may lack its end.
    objective : str, default "auto"
        The measured quantity used as the value. ``auto`` is the objective named in the file, otherwise ``time``.

    Raises
    ------
    ValueError
        The message names the file, the line and the column.
    MissingExtra
    """
    pandas = optional_import("pandas", "pandas")
    rows, ours = [], {"value", "status", "reason"}
    for one in _read_measurements(*_parse_file(file), objective)[0]:
        for name in ours & one.configuration.keys():
            raise ValueError(f"{file}: expected no parameter called {name!r}, the name of a column of results")
        found = {"value": one.outcome.value, "status": one.outcome.status, "reason": one.outcome.reason}
        rows.append(one.configuration | found | {f"attribute.{name}": cell for name, cell in one.others.items()})
    return pandas.DataFrame(rows)


def read_problem(file: str | os.PathLike[str], objective: str = "auto", direction: Direction = "minimize") -> Problem:
    """Read a cache file as a problem whose points are the configurations in the file.

    A configuration that did not compile or run has failed. Parameters of one value are omitted. The best value in the
    file is the optimum.

    >>> problem = read_problem("A100.json.gz")                                            # doctest: +SKIP
    >>> bo.minimize(problem.objective, problem.space, n_trials=100)                       # doctest: +SKIP

    Parameters
    ----------
    file : str or path-like
        A file with the results of many configurations, ideally of all. It may lack its end.
    objective : str, default "auto"
        The measured quantity. ``auto`` is the objective named in the file, otherwise ``time``.
    direction : {"minimize", "maximize"}, default "minimize"
        ``minimize`` or ``maximize``.

    Raises
    ------
    DomainError, ValueError
        The message names the file, the line and the column.
    """
    data, source = _parse_file(file)
    rows, measured = _read_measurements(data, source, objective)
    if "tune_params" not in data:
        raise ValueError(f"{file}: expected a cache file of Kernel Tuner, with 'tune_params' and 'cache'")
    parameters = _read_parameters(data, source)[0]
    variables = _make_variables(source, parameters)
    names = list(variables)
    table: dict[tuple[Presented, ...], Outcome] = {}
    for one in rows:
        for name, value in one.configuration.items():
            if value not in parameters[name]:
                raise ValueError(f"{source.locate(*one.path, name)}: {name}: {value!r} in 'cache' is not in its values")
        key = tuple(one.configuration[name] for name in names)
        if key in table:
            first = next(other for other in rows if other.configuration == one.configuration)
            raise ValueError(
                f"{source.locate(*one.path)}: duplicate of {one.configuration}, first at {source.locate(*first.path)}"
            )
        table[key] = one.outcome
    lookup = CacheTable(tuple(names), table)
    is_whole = len(table) == math.prod(len(parameters[name]) for name in names)
    values = [one.value for one in table.values() if isinstance(one.value, float)]
    problem = Problem(
        lookup,
        Space(variables, [] if is_whole else [lookup.is_measured]),
        name=f"kernel-tuner:file={file},objective={measured},direction={direction}",
        direction=direction,
        optimum=(max if direction == "maximize" else min)(values, default=None),
    )
    problem.optimum_source = "the best of the file"
    problem.source = f"Kernel Tuner: {data.get('kernel_name', 'a kernel')} on {data.get('device_name', 'a device')}"
    return problem


@dataclass(frozen=True, eq=False)
class CacheTable:
    """An objective that looks up the measurement of a configuration.

    Parameters
    ----------
    names : tuple of str
        Names of the parameters, in the order of the keys of the table.
    table : mapping of tuple of Presented to Outcome
        The outcome of each configuration.
    """

    names: tuple[str, ...]
    table: Mapping[tuple[Presented, ...], Outcome]

    def __call__(self, point: Names) -> Outcome:
        return self.table[tuple(point[name] for name in self.names)]

    def is_measured(self, point: Names) -> bool:
        """Return whether the file contains a configuration.

        Parameters
        ----------
        point : Names
            A dict with all names.
        """
        return tuple(point[name] for name in self.names) in self.table


@dataclass(frozen=True)
class _Source:
    """The text of a file and the paths to its parameters, used to locate values in messages."""

    file: str
    text: str
    paths: dict[str, JsonPath] = field(default_factory=dict)

    def locate(self, *path: str | int) -> str:
        """Return the file, and the line and the column of the value at a path."""
        place = _find_place(self.text, path)
        line, start = self.text.count("\n", 0, place) + 1, self.text.rfind("\n", 0, place)
        return f"{self.file}: line {line}, column {place - start}"


def _find_place(text: str, path: JsonPath) -> int:
    """Return the position in a JSON text at which the value at a path starts."""
    decode, between = json.JSONDecoder().raw_decode, re.compile(r"[\s,:]*")
    place = between.match(text).end()  # type: ignore[union-attr]  # it also matches the empty string
    for step in path:
        place += 1  # a bracket
        for key in count():
            place = between.match(text, place).end()  # type: ignore[union-attr]
            if isinstance(step, str):
                key, place = decode(text, place)
                place = between.match(text, place).end()  # type: ignore[union-attr]
            if key == step:
                break
            place = decode(text, place)[1]
    return place


def _parse_file(file: str | os.PathLike[str]) -> tuple[ParsedJson, _Source]:
    """Return the JSON of a file; the missing end of the cache file of an interrupted run is added."""
    name = os.fspath(file)
    content = read_content(name)
    needed = len(content) * (2 if content.isascii() else 5) + sum(n * content.count(sign) for sign, n in MEMORY.items())
    if needed > MAX_MEMORY:
        raise ValueError(f"{name}: expected JSON that takes at most {MAX_MEMORY:,} bytes of memory, got {needed:,}")
    text = ""
    try:
        text = content.decode(json.detect_encoding(content)).rstrip()
        text = f"{text[:-1]}}}}}" if text.endswith(",") else text
        return json.loads(text, object_pairs_hook=_read_object), _Source(name, text)
    except json.JSONDecodeError as error:
        what = "the file ends" if error.pos >= len(text) else error.msg
        raise ValueError(f"{name}: line {error.lineno}, column {error.colno}: expected JSON; {what}") from error
    except LookupError as error:
        lines = [1 + text.count("\n", 0, one.start()) for one in re.finditer(f"{re.escape(error.args[0])}\\s*:", text)]
        raise ValueError(f"{name}: duplicate key {error.args[0]} in one object (lines {short_repr(lines)})") from None
    except (RecursionError, ValueError) as error:
        long = LONG.search(content)
        before = bytes(content[: getattr(error, "start", long.start() if long else 0)])
        place = f"line {before.count(10) + 1}, column {len(before) - before.rfind(10)}"
        raise ValueError(f"{name}: {place}: cannot be read: {str(error).partition(';')[0]}") from error


def _read_object(pairs: list[tuple[str, Presented]]) -> dict[str, Presented]:
    """Return a JSON object; raise LookupError with a duplicate key, as JSON."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise LookupError(json.dumps(next(key for key, n in counts.items() if n > 1)))
    return found


def _read_parameters(data: ParsedJson, source: _Source) -> tuple[dict[str, list[Any]], Sequence[tuple[JsonPath, str]]]:
    """Return the values of each parameter, and the conditions with their paths."""
    found: dict[str, list[Any]] = {}
    listed: list[tuple[str, JsonPath, Any]] = []
    conditions: list[tuple[JsonPath, str]] = []
    path: JsonPath = ()
    try:
        if "tune_params" in data:
            path = ("tune_params",)
            listed = [(name, (*path, name), own) for name, own in data["tune_params"].items()]
        else:
            path = top = ("ConfigurationSpace",) if "ConfigurationSpace" in data else ()
            space: Any = data.get("ConfigurationSpace", data)
            for i, one in enumerate(space["TuningParameters"]):
                path = (*top, "TuningParameters", i)
                listed.append((one["Name"], (*path, "Values"), one["Values"]))
            for i, one in enumerate(space.get("Conditions") or []):
                path = (*top, "Conditions", i)
                conditions.append(((*path, "Expression"), one["Expression"]))
    except (AttributeError, KeyError, TypeError) as error:
        lacking = f"{error} is missing" if isinstance(error, KeyError) else f"got {short_repr(source.text[:80])}"
        raise ValueError(
            f"{source.locate(*path)}: expected 'TuningParameters' with 'Name' and 'Values', and 'Conditions' with "
            f"'Expression', or 'tune_params' of a cache file; {lacking}"
        ) from None
    for name, path, given in listed:
        try:
            if not isinstance(name, str) or not name:
                raise ExpressionError("expected a name that is a non-empty string")
            values = evaluate_expression(parse_expression(given)[0], {}) if isinstance(given, str) else given
            if not isinstance(values, list | range) or not all(isinstance(one, SCALARS) for one in values):
                raise ExpressionError(f"expected a list of numbers or strings, got {short_repr(values)}")
            if not values or list(values) != found.setdefault(name, list(values)):
                raise ExpressionError("expected one list of values")
        except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise ValueError(f"{source.locate(*path)}: {name}: {error}") from None
        source.paths[name] = path
    return found, conditions


def _make_variables(source: _Source, parameters: Mapping[str, Sequence[Any]]) -> dict[str, Variable]:
    """Return the parameters of several values as variables; raise DomainError if no parameter has several values."""
    found = {name: _make_variable(source, name, own) for name, own in parameters.items() if len(own) > 1}
    if not found:
        raise DomainError(f"{source.locate()}: expected a parameter with several values, got {short_repr(parameters)}")
    return found


def _make_variable(source: _Source, name: str, values: Sequence[Any]) -> Variable:
    """Return several values as a variable; the message of a DomainError starts with the location."""
    try:
        if set(map(type, values)) == {bool}:
            return Binary()
        has_order = not any(isinstance(value, bool | str) for value in values)
        return Ordinal(sorted(values)) if has_order else Categorical(values)
    except DomainError as error:
        raise DomainError(f"{source.locate(*source.paths[name])}: {name}: {error}") from None


def _make_restriction(
    source: _Source, path: JsonPath, expression: Any, parameters: Mapping[str, Sequence[Any]]
) -> Restriction:
    """Return a condition, tried on the first and the last values; raise ValueError with its location if it fails."""
    constants = tuple((name, own[0]) for name, own in parameters.items() if len(own) == 1)
    try:
        if not isinstance(expression, str):
            raise ExpressionError("expected a string")
        for name, column in parse_expression(expression)[1].items():
            if name not in parameters:
                raise ExpressionError(f"there is no parameter {name!r} (column {column})")
        made = Restriction(expression, constants)
        for i in (0, -1):
            made({name: own[i] for name, own in parameters.items()})
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{source.locate(*path)}: condition {short_repr(expression)}: {error}") from None
    return made


def _read_measurements(data: ParsedJson, source: _Source, objective: str) -> tuple[list[Measurement], str]:
    """Return the outcomes in a T4 or a cache file, and the name of the objective."""
    rows: list[tuple[JsonPath, dict[str, Any], dict[str, Any], Any]] = []  # configuration, measurements, failure
    path: JsonPath = ()
    try:
        if "results" in data:
            named = []
            for i, one in enumerate(data["results"]):
                path = ("results", i)
                named += (one.get("objectives") or [])[:1]
                measured = {own["name"]: own["value"] for own in one.get("measurements", ())}
                rows.append((path, {**one["configuration"]}, measured, one.get("invalidity")))
        else:
            named = [data.get("objective", "time")]
            for key, entry in data["cache"].items():
                path = ("cache", key)
                configuration = {name: entry[name] for name in data["tune_params"]}
                measured = {name: cell for name, cell in entry.items() if name not in configuration}
                rows.append((path, configuration, measured, measured.pop("__error__", None)))
    except (AttributeError, LookupError, TypeError) as error:
        lacking = f"; {error} is missing" if isinstance(error, KeyError) else ""
        raise ValueError(
            f"{source.locate(*path)}: expected 'results' of a T4 file, or 'tune_params' and 'cache' of a cache file, "
            f"in which each configuration has all parameters{lacking}"
        ) from None
    chosen = next((one for one in named if isinstance(one, str)), "time") if objective == "auto" else objective
    known = dict.fromkeys(name for _, _, measured, _ in rows for name in measured)
    if chosen not in known:
        names = ", ".join(known) or "none"
        raise ValueError(f"objective: expected a measurement of {source.file}, which has {names}; got {chosen!r}")
    found = []
    for path, configuration, measured, why in rows:
        value = measured.pop(chosen, None)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if why in VALID and not (is_number and abs(value) <= sys.float_info.max):
            why = value or f"{chosen} is missing"  # a string instead of a number is the reason
        reason: dict[str, Any] = {"infeasible" if why in INFEASIBLE else "failed": str(why)}
        outcome = Outcome(value) if why in VALID else Outcome(**reason)
        others = {name: cell for name, cell in measured.items() if isinstance(cell, SCALARS)}
        found.append(Measurement(configuration, outcome, others, path))
    return found, chosen
