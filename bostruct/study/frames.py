"""Read trials from a pandas DataFrame, such as `Result.to_dataframe` writes."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bostruct.checks import count_own_frames, did_you_mean, optional_import, short_repr
from bostruct.contracts import Domain, DomainError, Json, PointError, Presented
from bostruct.display import pluralize
from bostruct.domains.space.levels import RoundedNumbers, accept_rounded, note_under
from bostruct.domains.space.points import OWN, fill_missing
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable
from bostruct.goals.declared import Goals
from bostruct.outcome import Outcome, as_number, outcome_of, parse_outcome
from bostruct.output_files import unquote_cell
from bostruct.storage.json_text import dump, parse
from bostruct.study.history import Trial
from bostruct.study.space_changes import warn_of_rounded

if TYPE_CHECKING:
    from pandas import DataFrame

POINT = "point"  # column of points that are not dicts, and prefix of columns of their parts
LIMIT = "constraint."  # prefix of the name of an outcome constraint
ATTRIBUTE = "attribute."  # prefix of the name of an attribute
SD, REPEATS = "value.sd", "value.repeats"  # of a single value: the noise, and the measurements as JSON
EXACT_INTEGER, LARGEST_INTEGER = 2**53, 2**63  # below these, floats, or integer columns, are exact
NO_REASON = "the data frame gives no reason"
# fmt: off
NA_TEXTS = frozenset((  # strings that pandas reads as missing by default
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
))
GAPS = frozenset(("-", "--", "?"))  # signs of an empty cell
UNMEASURED = frozenset((  # strings that mean no value, in lower case
    *map(str.lower, NA_TEXTS), *GAPS, "candidate", "generated", "missing", "open", "pending", "planned",
    "queued", "running", "scheduled", "staged", "tbd", "todo", "waiting",
))
NOT_FAILED = UNMEASURED | frozenset((  # strings in a column of failures that mean no failure, in lower case
    "0", "0.0", "abandoned", "active", "canceled", "complete", "completed", "done", "early_stopped", "false",
    "finished", "in progress", "in_progress", "killed", "n", "new", "no", "no error", "ok", "okay", "pass", "passed",
    "paused", "preempted", "pruned", "skipped", "succeeded", "success", "successful", "terminated", "unfinished",
    "valid",
))
FAILURES = frozenset(("crash", "crashed", "error", "errored", "fail", "failed", "failure"))  # without a reason
FAILED_STATUSES = FAILURES | {
    "compilationfailed", "computationfailed", "devicelimitsexceeded", "infeasible", "validationfailed",
}
STATUSES = NOT_FAILED | FAILED_STATUSES
STOPPED = frozenset(("early_stopped", "killed", "pruned"))  # with the last value
FAILED_WORDS = FAILURES | {"1", "1.0", "t", "true", "y", "yes"}
# fmt: on
WITH_COMMA = re.compile(r"[+-]?[\d.,]*,\d[\d.]*([eE][+-]?\d+)?")  # a number

Unmeasured = Literal["skip", "queue"]


class FrameRow(NamedTuple):
    """A row of a data frame.

    outcome: outcome of its evaluation; None for a queued trial.
    """

    point: Presented
    outcome: Outcome | None
    measured: dict[str, float]
    attributes: Mapping[str, Json] = {}  # never modified


class _FrameColumns(NamedTuple):
    """The columns of a frame that are read.

    points: columns by the name of the part of a point; None for a single column of points.
    attributes: columns by the name of the attribute.
    status, reason, failed, no_data: names of columns; None if absent.
    """

    points: dict[str, str] | None
    numbers: dict[str, str]
    attributes: dict[str, str]
    status: str | None
    reason: str | None
    failed: str | None
    no_data: str | None


def from_dataframe(
    frame: DataFrame,
    value: str | Sequence[str],
    failed: str | None,
    unmeasured: Unmeasured,
    domain: Domain,
    goals: Goals,
) -> list[FrameRow]:
    """Read rows of a data frame that a study with this domain and these goals can add.

    Warns of rows that are omitted or lack some of their values, and of rounded numbers. Raises TypeError, ValueError
    and PointError, with the column or the row.
    """
    if unmeasured not in ("skip", "queue"):
        raise ValueError(f"unmeasured: expected 'skip' or 'queue', got {short_repr(unmeasured)}")
    _check_frame(frame)
    if not len(frame):
        return []
    frame = _join_parts(frame.rename(columns=unquote_cell), domain.variables)
    columns = _find_columns(frame, value, failed, domain, goals)
    for column in columns.attributes.values():
        cells: Any = frame[column]
        if cells.dtype.kind == "f" and cells.isna().any() and (cells.dropna() % 1 == 0).all():
            frame[column] = cells.astype("Int64")  # integers that were read as floats because of gaps
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    reader, found = _CellReader(domain, columns.points), []
    unfinished: dict[str, list[object]] = {"none": [], "some": []}  # row labels by availability of values
    for place, (label, record) in enumerate(zip(frame.index, records, strict=True)):
        try:
            outcome, measured = _read_outcome(record, columns, goals)
            if outcome is None:
                unfinished["some" if measured else "none"].append(label)
            if outcome is not None or measured or unmeasured == "queue":
                attributes = _read_attribute_cells(record, columns.attributes)
                found.append(FrameRow(reader.read(record), outcome, measured, attributes))
        except (PointError, TypeError, ValueError) as error:
            is_header = place == 0 and all(isinstance(cell, str | None) for cell in record.values())
            hint = "; if the row is a second header, pass skiprows=[1] to pandas.read_csv" if is_header else ""
            raise type(error)(f"frame: row {label!r}: {error}{hint}") from None
    _warn_of_unfinished(unfinished["none"] if unmeasured == "skip" else [], unfinished["some"], len(records))
    warn_of_rounded("frame", reader.rounded)
    return found


def _check_frame(frame: Any) -> None:
    """Raise TypeError unless the object is a frame, ValueError if its column names are not unique."""
    pandas = optional_import("pandas", "pandas")
    if not isinstance(frame, pandas.DataFrame):
        raise TypeError(f"frame: expected a pandas DataFrame, got {short_repr(frame)}")
    if frame.columns.nlevels > 1:
        raise ValueError(
            f"frame: expected one row of column names, got {frame.columns.nlevels}, such as {frame.columns[0]!r}; pass "
            "header=0, skiprows=[1] to pandas.read_csv, or set frame.columns = frame.columns.get_level_values(0)"
        )
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"frame: expected columns of distinct names, got {twice!r} more than once")


def _join_parts(frame: DataFrame, variables: Mapping[str, Variable]) -> DataFrame:
    """Join the columns of the parts of a value, named with or without its prefix, into one column.

    An empty cell is a missing part; a row of empty cells has no value.
    """
    names = set(frame.columns)
    for name, variable in variables.items():
        if not variable.parts or name in names or f"{POINT}.{name}" in names:
            continue
        for prefix in (f"{POINT}.{name}.", f"{name}.", ""):
            found = {prefix + part: part for part in variable.parts if prefix + part in names - set(variables)}
            if len(found) > 1:
                cells = frame.loc[:, list(found)].rename(columns=found).astype(object)
                records = cells.where(cells.notna(), None).to_dict("records")
                rows = [{part: cell for part, cell in row.items() if cell is not None} or None for row in records]
                column = f"{POINT}.{name}" if prefix.startswith(f"{POINT}.") else name
                frame = frame.drop(columns=list(found)).assign(**{column: rows})
                break
    return frame


def _find_columns(
    frame: DataFrame, value: str | Sequence[str], failed: str | None, domain: Domain, goals: Goals
) -> _FrameColumns:
    """Return the columns that are read; raise ValueError, with the argument, if one is missing."""
    names = list(frame.columns)
    points = _find_point_columns(names, domain)
    taken = {POINT} if points is None else set(points.values())
    values = _find_value_columns(names, taken, value, goals)
    limits = _find_limits([name for name in names if name not in taken], goals)
    if failed is not None and failed not in names:
        raise ValueError(f"failed: expected one of the columns {short_repr(names, 200)}, got {short_repr(failed)}")
    ours = {name: name if name in names and name not in taken else None for name in ("status", "reason", "no_data")}
    if ours["status"] is not None and not _has_statuses(frame[ours["status"]], failed):
        ours["status"] = None  # statuses of other objects, such as pumps
    others = [str(name) for name in names if name not in taken and str(name).startswith(ATTRIBUTE)]
    attributes = {name.removeprefix(ATTRIBUTE): name for name in others if name not in values.values()}
    return _FrameColumns(
        points,
        values | limits,
        attributes,
        failed=None if failed == ours["status"] else failed,
        **ours,
    )


def _read_attribute_cells(record: Mapping[str, Presented], columns: Mapping[str, str]) -> dict[str, Json]:
    """Return the attributes of a row, without empty cells; JSON strings are parsed, as in our tables."""
    found = {}
    for name, column in columns.items():
        if (cell := unquote_cell(record[column])) is not None:
            found[name] = cell
            if isinstance(cell, str):
                with suppress(ValueError):
                    found[name] = parse(cell)
    return found


def write_attribute(value: object, is_exact: bool, as_text: bool) -> object:
    """Return the cell of an attribute: JSON if other programs would read the plain value differently.

    is_exact: whether its column represents numbers exactly, as `find_inexact` determines.
    as_text: True for a file; for a frame, only None and some strings become JSON.
    """
    if isinstance(value, str):
        return value if _is_plain(value) else dump(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and (not as_text or (is_number and is_exact)):
        return value
    # after a tab, no program reads it as a number or a missing value
    return f"\t{dump(value)}" if as_text and (is_number or value is None) else dump(value)


def _is_plain(text: str) -> bool:
    """Return whether a string cell is read unchanged: it does not look like a number, JSON or a Python literal."""
    with suppress(ValueError):
        float(text.replace(",", "."))
        return False
    is_literal = text in NA_TEXTS or text.lower() in ("true", "false") or text.startswith(("[", "{", "'", '"'))
    return not is_literal and text.isprintable() and text == text.strip()


def find_inexact(trials: Sequence[Trial]) -> frozenset[str]:
    """Return the attributes with numbers that a numeric column would change, because of gaps or mixed types."""
    columns: dict[str, list[object]] = {}
    for trial in trials:
        for name, value in trial.attributes.items():
            columns.setdefault(name, []).append(value)
    return frozenset(name for name, values in columns.items() if _is_inexact(values, len(values) == len(trials)))


def _is_inexact(values: Sequence[Any], is_full: bool) -> bool:
    kinds = set(map(type, values))
    if kinds == {int}:  # with gaps they are read as floats and converted back
        return max(map(abs, values)) >= (LARGEST_INTEGER if is_full else EXACT_INTEGER)
    if kinds == {float}:
        return not is_full and all(value.is_integer() for value in values)
    return not kinds.isdisjoint((int, float))


def _has_statuses(column: Any, failed: str | None) -> bool:
    """Return whether a column contains statuses of trials; raise ValueError if only some of its words are statuses."""
    words = {read_status(cell): cell for cell in column.dropna().map(str)}
    unknown = [cell for word, cell in words.items() if word not in STATUSES]
    known = [cell for word, cell in words.items() if word in FAILED_STATUSES]
    if unknown and known and failed is None:
        raise ValueError(
            f"frame: column 'status': {known[0]!r} means that a trial failed, but {short_repr(unknown[0])} is not "
            "a status; correct it, rename the column if it has another meaning, or pass failed= with the name of the "
            "column that marks failed rows"
        )
    return not unknown


def read_status(text: str) -> str:
    """Return a status in the words of our tables; a status of Optuna or Ax may start with a class name."""
    return text.strip().lower().removeprefix("trialstate.").removeprefix("trialstatus.").replace("cancell", "cancel")


def _find_value_columns(
    names: Sequence[str], taken: Iterable[str], value: str | Sequence[str], goals: Goals
) -> dict[str, str]:
    """Return the column of each objective, by the names of `Result.to_dataframe`."""
    own = list_value_names(goals)
    columns = own if value == "value" else [value] if isinstance(value, str) else list(value)
    if len(columns) != len(own):
        raise ValueError(f"value: expected {pluralize(len(own), 'column name')}, got {short_repr(columns)}")
    if len(set(columns)) < len(columns):
        raise ValueError(f"value: expected distinct columns, one for each objective, got {short_repr(columns)}")
    for column in columns:
        if column in taken:
            raise ValueError(f"value: {column!r} is the column of a variable; pass the column of the values as value=")
        if column not in names:
            found = _suggest_column(column, [name for name in names if name not in taken])
            hint = (
                "" if found is None else f"; pass value={found!r}" if len(own) == 1 else f"; pass {found!r} in value="
            )
            raise ValueError(f"value: expected one of the columns {short_repr(list(names), 200)}, got {column!r}{hint}")
    return dict(zip(own, columns, strict=True))


def list_value_names(goals: Goals) -> list[str]:
    """Return the column names of a study's values in tables, one for each objective."""
    return ["value"] if goals.n_objectives == 1 else [f"value.{i}" for i in range(goals.n_objectives)]


