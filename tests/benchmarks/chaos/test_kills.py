"""The oracle of the kills: what it is to find is planted, and found."""

from __future__ import annotations

import fcntl
import json
import os
import random
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import bostruct as bo
from benchmarks.chaos import kills
from benchmarks.chaos.kills import TWICE_RUNNING, Launch, check_failed, draw_launch
from benchmarks.chaos.marks import MARK, await_end, find_marked
from benchmarks.chaos.oracle import check_evaluated, check_numbers, check_told, is_locked, read_log, read_trials
from benchmarks.chaos.row import Verdict
from benchmarks.chaos.victim import append_line, evaluate, make_domain, value_of
from bostruct.storage.sqlite import SqliteWriter
from tests.stored import damage

SPACE = make_domain("random")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A study of five trials, one of them failed and one running, with the logs of the first four."""
    (tmp_path / "study").mkdir()
    file = tmp_path / "study" / "runs.db"
    with bo.Study(SPACE, method="random", seed=0, storage=file) as study:
        for number in range(4):
            trial = study.ask()
            value = evaluate(trial.point, SPACE, tmp_path, 0)
            told = study.tell(trial, failed="rain") if number == 2 else study.tell(trial, value)
            names = ("number", "status", "value", "reason")
            append_line(tmp_path / "told", {name: getattr(told, name) for name in names})
        study.ask()
    return file


def find_faults(file: Path) -> dict[str, list[str]]:
    verdict, folder = Verdict(), file.parent.parent
    rows = read_trials(file, folder) or []
    check_numbers(rows, value_of, verdict)
    check_told(rows, read_log(folder / "told"), verdict)
    return verdict.faults


def test_a_sound_file_has_no_faults(file: Path) -> None:
    assert find_faults(file) == {}
    assert len(read_trials(file, file.parent.parent) or []) == 5


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ("DELETE FROM trials WHERE number = 3", {"lost", "wrong values"}),
        ("UPDATE trials SET value = 0.5 WHERE number = 1", {"lost", "wrong values"}),
        ("UPDATE trials SET reason = 'snow' WHERE number = 2", {"lost"}),
        ("UPDATE trials SET status = 'running', value = NULL, told = NULL WHERE number = 3", {"lost"}),
        ("UPDATE trials SET told = 0 WHERE number = 1", {"wrong values"}),
        ("UPDATE trials SET point = (SELECT point FROM trials WHERE number = 0) WHERE number = 4", {"twice"}),
    ],
)
def test_what_was_lost_or_changed_is_found(file: Path, change: str, kinds: set[str]) -> None:
    damage(file, change)
    assert set(find_faults(file)) == kinds


def test_a_build_whose_tell_does_not_write_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study").mkdir()
    file = tmp_path / "study" / "runs.db"
    monkeypatch.setattr(SqliteWriter, "update", lambda *_: None)
    with bo.Study(SPACE, method="random", seed=0, storage=file) as study:
        told = study.tell(study.ask(), 0.5)
        append_line(tmp_path / "told", {"number": 0, "status": told.status, "value": told.value, "reason": None})
    assert set(find_faults(file)) == {"lost"}


def test_a_trial_told_twice_and_a_point_evaluated_after_it_was_told_are_found(file: Path) -> None:
    folder, verdict = file.parent.parent, Verdict()
    rows = read_trials(file, folder) or []
    append_line(folder / "told", read_log(folder / "told")[0])
    check_told(rows, read_log(folder / "told"), verdict)
    check_evaluated(rows, read_log(folder / "evaluated"), 1, verdict)
    assert len(verdict.faults["twice"]) == 1
    evaluate(SPACE.present(SPACE.decode(json.loads(rows[0]["point"]))), SPACE, folder, 1)
    check_evaluated(rows, read_log(folder / "evaluated"), 1, verdict)
    assert len(verdict.faults["twice"]) == 2


def test_the_oracle_leaves_the_file_as_it_was_and_sees_what_its_journal_says(file: Path) -> None:
    before = file.read_bytes()
    journal = file.with_name("runs.db-journal")
    journal.write_bytes(b"")
    read_trials(file, file.parent.parent)
    assert file.read_bytes() == before
    assert journal.exists()


def test_a_lock_that_is_held_is_found(tmp_path: Path) -> None:
    lock = tmp_path / "runs.db.1.lock"
    assert not is_locked(lock)
    lock.touch()
    assert not is_locked(lock)
    with open(lock) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert is_locked(lock)


def test_an_orphan_is_found_and_ended() -> None:
    mark = uuid.uuid4().hex
    line = [sys.executable, "-c", "input()"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, env=os.environ | {MARK: mark}) as left:
        assert await_end(mark, 0.05) == {left.pid}
        left.wait()
    assert find_marked(mark) == set()


def row(number: int, status: str, reason: str | None, attempts: int) -> dict:
    return {"number": number, "status": status, "reason": reason, "attempts": attempts}


@pytest.mark.parametrize(
    ("mode", "before", "after", "innocent"),
    [
        ("kill worker", [], [row(0, "failed", "its worker process died (signal SIGKILL)", 1)], 0),
        ("kill worker", [], [row(n, "failed", "its worker process died (signal SIGKILL)", 1) for n in (0, 1)], 1),
        ("terminate study", [], [row(0, "failed", "its worker process died (signal SIGTERM)", 1)], 1),
        ("terminate all", [], [row(0, "failed", "SystemExit: 143", 1)], 1),
        ("kill study", [row(0, "running", None, 2)], [row(0, "failed", TWICE_RUNNING, 2)], 0),
        ("kill study", [row(0, "running", None, 1)], [row(0, "failed", TWICE_RUNNING, 2)], 1),
        ("terminate study", [row(0, "running", None, 1)], [row(0, "running", None, 2)], 1),
        ("kill study", [row(0, "running", None, 1)], [row(0, "running", None, 2)], 0),
    ],
)
def test_failures_that_nobody_caused_are_found(mode: str, before: list, after: list, innocent: int) -> None:
    verdict = Verdict()
    check_failed(before, after, Launch(1, mode, 0, 0.0), verdict)
    assert len(verdict.faults.get("innocent failures", [])) == innocent


def test_launches_are_those_of_the_seed() -> None:
    first, again = ([draw_launch(n, random.Random(3)) for n in range(5)] for _ in range(2))
    assert first == again
    assert {draw_launch(0, random.Random(seed)).mode for seed in range(200)} == set(kills.MODES)


@pytest.mark.slow
def test_a_study_that_is_killed_twice_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "KILLS_PER_STUDY", 2)
    verdict = kills.run_case("6", tmp_path)
    assert verdict.faults == {}
    assert verdict.counts["kills"] == 2
