"""A study that is opened while its server restarts waits for it, and one that is refused is told so at once."""

from __future__ import annotations

import re
import signal
import threading
import time
from contextlib import closing
from typing import Any

import pytest

import bostruct as bo
from bostruct.storage.postgresql import connecting
from bostruct.storage.postgresql.connecting import Place
from bostruct.storage.postgresql.session import Session
from bostruct.storage.protocol import StorageError
from tests.storage.postgresql.proxy import Proxy
from tests.storage.postgresql.server import Server, free_port

SPACE = {"a": range(50), "b": ["x", "y", "z"]}


def open_study(url: str) -> bo.Study:
    return bo.Study(SPACE, method="random", seed=0, storage=url)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_opening_waits_for_a_server_that_restarts_and_the_log_says_so(server, database, how, monkeypatch, caplog):
    monkeypatch.setattr(connecting, "LATE_SECONDS", 0.1)
    proxy = Proxy(server.port)
    server.stop(how)
    starting = threading.Timer(0.5, server.start)
    starting.start()
    with open_study(server.tcp_url(database, proxy.port)) as study:  # which ends connections without a word meanwhile
        assert study.ask().number == 0
    starting.join()
    proxy.close()
    waits, answered = (one.getMessage() for one in caplog.records if one.name == connecting.__name__)
    assert ": waits for the server: " in waits
    assert re.search(r": the server answered after [0-9.]+ s$", answered)


def test_opening_waits_for_nobody_for_long(server: Server, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "OPEN_SECONDS", 0.5)
    began = time.monotonic()
    with pytest.raises(StorageError, match=r"cannot be opened: .*refused"):
        open_study(server.tcp_url(database, free_port()))
    assert time.monotonic() - began > 0.2
    monkeypatch.setattr(connecting, "OPEN_SECONDS", 1e9)
    with pytest.raises(StorageError, match=r"cannot be opened: .*does not exist"):
        open_study(server.tcp_url("nowhere"))


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("FATAL:  the database system is starting up", connecting.RECONNECT_SECONDS),
        ("FATAL:  terminating connection due to unexpected postmaster exit", connecting.RECONNECT_SECONDS),
        ("server closed the connection unexpectedly", connecting.OPEN_SECONDS),
        ('FATAL:  password authentication failed for user "ann"', 0.0),
        ("FATAL:  sorry, too many clients already", 0.0),
        ("fe_sendauth: no password supplied", 0.0),
    ],
)
def test_patience_depends_on_what_the_server_says(said: str, seconds: float) -> None:
    assert connecting._find_patience(Exception(said)) == seconds


def test_what_gives_connections_other_names_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = Place.connect

    def connect_by_a_pooler(place: Place, name: str, **given: bool) -> Any:
        connection = connect(place, name, **given)
        connection.execute(f"SET application_name = '{name} - 10.0.0.7:5432'")  # type: ignore[arg-type]
        return connection

    monkeypatch.setattr(Place, "connect", connect_by_a_pooler)
    with pytest.raises(StorageError, match=r"changes application_name.*expected the URL of the server itself"):
        open_study(url)


def test_the_right_to_decide_does_not_go_with_a_connection_that_is_idle(server, database, url):
    server.query(f"ALTER DATABASE {database} SET idle_session_timeout = '1s'")
    with closing(Session(Place(url))) as session:
        assert session.query("SHOW idle_session_timeout") == [("0",)]
