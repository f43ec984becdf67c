"""The laws of a storage back end, whose studies have one writer, or several that share a study."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from time import sleep
from typing import Any

from bostruct.checks import check_part
from bostruct.outcome import Outcome
from bostruct.storage.json_text import dump, parse
from bostruct.storage.protocol import (
    RemoteChanges,
    SpaceChange,
    Storage,
    StorageError,
    StorageLost,
    StoredStudy,
    StudyLocked,
    StudyRow,
    StudyWriter,
    TrialRow,
)
from bostruct.testing.common import is_raised, naming

MakeStorage = Callable[[], Storage]
TICK_SECONDS = 0.02  # resolution of file modification times
BLOCKED_SECONDS = 0.2  # duration after which a waiting writer counts as blocked
PATIENCE_SECONDS = 30.0  # maximum duration until it continues after its release
STUDY = StudyRow(
    name='law "1"\N{SNOWMAN}\n',
    domain='{"domain": "space", "variables": {}}',
    method='{"name": null, "searcher": "S", "settings": {"x": [1, 2.5]}}',
    seed=2**70 + 1,
    goals='{"directions": ["maximize"], "constraints": {"w": ["<=", 1.5]}}',
    initial='[{"a": 1}]',
    state='{"n": 0.1}',
    created=1_700_000_000.123456,
    version="0.0.1",
)
OUTCOMES = (
    Outcome((0.1 + 0.2,)),
    Outcome(failed="ValueError: \N{SNOWMAN}\n\0\t'; DROP TABLE trials; --"),
    Outcome((-1.7976931348623157e308,), cost=0.0, sd=5e-324, repeats=(1.0, -2.0)),
    Outcome(infeasible="too heavy", constraints={"weight": 1.5}),
    Outcome((1.0, -2.0), constraints={"a": -1.0, "b": 0.0}, cost=3.25),
)


def check_storage(make: MakeStorage, lose: Callable[[], object] | None = None) -> None:
    """Check every law of a storage.

    Parameters
    ----------
    make : MakeStorage
        Function that returns the same storage each time, as if opened by another process; empty at first.
    lose : callable, optional
        Function that deletes the data of the storage; None if impossible. The storage is not used afterward.

    Raises
    ------
    AssertionError
        If a law is violated; the message states the law.
    """
    with naming(make()):
        for _, law in LAWS:
            law(make)
        if lose is not None:
            check_lost(make, lose)


def check_storage_bases(make: MakeStorage) -> None:
    """Check that a storage and its writer are subclasses of their bases."""
    check_part("storage", make(), Storage)
    writer = check_part("storage: its writer", make().begin(STUDY)[1], StudyWriter)
    assert writer.lost is None, f"lost is None as long as the storage exists: got {writer.lost!r}"
    writer.check_place()
    writer.close()


def check_place_names(make: MakeStorage) -> None:
    """Check that a storage with a study has a label for messages, and a location that exists."""
    label, location = make().label, make().where
    is_text = isinstance(label, str) and label != ""
    assert is_text, f"label is a non-empty string for messages: got {label!r}"
    is_there = location is None or (isinstance(location, str) and ("://" in location or os.path.exists(location)))
    assert is_there, f"where is an existing path, a URL, or None: got {location!r}"


def check_closed(make: MakeStorage) -> None:
    """Check that a closed writer writes nothing."""
    writer = make().begin(STUDY._replace(name="closed"))[1]
    writer.insert(_running(0))
    writer.close()
    before = make().read("closed")
    steps: dict[str, Callable[[], object]] = {
        "a closed writer inserts": lambda: writer.insert(_running(1)),
        "a closed writer updates": lambda: writer.update(_complete_row(_running(0), Outcome((1.0,)), 0)),
    }
    for what, step in steps.items():
        assert is_raised(StorageError, step), f"StorageError is raised if {what}"
        assert make().read("closed") == before, f"nothing changes if {what}"


def check_lost(make: MakeStorage, lose: Callable[[], object]) -> None:
    """Check that a writer whose storage was removed raises StorageLost, then and at every later change."""
    writer = make().begin(STUDY._replace(name="lost"))[1]
    writer.insert(_running(0))
    writer.check_place()
    lose()
    steps = {
        "check_place": writer.check_place,
        "check_place of the base class, which reads lost,": lambda: StudyWriter.check_place(writer),
        "insert": lambda: writer.insert(_running(1)),
        "update": lambda: writer.update(_complete_row(_running(0), Outcome((1.0,)), 0)),
    }
    for name, step in steps.items():
        law = f"{name} raises StorageLost once the opened storage is not in its place any more"
        assert is_raised(StorageLost, step), law
    assert isinstance(writer.lost, StorageLost), f"lost is the reason why nothing is written: got {writer.lost!r}"
    writer.close()


def check_round_trip(make: MakeStorage) -> None:
    """Check that written data are read back exactly: strings, numbers, outcomes, and the order of completion."""
    stored, writer = make().begin(STUDY)
    assert stored == StoredStudy(STUDY, []), "a new study has its given row, and no trials"
    rows = [_running(number) for number in range(len(OUTCOMES))]
    for row in rows:
        writer.insert(row, f'{{"n": {row.number}}}')
    order = (3, 0, 4, 1, 2)
    for position, number in enumerate(order):
        rows[number] = _complete_row(rows[number], OUTCOMES[number], position)
        writer.update(rows[number]._replace(point="an update leaves the point as it is"))
    writer.close()
    found = make().read(STUDY.name)
    assert found.trials == rows, "trials are read as they were written"
    assert [row.number for row in sorted(found.trials, key=lambda row: row.told or 0)] == list(order), (
        "the order of completion is kept"
    )
    assert found.study == STUDY._replace(state=f'{{"n": {len(rows) - 1}}}'), "a study is read as it was written"


def check_steps(make: MakeStorage) -> None:
    """Check that each transaction is visible once it has returned, and changes nothing else."""
    row = STUDY._replace(name="steps")
    writer = make().begin(row)[1]

    def trials() -> list[TrialRow]:
        return make().read("steps").trials

    first, second = _running(0), _running(1)
    writer.insert(first, "[1]")
    assert (trials(), make().read("steps").study.state) == ([first], "[1]"), "an inserted trial is stored"
    writer.insert(second)
    assert make().read("steps").study.state == "[1]", "without a new state the old state is kept"
    writer.update(first._replace(attempts=2, started=3.5))
    assert trials() == [first._replace(attempts=2, started=3.5), second], "a restarted trial is stored"
    failed = _complete_row(first, Outcome(failed="rain"), 0)
    writer.update(failed)
    assert trials() == [failed, second], "an updated trial is stored"
    writer.reopen(first)
    assert trials() == [first, second], "a trial that runs again has no outcome and no place in the order"
    writer.release(0, 1, 0)
    attempts = [one.attempts for one in trials()]
    assert attempts == [0, 0], f"a released trial has one attempt less, however often it is named: got {attempts}"
    added = _complete_row(_running(2), Outcome((2.0,)), 0)
    writer.insert(added)
    writer.release(2)
    assert trials()[2] == added, "a finished trial cannot be released"
    writer.close()
    assert len(trials()) == 3, "closing changes no trial"


def check_refused_steps(make: MakeStorage) -> None:
    """Check that invalid transactions are rejected and change nothing."""
    writer = make().begin(STUDY._replace(name="refusals"))[1]
    writer.insert(_running(0))
    writer.insert(_complete_row(_running(1), Outcome((1.0,)), 0))
    before = make().read("refusals")
    steps: dict[str, Callable[[], object]] = {
        "a trial is completed twice": lambda: writer.update(_complete_row(_running(1), Outcome((2.0,)), 1)),
        "a missing trial is completed": lambda: writer.update(_complete_row(_running(7), Outcome((2.0,)), 1)),
        "a trial that has not failed runs again": lambda: writer.reopen(_running(1)),
        "a number is used twice": lambda: writer.insert(_running(0), "[9]"),
        "a missing study is read": lambda: make().read("nowhere"),
        "one of several studies is read without a name": lambda: make().read(None),
    }
    for what, step in steps.items():
        assert is_raised(StorageError, step), f"StorageError is raised if {what}"
        assert make().read("refusals") == before, f"nothing changes if {what}"
    writer.close()


def check_writers(make: MakeStorage) -> None:
    """Check that a study has one writer at a time, or several that share it, independently of other studies."""
    row = STUDY._replace(name="writers")
    writer = make().begin(row)[1]
    assert writer.is_open, "a writer is open once it is acquired"
    make().begin(row._replace(name="others"))[1].close()
    writer.insert(_running(0))
    writer.close()
    writer.close()
    assert not writer.is_open, "a closed writer is not open"
    stored, again = make().begin(row._replace(domain="{}", seed=0))
    again.close()
    assert stored == StoredStudy(row, [_running(0)]), "an existing study is opened as it was created"
    check_sharing(make, row._replace(name="shared"))


def check_readers(make: MakeStorage) -> None:
    """Check that a study can be read while it has a writer, and that reading changes nothing."""
    writer = make().begin(STUDY._replace(name="readers"))[1]
    writer.insert(_running(0), "[1]")
    listed = make().studies()
    for row in listed:
        there = make().read(row.name).study
        is_same = row == there and [type(one) for one in row] == [type(one) for one in there]
        assert is_same, f"studies lists what read returns: got {row}, then {there}"
    names = [row.name for row in listed]
    first = make().read("readers")
    first.trials.append(_running(1))
    assert make().read("readers") == StoredStudy(first.study, first.trials[:1]), "reading changes nothing"
    assert [row.name for row in make().studies()] == names, "listing changes nothing"
    assert names[0] == STUDY.name, "studies are listed oldest first"
    writer.insert(_running(1))
    writer.close()


def check_space_changes(make: MakeStorage) -> None:
    """Check that changes of a study's space are read in their order, with the state of the last change."""
    row = STUDY._replace(name="changes")
    writer = make().begin(row)[1]
    writer.insert(_running(0), "[1]")
    for number in range(2):
        writer.change_space(_space_change(number), f"[{number + 5}]")
    writer.insert(_running(1))
    writer.close()
    found = make().read("changes")
    assert found.changes == (_space_change(0), _space_change(1)), (
        f"changes are read as they were written: got {found.changes}"
    )
    assert found.study == row._replace(state="[6]"), "a change of the space changes only the state of the study"
    assert found.trials == [_running(0), _running(1)], "a change of the space changes no trial"


