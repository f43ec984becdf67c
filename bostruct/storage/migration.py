"""Files of older versions, brought forward: the old file is kept beside the new one."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from bostruct.storage.reading import read_studies, read_study
from bostruct.storage.schema import create_tables, read_version
from bostruct.storage.writing import insert_study


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a file of schema version 1 to the current version, in one transaction; a file that is there does nothing.

    The file as it was is kept as ``NAME.v1``, or as ``NAME.v1-2`` and so on where that exists.

    connection: to the file, outside a transaction, with a rollback journal: nobody else may have a log open.
    path: of the file.

    Raises StorageError where a row cannot be read, OSError or sqlite3.Error where nothing can be written; the file is
    left as it was then.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        if read_version(connection) == 1:  # another process may have been quicker
            studies = {
                one.progress.study: read_study(connection, one.study.name, str(path))[0]
                for one in read_studies(connection, str(path))
            }
            _keep_copy(path)
            for table in ("trials", "studies"):
                connection.execute(f"DROP TABLE {table}")
            create_tables(connection)
            for number, stored in studies.items():
                insert_study(connection, number, stored)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _keep_copy(path: Path) -> None:
    """Copy a file as it was before this transaction; another bostruct that would do so waits for the transaction."""
    descriptor, name = tempfile.mkstemp(".v1", f"{path.name}-", path.resolve().parent)
    try:
        source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        with closing(source), closing(sqlite3.connect(name)) as copy:
            source.backup(copy)
        os.fchmod(descriptor, path.stat().st_mode & 0o777)
        os.fsync(descriptor)
        os.rename(name, _free_name(path.resolve()))
        _sync_folder(path.resolve().parent)
    except BaseException:
        os.unlink(name)
        raise
    finally:
        os.close(descriptor)


def _free_name(path: Path) -> Path:
    kept, number = path.with_name(f"{path.name}.v1"), 1
    while os.path.lexists(kept):
        number += 1
        kept = path.with_name(f"{path.name}.v1-{number}")
    return kept


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
