"""Create a study from earlier experiments in a CSV file, with a guessed space; `add_frame` adds the rows.

A file is parsed as data and must fit into memory. Tables of `Result.to_csv`, Optuna, Ax, Ray Tune, MLflow, Weights &
Biases, KTT and CLTune are recognized by their column names.
"""

from __future__ import annotations

import ast
import csv
import json
import math
import os
import re
import statistics
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from bostruct.checks import count_own_frames, did_you_mean, optional_import, short_repr
from bostruct.contracts import Domain, DomainError, PointError
from bostruct.display import pluralize
from bostruct.domains.registry import as_domain
from bostruct.domains.space.clauses import OneOf
from bostruct.domains.space.registry import KINDS
from bostruct.domains.space.variable import Variable
from bostruct.goals.declared import Direction
from bostruct.output_files import unquote_cell
from bostruct.problems.paths import MAX_LINE, read_content
from bostruct.storage.backends import open_storage
from bostruct.storage.protocol import Storage
from bostruct.study.frames import (
    ATTRIBUTE,
    FAILED_STATUSES,
    GAPS,
    LIMIT,
    NA_TEXTS,
    REPEATS,
    SD,
    STATUSES,
    STOPPED,
    Unmeasured,
    get_choices,
    read_status,
)
from bostruct.study.saving import write_copy

MAX_ROWS, MAX_CELLS, MAX_DIGITS = 100_000, 5_000_000, 400
MAX_GAPS = 0.25  # of the rows, which are omitted so that a column with gaps can be a variable
FEW_LEVELS = 10  # distinct numbers that are repeated, and were therefore chosen
FEW_NAMES = 20  # strings that are categories, whatever the number of rows
DECADES = {"Real": 10, "Integer": 100}  # minimum ratio of numbers on a logarithmic scale
NUMBER = re.compile(r"[+-]?(?!0\d)(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")  # 007 is a code
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
WRITTEN = re.compile(  # a number in common notation
    r"(?P<number>[+-]?(\d{1,3}(?P<sign>[ '’   .,])\d{3}((?P=sign)\d{3})*|\d+)"
    r"(?P<decimals>[.,]\d+)?)( ?(?P<percent>%))?"
)
LIKE_NUMBERS = re.compile(r"\W*\d[\d\s.,'\u2019]*\W*")
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")
RESULTS = re.compile(r"(?i)(.*[_ .-])?(acc|accuracy|auc|error|f1|loss|mae|mse|r2|rmse|score)")
DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ].*)?|\d\d?[./]\d\d?[./]\d{2,4}( .*)?")
UNIT = re.compile(r"\s*(\([^()]*\)|\[[^][]*\])$")
PREFIXES = ("point.", "params_", "config/", "params.", "config.")  # of variables: ours, Optuna, Ray, MLflow, W&B
BEFORE = (*PREFIXES, "metrics.", "metrics/", "values_", "summary.")  # prefixes of variables and objectives
STATUS_NAMES = ("status", "state", "trial_status")  # in lower case
NO_VARIABLES = frozenset((  # columns of Ax, MLflow and Weights & Biases that are never variables
    "trial_index", "arm_name", "generation_method", "generation_node", "fail_reason", "ID", "Name", "Notes", "User",
    "Tags", "Created", "Runtime", "Sweep", "_step", "_runtime", "_timestamp", "_wandb", "Run ID", "Source Type",
    "Source Name", "Source Version", "reason", "no_data",
))  # fmt: skip
NO_VARIABLES_BESIDE = {  # names, without units, that are not variables if a table has all columns of the key
    ("arm_name",): r".*_sem",  # Ax: standard errors
    ("Run ID", "Source Type"): "Duration|Start Time|Run Name",  # MLflow's web page
    ("Kernel name",): (  # KTT: times, sizes and profiling counters
        r"Kernel name|Time|\w+ duration|Threads|(Extended )?(GLOBAL|LOCAL)|(Global|Local) size( \d+)?|\w+ memory size|"
        r"Maximum work-group size|Registers count|\w+__.*"
    ),
    ("name", "time", "threads"): "name|time|threads",  # CLTune
}
AnyStudy = TypeVar("AnyStudy")
Cells = Sequence[Any]  # values of a column