def check_saved(make: MakeStorage) -> None:
    """Check that a whole study is written at once, and does not replace another."""
    trials = [_complete_row(_running(0), OUTCOMES[0], 1), _running(1), _complete_row(_running(2), OUTCOMES[1], 0)]
    stored = StoredStudy(STUDY._replace(name="saved"), trials, (_space_change(1),))
    writer = make().save(stored)
    assert make().read("saved") == stored, "a study is saved without changes"
    writer.update(_complete_row(_running(1), OUTCOMES[3], 2))
    writer.close()
    before = make().read("saved")
    assert is_raised(StorageError, lambda: make().save(stored)), "StorageError is raised if the name is taken"
    assert make().read("saved") == before, "save does not replace an existing study"


def check_removed(make: MakeStorage) -> None:
    """Check that studies are deleted and renamed atomically, and only if they have no writer."""

    def names() -> set[str]:
        return {row.name for row in make().studies()} & {"removed", "kept", "renamed"}

    row = STUDY._replace(name="removed")
    make().begin(STUDY._replace(name="kept"))[1].close()
    writer = make().begin(row)[1]
    writer.insert(_running(0))
    for change in (lambda: make().delete("removed"), lambda: make().rename("removed", "renamed")):
        assert is_raised(StudyLocked, change), "StudyLocked is raised if a study is open for writing"
    writer.close()
    for change in (lambda: make().rename("removed", "kept"), lambda: make().delete("renamed")):
        assert is_raised(StorageError, change), "StorageError is raised if a name is taken, or does not exist"
    assert names() == {"removed", "kept"}, "a rejected call changes nothing"
    make().rename("removed", "renamed")
    assert names() == {"renamed", "kept"}, "a renamed study has only its new name"
    expected, found = StoredStudy(row._replace(name="renamed"), [_running(0)]), make().read("renamed")
    assert found == expected, f"renaming changes nothing else: got {found}, expected {expected}"
    goals = dump(parse(row.goals) | {"objective_name": ["loss"]})
    make().change_goals("renamed", goals)
    expected, found = StoredStudy(row._replace(name="renamed", goals=goals), [_running(0)]), make().read("renamed")
    assert found == expected, f"change_goals changes nothing else: got {found}, expected {expected}"
    make().delete("renamed")
    assert names() == {"kept"}, "a deleted study is gone, and others stay"
    stored, writer = make().begin(row)
    writer.close()
    assert stored.trials == [], "a new study with the name of a deleted study has no trials"


