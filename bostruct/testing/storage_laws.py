"""The laws of a storage back end, whose studies have one writer, or several that share them."""

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
        Function that deletes the data of the storage; None if impossible. The storage is not used afterwards.

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
    assert writer.lost is None, f"lost is None as long as the storage is there: got {writer.lost!r}"
    writer.check_place()
    writer.close()


def check_place_names(make: MakeStorage) -> None:
    """Check that a storage with a study has a name for messages and is where it reports to be."""
    label, where = make().label, make().where
    is_text = isinstance(label, str) and label != ""
    assert is_text, f"label is a text that messages can show: got {label!r}"
    is_there = where is None or (isinstance(where, str) and ("://" in where or os.path.exists(where)))
    assert is_there, f"where is a path that is there, a URL, or None: got {where!r}"


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
        assert is_raised(StorageError, step), f"StorageError is raised where {what}"
        assert make().read("closed") == before, f"nothing changes where {what}"


def check_lost(make: MakeStorage, lose: Callable[[], object]) -> None:
    """Check that a writer whose storage was removed raises StorageLost, then and at every later change."""
    writer = make().begin(STUDY._replace(name="lost"))[1]
    writer.insert(_running(0))
    writer.check_place()
    lose()
    steps = {
        "check_place": writer.check_place,
        "check_place of the base, which reads lost,": lambda: StudyWriter.check_place(writer),
        "insert": lambda: writer.insert(_running(1)),
        "update": lambda: writer.update(_complete_row(_running(0), Outcome((1.0,)), 0)),
    }
    for name, step in steps.items():
        law = f"{name} raises StorageLost once what was opened is not in its place any more"
        assert is_raised(StorageLost, step), law
    assert isinstance(writer.lost, StorageLost), f"lost says why nothing is written any more: got {writer.lost!r}"
    writer.close()


