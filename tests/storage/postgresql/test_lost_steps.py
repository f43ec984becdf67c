"""A study that is not in the database any more as its writer knew it is not written there."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import bostruct as bo
from bostruct.storage.postgresql.connecting import SCHEMA
from bostruct.storage.protocol import StorageLost
from tests.storage.postgresql.server import Server

SPACE = {"x": range(200)}


def open_study(url: str) -> bo.Study:
    return bo.Study(SPACE, method="random", seed=1, storage=url)


@pytest.fixture
def forgetful(server: Server) -> Iterator[Server]:  # noqa: ARG001  # skips where there is none
    """A server that loses in a crash what it committed last."""
    patient = {"wal_writer_delay": "10s", "wal_writer_flush_after": "100MB", "bgwriter_delay": "10s"}
    started = Server({"synchronous_commit": "off", "autovacuum": "off", **patient})
    yield started
    started.remove()


def crash_after(server: Server, study: bo.Study, n_kept: int, n_lost: int) -> list[bo.Trial]:
    """Ask for trials, and let the server lose the last of them."""
    trials = [study.ask() for _ in range(n_kept)]
    server.query("SET synchronous_commit = on; CHECKPOINT")
    trials += [study.ask() for _ in range(n_lost)]
    server.stop(signal.SIGQUIT)
    server.start()
    with bo.Study.load(server.socket_url("postgres"), read_only=True) as stored:
        assert len(stored.trials) == n_kept, "the server kept what it was to lose"
    return trials


def test_a_study_made_anew_is_not_that_of_an_earlier_writer(server: Server, url: str, database: str, tmp_path: Path):
    first = open_study(url)
    trial = first.ask()
    server.query(f"DELETE FROM {SCHEMA}.studies", database)
    with bo.Study({"y": range(200)}, method="random", seed=1, storage=url) as second:
        other = second.ask()
        with pytest.raises(StorageLost, match="was removed while it was open"):
            first.tell(trial, 7.0)
        with pytest.raises(StorageLost):
            first.ask()
        second.tell(other, 1.0)
        assert [one.value for one in second.trials] == [1.0]
    first.save(tmp_path / "runs.db")
    first.close()
    assert bo.Study.load(tmp_path / "runs.db", read_only=True).best_value == 7.0


def test_who_goes_on_alone_leaves_no_gap(forgetful: Server, tmp_path: Path) -> None:
    url = forgetful.socket_url("postgres")
    study = open_study(url)
    trials = crash_after(forgetful, study, 2, 2)
    with pytest.raises(StorageLost, match="at revision 4: its server lost committed transactions"):
        study.ask()
    with pytest.raises(StorageLost):
        study.tell(trials[3], 3.0)
    study.save(tmp_path / "runs.db")
    study.close()
    assert bo.Study.load(tmp_path / "runs.db", read_only=True).trials[3].value == 3.0
    with open_study(url) as again:
        assert len(again.trials) == 2


def test_a_value_is_not_written_to_the_point_of_another(forgetful: Server, tmp_path: Path) -> None:
    url = forgetful.socket_url("postgres")
    ahead, behind = open_study(url), open_study(url)
    trials = crash_after(forgetful, ahead, 1, 2)
    behind.sync()
    for value in (5, 6, 7):
        behind.add({"x": value}, float(value))
    with pytest.raises(StorageLost):
        ahead.tell(trials[2], 100.0)
    behind.close()
    stored = bo.Study.load(url, read_only=True)
    assert [(trial.point["x"], trial.value) for trial in stored.trials[1:]] == [(5, 5.0), (6, 6.0), (7, 7.0)]
    ahead.save(tmp_path / "runs.db")
    ahead.close()
    assert bo.Study.load(tmp_path / "runs.db", read_only=True).trials[2].value == 100.0
