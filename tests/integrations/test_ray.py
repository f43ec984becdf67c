"""Ray as an executor: a study on it, workers that die, calls that are canceled."""

from __future__ import annotations

import os
import time

import pytest

import bostruct as bo

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
SPACE = bo.Space({"a": bo.Integer(0, 9)})


@pytest.fixture(scope="module")
def ray():
    """A cluster of two cores in processes of its own."""
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


@pytest.fixture
def executor(ray):
    del ray
    from bostruct.integrations.ray import RayExecutor

    with RayExecutor() as executor:
        yield executor


def test_lambdas_reports_and_failures_come_back(executor):
    def objective(point):
        bo.report(1, point["a"])
        if point["a"] == 3:
            raise ValueError("three")
        return point["a"]

    result = bo.minimize(objective, SPACE, 10, method="random", seed=0, executor=executor, workers=3)
    assert {t.reason for t in result.trials} == {None, "ValueError: three"}
    assert sorted(t.value for t in result.trials if t.value is not None) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert all(t.info["reports"] == [[1, t.point["a"]]] for t in result.trials)


def test_a_worker_that_dies_costs_its_trial_a_second_try_and_no_other(executor, tmp_path):
    def objective(point):
        with (tmp_path / "log").open("a") as log:
            log.write(f"{point['a']}\n")
        if point["a"] == 4 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(1)
        return point["a"]

    result = bo.minimize(objective, SPACE, 10, method="random", seed=0, executor=executor, workers=2)
    assert [t.status for t in result.trials] == ["completed"] * 10
    assert sorted(result.order) == list(range(10))
    assert sorted(map(int, (tmp_path / "log").read_text().split())) == sorted([*range(10), 4])
    (lost,) = (t for t in result.trials if "failed_before" in t.info)
    assert lost.point["a"] == 4
    assert "WorkerCrashedError" in lost.info["failed_before"][0]


def test_a_trial_that_is_canceled_ends_and_leaves_its_core(executor):
    study = bo.Study(SPACE, method="random", seed=0)

    def cancel_the_slow_one(study, _):
        for trial in study.trials:
            if trial.status == "running" and trial.point["a"] == 7:
                study.cancel(trial)

    began = time.monotonic()
    how = {"executor": executor, "workers": 2, "callbacks": cancel_the_slow_one}
    study.optimize(lambda p: time.sleep(200 if p["a"] == 7 else 0.2) or p["a"], 10, **how)
    assert {t.point["a"]: t.reason for t in study.trials if t.status == "failed"} == {7: "canceled"}
    futures = [executor.submit(len, "ab") for _ in range(4)]
    assert [future.result() for future in futures] == [2] * 4
    assert time.monotonic() - began < 100


def test_it_is_an_executor_as_others(ray):
    del ray
    from bostruct.integrations.ray import RayExecutor

    executor = RayExecutor(num_cpus=1)
    assert executor.submit(pow, 2, exp=5).result() == 32
    assert isinstance(executor.submit(int, "x").exception(), ValueError)
    slow = [executor.submit(time.sleep, 200) for _ in range(4)]
    executor.shutdown(cancel_futures=True)
    assert all(future.cancelled() for future in slow)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(len, "")
