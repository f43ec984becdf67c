"""Worker processes: a pool of them, those that start badly, and those that send what this process cannot read."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import cloudpickle
import pytest

import bostruct as bo
from bostruct.contracts import BostructError
from bostruct.execution.processes import ProcessPool

SPACE = bo.Space({"a": bo.Integer(0, 5)})
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # importing it would cost a worker more than all it does


class LoadsAs(Exception):
    """An exception that another process loads by a call."""

    def __init__(self, call: Callable[..., Any], *arguments: Any) -> None:
        super().__init__("diverged")
        self.call = call, arguments

    def __reduce__(self) -> Any:
        return self.call


def _end_of_stream() -> None:
    raise EOFError("nothing more")


def test_an_objective_in_a_worker_has_the_arguments_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["am.py", "0.05", "\udcff\n"])
    study = bo.Study(SPACE, method="random", seed=0)
    result = study.optimize(lambda _: {"value": 1.0, "attributes": {"argv": ascii(sys.argv)}}, 2, workers=2)
    assert {one.attributes["argv"] for one in result.trials} == {ascii(sys.argv)}


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ((os._exit, 3), "exit code 3"),
        ((sys.exit, 4), "LoadsAs: diverged"),
        ((time.sleep, 60), "timed out after 2 s"),
    ],
)
def test_an_exception_that_is_code_costs_its_own_trial(call: tuple, reason: str) -> None:
    """It is loaded in the worker first: neither the study's process nor another trial pays for it."""

    def objective(point: dict) -> float:
        if point["a"] == 2:
            raise LoadsAs(*call)
        return float(point["a"])

    result = bo.Study(SPACE, method="random", seed=0).optimize(objective, 6, workers=2, trial_timeout=2.0)
    ((point, why),) = [(t.point["a"], t.reason) for t in result.trials if t.status == "failed"]
    assert point == 2
    assert reason in str(why)
    assert result.n_completed == 5


@pytest.mark.parametrize("call", [(_end_of_stream,), (int, "3")])
def test_exceptions_that_load_as_something_else_fail_their_trial_alone(call: tuple) -> None:
    def objective(point: dict) -> float:
        if point["a"] == 2:
            raise LoadsAs(*call)
        return float(point["a"])

    study = bo.Study(SPACE, method="random", seed=0)
    with pytest.raises(RuntimeError, match="LoadsAs: diverged"):
        study.optimize(objective, 6, workers=2, reraise=RuntimeError)
    result = study.optimize(objective, 6, workers=2)
    failed = [(t.point["a"], t.reason) for t in result.trials if t.status == "failed"]
    assert failed == [(2, "LoadsAs: diverged")]
    assert result.n_completed == 5


def test_a_process_that_dies_as_it_starts_is_reported_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    ballast = bytes(10_000_000)
    with monkeypatch.context() as broken:
        broken.setattr("bostruct.execution.processes.WORKER_CODE", "raise SystemExit(9)")
        with pytest.raises(
            BostructError, match=r"3 worker processes were tried (.|\n)*could not load it(.|\n)*exit code 9"
        ):
            study.optimize(lambda point: float(point["a"] + len(ballast)), 2, workers=2)
    assert {t.status for t in study.trials} == {"running"}
    assert study.optimize(lambda point: float(point["a"]), 2, workers=2).n_completed == 2


