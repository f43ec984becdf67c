"""Files of Kernel Tuner: a T1 file becomes a space, a cache file a problem, cache and T4 files a data frame.

Files are read as data: an expression is parsed, and its syntax tree is walked. What is read is the documented format of
Kernel Tuner 1.0 and later, whose package is not imported. Files may be compressed (.gz, .bz2, .xz).
"""

from __future__ import annotations

import ast
import bz2
import gzip
import json
import lzma
import math
import operator
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bostruct.checks import optional_import, short_repr
from bostruct.contracts import DomainError, ParsedJson, Presented
from bostruct.domains.space.discrete import Binary, Categorical, Ordinal
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable
from bostruct.goals.declared import Direction
from bostruct.outcome import Outcome
from bostruct.problems.own import Problem

if TYPE_CHECKING:
    from pandas import DataFrame

MAX_BYTES = 2**28  # of JSON, not compressed; Python needs some times as much
MAX_VALUES = 10_000  # of a list in an expression
MAX_BITS = 1024  # of a number in an expression
MAX_CHARACTERS = 10_000  # of an expression
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
INFEASIBLE = ("InvalidConfig", "constraints")  # reasons of configurations that no kernel may have
VALID = (None, "", "correct")
SCALARS = (bool, int, float, str)

Names = Mapping[str, Any]
ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
SIGNS = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert}
COMPARISONS = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda one, many: one in many, ast.NotIn: lambda one, many: one not in many,
}  # fmt: skip
KNOWN = (
    ast.Constant, ast.Name, ast.List, ast.Tuple, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Call,
    ast.ListComp, ast.comprehension, ast.expr_context, ast.And, ast.Or, *ARITHMETIC, *SIGNS, *COMPARISONS,
)  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "bool": bool, "ceil": math.ceil, "float": float, "floor": math.floor, "int": int, "len": len,
    "list": list, "log2": math.log2, "max": max, "min": min, "range": range, "round": round, "sqrt": math.sqrt,
    "sum": sum,
}  # fmt: skip


class ExpressionError(ValueError):
    """An expression that is not read, or that has no value; its message ends with the column."""


@dataclass(frozen=True)
class Restriction:
    """A condition on a configuration, which an expression of a file states.

    A point for which the expression divides by zero fulfills it, as in Kernel Tuner.

    Parameters
    ----------
    expression : str
        With the names of parameters, numbers, texts, comparisons, arithmetic, `and`, `or`, `not`, and calls of
        functions such as `min`.
    constants : tuple of tuple of (str, Presented), default ()
        The parameters of one value, and their values.

    Raises
    ------
    ExpressionError
    """

    expression: str
    constants: tuple[tuple[str, Presented], ...] = ()

    def __post_init__(self) -> None:
        parse_expression(self.expression)

    @property
    def __name__(self) -> str:
        return self.expression

    def __call__(self, point: Names) -> bool:
        try:
            return bool(evaluate_expression(parse_expression(self.expression)[0], {**dict(self.constants), **point}))
        except ZeroDivisionError:
            return True


class Measurement(NamedTuple):
    """The outcome of one configuration.

    Attributes
    ----------
    configuration : dict of str to Presented
        A value for each parameter, also for those of one value.
    outcome : Outcome
        Its value, or why it has none.
    others : dict of str to Presented
        Further numbers and texts that were measured, by name.
    """

    configuration: dict[str, Presented]
    outcome: Outcome
    others: dict[str, Presented]


def read_space(file: str | os.PathLike[str]) -> Space:
    """Read the parameters and the conditions of a T1 file as a space.

    Numbers become `Ordinal`, `True` and `False` a `Binary`, anything else `Categorical`. A parameter of one value is no
    variable: conditions know its value, and `{**read_constants(file), **point}` is the whole configuration. Kernel
    Tuner evaluates the expressions of a file; here they are data. Known are numbers, texts, lists, names of parameters,
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
        Which name the file, the line and the column.
    """
    data, where = _parse_file(file)
    parameters, conditions = _read_parameters(data, where)
    variables = {name: _make_variable(where, name, own) for name, own in parameters.items() if len(own) > 1}
    if not variables:
        raise DomainError(f"{file}: expected a parameter with several values, got {short_repr(parameters)}")
    return Space(variables, [_make_restriction(where, one, parameters) for one in conditions])