def check_round_trip(make: MakeStorage) -> None:
    """Check that written data are read back exactly: strings, numbers, outcomes, and the order of completion."""
    stored, writer = make().begin(STUDY)
    assert stored == StoredStudy(STUDY, []), "a new study is what it was made of, without trials"
    rows = [_running(number) for number in range(len(OUTCOMES))]
    for row in rows:
        writer.insert(row, f'{{"n": {row.number}}}')
    order = (3, 0, 4, 1, 2)
    for told, number in enumerate(order):
        rows[number] = _complete_row(rows[number], OUTCOMES[number], told)
        writer.update(rows[number]._replace(point="an update leaves the point as it is"))
    writer.close()
    found = make().read(STUDY.name)
    assert found.trials == rows, "trials are read as they were written"
    assert [row.number for row in sorted(found.trials, key=lambda row: row.told or 0)] == list(order), (
        "the order of telling is kept"
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
    assert (trials(), make().read("steps").study.state) == ([first], "[1]"), "what insert returned from is there"
    writer.insert(second)
    assert make().read("steps").study.state == "[1]", "without a new state the old one stays"
    writer.update(first._replace(attempts=2, started=3.5))
    assert trials() == [first._replace(attempts=2, started=3.5), second], "a trial handed out again is there"
    failed = _complete_row(first, Outcome(failed="rain"), 0)
    writer.update(failed)
    assert trials() == [failed, second], "what update returned from is there"
    writer.reopen(first)
    assert trials() == [first, second], "a trial that runs again has no outcome and no place in the order"
    writer.release(0, 1, 0)
    attempts = [one.attempts for one in trials()]
    assert attempts == [0, 0], f"a trial taken back has one attempt less, however often it is named: got {attempts}"
    added = _complete_row(_running(2), Outcome((2.0,)), 0)
    writer.insert(added)
    writer.release(2)
    assert trials()[2] == added, "a trial that is finished cannot be taken back"
    writer.close()
    assert len(trials()) == 3, "closing changes no trial"


def check_refused_steps(make: MakeStorage) -> None:
    """Check that invalid transactions are rejected and change nothing."""
    writer = make().begin(STUDY._replace(name="refusals"))[1]
    writer.insert(_running(0))
    writer.insert(_complete_row(_running(1), Outcome((1.0,)), 0))
    before = make().read("refusals")
    steps: dict[str, Callable[[], object]] = {
        "a trial is told twice": lambda: writer.update(_complete_row(_running(1), Outcome((2.0,)), 1)),
        "a trial that is not there is told": lambda: writer.update(_complete_row(_running(7), Outcome((2.0,)), 1)),
        "a trial that has not failed runs again": lambda: writer.reopen(_running(1)),
        "a number is used twice": lambda: writer.insert(_running(0), "[9]"),
        "a study that is not there is read": lambda: make().read("nowhere"),
        "one of several studies is read without a name": lambda: make().read(None),
    }
    for what, step in steps.items():
        assert is_raised(StorageError, step), f"StorageError is raised where {what}"
        assert make().read("refusals") == before, f"nothing changes where {what}"
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
    assert not writer.is_open, "a writer that was closed is not open"
    stored, again = make().begin(row._replace(domain="{}", seed=0))
    again.close()
    assert stored == StoredStudy(row, [_running(0)]), "a study that is there is opened as it was made"
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
    assert found.study == row._replace(state="[6]"), "a change leaves the study as it was made, but for its state"
    assert found.trials == [_running(0), _running(1)], "a change of the space changes no trial"


def check_saved(make: MakeStorage) -> None:
    """Check that a whole study is written at once, and does not replace another."""
    trials = [_complete_row(_running(0), OUTCOMES[0], 1), _running(1), _complete_row(_running(2), OUTCOMES[1], 0)]
    stored = StoredStudy(STUDY._replace(name="saved"), trials, (_space_change(1),))
    writer = make().save(stored)
    assert make().read("saved") == stored, "a study is saved as it is"
    writer.update(_complete_row(_running(1), OUTCOMES[3], 2))
    writer.close()
    before = make().read("saved")
    assert is_raised(StorageError, lambda: make().save(stored)), (
        "StorageError is raised where a study of the name is there"
    )
    assert make().read("saved") == before, "a study that is there stays"


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
        assert is_raised(StorageError, change), "StorageError is raised if a name is taken, or is not there"
    assert names() == {"removed", "kept"}, "what was refused changes nothing"
    make().rename("removed", "renamed")
    assert names() == {"renamed", "kept"}, "a renamed study has its new name alone"
    expected, found = StoredStudy(row._replace(name="renamed"), [_running(0)]), make().read("renamed")
    assert found == expected, f"a renamed study is as before: got {found}, expected {expected}"
    goals = dump(parse(row.goals) | {"objective_name": ["loss"]})
    make().change_goals("renamed", goals)
    expected, found = StoredStudy(row._replace(name="renamed", goals=goals), [_running(0)]), make().read("renamed")
    assert found == expected, f"a study with other goals is as before: got {found}, expected {expected}"
    make().delete("renamed")
    assert names() == {"kept"}, "a deleted study is gone, and others stay"
    stored, writer = make().begin(row)
    writer.close()
    assert stored.trials == [], "a study of the name of a deleted one has no trials"


def check_storage_defaults(make: MakeStorage) -> None:
    """Check that overridden members of storages and writers agree with those of the base class."""
    with_base, with_own = (make().begin(STUDY._replace(name=name))[1] for name in ("of the base", "of its own"))
    for row in (_running(0), _running(1)):
        with_base.insert(row)
        with_own.insert(row)
    failed = _complete_row(_running(0), Outcome(failed="rain"), 0)
    StudyWriter.update(with_base, failed)
    with_own.update(failed)
    _agree(make, "update changes what the base changes")
    StudyWriter.reopen(with_base, _running(0))
    with_own.reopen(_running(0))
    _agree(make, "reopen changes what the base changes")
    with_base.close()
    others, news = with_own.find_dead_writers({"nobody"}), with_own.poll()
    assert others == StudyWriter.find_dead_writers(with_own, {"nobody"}), f"who is not there is gone: got {others}"
    assert news is None or not news.trials, f"there are no news as long as nobody else writes: got {news}"
    present = make().find_writers()
    is_present = present is None or with_own.owner in present
    assert is_present, f"find_writers names the writer {with_own.owner!r}, or returns None: got {present}"
    _check_revisions(make, with_own)
    with_own.close()
    present = make().find_writers()
    is_gone = present is None or with_own.owner not in present
    assert is_gone, f"find_writers leaves out a writer that has closed: got {present}"


def _agree(make: MakeStorage, law: str) -> None:
    found, expected = (make().read(name).trials for name in ("of its own", "of the base"))
    assert found == expected, f"{law}: got {found}, expected {expected}"


def _check_revisions(make: MakeStorage, writer: StudyWriter) -> None:
    def look() -> tuple[object, object]:
        return make().find_revisions(), Storage.find_revisions(make())

    before = look()
    assert look() == before, "find_revisions returns the same as long as nothing is written"
    sleep(TICK_SECONDS)
    writer.release(1)
    after = look()
    assert after[1] != before[1], "what is written is read"
    assert after[0] != before[0], f"find_revisions returns something else once anything was written: got {after[0]}"


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
    ("update reopen look find_dead_writers find_writers find_revisions", check_storage_defaults),
)  # the members that a law tests, and the law


def _running(number: int) -> TrialRow:
    return TrialRow(number, f'{{"a": {number}}}', '{"origin": "random"}', 1e9 + number / 3, 1)