class Guess(NamedTuple):
    """The guessed variable of a column.

    kind: class name of the variable, such as ``Real``.
    arguments: arguments of its class.
    log: whether it has a logarithmic scale.
    when: another column, and its values for which this column has values; None if this column always has values.
    note: the reason, and the alternatives.
    total: sum of the shares or integers; None for other classes.
    """

    kind: str
    arguments: tuple[object, ...]
    log: bool = False
    when: tuple[str, Cells] | None = None
    note: str = ""
    total: float | None = None

    def make(self) -> Variable:
        """Return the variable; raise DomainError if it is invalid."""
        make: Callable[..., Variable] = KINDS[self.kind]
        options = {} if self.when is None else {"when": {self.when[0]: OneOf(*self.when[1])}}
        return make(*self.arguments, **options, **self._list_settings())

    def _list_settings(self) -> Mapping[str, object]:
        return ({"log": True} if self.log else {}) | ({} if self.total is None else {"total": self.total})

    def write(self) -> str:
        """Return the variable as Python."""
        parts = [*map(repr, self.arguments), *(f"{name}={value!r}" for name, value in self._list_settings().items())]
        if self.when is not None:
            parts.append(f"when={{{self.when[0]!r}: bo.OneOf({', '.join(map(repr, self.when[1]))})}}")
        return f"bo.{self.kind}({', '.join(parts)}),{f'  # {self.note}' if self.note else ''}"


class SpaceGuessed(UserWarning):
    """Warns with the guessed space of a table, as Python code."""


def import_experiments(
    make: Callable[..., AnyStudy],
    file: str | os.PathLike[str],
    objective: str,
    *,
    direction: Direction,
    space: Domain | Mapping[str, object] | None,
    ignore: Sequence[str],
    decimal: str | None,
    failed: str | None,
    unmeasured: Unmeasured,
    storage: str | os.PathLike[str] | Storage | None = None,
    **settings: Any,
) -> AnyStudy:
    """Make a study from a CSV file; `Study.from_csv` describes the arguments.

    make: the class of the study.
    storage: argument of `Study`; None to keep the study in memory.
    settings: other arguments of `Study`.

    Warns of a guessed space and of omitted rows.
    """
    pandas = optional_import("pandas", "pandas")
    place = os.fspath(file)
    lines, columns = read_csv_columns(place, decimal)
    value = find_column(place, "objective", objective, columns)
    failed = None if failed is None else find_column(place, "failed", failed, columns)
    for name in [find_column(place, "ignore", one, columns) for one in ignore]:
        columns.pop(name, None)
    variables = {} if space is None else as_domain(space).named_values
    _find_outcomes(columns, value, {failed, *variables})
    if space is None:
        space, columns = _guess_space(place, columns, value, failed)
    domain = as_domain(space)
    same = {name: match_column(name, columns) for name in domain.named_values}
    columns |= {name: columns[one] for name, one in same.items() if one not in (None, f"point.{name}")}
    kept = _find_whole_rows(place, domain, columns, lines)
    columns = {name: [cells[i] for i in kept] for name, cells in columns.items()}
    frame = pandas.DataFrame(columns, index=[lines[i] for i in kept], dtype=object)
    study: Any = make(domain, direction=direction, **settings)
    try:
        study.add_frame(frame, value, failed=failed, unmeasured=unmeasured)
    except (PointError, TypeError, ValueError) as error:
        text = re.sub(r"; (if [^;]*, )?pass [^;]* to pandas\.read_csv[^;]*", "", str(error))
        text = text.replace("frame: row ", "line ", 1).removeprefix("frame: ")
        raise type(error)(f"{place}: {text}") from None
    if storage is None:
        return study
    stored = open_storage(storage)
    write_copy(study._ledger, stored)  # all rows in one transaction, or none
    return make(domain, direction=direction, storage=stored, **settings)


