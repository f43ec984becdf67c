"""Writers of a database under fire: what may go wrong is planted, and found; what strikes them has an end."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import bostruct as bo
from benchmarks.chaos import __main__ as command
from benchmarks.chaos import database_place, databases, outages
from benchmarks.chaos.crowd import Crowd, FilePlace
from benchmarks.chaos.crowd_oracle import check_leases
from benchmarks.chaos.database_place import SLACK, DatabasePlace
from benchmarks.chaos.row import Verdict
from benchmarks.chaos.victim import append_line
from benchmarks.chaos.writers import Siege
from benchmarks.chaos.writers import make_crowd as make_writers
from bostruct.storage.postgresql import connecting
from tests.benchmarks.chaos.judging import judge
from tests.benchmarks.chaos.test_writers import SPACE, find_faults, log_evaluation, make_crowd, read_points

GONE = databases.SHORT_LIMITS["GONE_SECONDS"]


@pytest.fixture(scope="module")
def shared_place() -> Iterator[DatabasePlace]:
    if (why := databases.why_no_database()) is not None:
        pytest.skip(why)
    place = DatabasePlace(databases.SHORT_LIMITS)
    yield place
    place.close()


@pytest.fixture
def place(shared_place: DatabasePlace) -> DatabasePlace:
    shared_place.server.query("DROP SCHEMA IF EXISTS bostruct CASCADE", database_place.DATABASE)
    shared_place._back = -math.inf
    return shared_place


@pytest.fixture
def crowd(place: DatabasePlace, tmp_path: Path) -> Crowd:
    return make_crowd(place, tmp_path / "logs")


def test_a_database_is_read_as_a_file_is(crowd: Crowd, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    file = make_crowd(FilePlace(tmp_path / "study"), tmp_path / "other logs").place
    one, other = ([row | {"owner": None, "info": "{}"} for row in place.read()] for place in (file, crowd.place))
    assert one == other
    assert find_faults(crowd) == set()


def test_what_was_told_and_is_not_there_is_found(crowd: Crowd) -> None:
    append_line(crowd.logs / "told-1", {"number": 4, "status": "completed", "value": 1.0, "reason": None, "at": 0.0})
    assert find_faults(crowd) == {"lost"}


def test_damage_is_found(crowd: Crowd, place: DatabasePlace) -> None:
    place.server.query("UPDATE bostruct.trials SET value = 0.5 WHERE number = 1", database_place.DATABASE)
    assert find_faults(crowd) == {"damage"}


def test_two_evaluations_are_excused_by_a_lease_that_was_taken_over_alone(crowd: Crowd, place: DatabasePlace) -> None:
    points, now = read_points(crowd), time.monotonic()
    log_evaluation(crowd, "0", points[4], "begin", now)
    log_evaluation(crowd, "1", points[4], "begin", now + 1)
    log_evaluation(crowd, "1", points[0], "begin", now + 2)
    assert find_faults(crowd) == {"side by side", "twice"}
    rows = [row | {"attempts": 2} for row in place.read()]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(place, "read", lambda: rows)
        assert find_faults(crowd) == set()


def test_a_lease_has_its_time_and_no_more(crowd: Crowd, place: DatabasePlace) -> None:
    def find_stale(asked: float) -> int:
        check_leases(place.read(), crowd, asked, "a test", verdict := Verdict())
        return len(verdict.faults.get("stale leases", ()))

    assert find_stale(1e9) == 0
    crowd.launches[0].ended = 100.0
    due = 100.0 + GONE + SLACK
    assert (find_stale(due - 0.1), find_stale(due)) == (0, 1)
    place._back = 103.0  # the server was away until then
    assert (find_stale(103.0 + 2 * GONE), find_stale(103.0 + 2 * GONE + SLACK)) == (0, 1)


def test_sessions_and_locks_that_are_left_are_found(place: DatabasePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_place, "LEAVE", 0.1)
    with bo.Study(SPACE, method="random", seed=0, storage=place.storage) as study:
        assert len(place.find_leftovers()) == 2
        with study.ask_lock():
            assert len(place.find_leftovers()) == 3
    monkeypatch.setattr(database_place, "LEAVE", 10.0)
    assert place.find_leftovers() == []


def test_what_strikes_the_place_is_over_afterward(place: DatabasePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_place, "LONGEST", 0.05)
    with bo.Study(SPACE, method="random", seed=0, storage=place.storage) as study:
        for number, mode in enumerate(place.modes):
            place.befall(mode, random.Random(0))
            assert study.tell(study.ask(), 1.0).number == number
    assert place.find_leftovers() == []


@pytest.mark.slow
def test_leases_that_never_end_are_found(place: DatabasePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(0)
    crowd = make_writers(place, tmp_path / "logs", "random", 0, chance)
    siege = Siege(crowd, chance, verdict := Verdict())
    monkeypatch.setattr(place, "limits", {**place.limits, "GONE_SECONDS": 1e6})
    try:
        crowd.launch_missing()
        crowd.wait_for_told(10)
        siege._end(sorted(crowd.living.items()), 9)
        siege.check_ends("a test")
        time.sleep(GONE + SLACK)
        siege.check_trials("a test")
        assert set(verdict.faults) == {"stale leases"}
    finally:
        siege.end_all()


def test_a_writer_that_holds_others_up_is_found(
    place: DatabasePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connecting.SETTINGS, "lock_timeout", "'0.2s'")
    faults = judge(outages.stop_in_a_step, place, tmp_path, seconds=60.0)
    assert "told did not happen" in str(faults)


def test_a_machine_without_a_server_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(databases, "why_not", lambda: "no PostgreSQL server is installed")
    row = databases.DATABASES
    monkeypatch.setattr(command, "ROWS", {row.name: row})
    assert command.main([]) == 0
    said = capsys.readouterr().out
    assert "databases: skipped: no PostgreSQL server is installed" in said
    assert "| 0 of 10 |" in said
