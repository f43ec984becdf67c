"""One open database file: its transactions, and what happens where the file is lost under it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bostruct.storage.folders import check_writable
from bostruct.storage.open_files import OpenFile
from bostruct.storage.opening import connect
from bostruct.storage.protocol import StorageError, StorageLost


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
        self.connection = connect(path, read_only=read_only)
        self.lost: StorageLost | None = None  # why nothing is written any more
        self._read_only = read_only
        self._file: OpenFile | None = OpenFile(path)
        self._process = os.getpid()

    @property
    def is_open(self) -> bool:
        """True until it is closed, in the process that opened it."""
        return self._process == os.getpid()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for queries that see one moment; raise StorageError where they fail."""
        try:
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            if not self._read_only:
                self.check_place()
            raise StorageError(f"{self.path}: cannot be read: {error}") from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for changes that are all on disk at the end, or none; raise StorageError then."""
        if self._process not in (os.getpid(), 0):
            raise StorageError(f"{self.path}: a forked process has no part in a study of its parent; tell the parent")
        if self.lost is not None:
            raise StorageLost(str(self.lost))
        try:
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                self.check_place()
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.lost is None and self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            self.check_place()
            raise StorageError(f"{self.path}: cannot be written: {error}") from error

    def check_place(self) -> None:
        """Raise StorageLost, now and at every later change, where the file is not in its place any more.

        Nothing in a forked child.
        """
        if self.lost is None and self._file is not None and self.is_open:
            try:
                change = self._file.find_change()
            except OSError as error:
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
        try:
            if self._file is not None and not self._read_only:
                with suppress(sqlite3.Error):  # another connection is writing, and does it when it is closed
                    self.connection.execute("PRAGMA journal_mode = DELETE")  # removes the journal, which is empty
        finally:
            self._disconnect()
            self._process = 0

    def _disconnect(self) -> None:
        self.connection.close()
        if self._file is not None:
            self._file.close()
            self._file = None