def _guess_space(
    place: str, columns: dict[str, Cells], value: str, failed: str | None
) -> tuple[dict[str, Variable], dict[str, Cells]]:
    """Return the guessed variables and the columns that are read, by name; warn with the variables as Python code."""
    prefix = next((one for one in PREFIXES if any(name.startswith(one) for name in columns)), "")
    others = (value, failed, "status", "reason", "no_data", SD, REPEATS)
    guessed = {
        name.removeprefix(prefix): cells
        for name, cells in columns.items()
        if name.startswith(prefix) and name not in others and not name.startswith((ATTRIBUTE, LIMIT))
    }
    guesses, left_out = guess_variables(guessed, columns, columns[value])
    read = {name: guessed[name] for name in guesses}
    guesses = _join_shares(guesses, read)
    attributes = {name: cells for name, cells in columns.items() if name.startswith(ATTRIBUTE)}
    not_read = [name for name in columns if not name.startswith((prefix, ATTRIBUTE)) and name not in others]
    left_out |= dict.fromkeys(not_read, f"names of variables begin with {prefix!r}")
    shown = format_space(place, guesses, left_out)
    if not guesses:
        why = " ".join(shown.partition("})")[2].split())
        raise DomainError(f"{place}: no column is a variable; pass space= {why}".rstrip())
    warnings.warn(shown, SpaceGuessed, stacklevel=count_own_frames())
    outcomes = {name: columns[name] for name in others if name in columns}
    return {name: guess.make() for name, guess in guesses.items()}, outcomes | read | attributes


def _find_whole_rows(place: str, domain: Domain, columns: Mapping[str, Cells], lines: Sequence[int]) -> list[int]:
    """Return the rows without missing values, and warn of the others; return all rows if each has missing values."""
    gaps: dict[int, str] = {}
    for name, one in domain.named_values.items():
        column = name if name in columns else f"point.{name}"
        if column in columns and not one.when and not NA_TEXTS.union({None}).intersection(get_choices(one)):
            gaps |= {i: name for i, cell in enumerate(columns[column]) if cell is None}
    kept = [i for i in range(len(lines)) if i not in gaps]
    if gaps and kept:
        first = min(gaps)
        n, text = len(gaps), f"the first of them line {lines[first]}, in which {gaps[first]!r} is empty"
        warnings.warn(f"{place}: {n} of {pluralize(len(lines), 'row')} left out, {text}", stacklevel=count_own_frames())
    return kept or list(range(len(lines)))


def _find_outcomes(columns: dict[str, Cells], value: str, taken: Iterable[str | None]) -> None:
    """Rename the columns of statuses, reasons and standard errors as for `add_frame`; drop the values of failures."""
    for name in [one for one in columns if one.casefold() in STATUS_NAMES and one not in (value, *taken)]:
        words = [read_status(str(cell)) for cell in columns[name]]
        if STATUSES.issuperset(words):
            columns["status"] = columns.pop(name)
            wrong = [
                word in FAILED_STATUSES and cell is not None for word, cell in zip(words, columns[value], strict=True)
            ]
            if any(wrong):
                columns[value] = [None if one else cell for one, cell in zip(wrong, columns[value], strict=True)]
                text = f"{pluralize(sum(wrong), 'failed row')} with a value in column {value!r}: the value is not read"
                warnings.warn(f"frame: {text}", stacklevel=count_own_frames())
            if n := sum(word in STOPPED and cell is not None for word, cell in zip(words, columns[value], strict=True)):
                text = f"{pluralize(n, 'trial')} stopped early, with a value, counted as completed"
                warnings.warn(f"frame: {text}", stacklevel=count_own_frames())
            break
    if "fail_reason" in columns and "reason" not in columns:  # of Ax
        columns["reason"] = columns.pop("fail_reason")
    if "arm_name" in columns and f"{value}_sem" in columns:
        columns[SD] = columns.pop(f"{value}_sem")