def check_storage_defaults(make: MakeStorage) -> None:
    """Check that overridden members of storages and writers agree with the defaults of the base class."""
    with_base, with_own = (make().begin(STUDY._replace(name=name))[1] for name in ("of the base", "of its own"))
    for row in (_running(0), _running(1)):
        with_base.insert(row)
        with_own.insert(row)
    failed = _complete_row(_running(0), Outcome(failed="rain"), 0)
    StudyWriter.update(with_base, failed)
    with_own.update(failed)
    _agree(make, "update agrees with the base class")
    StudyWriter.reopen(with_base, _running(0))
    with_own.reopen(_running(0))
    _agree(make, "reopen agrees with the base class")
    with_base.close()
    others, changes = with_own.find_dead_writers({"nobody"}), with_own.poll()
    assert others == StudyWriter.find_dead_writers(with_own, {"nobody"}), f"an unknown writer is dead: got {others}"
    assert changes is None or not changes.trials, f"poll returns only changes of other writers: got {changes}"
    present = make().find_writers()
    is_present = present is None or with_own.owner in present
    assert is_present, f"find_writers names the writer {with_own.owner!r}, or returns None: got {present}"
    _check_revisions(make, with_own)
    with_own.close()
    present = make().find_writers()
    is_gone = present is None or with_own.owner not in present
    assert is_gone, f"find_writers omits a closed writer: got {present}"


