"""Hostile objectives: a study that takes a wrong value, or fails an innocent trial, is found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chaos import objectives
from benchmarks.chaos.isolation import Answer
from benchmarks.chaos.objectives import CASES, KINDS, POINTS, expect, judge_end, judge_trials, run_case
from benchmarks.chaos.row import Verdict
from bostruct.execution import evaluation

RIGHT: dict[int, Any] = {x: ("completed", float(x), None) for x in range(POINTS)}
FAILED: dict[int, Any] = RIGHT | {x: ("failed", None, "rain") for x in range(POINTS) if x % 3 == 1}


def find(trials: dict[int, Any], expected: str) -> set[str]:
    verdict = Verdict()
    judge_trials(trials, expected, verdict)
    return set(verdict.faults)


def test_there_are_64_kinds_or_more_in_every_way() -> None:
    assert len(KINDS) >= 64
    assert len(CASES) == len(set(CASES)) == 4 * len(KINDS) - 3 * len(objectives.HANGING)


@pytest.mark.parametrize(
    ("trials", "expected", "kinds"),
    [
        (RIGHT, "right", set()),
        (FAILED, "fails", set()),
        (FAILED, "right", {"innocent failures"}),
        (RIGHT, "fails", {"not failed"}),
        (FAILED | {3: ("failed", None, "rain")}, "fails", {"innocent failures"}),
        (RIGHT | {3: ("completed", 4.0, None)}, "right", {"wrong values"}),
        ({0: ("completed", 0.0, None)}, "fails", {"broken runs"}),
        ({0: ("completed", 0.0, None)}, "dies", set()),
        (FAILED, "resumed", set()),
    ],
)
def test_wrong_values_and_innocent_failures_are_found(trials: dict[int, Any], expected: str, kinds: set[str]) -> None:
    assert find(trials, expected) == kinds


@pytest.mark.parametrize(
    ("answer", "expected", "kinds"),
    [
        (Answer("done"), "fails", set()),
        (Answer("in words"), "fails", {"broken runs"}),
        (Answer("in words"), "ends", set()),
        (Answer("done"), "ends", {"broken runs"}),
        (Answer(trouble="its process ended with status -9"), "dies", set()),
        (Answer(trouble="its process ended with status -9"), "right", {"broken runs"}),
        (Answer(trouble="Traceback"), "dies", {"broken runs"}),
        (Answer(trouble="late", is_slow=True), "right", {"hangs"}),
    ],
)
def test_ends_that_should_not_be_are_found(answer: Answer, expected: str, kinds: set[str]) -> None:
    verdict = Verdict()
    judge_end(answer, expected, verdict)
    assert set(verdict.faults) == kinds


def test_what_is_expected_follows_the_docs() -> None:
    assert expect("ValueError", "here") == "fails"
    assert expect("forks", "workers") == "right"
    assert [expect("SIGSEGV", way) for way in objectives.WAYS] == ["dies", "fails", "dies", "ends"]


@pytest.mark.parametrize("case", ["exception without text, here", "forks, workers", "os._exit, here"])
def test_a_case_finds_nothing(case: str, tmp_path: Path) -> None:
    assert run_case(case, tmp_path).faults == {}


def test_an_orphan_and_a_value_of_another_point_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = evaluation._evaluation_of
    monkeypatch.setattr(evaluation, "_evaluation_of", lambda value: parse(value + 1.0))
    monkeypatch.setattr(objectives, "await_end", lambda *_: {os.getpid()})
    verdict = run_case("seeds all generators, here", tmp_path)
    assert set(verdict.faults) == {"orphans", "wrong values"}