def read_csv_columns(file: str, decimal: str | None = None) -> tuple[list[int], dict[str, Cells]]:
    """Read a CSV file with a comma, semicolon, tab or bar as separator, plain or compressed.

    file: path; in UTF-8, UTF-16 with a byte-order mark, or Windows-1252. Lines with `#` before the header are skipped.
    decimal: "," or "."; None to detect it.

    Returns the line in which each row ends, and the values of each column by name, None for an empty cell. Raises
    OSError, and ValueError, with line and column, also for a file that is too large.
    """
    text = _decode_file(file)
    separator, skipped = _find_separator(text)
    size = 0  # characters of the current row

    def split_lines() -> Iterator[str]:
        nonlocal size
        for i, line in enumerate(LINE.finditer(text)):
            size += line.end() - line.start()
            if size > MAX_LINE:
                raise ValueError(f"expected rows of at most {MAX_LINE:,} characters")
            yield "\n" if i in skipped else line[0]

    reader = csv.reader(split_lines(), delimiter=separator)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            size = 0
            if not any(map(str.strip, row)):
                continue
            if rows and len(row) != len(rows[0]):
                raise ValueError(f"expected {len(rows[0])} cells, as in the header, got {len(row)}")
            if len(rows) > MAX_ROWS or len(rows) * len(row) > MAX_CELLS:
                raise ValueError(
                    f"expected at most {MAX_ROWS:,} rows and {MAX_CELLS:,} cells; import those that matter"
                )
            rows.append(row)
            lines.append(reader.line_num)
        if len(rows) < 2:
            raise ValueError("expected a header and at least one row")
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{file}: line {max(reader.line_num, 1)}: {error}") from None
    header = [cell.strip() or f"column {i}" for i, cell in enumerate(rows[0], start=1)]
    if len(set(header)) < len(header):
        first = {name: i for i, name in reversed([*enumerate(header)])}
        twice = min(i for i, one in enumerate(header) if i != first[one])
        raise ValueError(f"{file}: line {lines[0]}: column {twice + 1}: {header[twice]!r} occurs twice")
    cells = {name: _tidy_numbers([row[i].strip() for row in rows[1:]]) for i, name in enumerate(header)}
    for name, own in cells.items():
        for line, cell in zip(lines[1:], own, strict=True):
            if len(cell) > MAX_DIGITS and NUMBER.fullmatch(cell):
                raise ValueError(
                    f"{file}: line {line}, column {name!r}: expected a number of at most {MAX_DIGITS} digits"
                )
    has_comma = (decimal or _find_decimal(file, lines[1:], cells, separator)) == ","
    return lines[1:], _expand_dicts({name: _convert_cells(own, has_comma) for name, own in cells.items()})


def _decode_file(file: str) -> str:
    """Return the text of a file; raise ValueError for binary data."""
    content = read_content(file)
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    if found := NO_TEXT.search(text, 0, MAX_LINE):
        raise ValueError(f"{file}: expected a CSV file, which is text; got the character {found[0]!r}")
    return text


def _expand_dicts(columns: dict[str, Cells]) -> dict[str, Cells]:
    """Expand the dicts in the columns ``config`` and ``summary`` of W&B's interface into one column per key."""
    for name in ("config", "summary"):
        cells = columns.get(name, ())
        if any(cells) and all(cell is None or isinstance(cell, dict) for cell in cells):
            columns.pop(name)
            keys = dict.fromkeys(key for cell in cells for key in cell or () if not str(key).startswith("_"))
            columns |= {f"{name}.{key}": [(cell or {}).get(key) for cell in cells] for key in keys}
    return columns


def _find_separator(text: str) -> tuple[str, set[int]]:
    """Return the separator that splits the first rows into equally many cells, or a comma; and lines to skip."""
    first = [line[0] for line in islice(LINE.finditer(text), 1_000)]
    if first and (named := re.fullmatch(r"sep=(.)\s*", first[0])):  # written by Excel
        return named[1], {0}
    notes = next((i for i, line in enumerate(first) if not line.startswith("#")), 0)
    found = ","
    for one in ";\t|":
        with suppress(csv.Error):
            widths = {len(row) for row in islice(csv.reader(first[notes:], delimiter=one), 20) if row}
            if len(widths) == 1 and widths != {1}:
                found = one
                break
    n_cells = [line.count(found) for line in first[: notes + 1]]
    return found, {i for i in range(notes) if n_cells[i] != n_cells[notes]}  # a header may begin with #


