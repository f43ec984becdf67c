"""Rows of the database, with a type check of every column and a checksum.

The checksum of a row is the first 64 bits of BLAKE2b over the JSON array of its columns, as a signed integer. The
checksum of a trial or of a change includes the id of its study. Files of schema version 1 have none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, compress, product
from json.encoder import encode_basestring_ascii as quote
from types import NoneType
from typing import Any, NamedTuple, NoReturn, TypeAlias, cast

import numpy as np

from bostruct.checks import short_repr
from bostruct.execution.clock import LATEST, RECENT, as_time
from bostruct.goals.declared import DIRECTIONS, Direction, Goals
from bostruct.outcome import Outcome
from bostruct.storage.json_text import dump, dump_compactly, parse
from bostruct.storage.protocol import SEED_DIGITS, SpaceChange, StorageError, StudyRow, TrialRow

STUDY_COLUMNS = ("id", "name", "domain", "method", "seed", "goals", "initial", "created", "version")
PROGRESS_COLUMNS = ("study", "state", "told", "digest", "revision")
TRIAL_COLUMNS = (
    "study", "number", "status", "point", "value", "outcome", "reason", "info", "started", "finished", "told",
    "attempts", "owner", "revision",
)  # fmt: skip
CHANGE_COLUMNS = ("study", "number", "domain", "method", "initial", "trials", "unread", "changed", "version")
Column: TypeAlias = Any  # a string, a number or None, as returned by SQLite
Columns: TypeAlias = tuple[Column, ...]
GOALS_SINCE = 4  # version of the schema
SHARED_SINCE = 5  # with shared writers and a revision counter
_VALUE_TYPES = (
    int, int, str, str, float, NoneType, NoneType, str, float, float, int, int, NoneType, int, int,
)  # fmt: skip  # column types of a trial that has only a value, and of its checksum
HINT = "; restore a backup"  # the end of messages about damage
OUTCOME_PARTS = ("values", "constraints", "cost", "sd", "repeats")


class Progress(NamedTuple):
    """The part of a study that changes in each transaction.

    state: the searcher's state, as JSON text.
    told: the number of finished trials.
    digest: the sum of the checksums of all its trials and changes, modulo 2 to the 64, signed.
    revision: the number of transactions; each row contains the revision of its last change.
    """

    study: int
    state: str
    told: int = 0
    digest: int = 0
    revision: int = 0

    def advance(self, change: int, finished: int, state: str | None = None) -> Progress:
        """Return the progress after a transaction.

        finished: number of newly finished trials.
        state: the searcher's new state; None for no change.
        """
        digest, state = add_checksums(self.digest, change), self.state if state is None else state
        return self._replace(state=state, told=self.told + finished, digest=digest)


def add_checksums(*parts: int) -> int:
    """Return the sum of checksums modulo 2 to the 64, signed."""
    return (sum(parts) + 2**63) % 2**64 - 2**63


def checksum(columns: Columns) -> int:
    """Return the checksum of a row, a signed integer of 64 bits.

    columns: all columns except for the checksum: strings, numbers and None.
    """
    text = dump_compactly(columns)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def seal(columns: Columns) -> Columns:
    """Return the columns of a row and their checksum."""
    return (*columns, checksum(columns))


seal_progress: Callable[[Progress], Columns] = lru_cache(maxsize=4)(seal)  # what was written last is read next


def study_columns(number: int, row: StudyRow) -> Columns:
    """Return the columns STUDY_COLUMNS of a study.

    number: id of the study, from 1.
    """
    made = (as_time(row.created), row.version)
    return (number, row.name, row.domain, row.method, str(row.seed), row.goals, row.initial, *made)


def trial_columns(study: int, row: TrialRow, revision: int) -> Columns:
    """Return the columns TRIAL_COLUMNS of a trial."""
    value = reason = parts = None
    if row.outcome is not None:
        value, reason = row.outcome.value, row.outcome.reason
        every = {  # parts that value and reason do not contain
            "values": list(row.outcome.values) if len(row.outcome.values) > 1 else [],
            "constraints": dict(row.outcome.constraints),
            "cost": row.outcome.cost,
            "sd": row.outcome.sd,
            "repeats": list(row.outcome.repeats),
        }
        given = {name: part for name, part in every.items() if part not in (None, [], {})}
        parts = dump(given) if given else None
    head = (study, row.number, row.status, row.point, value, parts, reason, row.info)
    times = (as_time(row.started), None if row.finished is None else as_time(row.finished))
    return (*head, *times, row.told, row.attempts, row.owner, revision)


def change_columns(study: int, number: int, row: SpaceChange) -> Columns:
    """Return the columns CHANGE_COLUMNS of a change of a space.

    number: number of the change, from 0.
    """
    return (study, number, *row._replace(changed=as_time(row.changed)))


def read_study_columns(columns: Columns, where: str, version: int) -> tuple[int, StudyRow]:
    """Return the id of a study, and the study without its state; raise StorageError if a column is invalid.

    columns: STUDY_COLUMNS and, from version 2 onward, their checksum.
    version: schema version; up to 3, the goals are a direction.
    """
    door = _Door(where, "study", columns[1])
    number = door.integer("id", columns[0], 1)
    name, domain, method, seed, goals, initial = (
        door.text(column, columns[at]) for at, column in enumerate(STUDY_COLUMNS[1:7], start=1)
    )
    if not (seed.isascii() and seed.isdecimal() and len(seed) <= SEED_DIGITS):
        door.refuse("seed", "decimal digits", seed)
    if version < GOALS_SINCE:
        goals = door.direction(goals)
    if not name:
        door.refuse("name", "a non-empty string", name)
    created, made_by = as_time(columns[7]), door.text("version", columns[8])
    door.check_seal(columns, version > 1, 7)
    return number, StudyRow(name, domain, method, int(seed), goals, initial, "", created, made_by)


def read_progress_columns(columns: Columns, where: str) -> Progress:
    """Return the progress of a study; raise StorageError if a column is invalid.

    columns: PROGRESS_COLUMNS, without the revision up to schema version 4, and their checksum.
    """
    door = _Door(where, "progress")
    number, state = door.integer("study", columns[0], 1), door.text("state", columns[1])
    finished, digest = door.integer("told", columns[2], 0), door.integer("digest", columns[3], -(2**63))
    revision = door.integer("revision", columns[4], 0) if len(columns) > len(PROGRESS_COLUMNS) else 0
    progress = Progress(number, state, finished, digest, revision)
    if columns != seal_progress(progress):
        door.check_seal(columns, True)
    return progress


def read_trial_columns(columns: Columns, where: str, version: int) -> TrialRow:
    """Return a trial; raise StorageError if a column is invalid.

    columns: TRIAL_COLUMNS and, from version 2 onward, their checksum.
    version: schema version; up to 4, the last column is an unused time.
    """
    door = _Door(where, "trial", columns[1])
    number, status, point = door.integer("number", columns[1], 0), columns[2], door.text("point", columns[3])
    info, started = door.text("info", columns[7]), as_time(columns[8])
    outcome = door.outcome(status, *columns[4:7])
    attempts = door.integer("attempts", columns[11], -(2**63))  # negative after a queued trial was completed
    finished = position = None
    if outcome is not None:
        finished, position = as_time(columns[9]) or started, door.integer("told", columns[10], 0)
    elif columns[9:11] != (None, None):
        door.refuse("finished, told", "NULL while it runs", columns[9:11])
    owner = None if columns[12] is None else door.text("owner", columns[12])
    if version >= SHARED_SINCE:
        door.integer("revision", columns[13], 0)
    door.check_seal(columns, version > 1, 8, 9)
    return TrialRow(number, point, info, started, attempts, outcome, finished, position, owner)


def read_trial_rows(rows: Sequence[Columns], where: str, version: int) -> list[TrialRow]:
    """Return trials like `read_trial_columns`; trials that have only a value are read by column."""
    has_value = [status == "completed" and parts is reason is None for _, _, status, _, _, parts, reason, *_ in rows]
    quick = iter(_read_by_column(list(compress(rows, has_value))) if version >= SHARED_SINCE else ())
    read = (next(quick, None) if is_quick else None for is_quick in has_value)
    return [one or read_trial_columns(row, where, version) for one, row in zip(read, rows, strict=True)]


def _read_by_column(rows: Sequence[Columns]) -> list[TrialRow]:
    """Return trials that have only a value; an empty list if `read_trial_columns` must read or reject any of them."""
    columns = list(zip(*rows, strict=True))
    if not rows or any(set(map(type, one)) != {known} for one, known in zip(columns, _VALUE_TYPES, strict=True)):
        return []
    _, numbers, _, points, values, _, _, infos, starts, ends, positions, attempts, _, revisions, checksums = columns
    is_valid = min(map(min, (numbers, positions, revisions))) >= 0 and min(map(min, (starts, ends))) >= RECENT
    is_valid = is_valid and max(map(max, (starts, ends))) <= LATEST and all(map(math.isfinite, values))
    if not is_valid or not all(map(str.isascii, chain(points, infos))) or checksums != _find_checksums(rows):
        return []
    return list(map(TrialRow, numbers, points, infos, starts, attempts, map(Outcome.of_value, values), ends, positions))


def _find_checksums(rows: Sequence[Columns]) -> Columns:
    """Compute the checksums of rows that have only a value, as `dump_compactly` writes them."""
    texts = [
        f'[{study},{number},"{status}",{quote(point)},{value!r},null,null,{quote(info)},{start!r},{end!r},{position},'
        f"{attempts},null,{revision}]"
        for study, number, status, point, value, _, _, info, start, end, position, attempts, _, revision, _ in rows
    ]
    digests = b"".join([blake2b(text.encode(), digest_size=8).digest() for text in texts])
    return tuple(np.frombuffer(digests, ">i8").tolist())


def read_change_columns(columns: Columns, position: int, where: str) -> SpaceChange:
    """Return a change of a space; raise StorageError if a column is invalid."""
    door = _Door(where, f"change {position} of its space")
    door.integer("study", columns[0], 1)
    if columns[1] != position:
        door.refuse("number", str(position), columns[1])
    domain, method, initial = (door.text(CHANGE_COLUMNS[at], columns[at]) for at in (2, 3, 4))
    trials, unread = door.integer("trials", columns[5], 0), door.text("unread", columns[6])
    changed, version = as_time(columns[7]), door.text("version", columns[8])
    door.check_seal(columns, True, 7)
    return SpaceChange(domain, method, initial, trials, unread, changed, version)


class _Door:
    """Checks of one row, with its name as prefix of messages.

    key: name or number of the row; None if there is only one such row.
    """

    def __init__(self, where: str, kind: str, key: object = None) -> None:
        self._parts = (where, kind, key)

    @property
    def _name(self) -> str:
        where, kind, key = self._parts
        return f"{where}: {kind}" + ("" if key is None else f" {short_repr(key)}")

    def refuse(self, column: str, expected: str, given: object) -> NoReturn:
        raise StorageError(f"{self._name} cannot be read: {column}: expected {expected}, got {short_repr(given)}{HINT}")

    def text(self, column: str, given: object) -> str:
        if not isinstance(given, str):
            self.refuse(column, "text", given)
        if not given.isascii() and any("\ud800" <= letter <= "\udfff" for letter in given):
            self.refuse(column, "text in UTF-8", given)
        return given

    def integer(self, column: str, given: object, low: int) -> int:
        if not isinstance(given, int) or given < low:
            self.refuse(column, f"an integer from {low}", given)
        return given

    def direction(self, given: str) -> str:
        """Return the goals, JSON text, of a study that stores a direction instead."""
        if given not in DIRECTIONS:
            self.refuse("direction", "minimize or maximize", given)
        return dump(Goals((cast(Direction, given),)).to_json())

    def outcome(self, status: Column, value: Column, parts: Column, reason: Column) -> Outcome | None:
        """Return the outcome of a trial; None if it is running."""
        if status == "running" and (value, parts, reason) == (None, None, None):
            return None
        try:
            found = _parse_outcome(status, value, parts, reason)
        except (TypeError, ValueError) as error:
            raise StorageError(f"{self._name} cannot be read: {error}{HINT}") from error
        if found.status != status or found.value != value:
            self.refuse("status, value, reason", "values of one outcome", (status, value, reason))
        return found

    def check_seal(self, columns: Columns, has_checksum: bool, *times: int) -> None:
        """Raise StorageError unless the checksum matches the columns, or the original numbers in them."""
        if bytes in map(type, columns):
            raise StorageError(f"{self._name} is damaged: it contains a blob, which no version writes{HINT}")
        if not has_checksum or columns[-1] == checksum(columns[:-1]):
            return
        for given in product(*(_list_given(columns[at]) for at in times)):
            written = list(columns[:-1])
            for at, one in zip(times, given, strict=True):
                written[at] = one
            if columns[-1] == checksum(tuple(written)):
                return
        raise StorageError(f"{self._name} is damaged: its checksum does not match its columns{HINT}")


def _list_given(stored: Column) -> Sequence[Column]:
    """Return the possible original values of a numeric column with this stored value."""
    if stored is None:
        return stored, math.nan
    numbers = (stored, int(stored)) if isinstance(stored, float) and stored.is_integer() else (stored,)
    ends = product(("", " "), numbers, ("", " ", "\n"))  # a database ignores blanks around digits
    return *numbers, *(f"{begin}{number}{end}" for begin, number, end in ends)


def _parse_outcome(status: Column, value: Column, parts: Column, reason: Column) -> Outcome:
    if status == "completed" and value is not None and (parts, reason) == (None, None):
        return Outcome.of_value(value)  # the common case
    given = {} if parts is None else parse(parts)
    if not isinstance(given, dict) or not given.keys() <= set(OUTCOME_PARTS):
        raise ValueError(f"outcome: expected a JSON object of {', '.join(OUTCOME_PARTS)}, got {short_repr(given)}")
    several = {name: tuple(given.pop(name)) for name in ("values", "repeats") if name in given}
    values = several.pop("values", () if value is None else (value,))
    reasons = {} if status == "completed" else {status: reason}
    if status not in ("completed", "failed", "infeasible") or (status == "completed") != (reason is None):
        raise ValueError(f"status: expected one that matches reason {short_repr(reason)}, got {short_repr(status)}")
    return Outcome(values, **reasons, **several, **given)
