"""Studies on disk: one SQLite file for several of them, one row a trial, JSON and never a pickle.

What a method here has returned from is committed, and survives kill -9 and power loss.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bostruct.storage.database import Database
from bostruct.storage.locks import acquire, release
from bostruct.storage.protocol import SpaceChange, StorageError, StorageLost, StoredStudy, StudyRow, TrialRow
from bostruct.storage.reading import find_in, read_studies, read_study
from bostruct.storage.writing import change_trial, find_trial, insert_change, insert_study, insert_trial, write_progress


class SqliteStorage:
    """A file of studies, which is opened for each call.

    path: of the file; `begin` and `save` make it where it is absent.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def label(self) -> str:
        """The path, as it was given."""
        return str(self._path)

    @property
    def where(self) -> str:
        """The path, as it was given."""
        return str(self._path)

    def studies(self) -> list[StudyRow]:
        with self.open_to_read() as database, database.reading() as connection:
            return [one.study for one in read_studies(connection, self.label)]

    def read(self, name: str | None) -> StoredStudy:
        with self.open_to_read() as database, database.reading() as connection:
            return read_study(connection, name, self.label)[0]

    def begin(self, row: StudyRow) -> tuple[StoredStudy, SqliteWriter]:
        def make(database: Database) -> None:
            with database.writing() as connection:
                if all(one.study.name != row.name for one in read_studies(connection, self.label)):
                    insert_study(connection, _next_id(connection), StoredStudy(row, []))

        writer = self._become_writer(row.name, make)
        try:
            return writer.read(), writer
        except BaseException:
            writer.close()
            raise

    def save(self, stored: StoredStudy) -> SqliteWriter:
        name = stored.study.name

        def make(database: Database) -> None:
            with database.writing() as connection:
                if any(one.study.name == name for one in read_studies(connection, self.label)):
                    raise StorageError(f"{self.label}: holds a study {name!r} already; save this one in another file")
                insert_study(connection, _next_id(connection), stored)

        return self._become_writer(name, make)

    def count_finished(self) -> int:
        """Count the finished trials of the only study, without reading them; raise StorageError."""
        with self.open_to_read() as database, database.reading() as connection:
            study = find_in(connection, None, self.label).progress.study
            counted = "SELECT COUNT(*) FROM trials WHERE study = ? AND status != 'running'"
            return int(connection.execute(counted, (study,)).fetchone()[0])

    @contextmanager
    def open_to_read(self) -> Iterator[Database]:
        """Open the file for as long as a block lasts; raise StorageError."""
        database = Database(self._path, read_only=True)
        try:
            yield database
        finally:
            database.close()

    def _become_writer(self, name: str, make: Callable[[Database], None]) -> SqliteWriter:
        database = Database(self._path, read_only=False)
        try:
            make(database)
            return SqliteWriter(database, name)
        except BaseException:
            database.close()
            raise


def _next_id(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM studies").fetchone()[0]


class SqliteWriter:
    """The only writer of a study in a file, by a lock that ends with its process.

    database: open for writing; it is closed with the writer.
    name: of the study, which is there.

    Raises StudyLocked where somebody else writes the study, StorageError.
    """

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._what = f"{database.path}: study {name!r}"
        with database.reading() as connection:
            found = find_in(connection, name, str(database.path))
        file = database.path.resolve()  # one lock however the file is spelled
        lock = file.with_name(f"{file.name}.{found.progress.study}.lock")
        self._lock: tuple[Path, int] | None = (lock, acquire(lock, f"study {name!r} in {database.path}"))
        self._progress = found.progress

    def read(self) -> StoredStudy:
        """Return the study; a writer that has just left may have moved it on before we had the lock."""
        with self._database.reading() as connection:
            stored, self._progress = read_study(connection, self._name, str(self._database.path))
        return stored

    @property
    def lost(self) -> StorageLost | None:
        """Why nothing is written any more; None as long as the file is in its place."""
        return self._database.lost

    @property
    def is_open(self) -> bool:
        """True until it is closed, in the process that opened it."""
        return self._database.is_open

    def insert(self, row: TrialRow, state: str | None = None) -> None:
        with self._writing() as connection:
            progress = insert_trial(connection, self._progress, row).advance(0, 0, state)
            write_progress(connection, progress)
        self._progress = progress

    def update(self, row: TrialRow) -> None:
        self._change(row, "running")

    def reopen(self, row: TrialRow) -> None:
        self._change(row, "failed")

    def take_back(self, *numbers: int) -> None:
        with self._writing() as connection:
            progress = self._progress
            for number in dict.fromkeys(numbers):
                before = find_trial(connection, progress.study, number, self._what)
                if before is not None and before.row.status == "running":
                    after = before.row._replace(attempts=before.row.attempts - 1)
                    progress = change_trial(connection, progress, before, after)
            write_progress(connection, progress)
        self._progress = progress

    def change_space(self, change: SpaceChange, state: str) -> None:
        with self._writing() as connection:
            counted = "SELECT COUNT(*) FROM changes WHERE study = ?"
            number = connection.execute(counted, (self._progress.study,)).fetchone()[0]
            progress = insert_change(connection, self._progress, number, change).advance(0, 0, state)
            write_progress(connection, progress)
        self._progress = progress

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, where the file is not in its place any more."""
        with self._unlocked_where_lost():
            self._database.check_place()

    def close(self) -> None:
        if self.is_open:
            try:
                self._database.close()
            finally:
                self._unlock()

    def _change(self, row: TrialRow, status: str) -> None:
        with self._writing() as connection:
            before = find_trial(connection, self._progress.study, row.number, self._what)
            if before is None or before.row.status != status:
                raise StorageError(f"{self._what}: trial {row.number} is not {status} there any more; load it again")
            progress = change_trial(connection, self._progress, before, row._replace(point=before.row.point))
            write_progress(connection, progress)
        self._progress = progress

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._unlocked_where_lost(), self._database.writing() as connection:
            yield connection

    @contextmanager
    def _unlocked_where_lost(self) -> Iterator[None]:
        """Leave the lock to whoever opens a new file in the place of one that is lost."""
        try:
            yield
        except StorageLost:
            self._unlock()
            raise

    def _unlock(self) -> None:
        if self._lock is not None:
            release(*self._lock)
            self._lock = None
