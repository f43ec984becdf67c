"""Who is there, by heartbeats on the clock of the server, and who decides."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import bostruct as bo
from bostruct.contracts import NotWanted
from bostruct.storage.postgresql import session as session_module
from bostruct.storage.postgresql import storage as seat_module
from bostruct.storage.postgresql.storage import PostgresqlWriter, ServerWriterLock
from bostruct.storage.protocol import StorageError, StudyLocked
from tests.storage.postgresql.server import Server
from tests.storage.test_seats import check_one_thread_decides_once
from tests.waiting import wait_until

SPACE = {"a": range(12), "b": ["x", "y", "z"]}


def open_study(url: str, **given: object) -> bo.Study:
    return bo.Study(SPACE, **({"method": "random", "seed": 0, "storage": url} | given))  # type: ignore[arg-type]


def writer_of(study: bo.Study) -> PostgresqlWriter:
    store = study._ledger.store
    assert isinstance(store, PostgresqlWriter)
    return store


def seat_of(study: bo.Study) -> ServerWriterLock:
    return writer_of(study)._lock


@pytest.fixture
def pair(url: str) -> Iterator[tuple[bo.Study, bo.Study]]:
    with open_study(url) as first, open_study(url) as second:
        yield first, second


def age(server: Server, database: str, study: bo.Study, seconds: float) -> None:
    """Make the last heartbeat of a writer older."""
    statement = "UPDATE bostruct.writers SET renewed = now() - INTERVAL '{} s' WHERE owner = '{}'"
    server.query(statement.format(seconds, seat_of(study).owner), database)


def end_connections(server: Server, which: str) -> None:
    server.query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {which}")


def end_connection_of(server: Server, study: bo.Study) -> None:
    end_connections(server, f"application_name = '{seat_of(study)._session._name}'")


def let_server_be_old(monkeypatch: pytest.MonkeyPatch, *statements: str) -> None:
    """Let statements take the server for one that has been up for long, as it must have been to call writers gone."""
    for name in statements:
        started = getattr(seat_module, name).replace(f"GREATEST(renewed, {seat_module._STARTED})", "renewed")
        monkeypatch.setattr(seat_module, name, started)


def test_a_silent_writer_is_gone_after_a_minute_and_its_late_value_is_kept(server, database, pair, monkeypatch):
    slow, quick = pair
    late = slow.ask()
    age(server, database, slow, 55)
    assert quick.ask().number == 1
    age(server, database, slow, 65)
    assert quick.ask().number == 2, "the server was not up for as long"
    let_server_be_old(monkeypatch, "_PRESENT")
    again = quick.ask()
    assert (again.number, again.point, again.info["attempts"]) == (0, late.point, 2)
    quick.tell(again, 3.0)
    double = slow.tell(late, 4.0)
    assert (double.number, double.value, double.info["double_of"]) == (3, 4.0, 0)


def test_trials_of_a_silent_writer_wait_for_who_only_looks(server, database, url, monkeypatch):
    let_server_be_old(monkeypatch, "_WRITERS")
    with open_study(url) as slow, open_study(url) as quick:
        slow.ask()
        quick.ask()
        age(server, database, slow, 55)
        assert bo.Study.load(url, read_only=True).waiting == ()
        age(server, database, slow, 65)
        assert bo.Study.load(url, read_only=True).waiting == (0,)
        monkeypatch.setattr(seat_module, "_IS_STANDBY", "SELECT true")
        assert bo.Study.load(url, read_only=True).waiting == ()


def test_who_was_cut_off_calls_nobody_gone_for_a_minute(server, database, pair, monkeypatch):
    let_server_be_old(monkeypatch, "_PRESENT")
    first, second = pair
    first.ask()
    age(server, database, first, 65)
    session = seat_of(second)._session
    session._heard -= 45.0
    session._drop()
    seat_of(second)._renew()
    assert second.ask().number == 1
    session._returned -= 61.0
    assert second.ask().number == 0


def test_a_heartbeat_comes_in_time_and_survives_its_connection(server, url, database, monkeypatch):
    monkeypatch.setattr(seat_module, "RENEW_SECONDS", 0.05)
    old = "SELECT 1 FROM bostruct.writers WHERE renewed < now() - INTERVAL '90 s'"
    with open_study(url) as study:
        for _ in range(2):
            age(server, database, study, 100)
            wait_until(lambda: not server.query(old, database))
            end_connections(server, f"application_name LIKE 'bostruct %' AND datname = '{database}'")
        assert study.ask().number == 0
        thread = f"bostruct {seat_of(study).owner}"
        assert any(one.name == thread for one in threading.enumerate())
    wait_until(lambda: all(one.name != thread for one in threading.enumerate()))
    assert server.query("SELECT * FROM bostruct.writers", database) == []


def test_who_loses_the_connection_while_it_decides_hands_out_no_point_twice(server, pair):
    first, second = pair
    with first.ask_lock():
        end_connection_of(server, first)
        with second.ask_lock():  # would wait if the lock had not gone with the connection
            trials = [second.ask(), first.ask(), second.ask(), first.ask()]
    points = {tuple(trial.point.values()) for trial in trials}
    assert (len(points), [trial.number for trial in trials]) == (4, [0, 1, 2, 3])
    with first.ask_lock():
        pass


@pytest.mark.parametrize("n_waiting", [0, 2])
def test_who_loses_the_connection_while_it_decides_asks_for_no_trial_too_many(server, pair, n_waiting, monkeypatch):
    first, second = pair
    if n_waiting:
        first.prefetch(n_waiting)
    ask_again = first._ledger.ask_again

    def be_slow(*arguments: object) -> object:
        end_connection_of(server, first)
        second.ask()
        return ask_again(*arguments)

    monkeypatch.setattr(first._ledger, "ask_again", be_slow)
    with first.ask_lock(lambda: first.n_finished + first.n_remote < 1):
        for _ in range(2):
            with pytest.raises(NotWanted, match="no further trial is wanted"):
                first.ask()
    monkeypatch.undo()
    assert (first.in_flight, len(first.trials)) == ({}, max(1, n_waiting))
    assert first.ask().number == 1


def test_who_is_stopped_while_it_decides_holds_others_up_as_long_as_its_lease(server, database, pair, monkeypatch):
    let_server_be_old(monkeypatch, "_PRESENT", "_END_HOLDER")
    first, second = pair
    seat_of(second)._session.query("SET lock_timeout = '50ms'")
    with ThreadPoolExecutor(1) as executor, first.ask_lock():
        age(server, database, first, 55)
        asking = executor.submit(second.ask)
        time.sleep(0.4)
        assert not asking.done()
        age(server, database, first, 65)
        assert asking.result(10).number == 0
        assert first.ask().number == 1


def test_waiting_to_decide_outlasts_a_turn(pair: tuple[bo.Study, bo.Study], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = pair
    seat_of(second)._session.query("SET lock_timeout = '50ms'")
    renewed, renew = [], seat_of(second)._renew
    monkeypatch.setattr(seat_of(second), "_renew", lambda: renewed.append(renew()))

    def decide() -> bool:
        with second.ask_lock():
            return True

    with ThreadPoolExecutor(1) as executor:
        with first.ask_lock():
            deciding = executor.submit(decide)
            time.sleep(0.4)
            assert not deciding.done()
        assert deciding.result(30)
    assert renewed


def test_the_space_of_a_study_does_not_change_under_others(url: str) -> None:
    wider = SPACE | {"a": range(14)}
    with open_study(url) as study:
        study.tell(study.ask(), 1.0)
        with pytest.raises(StudyLocked, match=r"its space cannot be changed while it is open in process \d+ on "):
            bo.Study(wider, method="random", seed=0, storage=url)
    with bo.Study(wider, method="random", seed=0, storage=url) as study:
        assert len(study.space_changes) == 1


def test_rows_of_writers_that_ended_long_ago_are_removed(server: Server, url: str, database: str) -> None:
    ended = "INSERT INTO bostruct.writers VALUES (1, '1-000000000000', 'a', now() - INTERVAL '8 days')"
    with open_study(url):
        server.query(ended, database)
    with open_study(url) as study:
        assert server.query("SELECT owner FROM bostruct.writers", database) == [(seat_of(study).owner,)]


def test_the_right_to_decide_is_given_back_once_a_slow_server_answers(monkeypatch, request):
    monkeypatch.setattr(seat_module, "RENEW_SECONDS", 0.5)
    slow, other = request.getfixturevalue("pair")
    seat = seat_of(slow)
    monkeypatch.setattr(session_module, "BUSY_SECONDS", 0.1)
    taken, answered = threading.Event(), threading.Event()

    def beat() -> None:
        with seat._session._mutex:
            taken.set()
            answered.wait(60.0)

    with seat.ask_lock():
        threading.Thread(target=beat).start()
        taken.wait(60.0)
    assert seat._owes_release
    answered.set()
    begun = time.monotonic()
    assert other.ask().number == 0
    assert slow.ask().number == 1
    assert time.monotonic() - begun < 30.0
    assert not seat._owes_release


def test_a_heartbeat_that_fails_is_said_once(server, database, url, monkeypatch, caplog):
    monkeypatch.setattr(seat_module, "RENEW_SECONDS", 0.05)
    with open_study(url):
        server.query("ALTER TABLE bostruct.writers RENAME TO away", database)
        wait_until(lambda: caplog.messages)
        time.sleep(0.3)
        server.query("ALTER TABLE bostruct.away RENAME TO writers", database)
    (said,) = [message for message in caplog.messages if "heartbeat" in message]
    assert "other writers requeue the trials of this process" in said


def test_the_heartbeat_may_be_the_thread_that_closes_its_study(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seat_module, "RENEW_SECONDS", 0.05)
    study = open_study(url)
    seat, renew, closing = seat_of(study), ServerWriterLock._renew, threading.Event()

    def close(self: ServerWriterLock) -> None:
        renew(self)
        if self is seat and not closing.is_set():
            closing.set()
            study.close()  # as the garbage collector does, which runs in any thread

    monkeypatch.setattr(ServerWriterLock, "_renew", close)
    seat._heart.join(20)
    assert not seat._heart.is_alive()
    with open_study(url) as again:
        assert seat_of(again).find_other() is None


def test_a_closed_writer_takes_no_turn(url: str) -> None:
    study = open_study(url)
    seat = seat_of(study)
    seat._owes_release = True
    study.close()
    with pytest.raises(StorageError, match="closed"), seat.ask_lock():
        pass


def test_a_clock_of_the_server_that_is_set_back_keeps_nobody_present(server, database, pair):
    first, second = pair
    age(server, database, first, -3600)
    seat_of(second)._renew()
    ahead = "SELECT count(*) FROM bostruct.writers WHERE renewed > clock_timestamp()"
    assert server.query(ahead, database) == [(0,)]
    assert server.query("SELECT count(*) FROM bostruct.writers", database) == [(2,)]


def test_a_heartbeat_survives_any_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seat_module, "RENEW_SECONDS", 0.02)
    with open_study(url) as study:
        seat, beats, renew = seat_of(study), [], ServerWriterLock._renew

        def fail_once(self: ServerWriterLock) -> None:
            beats.append(self)
            if len(beats) == 1:
                raise OSError("no descriptor is free")
            renew(self)

        monkeypatch.setattr(ServerWriterLock, "_renew", fail_once)
        wait_until(lambda: len(beats) > 2)
        assert seat.owner


def test_who_waits_for_a_server_that_stands_still_calls_nobody_gone(pair, monkeypatch):
    session = writer_of(pair[1])._session
    monkeypatch.setattr("bostruct.storage.postgresql.session.GONE_SECONDS", 0.4)
    assert not session.is_back
    session.query("SELECT pg_sleep(0.3)")
    assert session.is_back


def test_a_log_that_fails_ends_no_heartbeat(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    beats: list[str] = []

    def fail(*_: object) -> None:
        beats.append("log")
        raise BrokenPipeError

    def refuse(_: object) -> None:
        beats.append("renew")
        raise StorageError("away")

    monkeypatch.setattr(seat_module, "RENEW_SECONDS", 0.02)
    monkeypatch.setattr(seat_module.log, "warning", fail)
    with open_study(url) as study:
        with monkeypatch.context() as patched:
            patched.setattr(ServerWriterLock, "_renew", refuse)
            wait_until(lambda: beats.count("renew") > 3)
        assert beats.count("log") == 1
        study.tell(study.ask(), 1.0)


def test_a_thread_that_decides_through_another_object_is_refused_and_others_wait(url, monkeypatch):
    monkeypatch.setattr(seat_module, "ASK_LOCK_SECONDS", 1)
    check_one_thread_decides_once(url)
