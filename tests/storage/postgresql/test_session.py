"""Connections that are lost at any moment: what was told is there once, and nothing is there twice."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

import pytest

import bostruct as bo
from bostruct.outcome import Outcome
from bostruct.storage.postgresql import session as session_module
from bostruct.storage.postgresql.connecting import Place
from bostruct.storage.postgresql.session import LockTaken, Session
from bostruct.storage.postgresql.storage import PostgresqlStorage
from bostruct.storage.protocol import RolledBack, StorageError, TrialRow
from bostruct.testing.storage_laws import STUDY
from tests.storage.postgresql.proxy import COMMIT, Proxy
from tests.storage.postgresql.server import PASSWORD, Server
from tests.waiting import wait_until

SPACE = {"a": range(50), "b": ["x", "y", "z"]}
LOCK = "SELECT study, state FROM progress WHERE study = ? FOR UPDATE"


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    opened = Proxy(server.port)
    yield opened
    opened.close()


@pytest.fixture
def proxied(server: Server, proxy: Proxy, database: str) -> str:
    """The URL of the database by way of the proxy."""
    return server.tcp_url(database, proxy.port)


@pytest.fixture
def session(url: str) -> Iterator[Session]:
    """A session with a database in which there is a study."""
    open_study(url).close()
    with closing(Session(Place(url))) as opened:
        yield opened


def cut_off(proxy: Proxy) -> None:
    proxy.refuses = True
    proxy.cut()


def open_study(url: str) -> bo.Study:
    return bo.Study(SPACE, method="random", seed=0, storage=url)


class Once:
    """Do something to the first COMMIT that follows."""

    def __init__(self, fate: str, first: Any = None) -> None:
        self.met, self._fate, self._first = 0, fate, first

    def __call__(self, data: bytes) -> str:
        if COMMIT not in data or self.met:
            return "pass"
        self.met += 1
        if self._first is not None:
            self._first()
        return self._fate


@pytest.mark.parametrize("fate", ["deliver", "drop"])
def test_a_value_is_told_once_whatever_becomes_of_its_commit(proxied, proxy, url, fate):
    with open_study(proxied) as study:
        for _ in range(2):
            trial = study.ask()
            proxy.on_request = once = Once(fate)
            study.tell(trial, 1.0)
            assert once.met == 1
            proxy.on_request = once = Once(fate)
            study.add({"a": trial.number, "b": "x"}, 2.0)
            assert once.met == 1
        proxy.on_request = once = Once(fate)
        assert study.ask().number == 4
        assert once.met == 1
        with bo.Study.load(url, read_only=True) as stored:
            assert stored.trials == study.trials
    assert [trial.value for trial in study.trials] == [1.0, 2.0, 1.0, 2.0, None]


@pytest.mark.parametrize("fate", ["deliver", "drop"])
def test_others_may_write_before_the_fate_of_a_commit_is_known(proxied, proxy, url, fate):
    with open_study(proxied) as study, open_study(url) as other:
        trial = study.ask()
        connect, calls = Place.connect, []

        def connect_late(place: Place, name: str, **given: bool) -> Any:
            calls.append(other.add({"a": len(calls), "b": "y"}, 2.0).number)
            return connect(place, name, **given)

        proxy.on_request = Once(fate)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Place, "connect", connect_late)
            study.tell(trial, 1.0)
        assert calls == [1]
        other.sync()
        assert [one.value for one in other.trials] == [1.0, 2.0]
        assert study.add({"a": 40, "b": "z"}, 3.0).number == 2
        assert [one.value for one in study.trials] == [1.0, 2.0, 3.0]


def test_a_step_that_meets_no_server_waits_for_it_and_the_log_says_so(proxied, proxy, caplog):
    with open_study(proxied) as study:
        trial = study.ask()
        cut_off(proxy)
        back = threading.Timer(1.0, lambda: setattr(proxy, "refuses", False))
        back.start()
        began = time.monotonic()
        assert study.tell(trial, 1.0).value == 1.0
        assert time.monotonic() - began > 0.8
        assert study.ask().number == 1
    said = [one.getMessage() for one in caplog.records if one.name == session_module.__name__]
    lost, back = (one for one in said if "for steps" in one)
    steps = "postgresql://.*: the connection for steps "
    assert re.fullmatch(steps + "was lost: .*server closed the connection.*", lost)
    assert re.fullmatch(steps + r"is back, [01]\.[0-9] s after it was found lost", back)
    assert PASSWORD not in caplog.text


def test_waiting_has_an_end(proxied: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "RECONNECT_SECONDS", 0.3)
    with open_study(proxied) as study:
        trial = study.ask()
        cut_off(proxy)
        with pytest.raises(StorageError, match=r"cannot be reached: .*server closed the connection"):
            study.tell(trial, 1.0)
        proxy.refuses = False
        assert study.tell(trial, 1.0).value == 1.0
        trial = study.ask()
        proxy.on_request = Once("deliver", lambda: setattr(proxy, "refuses", True))
        with pytest.raises(StorageError, match="it is unknown whether the last transaction was committed"):
            study.tell(trial, 2.0)
        proxy.refuses = False
        study.sync()
        assert [one.value for one in study.trials] == [1.0, 2.0]


@pytest.mark.parametrize("n_others", [0, 20])
def test_a_step_is_not_taken_for_another_with_its_number_after_a_crash(proxied, server, proxy, database, url, n_others):
    """The server gives the number of a transaction again where it crashes before the disk has anything of it.

    n_others: transactions after the crash; without any the server has not come to that number.
    """
    with open_study(proxied) as study:
        trial, connect = study.ask(), Place.connect
        crashed = threading.Event()

        def crash() -> None:
            if not crashed.is_set():
                crashed.set()
                server.stop(signal.SIGKILL)
                server.start()

        def connect_late(place: Place, name: str, **given: bool) -> Any:
            if crashed.is_set():
                for _ in range(n_others):
                    server.query("SELECT pg_current_xact_id()", database)
            return connect(place, name, **given)

        server.query("CHECKPOINT", database)
        proxy.on_request = Once("drop", crash)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Place, "connect", connect_late)
            assert study.tell(trial, 1.0).value == 1.0
        assert crashed.is_set()
        with bo.Study.load(url, read_only=True) as stored:
            assert [one.value for one in stored.trials] == [1.0]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_may_be_restarted(server: Server, url: str, how: signal.Signals) -> None:
    with open_study(url) as study:
        study.tell(study.ask(), 1.0)
        trial = study.ask()
        server.stop(how)
        starting = threading.Thread(target=server.start)
        starting.start()
        study.tell(trial, 2.0)
        starting.join()
        assert study.ask().number == 2
    with bo.Study.load(url, read_only=True) as stored:
        assert [one.value for one in stored.trials] == [1.0, 2.0, None]


@pytest.fixture
def interrupt_soon() -> Iterator[Callable[[], None]]:
    """Send SIGINT in half a second."""
    timers: list[threading.Timer] = []

    def begin() -> None:
        timers.append(threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)))
        timers[-1].start()

    yield begin
    for timer in timers:
        timer.join()


@pytest.mark.usefixtures("default_sigint")
@pytest.mark.parametrize("step", [bo.Study.ask, bo.Study.sync, lambda study: study.optimize(lambda _: 1.0, 9)])
def test_an_interrupt_ends_the_wait_for_a_server_if_no_value_is_to_be_written(step, proxied, proxy, interrupt_soon):
    with open_study(proxied) as study:
        study.tell(study.ask(), 1.0)
        cut_off(proxy)
        interrupt_soon()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            step(study)
        assert time.monotonic() - began < 20
        proxy.refuses = False
        study.tell(study.ask(), 2.0)
        assert [trial.value for trial in study.trials] == [1.0, 2.0]


@pytest.mark.usefixtures("default_sigint")
def test_a_value_is_written_before_an_interrupt_is_heard(proxied, proxy, url, interrupt_soon):
    with open_study(proxied) as study:
        trial = study.ask()
        cut_off(proxy)
        interrupt_soon()
        later = threading.Timer(2.0, lambda: setattr(proxy, "refuses", False))
        later.start()
        with pytest.raises(KeyboardInterrupt):
            study.tell(trial, 1.0)
        assert not proxy.refuses
        later.join()
        assert [trial.value for trial in study.trials] == [1.0]
    with bo.Study.load(url, read_only=True) as stored:
        assert [trial.value for trial in stored.trials] == [1.0]


def test_text_that_postgresql_has_not_is_read_as_it_was_written(url: str) -> None:
    text = "\0 \x1a \x1a0 \x1a1 \\ %s ? \N{SNOWMAN}"
    storage = PostgresqlStorage(url)
    writer = storage.begin(STUDY._replace(name=text))[1]
    writer.insert(TrialRow(0, "{}", "{}", 1.0, 1, Outcome(failed=text), 2.0, 0))
    writer.close()
    (trial,) = storage.read(text).trials
    assert trial.outcome == Outcome(failed=text)
    assert [row.name for row in storage.studies()] == [text]
    with pytest.raises(StorageError, match="text that UTF-8 cannot encode"):
        storage.begin(STUDY._replace(name="\ud800"))


def test_a_forked_child_neither_uses_nor_keeps_a_connection(server: Server, session: Session) -> None:
    ((pid,),) = session.query("SELECT pg_backend_pid()")
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            session.query("SELECT 1")
        except StorageError as error:
            os.write(write, str(error).encode())
        session.close()
        time.sleep(1.5)
        os._exit(0)
    assert b"a forked process cannot use its parent's study" in os.read(read, 1000)
    assert session.query("SELECT 1") == [(1,)]
    session.close()
    wait_until(lambda: not server.query(f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid}"), 1.0)
    os.wait()
    for end in (read, write):
        os.close(end)


def test_what_an_earlier_connection_locks_is_free_once_it_is_made_again(session: Session) -> None:
    session.query("SELECT pg_advisory_lock(7)")
    kept, session._connection = session._connection, None
    assert kept is not None
    session.query("SELECT pg_advisory_lock(7)")
    assert kept.closed or kept.pgconn.status is not None
    kept.close()


def test_an_error_that_was_caught_within_a_step_is_no_commit(session: Session) -> None:
    def catch() -> None:
        with session.writing("SELECT 1", is_made=lambda _: False) as begun, suppress(session.place.error):
            begun.connection.execute("SELECT 1 / 0")

    with pytest.raises(StorageError, match="the server rolled the transaction back"):
        catch()


def test_a_server_that_was_waited_for_in_vain_is_tried_once_for_a_while(proxied, proxy, monkeypatch):
    monkeypatch.setattr(session_module, "RECONNECT_SECONDS", 3.0)
    study = open_study(proxied)
    trials = study.ask(3)
    cut_off(proxy)
    waits = []
    for call in (lambda: study.tell(trials[0], 1.0), lambda: study.tell(trials[1], 1.0), study.sync):
        began = time.monotonic()
        with pytest.raises(StorageError, match="cannot be reached"):
            call()
        waits.append(time.monotonic() - began)
    began = time.monotonic()
    with pytest.warns(UserWarning, match="its running trials could not be requeued"):
        study.close()
    waits.append(time.monotonic() - began)
    assert waits[0] > 2.0
    assert max(waits[1:]) < 1.5


def test_a_role_whose_transactions_only_read_has_heartbeats(server: Server, database: str, url: str) -> None:
    server.query(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    with open_study(url) as study:
        renewed = "SELECT renewed FROM bostruct.writers"
        (before,) = server.query(renewed, database)
        study._ledger.store._lock._renew()  # type: ignore[union-attr]
        assert server.query(renewed, database) > [before]


@pytest.mark.parametrize("is_given_back", [True, False])
def test_a_lock_that_is_not_given_in_time_is_waited_for_once_more(url: str, is_given_back: bool) -> None:
    with open_study(url) as study, closing(Session(Place(url))) as holder:
        other = open_study(url)
        other._ledger.store._session.query("SET lock_timeout = '300ms'")  # type: ignore[union-attr]
        with ThreadPoolExecutor(1) as threads:
            with suppress(RolledBack), holder.writing(LOCK, (1,), is_made=lambda _: True):
                telling = threads.submit(other.add, {"a": 1, "b": "x"}, 2.0)
                time.sleep(0.45 if is_given_back else 1.0)
                assert telling.done() != is_given_back
            if is_given_back:
                assert telling.result(10).value == 2.0
            else:
                with pytest.raises(LockTaken, match="another process has held the lock for too long"):
                    telling.result(10)
        assert study.ask().number == int(is_given_back)


def test_a_step_that_a_deadlock_undid_is_made_again(url: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    with open_study(url) as study, ThreadPoolExecutor() as threads, psycopg.connect(url) as administrator:
        administrator.execute("SELECT FROM bostruct.studies FOR UPDATE")
        asked = threads.submit(study.ask)  # locks the progress, and waits for the study
        time.sleep(0.5)
        administrator.execute("SELECT FROM bostruct.progress FOR UPDATE")
        administrator.rollback()
        assert asked.result(20).number == 0
        with bo.Study.load(url, read_only=True) as stored:
            assert len(stored.trials) == 1


@pytest.mark.parametrize("statement", [None, "SELECT 1"])
def test_a_step_that_stands_still_is_taken_back_by_the_server(url: str, statement: str | None) -> None:
    with open_study(url):
        pass
    session = Session(Place(url), idle_in_transaction_session_timeout="'100ms'")
    with suppress(RolledBack), session.writing(LOCK, (1,), is_made=lambda _: False) as begun:
        if statement is not None:
            begun.connection.execute(statement)
        time.sleep(1.0)
        begun.connection.execute_last("DELETE FROM progress WHERE study = ?", (1,))
    assert session.query("SELECT study FROM progress") == [(1,)]
    session.close()


def test_statements_of_one_round_trip_are_made_together_or_not_at_all(session: Session) -> None:
    name = "a '%s' \\ \x1a0\0?"
    for table in ("studies", "no_table"):
        with suppress(StorageError), session.writing(LOCK, (1,), is_made=lambda _: False) as begun:
            begun.connection.execute("UPDATE studies SET name = 'study' WHERE id = 1")
            begun.connection.execute_last(f"UPDATE {table} SET name = ? WHERE id = ?", (name, 1))
        assert session.query("SELECT name FROM studies") == [(name,)]
