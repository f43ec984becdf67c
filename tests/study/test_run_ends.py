"""What ends a run: a total, more trials, a time, patience."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo

SPACE = {"x": range(40)}


def value(point: Any) -> float:
    return float(point["x"])


def sleep(point: Any) -> float:
    time.sleep(0.2)
    return float(point["x"])


def open_study(**settings: Any) -> bo.Study:
    return bo.Study(SPACE, method="random", seed=0, **settings)


def test_no_trial_begins_after_the_timeout_and_the_running_one_finishes() -> None:
    began = time.monotonic()
    result = bo.minimize(sleep, SPACE, timeout=0.3, method="random", seed=0)
    assert time.monotonic() - began < 10.0
    assert 1 <= len(result.trials) < 40
    assert {trial.status for trial in result.trials} == {"completed"}
    assert result.stopped_because == "timeout of 0.3 s reached"


def test_a_timeout_of_zero_begins_nothing_and_a_long_one_ends_nothing() -> None:
    assert bo.minimize(value, SPACE, 5, timeout=0.0, method="random").trials == ()
    result = bo.minimize(value, SPACE, 5, timeout=1e9, method="random", seed=0)
    assert (len(result.trials), result.stopped_because) == (5, "n_trials reached (5)")


def test_a_suggestion_that_ends_after_the_timeout_begins_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    study = open_study()
    begin_next = study._begin_next

    def begin_late(*given: Any) -> bo.Trial:
        if len(study.trials) == 2:
            monkeypatch.setattr("bostruct.study.loop.monotonic", lambda: float("inf"))
        return begin_next(*given)

    monkeypatch.setattr(study, "_begin_next", begin_late)
    assert len(study.optimize(value, 9, timeout=60.0).trials) == 2


def test_a_resumed_call_has_the_whole_time_again(tmp_path: Path) -> None:
    call: dict[str, Any] = {"storage": tmp_path / "runs.db", "method": "random", "seed": 0}
    first = bo.minimize(sleep, SPACE, 4, timeout=0.1, **call)
    second = bo.minimize(sleep, SPACE, 4, timeout=60.0, **call)
    assert (len(first.trials), len(second.trials)) == (1, 4)


def test_what_runs_at_the_timeout_is_given_back_if_that_is_asked_for(tmp_path: Path) -> None:
    with open_study(storage=tmp_path / "runs.db") as study:
        began = time.monotonic()
        result = study.optimize(lambda _: time.sleep(300), 4, timeout=1.0, cancel_running=True)
        assert time.monotonic() - began < 60.0
        assert result.stopped_because == "timeout of 1 s reached"
        assert (study.n_waiting, study.n_finished) == (1, 0)
        (waiting,) = [trial.point for trial in study.trials]
        result = study.optimize(value, 4)
    assert result.trials[0].point == waiting
    assert [trial.status for trial in result.trials] == ["completed"] * 4


def test_patience_ends_a_run_and_is_no_part_of_the_study() -> None:
    values = iter([5.0, 3.0, 4.0, 3.0, 3.5, 1.0, 2.0])
    study = open_study()
    result = study.optimize(lambda _: next(values), patience=3)
    assert result.stopped_because == "no better value in 3 trials"
    assert len(result.trials) == 5
    assert len(study.optimize(lambda _: next(values), 7).trials) == 7


def run_outcomes(outcomes: list[Any], patience: int, **settings: Any) -> bo.Result:
    given = iter(outcomes)

    def evaluate(_: object) -> Any:
        outcome = next(given)
        if isinstance(outcome, str):
            raise bo.Infeasible(outcome) if outcome == "infeasible" else RuntimeError(outcome)
        return outcome

    study = bo.Study({"a": range(99)}, method="random", seed=0, **settings)
    return study.optimize(evaluate, len(outcomes), patience=patience, max_initial_failures=None)


def of_limit(*measured: float) -> list[Any]:
    return [{"value": 1.0, "constraints": {"c": one}} for one in measured]


@pytest.mark.parametrize(
    ("outcomes", "settings", "n_trials", "reason"),
    [
        (["a"] * 9, {}, 3, "the last 3 trials have all failed"),
        ([1.0, "a", "b", "infeasible", 2.0], {}, 4, "the last 3 trials have all failed or been infeasible"),
        ([1.0, "a", 2.0, "b", "b", 3.0, "c", 4.0, 5.0], {}, 8, "no better value in 3 trials"),
        ([1.0, "a", "b", 0.5, 0.4, "b", "b", 0.3], {}, 8, "n_trials reached (8)"),
        (of_limit(9, 8, 7, 6, 5, 0.5, 0.4, 0.3, 0.2), {"constraints": {"c": ("<=", 1)}}, 9, "no better value"),
        (of_limit(9, 8, 8, 8, 7), {"constraints": {"c": ("<=", 1)}}, 5, "n_trials reached (5)"),
        (of_limit(9, 8, 8, 9, 8, 7), {"constraints": {"c": ("<=", 1)}}, 5, "no better value in 3 trials"),
        ([(x, 9 - x) for x in range(9)], {"directions": ["minimize"] * 2}, 9, "n_trials reached (9)"),
        ([(0, 9), (1, 9), (5, 5), (6, 6), (0, 10), (5, 6), (1, 1)], {"directions": ["minimize"] * 2}, 6, "no better"),
    ],
)
def test_patience_counts_completed_trials_that_are_no_better(
    outcomes: list[Any], settings: dict[str, Any], n_trials: int, reason: str
) -> None:
    result = run_outcomes(outcomes, 3, **settings)
    assert (len(result.trials), result.stopped_because[: len(reason)]) == (n_trials, reason)


def test_patience_counts_from_the_call_with_n_more_only(tmp_path: Path) -> None:
    call: dict[str, Any] = {"method": "random", "seed": 0, "storage": tmp_path / "runs.db"}
    bo.minimize(lambda _: 1.0, {"x": bo.Real(0, 1)}, 5, **call)
    counts = [len(bo.minimize(lambda _: 1.0, {"x": bo.Real(0, 1)}, 10, patience=4, **call).trials)]
    counts += [len(bo.minimize(lambda _: 1.0, {"x": bo.Real(0, 1)}, n_more=9, patience=4, **call).trials)]
    assert counts == [5, 9]


def test_n_more_counts_from_the_call() -> None:
    study = open_study()
    assert [len(study.optimize(value, n_more=3).trials) for _ in range(2)] == [3, 6]
    assert study.optimize(value, n_more=0).stopped_because.startswith("nothing to do")


def test_a_second_run_that_has_nothing_to_do_warns_and_a_reopened_study_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_study(storage=tmp_path / "runs.db") as study:
        study.optimize(value, 3)
        with pytest.warns(
            UserWarning, match=r"n_trials is 3, and 3 are finished already; n_trials is a total; .*n_more=3"
        ):
            study.optimize(value, 3)
    assert capsys.readouterr().err == ""
    with open_study(storage=tmp_path / "runs.db") as study:
        study.optimize(value, 3)
    assert capsys.readouterr().err.count("nothing to do") == 1


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({}, TypeError, "n_trials: expected a total number of trials, n_more=, timeout= or patience="),
        ({"n_trials": 3, "n_more": 3}, TypeError, "n_more: expected None with n_trials=3"),
        ({"timeout": -1.0}, ValueError, "timeout: expected"),
        ({"timeout": "1h"}, TypeError, "timeout: expected"),
        ({"patience": 0}, ValueError, "patience: expected"),
        ({"n_trials": 3, "cancel_running": True}, ValueError, "cancel_running: expected False without timeout="),
        ({"timeout": 1.0, "cancel_running": 1.5}, TypeError, "cancel_running: expected True or False"),
    ],
)
def test_bad_ends_are_refused(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        open_study().optimize(value, **settings)


def test_each_run_of_a_comparison_has_the_timeout(tmp_path: Path) -> None:
    problem = (sleep, SPACE)
    found = bo.compare(problem, ["random", "evolution"], n_trials=30, seeds=1, timeout=0.5, storage=tmp_path)
    lengths = [len(result.trials) for result in found.problems[0].results.values()]
    assert len(lengths) == 2
    assert all(1 <= length < 30 for length in lengths)
    assert len(found.problems[0].rows) == 2
