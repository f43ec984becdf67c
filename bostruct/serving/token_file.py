"""The file that holds the token of a server, which the server locks for as long as it lives."""

from __future__ import annotations

import errno
import importlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bostruct.checks import has_posix
from bostruct.output_files import OutputRefused, refuse_name_of_database
from bostruct.storage.locks import is_same_file

MARK = "bostruct-"  # begins a token: other programs, too, keep 43 letters in a file
TOKEN = re.compile(MARK.encode() + rb"[A-Za-z0-9_-]{43}\n?")  # 32 bytes in base64
TOKEN_BYTES = (len(MARK) + 43, len(MARK) + 44)
NO_TOKEN = "holds no token of bostruct serve; remove it, or give another --token-file"


def make_token() -> str:
    """Return a new token of a server."""
    return MARK + secrets.token_urlsafe(32)


@contextmanager
def keep_token(path: str, token: str) -> Iterator[None]:
    """Keep a token in a new file that only the user of this process can read, for as long as a block lasts.

    path: of the file. One with a token that no server locks is replaced: a server that was killed leaves it behind.
    token: of the server.

    Raises OutputRefused, a FileExistsError, for any other file and for the token of a living server; OSError if the
    file cannot be made.
    """
    refuse_name_of_database(path)
    with os.fdopen(_make_locked(path), "w") as file:
        file.write(f"{token}\n")
        file.flush()
        try:
            yield
        finally:
            with suppress(OSError):
                is_ours = is_same_file(Path(path), file.fileno())  # somebody may have put another file there
                if not has_posix():
                    file.close()  # Windows removes no open file
                if is_ours and Path(path).read_bytes() == f"{token}\n".encode():
                    os.unlink(path)


def _make_locked(path: str) -> int:
    """Return the descriptor of a new file, whose lock the kernel gives back when this process ends, however it ends."""
    while True:
        _remove_left_behind(path)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:  # another server was quicker
            continue
        try:
            if _lock(path, descriptor):
                return descriptor
        except OutputRefused:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _remove_left_behind(path: str) -> None:
    """Remove a file with a token that no server locks; raise OutputRefused for any other."""
    with suppress(FileNotFoundError):
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode):
            raise OutputRefused(errno.EEXIST, "is no regular file; give another --token-file", path)
        if found.st_size not in TOKEN_BYTES:  # it is not opened: to close a database would drop the locks on it
            raise OutputRefused(errno.EEXIST, NO_TOKEN, path)
        with open(os.open(path, os.O_RDWR | (os.O_NOFOLLOW if has_posix() else 0)), "rb") as file:
            if _lock(path, file.fileno()):
                if not TOKEN.fullmatch(file.read()):
                    raise OutputRefused(errno.EEXIST, NO_TOKEN, path)
                if not has_posix():
                    file.close()  # Windows removes no open file
                os.unlink(path)  # while it is locked: afterwards another server may have its own there


def _lock(path: str, descriptor: int) -> bool:
    """Lock a file, and tell whether it still has its name; raise OutputRefused if another server locks it."""
    if has_posix():
        fcntl = importlib.import_module("fcntl")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            why = "holds the token of another bostruct serve, which runs; give another --token-file"
            raise OutputRefused(errno.EEXIST, why, path) from None
        except OSError:  # a file system without locks, where nobody can know
            pass
    return is_same_file(Path(path), descriptor)