def _find_limits(names: Iterable[object], goals: Goals) -> dict[str, str]:
    """Return the column of each outcome constraint; raise ValueError if one is missing or undeclared."""
    expected = [LIMIT + limit.name for limit in goals.limits]
    found = [str(name) for name in names if str(name).startswith(LIMIT)]
    for column in (column for column in found if column not in expected):
        raise ValueError(
            f"frame: got the column {column!r}, on which the study declares no limit; declare it with "
            "Study(..., constraints=...), or drop the column"
        )
    for column in (column for column in expected if column not in found):
        raise ValueError(f"frame: expected a column {column!r} for a limit, got {short_repr(list(names), 200)}")
    return {column: column for column in expected}


def _find_point_columns(names: Sequence[Any], domain: Domain) -> dict[str, str] | None:
    """Return the column of each part of a point; None if one column contains whole points.

    Our tables have `point.NAME` for each part; other tables have NAME. The column with the name of a variable therefore
    contains it, unless a column `point.NAME` can have no other meaning.
    """
    known = domain.named_values
    prefixed = {str(name).removeprefix(f"{POINT}."): name for name in names if str(name).startswith(f"{POINT}.")}
    required = [name for name, one in known.items() if not one.when]
    is_ours = any(name in prefixed for name in known if f"{POINT}.{name}" not in known) or not (
        known and all(name in names for name in required)
    )
    found = prefixed if is_ours and prefixed else {name: name for name in known if name in names}
    if not found and POINT in names:
        return None
    for name in required if found or required else [POINT]:
        if name in found:
            continue
        alike = _suggest_column(name, names)
        hint = did_you_mean(name, names) if alike is None else f"; pass frame.rename(columns={{{alike!r}: {name!r}}})"
        raise ValueError(
            f"frame: expected a column for each variable, {name!r} or '{POINT}.{name}'; got "
            f"{short_repr(list(names), 200)}{hint}"
        )
    return found


