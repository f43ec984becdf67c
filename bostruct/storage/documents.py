"""Storage of each study as one document, rewritten for each change: the base class, and a back end in memory."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from bostruct.storage.protocol import (
    SpaceChange,
    Storage,
    StorageError,
    StoredStudy,
    StudyLocked,
    StudyRow,
    StudyWriter,
    TrialRow,
    explain_second,
    find_study,
)


class DocumentStorage(Storage):
    """A storage that reads and writes a study as a whole. A study has one writer at a time."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of all studies, oldest first.

        Raises
        ------
        StorageError
            If the storage cannot be read.
        """

    @abstractmethod
    def load(self, name: str) -> StoredStudy:
        """Return the last written state of a study.

        Parameters
        ----------
        name : str
            Name of an existing study.

        Raises
        ------
        StorageError
            If the study cannot be read.
        """

    @abstractmethod
    def write(self, stored: StoredStudy) -> None:
        """Write a whole study atomically, replacing any earlier one of its name.

        Parameters
        ----------
        stored : StoredStudy
            The study; later changes modify its list of trials.

        Raises
        ------
        StorageError
            If the study cannot be written.
        """

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a study permanently.

        Parameters
        ----------
        name : str
            Name of an existing study, which is locked.

        Raises
        ------
        StorageError
            If the study cannot be removed.
        """

    @abstractmethod
    def lock(self, name: str) -> Callable[[], object]:
        """Lock a study against all other writers, even before it exists.

        Parameters
        ----------
        name : str
            Name of the study.

        Returns
        -------
        callable
            A function that releases the lock. The end of the process also releases it.

        Raises
        ------
        StudyLocked
            If another writer holds the lock.
        """

    def studies(self) -> list[StudyRow]:
        return [self.load(name).study for name in self.names()]

    def read(self, name: str | None) -> StoredStudy:
        return self.load(name if name in self.names() else find_study(self.studies(), name, self.label).name)

    def begin(self, row: StudyRow) -> tuple[StoredStudy, DocumentWriter]:
        writer = self._acquire(StoredStudy(row, []))
        return self.load(row.name), writer

    def save(self, stored: StoredStudy) -> DocumentWriter:
        if stored.study.name in self.names():
            raise explain_second(self.label, stored.study.name)
        return self._acquire(stored, is_new=True)

    def delete(self, name: str) -> None:
        find_study(self.studies(), name, self.label)
        release = self.lock(name)
        try:
            self.remove(name)
        finally:
            release()

    def _acquire(self, stored: StoredStudy, *, is_new: bool = False) -> DocumentWriter:
        name = stored.study.name
        release = self.lock(name)
        try:
            if name not in self.names():
                self.write(stored)
            elif is_new:
                raise explain_second(self.label, name)
            return DocumentWriter(self, self.load(name), release)
        except BaseException:
            release()
            raise


class DocumentWriter(StudyWriter):
    """The exclusive writer of a study that is one document."""

    def __init__(self, storage: DocumentStorage, stored: StoredStudy, release: Callable[[], object]) -> None:
        self._storage, self._stored, self._release = storage, stored, release
        self._process = os.getpid()

    @property
    def is_open(self) -> bool:
        return self._process == os.getpid()

    def insert(self, row: TrialRow, state: str | None = None) -> None:
        if row.number != (n := len(self._trials())):
            raise StorageError(f"{self._storage.label}: expected a trial {n}, got a trial {row.number} to insert")
        self._write([row], state)

    def change(self, row: TrialRow, status: str) -> None:
        stored = self._trials()[row.number : row.number + 1]
        if not stored or stored[0].status != status:
            where = f"{self._storage.label}: trial {row.number}"
            raise StorageError(f"{where} is no longer {status}; load the study again")
        self._write([row._replace(point=stored[0].point)])

    def release(self, *numbers: int) -> None:
        rows = [row for number in dict.fromkeys(numbers) for row in self._trials()[number : number + 1]]
        running = [row for row in rows if row.status == "running"]
        self._write([row._replace(attempts=row.attempts - 1, owner=None) for row in running])

    def change_space(self, change: SpaceChange, state: str) -> None:
        self._trials()
        self._write([], state, change)

    def close(self) -> None:
        if self.is_open:
            self._process = 0
            self._release()

    def _trials(self) -> list[TrialRow]:
        """Return the trials by number; raise StorageError if the writer was closed, or in a forked child."""
        if not self.is_open:
            raise StorageError(f"{self._storage.label}: the study is closed; open it again")
        return self._stored.trials

    def _write(self, rows: Sequence[TrialRow], state: str | None = None, *changes: SpaceChange) -> None:
        """Write new or changed rows; if that fails, the trials are unchanged."""
        study, trials, before = self._stored
        replaced = [(row.number, trials[row.number : row.number + 1]) for row in rows]
        after = StoredStudy(study if state is None else study._replace(state=state), trials, (*before, *changes))
        try:
            for row in rows:
                trials[row.number : row.number + 1] = [row]
            self._storage.write(after)
        except BaseException:
            for number, former in replaced:
                trials[number : number + 1] = former
            raise
        self._stored = after


class MemoryStorage(DocumentStorage):
    """Studies by name in the memory of this process."""

    label = "storage in memory"

    def __init__(self) -> None:
        self._kept: dict[str, StoredStudy] = {}
        self._open: set[str] = set()  # names of studies with a writer

    def names(self) -> list[str]:
        return list(self._kept)

    def load(self, name: str) -> StoredStudy:
        return self._kept[name]._replace(trials=list(self._kept[name].trials))

    def write(self, stored: StoredStudy) -> None:
        self._kept[stored.study.name] = stored

    def remove(self, name: str) -> None:
        del self._kept[name]

    def lock(self, name: str) -> Callable[[], object]:
        if name in self._open:
            raise StudyLocked(f"study {name!r} in memory is open for writing already; close it there first")
        self._open.add(name)
        return partial(self._open.discard, name)