class HangsForTheSecond:
    """Loads at once in the first process that does, and never in another."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def __reduce__(self) -> Any:
        return _load_once, (self.flag,)

    def __call__(self, _: Any) -> float:
        raise AssertionError("evaluated where it was not loaded")


def _load_once(flag: Path) -> Any:
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        time.sleep(60)
    return _sleeps


def _sleeps(_: Any) -> float:
    time.sleep(60)
    return 0.0


def test_time_outs_hold_while_another_process_is_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bostruct.execution.processes.MAX_LOADS", 1)
    study = bo.Study(SPACE, method="random", seed=0)
    told: list[float] = []
    began = time.monotonic()
    with pytest.raises(BostructError, match="did not load it in 8 s"):
        study.optimize(
            HangsForTheSecond(tmp_path / "loaded"),
            6,
            workers=2,
            trial_timeout=0.5,
            load_timeout=8.0,
            callbacks=lambda *_: told.append(time.monotonic() - began),
        )
    assert [t.reason for t in study.trials if t.status == "failed"] == ["timed out after 0.5 s"]
    assert told[0] < 7.5  # not once the other had been given up
    assert time.monotonic() - began < 30.0


def test_an_exception_that_loads_only_in_the_worker_fails_its_trial_alone(tmp_path: Path) -> None:
    (tmp_path / "simulator_only_there.py").write_text("class SimulationError(Exception): pass\n")

    def objective(point: dict, folder: str = str(tmp_path)) -> float:
        sys.path.insert(0, folder)
        from simulator_only_there import SimulationError

        if point["x"] == 2:
            raise SimulationError("diverged")
        return float(point["x"])

    result = bo.minimize(objective, {"x": [1, 2, 3]}, 3, method="random", seed=0, workers=2, progress=False)
    failed = [trial for trial in result.trials if trial.status == "failed"]
    assert [trial.point for trial in failed] == [{"x": 2}]
    assert "diverged" in str(failed[0].reason)


@pytest.fixture
def open_pool() -> Iterator[Callable[..., ProcessPool]]:
    pools: list[ProcessPool] = []

    def make(objective: Callable[[Any], Any], workers: int = 2, timeout: float | None = None) -> ProcessPool:
        pools.append(ProcessPool(objective, workers, timeout))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def gather(pool: ProcessPool, n: int) -> dict[int, Any]:
    """Wait for n trials; return by their numbers the value of each, or the reason why it failed."""
    found: list[tuple[int, Any]] = []
    while len(found) < n:
        found += pool.wait()
    told = [(number, evaluation.outcome) for number, evaluation in found]
    return {number: outcome.value if outcome.failed is None else outcome.failed for number, outcome in told}


def test_a_pool_gives_each_trial_its_outcome_and_each_process_the_next_trial(open_pool):
    def objective(point: Any) -> float:
        if point == 3:
            raise KeyError("three")
        return float(os.getpid())

    pool = open_pool(objective)
    assert pool.slots == 2
    told: dict[int, Any] = {}
    for number in range(0, 6, 2):
        pool.submit(number, number)
        pool.submit(number + 1, number + 1)
        told |= gather(pool, 2)
    assert sorted(told) == list(range(6))
    assert told.pop(3) == "KeyError: 'three'"
    assert len(set(told.values())) == 2
    assert os.getpid() not in told.values()


def test_what_has_finished_is_there_without_being_waited_for(open_pool: Callable[..., ProcessPool]) -> None:
    pool = open_pool(lambda point: time.sleep(300.0 * point) or 1.0)
    assert pool.poll() == []
    pool.submit(0, 1)
    pool.submit(1, 0)
    until = time.monotonic() + 100.0
    while not (found := pool.poll()) and time.monotonic() < until:
        time.sleep(0.01)
    assert [number for number, _ in found] == [1]
    assert pool.poll() == []


def test_all_slots_run_at_the_same_time(open_pool: Callable[..., ProcessPool], tmp_path: Path) -> None:
    def objective(point: int) -> int:
        (tmp_path / str(point)).touch()
        while len(os.listdir(tmp_path)) < 2:
            time.sleep(0.01)
        return point

    pool = open_pool(objective)
    pool.submit(9, 9)
    pool.submit(4, 4)
    assert gather(pool, 2) == {4: 4.0, 9: 9.0}


@pytest.mark.parametrize(
    ("ending", "how"),
    [(lambda: os._exit(7), "exit code 7"), (lambda: os.kill(os.getpid(), signal.SIGKILL), "signal SIGKILL")],
)
def test_a_process_that_dies_fails_its_trial_and_is_replaced(open_pool, ending, how):
    pool = open_pool(lambda point: ending() if point else 1.0, workers=1)
    pool.submit(0, True)
    assert gather(pool, 1) == {0: f"its worker process died ({how})"}
    pool.submit(1, False)
    assert gather(pool, 1) == {1: 1.0}


def test_a_trial_that_takes_too_long_is_killed(open_pool: Callable[..., ProcessPool]) -> None:
    pool = open_pool(lambda point: time.sleep(300.0 * point) or 1.0, timeout=2.0)
    pool.submit(0, 1)
    pool.submit(1, 0)
    assert gather(pool, 2) == {0: "timed out after 2 s", 1: 1.0}


def test_closing_ends_every_process(open_pool: Callable[..., ProcessPool]) -> None:
    def objective(point: int) -> float:
        if point:
            time.sleep(300)
        return float(os.getpid())

    pool = open_pool(objective)
    pool.submit(0, 0)
    process = int(gather(pool, 1)[0])
    pool.submit(1, 1)
    pool.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_point_that_cannot_travel_is_refused_by_name(open_pool: Callable[..., ProcessPool]) -> None:
    pool = open_pool(lambda _: 1.0, workers=1)
    with pytest.raises(TypeError, match="point: cannot be sent to a worker process"):
        pool.submit(0, threading.Lock())
    with pytest.raises(TypeError, match="objective: cannot be sent to a worker process"):
        open_pool(threading.Lock())


class RefusesProcesses:
    """As `subprocess.Popen` where the system has so many processes left, and no more until some time has passed."""

    def __init__(self, left: int, until: float) -> None:
        self.left, self.until = left, until
        self.popen = subprocess.Popen

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.left <= 0 and time.monotonic() < self.until:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self.left -= 1
        return self.popen(*args, **kwargs)


@pytest.mark.parametrize("left", [0, 1])
def test_a_process_that_the_system_refuses_costs_time_and_no_trial(left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    refuses = RefusesProcesses(left, time.monotonic() + 1.0)
    monkeypatch.setattr("bostruct.execution.processes.subprocess.Popen", refuses)
    result = bo.minimize(lambda point: float(point["a"]), SPACE, 6, method="random", seed=0, workers=3, progress=False)
    assert sorted(trial.value for trial in result.trials) == [0, 1, 2, 3, 4, 5]


def test_a_run_with_no_process_at_all_ends_in_words_and_gives_its_trials_back(monkeypatch: pytest.MonkeyPatch) -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    with monkeypatch.context() as refusing:
        refusing.setattr("bostruct.execution.processes.subprocess.Popen", RefusesProcesses(0, float("inf")))
        refusing.setattr("bostruct.execution.processes.START_SECONDS", 0.2)
        with pytest.raises(BostructError, match=r"no worker process could be started for 0\.2 s: .*unavailable"):
            study.optimize(lambda point: float(point["a"]), 3, workers=2)
    assert {trial.status for trial in study.trials} == {"running"}
    assert study.optimize(lambda point: float(point["a"]), 3, workers=2).n_completed == 3


def test_a_large_point_is_taken_from_a_process_that_does_not_read_it(open_pool, monkeypatch):
    monkeypatch.setattr("bostruct.execution.processes.READING_SECONDS", 1)
    pool = open_pool(lambda point: float(os.getpid() + 0 * len(point)), workers=1)
    pool.submit(0, b"small")
    stopped = int(gather(pool, 1)[0])
    os.kill(stopped, signal.SIGSTOP)
    began = time.monotonic()
    pool.submit(1, bytes(20_000_000))
    assert gather(pool, 1)[1] != stopped
    assert time.monotonic() - began < 30.0
    with pytest.raises(ProcessLookupError):
        os.kill(stopped, 0)


def test_workers_that_linger_are_waited_for_together() -> None:
    """Each has left a thread that keeps it from ending."""

    def objective(point: dict) -> float:
        threading.Thread(target=time.sleep, args=(60,)).start()
        return float(point["a"])

    began = time.monotonic()
    with mock.patch("bostruct.execution.processes.EXIT_SECONDS", 3.0):
        bo.Study(SPACE, method="random", seed=0).optimize(objective, 6, workers=6)
    assert time.monotonic() - began < 6 * 3.0


@pytest.mark.parametrize(("cause", "attempts"), [(None, 1), ("no memory on the host", 2)])
def test_a_kill_is_of_the_machine_if_it_has_no_memory(cause, attempts, tmp_path, monkeypatch):
    """The kernel kills what takes the last memory."""

    def objective(point: dict[str, int]) -> float:
        if point["a"] == 3:
            with open(tmp_path / "calls", "a") as file:
                file.write("x")
            if os.path.getsize(tmp_path / "calls") == 1:
                os.kill(os.getpid(), signal.SIGKILL)
        return point["a"]

    monkeypatch.setattr("bostruct.execution.processes.name_cause_of_kill", lambda: cause)
    result = bo.minimize(objective, SPACE, 6, method="random", seed=0, workers=2, progress=False)
    assert os.path.getsize(tmp_path / "calls") == attempts
    assert result.n_failed == 2 - attempts