def _space_change(number: int) -> SpaceChange:
    return SpaceChange('{"domain": "space"}', STUDY.method, "[]", number, '{"0": "a: why"}', 1e9 + number / 3, "0.0.1")


def _complete_row(row: TrialRow, outcome: Outcome, told: int) -> TrialRow:
    return row._replace(outcome=outcome, finished=2e9 + told / 7, told=told)


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
        _check_news(first, second)
        _check_steps(first, second, lambda: make().read(row.name).trials)
        _check_deciding(first, second)
        _check_gone(first, second, begin)


class Interruption(Exception):
    """An error that ends a transaction before its commit."""


def _check_gone(first: StudyWriter, second: StudyWriter, begin: Callable[[], StudyWriter]) -> None:
    mine, gone = _owner_of(first), _owner_of(second)
    second.close()
    assert first.find_dead_writers({gone, mine}) == {gone}, "a writer that has closed is gone, and no other"
    again = begin()
    assert first.find_dead_writers({_owner_of(again)}) == set(), "a writer that came later is there"
    again.close()


def _check_owners(first: StudyWriter, second: StudyWriter) -> None:
    names = _owner_of(first), _owner_of(second)
    assert len({*names}) == 2, f"each writer has a name of its own: got {first.owner!r} twice"
    for writer in (first, second):
        gone = writer.find_dead_writers({*names, "nobody", "../" * 9 + "etc/passwd", ""})
        assert gone == {"nobody", "../" * 9 + "etc/passwd", ""}, f"who is there is not gone, all others are: got {gone}"


def _owner_of(writer: StudyWriter) -> str:
    law = "a second writer is refused with StudyLocked, or shares the study: it needs a name as its owner, got None"
    assert writer.owner is not None, law
    return writer.owner


def _check_news(first: StudyWriter, second: StudyWriter) -> None:
    trial = TrialRow(0, '{"a": 0}', "{}", 1e9, 1, owner=first.owner)
    first.insert(trial, '["new"]')
    assert first.poll() == RemoteChanges([], '["new"]', 0), "what a writer wrote is no news to it"
    _expect(second.poll(), [trial], "what another wrote is news")
    _expect(second.poll(), [], "news are told once")
    told = trial._replace(outcome=Outcome(failed="rain"), finished=2e9, told=0, owner=None)
    second.update(told)
    added = told._replace(number=1, told=1)
    second.insert(added)
    _expect(first.poll(), [told, added], "news hold each trial once, as it is now, by number")
    first.reopen(trial)
    first.release(0)
    _expect(second.poll(), [trial._replace(attempts=0, owner=None)], "a trial that is taken back has no owner")


def _check_steps(first: StudyWriter, second: StudyWriter, read: Callable[[], list[TrialRow]]) -> None:
    before, waiting = read(), read()[0]
    taken = waiting._replace(owner=first.owner, attempts=1)
    second.insert(later := TrialRow(2, "{}", "{}", 1e9, 1, owner=second.owner))
    for _ in range(2):
        try:
            with first.changing() as news:
                _expect(news, [later], "a step begins with the news, again after one that was not done")
                first.update(taken)
                first.insert(TrialRow(3, "{}", "{}", 1e9, 1))
                raise Interruption
        except Interruption:
            assert read() == [*before, later], "a step that raises changes nothing"
    with first.changing() as news:
        _expect(news, [later], "a step begins with the news")
        first.update(taken)
        first.insert(last := TrialRow(3, "{}", "{}", 1e9, 1))
        assert read() == [*before, later], "nobody sees a part of a step"
    assert read() == [taken, *before[1:], later, last], "a step is there once it is done"
    _expect(first.poll(), [], "what a writer wrote in a step is no news to it")
    _expect(second.poll(), [taken, last], "what another wrote in a step is news")


def _check_deciding(first: StudyWriter, second: StudyWriter) -> None:
    decided = threading.Event()
    failed: list[BaseException] = []

    def decide() -> None:
        try:
            with second.ask_lock():
                decided.set()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=decide, daemon=True)
    with first.ask_lock():
        with first.ask_lock():
            thread.start()
        assert not decided.wait(BLOCKED_SECONDS), "a writer waits while another decides"
        second.update(TrialRow(2, "{}", '{"told": "meanwhile"}', 1e9, 1, owner=second.owner))
    assert decided.wait(PATIENCE_SECONDS), f"a writer goes on once no other decides: {failed}"
    thread.join()


def _expect(news: RemoteChanges | None, trials: list[TrialRow], law: str) -> None:
    assert isinstance(news, RemoteChanges), f"news are a RemoteChanges: got {type(news).__name__}"
    found: list[Any] = list(news.trials)
    assert found == trials, f"{law}: got {found}, expected {trials}"
