"""Several writers under fire: whatever may go wrong between them is planted, and found."""

from __future__ import annotations

import math
import random
import subprocess
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from benchmarks.chaos import crowd_oracle, crowded_places, writers
from benchmarks.chaos.crowd import Crowd, FilePlace, Launch, Place
from benchmarks.chaos.crowd_oracle import check_end, check_leases, read_evaluations
from benchmarks.chaos.kills import TWICE_RUNNING
from benchmarks.chaos.row import Verdict
from benchmarks.chaos.victim import append_line, make_domain
from benchmarks.chaos.writer import WAYS, evaluate, log_told
from bostruct.storage.locks import FileWriterLock
from bostruct.storage.sqlite import SqliteWriter
from bostruct.study import saving
from tests.benchmarks.chaos.judging import judge
from tests.stored import damage, forge

SPACE = make_domain("random")
FAILED = "UPDATE trials SET status = 'failed', told = 4, finished = 1.0, reason = '{}' WHERE number = 4"


def make_launch(key: str) -> Launch:
    process = subprocess.Popen(["true"])
    process.wait()
    return Launch(key, WAYS[0], process, "mark")


@pytest.fixture
def crowd(tmp_path: Path) -> Crowd:
    (tmp_path / "study").mkdir()
    return make_crowd(FilePlace(tmp_path / "study"), tmp_path / "logs")


def make_crowd(place: Place, logs: Path) -> Crowd:
    """Return a crowd of two launches whose first one told four trials, and left a fifth running."""
    logs.mkdir()
    crowd = Crowd(place, logs, "random", 0, [], [make_launch("0"), make_launch("1")])
    study = bo.Study(SPACE, method="random", seed=0, storage=crowd.place.storage)
    append_line(crowd.logs / "owner-0", {"owner": study._ledger.owner})
    for _ in range(4):
        trial = study.ask()
        value = evaluate(trial.point, SPACE, crowd.logs / "evaluated-0")
        log_told(study.tell(trial, value), crowd.logs / "told-0")
    study.ask()
    study._ledger.give_back = lambda _: None  # type: ignore[method-assign]  # as if it were killed
    study.close()
    return crowd


def find_faults(crowd: Crowd, allowed: int = 0) -> set[str]:
    verdict = Verdict()
    crowd_oracle.judge(crowd, "a test", allowed, verdict)
    return set(verdict.faults)


def log_evaluation(crowd: Crowd, key: str, point: Any, event: str, at: float) -> None:
    append_line(crowd.logs / f"evaluated-{key}", {"event": event, "point": point, "at": at})


def read_points(crowd: Crowd) -> list[Any]:
    with bo.Study.load(crowd.place.storage, read_only=True) as study:
        return [SPACE.encode(SPACE.parse(trial.point)) for trial in study.trials]


def test_a_sound_study_has_no_faults(crowd: Crowd) -> None:
    assert find_faults(crowd) == set()
    assert crowd.n_told == 4
    assert len(read_evaluations(crowd)) == 4


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ("DELETE FROM trials WHERE number = 4", set()),
        ("DELETE FROM trials WHERE number > 2", {"lost"}),
        ("UPDATE trials SET value = 0.5 WHERE number = 1", {"lost", "wrong values"}),
        ("UPDATE trials SET point = (SELECT point FROM trials WHERE number = 0) WHERE number = 4", {"twice"}),
        ("""UPDATE trials SET info = '{"double_of": 0}' WHERE number = 3""", {"twice"}),
        (FAILED.format("rain"), {"innocent failures"}),
        (FAILED.format("its worker process died (signal SIGKILL)"), {"innocent failures"}),
    ],
)
def test_what_was_lost_changed_or_doubled_is_found(crowd: Crowd, change: str, kinds: set[str]) -> None:
    forge(Path(crowd.place.storage), change)
    assert find_faults(crowd) == kinds


def test_a_failure_is_excused_by_what_was_struck_alone(crowd: Crowd) -> None:
    forge(Path(crowd.place.storage), FAILED.format(TWICE_RUNNING).replace("told", "attempts = 2, told"))
    assert find_faults(crowd) == {"innocent failures"}
    for launch in crowd.launches:
        launch.signaled = time.monotonic()
    assert find_faults(crowd) == set()
    damage(Path(crowd.place.storage), "UPDATE trials SET status = 'running'")  # checksums tell
    assert "damage" in find_faults(crowd)


