"""Database files, opened without harming what is not ours or is not sound; older versions are brought forward."""

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
from bostruct.storage.files import OpenFile, check_system, is_cut_off, is_open_here, recognition
from bostruct.storage.protocol import StorageError
from bostruct.storage.reading import read_studies, read_study
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
WRITE_AHEAD_LOG = 2  # the format that the header names of files of schema version 1
BUSY_SECONDS = 30.0  # for the locks of other connections while a file is opened
TRY_SECONDS = 0.1  # for a lock within SQLite, which hears no signals; whoever waits longer tries again
STOPPED = (
    "another process is reading or writing it, and one that was stopped, as by Ctrl-Z, keeps others waiting until it "
    "goes on or is ended"
)
CUT_OFF = (
    "cannot be opened in this process, which was forked while another thread of its parent used the file: SQLite takes "
    "that thread's locks for locks of this process. Start a process in place of forking one, as "
    "multiprocessing.get_context('spawn') does, or fork while no other thread uses the file"
)
COMPANIONS = ("-journal", "-wal", "-shm")
SOUND_SECONDS = 10.0  # in which a file is not read again that was sound, as by who lists its studies and opens one
TICK_SECONDS = 0.1  # in which a file may change twice and show one time
_sound: dict[tuple[int, ...], float] = {}  # when it was found, of the last file


class OpenedFile(NamedTuple):
    """A database file that is open.

    is_new: whether the file was not there before.
    """

    connection: sqlite3.Connection
    file: OpenFile
    is_new: bool


def open_file(path: Path, *, read_only: bool) -> OpenedFile:
    """Open a database, created where absent and not read only.

    Raises StorageError for anything that is not a sound database of ours, and leaves it as it was.
    """
    if not read_only and not has_posix():  # before anything is made
        raise StorageError(f"storage={str(path)!r}: study files need a POSIX system (flock); use storage=None")
    while (opened := _open_once(path, read_only)) is None:
        pass
    return opened


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a file of an older schema version to the current one, in one transaction; a newer file stays as it is.

    The file as it was is kept as ``NAME.v1`` or ``NAME.v2``, or as ``NAME.v1-2`` and so on if that exists.

    connection: to the file, outside a transaction, with a rollback journal: nobody else may have a log open.

    Raises StorageError if a row cannot be read, OSError or sqlite3.Error if nothing can be written; the file is
    left as it was then.
    """
    with _writing(connection):
        version = read_version(connection)
        if version in OLD_VERSIONS:  # another process may have been quicker
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
    """Make all changes of a block at its end, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _keep_copy(path: Path, version: int) -> None:
    """Copy an old file as it was before this transaction, for which another bostruct that would do so waits."""
    descriptor, name = tempfile.mkstemp(f".v{version}", f"{path.name}-", path.resolve().parent)
    try:
        source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        with closing(source), closing(sqlite3.connect(name)) as copy:
            source.backup(copy)
        os.fchmod(descriptor, path.stat().st_mode & 0o777)
        os.fsync(descriptor)
        os.rename(name, _free_name(path.resolve(), version))
        _sync_folder(path.resolve().parent)
    except BaseException:
        os.unlink(name)
        raise
    finally:
        os.close(descriptor)


def _free_name(path: Path, version: int) -> Path:
    kept, number = path.with_name(f"{path.name}.v{version}"), 1
    while os.path.lexists(kept):
        number += 1
        kept = path.with_name(f"{path.name}.v{version}-{number}")
    return kept


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_once(path: Path, read_only: bool) -> OpenedFile | None:
    """Open a database; None if it was removed meanwhile, as by who had made it, and could not put a study in it."""
    try:
        is_new = not path.exists()
        with recognition:  # and not while another thread opens the file
            header = _recognize(path, read_only)
            if is_cut_off(path):
                raise StorageError(f"{path}: {CUT_OFF}")
            file = OpenFile(path)
    except (OSError, RuntimeError) as error:  # RuntimeError of a loop of links
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
            raise StorageError(f"{path}: cannot be looked at: {error.strerror}") from error
        undo.pop_all()
    return OpenedFile(connection, file, is_new)


