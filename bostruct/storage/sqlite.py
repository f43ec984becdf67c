"""Studies in a SQLite file: several studies per file, one row per trial, as JSON, never as a pickle.

When a method has returned, its changes are committed and survive kill -9 and power loss.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

from bostruct.execution.interrupts import handle_deferred, make_lock
from bostruct.storage.files import OpenFile, check_system, check_writable
from bostruct.storage.locks import FileWriterLock, find_writers
from bostruct.storage.opening import STOPPED, is_busy, open_file
from bostruct.storage.postgresql.sql import Connection
from bostruct.storage.protocol import SpaceChange, StorageError, StorageLost, StoredStudy, explain_second
from bostruct.storage.reading import find_in, find_study_key, read_studies
from bostruct.storage.row_storage import RowStorage, RowWriter
from bostruct.storage.rows import Progress
from bostruct.storage.schema import SCHEMA_VERSION, read_version
from bostruct.storage.writing import insert_study, next_study

T = TypeVar("T")
PATIENCE_SECONDS = 300.0  # for a transaction of another process, which takes milliseconds
LONG_SECONDS = 10.0  # after which a wait is logged, once
log = logging.getLogger(__name__)


class SqliteStorage(RowStorage):
    """A file of studies, opened for each call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.label = self.where = str(path)

    def find_writers(self) -> frozenset[str] | None:
        return find_writers(self._path)

    def find_revisions(self) -> object:
        """Return the modification time, size and inode of the file; None if it does not exist."""
        try:
            facts = os.stat(self._path)
        except OSError:
            return None
        return facts.st_mtime_ns, facts.st_size, facts.st_ino

    def count_finished(self) -> int:
        """Count the finished trials of the only study, without reading them; raise StorageError."""

        def count(connection: Connection, version: int) -> int:
            study = find_in(connection, None, self.label, version).progress.study
            counted = "SELECT COUNT(*) FROM trials WHERE study = ? AND status != 'running'"
            ((finished,),) = connection.execute(counted, (study,)).fetchall()
            return finished

        return self._read(count)

    def open_to_read(self) -> AbstractContextManager[Database]:
        """Open the file during a block; raise StorageError."""
        return closing(Database(self._path, read_only=True))

    def _read(self, work: Callable[[Connection, int], T]) -> T:
        with self.open_to_read() as database, database.reading() as connection:
            return work(connection, read_version(connection))

    def _open_writer(self, stored: StoredStudy, *, is_new: bool) -> SqliteWriter:
        name = stored.study.name
        database = Database(self._path, read_only=False)
        try:
            with database.writing() as connection:
                found = read_studies(connection, self.label, read_version(connection))
                if all(one.study.name != name for one in found):
                    insert_study(connection, next_study(connection), stored)
                elif is_new:
                    raise explain_second(self.label, name)
            return SqliteWriter(database, name)
        except BaseException:
            database.undo()
            raise


