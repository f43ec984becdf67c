"""Objectives in processes: what one of them does to itself costs its own trial and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import cloudpickle
import pytest

import bostruct as bo
from bostruct.contracts import BostructError
from bostruct.execution.pools import ExecutorError
from bostruct.study.loop import ObjectiveError
from tests.programs import has_ended, start

SPACE = bo.Space({"a": bo.Integer(0, 11)})
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # importing it would cost a worker more than all it does


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr("bostruct.execution.pools.PAUSE_SECONDS", 0.01)


def minimize(objective, n_trials=12, **how):
    return bo.minimize(objective, SPACE, n_trials, **({"method": "random", "seed": 0, "workers": 2} | how))


def by_point(result):
    return {t.point["a"]: t for t in result.trials}


def test_lambdas_and_closures_run_in_other_processes():
    factor = 2.0
    with ProcessPoolExecutor(1) as executor:
        for given in ({}, {"executor": executor}):
            result = minimize(lambda p: factor * p["a"], **given)
            assert {a: t.value for a, t in by_point(result).items()} == {a: 2.0 * a for a in range(12)}
    here = os.getpid()
    assert minimize(lambda _: float(os.getpid()), 2).best_value != here
    assert minimize(lambda _: float(os.getpid()), 2, workers=1).best_value == here


def arrive_and_wait(folder, name, others):
    """Returns 1.0 once so many others have been here, 0.0 after half a minute without them."""
    (folder / str(name)).touch()
    for _ in range(3000):
        if len(list(folder.iterdir())) > others:
            return 1.0
        time.sleep(0.01)
    return 0.0


def test_workers_run_at_the_same_time(tmp_path):
    result = minimize(lambda p: arrive_and_wait(tmp_path, p["a"], 2), 3, workers=3)
    assert [t.value for t in result.trials] == [1.0, 1.0, 1.0]


def test_a_slow_trial_does_not_hold_up_the_others(tmp_path):
    result = minimize(lambda p: arrive_and_wait(tmp_path, p["a"], 11 if p["a"] == 3 else 0))
    assert [t.value for t in result.trials] == [1.0] * 12


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
    result = minimize(objective, trial_timeout=1.5)
    reasons = {a: t.reason for a, t in by_point(result).items() if t.status != "completed"}
    assert reasons == {
        1: "its worker process died (exit code 3)",
        2: "its worker process died (signal SIGSEGV)",
        3: "timed out after 1.5 s",
        4: "objective returned nan",
        5: "ValueError: five",
        6: "six",
        7: "SystemExit: 4",
    }
    assert {t.value for t in result.trials if t.status == "completed"} == {0.0, 8.0, 9.0, 10.0, 11.0}
    assert time.monotonic() - began < 50


def test_a_time_out_needs_no_second_worker_and_spares_quick_trials():
    result = minimize(lambda p: time.sleep(30 * (p["a"] == 0)) or 1.0, workers=1, trial_timeout=1.0)
    assert [t.point["a"] for t in result.trials if t.status == "failed"] == [0]


def test_a_time_out_ends_what_the_objective_started(tmp_path):
    def objective(_):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        (tmp_path / "pid").write_text(str(child.pid))
        return float(child.wait())

    assert minimize(objective, 1, workers=1, trial_timeout=1.0).n_failed == 1
    assert has_ended(int((tmp_path / "pid").read_text()))


def test_a_worker_that_died_idle_costs_no_trial():
    alive = []

    def kill_it(_, trial):
        if trial.number == 0:
            alive.append(int(trial.value))
            os.kill(alive[0], 9)
            os.waitid(os.P_PID, alive[0], os.WEXITED | os.WNOWAIT)  # with all its threads

    result = minimize(lambda _: os.getpid(), 3, workers=1, trial_timeout=30.0, callbacks=[kill_it])
    assert [t.status for t in result.trials] == ["completed"] * 3
    assert alive[0] not in {int(t.value) for t in result.trials[1:]}


def test_workers_end_with_the_study():
    pids = {int(t.value) for t in minimize(lambda _: os.getpid(), 6).trials if t.value is not None}
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


ORPHANED = """
def objective(point):
    print(os.getpid(), flush=True)
    time.sleep(60)