def read_constants(file: str | os.PathLike[str]) -> dict[str, Presented]:
    """Read the parameters of a T1 or a cache file that have one value, which are no variables of its space.

    Parameters
    ----------
    file : str or path-like
        As of `read_space`.
    """
    return {name: values[0] for name, values in _read_parameters(*_parse_file(file))[0].items() if len(values) == 1}


def read_results(file: str | os.PathLike[str], objective: str = "auto") -> DataFrame:
    """Read the results of a tuning run as a data frame for `Study.add_frame`; needs the extra `pandas`.

    A column for each parameter, then `value`, `status`, `reason`, and `attribute.NAME` for all else that was measured.

    >>> study = bo.Study(read_space("convolution.json"))                                  # doctest: +SKIP
    >>> study.add_frame(read_results("results_T4.json"))                                  # doctest: +SKIP

    Parameters
    ----------
    file : str or path-like
        A T4 file, or a cache file, which may lack its end.
    objective : str, default "auto"
        The measured quantity that is the value; ``auto`` for the one that the file names, else ``time``.

    Raises
    ------
    ValueError
        Which names the file, the line and the column.
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
    """Read a cache file as a problem, whose points are the configurations that the file has.

    A configuration that did not compile or run has failed. Parameters of one value are left out. The best value of the
    file is the optimum.

    >>> problem = read_problem("A100.json.gz")                                            # doctest: +SKIP
    >>> bo.minimize(problem.objective, problem.space, n_trials=100)                       # doctest: +SKIP

    Parameters
    ----------
    file : str or path-like
        With the results of many configurations, best of all; it may lack its end.
    objective : str, default "auto"
        The measured quantity; ``auto`` for the one that the file names, else ``time``.
    direction : {"minimize", "maximize"}, default "minimize"
        ``minimize`` or ``maximize``.

    Raises
    ------
    DomainError, ValueError
        Which name the file, the line and the column.
    """
    data, where = _parse_file(file)
    rows, measured = _read_measurements(data, where, objective)
    if "tune_params" not in data:
        raise ValueError(f"{file}: expected a cache file of Kernel Tuner, with 'tune_params' and 'cache'")
    parameters = _read_parameters(data, where)[0]
    names = [name for name, values in parameters.items() if len(values) > 1]
    table: dict[tuple[Presented, ...], Outcome] = {}
    for one in rows:
        for name, value in one.configuration.items():
            if value not in parameters[name]:
                raise ValueError(f"{where.of(name)}: {name}: {value!r} in 'cache' is none of its values")
        table[tuple(one.configuration[name] for name in names)] = one.outcome
    lookup = CacheTable(tuple(names), table)
    is_whole = len(table) == math.prod(len(parameters[name]) for name in names)
    values = [one.value for one in table.values() if isinstance(one.value, float)]
    problem = Problem(
        lookup,
        Space(
            {name: _make_variable(where, name, parameters[name]) for name in names},
            [] if is_whole else [lookup.is_measured],
        ),
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
        """Tell whether the file has a configuration.

        Parameters
        ----------
        point : Names
            A dict with all names.
        """
        return tuple(point[name] for name in self.names) in self.table


@dataclass(frozen=True)
class _Source:
    """The text of a file, in which messages say where something stands."""

    file: str
    text: str

    def of(self, quoted: str) -> str:
        """Return the file, and the line and the column in which a text first stands."""
        place = max(self.text.find(json.dumps(quoted)), 0)
        line, start = self.text.count("\n", 0, place) + 1, self.text.rfind("\n", 0, place)
        return f"{self.file}: line {line}, column {place - start}"


def _parse_file(file: str | os.PathLike[str]) -> tuple[ParsedJson, _Source]:
    """Return the JSON of a file; a cache file of a run that was interrupted gets the end that it lacks."""
    name = os.fspath(file)
    if not os.path.isfile(name):
        raise ValueError(f"file: expected a file of Kernel Tuner, found none at {name}")
    try:
        with OPENERS.get(Path(name).suffix, open)(name, "rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ValueError(f"expected at most {MAX_BYTES // 2**20} MiB of JSON, got more")
        text = content.decode("utf-8-sig").rstrip()
        data = json.loads(f"{text[:-1]}}}}}" if text.endswith(",") else text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (EOFError, OSError, RecursionError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise ValueError(f"{name}: cannot be read: {error}") from error
    return data, _Source(name, text)


def _read_parameters(data: ParsedJson, where: _Source) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the values of each parameter, and the conditions."""
    found: dict[str, list[Any]] = {}
    try:
        if "tune_params" in data:
            listed, conditions = data["tune_params"].items(), []
        else:
            space: Any = data.get("ConfigurationSpace", data)
            listed = [(one["Name"], one["Values"]) for one in space["TuningParameters"]]
            conditions = [one["Expression"] for one in space.get("Conditions") or ()]
    except (AttributeError, KeyError, TypeError) as error:
        lacking = f"{error} is missing" if isinstance(error, KeyError) else f"got {short_repr(data)}"
        raise ValueError(
            f"{where.file}: expected 'TuningParameters' with 'Name' and 'Values', and 'Conditions' with 'Expression', "
            f"or 'tune_params' of a cache file; {lacking}"
        ) from None
    for name, given in listed:
        try:
            values = evaluate_expression(parse_expression(given)[0], {}) if isinstance(given, str) else given
            if not isinstance(values, list | range) or not all(isinstance(one, SCALARS) for one in values):
                raise ExpressionError(f"expected a list of numbers or texts, got {short_repr(values)}")
            if not values or list(values) != found.setdefault(name, list(values)):
                raise ExpressionError("expected one list of values")
        except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise ValueError(f"{where.of(given)}: {name}: {error}") from None
    return found, conditions


