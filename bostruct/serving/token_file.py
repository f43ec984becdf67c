"""The file that holds the token of a server, which the server locks for as long as it lives."""

from __future__ import annotations

import errno
import importlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bostruct.checks import has_posix
from bostruct.storage.locks import is_same_file


@contextmanager
def keep_token(path: str, token: str) -> Iterator[None]:
    """Keep a token in a new file that only the user of this process can read, for as long as a block lasts.

    path: of the file. A regular file that no server locks is replaced: a server that was killed leaves its file behind.
    token: of the server.

    Raises FileExistsError where a living server has its token there, OSError where the file cannot be made.
    """
    with os.fdopen(_make_locked(path), "w") as file:
        file.write(f"{token}\n")
        file.flush()
        try:
            yield
        finally:
            if not has_posix():
                file.close()  # Windows removes no open file
            with suppress(OSError):
                if Path(path).read_bytes() == f"{token}\n".encode():  # somebody may have put another file there
                    os.unlink(path)


def _make_locked(path: str) -> int:
    """Return the descriptor of a new file, whose lock the kernel gives back when this process ends, however it ends."""
    while True:
        _remove_left_behind(path)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:  # another server was quicker
            continue
        if _lock(path, descriptor):
            return descriptor
        os.close(descriptor)


def _remove_left_behind(path: str) -> None:
    """Remove a regular file that no server locks; raise FileExistsError for any other."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise FileExistsError(errno.EEXIST, "is no regular file; give another --token-file", path)
        if not has_posix():
            os.unlink(path)
            return
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        if _lock(path, descriptor):
            os.unlink(path)  # while it is locked: afterwards another server may have its own there
        os.close(descriptor)


def _lock(path: str, descriptor: int) -> bool:
    """Lock a file, and tell whether it still has its name; raise FileExistsError where another server locks it."""
    if has_posix():
        fcntl = importlib.import_module("fcntl")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            why = "holds the token of another bostruct serve, which runs; give another --token-file"
            raise FileExistsError(errno.EEXIST, why, path) from None
        except OSError:  # a file system without locks, where nobody can know
            pass
    return is_same_file(Path(path), descriptor)
