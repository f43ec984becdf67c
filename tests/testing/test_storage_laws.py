"""Both back ends obey the laws of storage, and a back end with one fault breaks one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bostruct.storage.backends import open_storage
from bostruct.storage.memory import MemoryStorage
from bostruct.storage.protocol import Storage, StorageError, StoredStudy, StudyWriter
from bostruct.storage.sqlite import SqliteStorage
from bostruct.testing import check_storage
from bostruct.testing.storage_laws import STUDY


def test_memory_obeys() -> None:
    memory = MemoryStorage()
    check_storage(lambda: memory)


def test_files_obey(tmp_path: Path) -> None:
    check_storage(lambda: SqliteStorage(tmp_path / "runs.db"))
    assert [path.name for path in tmp_path.iterdir()] == ["runs.db"]
    check_storage(lambda: SqliteStorage(tmp_path / "lost.db"), (tmp_path / "lost.db").unlink)


def test_the_back_ends_have_the_form_of_the_protocols(tmp_path: Path) -> None:
    for storage in (MemoryStorage(), SqliteStorage(tmp_path / "runs.db")):
        assert isinstance(storage, Storage)
        writer = storage.begin(STUDY)[1]
        assert isinstance(writer, StudyWriter)
        writer.close()


@dataclass
class Faulty:
    """Storage in memory, but for one fault."""

    kept: MemoryStorage
    fault: str
    label: str = "faulty"
    where: None = None

    def __post_init__(self) -> None:
        if self.fault == "has no label":
            self.label = None  # type: ignore[assignment]
        if self.fault in ("is at a number", "is nowhere"):
            self.where = 7 if self.fault == "is at a number" else "/nowhere/runs"  # type: ignore[assignment]

    def studies(self) -> Any:
        rows = self.kept.studies()
        if self.fault == "lists seeds as floats":
            rows = [row._replace(seed=float(row.seed)) for row in rows]
        return rows[::-1] if self.fault == "lists the newest first" else rows

    def read(self, name: str | None) -> StoredStudy:
        if self.fault == "makes what is read" and name == "nowhere":
            self.kept.begin(STUDY._replace(name=name))[1].close()
        study, trials, changes = self.kept.read(name)
        if self.fault == "rounds values":
            trials = [one._replace(started=round(one.started, 3)) for one in trials]
        if self.fault == "forgets costs":
            trials = [one if one.outcome is None else _without_cost(one) for one in trials]
        if self.fault == "forgets the order":
            trials = [one if one.told is None else one._replace(told=one.number) for one in trials]
        if self.fault == "reads of its list" and name == "readers":
            self.__dict__.setdefault("list", trials)
            trials = self.__dict__["list"]
        return StoredStudy(study, trials, () if self.fault == "forgets changes" else changes)

    def begin(self, row: Any) -> Any:
        if self.fault == "has two writers" and row.name in self.kept._kept:
            self.kept._kept[row.name].has_writer = False
        if self.fault == "makes a study anew" and row.name == "writers" and row.name in self.kept._kept:
            self.kept._kept[row.name].study = row
        stored, writer = self.kept.begin(row)
        return stored, FaultyWriter(writer, self.fault)

    def save(self, stored: StoredStudy) -> Any:
        if self.fault == "saves over":
            self.kept._kept.pop(stored.study.name, None)
        return FaultyWriter(self.kept.save(stored), self.fault)


def _without_cost(row: Any) -> Any:
    return row._replace(outcome=replace(row.outcome, cost=None))


class FaultyWriter:
    """A writer in memory, but for one fault."""

    def __init__(self, writer: Any, fault: str) -> None:
        self._writer = writer
        self._fault = fault
        self._late: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if self._fault == "lacks a method of its writer" and name == "reopen":
            raise AttributeError(name)
        return getattr(self._writer, name)

    def insert(self, row: Any, state: str | None = None) -> None:
        if self._fault == "writes when closed" and not self._writer.is_open:
            self._writer._kept.trials[row.number] = row
            return
        if self._fault == "uses numbers twice":
            self._writer._kept.trials.pop(row.number, None)
        self._writer.insert(row, None if self._fault == "loses the state" else state)

    def update(self, row: Any) -> None:
        there = self._writer._kept.trials.get(row.number)
        if self._fault == "tells twice" and there is not None:
            self._writer._kept.trials[row.number] = row
        elif self._fault == "changes points":
            self._writer.update(row)
            self._writer._kept.trials[row.number] = row
        elif self._fault == "writes late":
            self._late.append(row)
        else:
            self._writer.update(row)

    def take_back(self, *numbers: int) -> None:
        for number in numbers if self._fault == "counts a number twice" else ():
            self._writer.take_back(number)
        if self._fault not in ("keeps attempts", "counts a number twice"):
            self._writer.take_back(*numbers)

    def close(self) -> None:
        for row in self._late:
            self._writer.update(row)
        self._late.clear()
        if self._fault != "keeps the lock":
            self._writer.close()


FAULTS = (
    "lists the newest first",
    "makes what is read",
    "rounds values",
    "forgets costs",
    "forgets the order",
    "reads of its list",
    "has two writers",
    "makes a study anew",
    "saves over",
    "uses numbers twice",
    "loses the state",
    "tells twice",
    "changes points",
    "writes late",
    "keeps attempts",
    "keeps the lock",
    "has no label",
    "is at a number",
    "is nowhere",
    "lists seeds as floats",
    "counts a number twice",
    "writes when closed",
    "forgets changes",
    "lacks a method of its writer",
)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_back_end_fails(fault: str) -> None:
    faulty = Faulty(MemoryStorage(), fault)
    with pytest.raises(AssertionError, match=r"^Faulty: "):
        check_storage(lambda: faulty)


def test_the_faultless_pass() -> None:
    faulty = Faulty(MemoryStorage(), "none")
    check_storage(lambda: faulty)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("has no label", "a Storage has label"),
        ("is at a number", "where is a path that is there, a URL, or None: got 7"),
        ("is nowhere", "where is a path that is there, a URL, or None: got '/nowhere/runs'"),
        ("lists seeds as floats", "studies lists what read returns: got StudyRow"),
        ("counts a number twice", r"a trial taken back has one attempt less, however often it is named: got \[-1, 0\]"),
        ("writes when closed", "StorageError is raised where a closed writer inserts"),
        ("forgets changes", "changes are read as they were written: got"),
        ("lacks a method of its writer", "a StudyWriter has reopen: FaultyWriter lacks them"),
    ],
)
def test_a_fault_is_named(fault: str, says: str) -> None:
    faulty = Faulty(MemoryStorage(), fault)
    with pytest.raises(AssertionError, match=f"^Faulty: {says}"):
        check_storage(lambda: faulty)


class Bare:
    """A place to which studies can only be written."""

    label, where = "bare", None

    def studies(self) -> list[Any]:
        return []

    def begin(self, row: Any) -> Any:
        return row


def test_a_storage_without_a_method_is_told_which() -> None:
    with pytest.raises(AssertionError, match=r"^Bare: a Storage has read, save"):
        check_storage(Bare)  # type: ignore[arg-type]
    with pytest.raises(StorageError, match=r"expected .*, a Storage, or None; got .*, which lacks read, save of a Sto"):
        open_storage(Bare())  # type: ignore[arg-type]
    with pytest.raises(StorageError, match=r"expected the path of a file, a Storage, or None; got <object .*>$"):
        open_storage(object())  # type: ignore[arg-type]


def test_a_writer_that_does_not_look_where_it_writes_fails() -> None:
    faulty = Faulty(MemoryStorage(), "none")
    with pytest.raises(AssertionError, match=r"^Faulty: check_place raises StorageLost once what was opened"):
        check_storage(lambda: faulty, lambda: None)
