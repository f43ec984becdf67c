"""File locks for concurrent writers on one host; the kernel releases them when their holder dies."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import logging
import os
import platform
import re
import secrets
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from bostruct.checks import has_posix
from bostruct.contracts import BostructError
from bostruct.execution.interrupts import hook_forks
from bostruct.storage.files import check_system, find_network_filesystem
from bostruct.storage.protocol import StorageError, StudyLocked

OWNER = re.compile(r"[0-9]{1,10}-[0-9a-f]{12}")  # a file may contain any string as the owner of a trial
_lock_holders: dict[Hashable, tuple[int, int]] = {}  # process and thread that hold the ask lock, by its key
_descriptors: set[int] = set()  # descriptors of the locks of this process
log = logging.getLogger(__name__)


class WriterLock(ABC):
    """The locks of one writer of a study: presence, and the ask lock."""

    def __init__(self) -> None:
        self.owner = f"{os.getpid()}-{secrets.token_hex(6)}"

    @abstractmethod
    def ask_lock(self) -> AbstractContextManager[None]:
        """Wait until no other writer is asking, and hold the lock during a block, or during the enclosing one.

        Raises BostructError if this thread already holds the lock by another object.
        """

    @abstractmethod
    def find_dead_writers(self, owners: AbstractSet[str]) -> set[str]:
        """Return the writers that have closed, or that show no activity."""

    @abstractmethod
    def find_other(self) -> str | None:
        """Return another active writer, for messages; None if there is none."""

    @abstractmethod
    def leave(self) -> None:
        """Release all locks; no effect in a forked child, or when repeated."""


class FileWriterLock(WriterLock):
    """The locks of a writer on one machine, which end with its process.

    Each active writer locks a file of its own, ``FILE.STUDY.OWNER.writer``. The writer that asks locks
    ``FILE.STUDY.lock``. The kernel releases the locks when a process ends, so no timeout is needed. On a network file
    system, which may lose locks, a single writer holds the second lock all the time.

    Raises StudyLocked on a network file system if another process writes the study, StorageError.
    """

    def __init__(self, path: Path, study: int, name: str) -> None:
        super().__init__()
        self._file = file = path.resolve()  # one lock for all paths of the file
        self._prefix = file.with_name(f"{file.name}.{study}")
        self._ask_lock_file = file.with_name(f"{self._prefix.name}.lock")
        self._what = f"study {name!r} in {path}"
        self._held: dict[str, int] = {}  # descriptors of our locks, by path
        if (network := find_network_filesystem(file)) is not None:
            try:
                self._take(self._ask_lock_file)
            except StudyLocked as error:
                raise StudyLocked(
                    f"{error}. Several writers need a local disk, because the locks of a network file system "
                    f"({network}) are not reliable"
                ) from None
        self._own_file = self._path_of(self.owner)
        self._take(self._own_file, wait=True)  # while another writer checks whether it is stale

    @contextmanager
    def ask_lock(self) -> Iterator[None]:
        path = self._ask_lock_file
        if str(path) in self._held:
            yield
            return
        check_not_held(path, self._what)
        try:
            self._take(path, wait=True, signed=False)  # its holder is never reported
            with lock_owner(path):
                yield
        finally:
            self._give_back(path)

    def check_there(self) -> None:
        """Create the writer's file again if it was removed; otherwise, other writers consider this writer dead."""
        path = self._own_file
        before = self._held[str(path)]
        if not is_same_file(path, before):
            log.warning("%s was removed while its writer is active; other writers may have requeued its trials", path)
            self._take(path, wait=True)
            release(path, before)

    def find_dead_writers(self, owners: AbstractSet[str]) -> set[str]:
        return {owner for owner in owners if self.is_gone(owner)}

    def is_gone(self, owner: str) -> bool:
        """Return whether a writer has closed, or its process has ended."""
        return not OWNER.fullmatch(owner) or find_holder(self._path_of(owner)) is None

    def find_other(self) -> str | None:
        return next(self._find_others(), None)

    def leave(self) -> None:
        """Release all locks, and remove the files of killed writers, and of an interrupted wait for the ask lock."""
        for path in list(self._held):
            self._give_back(Path(path))
        with contextlib.suppress(StorageError):  # another writer asks
            if self._ask_lock_file.exists():
                release(self._ask_lock_file, acquire(self._ask_lock_file, self._what, signed=False))
        for _ in self._find_others():
            pass

    def _find_others(self) -> Iterator[str]:
        """Yield other writers, and remove the files of dead ones."""
        for path in sorted(self._prefix.parent.glob(f"{_escape_pattern(self._prefix.name)}.*.writer")):
            if str(path) not in self._held and (holder := find_holder(path)) is not None:
                yield holder

    def _path_of(self, owner: str) -> Path:
        return self._prefix.with_name(f"{self._prefix.name}.{owner}.writer")

    def _take(self, path: Path, *, wait: bool = False, signed: bool = True) -> None:
        name = str(path)  # computed first: a signal in Python code could leave the lock unrecorded
        self._held[name] = acquire(path, self._what, like=self._file, wait=wait, signed=signed)

    def _give_back(self, path: Path) -> None:
        if (descriptor := self._held.pop(str(path), None)) is not None:
            release(path, descriptor)