def _suggest_column(name: str, names: Iterable[object]) -> object | None:
    """Return the column with the same name in another case, or with a prefix of another program."""
    plain = name.casefold().strip()
    texts = {one: str(one).casefold().strip() for one in names}
    same = [one for one, text in texts.items() if text == plain]
    ends = [one for one, text in texts.items() if text.endswith((f"_{plain}", f"/{plain}", f".{plain}"))]
    return next(iter(same or ends), None)


def _read_outcome(
    record: Mapping[str, Presented], columns: _FrameColumns, goals: Goals
) -> tuple[Outcome | None, dict[str, float]]:
    """Return the outcome of a row, None if its evaluation is not finished, and its measured quantities."""
    status = "" if columns.status is None else read_status(str(record[columns.status] or ""))
    reason = None if columns.reason is None else unquote_cell(record[columns.reason])
    if columns.failed is not None and (why := _read_failure(columns.failed, record[columns.failed])) is not None:
        status, reason = "failed", why or reason
    if columns.no_data is not None and record[columns.no_data] is not None:
        return None, {}
    has_failed = status in FAILED_STATUSES
    cells = {name: _read_number(column, record[column], has_failed) for name, column in columns.numbers.items()}
    measured = {name: number for name, number in cells.items() if number is not None}
    values = [cells[name] for name in list_value_names(goals)]
    if has_failed:
        if None not in values:
            raise ValueError(
                f"column {columns.failed or columns.status!r} marks the trial as {status}, but column "
                f"{next(iter(columns.numbers.values()))!r} has its value {values[0]!r}; drop one of them"
            )
        why = NO_REASON if reason in (None, "") else str(reason)
        return Outcome(infeasible=why) if status == "infeasible" else Outcome(failed=why), measured
    if len(measured) < len(cells):
        return None, measured
    limits = {limit.name: cells[LIMIT + limit.name] for limit in goals.limits} or None
    given = values[0] if len(values) == 1 else tuple(values)
    outcome = parse_outcome(given, constraints=limits, sd=_read_number(SD, record.get(SD), has_failed))
    if (cell := record.get(REPEATS)) is not None:
        outcome = outcome_of(replace(outcome, repeats=_parse_measurements(cell)), verb="observed")
    return goals.check(outcome), {}