def _make_variable(where: _Source, name: str, values: Sequence[Any]) -> Variable:
    """Return several values as a variable; raise DomainError, which begins with the place."""
    try:
        if set(map(type, values)) == {bool}:
            return Binary()
        has_order = not any(isinstance(value, bool | str) for value in values)
        return Ordinal(sorted(values)) if has_order else Categorical(values)
    except DomainError as error:
        raise DomainError(f"{where.of(name)}: {name}: {error}") from None


def _make_restriction(where: _Source, expression: Any, parameters: Mapping[str, Sequence[Any]]) -> Restriction:
    """Return a condition; raise ValueError, with its place, if it is not read or names no parameter."""
    try:
        for name, column in parse_expression(expression)[1].items():
            if name not in parameters:
                raise ExpressionError(f"there is no parameter {name!r} (column {column})")
    except (ExpressionError, TypeError) as error:
        raise ValueError(f"{where.of(expression)}: condition {short_repr(expression)}: {error}") from None
    return Restriction(expression, tuple((name, own[0]) for name, own in parameters.items() if len(own) == 1))


def _read_measurements(data: ParsedJson, where: _Source, objective: str) -> tuple[list[Measurement], str]:
    """Return the outcomes that a T4 or a cache file holds, and the name of the objective."""
    rows: list[tuple[dict[str, Any], dict[str, Any], Any]] = []  # configuration, what was measured, failure
    try:
        if "results" in data:
            named = [one["objectives"][0] for one in data["results"] if one.get("objectives")]
            for one in data["results"]:
                measured = {own["name"]: own["value"] for own in one.get("measurements", ())}
                rows.append((one["configuration"], measured, one.get("invalidity")))
        else:
            named = [data.get("objective", "time")]
            for entry in data["cache"].values():
                configuration = {name: entry[name] for name in data["tune_params"]}
                measured = {name: cell for name, cell in entry.items() if name not in configuration}
                rows.append((configuration, measured, measured.pop("__error__", None)))
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(
            f"{where.file}: expected 'results' of a T4 file, or 'tune_params' and 'cache' of a cache file, in which "
            f"each configuration has all parameters; result {len(rows) + 1}: {error!r}"
        ) from None
    chosen = next((one for one in named if isinstance(one, str)), "time") if objective == "auto" else objective
    known = dict.fromkeys(name for _, measured, _ in rows for name in measured)
    if chosen not in known:
        raise ValueError(f"objective: expected one of {', '.join(known) or 'none'}, of {where.file}; got {chosen!r}")
    found = []
    for configuration, measured, why in rows:
        value = measured.pop(chosen, None)
        if why in VALID and (isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value)):
            why = value or f"{chosen} is missing"  # a text in its place is the reason
        reason: dict[str, Any] = {"infeasible" if why in INFEASIBLE else "failed": str(why)}
        outcome = Outcome(value) if why in VALID else Outcome(**reason)
        others = {name: cell for name, cell in measured.items() if isinstance(cell, SCALARS)}
        found.append(Measurement(configuration, outcome, others))
    return found, chosen


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> tuple[Any, dict[str, int]]:
    """Return the syntax tree of an expression, and the column of each name that it takes from a configuration.

    Parameters
    ----------
    text : str
        Of Python; only what `read_space` lists is known.

    Raises
    ------
    ExpressionError
        Which says in which column anything else stands.
    """
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"expected at most {MAX_CHARACTERS} characters, got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        column = getattr(error, "offset", 0) or len(text)
        raise ExpressionError(f"{getattr(error, 'msg', error)} (column {column})") from None
    nodes: list[Any] = list(ast.walk(tree))
    loops = [node for node in nodes if isinstance(node, ast.ListComp)]
    targets: list[Any] = [one.target for node in loops for one in node.generators]
    functions = [node.func for node in nodes if isinstance(node, ast.Call)]
    is_read: dict[type, Callable[[Any], bool]] = {
        ast.Constant: lambda node: isinstance(node.value, bool | int | float | str),
        ast.Call: lambda node: not node.keywords and getattr(node.func, "id", None) in FUNCTIONS,
        ast.ListComp: lambda _: len(targets) == 1 and isinstance(targets[0], ast.Name),  # more would multiply
    }
    for node in nodes:
        if not isinstance(node, KNOWN) or not is_read.get(type(node), lambda _: True)(node):
            raise ExpressionError(
                f"{ast.unparse(node)[:50]!r} is not read (column {getattr(node, 'col_offset', 0) + 1})"
            )
    bound = {target.id for target in targets}
    free = [node for node in nodes if isinstance(node, ast.Name) and node not in functions and node.id not in bound]
    return tree, {node.id: node.col_offset + 1 for node in free}