def _agree(make: MakeStorage, law: str) -> None:
    found, expected = (make().read(name).trials for name in ("of its own", "of the base"))
    assert found == expected, f"{law}: got {found}, expected {expected}"


def _check_revisions(make: MakeStorage, writer: StudyWriter) -> None:
    def find() -> tuple[object, object]:
        return make().find_revisions(), Storage.find_revisions(make())

    before = find()
    assert find() == before, "find_revisions returns the same as long as nothing is written"
    sleep(TICK_SECONDS)
    writer.release(1)
    after = find()
    assert after[1] != before[1], "written data are read"
    assert after[0] != before[0], f"find_revisions changes after each write: got {after[0]}"


LAWS: tuple[tuple[str, Callable[[MakeStorage], None]], ...] = (
    ("lost check_place", check_storage_bases),
    ("insert change update read", check_round_trip),
    ("label where", check_place_names),
    ("insert update reopen release close", check_steps),
    ("insert change update reopen read", check_refused_steps),
    ("begin is_open close owner ask_lock changing poll find_dead_writers", check_writers),
    ("insert update close", check_closed),
    ("studies read", check_readers),
    ("change_space", check_space_changes),
    ("save", check_saved),
    ("delete rename change_goals", check_removed),
    ("update reopen poll find_dead_writers find_writers find_revisions", check_storage_defaults),
)  # the members that a law tests, and the law


def _running(number: int) -> TrialRow:
    return TrialRow(number, f'{{"a": {number}}}', '{"origin": "random"}', 1e9 + number / 3, 1)


def _space_change(number: int) -> SpaceChange:
    return SpaceChange('{"domain": "space"}', STUDY.method, "[]", number, '{"0": "a: why"}', 1e9 + number / 3, "0.0.1")


def _complete_row(row: TrialRow, outcome: Outcome, position: int) -> TrialRow:
    return row._replace(outcome=outcome, finished=2e9 + position / 7, told=position)


def check_sharing(make: Callable[[], Storage], row: StudyRow) -> None:
    """Check that a second writer either raises StudyLocked or shares the study."""
    with ExitStack() as left_open:  # closes writers even if a law is violated

        def begin() -> StudyWriter:
            writer = make().begin(row)[1]
            left_open.callback(lambda: writer.is_open and writer.close())
            return writer

        first = begin()
        try:
            second = begin()
        except StudyLocked:
            return
        _check_owners(first, second)
        _check_remote_changes(first, second)
        _check_transactions(first, second, lambda: make().read(row.name).trials)
        _check_ask_lock(first, second)
        _check_dead_writers(first, second, begin)


class Interruption(Exception):
    """An error that ends a transaction before its commit."""


