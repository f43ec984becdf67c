"""Open database files safely: validate them without changes, and migrate older versions."""

from __future__ import annotations

import math
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep, time
from typing import NamedTuple
from urllib.parse import quote

from bostruct.checks import has_posix, short_repr
from bostruct.output_files import sync_folder
from bostruct.storage.files import OpenFile, check_system, is_cut_off, is_open_here, recognition
from bostruct.storage.protocol import StorageError
from bostruct.storage.reading import read_studies, read_study
from bostruct.storage.rows import HINT
from bostruct.storage.schema import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    TABLES,
    check_schema,
    check_version,
    create_tables,
    read_version,
)
from bostruct.storage.writing import insert_study

OLD_VERSIONS = range(1, SCHEMA_VERSION)
SQLITE_MAGIC = b"SQLite format 3\0"
WRITE_AHEAD_LOG = 2  # the format number in the header of files of schema version 1
BUSY_SECONDS = 30.0  # for the locks of other connections while a file is opened
TRY_SECONDS = 0.1  # for a lock within SQLite, which does not handle signals; longer waits are repeated
STOPPED = (
    "another process is reading or writing it; a process that was stopped, for example by Ctrl-Z, blocks others until "
    "it continues or is ended"
)
CUT_OFF = (
    "cannot be opened in this process, which was forked while another thread of its parent used the file: SQLite takes "
    "that thread's locks for locks of this process. Use multiprocessing.get_context('spawn') instead of forking, or "
    "fork while no other thread uses the file"
)
COMPANIONS = ("-journal", "-wal", "-shm")
SOUND_SECONDS = 10.0  # within which an unchanged file is not checked again, such as a file whose studies were listed
TICK_SECONDS = 0.1  # within which two changes of a file may have the same modification time
_sound: dict[tuple[int, ...], float] = {}  # time of the last successful check, by mark; of the last file only


class OpenedFile(NamedTuple):
    """An open database file.

    is_new: whether the file did not exist before.
    """

    connection: sqlite3.Connection
    file: OpenFile
    is_new: bool


def open_file(path: Path, *, read_only: bool) -> OpenedFile:
    """Open a database; it is created if it does not exist, unless `read_only`.

    Raises StorageError, without changes, for any file that is not a valid database of bostruct.
    """
    if not read_only and not has_posix():  # before anything is created
        raise StorageError(f"storage={str(path)!r}: study files need a POSIX system (flock); use storage=None")
    while (opened := _open_once(path, read_only)) is None:
        pass
    return opened


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Migrate a file of an older schema version in one transaction; a newer file is not changed.

    The original file is kept as ``NAME.v1`` or ``NAME.v2``, or as ``NAME.v1-2`` and so on if that exists.

    connection: to the file, outside a transaction, with a rollback journal: no other connection may have a log open.

    Raises StorageError if a row cannot be read, OSError or sqlite3.Error if nothing can be written; the file is then
    not changed.
    """
    with _writing(connection):
        version = read_version(connection)
        if version in OLD_VERSIONS:  # another process may have migrated it
            studies = {
                one.progress.study: read_study(connection, one.study.name, str(path), version).stored
                for one in read_studies(connection, str(path), version)
            }
            _keep_copy(path, version)
            for table in reversed(TABLES[version]):
                connection.execute(f"DROP TABLE {table}")
            create_tables(connection)
            for number, stored in studies.items():
                insert_study(connection, number, stored)


@contextmanager
def _writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit all changes at the end of a block, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _keep_copy(path: Path, version: int) -> None:
    """Copy the original file; another bostruct that would migrate it waits for this transaction."""
    descriptor, name = tempfile.mkstemp(f".v{version}", f"{path.name}-", path.resolve().parent)
    try:
        source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        with closing(source), closing(sqlite3.connect(name)) as copy:
            source.backup(copy)
        os.fchmod(descriptor, path.stat().st_mode & 0o777)
        os.fsync(descriptor)
        os.rename(name, _free_name(path.resolve(), version))
    except BaseException:
        os.unlink(name)
        raise
    finally:
        os.close(descriptor)
    sync_folder(path.resolve().parent)


def _free_name(path: Path, version: int) -> Path:
    kept, number = path.with_name(f"{path.name}.v{version}"), 1
    while os.path.lexists(kept):
        number += 1
        kept = path.with_name(f"{path.name}.v{version}-{number}")
    return kept


def _open_once(path: Path, read_only: bool) -> OpenedFile | None:
    """Open a database; None if it was removed meanwhile, such as by a process that failed to create a study."""
    try:
        is_new = not path.exists()
        with recognition:  # not while another thread opens the file
            header = _recognize(path, read_only)
            if is_cut_off(path):
                raise StorageError(f"{path}: {CUT_OFF}")
            file = OpenFile(path)
    except (OSError, RuntimeError) as error:  # RuntimeError for a cycle of links
        check_system(error)
        why = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"{short_repr(str(path))}: cannot be opened: {why}") from error
    with ExitStack() as undo:
        if is_new:
            undo.callback(_remove_empty, path.resolve())
        undo.callback(file.close)
        connection = _await_connection(path, header, read_only)
        undo.callback(connection.close)
        try:
            file.identify()
        except FileNotFoundError:
            return None
        except OSError as error:
            check_system(error)
            raise StorageError(f"{path}: cannot be accessed: {error.strerror}") from error
        undo.pop_all()
    return OpenedFile(connection, file, is_new)


def _remove_empty(path: Path) -> None:
    """Remove a file that was created for a database that could not be, for example because the disk is full."""
    with suppress(OSError), recognition:
        if not is_open_here(path) and os.stat(path).st_size == 0:
            os.unlink(path)


def _await_connection(path: Path, header: bytes, read_only: bool) -> sqlite3.Connection:
    """Return a connection; wait for other connections that hold the locks of the database."""
    until = monotonic() + BUSY_SECONDS
    while True:
        try:
            return _connect(path, header, read_only)
        except StorageError as error:
            cause = error.__cause__
            if not isinstance(cause, sqlite3.Error) or not is_busy(cause) or monotonic() > until:
                raise
        sleep(0.02)


def _connect(path: Path, header: bytes, read_only: bool) -> sqlite3.Connection:
    try:
        connection = _open_to_read(path, header) if read_only else _open_database(path, "rwc")
        try:
            _check_sound(connection, path)
            if not read_only:
                _prepare_to_write(connection, path)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:  # SQLite's messages about damage may not be UTF-8
        check_system(error)
        hint = f"; {STOPPED}" if isinstance(error, sqlite3.Error) and is_busy(error) else ""
        hint += HINT if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CORRUPT else ""
        raise StorageError(f"{path}: cannot be used as a study database: {error}{hint}") from error
    return connection


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether a statement failed because another connection holds a lock."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY  # errors of the module have no code


def _recognize(path: Path, read_only: bool) -> bytes:
    """Return the file header, checked before SQLite reads the file; empty for a file to be created."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if read_only:
            raise StorageError(f"{path}: no such file") from None
        if not path.parent.is_dir():
            raise StorageError(f"{path}: the directory {path.parent} does not exist") from None
        return b""
    if stat.S_ISDIR(mode):
        raise StorageError(f"{path}: is a directory; expected a file")
    if not stat.S_ISREG(mode):  # opening a FIFO would block
        raise StorageError(f"{path}: is not a regular file but a device, FIFO or socket")
    _check_companions(path.resolve())
    header = b"" if is_open_here(path) else _read_header(path, read_only)  # an open file was validated before
    if not read_only:
        names = path.stat().st_nlink
        if names > 1:  # SQLite would use another journal and lock for each name
            raise StorageError(f"{path}: has {names} names (hard links); remove all but one, or copy the file")
        if not os.access(path, os.W_OK):
            raise StorageError(f"{path}: is read-only; to read its studies use Study.load(..., read_only=True)")
    return header