def test_a_double_needs_a_lease_that_was_taken_over(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(crowd.place.storage)
    forge(file, "UPDATE trials SET point = (SELECT point FROM trials WHERE number = 0) WHERE number = 4")
    forge(file, """UPDATE trials SET info = '{"double_of": 0, "origin": "added"}' WHERE number = 4""")
    assert find_faults(crowd) == {"twice"}
    monkeypatch.setattr(crowd.place, "may_double", True)
    assert find_faults(crowd) == {"twice"}
    forge(file, """UPDATE trials SET info = '{"attempts": 2}' WHERE number = 0""")
    assert find_faults(crowd) == set()


def test_evaluations_side_by_side_or_after_all_are_found(crowd: Crowd) -> None:
    points, now = read_points(crowd), time.monotonic()
    log_evaluation(crowd, "0", points[4], "begin", now)
    log_evaluation(crowd, "1", points[4], "begin", now + 1)
    assert find_faults(crowd) == {"side by side"}
    crowd.launches[0].signaled = now + 0.5
    assert find_faults(crowd) == set()
    log_evaluation(crowd, "1", points[0], "begin", now + 2)
    assert find_faults(crowd) == {"twice"}


def test_a_point_that_no_trial_has_is_found(crowd: Crowd) -> None:
    log_evaluation(crowd, "1", {"a": 1}, "begin", time.monotonic())
    assert find_faults(crowd) == {"lost"}


def test_a_lease_of_a_writer_that_has_ended_is_found(crowd: Crowd) -> None:
    rows, verdict = crowd.place.read(), Verdict()
    check_leases(rows, crowd, 1.0, "a test", verdict)
    assert verdict.faults == {}
    crowd.launches[0].ended = 1.0
    check_leases(rows, crowd, 1.0, "a test", verdict)
    assert len(verdict.faults["stale leases"]) == 1


def test_a_study_that_is_not_finished_or_has_too_many_trials_is_found(crowd: Crowd) -> None:
    rows = crowd.place.read()
    for given, n_trials, faults in ((rows[:4], 4, 0), (rows, 4, 1), (rows[:4], 3, 1), (rows[:4], 5, 1)):
        check_end(given, n_trials, verdict := Verdict())
        assert len(verdict.faults) == faults


def test_what_writers_leave_is_found(crowd: Crowd) -> None:
    assert crowd.place.find_leftovers() == []
    file = Path(crowd.place.storage)
    file.with_name("runs.db.1.lock").touch()
    assert crowd.place.find_leftovers() == ["runs.db.1.lock"]


@pytest.mark.parametrize("ways", [WAYS[::2], pytest.param([*WAYS, WAYS[1]], marks=pytest.mark.slow)])
def test_writers_are_struck_and_complete_the_study(
    ways: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = writers.make_crowd
    monkeypatch.setattr(writers, "STRIKES_PER_CASE", 1)
    monkeypatch.setattr(writers, "make_crowd", lambda *given: replace(make(*given), ways=ways))
    verdict = writers.run_case("12", tmp_path)
    assert verdict.faults == {}
    assert verdict.counts["strikes"] == 1
    assert verdict.counts["values told"] >= writers.MORE_TRIALS


def test_a_writer_that_ends_by_itself_and_an_end_by_another_signal_are_found(crowd: Crowd) -> None:
    siege = writers.Siege(crowd, random.Random(0), verdict := Verdict())
    for launch in crowd.launches:
        (crowd.logs / f"stderr-{launch.key}").touch()
    crowd.living[0] = crowd.launches[0]
    siege.struck = [crowd.launches[1]]
    siege.check_ends("a test")
    assert len(verdict.faults["broken runs"]) == 2
    assert crowd.launches[0].signaled == math.inf


def test_writers_that_decide_side_by_side_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileWriterLock, "ask_lock", lambda _: nullcontext())
    assert "decided side by side" in str(judge(crowded_places.stop_while_deciding, tmp_path))


def test_a_study_that_keeps_its_trials_when_it_is_closed_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judge(crowded_places.close_while_deciding, tmp_path) == {}
    monkeypatch.setattr(FileWriterLock, "leave", lambda _: None)
    monkeypatch.setattr(SqliteWriter, "release", lambda *_: None)
    (tmp_path / "broken").mkdir()
    assert "was not requeued" in str(judge(crowded_places.close_while_deciding, tmp_path / "broken"))


def test_studies_that_do_not_save_themselves_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "_rescue", lambda _: None)
    assert "lost" in str(judge(crowded_places.lose_file_together, tmp_path))


@pytest.mark.slow
def test_writers_that_keep_what_a_full_disk_refused_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteWriter, "update", lambda *_: None)
    assert "lost" in str(judge(crowded_places.fill_disk_together, tmp_path))
