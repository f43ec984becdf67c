"""A trial that is given up is over, and teaches nothing."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.execution.processes import ProcessPool

SPACE = bo.Space({"x": bo.Integer(0, 9)})


def test_a_canceled_trial_is_over_and_no_failure(file: Path) -> None:
    with bo.Study(SPACE, method="random", seed=0, storage=file) as study:
        first, second = study.ask(), study.ask()
        canceled = study.cancel(first)
        assert (canceled.status, canceled.reason, canceled.info["canceled"]) == ("failed", "canceled", True)
        study.tell(second, failed="broken")
        with pytest.raises(ValueError, match="already failed"):
            study.tell(first, 1.0)
        with pytest.raises(ValueError, match="already failed"):
            study.cancel(first)
        assert study.n_finished == 2
    for _ in range(2):
        with bo.Study.load(file) as study:
            history = study._ledger.history()
            assert [SPACE.present(x) for x in history.failed] == [second.point]
            assert (len(history.running), len(history.seen)) == (0, 2)
            assert study.trials[0].is_canceled
            assert not study.trials[1].is_canceled


def test_nobody_is_handed_a_canceled_trial_unless_it_is_requeued() -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    trial = study.ask()
    study.requeue(trial)
    study.cancel(trial)  # while it waited
    others = [study.ask() for _ in range(9)]
    assert trial.point not in [other.point for other in others]
    with pytest.raises(bo.SpaceExhausted):
        study.ask()
    study.requeue(trial)
    again = study.ask()
    assert (again.number, again.point, again.is_canceled) == (trial.number, trial.point, False)
    study.tell(again, failed="broken")
    assert len(study._ledger.history().failed) == 1
    study.requeue(others[0])
    study.tell(study.ask(), failed="broken")
    assert len(study._ledger.history().failed) == 2


def test_canceling_changes_no_suggestion_of_a_model_of_success() -> None:
    def suggest(give_up: Any) -> list[Any]:
        study = bo.Study({name: bool for name in "abcdef"}, seed=0)
        for number in range(12):
            trial = study.ask()
            give_up(study, trial) if number % 3 == 0 else study.tell(trial, float(sum(trial.point.values())))
        history = study._ledger.history()
        return [len(history.failed), study.ask().info.get("origin")]

    assert suggest(lambda study, trial: study.cancel(trial))[0] == 0
    assert suggest(lambda study, trial: study.tell(trial, failed="broken"))[0] == 4


def sleep_at_four(point: dict[str, int]) -> float:
    if point["x"] == 4:
        time.sleep(600)
    return float(point["x"])


def cancel_four(study: bo.Study, trial: bo.Trial) -> None:
    del trial
    for one in study.trials:
        if one.status == "running" and one.point["x"] == 4:
            study.cancel(one)


def test_a_callback_cancels_a_trial_of_a_worker_whose_process_ends() -> None:
    began = time.monotonic()
    result = bo.minimize(sleep_at_four, SPACE, 10, method="random", seed=0, workers=2, callbacks=cancel_four)
    assert time.monotonic() - began < 300
    assert (result.n_completed, result.n_failed, result.best_value) == (9, 1, 0.0)
    assert next(trial for trial in result.trials if trial.point["x"] == 4).is_canceled


def test_a_callback_cancels_a_trial_of_an_executor() -> None:
    def wait_a_little(point: dict[str, int]) -> float:
        time.sleep(0.3 if point["x"] == 4 else 0.0)
        return float(point["x"])

    with ThreadPoolExecutor(2) as executor:
        given: dict[str, Any] = {"workers": 2, "executor": executor, "callbacks": cancel_four}
        result = bo.minimize(wait_a_little, SPACE, 10, method="random", seed=0, **given)
    assert (result.n_completed, result.n_failed) == (9, 1)


def test_an_objective_may_cancel_its_own_trial() -> None:
    study = bo.Study(SPACE, method="random", seed=0)

    def gives_up(point: dict[str, int]) -> float:
        if point["x"] == 4:
            study.cancel(len(study.trials) - 1)
        return float(point["x"])

    assert study.optimize(gives_up, 10).n_completed == 9
    assert sum(trial.is_canceled for trial in study.trials) == 1


def test_a_pool_of_processes_forgets_a_canceled_trial_at_once() -> None:
    pool = ProcessPool(sleep_at_four, 1, None)
    try:
        pool.submit(0, {"x": 4})
        pool.cancel(0)
        pool.submit(1, {"x": 3})
        assert [(number, one.outcome.value) for number, one in pool.wait()] == [(1, 3.0)]
    finally:
        pool.close()


def test_a_callback_gives_a_trial_in_flight_back() -> None:
    """The attempt in flight is given up, and the trial is evaluated again."""
    release, begun = threading.Event(), []

    def hang_at_first(point: dict[str, int]) -> float:
        begun.append(point["x"])
        if len(begun) == 1:
            release.wait(60)
            return -1.0
        return float(point["x"])

    def give_back(study: bo.Study, trial: bo.Trial) -> None:
        if trial.number == 1:
            study.cancel(0)
            study.requeue(0)
        elif trial.number == 0:
            release.set()

    study = bo.Study(SPACE, method="random", seed=0)
    with ThreadPoolExecutor(3) as executor:
        result = study.optimize(hang_at_first, 6, workers=2, executor=executor, callbacks=give_back)
        release.set()
    assert (result.n_completed, len(begun)) == (6, 7)
    assert result.trials[0].value == float(begun[0])


def test_a_trial_that_another_thread_cancels_as_it_is_told_is_not_told() -> None:
    class Raced(bo.Study):
        """Study whose fourth trial another thread is quicker to cancel."""

        raced = False

        def tell(self, trial: Any, value: object = None, **told: Any) -> bo.Trial:
            if trial == 3 and not self.raced:
                self.raced = True
                self.cancel(trial)
            return super().tell(trial, value, **told)

    study = Raced(SPACE, method="random", seed=0)
    result = study.optimize(lambda point: float(point["x"]), 6)
    assert (result.n_completed, result.trials[3].is_canceled) == (5, True)


def test_a_trial_that_a_callback_tells_itself_is_not_told_again() -> None:
    def wait_for_others(point: dict[str, int]) -> float:
        time.sleep(0.2 if point["x"] == 4 else 0.0)
        return float(point["x"])

    def tell_four(study: bo.Study, trial: bo.Trial) -> None:
        del trial
        for one in study.trials:
            if one.status == "running" and one.point["x"] == 4:
                study.tell(one, 40.0)

    study = bo.Study(SPACE, method="random", seed=0)
    with ThreadPoolExecutor(2) as executor:
        result = study.optimize(wait_for_others, 10, workers=2, executor=executor, callbacks=tell_four)
    assert sorted(trial.value or 0.0 for trial in result.trials)[-2:] == [9.0, 40.0]