class SqliteWriter(RowWriter):
    """A writer of a study in a file; it ends with its process, even if that is killed.

    Raises StudyLocked if the file is on a network file system and another process writes the study, StorageError.
    """

    _lock: FileWriterLock

    def __init__(self, database: Database, name: str) -> None:
        self._database, label = database, str(database.path)
        with database.reading() as connection:
            key = find_study_key(connection, name, label, SCHEMA_VERSION)
        super().__init__(key, name, label, FileWriterLock(database.path, key.study, name))

    @property
    def lost(self) -> StorageLost | None:
        return self._database.lost

    @property
    def is_open(self) -> bool:
        return self._database.is_open

    def change_space(self, change: SpaceChange, state: str) -> None:
        with self._open_transaction() as transaction:
            self.check_alone()
            transaction.change_space(change, state)

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, if the file, the study or trials no longer exist."""
        with self._noting_loss():
            self._database.check_place()
            if self.is_open:
                self._read(self._snapshot.check_rows)

    def close(self) -> None:
        if self.is_open:
            try:
                self._database.close()
            finally:
                self._lock.leave()

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self._database.reading() as connection:
            return work(connection)

    @contextmanager
    def _transaction(self) -> Iterator[tuple[Connection, Progress]]:
        with self._database.writing() as connection:
            self._lock.check_there()
            yield connection, self._key.read_progress(connection)

    def _lose(self, error: StorageLost) -> StorageLost:
        return self._database.lose(error)


class Database:
    """A connection to a file of studies, closed only in the process that opened it.

    read_only: whether the file must exist and must not be changed.

    Raises StorageError if the file is not a valid database of bostruct, or the system denies access.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path = path
        if not read_only:
            check_writable(path)
        self.lost: StorageLost | None = None  # the reason why nothing can be written
        self._read_only = read_only
        # SQLite in a child that is forked during a transaction would consider its file locked forever.
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
        """Yield the connection for queries on a consistent snapshot; raise StorageError if they fail."""
        try:
            with self._transaction("BEGIN", "SELECT 1 FROM sqlite_master"):
                yield self.connection
        except sqlite3.Error as error:
            if not self._read_only:
                self.check_place()
            raise self._explain(error, "read") from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection for changes that are committed together at the end; raise StorageError if that fails."""
        if self._process not in (os.getpid(), 0):
            raise StorageError(f"{self.path}: a forked process cannot use its parent's study; call tell in the parent")
        if self.lost is not None:
            raise StorageLost(str(self.lost))
        try:
            with self._transaction("BEGIN IMMEDIATE") as patience:
                self.check_place()
                yield self.connection
                while not patience.is_free(self.connection, "COMMIT"):  # others read; the transaction stays open
                    patience.wait()
        except sqlite3.Error as error:
            self.check_place()
            raise self._explain(error, "written") from error

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, if the file was removed or replaced.

        No effect in a forked child.
        """
        if self.lost is None and self._file is not None and self.is_open:
            try:
                change = self._file.find_change()
            except OSError as error:
                check_system(error)
                raise StorageError(f"{self.path}: cannot be accessed: {error.strerror}") from error
            if change is not None:
                raise self.lose(StorageLost(f"{change} while the study was open"))
        if self.lost is not None:
            raise StorageLost(str(self.lost))

    def lose(self, error: StorageLost) -> StorageLost:
        """Stop writing, and return the error to raise."""
        if self.lost is None:
            self.lost = StorageLost(
                f"{error}. Nothing is written there any more. All trials are in memory, and so is every value that you "
                "tell; study.save(path) writes them to another file"
            )
            self._disconnect()  # so as not to disturb a new file in its place
        return StorageLost(str(self.lost))

    def close(self) -> None:
        """Close the file; no effect in a forked child, or when repeated."""
        if not self.is_open:
            return
        with self._mutex:
            try:
                if self._file is not None and not self._read_only:
                    self._file.user = threading.get_ident()
                    with suppress(sqlite3.Error):  # another connection is writing, and removes it when it is closed
                        self.connection.execute("PRAGMA journal_mode = DELETE")  # removes the journal, which is empty
            finally:
                self._disconnect()
                self._process = 0

    def undo(self) -> None:
        """Close a file after a failed opening; remove it if it was created then and contains no study."""
        with self._mutex, suppress(sqlite3.Error, OSError):
            if self._is_new and self._file is not None and self._file.find_change() is None:
                self.connection.execute("BEGIN EXCLUSIVE")
                if self.connection.execute("SELECT 1 FROM studies").fetchone() is not None:
                    self.connection.execute("ROLLBACK")
                else:
                    path = self.path.resolve()
                    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
                    path.unlink()  # processes that wait for its lock find it removed
                    self._disconnect()
        self.close()

    @contextmanager
    def _transaction(self, *statements: str) -> Iterator[_Patience]:
        """Begin a transaction with these statements, and roll back uncommitted changes after a block.

        Raises sqlite3.Error if others keep its lock for minutes, StorageError within another transaction.
        """
        patience = _Patience(self.path, self._file)
        while True:
            with self._mutex:
                if self.connection.in_transaction:  # only in a signal handler, during a COMMIT that waits
                    raise StorageError(f"{self.path}: a signal handler cannot use a study during its COMMIT")
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
    """The waiting time of a transaction for the locks of others, which is logged once.

    file: the open file; None if it is closed.
    """

    def __init__(self, path: Path, file: OpenFile | None) -> None:
        self._path, self._file = path, file
        self._began = monotonic()
        self._is_logged = False

    def is_free(self, connection: sqlite3.Connection, *statements: str) -> bool:
        """Run statements, and return whether their locks were free; raise sqlite3.Error after a timeout."""
        try:
            for statement in statements:
                connection.execute(statement).fetchall()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or monotonic() > self._began + PATIENCE_SECONDS:
                raise
            return False
        return True

    def wait(self) -> None:
        """Sleep briefly, handle signals if that is safe, and log a long wait once.

        Raises StorageError if this thread itself holds the lock, which is possible in a finalizer or a signal handler.
        """
        if self._file is not None and self._file.is_used_by_caller():
            raise StorageError(f"{self._path}: this thread is in a transaction of another study of the file")
        handle_deferred()
        waited = monotonic() - self._began
        if not self._is_logged and waited > LONG_SECONDS:
            log.warning("%s: waited %.0f s for its lock, still waiting; %s", self._path, waited, STOPPED)
            self._is_logged = True
        sleep(0.01)
