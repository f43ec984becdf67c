"""Writers of one study side by side on one machine: who is there, and who decides."""

from __future__ import annotations

import logging
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bostruct.checks import has_posix
from bostruct.storage.filesystems import find_network_filesystem
from bostruct.storage.locks import acquire, find_holder, is_same_file, release
from bostruct.storage.protocol import StudyLocked
from bostruct.storage.system_errors import check_system
from bostruct.storage.turns import check_turn, noting_turn

log = logging.getLogger(__name__)

_OWNER = re.compile(r"[0-9]{1,10}-[0-9a-f]{12}")  # a file may name anything as the owner of a trial


class Seat:
    """The place of one writer beside the others, by locks that end with its process.

    Each writer locks a file of its own, ``FILE.STUDY.OWNER.writer``, for as long as it is there. Who decides locks
    ``FILE.STUDY.lock``. The kernel gives the locks back when a process ends, so no clock has to tell whether it has.
    A network file system may lose locks: there one writer holds the second lock all the time.

    path: of the file of studies.
    study: id of the study.
    name: of the study, for messages.

    Raises StudyLocked on a network file system where somebody else writes the study, StorageError.
    """

    def __init__(self, path: Path, study: int, name: str) -> None:
        self._file = file = path.resolve()  # one lock however the file is spelled
        self.owner = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._prefix = file.with_name(f"{file.name}.{study}")
        self._what = f"study {name!r} in {path}"
        self._held: dict[str, int] = {}  # descriptors of the locks that are ours, by path
        if (network := find_network_filesystem(file)) is not None:
            self._take_alone(network)
        self._take(self._path_of(self.owner), wait=True)  # while another one looks whether it is left behind

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Wait until no other writer decides, and decide for as long as a block lasts, or the block that it is in.

        Raises BostructError where this thread decides already, through another object.
        """
        path = self._decider
        if str(path) in self._held:
            yield
            return
        check_turn(path, self._what)
        try:
            self._take(path, wait=True, signed=False)  # nobody is told who decides
            with noting_turn(path):
                yield
        finally:
            self._give_back(path)

    def check_there(self) -> None:
        """Make the writer's file anew where somebody removed it: without it others take the writer for gone."""
        path = self._path_of(self.owner)
        before = self._held[str(path)]
        if not is_same_file(path, before):
            log.warning("%s was removed while its writer is there; others may have been handed its trials", path)
            self._take(path, wait=True)
            release(path, before)

    def is_gone(self, owner: str) -> bool:
        """Tell whether a writer has closed, or its process has ended.

        owner: its name.
        """
        return not _OWNER.fullmatch(owner) or find_holder(self._path_of(owner)) is None

    def find_other(self) -> str | None:
        """Return another writer that is there, for messages; None where there is none."""
        return next(self._find_others(), None)

    def leave(self) -> None:
        """Give all locks back, and remove the files of those that were killed."""
        for path in list(self._held):
            self._give_back(Path(path))
        for _ in self._find_others():
            pass

    def _find_others(self) -> Iterator[str]:
        """Look for other writers, and remove the files of those that are gone."""
        for path in sorted(self._prefix.parent.glob(f"{_escape(self._prefix.name)}.*.writer")):
            if str(path) not in self._held and (holder := find_holder(path)) is not None:
                yield holder

    @property
    def _decider(self) -> Path:
        return self._prefix.with_name(f"{self._prefix.name}.lock")

    def _path_of(self, owner: str) -> Path:
        return self._prefix.with_name(f"{self._prefix.name}.{owner}.writer")

    def _take(self, path: Path, *, wait: bool = False, signed: bool = True) -> None:
        name = str(path)  # Python code, such as the hash of a path, is where a signal could come with the lock unnoted
        self._held[name] = acquire(path, self._what, like=self._file, wait=wait, signed=signed)

    def _take_alone(self, network: str) -> None:
        try:
            self._take(self._decider)
        except StudyLocked as error:
            raise StudyLocked(
                f"{error}. Several writers need a local disk, and this one is a network file system ({network}): its "
                "locks are not to be relied on"
            ) from None

    def _give_back(self, path: Path) -> None:
        if (descriptor := self._held.pop(str(path), None)) is not None:
            release(path, descriptor)


def find_writers(path: Path) -> frozenset[str] | None:
    """Return the owners of trials in a file whose processes are there; None where its locks are not to be relied on.

    path: of the file of studies.
    """
    file = path.resolve()
    if not has_posix() or find_network_filesystem(file) is not None:
        return None
    locks = file.parent.glob(f"{_escape(file.name)}.*.writer")
    try:
        return frozenset(lock.name.split(".")[-2] for lock in locks if find_holder(lock) is not None)
    except OSError as error:  # no locks on this file system
        check_system(error)
        return None


def _escape(name: str) -> str:
    """Return a name as a pattern of `glob` that matches it alone."""
    return re.sub(r"([*?\[])", r"[\1]", name)