def write_noise(trial: Trial) -> dict[str, object]:
    """Return the cells of what is known of the noise of a trial, by column."""
    row: dict[str, object] = {} if trial.sd is None else {SD: trial.sd}
    return row | {REPEATS: dump([*trial.repeats])} if trial.repeats else row


def _parse_measurements(cell: object) -> tuple[float, ...]:
    with suppress(ValueError):
        if isinstance(repeats := parse(str(cell)), list):
            return tuple(repeats)
    raise ValueError(f"column {REPEATS!r}: expected a list of numbers as JSON, got {short_repr(cell)}")


def _read_number(column: str, cell: object, has_failed: bool) -> float | None:
    """Return the number in a cell; None if nothing was measured, or for an infinity in a failed row.

    Raise TypeError, ValueError for any other content.
    """
    if cell is None:
        return None
    text = cell.strip() if isinstance(cell, str) else None
    if text is not None and text.lower() in UNMEASURED:
        return None
    hint = (
        "; leave the cell empty if nothing was measured, and pass failed= with the name of a column that marks failed "
        "rows"
    )
    try:
        number = as_number(f"column {column!r}", cell) if text is None else float(text)
    except ValueError:
        hint = _hint_at_comma(text or "") or hint
        raise ValueError(f"column {column!r}: expected a number, got {cell!r}{hint}") from None
    if math.isinf(number) and not has_failed:
        raise ValueError(f"column {column!r}: expected a finite number, got {short_repr(cell)}{hint}")
    return number if math.isfinite(number) else None


