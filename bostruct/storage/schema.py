"""The database file: its tables, how it is recognized, and how it is opened without harming what is not ours."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from urllib.parse import quote

from bostruct.contracts import BostructError
from bostruct.storage.open_files import is_open_here

APPLICATION_ID = 0x626F7374  # "bost", in the file's header
SQLITE_MAGIC = b"SQLite format 3\0"
BUSY_SECONDS = 30.0

# Entry k takes a file from schema version k to k + 1; the last version is the current one. Entries never change.
MIGRATIONS = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        """
    CREATE TABLE studies (
        id        INTEGER PRIMARY KEY,
        name      TEXT NOT NULL UNIQUE,
        domain    TEXT NOT NULL,          -- JSON: the search space
        method    TEXT NOT NULL,          -- JSON: name, searcher, settings
        seed      TEXT NOT NULL,          -- decimal: may exceed 64 bits
        direction TEXT NOT NULL CHECK (direction IN ('minimize', 'maximize')),
        initial   TEXT NOT NULL,          -- JSON: the user's own first points
        state     TEXT NOT NULL,          -- JSON: what the searcher needs at the next ask
        created   REAL NOT NULL,          -- seconds since the epoch
        version   TEXT NOT NULL           -- of bostruct, when created
    )""",
        """
    CREATE TABLE trials (
        id       INTEGER PRIMARY KEY,
        study    INTEGER NOT NULL REFERENCES studies (id),
        number   INTEGER NOT NULL,
        status   TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'infeasible')),
        point    TEXT NOT NULL,           -- JSON
        value    REAL,                    -- in the user's direction; NULL unless completed
        reason   TEXT,                    -- NULL unless failed or infeasible
        info     TEXT NOT NULL,           -- JSON: how it was chosen, what that cost
        started  REAL NOT NULL,           -- seconds since the epoch
        finished REAL,
        told     INTEGER,                 -- position in the order of telling, from 0
        attempts INTEGER NOT NULL,        -- times handed out, less the times taken back in good order
        UNIQUE (study, number)
    )""",
    ),
)
SCHEMA_VERSION = len(MIGRATIONS)


class StorageError(BostructError):
    """The file cannot be used; the message names it and says why. Nothing in it was changed."""


class StorageLost(StorageError):
    """The file was removed, renamed, replaced or emptied while a study had it open; what is told stays in memory."""


def connect(path: Path | None, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a database, created where absent.

    path: of its file, None for one in memory.
    read_only: the database must be there, and none of its studies can be changed.

    Raises StorageError for anything that is not a sound database of ours, and leaves it as it was.
    """
    if path is None:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        _migrate(connection)
        return connection
    _recognize(path, read_only)
    try:
        if read_only:
            return _open_to_read(path)
        connection = _open_database(path, "rwc")
        try:
            _prepare_to_write(connection, path)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise StorageError(f"{path}: cannot be used as a study database: {error}") from error
    return connection


def _recognize(path: Path, read_only: bool) -> None:
    """By the raw header, before SQLite may touch the file."""
    if path.is_dir():
        raise StorageError(f"{path}: is a directory; expected a file")
    if not path.exists():
        if read_only:
            raise StorageError(f"{path}: no such file")
        if not path.parent.is_dir():
            raise StorageError(f"{path}: the directory {path.parent} does not exist")
        return
    if not is_open_here(path):  # where it is, it was recognized then
        _check_header(path, read_only)
    if read_only:
        return
    _check_hard_links(path)
    if not os.access(path, os.W_OK):
        raise StorageError(f"{path}: is read-only; to look at its studies use Study.load(..., read_only=True)")


def _check_header(path: Path, read_only: bool) -> None:
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror}") from error
    if not header:
        if read_only:
            raise StorageError(f"{path}: is empty; it holds no study")
        return
    if header[:16] != SQLITE_MAGIC or len(header) < 100:
        raise StorageError(f"{path}: is not a SQLite database; it is left as it is")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StorageError(f"{path}: is a SQLite database of another application; it is left as it is")
    _check_version(path, int.from_bytes(header[60:64], "big"))


def _check_hard_links(path: Path) -> None:
    names = path.stat().st_nlink
    if names > 1:  # its log and its lock would be other files under each name
        raise StorageError(f"{path}: has {names} names (hard links); remove all but one, or copy the file")


def _check_version(path: Path, version: int) -> None:
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path}: was written by a newer bostruct (schema version {version}; this one knows up to "
            f"{SCHEMA_VERSION}); "
            "upgrade bostruct to open it"
        )


def _open_database(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _open_to_read(path: Path) -> sqlite3.Connection:
    # A reader of a write-ahead log shares files with its writer, and makes them where there is none. Where it may not,
    # and there are none, nobody is writing. They lie beside the file itself, not beside a link to it.
    path = path.resolve()
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        mode = "rw"
    else:
        mode = "ro" if path.with_name(path.name + "-wal").exists() else "ro&immutable=1"
    connection = _open_database(path, mode)
    try:
        connection.execute("PRAGMA query_only = ON")
        _check_sound(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare_to_write(connection: sqlite3.Connection, path: Path) -> None:
    _check_sound(connection, path)
    _migrate(connection)
    _retry_while_busy(connection, "PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # a commit survives power loss
    connection.execute("PRAGMA foreign_keys = ON")


def _check_sound(connection: sqlite3.Connection, path: Path) -> None:
    problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise StorageError(f"{path}: is damaged ({problem}); it is left as it is")
    _check_version(path, _read_version(connection))


def _read_version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _migrate(connection: sqlite3.Connection) -> None:
    if _read_version(connection) == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(
            _read_version(connection), SCHEMA_VERSION
        ):  # read again: another process may have been quicker
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _retry_while_busy(connection: sqlite3.Connection, statement: str) -> None:
    # Switching to the write-ahead log does not wait for other connections by itself.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
