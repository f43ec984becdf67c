"""Files of older versions, brought forward: the old file is kept beside the new one."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from bostruct.storage.reading import read_studies, read_study
from bostruct.storage.schema import SCHEMA_VERSION, TABLES, create_tables, read_version
from bostruct.storage.writing import insert_study

OLD_VERSIONS = range(1, SCHEMA_VERSION)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a file of an older schema version to the current one, in one transaction; a newer file stays as it is.

    The file as it was is kept as ``NAME.v1`` or ``NAME.v2``, or as ``NAME.v1-2`` and so on where that exists.

    connection: to the file, outside a transaction, with a rollback journal: nobody else may have a log open.
    path: of the file.

    Raises StorageError where a row cannot be read, OSError or sqlite3.Error where nothing can be written; the file is
    left as it was then.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
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
