"""Transactions of a study: changed rows are written together, with their checksums."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from bostruct.checks import add_note
from bostruct.execution.interrupts import defer_signals
from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import RolledBack, SpaceChange, StorageError, StoredStudy, TrialRow
from bostruct.storage.reading import FoundTrial, find_trial, read_checksums
from bostruct.storage.rows import (
    CHANGE_COLUMNS,
    PROGRESS_COLUMNS,
    STUDY_COLUMNS,
    TRIAL_COLUMNS,
    Progress,
    change_columns,
    seal,
    seal_progress,
    study_columns,
    trial_columns,
)

SECONDS = 120.0  # after the first loss of the connection, within which a transaction is repeated
Function = TypeVar("Function", bound=Callable[..., Any])


def _insert_into(table: str, names: tuple[str, ...]) -> str:
    """Return the statement that writes a row and its checksum."""
    return f"INSERT INTO {table} ({', '.join(names)}, checksum) VALUES ({', '.join('?' * len(names))}, ?)"


_INSERT_TRIAL = _insert_into("trials", TRIAL_COLUMNS)
_UPDATE_TRIAL = f"""UPDATE trials SET ({", ".join(TRIAL_COLUMNS)}, checksum) = ({"?, " * len(TRIAL_COLUMNS)}?)
WHERE study = ? AND number = ?"""
_WRITE_PROGRESS = f"""{_insert_into("progress", PROGRESS_COLUMNS)}
ON CONFLICT (study) DO UPDATE SET ({", ".join(PROGRESS_COLUMNS)}, checksum)
= ({", ".join(f"excluded.{name}" for name in PROGRESS_COLUMNS)}, excluded.checksum)"""


class Transaction:
    """A current transaction; the caller has locked out all other writers."""

    def __init__(self, connection: Connection, before: Progress, where: str) -> None:
        self.connection = connection
        self.before = before
        self.checksums: dict[int, int] = {}
        self.n_changes = 0
        self._begun = before._replace(revision=before.revision + 1)
        self._progress = self._begun
        self._where = where

    def insert(self, row: TrialRow, state: str | None) -> None:
        """Write a new trial and, in the same transaction, the searcher's new state.

        state: as JSON text; None for no change.
        """
        progress, self.checksums[row.number] = insert_trial(self.connection, self._progress, row)
        self._progress = progress.advance(0, 0, state)

    def change(self, row: TrialRow, status: str) -> None:
        """Change a trial, except for its point; raise StorageError if no such trial has this status."""
        before = find_trial(self.connection, self._progress.study, row.number, self._where)
        if before is None or before.row.status != status:
            raise StorageError(f"{self._where}: trial {row.number} is no longer {status}; load the study again")
        self._write(before, row._replace(point=before.row.point))

    def release(self, numbers: tuple[int, ...]) -> None:
        """Decrease the attempts of running trials by one and remove their owner."""
        for number in dict.fromkeys(numbers):
            before = find_trial(self.connection, self._progress.study, number, self._where)
            if before is not None and before.row.status == "running":
                self._write(before, before.row._replace(attempts=before.row.attempts - 1, owner=None))

    def change_space(self, change: SpaceChange, state: str) -> None:
        """Write a change of the study's space, and the searcher's new state.

        state: as JSON text.
        """
        number = len(read_checksums(self.connection, "changes", self._progress.study))
        self._progress = insert_change(self.connection, self._progress, number, change).advance(0, 0, state)
        self.n_changes += 1

    def finish(self) -> Progress:
        """Write the progress after the changes, if there were any, and return it."""
        if self._progress is self._begun:
            return self.before
        write_progress(self.connection, self._progress)
        return self._progress

    def _write(self, before: FoundTrial, after: TrialRow) -> None:
        """Replace the row of a trial."""
        progress = self._progress
        values = seal(trial_columns(progress.study, after, progress.revision))
        self.connection.execute(_UPDATE_TRIAL, (*values, progress.study, after.number))
        finished = (after.told is not None) - (before.row.told is not None)
        self._progress = progress.advance(values[-1] - before.checksum, finished)
        self.checksums[after.number] = values[-1]


def insert_study(connection: Connection, number: int, stored: StoredStudy) -> Progress:
    """Write a new study with its trials and changes, and return its progress."""
    values = seal(study_columns(number, stored.study))
    connection.execute(_insert_into("studies", STUDY_COLUMNS), values)
    progress = Progress(number, stored.study.state)
    for row in stored.trials:
        progress = insert_trial(connection, progress, row).progress
    for position, change in enumerate(stored.changes):
        progress = insert_change(connection, progress, position, change)
    write_progress(connection, progress)
    return progress


def next_study(connection: Connection) -> int:
    """Return the id for the next new study."""
    ((number,),) = connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM studies").fetchall()
    return number


def insert_change(connection: Connection, progress: Progress, number: int, change: SpaceChange) -> Progress:
    """Write a change of a study's space, and return the study's progress after it, which is not written.

    number: number of the change, from 0.
    """
    values = seal(change_columns(progress.study, number, change))
    connection.execute(_insert_into("changes", CHANGE_COLUMNS), values)
    return progress.advance(values[-1], 0)


def write_progress(connection: Connection, progress: Progress) -> None:
    """Write the part of a study that changes in each transaction."""
    connection.execute(_WRITE_PROGRESS, seal_progress(progress))


class Written(NamedTuple):
    """A trial that was written."""

    progress: Progress
    checksum: int


def insert_trial(connection: Connection, progress: Progress, row: TrialRow) -> Written:
    """Write a new trial."""
    values = seal(trial_columns(progress.study, row, progress.revision))
    connection.execute(_INSERT_TRIAL, values)
    return Written(progress.advance(values[-1], row.told is not None), values[-1])


def retry_rolled_back(function: Function) -> Function:
    """Repeat a function that raises RolledBack, for two minutes at most."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        deadline: float | None = None
        while True:
            try:
                return function(*args, **kwargs)
            except RolledBack:
                deadline = monotonic() + SECONDS if deadline is None else deadline
                if monotonic() > deadline:
                    raise

    return wrapper  # type: ignore[return-value]


def defer_signals_and_note(function: Function) -> Function:
    """Defer signals during a function, and attach its failure as a note to an exception from a signal handler."""

    def note(failures: list[StorageError], *args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except StorageError as error:
            failures.append(error)
            raise

    deferred = defer_signals(note)

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        failures: list[StorageError] = []
        try:
            return deferred(failures, *args, **kwargs)
        except BaseException as error:
            if failures and error is not failures[0]:
                add_note(error, f"Earlier outcomes are not written: {failures[0]}")
            raise

    return wrapper  # type: ignore[return-value]