def find_writers(path: Path) -> frozenset[str] | None:
    """Return the owners of trials in a file whose processes are alive; None if its locks are not reliable."""
    file = path.resolve()
    if not has_posix() or find_network_filesystem(file) is not None:
        return None
    locks = file.parent.glob(f"{_escape_pattern(file.name)}.*.writer")
    try:
        return frozenset(lock.name.split(".")[-2] for lock in locks if find_holder(lock) is not None)
    except OSError as error:  # the file system has no locks
        check_system(error)
        return None


def _escape_pattern(name: str) -> str:
    """Return a `glob` pattern that matches only this name."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def check_not_held(key: Hashable, what: str) -> None:
    """Raise BostructError if this thread, which is about to wait for the ask lock, already holds it."""
    if _lock_holders.get(key) == _name_thread():
        raise BostructError(
            f"{what}: this thread already holds the ask lock through another Study object; ask that object, or end "
            "its `ask_lock` block first"
        )


@contextmanager
def lock_owner(key: Hashable) -> Iterator[None]:
    """Record during a block that this thread holds the ask lock."""
    _lock_holders[key] = _name_thread()
    try:
        yield
    finally:
        _lock_holders.pop(key, None)


def _name_thread() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()  # a forked child does not hold the lock


def _close_locks_in_child() -> None:
    """Close the lock files in a forked child, so that it does not hold a lock after its parent ends."""
    for descriptor in _descriptors:
        os.close(descriptor)
    _descriptors.clear()


hook_forks(after_in_child=_close_locks_in_child)


def acquire(path: Path, what: str, *, like: Path | None = None, wait: bool = False, signed: bool = True) -> int:
    """Acquire a lock, and return the descriptor of its file.

    like: a file whose users may all acquire the lock; None to apply the umask.
    signed: whether to write the holder into the file, which takes longer.

    Raises StudyLocked, with the holder, if the lock is held, StorageError if the file cannot be created.
    """
    fcntl = importlib.import_module("fcntl")  # not available on Windows, where files are only read
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            check_system(error)
            why = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise StorageError(
                f"{path}: the lock of {what} cannot be created: {why}; the directory must be writable, and the disk "
                "must have free space"
            ) from error
        _descriptors.add(descriptor)  # at once, because another thread may fork
        try:
            if like is not None:
                _share(descriptor, like)
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if (names := os.fstat(descriptor).st_nlink) > 1:
                raise StorageError(
                    f"{path}: the lock of {what} cannot be created: the file has {names} names (hard links)"
                )
            if is_same_file(path, descriptor):
                if signed:
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
                return descriptor
        except OSError as error:  # no locks on this file system, no space left, ...
            holder = _holder(descriptor)
            _drop(descriptor)
            check_system(error)
            if isinstance(error, BlockingIOError):
                raise StudyLocked(f"{what} is open for writing in {holder}; close it there first") from None
            raise StorageError(
                f"{path}: the lock of {what} cannot be acquired: {error.strerror}; try a local disk with free space"
            ) from error
        except BaseException:  # including an interrupt while waiting
            _drop(descriptor)
            raise
        _drop(descriptor)  # its last holder removed the file before we locked it


def _share(descriptor: int, like: Path) -> None:
    """Give a file the group and the permissions of another one."""
    try:
        wanted = os.stat(like)
    except OSError as error:  # the file was moved, which the next write reports
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
    except OSError as error:  # the user is not in the group, or the file system has no permissions
        check_system(error)


def release(path: Path, descriptor: int) -> None:
    """Release a lock, and remove its file if it is still ours; no effect in a forked child, which does not own it."""
    if descriptor not in _descriptors:
        return
    with contextlib.suppress(OSError):  # an abandoned file does not lock anything
        if is_same_file(path, descriptor):
            path.unlink()
    _drop(descriptor)


def find_holder(path: Path) -> str | None:
    """Return the holder of a lock, for messages; None for an abandoned lock, whose file is then removed."""
    fcntl = importlib.import_module("fcntl")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:  # it does not exist, is not a lock file, or belongs to another user, who may hold it
        check_system(error)
        return "a process of another user" if isinstance(error, PermissionError) else None
    _descriptors.add(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # another process that checks is not a holder
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
    """Return whether a path refers to an open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> str:
    try:
        holder = json.loads(os.pread(descriptor, 1000, 0))
        pid, host = int(holder["pid"]), str(holder["host"])
    except (ValueError, LookupError, TypeError, RecursionError):  # holder not yet written, or not a lock file
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
    except (PermissionError, OverflowError):  # of another user, or not a process of this machine
        return True
    return True
