"""Studies in memory, which end with the process."""

from __future__ import annotations

import os
from dataclasses import dataclass

from bostruct.storage.protocol import (
    SpaceChange,
    StorageError,
    StorageLost,
    StoredStudy,
    StudyLocked,
    StudyRow,
    TrialRow,
    explain_second,
    find_study,
)


@dataclass
class _Kept:
    study: StudyRow
    trials: dict[int, TrialRow]
    changes: tuple[SpaceChange, ...] = ()
    has_writer: bool = False


class MemoryStorage:
    """Studies by name, in this process alone."""

    label = "storage in memory"
    where = None

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    def studies(self) -> list[StudyRow]:
        return [kept.study for kept in self._kept.values()]

    def read(self, name: str | None) -> StoredStudy:
        kept = self._kept[find_study(self.studies(), name, self.label).name]
        return StoredStudy(kept.study, [kept.trials[number] for number in sorted(kept.trials)], kept.changes)

    def begin(self, row: StudyRow) -> tuple[StoredStudy, MemoryWriter]:
        writer = self._open(self._kept.setdefault(row.name, _Kept(row, {})))
        return self.read(row.name), writer

    def save(self, stored: StoredStudy) -> MemoryWriter:
        name = stored.study.name
        if name in self._kept:
            raise explain_second(self.label, name)
        self._kept[name] = _Kept(stored.study, {row.number: row for row in stored.trials}, stored.changes)
        return self._open(self._kept[name])

    def _open(self, kept: _Kept) -> MemoryWriter:
        if kept.has_writer:
            raise StudyLocked(f"study {kept.study.name!r} in memory is open for writing already; close it there first")
        kept.has_writer = True
        return MemoryWriter(kept)


class MemoryWriter:
    """The only writer of a study in memory.

    kept: the study as the storage keeps it.
    """

    def __init__(self, kept: _Kept) -> None:
        self._kept = kept
        self._process = os.getpid()

    @property
    def lost(self) -> StorageLost | None:
        """None: memory has no other place to be."""
        return None

    @property
    def is_open(self) -> bool:
        """True until it is closed, in the process that opened it."""
        return self._process == os.getpid()

    def insert(self, row: TrialRow, state: str | None = None) -> None:
        self._check_open()
        if row.number in self._kept.trials:
            raise StorageError(f"storage in memory: trial {row.number} is there already")
        self._kept.trials[row.number] = row
        if state is not None:
            self._kept.study = self._kept.study._replace(state=state)

    def update(self, row: TrialRow) -> None:
        self._change(row, "running")

    def reopen(self, row: TrialRow) -> None:
        self._change(row, "failed")

    def take_back(self, *numbers: int) -> None:
        self._check_open()
        for number in dict.fromkeys(numbers):
            row = self._kept.trials.get(number)
            if row is not None and row.status == "running":
                self._kept.trials[number] = row._replace(attempts=row.attempts - 1)

    def change_space(self, change: SpaceChange, state: str) -> None:
        self._check_open()
        self._kept.changes = (*self._kept.changes, change)
        self._kept.study = self._kept.study._replace(state=state)

    def check_place(self) -> None:
        """Return: memory stays where it is."""

    def close(self) -> None:
        if self.is_open:
            self._kept.has_writer = False
            self._process = 0

    def _check_open(self) -> None:
        """Raise StorageError where the writer was closed, or this is a forked child."""
        if not self.is_open:
            raise StorageError("storage in memory: the study is closed; open it again")

    def _change(self, row: TrialRow, status: str) -> None:
        self._check_open()
        there = self._kept.trials.get(row.number)
        if there is None or there.status != status:
            raise StorageError(f"storage in memory: trial {row.number} is not {status} there any more; load it again")
        self._kept.trials[row.number] = row._replace(point=there.point)
