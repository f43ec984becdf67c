"""Points that one fit serves, and points that are chosen before a worker needs them."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.study.loop import ThroughputEstimate

BITS = {f"x{i}": bool for i in range(8)}


def value(point: dict[str, bool]) -> float:
    return sum(point.values()) - 2.0 * (point["x0"] ^ point["x1"])


def told(n: int = 16, **where: Any) -> bo.Study:
    study = bo.Study(BITS, seed=0, **where)
    for _ in range(n):
        trial = study.ask()
        study.tell(trial, value(trial.point))
    return study


def joint_places(study: bo.Study) -> list[int]:
    return [trial.info.get("joint", 0) for trial in study.trials]


def test_one_search_serves_eight_points_of_which_the_first_is_that_of_ask() -> None:
    study, single = told(), told().ask()
    trials = list(study.ask_jointly(10))
    assert joint_places(study)[16:] == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]
    assert (trials[0].number, trials[0].point) == (single.number, single.point)
    assert len({str(trial.point) for trial in study.trials}) == 26
    assert {trial.status for trial in trials} == {"running"}


def test_what_is_told_between_two_points_is_kept_and_the_fit_goes_on() -> None:
    study = told()
    for trial in study.ask_jointly(6):
        study.tell(trial, value(trial.point))
    assert joint_places(study)[16:] == [0, 1, 2, 3, 4, 5]
    assert study.n_finished == 22


def test_a_trial_that_another_entered_ends_the_fit() -> None:
    study = told()
    asked = study.ask_jointly(6)
    for _ in range(3):
        next(asked)
    other = study.ask()
    next(asked)
    assert joint_places(study)[16:] == [0, 1, 2, 0, 0]
    assert other.number == 19


def test_where_points_run_out_fewer_are_yielded() -> None:
    study = bo.Study({"a": bool, "b": range(3)}, seed=0)
    assert len(list(study.ask_jointly(9))) == 6
    with pytest.raises(bo.SpaceExhausted):
        next(study.ask_jointly(1))


def test_a_number_of_points_is_checked_before_the_first() -> None:
    with pytest.raises(ValueError, match="n: expected"):
        told(0).ask_jointly(0)
    with pytest.raises(ValueError, match="n: expected"):
        told(0).prefetch(0)


def test_prepared_points_wait_on_disk_and_are_handed_out_first(file: Path) -> None:
    with told(storage=file) as study:
        assert study.prefetch(2) == 2
        assert study.prefetch(2) == 2
        points = [trial.point for trial in study.trials[16:]]
        assert (study.n_waiting, study.in_flight, len(study.trials)) == (2, {}, 18)
    with bo.Study.load(file) as study:
        before = time.time()
        first, second, third = study.ask(3)
        assert [first.point, second.point] == points
        assert (first.started >= before, "attempts" in first.info, third.number) == (True, False, 18)
        assert [trial.info.get("prepared") for trial in (first, second, third)] == [True, True, None]
        assert study.n_waiting == 0


def test_a_prepared_point_is_known_to_the_next() -> None:
    study = told()
    study.prefetch(4)
    assert len({str(trial.point) for trial in study.trials}) == 20


def test_no_more_points_are_prepared_than_there_are() -> None:
    study = bo.Study({"a": bool, "b": bool}, seed=0)
    assert study.prefetch(9) == 4


class Watched:
    """An objective that notes how many points waited when it began."""

    def __init__(self, study: bo.Study) -> None:
        self.study = study
        self.waiting: list[int] = []
        self._lock = threading.Lock()

    def __call__(self, point: dict[str, bool]) -> float:
        time.sleep(0.05)
        with self._lock:
            self.waiting.append(self.study.n_waiting)
        return value(point)


def optimize(study: bo.Study, n_trials: int, workers: int = 4) -> Watched:
    objective = Watched(study)
    with ThreadPoolExecutor(workers) as executor:
        study.optimize(objective, n_trials, executor=executor, workers=workers, progress=False)
    return objective


def test_a_run_prepares_points_while_its_workers_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    study = bo.Study(BITS, method="random", seed=0)
    monkeypatch.setattr(ThroughputEstimate, "n_ahead", 2)
    objective = optimize(study, 30)
    assert max(objective.waiting) == 2
    assert (study.n_finished, len(study.trials), study.n_waiting) == (30, 30, 0)  # none is prepared for nobody


def test_a_run_does_not_prepare_where_a_suggestion_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a random point takes some of the time of an evaluation; here it takes none."""
    monkeypatch.setattr(ThroughputEstimate, "note_suggestion", lambda self, _: self._suggestions.append(0.0))
    assert max(optimize(bo.Study(BITS, method="random", seed=0), 20).waiting) == 0


def test_a_run_that_is_stopped_leaves_prepared_points_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    study = bo.Study(BITS, method="random", seed=0)
    monkeypatch.setattr(ThroughputEstimate, "n_ahead", 1)
    with ThreadPoolExecutor(4) as executor:
        study.optimize(
            Watched(study),
            40,
            executor=executor,
            workers=4,
            callbacks=lambda study, _: study.stop("enough") if study.n_finished >= 12 else None,
        )
    left = study.n_waiting
    assert left <= 1
    assert len(study.trials) == study.n_finished + left
    optimize(study, 40)
    assert (study.n_finished, len(study.trials), study.n_waiting) == (40, 40, 0)


def test_workers_that_suggestions_keep_waiting_get_points_of_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    study = told()
    monkeypatch.setattr(ThroughputEstimate, "is_behind", True)
    optimize(study, 48, workers=8)
    assert any(joint_places(study))
    assert (study.n_finished, len({str(trial.point) for trial in study.trials})) == (48, 48)


def test_workers_that_do_not_wait_get_a_fit_each(monkeypatch: pytest.MonkeyPatch) -> None:
    study = told()
    monkeypatch.setattr(ThroughputEstimate, "is_behind", False)
    optimize(study, 40, workers=8)
    assert not any(joint_places(study))
