"""The files of an open database: whether their paths still lead to them, and whether this process has them open."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

FileIdentity = tuple[int, int]  # device and inode: what a path leads to, whatever it is called

_open_here: Counter[FileIdentity] = Counter()


def is_open_here(path: Path) -> bool:
    """Return whether this process has the database open.

    Its file must not be opened and closed by hand then: POSIX drops the locks that a process has on a file as soon as
    the process closes any descriptor of it (https://www.sqlite.org/howtocorrupt.html, section 2.2), and another
    process that reads the study would remove the log under its writer.
    """
    return _open_here[_file_identity(os.stat(path))] > 0


class OpenFiles:
    """The database at `path` and, beside the file itself, its log and the index of its log.

    Create it after SQLite has opened the database: an inode is not given away while it is open.
    """

    def __init__(self, path: Path) -> None:
        file = path.resolve()  # SQLite puts the log beside the file, not beside a link to it
        self._paths = (path.absolute(), file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm"))
        self._main = _file_identity(os.stat(path))
        self._known: list[FileIdentity] = []
        _open_here[self._main] += 1

    def find_change(self) -> str | None:
        """Return what became of the first file that is not in its place, None where all are; once SQLite has a log.

        Raises OSError where the folder cannot be looked at.
        """
        try:
            stats = [os.stat(path) for path in self._paths]
        except (FileNotFoundError, NotADirectoryError) as error:
            return f"{error.filename} was removed or renamed"
        if stats[0].st_size == 0:
            return f"{self._paths[0]} was emptied"
        found = [_file_identity(stat) for stat in stats]
        if not self._known:
            self._known = [self._main, *found[1:]]
        for path, now, then in zip(self._paths, found, self._known, strict=True):
            if now != then:
                return f"{path} was replaced by another file"
        return None

    def close(self) -> None:
        """Forget the database, which SQLite has closed."""
        _open_here[self._main] -= 1
        if not _open_here[self._main]:
            del _open_here[self._main]


def _file_identity(stat: os.stat_result) -> FileIdentity:
    return stat.st_dev, stat.st_ino
