"""Objectives in processes: what one of them does to itself costs its own trial and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import bostruct as bo
from bostruct.contracts import BostructError
from bostruct.run import ObjectiveError

SPACE = bo.Space({"a": bo.Integer(0, 11)})
ROOT = str(Path(bo.__file__).parent.parent)


def minimize(objective, n_trials=12, **how):
    return bo.minimize(objective, SPACE, n_trials, **({"method": "random", "seed": 0, "workers": 2} | how))


def by_point(result):
    return {t.point["a"]: t for t in result.trials}


def test_lambdas_and_closures_run_in_other_processes():
    factor = 2.0
    result = minimize(lambda p: factor * p["a"])
    assert {a: t.value for a, t in by_point(result).items()} == {a: 2.0 * a for a in range(12)}
    here = os.getpid()
    assert minimize(lambda _: float(os.getpid()), 2).best_value != here
    assert minimize(lambda _: float(os.getpid()), 2, workers=1).best_value == here


def test_workers_run_at_the_same_time():
    began = time.monotonic()
    minimize(lambda _: time.sleep(0.5) or 1.0, 4, workers=4)
    starting = minimize(lambda _: 1.0, 4, workers=4).timing.objective
    assert time.monotonic() - began < 2.0 + starting


def test_a_slow_trial_does_not_hold_up_the_others():
    result = minimize(lambda p: time.sleep(1.0 if p["a"] == 3 else 0.0) or p["a"])
    assert [result.trials[number].point["a"] for number in result.order][-1] == 3


def test_each_kind_of_failure_costs_one_trial():
    def objective(point):
        match point["a"]:
            case 1:
                os._exit(3)
            case 2:
                os.kill(os.getpid(), 11)
            case 3:
                time.sleep(60)
            case 4:
                return float("nan")
            case 5:
                raise ValueError("five")
            case 6:
                raise bo.Infeasible("six")
            case 7:
                sys.exit(4)
        return float(point["a"])

    began = time.monotonic()
    result = minimize(objective, trial_timeout=0.5)
    reasons = {a: t.reason for a, t in by_point(result).items() if t.status != "completed"}
    assert reasons == {
        1: "its worker process died (exit code 3)",
        2: "its worker process died (signal SIGSEGV)",
        3: "timed out after 0.5 s",
        4: "objective returned nan",
        5: "ValueError: five",
        6: "six",
        7: "its worker process died (exit code 4)",
    }
    assert {t.value for t in result.trials if t.status == "completed"} == {0.0, 8.0, 9.0, 10.0, 11.0}
    assert time.monotonic() - began < 20


def test_a_time_out_needs_no_second_worker_and_spares_quick_trials():
    result = minimize(lambda p: time.sleep(30 * (p["a"] == 0)) or 1.0, workers=1, trial_timeout=0.3)
    assert [t.point["a"] for t in result.trials if t.status == "failed"] == [0]


def test_a_time_out_ends_what_the_objective_started(tmp_path):
    mark = tmp_path / "mark"

    def objective(_):
        subprocess.run([sys.executable, "-c", f"import time; time.sleep(1.2); open({str(mark)!r}, 'w')"], check=True)
        return 1.0

    assert minimize(objective, 1, workers=1, trial_timeout=0.3).n_failed == 1
    time.sleep(1.5)
    assert not mark.exists()


def test_workers_end_with_the_study():
    pids = {int(t.value) for t in minimize(lambda _: os.getpid(), 6).trials if t.value is not None}
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


ORPHANED = """
import os, sys
sys.path[:0] = sys.argv[1:]
import bostruct as bo
def objective(point):
    import time
    print(os.getpid(), flush=True)
    time.sleep(60)
