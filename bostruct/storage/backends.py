"""Select the storage back end for the argument `storage=`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bostruct.checks import short_repr
from bostruct.storage.documents import MemoryStorage
from bostruct.storage.postgresql.connecting import hide_passwords, is_connection
from bostruct.storage.postgresql.connecting import is_url as is_postgresql
from bostruct.storage.postgresql.storage import PostgresqlStorage
from bostruct.storage.protocol import NoStorage, Storage, StorageError
from bostruct.storage.sqlite import SqliteStorage


def open_storage(given: str | os.PathLike[str] | Storage | None) -> Storage:
    """Return the storage for an argument; raise StorageError for an invalid one.

    given: a file path, the URL of a PostgreSQL database, None for memory, or a custom back end.
    """
    if given is None:
        return MemoryStorage()
    if isinstance(given, Storage):
        return given
    return PostgresqlStorage(given) if is_postgresql(given) else SqliteStorage(as_path(given))


def as_path(given: str | os.PathLike[str]) -> Path:
    """Return the path of a file; raise StorageError for anything else."""
    if not isinstance(given, str | os.PathLike):
        raise NoStorage(
            "storage: expected the path of a file, a bostruct.storage.Storage (subclass it), or None; "
            f"got {hide_passwords(short_repr(given))}"
        )
    if not given:
        raise StorageError("storage: expected the path of a file, a Storage, or None; got ''")
    text = os.fsdecode(given)
    if "\0" in text:
        raise StorageError(
            f"storage: expected the path of a file, without NUL; got {hide_passwords(short_repr(given))}"
        )
    if isinstance(given, str) and given.startswith(":memory:"):
        raise StorageError(f"storage: expected the path of a file, or None, which keeps all in memory; got {given!r}")
    if isinstance(given, str) and "://" in given:
        plain = re.sub(r"^sqlite:/{2,3}(?=.)", "", given)
        hint = f"; give the plain path, storage={plain!r}" if plain != given and not is_connection(plain) else ""
        scheme = given.partition("://")[0]
        shown = given if hint else f"{short_repr(scheme)}://..., whose rest may contain a password and is not shown"
        expected = "the path of a file" if is_postgresql(given) else "the path of a file, postgresql://..., or None"
        raise StorageError(f"storage: expected {expected}; got {shown}{hint}")
    if is_connection(text):
        got = "a connection string" if isinstance(given, str) else "a Path made from a URL, which loses a slash"
        raise StorageError(
            "storage: expected the path of a file, or the string postgresql://user@host/database; "
            f"got {got}, which may contain a password and is not shown"
        )
    return Path(os.path.expanduser(text))
