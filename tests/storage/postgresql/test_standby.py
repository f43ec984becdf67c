"""A standby, which may lag behind its primary, is read and never written, nor taken for a loss."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

import bostruct as bo
from bostruct.storage.postgresql import connecting
from bostruct.storage.postgresql import session as session_module
from bostruct.storage.protocol import StorageError, StorageLost
from tests.storage.postgresql.server import Server

SPACE = {"x": range(200)}


@pytest.fixture
def primary(server: Server) -> Iterator[Server]:  # noqa: ARG001  # skips where there is none
    started = Server()
    yield started
    started.remove()


@pytest.fixture
def standby(primary: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A standby of a server, which learns nothing of what is written from now on."""
    monkeypatch.setattr(session_module, "RECONNECT_SECONDS", 1.0)
    monkeypatch.setattr(connecting, "OPEN_SECONDS", 0.5)
    with bo.Study(SPACE, method="random", seed=1, storage=primary.socket_url("postgres")) as study:
        study.tell(study.ask(), 1.0)
    started = Server({"recovery_min_apply_delay": "1h"}, primary=primary)
    yield started
    started.remove()


def url_of_both(first: Server, second: Server) -> str:
    hosts, ports = f"{first.folder},{second.folder}", f"{first.port},{second.port}"
    return f"postgresql://ann@/postgres?host={hosts}&port={ports}"


def test_a_writer_waits_for_the_primary(primary: Server, standby: Server) -> None:
    with bo.Study.load(url_of_both(standby, primary)) as study:
        trials = study.ask(3)
        primary.stop(signal.SIGQUIT)
        with pytest.raises(StorageError, match="cannot be reached") as caught:
            study.tell(trials[0], 2.0)
        assert not isinstance(caught.value, StorageLost)
        primary.start()
        assert [study.tell(trial, 3.0).value for trial in trials] == [3.0] * 3
    with bo.Study.load(primary.socket_url("postgres"), read_only=True) as stored:
        assert [trial.value for trial in stored.trials] == [1.0, 3.0, 3.0, 3.0]


def test_a_standby_is_read_and_not_written(standby: Server) -> None:
    url = standby.socket_url("postgres")
    with bo.Study.load(url, read_only=True) as stored:
        assert stored.best_value == 1.0
    with pytest.raises(StorageError, match="hot standby mode"):
        bo.Study.load(url)
