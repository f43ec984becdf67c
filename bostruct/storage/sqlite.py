"""Studies on disk: one SQLite file for several of them, one row a trial, JSON and never a pickle.

What a method here has returned from is committed, and survives kill -9 and power loss.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from bostruct.execution.interrupts import handle_deferred, make_lock
from bostruct.storage.files import OpenFile, check_system, check_writable
from bostruct.storage.locks import Seat, find_writers
from bostruct.storage.opening import STOPPED, is_busy, open_file
from bostruct.storage.protocol import (
    News,
    SpaceChange,
    Storage,
    StorageError,
    StorageLost,
    StoredStudy,
    StudyLocked,
    StudyRow,
    StudyWriter,
    TrialRow,
    explain_second,
)
from bostruct.storage.reading import find_in, find_study_key, read_studies, read_study
from bostruct.storage.schema import SCHEMA_VERSION, read_version
from bostruct.storage.writing import Replica, Step, insert_study, next_study

PATIENCE_SECONDS = 300.0  # for a step of another process, which takes milliseconds
LONG_SECONDS = 10.0  # of waiting, which is said once
log = logging.getLogger(__name__)


class SqliteStorage(Storage):
    """A file of studies, which is opened for each call.

    path: of the file; `begin` and `save` make it where it is absent. It is the label, as it was given.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.label = self.where = str(path)

    def studies(self) -> list[StudyRow]:
        with self.open_to_read() as database, database.reading() as connection:
            return [one.study for one in read_studies(connection, self.label, read_version(connection))]

    def read(self, name: str | None) -> StoredStudy:
        with self.open_to_read() as database, database.reading() as connection:
            return read_study(connection, name, self.label, read_version(connection)).stored

    def begin(self, row: StudyRow) -> tuple[StoredStudy, SqliteWriter]:
        def make(database: Database) -> None:
            with database.writing() as connection:
                if all(
                    one.study.name != row.name for one in read_studies(connection, self.label, read_version(connection))
                ):
                    insert_study(connection, next_study(connection), StoredStudy(row, []))

        return self._become_writer(row.name, make)

    def save(self, stored: StoredStudy) -> SqliteWriter:
        name = stored.study.name

        def make(database: Database) -> None:
            with database.writing() as connection:
                if any(
                    one.study.name == name for one in read_studies(connection, self.label, read_version(connection))
                ):
                    raise explain_second(self.label, name)
                insert_study(connection, next_study(connection), stored)

        return self._become_writer(name, make)[1]

    def find_writers(self) -> frozenset[str] | None:
        return find_writers(self._path)

    def find_revisions(self) -> object:
        """Return when the file was written last, its size and its number; None if it is not there."""
        try:
            facts = os.stat(self._path)
        except OSError:
            return None
        return facts.st_mtime_ns, facts.st_size, facts.st_ino

    def count_finished(self) -> int:
        """Count the finished trials of the only study, without reading them; raise StorageError."""
        with self.open_to_read() as database, database.reading() as connection:
            study = find_in(connection, None, self.label, read_version(connection)).progress.study
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

    def _become_writer(self, name: str, make: Callable[[Database], None]) -> tuple[StoredStudy, SqliteWriter]:
        database = Database(self._path, read_only=False)
        try:
            make(database)
            writer = SqliteWriter(database, name)
        except BaseException:
            database.undo()
            raise
        try:
            return writer.read(), writer
        except BaseException:
            writer.close()
            raise