def _check_dead_writers(first: StudyWriter, second: StudyWriter, begin: Callable[[], StudyWriter]) -> None:
    mine, closed = _owner_of(first), _owner_of(second)
    second.close()
    assert first.find_dead_writers({closed, mine}) == {closed}, "a closed writer is dead, an open writer is not"
    again = begin()
    assert first.find_dead_writers({_owner_of(again)}) == set(), "a writer that was opened later is not dead"
    again.close()


def _check_owners(first: StudyWriter, second: StudyWriter) -> None:
    names = _owner_of(first), _owner_of(second)
    assert len({*names}) == 2, f"each writer has a different name: got {first.owner!r} twice"
    for writer in (first, second):
        dead = writer.find_dead_writers({*names, "nobody", "../" * 9 + "etc/passwd", ""})
        assert dead == {"nobody", "../" * 9 + "etc/passwd", ""}, f"all but the open writers are dead: got {dead}"


def _owner_of(writer: StudyWriter) -> str:
    law = "a second writer raises StudyLocked, or shares the study: then its owner is a name, got None"
    assert writer.owner is not None, law
    return writer.owner


def _check_remote_changes(first: StudyWriter, second: StudyWriter) -> None:
    trial = TrialRow(0, '{"a": 0}', "{}", 1e9, 1, owner=first.owner)
    first.insert(trial, '["new"]')
    assert first.poll() == RemoteChanges([], '["new"]', 0), "poll omits changes by the writer itself"
    _expect(second.poll(), [trial], "poll returns changes by other writers")
    _expect(second.poll(), [], "poll returns each change once")
    failed = trial._replace(outcome=Outcome(failed="rain"), finished=2e9, told=0, owner=None)
    second.update(failed)
    added = failed._replace(number=1, told=1)
    second.insert(added)
    _expect(first.poll(), [failed, added], "poll returns the current state of each changed trial once, by number")
    first.reopen(trial)
    first.release(0)
    _expect(second.poll(), [trial._replace(attempts=0, owner=None)], "a released trial has no owner")


def _check_transactions(first: StudyWriter, second: StudyWriter, read: Callable[[], list[TrialRow]]) -> None:
    before, waiting = read(), read()[0]
    taken = waiting._replace(owner=first.owner, attempts=1)
    second.insert(later := TrialRow(2, "{}", "{}", 1e9, 1, owner=second.owner))
    for _ in range(2):
        try:
            with first.changing() as changes:
                _expect(changes, [later], "a transaction starts with remote changes, again after a rollback")
                first.update(taken)
                first.insert(TrialRow(3, "{}", "{}", 1e9, 1))
                raise Interruption
        except Interruption:
            assert read() == [*before, later], "a transaction that raises changes nothing"
    with first.changing() as changes:
        _expect(changes, [later], "a transaction starts with remote changes")
        first.update(taken)
        first.insert(last := TrialRow(3, "{}", "{}", 1e9, 1))
        assert read() == [*before, later], "other writers do not see a part of a transaction"
    assert read() == [taken, *before[1:], later, last], "a committed transaction is stored"
    _expect(first.poll(), [], "poll omits transactions of the writer itself")
    _expect(second.poll(), [taken, last], "poll returns transactions of other writers")


def _check_ask_lock(first: StudyWriter, second: StudyWriter) -> None:
    acquired = threading.Event()
    failed: list[BaseException] = []

    def acquire() -> None:
        try:
            with second.ask_lock():
                acquired.set()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=acquire, daemon=True)
    with first.ask_lock():
        with first.ask_lock():
            thread.start()
        assert not acquired.wait(BLOCKED_SECONDS), "a writer waits while another writer has the ask lock"
        second.update(TrialRow(2, "{}", '{"told": "meanwhile"}', 1e9, 1, owner=second.owner))
    assert acquired.wait(PATIENCE_SECONDS), f"a writer continues once the ask lock is free: {failed}"
    thread.join()


def _expect(changes: RemoteChanges | None, trials: list[TrialRow], law: str) -> None:
    assert isinstance(changes, RemoteChanges), f"poll returns RemoteChanges: got {type(changes).__name__}"
    found: list[Any] = list(changes.trials)
    assert found == trials, f"{law}: got {found}, expected {trials}"
