"""A writer goes on where the database holds what its holder knows, and nowhere else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from bostruct.outcome import Outcome
from bostruct.storage.protocol import RemoteChanges, SpaceChange, StorageLost, StoredStudy, TrialRow
from bostruct.storage.reading import find_study_key, read_progress, read_study
from bostruct.storage.row_storage import Snapshot
from bostruct.storage.schema import SCHEMA_VERSION, create_tables
from bostruct.storage.writing import Transaction, insert_study
from bostruct.testing.storage_laws import STUDY

ROW = TrialRow(0, "{}", "{}", 1.0, 1)
CHANGE = SpaceChange("{}", "{}", "[]", 1, "{}", 1.0, "0")
Change = Callable[[Transaction], object]


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create_tables(connection)
        insert_study(connection, 1, StoredStudy(STUDY, [ROW, ROW._replace(number=1)]))
        yield connection


def read(connection: sqlite3.Connection) -> Snapshot:
    replica = Snapshot(find_study_key(connection, STUDY.name, "here", SCHEMA_VERSION))
    replica.take_all(read_study(connection, None, "here", SCHEMA_VERSION))
    return replica


def make(
    connection: sqlite3.Connection, *changes: Change, replica: Snapshot | None = None, reads: bool = False
) -> RemoteChanges:
    """Make a step, as another writer without `replica`, and return the news within it."""
    step = Transaction(connection, read_progress(connection, 1, "here", SCHEMA_VERSION), "here")
    news = RemoteChanges([], "", 0)
    if replica is not None:
        replica.begin(step)
        news = replica.read_news(step) if reads else news
    for change in changes:
        change(step)
    after = step.finish()
    if replica is not None:
        replica.end(step, after)
    return news


def look(connection: sqlite3.Connection, replica: Snapshot) -> RemoteChanges:
    return replica.take(replica.read_update(connection))


def insert(number: int) -> Change:
    return lambda step: step.insert(ROW._replace(number=number), f"[{number}]")


def tell(number: int) -> Change:
    told = ROW._replace(number=number, outcome=Outcome((1.0,)), finished=2.0, told=0)
    return lambda step: step.change(told, "running")


def test_what_others_wrote_is_news_once(connection: sqlite3.Connection) -> None:
    replica = read(connection)
    assert look(connection, replica).trials == []
    make(connection, insert(2), tell(0))
    make(connection, lambda step: step.release((1,)))
    found = look(connection, replica)
    assert [row.number for row in found.trials] == [0, 1, 2]
    assert (found.state, found.n_changes) == ("[2]", 0)
    assert look(connection, replica) == RemoteChanges([], "[2]", 0)


def test_what_the_holder_wrote_is_no_news(connection: sqlite3.Connection) -> None:
    replica = read(connection)
    make(connection, insert(2), replica=replica)
    make(connection, tell(2), replica=replica, reads=True)
    assert look(connection, replica).trials == []
    make(connection, insert(3))
    assert [row.number for row in make(connection, tell(3), replica=replica, reads=True).trials] == [3]
    assert look(connection, replica).trials == []


def test_a_step_that_did_not_ask_for_the_news_leaves_them(connection: sqlite3.Connection) -> None:
    replica = read(connection)
    make(connection, insert(2))
    make(connection, insert(3), replica=replica)
    assert [row.number for row in look(connection, replica).trials] == [2, 3]


def test_a_step_that_was_never_done_leaves_the_news(connection: sqlite3.Connection) -> None:
    replica = read(connection)
    make(connection, insert(2))
    step = Transaction(connection, read_progress(connection, 1, "here", SCHEMA_VERSION), "here")
    replica.begin(step)
    assert [row.number for row in replica.read_news(step).trials] == [2]
    assert [row.number for row in look(connection, replica).trials] == [2]


def test_changes_of_the_space_are_counted_and_proved(connection: sqlite3.Connection) -> None:
    replica = read(connection)
    make(connection, lambda step: step.change_space(CHANGE, "[]"))
    assert look(connection, replica).n_changes == 1
    make(connection, lambda step: step.change_space(CHANGE._replace(trials=2), "[]"), replica=replica)
    assert look(connection, replica).n_changes == 2
    make(connection, insert(2))
    assert look(connection, replica).n_changes == 2


def go_back(connection: sqlite3.Connection) -> None:
    connection.execute("ROLLBACK")


def go_back_and_on(connection: sqlite3.Connection) -> None:
    connection.execute("ROLLBACK")
    make(connection, tell(0))


def go_back_and_further(connection: sqlite3.Connection) -> None:
    go_back_and_on(connection)
    make(connection, insert(2))


@pytest.mark.parametrize("lose", [go_back, go_back_and_on, go_back_and_further])
@pytest.mark.parametrize("reads", [True, False], ids=["reads", "writes alone"])
def test_a_database_that_lost_a_step_is_not_written(connection, lose, reads):
    replica = read(connection)
    connection.execute("BEGIN")
    make(connection, insert(2), replica=replica)
    lose(connection)
    with pytest.raises(StorageLost, match="differs from what this process read or wrote at revision 1"):
        look(connection, replica)
    if reads or lose in (go_back, go_back_and_on):  # what is known to be elsewhere is met when it is read
        with pytest.raises(StorageLost, match="differs from what this process read or wrote"):
            make(connection, tell(1), replica=replica, reads=reads)


class Halt(Exception):
    """An exception that another thread has raised in this one."""


class Halting(dict[int, int]):
    """Checksums of which the last is not taken in."""

    def __getitem__(self, number: int) -> int:
        if number == max(self):
            raise Halt
        return super().__getitem__(number)


def test_what_was_half_taken_in_is_no_loss(connection: sqlite3.Connection) -> None:
    replica = read(connection)
    make(connection, insert(2), tell(0))
    update = replica.read_update(connection)
    with pytest.raises(Halt):
        replica.take(update._replace(checksums=Halting(update.checksums)))
    assert [row.number for row in look(connection, replica).trials] == [0, 2]
    make(connection, tell(1), replica=replica, reads=True)
    assert look(connection, replica).trials == []


@pytest.mark.parametrize("forge", ["DELETE FROM trials WHERE number = 1", "UPDATE trials SET checksum = 7"])
def test_rows_that_changed_without_a_step_are_found_where_all_are_counted(connection, forge):
    replica = read(connection)
    replica.check_rows(connection)
    connection.execute(forge)
    assert look(connection, replica).trials == []
    with pytest.raises(StorageLost, match="or trials were removed"):
        replica.check_rows(connection)


def test_rows_that_others_wrote_are_no_loss(connection: sqlite3.Connection) -> None:
    replica = read(connection)
    make(connection, insert(2), tell(0))
    replica.check_rows(connection)
    assert [row.number for row in look(connection, replica).trials] == [0, 2]
