"""Processes that load the objective: side by side, and once more where one of them is lost."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import bostruct as bo
from bostruct.contracts import BostructError
from bostruct.execution import processes
from bostruct.execution.processes import WORKER_CODE, WorkerProcess

SPACE = bo.Space({"x": bo.Integer(0, 9)})
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # importing it would cost a worker more than all it does


def minimize(objective: Callable[[Any], Any], n_trials: int = 10, **given: Any) -> bo.Result:
    given = {"method": "random", "seed": 0, "progress": False, "workers": 2} | given
    return bo.minimize(objective, SPACE, n_trials, **given)


class Fatal:
    """Ends the first processes that load it, so many of them, and loads as an identity in all others."""

    def __init__(self, folder: Path, deaths: int, how: Callable[[], Any]) -> None:
        self.folder, self.deaths, self.how = folder, deaths, how

    def __reduce__(self) -> Any:
        return _load_or_die, (self.folder, self.deaths, self.how)

    def __call__(self, _: Any) -> float:
        raise AssertionError("evaluated where it was not loaded")


def _load_or_die(folder: Path, deaths: int, how: Callable[[], Any]) -> Callable[[Any], float]:
    for number in range(deaths):
        try:
            (folder / str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        how()
    return lambda point: float(point["x"])


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _write_junk() -> None:
    os.write(int(sys.orig_argv[3]), b"loading the data\n")
    time.sleep(200)


@pytest.mark.parametrize(("workers", "deaths", "how"), [(1, 1, _die), (1, 2, _die), (3, 2, _die), (1, 1, _write_junk)])
def test_a_process_that_is_lost_while_loading_is_replaced(tmp_path, workers, deaths, how):
    result = minimize(Fatal(tmp_path, deaths, how), workers=workers, trial_timeout=100.0)
    assert all(t.value == t.point["x"] for t in result.trials)
    assert len(os.listdir(tmp_path)) == deaths
    assert all("attempts" not in t.info for t in result.trials)


def test_a_process_that_is_slow_to_load_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flag = tmp_path / "0"
    monkeypatch.setattr(WorkerProcess, "is_late", lambda worker: worker.attempt == 1 and flag.exists())
    result = minimize(Fatal(tmp_path, 1, lambda: time.sleep(200)), workers=1, trial_timeout=100.0)
    assert all(t.value == t.point["x"] for t in result.trials)


def test_an_objective_that_ends_every_process_is_given_up_in_words(tmp_path: Path) -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    words = r"3 worker processes were tried for trial 0, and the last one could not load it: it died \(signal SIGKILL\)"
    with pytest.raises(BostructError, match=words):
        study.optimize(Fatal(tmp_path, 100, _die), 4, workers=1, trial_timeout=100.0)
    assert len(os.listdir(tmp_path)) == processes.MAX_LOADS
    assert [t.status for t in study.trials] == ["running"]
    assert study.optimize(lambda point: point["x"], 4, progress=False).n_completed == 4


def _refuse() -> None:
    raise ImportError("no simulator here")


@pytest.mark.parametrize(("how", "said"), [(_refuse, "ImportError: no simulator here"), (exit, "SystemExit")])
def test_an_objective_that_refuses_to_load_is_not_loaded_again(tmp_path: Path, how: Any, said: str) -> None:
    with pytest.raises(BostructError, match=rf"could not load it(.|\n)*{said}"):
        minimize(Fatal(tmp_path, 100, how), workers=1, trial_timeout=100.0)
    assert os.listdir(tmp_path) == ["0"]


AWAITS_OTHERS = """
import os, sys, time
folder = {!r}
open(os.path.join(folder, str(os.getpid())), "w").close()
for _ in range(3000):
    if len(os.listdir(folder)) == 3:
        break
    time.sleep(0.01)
else:
    sys.exit(9)
"""


def test_all_processes_start_before_any_has_received_a_large_objective(tmp_path, monkeypatch):
    waiting = AWAITS_OTHERS.format(str(tmp_path)) + WORKER_CODE
    monkeypatch.setattr("bostruct.execution.processes.WORKER_CODE", waiting)
    monkeypatch.setattr(processes, "MAX_LOADS", 1)
    ballast = bytes(3_000_000)  # more than a socket holds
    result = minimize(lambda point: float(point["x"] + 0 * len(ballast)), workers=3)
    assert all(t.value == t.point["x"] for t in result.trials)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("inf"), None, "60"])
def test_a_wrong_load_timeout_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="load_timeout: expected"):
        minimize(lambda point: point["x"], load_timeout=wrong)
