"""Studies on disk: one SQLite file for several of them, one row a trial, JSON and never a pickle.

What a method here has returned from is committed, and survives kill -9 and power loss.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import did_you_mean
from bostruct.contracts import BostructError, Json
from bostruct.storage.locks import acquire, release
from bostruct.storage.open_files import OpenFiles
from bostruct.storage.schema import StorageError, StorageLost, connect

__all__ = [
    "StorageError",
    "StorageLost",
    "Store",
    "StudyMismatch",
    "StudyRow",
    "TrialRow",
    "dump",
    "study_rows",
]


class StudyMismatch(BostructError, ValueError):
    """A study of this name exists and was made otherwise; the message names the difference."""


class StudyRow(NamedTuple):
    """A study as the file holds it; domain, method, initial and state are JSON text."""

    name: str
    domain: str
    method: str
    seed: int
    direction: str
    initial: str
    state: str
    id: int = 0
    version: str = ""  # of bostruct, when the study was made


class TrialRow(NamedTuple):
    """A trial as the file holds it; point and info are JSON text, value in the user's direction."""

    number: int
    status: str
    point: str
    value: float | None
    reason: str | None
    info: str
    started: float
    finished: float | None
    told: int | None
    attempts: int


STUDY_COLUMNS = "name, domain, method, seed, direction, initial, state, id, version"
INSERT_STUDY = (
    "INTO studies (name, domain, method, seed, direction, initial, state, created, version)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
TRIAL_COLUMNS = ", ".join(TrialRow._fields)
INSERT_TRIAL = f"INSERT INTO trials (study, {TRIAL_COLUMNS}) VALUES ({', '.join('?' * (1 + len(TrialRow._fields)))})"


def dump(value: Any) -> str:
    """Return JSON text; numpy numbers and arrays as what they hold. Raises TypeError for what JSON cannot hold."""
    return json.dumps(value, default=_encode_numpy)


def _encode_numpy(value: Any) -> Json:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"expected plain JSON, got {type(value).__name__}")