def _hint_at_comma(text: str) -> str:
    has_comma = WITH_COMMA.fullmatch(text.strip()) is not None
    return "; pass decimal=',' to pandas.read_csv, or thousands=',' if commas separate thousands" if has_comma else ""


def _read_failure(column: str, cell: object) -> str | None:
    """Return the reason why a row has failed, "" if there is none; None if it has not failed."""
    if isinstance(cell, str):
        text, word = cell.strip(), read_status(cell)
        if word in NOT_FAILED:
            return None
        if word != "f":  # false, or failed
            return "" if word in FAILED_WORDS else text
    elif cell is None or cell in (0, 1):
        return "" if cell else None
    raise ValueError(f"failed: column {column!r}: expected True, False or a reason, got {short_repr(cell)}")


class _CellReader:
    """A reader of the points of a frame.

    columns: columns by the name of the part of a point; None for a single column of points.
    """

    def __init__(self, domain: Domain, columns: dict[str, str] | None) -> None:
        self.rounded = RoundedNumbers()
        self._domain, self._columns = domain, columns
        self._known = domain.named_values
        own = domain.parts.get(OWN, domain)
        self._own = Space(own.variables) if own.variables else None  # without constraints

    def read(self, record: Mapping[str, Presented]) -> Presented:
        """Return the point of a row; raise PointError if it is invalid.

        record: a cell for each column; None for a missing value.
        """
        if self._columns is None:
            point = unquote_cell(record[POINT])
        else:
            cells = {name: self._read_cell(record[column], name, column) for name, column in self._columns.items()}
            point = {name: value for name, value in cells.items() if value is not None}
            missing = {name: record[self._columns[name]] for name in cells if name not in point}
            choices = {name: self._read_missing(name, cell) for name, cell in missing.items()}
            listed = {name: found[0] for name, found in choices.items() if found}
            point = fill_missing(self._own, point, listed) if self._own is not None and listed else point
            self._check_required(point, missing)
        self._domain.parse(point)
        return point

    def _read_cell(self, given: Presented, name: str, column: str) -> Presented:
        """Return the value of a cell, None if it is missing; a rounded number becomes its level."""
        one = self._known.get(name)
        if one is None or given is None:
            return given
        found = _read_text(given, one) if isinstance(given, str) else _read_value(given, one)
        if found is None or _is_value(one, found):
            return found
        if isinstance(given, str) and (hint := _hint_at_comma(given)):
            raise PointError(f"{name}: expected a value of {short_repr(one)}, got {given!r}{hint}")
        with suppress(PointError, DomainError), accept_rounded(self.rounded), note_under(column):
            return one.present(one.parse(found))
        return found

    def _read_missing(self, name: str, cell: Presented) -> list[Presented]:
        """Return the choice that a missing cell represents; raise PointError if it is ambiguous."""
        texts = [] if isinstance(cell, str) else [*NA_TEXTS]  # a string cell was not read as missing
        found = [choice for choice in get_choices(self._known.get(name)) if choice is None or choice in texts]
        if len(found) > 1:
            raise PointError(
                f"{name}: got a missing value, which may be any of the choices {found}; pass keep_default_na=False to "
                "pandas.read_csv, or correct the cell in the frame"
            )
        return found

    def _check_required(self, point: Presented, missing: Iterable[str]) -> None:
        """Raise PointError if an unconditional variable is missing."""
        for name in missing:
            if name in self._known and name not in point and not self._known[name].when:
                raise PointError(
                    f"{name}: expected a value, got an empty cell; if the file has a text such as 'None' or 'NA' "
                    "there, pass keep_default_na=False to pandas.read_csv"
                )