def _remove_empty(path: Path) -> None:
    """Remove a file that was made for a database which could not be, as if the disk is full."""
    with suppress(OSError), recognition:
        if not is_open_here(path) and os.stat(path).st_size == 0:
            os.unlink(path)


def _await_connection(path: Path, header: bytes, read_only: bool) -> sqlite3.Connection:
    """Return a connection, and wait for others that hold the locks of the database."""
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
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:  # text of SQLite about damage may be no UTF-8
        check_system(error)
        hint = f"; {STOPPED}" if isinstance(error, sqlite3.Error) and is_busy(error) else ""
        raise StorageError(f"{path}: cannot be used as a study database: {error}{hint}") from error
    return connection


def is_busy(error: sqlite3.Error) -> bool:
    """Tell whether a statement failed because another connection holds a lock."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY  # errors of the module have no code


def _recognize(path: Path, read_only: bool) -> bytes:
    """Return the raw header, by which a file is known before SQLite may touch it; empty for one that is to be made."""
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
    if not stat.S_ISREG(mode):  # to open a FIFO would wait for its other end
        raise StorageError(f"{path}: is no regular file but a device, FIFO or socket")
    _check_companions(path.resolve())
    header = b"" if is_open_here(path) else _read_header(path, read_only)  # where it is open, it was recognized then
    if not read_only:
        names = path.stat().st_nlink
        if names > 1:  # its journal and its lock would be other files under each name
            raise StorageError(f"{path}: has {names} names (hard links); remove all but one, or copy the file")
        if not os.access(path, os.W_OK):
            raise StorageError(f"{path}: is read-only; to look at its studies use Study.load(..., read_only=True)")
    return header


def _check_companions(path: Path) -> None:
    """Refuse what SQLite would follow, wait for, or overwrite in the place of its journal."""
    for ending in COMPANIONS:
        companion = path.with_name(path.name + ending)
        try:
            mode = os.lstat(companion).st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(mode):
            raise StorageError(f"{companion}: is no regular file, and stands where SQLite keeps its journal; remove it")


def _read_header(path: Path, read_only: bool) -> bytes:
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError as error:
        check_system(error)
        raise StorageError(f"{path}: cannot be read: {error.strerror}") from error
    if not header:
        if read_only:
            raise StorageError(f"{path}: is empty; it holds no study")
        return header
    if header[:16] != SQLITE_MAGIC or len(header) < 100:
        raise StorageError(f"{path}: is not a SQLite database; it is left as it is")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StorageError(f"{path}: is a SQLite database of another application; it is left as it is")
    check_version(path, int.from_bytes(header[60:64], "big"))
    return header


def _open_database(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=TRY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.text_factory = _decode
    return connection


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")  # damaged text is refused with the row that holds it


def _open_to_read(path: Path, header: bytes) -> sqlite3.Connection:
    # A reader rolls back what a killed writer left half written, and may have to share a log. Where it may not write,
    # a file with a log that is not there is not being written. Both lie beside the file itself, not beside a link.
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
            if read_version(connection) == 0:  # another process may have been quicker
                create_tables(connection)
    elif version in OLD_VERSIONS:
        connection.execute("PRAGMA journal_mode = DELETE")  # refused while anybody has the log open
        migrate(connection, path)
    # A journal that is overwritten, not removed, after each commit costs least; it is gone once the file is closed.
    connection.execute("PRAGMA journal_mode = PERSIST")
    connection.execute("PRAGMA synchronous = FULL")  # a commit survives power loss
    connection.execute("PRAGMA foreign_keys = ON")


def _check_sound(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StorageError if a file is not as SQLite wrote it; one that was sound seconds ago is, if nobody wrote it."""
    connection.execute("BEGIN")  # all of one moment
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
        raise StorageError(f"{path}: is damaged ({problem}); it is left as it is")
    if mark is not None:
        _sound.clear()
        _sound[mark] = monotonic()


def _find_mark(path: Path) -> tuple[int, ...] | None:
    """Return what any change of a file changes; None if it was written just now, or is not there any more."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    mark = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    return mark if facts.st_ctime + TICK_SECONDS < time() else None
