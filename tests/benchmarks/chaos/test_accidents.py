"""Accidents to files: what a broken build would read from them is found."""

from __future__ import annotations

import random
from pathlib import Path
from unittest.mock import ANY

import pytest

import bostruct as bo
from benchmarks.chaos import accidents
from benchmarks.chaos.accidents import KINDS, is_next_step, judge, run_case, strike_file, strike_journal
from benchmarks.chaos.isolation import call_isolated
from benchmarks.chaos.row import Verdict
from benchmarks.chaos.specimens import catch_moments, make_specimen, objective, read_studies, wide_space, write_specimen
from bostruct.outcome import Outcome
from bostruct.storage import reading, row_storage, rows
from bostruct.storage.protocol import TrialRow
from bostruct.storage.row_storage import Snapshot
from tests.stored import damage


@pytest.fixture(autouse=True)
def _make_specimen_with_code_as_it_is() -> None:
    make_specimen()


@pytest.mark.slow
def test_a_case_of_accidents_finds_nothing(tmp_path: Path) -> None:
    verdict = run_case("1", tmp_path)
    assert verdict.faults == {}
    assert sum(verdict.counts.values()) == accidents.ACCIDENTS_PER_CASE


def test_every_kind_of_accident_happens_in_a_few_cases() -> None:
    assert set(KINDS) == {*accidents.BYTE_ACCIDENTS, *accidents.ROW_ACCIDENTS, *accidents.JOURNAL_ACCIDENTS}
    assert len(KINDS) <= 2 * accidents.ACCIDENTS_PER_CASE


def test_without_checksums_wrong_values_are_read_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows._Door, "check_seal", lambda *_: None)
    verdict, file = Verdict(), tmp_path / "runs.db"
    write_specimen(make_specimen(), file)
    damage(file, "UPDATE trials SET value = 0.5 WHERE number = 2")
    studies = make_specimen().studies
    judge("a value", file, lambda name, found: found == studies[name], verdict)
    assert any("read ['one'" in text for text in verdict.faults["wrong silently"])


def test_without_the_count_and_the_digest_lost_rows_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_check_told", lambda *_: None)
    monkeypatch.setattr(reading, "add_checksums", lambda *_: ANY)
    monkeypatch.setattr(Snapshot, "check_rows", lambda *_: None)
    verdict = Verdict()
    strike_file("last rows deleted", tmp_path / "runs.db", random.Random(0), verdict)
    assert verdict.faults["wrong silently"]


def test_a_traceback_and_a_hang_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = Verdict()
    for reader, limit in ((lambda *_: {}["nothing"], accidents.LIMIT), (lambda *_: __import__("time").sleep(60), 0.5)):
        with monkeypatch.context() as broken:
            broken.setattr(row_storage, "read_studies", reader)
            broken.setattr(accidents, "LIMIT", limit)
            strike_file("row deleted", tmp_path / "runs.db", random.Random(0), verdict)
    assert "KeyError: 'nothing'" in verdict.faults["tracebacks"][0]
    assert "did not end within 0.5 s" in verdict.faults["hangs"][0]


def test_moments_are_in_the_middle_of_commits_and_lead_back(tmp_path: Path) -> None:
    moments = catch_moments(tmp_path, 3, random.Random(0))
    assert len(moments) == 3
    verdict = Verdict()
    for moment in moments:
        before = moment.specimen.studies["one"]
        assert sum(row.told is not None for row in before.trials) >= moment.told
        strike_journal("journal sound", moment, tmp_path / "struck.db", random.Random(0), verdict)
        strike_journal("journal removed", moment, tmp_path / "struck.db", random.Random(0), verdict)
        strike_journal("journal sound", moment._replace(told=9999), tmp_path / "struck.db", random.Random(0), verdict)
    assert set(verdict.faults) == {"lost"}
    assert len(verdict.faults["lost"]) == 3


def test_only_one_step_of_a_commit_counts_as_the_next(tmp_path: Path) -> None:
    with bo.Study(wide_space(), method="random", seed=0, storage=tmp_path / "runs.db", name="one") as study:
        for _ in range(3):
            trial = study.ask()
            study.tell(trial, objective(trial.point))
        study.ask()
    before = read_studies(tmp_path / "runs.db")["one"]
    *others, last = before.trials
    told = before._replace(trials=others)
    assert is_next_step(before, before)
    assert is_next_step(told, before)  # one was begun
    assert is_next_step(told._replace(trials=[*others[:-1], running(others[-1])]), told)  # one was told
    assert not is_next_step(before._replace(trials=others[:-1]), before)
    assert not is_next_step(before, told)
    assert not is_next_step(told._replace(trials=[running(others[0]), *others[1:]]), before)
    wrong = others[-1]._replace(outcome=Outcome((7.0,)))
    asked, changed = (told._replace(trials=[*others[:-1], end]) for end in (running(wrong), wrong))
    assert not is_next_step(asked, changed)
    assert not is_next_step(before, before._replace(trials=[*others, last._replace(point=others[0].point)]))


def running(row: TrialRow) -> TrialRow:
    return row._replace(outcome=None, finished=None, told=None)


def test_a_call_in_a_process_of_its_own_answers_for_its_end() -> None:
    assert call_isolated(lambda: 3, 60.0).value == 3
    assert "ZeroDivisionError" in str(call_isolated(lambda: 1 // 0, 60.0).trouble)
    assert call_isolated(lambda: __import__("os")._exit(7), 60.0).trouble == "its process ended with status 7"
    assert call_isolated(lambda: __import__("time").sleep(60), 0.1).is_slow


def test_a_specimen_is_what_it_says(tmp_path: Path) -> None:
    write_specimen(make_specimen(), tmp_path / "runs.db")
    studies = read_studies(tmp_path / "runs.db")
    assert studies == make_specimen().studies
    assert {row.status for row in studies["one"].trials} == {"completed", "failed", "infeasible", "running"}
