"""A study on Dask: a scheduler and two workers, processes of their own that talk over TCP, and some of them killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

import bostruct as bo
from bostruct.execution.pools import ExecutorError
from bostruct.study.stopping import StoppingRule

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
SPACE = bo.Space({"a": bo.Integer(0, 19)})


class Cluster:
    """A scheduler and two workers of one thread each."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show")
        while not self.file.exists():
            time.sleep(0.05)
        self.workers = [self._start("worker", "--nthreads", "1", "--no-nanny") for _ in range(2)]

    def _start(self, kind, *more):
        command = [sys.executable, "-m", "dask", kind, "--scheduler-file", str(self.file), "--no-dashboard", *more]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, **quiet)

    def connect(self, **how):
        client = distributed.Client(scheduler_file=str(self.file), **how)
        client.wait_for_workers(2, timeout=60)
        return client

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.close()


def test_a_worker_killed_mid_run_loses_no_trial_and_finishes_none_twice(cluster, tmp_path):
    def objective(point):
        with open(tmp_path / "begun", "a") as file:
            file.write(f"{os.getpid()} {point['a']}\n")
        time.sleep(0.3)
        return point["a"]

    def kill_a_worker(study, _):
        if study.n_finished == 6:
            cluster.workers[0].send_signal(signal.SIGKILL)

    told = []
    study = bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "study.db")
    with cluster.connect() as client:
        callbacks = [kill_a_worker, lambda _, trial: told.append(trial.number)]
        study.optimize(objective, 20, executor=client.get_executor(), workers=4, callbacks=callbacks)
    study.close()
    assert sorted(told) == list(range(20))
    with bo.Study.load(tmp_path / "study.db") as stored:
        assert [t.status for t in stored.trials] == ["completed"] * 20
        assert sorted(stored.result.order) == list(range(20))
        assert [t.value for t in stored.trials] == [t.point["a"] for t in stored.trials]
    begun = [line.split() for line in (tmp_path / "begun").read_text().splitlines()]
    dead = {pid for pid, _ in begun} & {str(cluster.workers[0].pid)}
    assert dead, "the worker that was killed had no trial"
    assert 20 <= len(begun) <= 22  # what the dead worker had begun was begun again


def test_what_the_study_says_of_a_trial_holds_on_dask(cluster, tmp_path):
    def objective(point):
        if point["a"] == 3:
            with open(tmp_path / "tries", "a") as file:
                file.write("x")
        for step in range(1, 4):
            bo.report(step, point["a"])
        if point["a"] == 3:
            raise bo.Transient("try again")
        return point["a"]

    class Rule(StoppingRule):
        def judge(self, curves):
            del curves
            return lambda step, value: step == 2 and value > 15

    with cluster.connect() as client:
        how = {"executor": client.get_executor(), "workers": 2, "stopping_rule": Rule()}
        result = bo.minimize(objective, SPACE, 20, method="random", seed=0, **how)
    by_point = {t.point["a"]: t for t in result.trials}
    assert by_point[3].reason == "Transient: try again"
    assert len(by_point[3].info["failed_before"]) == 2
    assert (tmp_path / "tries").read_text() == "xxx"  # Dask answers a call that equals another by its answer
    assert {a for a, t in by_point.items() if t.info.get("stopped_at") == 2} == {16, 17, 18, 19}
    assert by_point[5].info["reports"] == [[1, 5.0], [2, 5.0], [3, 5.0]]


def test_a_scheduler_that_dies_ends_the_run_and_fails_no_trial(cluster, tmp_path):
    def objective(point):
        time.sleep(0.2)
        return point["a"]

    def kill_the_scheduler(study, _):
        if study.n_finished == 4:
            cluster.scheduler.send_signal(signal.SIGKILL)

    study = bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "study.db")
    with cluster.connect(timeout=5) as client, pytest.raises(ExecutorError, match="cannot evaluate any more"):
        study.optimize(objective, 20, executor=client.get_executor(), workers=4, callbacks=kill_the_scheduler)
    assert study.result.n_failed == 0
    assert 4 <= study.result.n_completed < 20
    assert study.optimize(lambda p: p["a"], 20).n_completed == 20
    study.close()
