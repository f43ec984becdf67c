"""Failures that are no fault of the point: the trial is handed out again, a few times."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.outcome import Outcome

SPACE = bo.Space({"x": bo.Integer(0, 5)})


def tell_all(study: bo.Study, *given: Any, **more: Any) -> list[bo.Trial]:
    """Ask for a first trial, tell it, and go on as long as the study hands it out again."""
    found = [study.tell(study.ask(), *given, **more)]
    while found[-1].status == "running":
        again = study.ask()
        assert again.number == found[0].number
        found.append(study.tell(again, *given, **more))
    return found


def test_a_transient_failure_is_retried_twice() -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    found = tell_all(study, failed="no license", retry=True)
    assert [trial.status for trial in found] == ["running", "running", "failed"]
    assert found[-1].info["failed_before"] == ["no license"] * 2
    assert study.n_finished == 1
    assert "attempts" not in found[-1].info  # which counts crashes
    assert [SPACE.present(x) for x in study._ledger.history().failed] == [found[0].point]


@pytest.mark.parametrize(
    ("given", "named"),
    [({"infeasible": "too large"}, "infeasible="), ({"value": 2.0}, "a value"), ({"repeats": [1.0, 2.0]}, "a value")],
)
def test_a_retry_of_what_did_not_fail_is_refused_and_nothing_is_told(given: dict[str, object], named: str) -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    trial = study.ask()
    with pytest.raises(ValueError, match=f"retry: expected only with failed=, .* got {named}"):
        study.tell(trial, **given, retry=True)  # type: ignore[arg-type]
    assert study.trials[0].status == "running"
    assert study.tell(trial, failed="busy", retry=True).status == "running"


def test_a_number_of_retries_and_other_outcomes() -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    assert len(tell_all(study, failed="busy", retry=4)) == 5
    assert len(tell_all(study, float("nan"), retry=1)) == 2
    assert len(tell_all(study, Outcome(failed="busy"), retry=False)) == 1
    assert [t.status for t in tell_all(study, Outcome(infeasible="too large"), retry=True)] == ["infeasible"]
    assert [t.value for t in tell_all(study, Outcome((2.0,)), retry=True)] == [2.0]
    for retry, error in ((-1, ValueError), (1.5, TypeError), ("yes", TypeError)):
        with pytest.raises(error, match="retry: expected"):
            study.tell(study.ask(), failed="busy", retry=retry)  # type: ignore[arg-type]
        study.requeue(study.trials[-1].number)
    assert study.trials[-1].status == "running"


def test_a_retry_is_on_disk_and_other_points_wait(file: Path) -> None:
    with bo.Study(SPACE, method="random", seed=0, storage=file) as study:
        first, second = study.ask(2)
        study.tell(first, failed="busy", retry=True)
        study.tell(second, 1.0)
    for _ in range(2):  # opened twice without an answer: neither is a crash
        with bo.Study.load(file) as study:
            again = study.ask()
            assert (again.number, again.point, again.info["failed_before"]) == (0, first.point, ["busy"])
    with bo.Study.load(file) as study:
        study.tell(study.ask(), failed="busy", retry=True)
        assert study.tell(study.ask(), 3.0).info["failed_before"] == ["busy"] * 2
        assert len(study._ledger.history().failed) == 0


def test_a_trial_told_while_it_waits_is_retried_once() -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    trial = study.ask()
    study.requeue(trial)
    study.tell(trial, failed="busy", retry=True)
    assert [t.number for t in study.ask(2)] == [0, 1]


@pytest.mark.parametrize("workers", [1, 2])
def test_optimize_retries_failures(workers: int, tmp_path: Path) -> None:
    def flaky(point: dict[str, int]) -> float:
        times = len(list(tmp_path.glob(f"{point['x']}-*")))
        (tmp_path / f"{point['x']}-{times}").touch()
        if times < point["x"] % 3:
            raise OSError("stale file handle")
        return float(point["x"])

    finished: list[int] = []
    result = bo.minimize(
        flaky, SPACE, 6, method="random", seed=0, workers=workers, retries=1,
        callbacks=lambda _, trial: finished.append(trial.number),
    )  # fmt: skip
    assert sorted(finished) == list(range(6))
    for trial in result.trials:
        failures = trial.point["x"] % 3
        assert trial.info.get("failed_before", []) == ["OSError: stale file handle"] * min(failures, 1)
        assert trial.status == ("failed" if failures == 2 else "completed")
        assert len(list(tmp_path.glob(f"{trial.point['x']}-*"))) == min(failures, 1) + 1


def test_time_outs_are_retried(tmp_path: Path) -> None:
    def hangs_once(point: dict[str, int]) -> float:
        if point["x"] == 2 and not (tmp_path / "hung").exists():
            (tmp_path / "hung").touch()
            time.sleep(600)
        return float(os.getpid() > 0) * point["x"]

    result = bo.minimize(hangs_once, SPACE, 6, method="random", seed=0, trial_timeout=1.0, retries=2)
    assert result.n_completed == 6
    (retried,) = [trial for trial in result.trials if "failed_before" in trial.info]
    assert (retried.point["x"], retried.info["failed_before"]) == (2, ["timed out after 1 s"])


@pytest.mark.parametrize("workers", [1, 2])
def test_an_objective_says_that_a_failure_is_transient(workers: int) -> None:
    def objective(point: dict[str, int]) -> float:
        if point["x"] == 1:
            raise bo.Transient("license server is down")
        if point["x"] == 2:
            raise RuntimeError("broken")
        return float(point["x"])

    result = bo.minimize(objective, SPACE, 6, method="random", seed=0, workers=workers)
    failed = {trial.point["x"]: trial for trial in result.trials if trial.status == "failed"}
    assert sorted(failed) == [1, 2]
    assert len(failed[1].info["failed_before"]) == 2
    assert "failed_before" not in failed[2].info


def test_what_ends_the_run_is_not_retried() -> None:
    def objective(_: object) -> float:
        raise OSError("no")

    study = bo.Study(SPACE, method="random", seed=0)
    with pytest.raises(OSError, match="no"):
        study.optimize(objective, 3, retries=3, reraise=OSError)
    assert [trial.status for trial in study.trials] == ["failed"]
    with pytest.raises(ValueError, match="retries: expected"):
        study.optimize(objective, 3, retries=-1)


def test_what_a_user_hands_out_again_is_no_retry(file: Path) -> None:
    with bo.Study(SPACE, method="random", seed=0, storage=file) as study:
        study.cancel(study.ask())
        study.requeue(0)
        assert "failed_before" not in study.trials[0].info  # to be canceled is no failure
        study.tell(study.ask(), failed="license")
        study.requeue(0)
        assert study.tell(study.ask(), failed="busy", retry=1).status == "running"
    with bo.Study.load(file) as study:
        last = study.tell(study.ask(), failed="busy", retry=1)
    assert (last.number, last.status) == (0, "failed")
    assert (last.info["failed_before"], last.info["retries"]) == (["license", "busy"], 1)