def evaluate_expression(node: Any, names: Names) -> Any:
    """Return the value of an expression.

    Parameters
    ----------
    node : Any
        Of the tree that `parse_expression` returned.
    names : Names
        The value of each name.

    Raises
    ------
    ExpressionError, ArithmeticError, LookupError, TypeError, ValueError
     For one that has none.
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [evaluate_expression(part, names) for part in parts]
        case ast.BoolOp(op=op, values=parts):
            return (all if isinstance(op, ast.And) else any)(evaluate_expression(part, names) for part in parts)
        case ast.UnaryOp(op=op, operand=part):
            return SIGNS[type(op)](evaluate_expression(part, names))
        case ast.BinOp(left=left, op=op, right=right):
            return _calculate(type(op), evaluate_expression(left, names), evaluate_expression(right, names))
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = pairwise(evaluate_expression(part, names) for part in (left, *others))
            return all(COMPARISONS[type(op)](*pair) for op, pair in zip(ops, sides, strict=True))
        case ast.IfExp(test=test, body=body, orelse=other):
            return evaluate_expression(body if evaluate_expression(test, names) else other, names)
        case ast.Call(func=ast.Name(id=name), args=parts):
            return FUNCTIONS[name](*(_check_text_length(evaluate_expression(part, names)) for part in parts))
        case ast.ListComp(elt=part, generators=[ast.comprehension(target=ast.Name(id=name)) as loop]):
            own = [{**names, name: one} for one in _check_text_length(evaluate_expression(loop.iter, names))]
            return [
                evaluate_expression(part, one)
                for one in own
                if all(evaluate_expression(test, one) for test in loop.ifs)
            ]
    raise ExpressionError(f"{node!r} is not read")


def _calculate(kind: type, left: Any, right: Any) -> Any:
    """Return the result of arithmetic on numbers, or join two lists; raise ExpressionError for what is too large."""
    if kind is ast.Add and isinstance(left, list) and isinstance(right, list):
        return _check_text_length([*left, *right])
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        raise ExpressionError(f"arithmetic: expected numbers, got {short_repr(left)} and {short_repr(right)}")
    bits = {ast.Pow: int(left).bit_length() * right, ast.LShift: right}.get(kind, 0)
    result = math.inf if bits > MAX_BITS else ARITHMETIC[kind](left, right)
    if isinstance(result, complex) or abs(result) >= 2**MAX_BITS:
        raise ExpressionError(f"expected real numbers below 2^{MAX_BITS}, got a larger one from {left} and {right}")
    return result


def _check_text_length(value: Any) -> Any:
    """Return a value; raise ExpressionError for a list that is too long to walk through."""
    if isinstance(value, list | range | str) and len(value) > MAX_VALUES:
        raise ExpressionError(f"expected lists of at most {MAX_VALUES} values, got one of {len(value)}")
    return value
