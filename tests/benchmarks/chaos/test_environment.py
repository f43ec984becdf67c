"""Surroundings of a study: values lost, and what is otherwise than documented, are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from benchmarks.chaos import places, sharing
from benchmarks.chaos.environment import CASES, run_case
from benchmarks.chaos.places import check_file, fill_disk, open_study, step
from benchmarks.chaos.row import Verdict
from bostruct.storage.sqlite import Database, SqliteWriter
from tests.benchmarks.chaos.judging import judge


@pytest.mark.parametrize("case", ["disk full", "folder removed while open", "fork after open", "clock set back"])
def test_a_case_finds_nothing(case: str, tmp_path: Path) -> None:
    assert run_case(case, tmp_path).faults == {}


def test_values_that_are_not_in_the_file_are_found(tmp_path: Path) -> None:
    verdict = Verdict()
    with open_study(tmp_path / "runs.db") as study:
        told = [step(study) for _ in range(3)]
    check_file(tmp_path / "runs.db", told, verdict)
    assert verdict.faults == {}
    check_file(tmp_path / "runs.db", [*told, 7.0], verdict)
    check_file(tmp_path / "runs.db", told[::-1], verdict)
    assert len(verdict.faults["lost"]) == 2


def test_a_study_that_does_not_notice_its_loss_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Database, "check_place", lambda _: None)
    assert "otherwise than documented" in run_case("file renamed while open", tmp_path).faults


def test_a_study_that_keeps_what_the_disk_refused_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteWriter, "update", lambda *_: None)
    assert "lost" in judge(fill_disk, tmp_path)


def test_a_child_that_may_write_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteWriter, "update", lambda *_: None)
    assert "otherwise than documented" in judge(sharing.fork_after_opening, tmp_path)


def test_a_method_that_asks_the_clock_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bostruct.execution import clock

    ask = bo.Study.ask
    monkeypatch.setattr(bo.Study, "ask", lambda study: [ask(study) for _ in range(1 + (clock.now() == 0))][-1])
    assert "otherwise than documented" in judge(sharing.set_clock_back, tmp_path)


def test_a_lock_that_outlives_its_process_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bostruct.storage.locks._descriptors", set())
    monkeypatch.setattr("bostruct.storage.locks._close_locks_in_child", lambda: None)
    monkeypatch.setattr(sharing, "open_study", forget_descriptors(sharing.open_study))
    monkeypatch.setattr(sharing, "CHILD_SECONDS", 5.0)
    assert "otherwise than documented" in judge(sharing.kill_and_fork, tmp_path)


def forget_descriptors(open_one: Any) -> Any:
    """Open a study whose lock its forked children keep."""

    def opened(*given: Any) -> bo.Study:
        from bostruct.storage import locks

        study = open_one(*given)
        locks._descriptors.clear()
        return study

    return opened


def test_what_the_machine_does_not_allow_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise places.NotHere("no mount namespace")

    monkeypatch.setitem(CASES, "disk full", refuse)
    verdict = run_case("disk full", tmp_path)
    assert (verdict.faults, verdict.counts) == ({}, {"cases that this machine does not allow": 1})