bo.minimize(objective, {"a": range(8)}, 8, method="random", workers=1, trial_timeout=50.0)
"""


def test_workers_do_not_outlive_a_study_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", ORPHANED, ROOT], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.kill()
        process.wait()
        deadline = time.monotonic() + 10
        while Path(f"/proc/{worker}/stat").exists() and _state(worker) != "Z" and time.monotonic() < deadline:
            time.sleep(0.02)
    assert not Path(f"/proc/{worker}/stat").exists() or _state(worker) == "Z"


def _state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_exceptions_that_cannot_be_pickled_still_say_what_they_are():
    class Odd(Exception):
        def __init__(self, lock, text):
            super().__init__(text)
            self.lock = lock

    def objective(point):
        if point["a"] % 2:
            raise Odd(threading.Lock(), "odd")
        return 1.0

    assert {t.reason for t in minimize(objective).trials} == {None, "Odd: odd"}


def test_errors_to_be_raised_come_from_workers_too():
    def objective(point):
        if point["a"] == 4:
            raise OSError("disk gone")
        return 1.0

    with pytest.raises(OSError, match="disk gone"):
        minimize(objective, reraise=(OSError,))


def test_an_objective_that_always_fails_in_workers_shows_its_traceback():
    def typo(point):
        return point["missing"]

    with pytest.raises(ObjectiveError, match=r"KeyError(.|\n)*in typo"):
        minimize(typo)


def test_objectives_that_cannot_travel_are_refused():
    lock = threading.Lock()
    with pytest.raises(TypeError, match="objective: cannot be sent to a worker process"):
        minimize(lambda p: lock and p["a"])


class Unloadable:
    def __reduce__(self):
        return (int, ("not a number",))

    def __call__(self, _):
        return 1.0


def test_objectives_that_do_not_arrive_are_refused_and_nothing_is_lost():
    study = bo.Study(SPACE, method="random", seed=0)
    with pytest.raises(BostructError, match=r"could not load it(.|\n)*ValueError"):
        study.optimize(Unloadable(), 4, workers=2)
    assert [t.status for t in study.trials] == ["running"]
    assert len(study.optimize(lambda p: p["a"], 4, workers=2).trials) == 4


@pytest.mark.parametrize("workers", [1, 3])
def test_any_executor_will_do(workers):
    with ThreadPoolExecutor(3) as executor:
        result = minimize(lambda p: time.sleep(0.01) or p["a"], executor=executor, workers=workers)
    assert sorted(t.value for t in result.trials) == list(range(12))


def _fails_at_two(point):
    if point["a"] == 2:
        raise ValueError("two")
    return point["a"]


def test_exceptions_come_back_from_executors_of_processes():
    with ProcessPoolExecutor(1) as executor:
        result = minimize(_fails_at_two, executor=executor)
    assert by_point(result)[2].reason == "ValueError: two"
    assert result.n_completed == 11


class Cancelling(ThreadPoolExecutor):
    def submit(self, fn, /, *args, **kwargs):
        del fn, args, kwargs
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_what_an_executor_cancels_has_failed():
    result = minimize(lambda p: p["a"], 2, executor=Cancelling(1))
    assert [t.reason for t in result.trials] == ["cancelled by the executor"] * 2


def test_executors_and_time_outs_do_not_go_together():
    with ThreadPoolExecutor(1) as executor, pytest.raises(ValueError, match="trial_timeout"):
        minimize(lambda p: p["a"], executor=executor, trial_timeout=1.0)


def test_a_parallel_study_goes_on_from_what_happened(tmp_path):
    path = tmp_path / "runs.db"
    first = minimize(lambda p: time.sleep(0.02 * (p["a"] % 3)) or p["a"], 6, storage=path, workers=3)
    with bo.Study.load(path) as study:
        assert study.result.order == first.order
        assert study.trials == first.trials
        assert len(study.optimize(lambda p: p["a"], 12).trials) == 12


def test_progress_is_shown_on_stderr_when_asked_for(capsys):
    minimize(lambda p: p["a"] + 0.5, 4, workers=1, progress=True)
    shown = capsys.readouterr().err
    assert "4/4" in shown
    assert "best " in shown
    minimize(lambda p: p["a"], 4, workers=1)
    assert capsys.readouterr().err == ""
