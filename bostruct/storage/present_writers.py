"""The writers that a file of studies has at this moment, for who only looks at it."""

from __future__ import annotations

from contextlib import suppress
from glob import escape
from pathlib import Path

from bostruct.checks import has_posix
from bostruct.storage.filesystems import find_network_filesystem
from bostruct.storage.locks import find_holder
from bostruct.storage.postgresql.storage import PostgresqlStorage
from bostruct.storage.protocol import Storage
from bostruct.storage.sqlite import SqliteStorage


def find_writers(storage: Storage) -> frozenset[str] | None:
    """Return the writers whose processes are there; None where that is not known. No study is changed.

    storage: of studies. Only a file on a disk of this machine, and the primary of a database, know.
    """
    if isinstance(storage, PostgresqlStorage):
        return storage.find_writers()
    if isinstance(storage, SqliteStorage) and has_posix():
        return _find_in(Path(storage.label))
    return None


def _find_in(path: Path) -> frozenset[str] | None:
    """Look at the locks of all writers of a file, as `seats.py` makes them."""
    file = path.resolve()
    if find_network_filesystem(file) is not None:  # whose locks are not to be relied on
        return None
    found = set()
    for lock in file.parent.glob(f"{escape(file.name)}.*.writer"):
        with suppress(OSError):
            if find_holder(lock) is not None:
                found.add(lock.name.split(".")[-2])
    return frozenset(found)