class SqliteWriter(StudyWriter):
    """A writer of a study in a file, one of any number; it is gone when its process ends, however that ends.

    database: open for writing; it is closed with the writer.
    name: of the study, which is there.

    Raises StudyLocked where the file is on a network file system and somebody else writes the study, StorageError.
    """

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        with database.reading() as connection:
            self._key = find_study_key(connection, name, str(database.path), SCHEMA_VERSION)
        self._seat = Seat(database.path, self._key.study, name)
        self._replica = Replica(self._key)
        self._step: Step | None = None  # that is being made

    def read(self) -> StoredStudy:
        """Return the study as it is now, from which on `look` tells what changed."""
        with self._database.reading() as connection:
            return self._replica.take_all(read_study(connection, self._name, str(self._database.path), SCHEMA_VERSION))

    @property
    def lost(self) -> StorageLost | None:
        return self._database.lost

    @property
    def is_open(self) -> bool:
        return self._database.is_open

    @property
    def owner(self) -> str:
        return self._seat.owner

    @contextmanager
    def deciding(self) -> Iterator[None]:
        with self._seat.deciding():
            yield

    def find_gone(self, owners: AbstractSet[str]) -> set[str]:
        return {owner for owner in owners if self._seat.is_gone(owner)}

    @contextmanager
    def changing(self) -> Iterator[News]:
        with self._stepping() as step:
            yield self._replica.read_news(step)

    def look(self) -> News:
        with self._noting_loss(), self._database.reading() as connection:
            return self._replica.take(self._replica.read_update(connection))

    def insert(self, row: TrialRow, state: str | None = None) -> None:
        with self._stepping() as step:
            step.insert(row, state)

    def change(self, row: TrialRow, status: str) -> None:
        with self._stepping() as step:
            step.change(row, status)

    def take_back(self, *numbers: int) -> None:
        with self._stepping() as step:
            step.take_back(numbers)

    def change_space(self, change: SpaceChange, state: str) -> None:
        with self._stepping() as step:
            if (holder := self._seat.find_other()) is not None:
                raise StudyLocked(f"{self._key.where}: its space cannot be changed while it is open in {holder}")
            step.change_space(change, state)

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, where file, study or trials are not there any more."""
        with self._noting_loss():
            self._database.check_place()
            if self.is_open:
                with self._database.reading() as connection:
                    self._replica.check_rows(connection)

    def close(self) -> None:
        if self.is_open:
            try:
                self._database.close()
            finally:
                self._seat.leave()

    @contextmanager
    def _stepping(self) -> Iterator[Step]:
        """Give the step that is being made, or make one of its own of the block."""
        if self._step is not None:
            yield self._step
            return
        try:
            with self._noting_loss(), self._database.writing() as connection:
                self._seat.check_there()
                progress = self._key.read_progress(connection)
                self._step = step = Step(connection, progress, self._key.where)
                self._replica.begin(step)
                yield step
                after, self._step = step.finish(), None  # nothing more belongs to it while it is committed
        finally:
            self._step = None
        self._replica.end(step, after)

    @contextmanager
    def _noting_loss(self) -> Iterator[None]:
        """Write nothing any more once the file is lost, and leave the locks to whoever opens a new one in its place."""
        try:
            yield
        except StorageLost as error:
            self._seat.leave()
            raise self._database.lose(error) from error


class Database:
    """A connection to a file of studies, which is closed in the process that opened it alone.

    path: of the file.
    read_only: whether it must be there, and is not to be changed.

    Raises StorageError where the file is not a sound one of ours, or is refused by the system.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path = path
        if not read_only:
            check_writable(path)
        self.lost: StorageLost | None = None  # why nothing is written any more
        self._read_only = read_only
        # SQLite in a child that is forked in the middle of a transaction would take its file for locked for ever.
        self._mutex = make_lock(delays_forks=True)
        with self._mutex:
            self.connection, file, self._is_new = open_file(path, read_only=read_only)
            file.user = None
        self._file: OpenFile | None = file
        self._process = os.getpid()

    @property
    def is_open(self) -> bool:
        """True until it is closed, in the process that opened it."""
        return self._process == os.getpid()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for queries that see one moment; raise StorageError where they fail."""
        try:
            with self._transaction("BEGIN", "SELECT 1 FROM sqlite_master"):
                yield self.connection
        except sqlite3.Error as error:
            if not self._read_only:
                self.check_place()
            raise self._explain(error, "read") from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for changes that are all on disk at the end, or none; raise StorageError then."""
        if self._process not in (os.getpid(), 0):
            raise StorageError(f"{self.path}: a forked process has no part in a study of its parent; tell the parent")
        if self.lost is not None:
            raise StorageLost(str(self.lost))
        try:
            with self._transaction("BEGIN IMMEDIATE") as patience:
                self.check_place()
                yield self.connection
                while not patience.is_free(self.connection, "COMMIT"):  # others read, and it stays as it is
                    patience.wait()
        except sqlite3.Error as error:
            self.check_place()
            raise self._explain(error, "written") from error

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, where the file is not in its place any more.

        Nothing in a forked child.
        """
        if self.lost is None and self._file is not None and self.is_open:
            try:
                change = self._file.find_change()
            except OSError as error:
                check_system(error)
                raise StorageError(f"{self.path}: cannot be looked at: {error.strerror}") from error
            if change is not None:
                raise self.lose(StorageLost(f"{change} while the study was open"))
        if self.lost is not None:
            raise StorageLost(str(self.lost))

    def lose(self, error: StorageLost) -> StorageLost:
        """Write nothing any more, and return what is to be raised now.

        error: why, unless it was lost before.
        """
        if self.lost is None:
            self.lost = StorageLost(
                f"{error}. Nothing is written there any more. All trials are in memory, and so is every value that you "
                "tell; study.save(path) writes them to another file"
            )
            self._disconnect()  # not to disturb who opens a new file in its place
        return StorageLost(str(self.lost))

    def close(self) -> None:
        """Close the file; nothing in a forked child, or when repeated."""
        if not self.is_open:
            return
        with self._mutex:
            try:
                if self._file is not None and not self._read_only:
                    self._file.user = threading.get_ident()
                    with suppress(sqlite3.Error):  # another connection is writing, and does it when it is closed
                        self.connection.execute("PRAGMA journal_mode = DELETE")  # removes the journal, which is empty
            finally:
                self._disconnect()
                self._process = 0

    def undo(self) -> None:
        """Close a file that was opened in vain; remove it where it was made then, and nobody has put a study in it."""
        with self._mutex, suppress(sqlite3.Error, OSError):
            if self._is_new and self._file is not None and self._file.find_change() is None:
                self.connection.execute("BEGIN EXCLUSIVE")
                if self.connection.execute("SELECT 1 FROM studies").fetchone() is not None:
                    self.connection.execute("ROLLBACK")
                else:
                    path = self.path.resolve()
                    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
                    path.unlink()  # whoever waits for its lock finds that it is not there any more
                    self._disconnect()
        self.close()

    @contextmanager
    def _transaction(self, *statements: str) -> Iterator[_Patience]:
        """Begin a transaction by these statements, and roll back behind a block what is left of it.

        Raises sqlite3.Error where others keep its lock for minutes, StorageError within another transaction.
        """
        patience = _Patience(self.path, self._file)
        while True:
            with self._mutex:
                if self.connection.in_transaction:  # only in a signal handler, which comes while a COMMIT waits
                    raise StorageError(f"{self.path}: a signal handler cannot use a study that waits to be written")
                file = self._file
                try:
                    if file is not None:
                        file.user = threading.get_ident()
                    if patience.is_free(self.connection, *statements):
                        yield patience
                        return
                finally:
                    if self.lost is None and self._process != 0 and self.connection.in_transaction:
                        self.connection.execute("ROLLBACK")
                    if file is not None:
                        file.user = None
            patience.wait()

    def _explain(self, error: sqlite3.Error, what: str) -> StorageError:
        hint = f"; {STOPPED}" if is_busy(error) else ""
        return StorageError(f"{self.path}: cannot be {what}: {error}{hint}")

    def _disconnect(self) -> None:
        self.connection.close()
        if self._file is not None:
            self._file.close()
            self._file = None


class _Patience:
    """The time that a transaction waits for the locks of others, which the log mentions once.

    path: of the file, for messages.
    file: that is open; None where it is closed.
    """

    def __init__(self, path: Path, file: OpenFile | None) -> None:
        self._path, self._file = path, file
        self._began = monotonic()
        self._is_told = False

    def is_free(self, connection: sqlite3.Connection, *statements: str) -> bool:
        """Run statements, and tell whether their locks were free; raise sqlite3.Error where the time is over."""
        try:
            for statement in statements:
                connection.execute(statement).fetchall()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or monotonic() > self._began + PATIENCE_SECONDS:
                raise
            return False
        return True

    def wait(self) -> None:
        """Wait a moment, let signals be handled where they cut nothing in two, and say once that it takes long.

        Raises StorageError where this thread itself has the lock, as a finalizer or a signal handler may find.
        """
        if self._file is not None and self._file.is_used_by_caller():
            raise StorageError(f"{self._path}: this thread is in the middle of a step of another study of the file")
        handle_deferred()
        waited = monotonic() - self._began
        if not self._is_told and waited > LONG_SECONDS:
            log.warning("%s: waited %.0f s for it, and still waits; %s", self._path, waited, STOPPED)
            self._is_told = True
        sleep(0.01)