def _check_companions(path: Path) -> None:
    """Raise for files that SQLite would follow, wait for, or overwrite as its journal."""
    for ending in COMPANIONS:
        companion = path.with_name(path.name + ending)
        try:
            mode = os.lstat(companion).st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(mode):
            raise StorageError(f"{companion}: is not a regular file, but has the name of SQLite's journal; remove it")


def _read_header(path: Path, read_only: bool) -> bytes:
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError as error:
        check_system(error)
        raise StorageError(f"{path}: cannot be read: {error.strerror}") from error
    if not header:
        if read_only:
            raise StorageError(f"{path}: is empty; it contains no study")
        return header
    if header[:16] != SQLITE_MAGIC or len(header) < 100:
        raise StorageError(f"{path}: is not a SQLite database; it is left unchanged")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StorageError(f"{path}: is a SQLite database of another application; it is left unchanged")
    check_version(path, int.from_bytes(header[60:64], "big"))
    return header


def _open_database(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=TRY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.text_factory = _decode
    return connection


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")  # damaged text is rejected with its row


def _open_to_read(path: Path, header: bytes) -> sqlite3.Connection:
    # A reader rolls back the transaction of a killed writer, and may have to share a log. If it may not write, a file
    # whose log is missing is not being written. Both lie next to the file itself, not next to a link.
    path = path.resolve()
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        mode = "rw"
    else:
        has_log = header[18:19] == bytes([WRITE_AHEAD_LOG]) and not path.with_name(path.name + "-wal").exists()
        mode = "ro&immutable=1" if has_log else "ro"
    connection = _open_database(path, mode)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _prepare_to_write(connection: sqlite3.Connection, path: Path) -> None:
    version = read_version(connection)
    if version == 0:
        with _writing(connection):
            if read_version(connection) == 0:  # another process may have created them
                create_tables(connection)
    elif version in OLD_VERSIONS:
        connection.execute("PRAGMA journal_mode = DELETE")  # fails while any connection has the log open
        migrate(connection, path)
    # Overwriting the journal after each commit, instead of removing it, is fastest; closing the file removes it.
    connection.execute("PRAGMA journal_mode = PERSIST")
    connection.execute("PRAGMA synchronous = FULL")  # commits survive power loss
    connection.execute("PRAGMA foreign_keys = ON")


def _check_sound(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StorageError if a file is damaged; not checked again if it passed seconds ago and is unchanged since."""
    connection.execute("BEGIN")  # a consistent snapshot
    try:
        check_schema(connection, path)
        mark = _find_mark(path)
        if mark is not None and monotonic() < _sound.get(mark, -math.inf) + SOUND_SECONDS:
            return
        problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if problem == "ok" and connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
            problem = "a row belongs to no study"
    finally:
        connection.execute("ROLLBACK")
    if problem != "ok":
        raise StorageError(f"{path}: is damaged ({problem}) and left unchanged{HINT}")
    if mark is not None:
        _sound.clear()
        _sound[mark] = monotonic()


def _find_mark(path: Path) -> tuple[int, ...] | None:
    """Return identity, size and times of a file; None if it was written just now, or does not exist any more."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    mark = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    return mark if facts.st_ctime + TICK_SECONDS < time() else None