def _tidy_numbers(cells: Sequence[str]) -> Sequence[str]:
    """Remove percent signs, thousands separators and gaps from a column of numbers; return any other unchanged."""
    full = ["" if cell in GAPS else cell for cell in cells]
    if any(map(NUMBER.fullmatch, full)) and all(NUMBER.fullmatch(cell) for cell in full if cell not in NA_TEXTS):
        return full
    found = {cell: WRITTEN.fullmatch(cell.replace("−", "-")) for cell in full if cell not in NA_TEXTS}
    read = [one for one in found.values() if one is not None]
    signs = {one["sign"] for one in read} - {None}
    sign = min(signs, default="")
    is_certain = sign not in (".", ",") or any(one["decimals"] or one[0].count(sign) > 1 for one in read if one["sign"])
    is_mixed = any((one["decimals"] or " ").startswith(sign or "-") for one in read)
    if (
        len(read) < len(found)
        or len(signs) > 1
        or not is_certain
        or is_mixed
        or len({one["percent"] for one in read}) > 1
    ):
        return cells
    tidy = {cell: one["number"].replace(sign, "") for cell, one in found.items() if one is not None}
    is_number = bool(tidy) and all(map(NUMBER.fullmatch, tidy.values()))
    return [tidy.get(cell, cell) for cell in full] if is_number else cells


def _find_decimal(file: str, lines: Sequence[int], cells: Mapping[str, Sequence[str]], separator: str) -> str:
    """Return the decimal mark; raise ValueError, with line and column, if it is ambiguous."""
    first: dict[str, tuple[str, str]] = {}  # a cell with the mark, and its position
    are_thousands = separator == ","
    for name, column in cells.items():
        if all(NUMBER.fullmatch(cell) for cell in column if cell not in NA_TEXTS):
            for line, cell in zip(lines, column, strict=True):
                for sign in ",.":
                    if sign in cell:
                        first.setdefault(sign, (cell, f"line {line}, column {name!r}"))
                are_thousands &= "," not in cell or THOUSANDS.fullmatch(cell) is not None
    if "," in first and ("." in first or are_thousands):
        cell, place = first[","]
        raise ValueError(f"{file}: {place}: {cell!r} may have decimals or be a string; pass decimal=',' or decimal='.'")
    return "," if "," in first else "."


def _convert_cells(cells: Sequence[str], has_comma: bool) -> Cells:
    """Return the values of a column, None for an empty cell; they have one type if all cells allow it, else strings."""
    given = [cell for cell in cells if cell not in NA_TEXTS]
    if given and all(NUMBER.fullmatch(cell) and (has_comma or "," not in cell) for cell in given):
        plain = [None if cell in NA_TEXTS else cell.replace(",", ".") for cell in cells]
        read: Any = int if all(cell.lstrip("+-").isdecimal() for cell in given) else float
        return [None if cell is None else read(cell) for cell in plain]
    if given and all(cell.lower() in ("true", "false") for cell in given):
        return [None if cell in NA_TEXTS else cell.lower() == "true" for cell in cells]
    if given and all(cell[0] in "[{" for cell in given):
        for read in (json.loads, ast.literal_eval):  # which executes nothing
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return [None if cell in NA_TEXTS else read(cell) for cell in cells]
    n_numbers = sum(1 for cell in given if NUMBER.fullmatch(cell))
    if has_comma and 2 * n_numbers > len(given):  # so that the error names the cell that is not a number
        cells = [cell.replace(",", ".") if NUMBER.fullmatch(cell) else cell for cell in cells]
    return [unquote_cell(cell) if cell else None for cell in cells]