class Store:
    """An open file, or a database in memory where `storage` is None; it may hold the writer's lock of one study.

    Raises StorageError where the file is not a sound one of ours, or is refused by the system.
    """

    def __init__(self, storage: str | os.PathLike[str] | None, *, read_only: bool = False) -> None:
        self.path = _as_path(storage)
        self.connection = connect(self.path, read_only=read_only)
        self.lost: StorageLost | None = None  # why nothing is written any more
        self._files = None if self.path is None else OpenFiles(self.path)
        self.study = 0
        self._out: set[int] = set()  # running trials that were handed out through this object
        self._process = os.getpid()
        self._lock: tuple[Path, int] | None = None

    def studies(self) -> list[StudyRow]:
        rows = self._read(f"SELECT {STUDY_COLUMNS} FROM studies ORDER BY id", ())
        return [StudyRow(*row)._replace(seed=int(row[3])) for row in rows]

    def find(self, name: str | None) -> StudyRow:
        """Return the study of this name, or the only one where name is None; StorageError says which there are."""
        rows = self.studies()
        found = [row for row in rows if name in (None, row.name)]
        if len(found) == 1:
            return found[0]
        names = ", ".join(repr(row.name) for row in rows) or "none"
        wanted = "name: expected one of its studies" if name is None else f"there is no study {name!r}"
        hint = did_you_mean(name, [row.name for row in rows])
        raise StorageError(f"{self.path}: {wanted}; it holds {names}{hint}")

    def begin(self, row: StudyRow) -> StudyRow:
        """Find a study by its name, or make it, and become its only writer.

        row: holds the name, and all that a new study is made of.

        Raises StudyLocked where somebody else is.
        """
        with self._transaction():
            self.connection.execute(f"INSERT OR IGNORE {INSERT_STUDY}", _study_values(row))
        self._become_writer(row.name)
        return self.find(row.name)  # after the lock: a writer that has just left may have moved it on

    def copy_study(self, row: StudyRow, trials: list[TrialRow], out: set[int]) -> None:
        """Write a whole study, or nothing, and become its only writer.

        row: the study.
        trials: all of them.
        out: numbers of the running trials that were handed out.

        Raises StorageError where the file holds a study of this name.
        """
        with self._transaction():
            cursor = self.connection.execute(f"INSERT OR IGNORE {INSERT_STUDY}", _study_values(row))
            if cursor.rowcount != 1:
                raise StorageError(f"{self.label}: holds a study {row.name!r} already; save this one in another file")
            self.connection.executemany(INSERT_TRIAL, [(cursor.lastrowid, *trial) for trial in trials])
        self._become_writer(row.name)
        self._out = out

    def _become_writer(self, name: str) -> None:
        study = self.find(name).id
        if self.path is not None:
            file = self.path.resolve()  # one lock however the file is spelled
            lock = file.with_name(f"{file.name}.{study}.lock")
            self._lock = (lock, acquire(lock, f"study {name!r} in {self.path}"))
        self.study = study

    def trials(self, study: int) -> list[TrialRow]:
        rows = self._read(f"SELECT {TRIAL_COLUMNS} FROM trials WHERE study = ? ORDER BY number", (study,))
        return [TrialRow(*row) for row in rows]

    def insert(self, row: TrialRow, state: str | None = None) -> None:
        """Write a new trial and, with it or not at all, the searcher's new state."""
        with self._transaction():
            self.connection.execute(INSERT_TRIAL, (self.study, *row))
            if state is not None:
                self.connection.execute("UPDATE studies SET state = ? WHERE id = ?", (state, self.study))
        self._note(row)

    def update(self, row: TrialRow) -> None:
        """Change a running trial, all but its point; raises StorageError where the file holds no such running trial."""
        with self._transaction():
            cursor = self.connection.execute(
                "UPDATE trials SET status = ?, value = ?, reason = ?, info = ?, started = ?, finished = ?, told = ?,"
                " attempts = ? WHERE study = ? AND number = ? AND status = 'running'",
                (row.status, row.value, row.reason, *row[5:], self.study, row.number),
            )
            if cursor.rowcount != 1:
                raise StorageError(f"{self.label}: trial {row.number} is not running there any more; load it again")
        self._note(row)

    def reopen(self, row: TrialRow) -> None:
        """Make a failed trial run again; raises StorageError where the file holds no such failed trial."""
        with self._transaction():
            cursor = self.connection.execute(
                "UPDATE trials SET status = ?, reason = ?, info = ?, finished = ?, told = ?, attempts = ?"
                " WHERE study = ? AND number = ? AND status = 'failed'",
                (row.status, row.reason, row.info, row.finished, row.told, row.attempts, self.study, row.number),
            )
            if cursor.rowcount != 1:
                raise StorageError(f"{self.label}: trial {row.number} is not failed there any more; load it again")

    def take_back(self, *numbers: int) -> None:
        """Note that running trials handed out here were given up in good order, not by a crash."""
        with self._transaction():
            self.connection.executemany(
                "UPDATE trials SET attempts = attempts - 1 WHERE study = ? AND number = ? AND status = 'running'",
                [(self.study, number) for number in numbers if number in self._out],
            )
        self._out.difference_update(numbers)

    def close(self) -> None:
        """Take running trials back, release the lock, close the file. Nothing in a forked child, or when repeated."""
        if not self.is_open:
            return
        try:
            with suppress(StorageLost):  # nobody will hand them out from a file that is gone
                if self._out:
                    self.take_back(*self._out)
        finally:
            self._let_go()
            self._process = 0

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, where the file is not in its place any more.

        Nothing in a forked child.
        """
        if self.lost is None and self._files is not None and self.is_open:
            try:
                change = self._files.find_change()
            except OSError as error:
                raise StorageError(f"{self.label}: cannot be looked at: {error.strerror}") from error
            if change is not None:
                self.lost = StorageLost(
                    f"{change} while the study was open: nothing is written there any more. All trials are in memory, "
                    "and so is every value that you tell; study.save(path) writes them to another file"
                )
        if self.lost is not None:
            self._let_go()  # not to disturb who opens a new file in its place
            raise StorageLost(str(self.lost))

    def _let_go(self) -> None:
        self.connection.close()
        if self._files is not None:
            self._files.close()
            self._files = None
        if self._lock is not None:
            release(*self._lock)
            self._lock = None

    def _note(self, row: TrialRow) -> None:
        if row.status == "running":
            self._out.add(row.number)
        else:
            self._out.discard(row.number)

    @property
    def is_open(self) -> bool:
        """True until it is closed, in the process that opened it."""
        return self._process == os.getpid()

    @property
    def label(self) -> str:
        """The name that messages give the storage: its path, or that it is in memory."""
        return str(self.path or "storage in memory")

    def _read(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            return self.connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StorageError(f"{self.label}: cannot be read: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self.path is not None and self._process not in (os.getpid(), 0):
            raise StorageError(f"{self.label}: a forked process has no part in a study of its parent; tell the parent")
        if self.lost is not None:
            raise StorageLost(str(self.lost))
        try:
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                self.check_place()
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.lost is None and self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            self.check_place()
            raise StorageError(f"{self.label}: cannot be written: {error}") from error


def _study_values(row: StudyRow) -> tuple[Any, ...]:
    return (*row[:3], str(row.seed), *row[4:7], time.time(), row.version)


def study_rows(storage: str | os.PathLike[str]) -> list[StudyRow]:
    """Return the studies in a file, oldest first, without opening any for writing; raise StorageError."""
    store = Store(storage, read_only=True)
    try:
        return store.studies()
    finally:
        store.close()


def finished_count(storage: str | os.PathLike[str]) -> int:
    """Count the finished trials of the only study in a file, without reading them; raise StorageError."""
    store = Store(storage, read_only=True)
    try:
        study = store.find(None).id
        counted = "SELECT COUNT(*) FROM trials WHERE study = ? AND status != 'running'"
        return int(store._read(counted, (study,))[0][0])
    finally:
        store.close()


def _as_path(storage: str | os.PathLike[str] | None) -> Path | None:
    if storage is None:
        return None
    if not isinstance(storage, str | os.PathLike) or not storage:
        raise StorageError(f"storage: expected the path of a file, or None; got {storage!r}")
    if isinstance(storage, str) and storage.startswith(":memory:"):
        raise StorageError(f"storage: expected the path of a file, or None, which keeps all in memory; got {storage!r}")
    if isinstance(storage, str) and "://" in storage:
        plain = re.sub(r"^sqlite:/{2,3}(?=.)", "", storage)
        hint = f"; give the plain path, storage={plain!r}" if plain != storage else ""
        raise StorageError(f"storage: expected the path of a file, or None; got {storage!r}{hint}")
    return Path(storage)