bo.minimize(objective, {"a": range(8)}, 8, method="random", workers=1, trial_timeout=50.0)
"""


def test_workers_do_not_outlive_a_study_that_is_killed():
    with start(ORPHANED) as process:
        worker = int(process.stdout.readline())
        process.kill()
        process.wait()
    assert has_ended(worker)


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


class Unloadable:
    def __reduce__(self):
        return (int, ("not a number",))

    def __call__(self, _):
        return 1.0


def test_objectives_that_do_not_arrive_are_refused_and_nothing_is_lost():
    study = bo.Study(SPACE, method="random", seed=0)
    with pytest.raises(BostructError, match=r"could not load it(.|\n)*ValueError"):
        study.optimize(Unloadable(), 4, workers=2)
    assert [t.status for t in study.trials] == ["running"] * 2
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


def _dies_at_two(point):
    if point["a"] == 2:
        os._exit(3)
    return point["a"]


LOCK = threading.Lock()


@pytest.mark.parametrize(
    ("make", "objective", "message"),
    [
        pytest.param(Cancelling, lambda p: p["a"], "CancelledError", id="canceled"),
        pytest.param(ProcessPoolExecutor, lambda p: LOCK and p["a"], "objective: cannot be sent", id="not sent"),
        pytest.param(ProcessPoolExecutor, Unloadable(), r"cannot load it:(.|\n)*not a number", id="not loaded"),
    ],
)
def test_what_an_executor_does_not_evaluate_is_given_back(make, objective, message):
    study = bo.Study(SPACE, method="random", seed=0)
    with make(2) as executor, pytest.raises(ExecutorError, match=message):
        study.optimize(objective, 12, executor=executor, workers=2)
    assert [trial.status for trial in study.trials] == ["running"] * 2
    assert study.optimize(lambda p: p["a"], 12).n_completed == 12


def test_a_broken_executor_ends_the_run_and_fails_no_trial():
    study = bo.Study(SPACE, method="random", seed=0)
    with ProcessPoolExecutor(2) as executor, pytest.raises(ExecutorError, match="requeued"):
        study.optimize(_dies_at_two, 12, executor=executor, workers=2)
    assert not study.result.n_failed
    assert study.optimize(lambda p: p["a"], 12).n_completed == 12


class Losing(ThreadPoolExecutor):
    """Loses the calls that a function of their count says, from 0, with an error of its own."""

    def __init__(self, loses):
        super().__init__(1)
        self.calls = 0
        self._loses = loses

    def submit(self, fn, /, *args, **kwargs):
        self.calls += 1
        if not self._loses(self.calls - 1):
            return super().submit(fn, *args, **kwargs)
        future = Future()
        future.set_exception(RuntimeError("the node went away"))
        return future


@pytest.mark.parametrize("workers", [1, 3])
def test_a_trial_that_an_executor_loses_is_handed_out_again(workers):
    with Losing(lambda call: call % 3 == 0) as executor:
        result = minimize(lambda p: p["a"], executor=executor, workers=workers)
    assert [t.status for t in result.trials] == ["completed"] * 12
    assert len(result.order) == 12
    lost = [t for t in result.trials if "failed_before" in t.info]
    assert lost
    assert {why for t in lost for why in t.info["failed_before"]} == {
        "its executor lost it (RuntimeError: the node went away)"
    }


def test_a_point_that_ends_its_worker_each_time_fails_alone():
    class Killed(ThreadPoolExecutor):
        def submit(self, fn, /, task, *more):
            if getattr(task, "_point", None) != {"a": 4}:
                return super().submit(fn, task, *more)
            future = Future()
            future.set_exception(OSError("worker killed"))
            return future

    with Killed(2) as executor:
        result = minimize(lambda p: p["a"], executor=executor)
    assert {t.point["a"]: t.reason for t in result.trials if t.status == "failed"} == {
        4: "its executor lost it (OSError: worker killed)"
    }
    assert result.n_completed == 11


def test_an_executor_that_evaluates_nothing_any_more_ends_the_run_and_fails_no_trial():
    study = bo.Study(SPACE, method="random", seed=0)
    with Losing(lambda call: call >= 5) as executor, pytest.raises(ExecutorError, match="the node went away"):
        study.optimize(lambda p: p["a"], 12, executor=executor, workers=2)
    assert executor.calls < 5 + 2 * 4
    assert (study.result.n_completed, study.result.n_failed) == (5, 0)
    assert study.optimize(lambda p: p["a"], 12).n_completed == 12


def test_what_is_in_flight_when_an_executor_shuts_down_is_waited_for():
    study = bo.Study(SPACE, method="random", seed=0)
    with ThreadPoolExecutor(3) as executor, pytest.raises(ExecutorError, match="shutdown"):
        study.optimize(
            lambda p: time.sleep(0.05) or p["a"],
            12,
            executor=executor,
            workers=3,
            callbacks=lambda *_: executor.shutdown(wait=False),
        )
    assert study.result.n_completed == 3


class SlowToLoad:
    def __call__(self, point):
        return point["a"]

    def __reduce__(self):
        return time.sleep, (60,)


def test_an_objective_that_does_not_load_is_not_waited_for():
    with pytest.raises(
        BostructError, match=r"3 worker processes were tried .* did not load it in 0\.5 s \(load_timeout"
    ):
        minimize(SlowToLoad(), 2, workers=1, trial_timeout=0.2, load_timeout=0.5)


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
