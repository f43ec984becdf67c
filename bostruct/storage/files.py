"""The file of a database: its identity, its uses by this process, and its file system."""

from __future__ import annotations

import os
import re
import threading
import weakref
from contextlib import suppress
from pathlib import Path

from bostruct.checks import has_posix
from bostruct.execution.interrupts import hook_forks, make_lock
from bostruct.storage.protocol import StorageError

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = {"9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs"}
NETWORK_FUSE = re.compile(r"fuse\.(ceph|gcsfuse|gluster|goofys|juicefs|mount_?s3|rclone|s3|smb|sshfs|weka)")
FileIdentity = tuple[int, int]  # device and inode, which identify a file under any name
recognition = make_lock()  # its holder may read files that are not open here
_open_here: set[weakref.ref[OpenFile]] = set()  # operations on built-in sets are atomic
_cut_off: set[FileIdentity | Path] = set()


class OpenFile:
    """A database file that a connection has open, or is opening.

    user: the thread whose transaction may hold locks on it, also while it is opened; None without a transaction.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self.identity: FileIdentity | Path = path.resolve()  # a path while the file is being opened
        self.user: int | None = threading.get_ident()
        self._entry: weakref.ref[OpenFile] = weakref.ref(self, _open_here.discard)
        _open_here.add(self._entry)

    def identify(self) -> None:
        """Identify the file by its inode from now on, which is not reused while it is open; raises OSError."""
        self.identity = _file_identity(os.stat(self._path))

    def find_change(self) -> str | None:
        """Return a description of the change if the file was removed or replaced; None otherwise.

        Raises OSError if the folder cannot be read.
        """
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return f"{self._path} was removed or renamed"
        if _file_identity(found) != self.identity:
            return f"{self._path} was replaced by another file"
        return f"{self._path} was emptied" if found.st_size == 0 else None

    def is_used_by_caller(self) -> bool:
        """Return whether this thread holds locks on the file by another connection, which would be a deadlock."""
        names = {self.identity, self._path.resolve()}  # the path of a file that is being opened
        others = (file for file in _list_open() if file is not self and file.identity in names)
        return any(file.user == threading.get_ident() for file in others)

    def close(self) -> None:
        """Forget the database, which SQLite has closed or could not open."""
        _open_here.discard(self._entry)


def is_open_here(path: Path) -> bool:
    """Return whether this process has the database open.

    Its file must then not be opened and closed directly: POSIX releases all locks of a process on a file as soon as the
    process closes any descriptor of it (https://www.sqlite.org/howtocorrupt.html, section 2.2), and another process
    could then write in the middle of a transaction.
    """
    return not _find_identities(path).isdisjoint(file.identity for file in _list_open())


def is_cut_off(path: Path) -> bool:
    """Return whether this process or a parent was forked while another thread held locks on the database.

    SQLite treats these locks as locks of this process, where they have no effect and are never released
    (https://www.sqlite.org/howtocorrupt.html, section 2.6).
    """
    return bool(_cut_off) and not _find_identities(path).isdisjoint(_cut_off)


def _list_open() -> list[OpenFile]:
    return [file for entry in list(_open_here) if (file := entry()) is not None]


def _find_identities(path: Path) -> set[FileIdentity | Path]:
    found: set[FileIdentity | Path] = {path.resolve()}
    with suppress(FileNotFoundError):
        found.add(_file_identity(os.stat(path)))
    return found


def _note_cut_off() -> None:
    _cut_off.update(file.identity for file in _list_open() if file.user is not None)


def _file_identity(stat: os.stat_result) -> FileIdentity:
    return stat.st_dev, stat.st_ino


def check_system(error: Exception) -> None:
    """Reraise an error from a user's signal handler; return for an error of the system."""
    if isinstance(error, OSError) and error.errno is None:
        raise error


def check_writable(path: Path) -> None:
    """Raise StorageError if a file cannot be written because its folder is not writable."""
    try:
        folder = path.resolve().parent  # of the file itself, not of a link to it
        if not folder.is_dir() or os.access(folder, os.W_OK | os.X_OK):
            return
    except (OSError, RuntimeError) as error:  # the path does not exist or is not readable, which other checks report
        check_system(error)
        return
    why = "it is on a read-only file system" if _is_read_only(folder) else "this user has no permission to write in it"
    hint = "; to read its studies use Study.load(..., read_only=True)" if path.exists() else ""
    raise StorageError(
        f"{path}: cannot be written: a study creates files in its folder (its journal, its locks), and {folder} is "
        f"not writable: {why}{hint}"
    )


NETWORK |= {"nfs4", "ocfs2", "orangefs", "pvfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "wekafs"}


def _is_read_only(folder: Path) -> bool:
    """Return whether a folder is on a read-only file system."""
    return has_posix() and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def find_network_filesystem(path: Path, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the network file system of a path, None for a local disk.

    mounts: the mount table, in the format of Linux; None is returned if it cannot be read, as on other systems.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    best, found = "", ""
    for line in lines:
        place, _, kind = line.partition(" - ")
        where = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), place.split()[4])  # unescaped
        kind = kind.split()[0]
        is_under = str(path) == where or str(path).startswith(where.rstrip(os.sep) + os.sep)
        if is_under and len(where) >= len(best):  # the last mount of a path is visible
            best, found = where, kind
    return found if found in NETWORK or NETWORK_FUSE.match(found) else None


hook_forks(after_in_child=_note_cut_off)
