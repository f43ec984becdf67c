"""Reading trials from a pandas DataFrame, such as `Result.to_dataframe` writes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bostruct.checks import optional_import, short_repr
from bostruct.contracts import Domain, DomainError, PointError, Presented
from bostruct.domains.space.rereading import OWN, fill_none
from bostruct.domains.space.space import Space
from bostruct.goals.declared import Goals
from bostruct.outcome import parse_outcome
from bostruct.output_files import unquote_cell

if TYPE_CHECKING:
    from pandas import DataFrame

POINT = "point"  # the column of points that are no dicts, and before a dot and a name that of a part of a dict
LIMIT = "constraint."  # before the name of a limit
NO_REASON = "no value in the data frame"


class FrameRow(NamedTuple):
    """A row of a data frame as arguments of `Study.add`.

    point: as a user has it.
    told: the other arguments.
    """

    point: Presented
    told: dict[str, Presented]


def read_frame(frame: DataFrame, value: str | Sequence[str], domain: Domain, goals: Goals) -> list[FrameRow]:
    """Read rows of a data frame, each of which a study with this domain and these goals can add.

    frame, value: as of `Study.add_frame`.
    domain, goals: of the study.

    Raises TypeError, ValueError and PointError, which name the column or the row.
    """
    pandas = optional_import("pandas", "pandas")
    if not isinstance(frame, pandas.DataFrame):
        raise TypeError(f"frame: expected a pandas DataFrame, got {short_repr(frame)}")
    frame = frame.rename(columns=unquote_cell)
    columns = _value_columns(frame, value, goals)
    _check_limits(frame, goals)
    names = _point_columns(frame, domain)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    found = []
    for label, record in zip(frame.index, records, strict=True):
        if record.get("status") == "running":
            continue
        try:
            row = FrameRow(_read_point(record, names, domain), _read_outcome(record, columns, goals))
            goals.check(parse_outcome(**row.told))
        except (PointError, TypeError, ValueError) as error:
            raise type(error)(f"frame: row {label!r}: {error}") from None
        found.append(row)
    return found


def _value_columns(frame: DataFrame, value: str | Sequence[str], goals: Goals) -> list[str]:
    """Return the columns of the values, one for each objective."""
    if value == "value" and goals.n_objectives > 1:
        value = [f"value.{i}" for i in range(goals.n_objectives)]
    columns = [value] if isinstance(value, str) else list(value)
    if len(columns) != goals.n_objectives:
        raise ValueError(f"value: expected {goals.n_objectives} names of columns, got {short_repr(columns)}")
    for column in (column for column in columns if column not in frame.columns):
        raise ValueError(f"value: expected one of the columns {short_repr(list(frame.columns), 200)}, got {column!r}")
    return columns


def _check_limits(frame: DataFrame, goals: Goals) -> None:
    """Raise ValueError unless the frame has a column for each limit of the study, and for no other one."""
    expected = [LIMIT + limit.name for limit in goals.limits]
    found = [str(column) for column in frame.columns if str(column).startswith(LIMIT)]
    for column in (column for column in found if column not in expected):
        raise ValueError(
            f"frame: got the column {column!r}, on which the study declares no limit; declare it with "
            "Study(..., constraints=...), or drop the column"
        )
    for column in (column for column in expected if column not in found):
        raise ValueError(f"frame: expected a column {column!r} for a limit of the study, got {short_repr(found)}")


def _point_columns(frame: DataFrame, domain: Domain) -> dict[str, str] | None:
    """Return the column of each part of a point; None where one column has whole points."""
    named = {str(c).removeprefix(f"{POINT}."): c for c in frame.columns if str(c).startswith(f"{POINT}.")}
    if named or POINT in frame.columns:
        return named or None
    found = {name: name for name in getattr(domain, "variables", {}) if name in frame.columns}
    if not found:
        columns = short_repr(list(frame.columns), 200)
        raise ValueError(f"frame: expected a column for each variable, its name or {POINT}.NAME; got {columns}")
    return found


def _read_point(record: Mapping[str, Presented], names: dict[str, str] | None, domain: Domain) -> Presented:
    """Return the point of a row; raise PointError where it is none."""
    if names is None:
        point = unquote_cell(record[POINT])
    else:
        own = _own_space(domain)
        variables = {} if own is None else own.variables
        known = {**getattr(domain, "parts", {}), **variables}
        found = {name: _as_value(record[column], known.get(name)) for name, column in names.items()}
        point = {name: value for name, value in found.items() if value is not None}
        missing = [name for name in found if name not in point and None in getattr(variables.get(name), "choices", ())]
        if own is not None and missing:
            point = fill_none(own, point, missing)
    domain.parse(point)
    return point


def _own_space(domain: Domain) -> Space | None:
    """Return the space of a domain's own variables, beside which other domains may stand; None where it has none."""
    if isinstance(domain, Space):
        return domain
    names = getattr(domain, "part_names", ())
    return domain.domains[names.index(OWN)] if OWN in names else None  # type: ignore[attr-defined]  # a space with parts


def _as_value(given: Presented, variable: Any) -> Presented:
    """Return the value that a cell means: pandas makes floats of integers where some are missing, CSV makes texts."""
    if variable is not None and isinstance(given, str):
        return _read_literal(given, variable.parse)
    if variable is None or not isinstance(given, float) or not given.is_integer():
        return given
    try:
        return given if variable.present(variable.parse(given)) == given else int(given)
    except (PointError, DomainError):
        return int(given)


def _read_literal(given: str, parse: Callable[[Presented], object]) -> Presented:
    """Return what a text such as ``('a', 'b')`` in a CSV file stands for, unless the text itself is a value."""
    if (text := unquote_cell(given)) != given:
        with suppress(PointError, DomainError):
            parse(text)
            return text
    try:
        parse(given)
    except (PointError, DomainError):
        try:
            return ast.literal_eval(given)
        except (ValueError, SyntaxError):  # a misspelled value, which is refused as it is
            return given
    return given


def _read_outcome(record: Mapping[str, Presented], columns: list[str], goals: Goals) -> dict[str, Presented]:
    """Return the arguments of `Study.add` that say what came of a point."""
    values = [record[column] for column in columns]
    if any(value is None for value in values):
        status = "infeasible" if record.get("status") == "infeasible" else "failed"
        return {"value": None, status: unquote_cell(record.get("reason")) or NO_REASON}
    told: dict[str, Presented] = {"value": values[0] if len(values) == 1 else tuple(values)}
    if goals.limits:
        told["constraints"] = {limit.name: record.get(LIMIT + limit.name) for limit in goals.limits}
    return told
