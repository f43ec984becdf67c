"""A back end of documents: what a user writes is enough, and a step that fails changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import bostruct as bo
from bostruct.outcome import Outcome
from bostruct.storage.documents import DocumentStorage, MemoryStorage
from bostruct.storage.protocol import StorageError, StoredStudy, StudyLocked, TrialRow
from bostruct.testing import check_storage
from bostruct.testing.storage_laws import STUDY

FIRST, SECOND = TrialRow(0, "{}", "{}", 1e9, 1), TrialRow(1, "{}", "{}", 1e9, 1)


class Drawer(DocumentStorage):
    """Documents in a dict; writing fails as long as it is jammed."""

    def __init__(self) -> None:
        self.kept: dict[str, StoredStudy] = {}
        self.locked: set[str] = set()
        self.is_jammed = False

    def names(self) -> list[str]:
        return list(self.kept)

    def load(self, name: str) -> StoredStudy:
        return self.kept[name]._replace(trials=list(self.kept[name].trials))

    def write(self, stored: StoredStudy) -> None:
        if self.is_jammed:
            raise StorageError("jammed")
        self.kept[stored.study.name] = stored._replace(trials=list(stored.trials))

    def remove(self, name: str) -> None:
        del self.kept[name]

    def lock(self, name: str) -> Callable[[], object]:
        if name in self.locked:
            raise StudyLocked(name)
        self.locked.add(name)
        return lambda: self.locked.discard(name)


def test_five_members_are_a_back_end() -> None:
    drawer = Drawer()
    check_storage(lambda: drawer)
    assert (drawer.label, drawer.where) == ("the storage", None)
    assert Drawer.__abstractmethods__ == frozenset()
    assert DocumentStorage.__abstractmethods__ == {"names", "load", "write", "remove", "lock"}


def test_a_study_goes_on_in_it() -> None:
    drawer = Drawer()
    for n_trials in (3, 5):
        result = bo.minimize(lambda x: x["a"], {"a": range(9)}, n_trials, storage=drawer, seed=0, progress=False)
    assert len(result.trials) == 5
    assert not drawer.locked


STEPS: dict[str, Callable[[Any], object]] = {
    "insert": lambda writer: writer.insert(SECOND, "[2]"),
    "update": lambda writer: writer.update(FIRST._replace(outcome=Outcome((1.0,)), finished=2e9, told=0)),
    "release": lambda writer: writer.release(0),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_fails_changes_nothing(name: str) -> None:
    drawer = Drawer()
    writer = drawer.begin(STUDY)[1]
    writer.insert(FIRST, "[1]")
    before = drawer.load(STUDY.name)
    drawer.is_jammed = True
    with pytest.raises(StorageError, match="jammed"):
        STEPS[name](writer)
    drawer.is_jammed = False
    writer.release()  # writes what the writer takes for the study
    assert drawer.load(STUDY.name) == before
    STEPS[name](writer)
    assert drawer.load(STUDY.name) != before


def test_who_cannot_write_a_new_study_leaves_it_to_others() -> None:
    drawer = Drawer()
    drawer.is_jammed = True
    with pytest.raises(StorageError, match="jammed"):
        drawer.begin(STUDY)
    assert not drawer.locked


class Overtaken(Drawer):
    """A place in which another process makes the study while this one waits for its lock."""

    def lock(self, name: str) -> Callable[[], object]:
        self.write(StoredStudy(STUDY, [FIRST]))
        return super().lock(name)


def test_a_study_that_was_made_meanwhile_is_opened_and_never_replaced() -> None:
    assert Overtaken().begin(STUDY)[0] == StoredStudy(STUDY, [FIRST])
    drawer = Overtaken()
    with pytest.raises(StorageError, match=r"already contains a study "):
        drawer.save(StoredStudy(STUDY, []))
    assert drawer.load(STUDY.name).trials == [FIRST]
    assert not drawer.locked


def test_a_trial_is_inserted_in_its_place() -> None:
    writer = MemoryStorage().begin(STUDY)[1]
    with pytest.raises(StorageError, match="storage in memory: expected a trial 0, got a trial 1 to insert"):
        writer.insert(SECOND)


def test_a_step_in_memory_copies_no_trials() -> None:
    memory = MemoryStorage()
    writer = memory.begin(STUDY)[1]
    writer.insert(FIRST)
    kept = memory._kept[STUDY.name].trials
    writer.insert(SECOND)
    writer.release(0)
    assert memory._kept[STUDY.name].trials is kept
    assert json.dumps([row.attempts for row in kept]) == "[0, 1]"
