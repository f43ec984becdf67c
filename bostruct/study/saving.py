"""Save studies to other files: on demand, after the loss of their file, and as copies of whole files."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from bostruct.checks import count_own_frames
from bostruct.execution.interrupts import defer_signals
from bostruct.storage.backends import as_path
from bostruct.storage.protocol import Storage, StorageError, StorageLost, StudyWriter
from bostruct.storage.sqlite import SqliteStorage
from bostruct.study.ledger import Ledger


def write_copy(ledger: Ledger, storage: Storage, name: str | None = None) -> None:
    """Write a copy of a study to another storage; raise StorageError.

    name: name of the copy; None to keep the study's name.
    """
    store = storage.save(ledger.export(name))
    try:
        store.release(*ledger.evaluated)  # the process that opens the copy asks them again; no writer has died
    finally:
        store.close()


@defer_signals
def end(ledger: Ledger, mutex: AbstractContextManager[object]) -> None:
    """Close the storage of a study; if its file is lost, write the study to a new file and warn."""
    with mutex:
        if ledger.store is not None and ledger.store.is_open:
            _end(ledger, ledger.store)


def _end(ledger: Ledger, store: StudyWriter) -> None:
    try:
        ledger.give_back(ledger.in_flight.items())
    except StorageLost:  # no process will ask them again from a lost file
        pass
    except StorageError as error:
        warnings.warn(
            f"study {ledger.name!r}: its running trials could not be requeued. They are requeued once this process "
            f"is known to have ended: {error}",
            stacklevel=count_own_frames(),
        )
    finally:
        lost = store.lost
        store.close()
    if lost is not None:
        _rescue(ledger)


def _rescue(ledger: Ledger) -> None:
    file = ledger.file
    lost = ledger.label if file is None else file
    file = Path.cwd() / "study.db" if file is None else file
    for folder in (file.parent, Path(tempfile.gettempdir())):
        try:
            found = _save_in(folder, file, ledger)
        except (OSError, StorageError) as error:  # the folder is lost too, full, or not writable
            why = str(error)
        else:
            warnings.warn(
                f"{lost} was lost while study {ledger.name!r} was open; the study was saved to {found}",
                stacklevel=count_own_frames(),
            )
            return
    warnings.warn(
        f"{lost} was lost while study {ledger.name!r} was open, and the study was lost, too: {why}",
        stacklevel=count_own_frames(),
    )


def _save_in(folder: Path, lost: Path, ledger: Ledger) -> str:
    descriptor, file = tempfile.mkstemp(lost.suffix, f"{lost.stem}-rescued-", folder)
    os.close(descriptor)
    try:
        write_copy(ledger, SqliteStorage(Path(file)))
    except BaseException:
        os.unlink(file)
        raise
    return file


def copy_file(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy a file of studies as a consistent snapshot, even while it is written.

    Raises StorageError if the source is not a file with studies, or the target exists or cannot be written.
    """
    storage, target = SqliteStorage(as_path(source)), as_path(target)
    if not storage.studies():
        raise StorageError(f"{storage.label}: holds no study to copy")
    with storage.open_to_read() as database, new_file(target), database.reading() as connection:
        try:
            with closing(sqlite3.connect(target)) as copy:
                connection.backup(copy)
        except sqlite3.Error as error:
            raise StorageError(f"{target}: cannot be written: {error}") from error


@contextmanager
def new_file(target: str | os.PathLike[str]) -> Iterator[None]:
    """Create an empty file for a block that writes it, and remove the file if the block raises.

    Raises StorageError if the file exists or cannot be created.
    """
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError as error:
        raise StorageError(f"{target}: exists already; expected the name of a new file") from error
    except OSError as error:
        raise StorageError(f"{target}: cannot be written: {error.strerror}") from error
    try:
        yield
    except BaseException:
        os.unlink(target)
        raise
