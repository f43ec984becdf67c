"""The file of an open database: whether its path still leads to it, and whether this process has it open."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from pathlib import Path

from bostruct.execution.fork_locks import make_lock
from bostruct.execution.interrupts import hook_forks

FileIdentity = tuple[int, int]  # device and inode: what a path leads to, whatever it is called

recognition = make_lock()  # who holds it may look at files by hand that are not open here
_open_here: set[weakref.ref[OpenFile]] = set()  # a set of the library is changed, and listed, in one piece
_cut_off: set[FileIdentity | Path] = set()


def is_open_here(path: Path) -> bool:
    """Return whether this process has the database open.

    Its file must not be opened and closed by hand then: POSIX drops the locks that a process has on a file as soon as
    the process closes any descriptor of it (https://www.sqlite.org/howtocorrupt.html, section 2.2), and another
    process could write in the middle of a transaction of ours.

    path: of the file, which need not exist.
    """
    return not _find_identities(path).isdisjoint(file.identity for file in _list_open())


def is_cut_off(path: Path) -> bool:
    """Tell whether this process, or one of its parents, was forked while another thread had locks on the database.

    SQLite takes these locks for locks of this process, where they lock nothing, and nobody gives them back
    (https://www.sqlite.org/howtocorrupt.html, section 2.6).

    path: of the file, which need not exist.
    """
    return bool(_cut_off) and not _find_identities(path).isdisjoint(_cut_off)


class OpenFile:
    """The database file at `path`, for as long as a connection has it open, or is about to have.

    path: of the file, which SQLite may have yet to make.

    identity: its device and inode; its path until `identify`.
    user: the thread whose transaction may have locks on it, as while it is opened; None where there is none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self.identity: FileIdentity | Path = path.resolve()  # a path is that of a file which is being opened
        self.user: int | None = threading.get_ident()
        self._entry: weakref.ref[OpenFile] = weakref.ref(self, _open_here.discard)
        _open_here.add(self._entry)

    def identify(self) -> None:
        """Know the file from now on by its inode, which is not given away while it is open; raises OSError."""
        self.identity = _file_identity(os.stat(self._path))

    def find_change(self) -> str | None:
        """Return what became of the file where it is not in its place, None where it is.

        Raises OSError where the folder cannot be looked at.
        """
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return f"{self._path} was removed or renamed"
        if _file_identity(found) != self.identity:
            return f"{self._path} was replaced by another file"
        return f"{self._path} was emptied" if found.st_size == 0 else None

    def is_used_by_caller(self) -> bool:
        """Tell whether this thread has locks on the file by another connection, for which it would wait in vain."""
        names = {self.identity, self._path.resolve()}  # of one that is being opened, the path is known alone
        others = (file for file in _list_open() if file is not self and file.identity in names)
        return any(file.user == threading.get_ident() for file in others)

    def close(self) -> None:
        """Forget the database, which SQLite has closed, or could not open."""
        _open_here.discard(self._entry)


def _list_open() -> list[OpenFile]:
    return [file for entry in list(_open_here) if (file := entry()) is not None]


def _find_identities(path: Path) -> set[FileIdentity | Path]:
    found: set[FileIdentity | Path] = {path.resolve()}
    with suppress(FileNotFoundError):
        found.add(_file_identity(os.stat(path)))
    return found


def _note_cut_off() -> None:
    _cut_off.update(file.identity for file in _list_open() if file.user is not None)


hook_forks(after_in_child=_note_cut_off)


def _file_identity(stat: os.stat_result) -> FileIdentity:
    return stat.st_dev, stat.st_ino
