"""Failures that end a run: values that are never finite, equal errors, and failures of the machine."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import BostructError
from bostruct.execution import evaluation
from bostruct.outcome import Outcome
from bostruct.study.loop import ObjectiveError

SPACE = bo.Space({"x": bo.Integer(0, 999)})
LOST = "CUDA error: an illegal memory access was encountered"


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_met", set())


def make_study(**given: Any) -> bo.Study:
    return bo.Study(SPACE, **({"method": "random", "seed": 0} | given))


def run(objective: Callable[[Any], object], n_trials: int, study: bo.Study | None = None, **given: Any) -> bo.Result:
    return (study or make_study()).optimize(objective, n_trials, progress=False, **given)


def _fail_in_turn() -> Callable[[Any], float]:
    errors: Iterator[int] = count()

    def objective(_: object) -> float:
        raise (KeyError, ValueError, OSError)[next(errors) % 3]("no")

    return objective


def _always(value: object) -> Callable[[Any], object]:
    return lambda _: value


FAILING: list[Callable[[], Callable[[Any], object]]] = [
    lambda: _always(math.nan),
    lambda: _always(-math.inf),
    lambda: _always({"repeats": [1.0, math.nan]}),
    _fail_in_turn,
]


@pytest.mark.parametrize("make", FAILING)
@pytest.mark.parametrize(
    ("given", "expected"), [({}, 10), ({"workers": 7}, 14), ({"max_initial_failures": 3}, 3), ({"initial": 15}, 15)]
)
def test_failures_alone_end_the_run_stay_and_the_same_call_goes_on(make, given, expected):
    given = dict(given)
    study = make_study(initial_points=[{"x": x} for x in range(given.pop("initial", 0))])
    if "workers" in given:
        given["executor"] = ThreadPoolExecutor(given["workers"])
    for times in (1, 2):
        says = r"no trial of the study has completed\. Reasons: \w.* stay failed(.|\n)*max_initial_failures=None"
        with pytest.raises(ObjectiveError, match=says):
            run(make(), 60, study, **given)
        assert study.n_finished == sum(trial.status == "failed" for trial in study.trials)
        assert times * expected <= study.n_finished < times * (expected + given.get("workers", 1))
    assert run(lambda point: point["x"], 60, study, **given).n_completed == 60 - study.result.n_failed


def test_none_lets_a_run_go_on_and_a_warning_comes_with_a_larger_limit_too() -> None:
    assert run(_fail_in_turn(), 30, max_initial_failures=None).n_failed == 30
    with pytest.warns(UserWarning, match="the last 20 trials failed the same way"):
        assert run(lambda point: point["no"], 30, max_initial_failures=None).n_failed == 30
    study = make_study()
    study.add({"x": 0}, 1.0)
    with pytest.warns(UserWarning, match="the last 20 trials failed the same way"):
        run(lambda _: math.nan, 25, study, max_initial_failures=100)


@pytest.mark.parametrize("given", [0, 2.5, "never", True])
def test_other_limits_are_refused(given: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="max_initial_failures: expected"):
        run(_always(1.0), 3, max_initial_failures=given)


def _raise(error: Exception) -> Callable[[Any], object]:
    def objective(_: object) -> float:
        raise error

    return objective


@pytest.mark.parametrize(
    "objective", [_always(Outcome(failed="diverged")), _raise(bo.Infeasible("no")), _always(Outcome(infeasible="no"))]
)
def test_what_the_objective_declares_never_counts(objective: Callable[[Any], object]) -> None:
    assert run(objective, 40).n_completed == 0  # a warning would be an error


def test_added_trials_count_as_completed_for_values_and_not_for_equal_errors() -> None:
    study = make_study()
    study.add({"x": 5}, 1.0)
    assert run(_fail_in_turn(), 30, study).n_failed == 30
    with pytest.raises(ObjectiveError, match="KeyError in each of the first 5"):
        run(lambda point: point["no"], 60, study)


def test_a_run_that_has_completed_trials_warns_once_after_twenty_failures_of_one_kind() -> None:
    values = iter([1.0, *[math.nan] * 19, 2.0, *[math.nan] * 19, *[math.inf] * 30])
    with pytest.warns(UserWarning, match="the last 20 trials failed the same way, .*objective returned inf") as caught:
        assert run(lambda _: next(values), 70).n_completed == 2
    assert len(caught) == 1


def _lose_gpu(chosen: int) -> Callable[[Any], float]:
    """Make an objective that loses the GPU of its process for good at each point that the number divides."""

    def objective(point: dict[str, int]) -> float:
        state = objective.__dict__
        if state.get("is_lost") or point["x"] % chosen == 0:
            state["is_lost"] = True
            raise RuntimeError(LOST)
        return point["x"]

    return objective


@pytest.mark.parametrize("given", [{"workers": 2}, {"trial_timeout": 60.0}])
def test_a_worker_that_lost_its_gpu_costs_no_other_trial(given: dict[str, Any]) -> None:
    study = make_study()
    result = run(_lose_gpu(7), 28, study, **given)
    failed = {trial.number: trial for trial in result.trials if trial.status == "failed"}
    assert set(failed) == {trial.number for trial in result.trials if trial.point["x"] % 7 == 0}
    assert len(failed) > 2
    for trial in failed.values():
        assert trial.info["machine_failure"]["cause"] == "a lost GPU"
        assert trial.info["failed_before"] == [f"RuntimeError: {LOST}"]  # given back once
    learned = {SPACE.present(x)["x"] for x in study._ledger.history().failed}
    assert learned == {trial.point["x"] for trial in failed.values() if not trial.is_no_data}
    assert len(learned) >= len(failed) - 1  # after the last trial none completes any more


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (RuntimeError(LOST), "a lost GPU"),
        (OSError(errno.ENOSPC, "No space left on device"), "a full disk"),
        (ModuleNotFoundError("No module named 'xgboost'"), "a module that cannot be imported"),
    ],
)
@pytest.mark.parametrize("n_before", [0, 3])
def test_five_failures_of_the_machine_in_a_row_end_the_run_and_cost_no_trial(error, cause, n_before, file):
    calls: list[int] = []

    def objective(point: dict[str, int]) -> float:
        calls.append(point["x"])
        if len(calls) > n_before:
            raise error
        return point["x"]

    with make_study(storage=file) as study:
        with pytest.raises(BostructError, match=f"5 evaluations in a row failed because of the machine, .* {cause}"):
            run(objective, 10, study)
        assert [trial.status for trial in study.trials] == ["completed"] * n_before + ["running"] * 5
    with bo.Study.load(file) as study:
        assert len(study._ledger.history().failed) == 0
        result = run(lambda point: point["x"], 10, study)
    assert (result.n_completed, len(result.trials)) == (10, 10)


def test_a_trial_is_given_back_once_on_disk_and_waits_until_another_completes(file: Path) -> None:
    with make_study(storage=file) as study:
        first = study.ask()
        assert study.tell(first, failed="lost", machine="a lost GPU").status == "running"
        second = study.ask()
        assert second.number == 1
        study.tell(second, failed="lost", machine="a lost GPU")
    with bo.Study.load(file) as study:
        third = study.ask()
        assert third.number == 2  # the others still wait
        study.tell(third, 1.0)
        again = study.ask()
        assert (again.number, again.point) == (0, first.point)
        assert study.tell(again, failed="lost", machine="a lost GPU").status == "failed"  # of the point
    with bo.Study.load(file) as study:
        again = study.ask()
        assert again.number == 1
        assert study.tell(again, failed="full", machine="a full disk").is_no_data
        assert [SPACE.present(x) for x in study._ledger.history().failed] == [first.point]
        study.requeue(1)
        assert study.tell(study.ask(), failed="bad").info.get("no_data") is None
        assert len(study._ledger.history().failed) == 2


def test_trials_that_wait_are_handed_out_if_no_other_is_wanted_or_left() -> None:
    calls: list[int] = []

    def objective(point: dict[str, int]) -> float:
        calls.append(point["x"])
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return point["x"]

    result = run(objective, 3)
    assert (result.n_completed, len(result.trials), len(calls)) == (3, 3, 4)
    study = bo.Study({"a": bool}, method="random", seed=0)
    first = study.ask()
    study.tell(first, failed="full", machine="a full disk")
    assert [study.ask().number, study.ask().number] == [1, 0]


def test_a_failure_of_the_machine_that_is_to_be_raised_fails_its_trial() -> None:
    study = make_study()
    with pytest.raises(ImportError, match="xgboost"):
        run(_raise(ImportError("xgboost")), 10, study, reraise=ImportError)
    assert [trial.status for trial in study.trials] == ["failed"]


def test_a_module_that_some_points_need_is_a_failure_of_these_points() -> None:
    def objective(point: dict[str, int]) -> float:
        if point["x"] % 3 == 0:
            raise ImportError("No module named 'xgboost'")
        return point["x"]

    study = make_study()
    result = run(objective, 30, study)
    assert len(result.trials) == 30
    assert len(study._ledger.history().failed) >= result.n_failed - 1 > 3


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"failed": "no", "machine": ""}, TypeError),
        ({"failed": "no", "machine": True}, TypeError),
        ({"value": 1.0, "machine": "a full disk"}, ValueError),
        ({"infeasible": "no", "machine": "a"}, ValueError),
    ],
)
def test_a_cause_is_a_reason_beside_a_failure(given: dict[str, Any], kind: type[Exception]) -> None:
    study = make_study()
    with pytest.raises(kind, match="machine: expected"):
        study.tell(study.ask(), **given)
    assert study.trials[0].status == "running"


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor])
def test_a_process_that_lost_its_gpu_blames_no_point(executor: Any) -> None:
    """No worker is replaced here: points that only met the lost GPU were learned as failures."""
    lost: list[bool] = []

    def objective(point: Any) -> float:
        if point["x"] % 5 == 0:
            lost.append(True)
        if lost and point["x"] % 2 == 0:
            raise RuntimeError(LOST)
        return float(point["x"])

    study = make_study(initial_points=[{"x": x} for x in (1, 5, 2, 3, 4, 7, 9, 11, 6, 13)])
    with suppress(BostructError):  # five losses in a row
        run(objective, 10, study, executor=None if executor is None else executor(1))
    failed = [trial for trial in study.trials if trial.status == "failed"]
    assert failed
    assert all(trial.is_no_data for trial in failed)


def test_a_second_cause_is_no_data_whatever_the_retries_and_a_completed_trial_is_data() -> None:
    study = make_study()
    number = study.ask().number
    assert study.tell(number, failed="a", retry=3, machine="a lost GPU").status == "running"
    study.tell(study.ask(), 1.0)
    assert study.ask().number == number
    failed = study.tell(number, failed="b", retry=3, machine="a full disk")
    assert (failed.status, failed.is_no_data) == ("failed", True)
    study.requeue(number)
    completed = study.tell(study.ask(), 2.0)
    assert (completed.number, completed.is_no_data) == (number, False)


@pytest.mark.parametrize("directions", [["minimize"], ["minimize", "maximize"]])
@pytest.mark.parametrize(
    "method", ["tpe", "annealing", "hill-climbing", "smac", "wrs", "combo", "bocs", "auto", "evolution"]
)
def test_the_limit_knows_the_first_points_of_methods(method: str, directions: list[str]) -> None:
    space = bo.Space({f"b{i}": bool for i in range(9)})
    study = bo.Study(space, method=method, seed=0, directions=directions)
    own = methods.searcher(method, space)
    expected = next(getattr(own, name) for name in ("n_startup", "n_random", "n_initial") if hasattr(own, name))
    assert study.n_initial == expected >= 10
    if method == "combo" and len(directions) == 1:
        with pytest.raises(ObjectiveError, match="20 trials of this run failed"):
            run(_always(math.nan), 60, study)


def test_asking_counts_completed_trials_once_however_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    for trial in [study.ask() for _ in range(20)]:
        study.tell(trial, failed="a", machine="a full disk")
    calls = []
    counted = type(study._ledger).n_completed.fget
    monkeypatch.setattr(type(study._ledger), "n_completed", property(lambda self: calls.append(1) or counted(self)))
    study.ask()
    assert len(calls) <= 2