def guess_variables(
    columns: Mapping[str, Cells], header: Iterable[str] = (), values: Cells = ()
) -> tuple[dict[str, Guess], dict[str, str]]:
    """Guess the variable of each column; return the variables, and the reasons why other columns are not variables.

    columns: values by column name, None for an empty cell.
    header: names of all columns of the file, which may be more.
    values: values of the objective; a column that is empty only in rows without a value is another result.
    """
    guesses: dict[str, Guess] = {}
    left_out: dict[str, str] = {}
    header = {*columns, *header}
    patterns = [pattern for others, pattern in NO_VARIABLES_BESIDE.items() if header.issuperset(others)]
    for name, cells in columns.items():
        is_known = name in NO_VARIABLES or any(re.fullmatch(one, UNIT.sub("", name)) for one in patterns)
        guess = "a column of other programs" if is_known else _guess(cells)
        if isinstance(guess, Guess):
            try:
                guess.make()
            except (DomainError, ValueError) as error:
                guess = str(error)
        if isinstance(guess, Guess):
            note = "a result? then ignore it" if RESULTS.fullmatch(UNIT.sub("", name)) else guess.note
            guesses[name] = guess._replace(note=note)
        else:
            left_out[name] = guess
    full = {name: columns[name] for name, one in guesses.items() if None not in columns[name] and one.kind in CHOSEN}
    lost: set[int] = set()  # rows with gaps
    for name in sorted(guesses.keys() - full.keys(), key=lambda name: columns[name].count(None)):
        if not (empty := {i for i, cell in enumerate(columns[name]) if cell is None}):
            continue
        gaps = f"empty in {len(empty)} of {pluralize(len(columns[name]), 'row')}"
        if when := _guess_condition(columns[name], full):
            guesses[name] = guesses[name]._replace(when=when)
        elif values and all(values[i] is None for i in empty):
            left_out[name] = f"{gaps}, which have no value either: a result?"
            guesses.pop(name)
        elif len(lost | empty) > MAX_GAPS * len(columns[name]):
            left_out[name] = f"{gaps}; fill the gaps, or delete these rows, to keep it"
            guesses.pop(name)
        else:
            lost |= empty
            guesses[name] = guesses[name]._replace(note=f"{gaps}, which are left out")
    return guesses, left_out


def _guess(cells: Cells) -> Guess | str:
    """Return the guessed variable of a column, or the reason why it is not a variable."""
    found = [cell for cell in cells if cell is not None]
    if all(cell == found[0] for cell in found):
        return f"always {short_repr(found[0])}" if found else "empty"
    if isinstance(found[0], bool):
        return Guess("Binary", ())
    if isinstance(found[0], int | float):
        return _guess_number(cells, found)
    if isinstance(found[0], list | dict):
        return _guess_list(found)
    names = sorted(set(map(str, found)))
    if all(DATE.fullmatch(one) for one in names):
        return "dates"
    if len(names) > max(FEW_NAMES, len(cells) / 2):
        return f"{len(names)} strings in {pluralize(len(cells), 'row')}"
    note = "strings that look like numbers" if all(map(LIKE_NUMBERS.fullmatch, names)) else ""
    return Guess("Categorical", (names,), note=note)


def _guess_number(cells: Cells, found: Cells) -> Guess | str:
    low, high, levels = min(found), max(found), sorted(set(found))
    if len(cells) > 2 and cells[0] in (0, 1) and list(cells) == [cells[0] + i for i in range(len(cells))]:
        return "counts the rows"
    kind = "Integer" if isinstance(low, int) else "Real"
    is_log = False
    if low > 0:  # the median is nearer to the geometric mean of the ends than to the arithmetic mean
        first, middle, last = map(math.log, (low, statistics.median_low(found), high))
        center = (first + last) / 4 + math.log(low / 2 + high / 2) / 2 if high < 1e300 else last
        is_log = last - first >= math.log(DECADES[kind]) - 1e-9 and middle <= center
    range_of = Guess(kind, (low, high), log=is_log)
    note = f"or {range_of.write().rstrip(',')}"
    if kind == "Integer" and low > 0 and len(levels) > 2 and all(one & (one - 1) == 0 for one in levels):
        return Guess("Ordinal", ([2**i for i in range(low.bit_length() - 1, high.bit_length())],), note=note)
    if len(levels) <= FEW_LEVELS and len(found) >= 2 * len(levels):
        return Guess("Ordinal", (levels,), note=note)
    return range_of


def _guess_list(found: Cells) -> Guess | str:
    if not all(isinstance(one, list) and all(isinstance(item, str | int | float) for item in one) for one in found):
        return "JSON that is not a list of strings or numbers"
    items = list(dict.fromkeys(item for one in found for item in one))
    lengths = (min(map(len, found)), max(map(len, found)))
    if any(len(set(one)) < len(one) for one in found):
        return Guess("Sequence", (items, lengths), note="the letters and the lengths that occur")
    if lengths == (len(items), len(items)):
        return Guess("Permutation", (items,))
    ordered = "bo.Permutation with length=" if 2 <= lengths[0] == lengths[1] else "bo.Sequence"
    return Guess("Subset", (items, lengths), note=f"or {ordered}, if the order counts")


