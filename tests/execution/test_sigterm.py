"""SIGTERM, by which schedulers end a job, loses nothing and counts as no crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import bostruct as bo
from tests.programs import ROOT, finish, start

STUDY = """
def objective(point):
    if point["a"] == 5:
        print("sleeping", flush=True)
        time.sleep(200)
    return float(point["a"])
space = {"a": range(1, 9)}
try:
    bo.minimize(objective, space, 8, method="random", seed=0, storage=sys.argv[1], workers=int(sys.argv[2]))
finally:
    print("cleaned up", flush=True)
"""


def test_sigterm_ends_the_run_as_often_as_it_comes_and_fails_no_trial(file: Path) -> None:
    for workers in (1, 2):  # as often as a trial may be running at a crash, before it fails
        with start(STUDY, file, workers, stderr=subprocess.PIPE) as process:
            assert process.stdout.readline() == "sleeping\n"
            process.terminate()
            printed, errors = process.communicate(timeout=100)
        assert process.returncode == 143
        assert printed == "cleaned up\n"
        assert "Traceback" not in errors
        assert os.listdir(file.parent) == ["runs.db"]
    result = bo.minimize(lambda p: float(p["a"]), {"a": range(1, 9)}, 8, method="random", seed=0, storage=file)
    assert sorted(t.value for t in result.trials if t.value is not None) == list(range(1, 9))
    assert all("attempts" not in t.info for t in result.trials)


ALL_AT_ONCE = """
from bostruct.execution import processes
processes.GRACE_SECONDS = 100.0
study = os.getpid()
def objective(point):
    if point["a"] == 5:
        later = f"import os, time; time.sleep(0.3); os.kill({study}, 15)"
        subprocess.Popen([sys.executable, "-c", later], start_new_session=True)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(200)
    return float(point["a"])
bo.minimize(objective, {"a": range(1, 9)}, 8, method="random", seed=0, storage=sys.argv[1], workers=2)
"""


def test_a_worker_that_is_ended_just_before_its_study_fails_no_trial(file: Path) -> None:
    assert finish(ALL_AT_ONCE, file).returncode == 143
    with bo.Study.load(file, read_only=True) as study:
        assert not study.result.n_failed
        assert 5 in [t.point["a"] for t in study.trials if t.status == "running"]


def test_a_worker_that_is_terminated_alone_fails_its_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bostruct.execution.processes.GRACE_SECONDS", 0.01)

    def objective(point: dict) -> float:
        if point["a"] == 5:
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
            os.kill(os.getpid(), signal.SIGTERM)
        return float(point["a"])

    result = bo.minimize(objective, {"a": range(1, 9)}, 8, method="random", seed=0, workers=2, progress=False)
    assert [(t.point["a"], t.reason) for t in result.trials if t.status == "failed"] == [
        (5, "its worker process died (signal SIGTERM)")
    ]


def test_the_handler_is_there_during_a_run_of_the_main_thread_only() -> None:
    seen: list[object] = []

    def run() -> None:
        bo.minimize(lambda p: seen.append(signal.getsignal(signal.SIGTERM)) or p["a"], {"a": [1, 2]}, 1, progress=False)

    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]
    run()
    assert callable(seen[1])
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_the_users_own_stays_also_where_it_is_set_meanwhile() -> None:
    def own(*_: object) -> None:
        raise AssertionError

    try:
        for _ in range(2):  # set by the objective, then there before the run
            bo.minimize(lambda p: signal.signal(signal.SIGTERM, own) and p["a"], {"a": [1, 2]}, 2, progress=False)
            assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _handles_sigterm(_: dict) -> float:
    return float(signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL)


def test_processes_that_are_forked_during_a_run_end_by_sigterm_as_ever() -> None:
    with ProcessPoolExecutor(1) as executor:
        result = bo.minimize(_handles_sigterm, {"a": [1, 2]}, 1, executor=executor, progress=False)
    assert result.best_value == 0.0


def test_sigterm_between_disk_and_memory_waits_for_both(tmp_path: Path) -> None:
    study = bo.Study({"x": [1, 2, 3]}, method="random", seed=0, storage=tmp_path / "runs.db")
    update = study._store.update

    def updated_then_terminated(row: object) -> None:
        update(row)  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGTERM)

    study._store.update = updated_then_terminated  # type: ignore[method-assign]
    with pytest.raises(SystemExit) as ended:
        study.optimize(lambda point: point["x"], 3, progress=False)
    assert ended.value.code == 143
    assert [t.status for t in study.trials] == ["completed"]
    with bo.Study.load(tmp_path / "runs.db", read_only=True) as stored:
        assert stored.trials == study.trials
    study.close()


LINES = [
    ("run max3sat --method random --storage runs.db", "best", "The same command resumes the study in runs.db."),
    ("compare max3sat --methods random --seeds 1 --out runs", "runs", "The same command resumes the comparison."),
]


@pytest.mark.parametrize(("line", "shown", "said"), LINES)
def test_the_command_line_says_so_in_one_line(tmp_path: Path, line: str, shown: str, said: str) -> None:
    command = [sys.executable, "-m", "bostruct", *line.split(), "--trials", "1000000", "--progress"]
    path = {**os.environ, "PYTHONPATH": ROOT}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=path) as process:
        assert process.stderr is not None
        seen = ""
        while shown not in seen:  # by the bar, once trials run
            seen += process.stderr.read(1) or pytest.fail(f"it ended, and said {seen}")
        process.terminate()
        _, errors = process.communicate(timeout=100)
    assert process.returncode == 143
    assert errors.splitlines()[-1] == f"Terminated. {said}"
    assert "Traceback" not in errors