def _is_value(one: Any, value: object) -> bool:
    try:
        one.parse(value)
    except (PointError, DomainError):
        return False
    return True


def get_choices(one: object) -> tuple[Presented, ...]:
    """Return the choices of a variable that lists them; () for any other variable."""
    return one.choices if isinstance(one, Variable) and isinstance(one.choices, tuple) else ()


def _read_text(given: str, one: Any) -> Presented:
    """Parse a string such as ``('a', 'b')`` as a literal, unless it is a value itself; None if it is missing."""
    if (text := unquote_cell(given)) != given and _is_value(one, text):
        return text
    if _is_value(one, given):
        return given
    try:
        literal = ast.literal_eval(given.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # a misspelled value, which is rejected unchanged
        return None if given.strip() in NA_TEXTS else given
    if isinstance(literal, tuple) and not given.strip().startswith("("):
        return given
    return None if literal is None and not _is_value(one, None) else _read_value(literal, one)


def _read_value(given: Presented, one: Any) -> Presented:
    """Return the value of a cell: pandas converts integers to floats, and strings to numbers and bools."""
    if not isinstance(given, int | float) or _is_value(one, given):
        return given
    texts = [choice for choice in get_choices(one) if isinstance(choice, str) and _is_read_as(choice, given)]
    if len(texts) == 1:
        return texts[0]
    is_whole = type(given) is float and given.is_integer() and _is_value(one, int(given))
    return int(given) if is_whole else given


def _is_read_as(text: str, value: float) -> bool:
    """Return whether pandas reads a string in a file as a number or a bool."""
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    with suppress(ValueError):
        return float(text) == value
    return False


def _warn_of_unfinished(left_out: Sequence[object], partial: Sequence[object], n_rows: int) -> None:
    """Warn of rows without a value, and of rows with only some values."""
    sentences = []
    if left_out:
        sentences.append(
            f"{len(left_out)} of {pluralize(n_rows, 'row')} without a value left out, the first of them row "
            f"{left_out[0]!r}: they count as never run. unmeasured='queue' has them queued; failed= names a column "
            "that marks failed rows"
        )
    if partial:
        sentences.append(
            f"{pluralize(len(partial), 'row')} with only some of the values, the first of them row {partial[0]!r}: "
            "these trials are queued, and their info['measured'] has the numbers"
        )
    if sentences:
        warnings.warn(f"frame: {'. '.join(sentences)}", stacklevel=count_own_frames())
