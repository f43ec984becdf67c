"""Locks of the writers of studies, which the kernel releases when their holder dies, however it dies."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import platform
import stat
from pathlib import Path

from bostruct.execution.interrupts import hook_forks
from bostruct.storage.protocol import StorageError, StudyLocked
from bostruct.storage.system_errors import check_system

_descriptors: set[int] = set()  # descriptors that this process locks with


def _close_in_child() -> None:
    """A forked child must not keep the lock beyond its parent's death; to close is not to unlock."""
    for descriptor in _descriptors:
        os.close(descriptor)
    _descriptors.clear()


hook_forks(after_in_child=_close_in_child)


def acquire(path: Path, what: str, *, like: Path | None = None, wait: bool = False, signed: bool = True) -> int:
    """Take a lock, and return the descriptor of its file.

    path: of the file, made for the lock.
    what: is locked, for messages.
    like: a file, whose users may all take the lock; None for those whom the umask allows.
    wait: until it is free, in place of StudyLocked.
    signed: whether the file says who holds it, which takes longer.

    Raises StudyLocked naming the holder where it is taken, StorageError where the file cannot be made.
    """
    fcntl = importlib.import_module("fcntl")  # there is none on Windows, where no file is opened for writing
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            check_system(error)
            why = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise StorageError(
                f"{path}: the lock of {what} cannot be made: {why}; the directory must be one to write in, with free "
                "space"
            ) from error
        _descriptors.add(descriptor)  # at once: another thread may fork
        try:
            if like is not None:
                _share(descriptor, like)
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            _check_names(path, descriptor, what)
            if is_same_file(path, descriptor):
                if signed:
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
                return descriptor
        except OSError as error:  # no locks on this file system, no space left ...
            holder = _holder(descriptor)
            _drop(descriptor)
            check_system(error)
            if isinstance(error, BlockingIOError):
                raise StudyLocked(f"{what} is open for writing in {holder}; close it there first") from None
            raise StorageError(
                f"{path}: the lock of {what} cannot be taken: {error.strerror}; try a local disk with free space"
            ) from error
        except BaseException:  # an interrupt while we waited, too
            _drop(descriptor)
            raise
        _drop(descriptor)  # its last holder removed the file between our open and our lock


def _share(descriptor: int, like: Path) -> None:
    """Give a file of ours the group and the rights of another one."""
    try:
        wanted = os.stat(like)
    except OSError as error:  # it was moved, as is said where it is written
        check_system(error)
        return
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid():
        return
    try:
        if found.st_gid != wanted.st_gid:
            os.fchown(descriptor, -1, wanted.st_gid)
        if stat.S_IMODE(found.st_mode) != (mode := wanted.st_mode & 0o666):
            os.fchmod(descriptor, mode)
    except OSError as error:  # its user is in no such group, or the file system has no rights
        check_system(error)


def _check_names(path: Path, descriptor: int, what: str) -> None:
    """Refuse a file that has another name as well, whose content the holder's name would overwrite."""
    if (names := os.fstat(descriptor).st_nlink) > 1:
        raise StorageError(f"{path}: the lock of {what} cannot be made: the file has {names} names (hard links)")


def release(path: Path, descriptor: int) -> None:
    """Give a lock back, and remove its file while it is still ours; do nothing in a forked child, whose it is not.

    path: of the file.
    descriptor: as `acquire` returned it.
    """
    if descriptor not in _descriptors:
        return
    with contextlib.suppress(OSError):  # a file that is left behind locks nothing
        if is_same_file(path, descriptor):
            path.unlink()
    _drop(descriptor)


def find_holder(path: Path) -> str | None:
    """Return who holds a lock, for messages; None where nobody does, and the file is removed then.

    path: of the file.
    """
    fcntl = importlib.import_module("fcntl")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:  # none is there, it is no lock of ours, or that of another user, who may be there
        check_system(error)
        return "a process of another user" if isinstance(error, PermissionError) else None
    _descriptors.add(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # another one that looks is no holder
    except BlockingIOError as error:
        holder = _holder(descriptor)
        _drop(descriptor)
        check_system(error)
        return holder
    except BaseException:
        _drop(descriptor)
        raise
    release(path, descriptor)
    return None


def _drop(descriptor: int) -> None:
    _descriptors.discard(descriptor)
    os.close(descriptor)


def is_same_file(path: Path, descriptor: int) -> bool:
    """Tell whether a path leads to an open file.

    path: which may lead nowhere.
    descriptor: of the file.
    """
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> str:
    try:
        holder = json.loads(os.pread(descriptor, 1000, 0))
        pid, host = int(holder["pid"]), str(holder["host"])
    except (ValueError, LookupError, TypeError, RecursionError):  # it has not yet written who it is, or is not ours
        return "another process"
    named = f"process {pid} on {host!r}" if not host.isprintable() else f"process {pid} on {host}"
    if host != platform.node():
        return named
    if pid == os.getpid():
        return f"{named} (this process)"
    return named if _is_alive(pid) else f"a process that {named} started and left behind when it ended"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # somebody else's, or no process of this machine
        return True
    return True
