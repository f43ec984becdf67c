"""Studies and files shared by threads, processes and forks, and a clock that is set back."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import bostruct as bo
from benchmarks.chaos.isolation import call_isolated
from benchmarks.chaos.places import check_file, check_values, open_study, step
from benchmarks.chaos.row import Verdict
from bostruct.storage.protocol import StorageError

SECONDS = 6.0
CHILD_SECONDS = 30.0  # that a forked child outlives its parent


def use_threads(folder: Path, verdict: Verdict, method: str) -> None:
    """Let eight threads ask for, complete, fail and requeue trials of one study."""
    file = folder / "runs.db"
    space = {"x": bo.Integer(0, 999), "kind": ["a", "b", "c"]}
    study = bo.Study(space, method=method, seed=0, storage=file)
    values: dict[int, float | None] = {}

    def work(worker: int) -> None:
        for turn in range(12):
            trial = study.ask()
            if turn % 5 == worker % 5:
                study.requeue(trial)
                continue
            value = float(trial.point["x"]) if turn % 4 else None
            study.tell(trial, value, failed=None if turn % 4 else "rain")
            values[trial.number] = value
            repr(study.result)

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(work, range(8)))
    points = [tuple(trial.point.values()) for trial in study.trials]
    if len(set(points)) != len(points):
        verdict.blame("otherwise than documented", f"{len(points) - len(set(points))} points were suggested twice")
    study.close()
    check_values(file, values, verdict)


def race_processes(folder: Path, verdict: Verdict) -> None:
    """Let two processes open, write and close one study as often as they can while a third one reads it."""
    file, until = folder / "runs.db", time.monotonic() + SECONDS
    open_study(file).close()

    def write() -> int:
        steps = 0
        while time.monotonic() < until:
            with open_study(file) as study:
                step(study)
                steps += 1
        return steps

    def read() -> int:
        seen = 0
        while time.monotonic() < until:
            with bo.Study.load(file, read_only=True) as study:
                values = [trial.value for trial in study.trials if trial.status == "completed"]
                if len(values) < seen or any(t.value not in (None, t.point["x"]) for t in study.trials):
                    raise AssertionError(f"{seen} trials became {len(values)}")
                seen = len(values)
        return seen

    with ThreadPoolExecutor(3) as executor:
        futures = [executor.submit(call_isolated, call, 60.0) for call in (write, write, read)]
        answers = [future.result() for future in futures]
    for answer in answers:
        if answer.trouble is not None:
            verdict.blame("otherwise than documented", answer.trouble)
    if any(answer.trouble for answer in answers):
        return
    with bo.Study.load(file, read_only=True) as study:
        if len(study.trials) != sum(answer.value for answer in answers[:2]):
            verdict.blame("lost", f"{len(study.trials)} trials for {answers}")
        check_values(file, {trial.number: float(trial.point["x"]) for trial in study.trials}, verdict)


def fork_after_opening(folder: Path, verdict: Verdict) -> None:
    """Fork a process with an open study: the child may not write, and its end does not affect the parent."""
    file = folder / "runs.db"
    study = open_study(file)
    values = [step(study) for _ in range(3)]
    trial = study.ask()

    def misuse() -> list[str]:
        refused = []
        for name, call in _writes(study, trial).items():
            try:
                call()
            except StorageError:
                refused.append(name)
        study.close()
        return refused

    answer = call_isolated(misuse, 60.0)
    if answer.value != list(_writes(study, trial)):
        verdict.blame("otherwise than documented", f"a forked child was refused only {answer}")
    with open_study(file) as another:
        if another.n_remote != 1:
            verdict.blame("otherwise than documented", "the parent's trials were requeued when the child ended")
    study.tell(trial, float(trial.point["x"]))
    values += [float(trial.point["x"]), step(study)]
    study.close()
    check_file(file, values, verdict)


def _writes(study: bo.Study, trial: bo.Trial) -> dict[str, Any]:
    return {
        "ask": study.ask,
        "tell": lambda: study.tell(trial, 0.0),
        "add": lambda: study.add({"x": 1, "text": trial.point["text"]}, 0.0),
        "requeue": lambda: study.requeue(trial),
    }


def kill_and_fork(folder: Path, verdict: Verdict) -> None:
    """Kill a process whose forked child lives on: the process's trial is requeued at once."""
    file = folder / "runs.db"
    process = os.fork()
    if process == 0:
        try:
            study = open_study(file)
            step(study)
            study.ask()
            if os.fork() == 0:
                time.sleep(CHILD_SECONDS)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.waitpid(process, 0)
    with open_study(file) as study:
        if study.n_remote:
            verdict.blame("otherwise than documented", "a forked child keeps the trial of a killed parent")
        values = [float(study.trials[0].point["x"]), step(study)]
    check_file(file, values, verdict)


def set_clock_back(folder: Path, verdict: Verdict) -> None:
    """Set the clock back by hours between the steps: only the stored times may depend on it."""
    file, clock = folder / "runs.db", [2e9]

    def backward() -> float:
        clock[0] -= 3600.0
        return clock[0]

    with mock.patch("bostruct.execution.clock.read_clock", backward), open_study(file) as study:
        values = [step(study) for _ in range(5)]
        study.requeue(study.ask())
    with mock.patch("bostruct.execution.clock.read_clock", return_value=-1e6), open_study(file) as study:
        values += [step(study) for _ in range(5)]
    with open_study(file) as study, open_study(None) as plain:
        values.append(step(study))
        if [trial.point for trial in study.trials] != [plain.ask().point for _ in range(11)]:
            verdict.blame("otherwise than documented", "suggestions depend on the clock")
    check_file(file, values, verdict)
