"""Both back ends obey the laws of storage, and a back end with one fault breaks one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.storage.backends import open_storage
from bostruct.storage.documents import DocumentWriter, MemoryStorage
from bostruct.storage.protocol import RemoteChanges, Storage, StorageError, StoredStudy, StudyWriter
from bostruct.storage.sqlite import SqliteStorage
from bostruct.testing import check_storage
from bostruct.testing.storage_laws import LAWS, STUDY


def test_memory_obeys() -> None:
    memory = MemoryStorage()
    check_storage(lambda: memory)


def test_files_obey(tmp_path: Path) -> None:
    check_storage(lambda: SqliteStorage(tmp_path / "runs.db"))
    assert [path.name for path in tmp_path.iterdir()] == ["runs.db"]
    check_storage(lambda: SqliteStorage(tmp_path / "lost.db"), (tmp_path / "lost.db").unlink)


def test_the_back_ends_are_made_of_the_bases(tmp_path: Path) -> None:
    for storage in (MemoryStorage(), SqliteStorage(tmp_path / "runs.db")):
        assert isinstance(storage, Storage)
        writer = storage.begin(STUDY)[1]
        assert isinstance(writer, StudyWriter)
        writer.close()


class Faulty(MemoryStorage):
    """Storage in memory, but for one fault."""

    label = "faulty"

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault, self.names_read, self.n_looks = fault, dict[str, list[Any]](), 0
        if fault == "has no label":
            self.label = None  # type: ignore[assignment]
        if fault in ("is at a number", "is nowhere"):
            self.where = 7 if fault == "is at a number" else "/nowhere/runs"  # type: ignore[assignment]

    def studies(self) -> Any:
        rows = super().studies()
        if self.fault == "lists seeds as floats":
            rows = [row._replace(seed=float(row.seed)) for row in rows]  # type: ignore[arg-type]
        return rows[::-1] if self.fault == "lists the newest first" else rows

    def read(self, name: str | None) -> StoredStudy:
        if self.fault == "makes what is read" and name == "nowhere":
            self.begin(STUDY._replace(name=name))[1].close()
        study, trials, changes = super().read(name)
        if self.fault == "rounds values":
            trials = [one._replace(started=round(one.started, 3)) for one in trials]
        if self.fault == "forgets costs":
            trials = [one if one.outcome is None else _without_cost(one) for one in trials]
        if self.fault == "forgets the order":
            trials = [one if one.told is None else one._replace(told=one.number) for one in trials]
        if self.fault == "reads of its list" and name == "readers":
            trials = self.names_read.setdefault(name, trials)
        return StoredStudy(study, trials, () if self.fault == "forgets changes" else changes)

    def begin(self, row: Any) -> Any:
        if self.fault == "has two writers":
            self._open.discard(row.name)
        if self.fault == "makes a study anew" and row.name == "writers" and row.name in self._kept:
            self._kept[row.name] = self._kept[row.name]._replace(study=row)
        stored, writer = super().begin(row)
        return stored, self._break(writer)

    def save(self, stored: StoredStudy) -> Any:
        if self.fault == "saves over":
            self._kept.pop(stored.study.name, None)
        return self._break(super().save(stored))

    def find_writers(self) -> frozenset[str] | None:
        return {"knows no writer": frozenset(), "keeps writers": frozenset({None})}.get(self.fault)  # type: ignore

    def find_revisions(self) -> object:
        self.n_looks += 1
        always = {"always changes": self.n_looks, "never changes": 0}
        return always[self.fault] if self.fault in always else super().find_revisions()

    def _break(self, writer: DocumentWriter) -> Any:
        if self.fault == "lacks a method of its writer":
            return PlainWriter()
        faulty = FaultyWriter(writer._storage, writer._stored, writer._release)
        faulty.fault = self.fault
        return faulty


def _without_cost(row: Any) -> Any:
    return row._replace(outcome=replace(row.outcome, cost=None))


class PlainWriter:
    """A writer that is not made of its base."""

    def close(self) -> None: ...


class FaultyWriter(DocumentWriter):
    """A writer in memory, but for one fault."""

    fault = "none"

    def insert(self, row: Any, state: str | None = None) -> None:
        if self.fault == "writes when closed" and not self.is_open:
            self._stored.trials.append(row)
            return
        if self.fault == "uses numbers twice" and row.number < len(self._stored.trials):
            self._write([row], state)
            return
        super().insert(row, None if self.fault == "loses the state" else state)

    def change(self, row: Any, status: str) -> None:
        is_there = 0 <= row.number < len(self._trials())
        if self.fault == "tells twice" and is_there:
            self._write([row._replace(point=self._trials()[row.number].point)])
        elif self.fault == "changes points" and is_there:
            self._write([row])
        elif self.fault == "writes late" and status == "running":
            self.__dict__.setdefault("late", []).append(row)
        else:
            super().change(row, status)

    def update(self, row: Any) -> None:
        forgets = self.fault == "updates otherwise" and self._stored.study.name.startswith("of ")
        self.change(row._replace(attempts=0) if forgets else row, "running")

    def reopen(self, row: Any) -> None:
        forgets = self.fault == "reopens otherwise" and self._stored.study.name.startswith("of ")
        self.change(row._replace(attempts=0) if forgets else row, "failed")

    def release(self, *numbers: int) -> None:
        for number in numbers if self.fault == "counts a number twice" else ():
            super().release(number)
        if self.fault not in ("keeps attempts", "counts a number twice"):
            super().release(*numbers)

    def poll(self) -> Any:
        return RemoteChanges(self._trials(), "", 0) if self.fault == "tells its own news" else None

    def find_dead_writers(self, owners: Any) -> set[str]:
        return set() if self.fault == "finds nobody gone" else set(owners)

    def close(self) -> None:
        for row in self.__dict__.pop("late", []):
            super().change(row, "running")
        if self.fault != "keeps the lock":
            super().close()


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
    "updates otherwise",
    "reopens otherwise",
    "tells its own news",
    "finds nobody gone",
    "knows no writer",
    "keeps writers",
    "always changes",
    "never changes",
)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_back_end_fails(fault: str) -> None:
    faulty = Faulty(fault)
    with pytest.raises(AssertionError, match=r"^Faulty breaks the law: "):
        check_storage(lambda: faulty)


def test_the_faultless_pass() -> None:
    faulty = Faulty("none")
    check_storage(lambda: faulty)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("has no label", "label is a non-empty string for messages: got None"),
        ("is at a number", "where is an existing path, a URL, or None: got 7"),
        ("is nowhere", "where is an existing path, a URL, or None: got '/nowhere/runs'"),
        ("lists seeds as floats", "studies lists what read returns: got StudyRow"),
        ("counts a number twice", r"a released trial has one attempt less, however often it is named: got \[-1, 0\]"),
        ("writes when closed", "StorageError is raised if a closed writer inserts"),
        ("forgets changes", "changes are read as they were written: got"),
        ("lacks a method of its writer", r".* its writer: expected a bostruct.storage.StudyWriter \(subclass"),
        ("updates otherwise", "update agrees with the base class: got"),
        ("reopens otherwise", "reopen agrees with the base class: got"),
        ("tells its own news", "poll returns only changes of other writers: got"),
        ("finds nobody gone", "an unknown writer is dead: got set"),
        ("knows no writer", "find_writers names the writer None, or returns None: got frozenset"),
        ("keeps writers", "find_writers omits a closed writer: got frozenset"),
        ("always changes", "find_revisions returns the same as long as nothing is written"),
        ("never changes", "find_revisions changes after each write: got 0"),
    ],
)
def test_a_fault_is_named(fault: str, says: str) -> None:
    faulty = Faulty(fault)
    with pytest.raises(AssertionError, match=f"^Faulty breaks the law: {says}"):
        check_storage(lambda: faulty)


class Bare:
    """A place of studies that is not made of the base."""

    label, where = "bare", None

    def studies(self) -> list[Any]:
        return []


def test_a_storage_that_is_not_made_of_the_base_is_told_which() -> None:
    wanted = r"a bostruct.storage.Storage \(subclass it\)"
    with pytest.raises(AssertionError, match=f"^Bare breaks the law: .*storage: expected {wanted}"):
        check_storage(Bare)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=f"storage: expected the path of a file, {wanted}, or None; got <.*Bare"):
        open_storage(Bare())  # type: ignore[arg-type]
    with pytest.raises(StorageError, match="expected the path of a file"):  # as other refusals of a place
        bo.Study({"a": bool}, storage=Bare())  # type: ignore[arg-type]


def test_a_writer_that_is_not_made_of_the_base_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^storage: its writer: expected a bostruct.storage.StudyWriter"):
        bo.Study({"a": bool}, storage=Faulty("lacks a method of its writer"))


@pytest.mark.parametrize("base", [Storage, StudyWriter])
def test_every_member_of_a_base_has_a_law(base: type) -> None:
    named = {name for members, _ in LAWS for name in members.split()}
    members = {name for name in vars(base) if name[0] != "_"}
    assert members - named == set()


def test_a_writer_that_does_not_look_where_it_writes_fails() -> None:
    faulty = Faulty("none")
    with pytest.raises(AssertionError, match=r"^Faulty breaks the law: check_place raises StorageLost once the opened"):
        check_storage(lambda: faulty, lambda: None)