def _join_shares(guesses: Mapping[str, Guess], columns: Mapping[str, Cells]) -> dict[str, Guess]:
    """Join columns such as ``blend.resin`` and ``blend.acid``, whose sum is equal in all rows."""
    members: dict[str, list[str]] = {}
    for name in guesses:
        members.setdefault(name.rpartition(".")[0], []).append(name)
    shares = {
        stem: guess
        for stem, names in members.items()
        if stem and len(names) > 1 and (guess := _guess_shares(stem, names, [columns[name] for name in names]))
    }
    joined = dict[str, Guess]()
    for name, guess in guesses.items():
        stem = name.rpartition(".")[0]
        joined |= {stem: shares[stem]} if stem in shares else {name: guess}
    return joined


def _guess_shares(stem: str, names: Sequence[str], cells: Sequence[Cells]) -> Guess | None:
    if not all(type(cell) in (int, float) for column in cells for cell in column):
        return None
    sums = list(map(sum, zip(*cells, strict=True)))
    total = sums[0]  # an integer if all columns have integers
    if total <= 0 or not all(math.isclose(one, total, rel_tol=1e-6) for one in sums):
        return None
    kind, parts = "Allocation" if isinstance(total, int) else "Mixture", [name[len(stem) + 1 :] for name in names]
    return Guess(kind, (parts,), note="each row has this sum", total=round(total, 6))


CHOSEN = ("Categorical", "Binary", "Ordinal")  # classes of variables that conditions may depend on


def _guess_condition(cells: Cells, others: Mapping[str, Cells]) -> tuple[str, Cells] | None:
    """Return the other column, and its values, for which a column has values; None if there is none."""
    for name, parents in others.items():
        present = {parent for parent, cell in zip(parents, cells, strict=True) if cell is not None}
        if not any(cell is None and parent in present for parent, cell in zip(parents, cells, strict=True)):
            return name, sorted(present)
    return None


def format_space(file: str, guesses: Mapping[str, Guess], left_out: Mapping[str, str]) -> str:
    """Return guessed variables as Python code, to be corrected and passed as `space=`.

    file: the source.
    guesses: guessed variables by name.
    left_out: reasons why columns are not variables, by name.
    """
    shown = file if file.isprintable() else repr(file)  # after a line break, the rest would be executed
    head = f"# Guessed from {shown}. Correct it, and pass it as space= (--space FILE.py:space)."
    if any(guess.kind in ("Integer", "Real") for guess in guesses.values()):
        head += "\n# Numbers have the range of the data; widen it to search beyond."
    lines = [f"    {name!r}: {guess.write()}" for name, guess in guesses.items()]
    reasons = dict.fromkeys(left_out.values())
    notes = [
        f"# left out: {', '.join(repr(name) for name in left_out if left_out[name] == why)}: {' '.join(why.split())}"
        for why in reasons
    ]
    return "\n".join([head, "import bostruct as bo", "", "space = bo.Space({", *lines, "})", *notes])


def match_column(name: str, columns: Iterable[str]) -> str | None:
    """Return the column of a name, ignoring its unit or a prefix of another program; None if there is none.

    name: name of a variable, or the value of an argument.
    columns: names of all columns.
    """
    plain = UNIT.sub("", name).casefold()
    known = list(columns)
    found = [name] if name in known else [one for one in known if one in [prefix + name for prefix in BEFORE]]
    found = found or [one for one in known if UNIT.sub("", one).casefold() == plain]
    return found[0] if len(found) == 1 else None


def find_column(file: str, argument: str, name: str, columns: Iterable[str]) -> str:
    """Return the column of an argument; raise ValueError if there is none.

    file: for the message.
    argument: name of the argument.
    name: value of the argument, as in `match_column`.
    columns: names of all columns.
    """
    if (column := match_column(name, columns)) is None:
        names = short_repr(list(columns), 200)
        raise ValueError(f"{argument}: expected a column of {file}, {names}; got {name!r}{did_you_mean(name, columns)}")
    return column
