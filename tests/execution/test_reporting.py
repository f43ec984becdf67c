"""What an objective reports on its way, and how a rule ends it."""

from __future__ import annotations

import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.execution.evaluation import MAX_REPORTS, Reporter, TrialStopped, WatchedPoint, evaluate, report
from bostruct.study.stopping import StoppingRule

SPACE = bo.Space({"x": bo.Integer(0, 7)})


@dataclass(frozen=True)
class FromThree(StoppingRule):
    """Stops every trial of x above 3 at its third step."""

    def judge(self, curves: object) -> Any:
        del curves
        return stops_late_large


def stops_late_large(step: int, value: float) -> bool:
    return step >= 3 and value > 3.5


def climb(point: dict[str, int]) -> float:
    for step in range(1, 6):
        try:
            report(step, point["x"] + step / 100)
        except Exception:  # which must not catch the end of the evaluation
            return -1.0
    return float(point["x"])


@pytest.mark.parametrize("how", ["here", "process", "executor"])
def test_a_stopped_trial_keeps_its_last_value_and_its_reports(how: str) -> None:
    with ThreadPoolExecutor(2) as executor:
        given: dict[str, Any] = {
            "here": {},
            "process": {"workers": 2, "trial_timeout": 60.0},
            "executor": {"workers": 2, "executor": executor},
        }
        result = bo.minimize(climb, SPACE, 8, method="random", seed=0, stopping_rule=FromThree(), **given[how])
    assert result.n_completed == 8
    for trial in result.trials:
        x = trial.point["x"]
        steps = range(1, 4 if x > 3 else 6)
        assert trial.info["reports"] == [[step, x + step / 100] for step in steps]
        assert trial.value == (x + 0.03 if x > 3 else x)
        assert trial.info.get("stopped_at") == (3 if x > 3 else None)


def test_reports_without_a_rule_are_on_record_too() -> None:
    result = bo.minimize(climb, SPACE, 2, method="random", seed=0)
    assert [len(trial.info["reports"]) for trial in result.trials] == [5, 5]
    assert all("stopped_at" not in trial.info for trial in result.trials)
    assert "reports" not in bo.minimize(lambda p: p["x"], SPACE, 1, method="random", seed=0).trials[0].info


def stop_at_once(step: int, value: float) -> bool:
    del step, value
    return True


def test_finally_runs_and_an_error_there_fails_the_trial(tmp_path: Path) -> None:
    def cleans_up(name: str) -> float:
        try:
            report(1, 2.0)
        finally:
            (tmp_path / name).touch()
        return 0.0

    assert evaluate(cleans_up, WatchedPoint("a", stop_at_once)).outcome.value == 2.0
    assert (tmp_path / "a").exists()

    def breaks(_: str) -> float:
        try:
            report(1, 2.0)
        finally:
            raise OSError("no space left")

    broken = evaluate(breaks, WatchedPoint("a", stop_at_once))
    assert (broken.outcome.failed, broken.stopped_at) == ("OSError: no space left", None)


def test_an_objective_that_swallows_the_end_has_its_own_value() -> None:
    def stubborn(_: object) -> float:
        for step in range(3):
            try:
                report(step, 1.0)
            except BaseException:
                assert step >= 0
        return 7.0

    found = evaluate(stubborn, WatchedPoint(None, stop_at_once))
    assert (found.outcome.value, found.stopped_at, found.reports) == (7.0, None, ((0, 1.0),))


def test_ctrl_c_between_reports_gives_the_trial_back() -> None:
    def interrupted(_: object) -> float:
        report(1, 0.5)
        raise KeyboardInterrupt

    study = bo.Study(SPACE, method="random", seed=0)
    with pytest.raises(KeyboardInterrupt):
        study.optimize(interrupted, 2, stopping_rule=bo.MedianRule())
    assert [trial.status for trial in study.trials] == ["running"]
    assert "reports" not in study.trials[0].info
    report_outside()


def report_outside() -> None:
    with pytest.warns(UserWarning, match="nothing is recorded"):
        report(1, 0.5)


def test_a_report_outside_of_an_objective_or_in_its_threads_warns() -> None:
    report_outside()
    caught: list[Any] = []

    def in_a_thread(_: object) -> float:
        thread = threading.Thread(target=lambda: caught.append(report_outside()))
        thread.start()
        thread.join()
        return 1.0

    assert evaluate(in_a_thread, None).reports == ()
    assert caught == [None]


def test_a_study_within_an_objective_has_reports_of_its_own() -> None:
    def outer(point: dict[str, int]) -> float:
        report(1, 0.0)
        inner = bo.minimize(climb, SPACE, 2, method="random", seed=point["x"])
        report(2, 0.0)
        return inner.best_value

    assert evaluate(outer, {"x": 1}).reports == ((1, 0.0), (2, 0.0))


@pytest.mark.parametrize(
    ("step", "value", "reason"),
    [
        (6, math.nan, "objective reported nan at step 6"),
        (6, math.inf, "objective reported inf at step 6"),
        (5, 0.0, "ValueError: step: expected an integer above 5, the last reported step, got 5"),
        (4, 0.0, "ValueError: step: expected an integer above 5, the last reported step, got 4"),
        (6, "low", "TypeError: value: expected a number, got 'low' (str)"),
        (6.0, 1.0, "TypeError: step: expected an integer"),
        (-1, 1.0, "ValueError: step: expected"),
    ],
)
def test_what_is_no_report_fails_the_trial(step: Any, value: Any, reason: str) -> None:
    def objective(_: object) -> float:
        report(5, 1.0)
        report(step, value)
        return 0.0

    found = evaluate(objective, None)
    assert str(found.outcome.failed).startswith(reason)
    assert found.reports == ((5, 1.0),)


@given(st.integers(0, 4 * MAX_REPORTS + 5), st.integers(0, 40), st.integers(1, 70))
def test_many_reports_are_thinned_and_early_ones_and_the_last_are_kept(n: int, exponent: int, stride: int) -> None:
    reporter = Reporter()
    told = [2**exponent - 1 + stride * i for i in range(n)]
    for step in told:
        reporter.take(step, float(step))
    steps = [step for step, _ in reporter.reports]
    assert min(n, MAX_REPORTS // 2) <= len(steps) <= MAX_REPORTS
    again = Reporter()
    for pair in reporter.reports:
        again.take(*pair)
    assert again.reports == reporter.reports  # as where a study is told of them
    assert steps[-1:] == told[-1:]
    assert steps[:1] == told[:1]
    for rung in (2**k for k in range(54)):
        assert next((s for s in steps if s >= rung), None) == next((s for s in told if s >= rung), None)
    if n <= MAX_REPORTS:
        assert steps == told


def test_an_evaluation_takes_its_reports_along() -> None:
    sent = evaluate(climb, WatchedPoint({"x": 5}, stops_late_large))
    arrived = pickle.loads(pickle.dumps(sent))
    assert (arrived.reports, arrived.stopped_at) == (((1, 5.01), (2, 5.02), (3, 5.03)), 3)
    assert not issubclass(TrialStopped, Exception)
