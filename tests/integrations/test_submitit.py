"""Jobs of submitit as futures, by its executor for one machine."""

from __future__ import annotations

import os
import time
from concurrent.futures import wait

import pytest

import bostruct as bo

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
SPACE = bo.Space({"a": bo.Integer(0, 5)})


@pytest.fixture
def make(tmp_path):
    submitit = pytest.importorskip("submitit", reason="the extra submitit is not installed")
    from bostruct.integrations.submitit import SubmititExecutor

    jobs = submitit.LocalExecutor(tmp_path / "logs")
    jobs.update_parameters(timeout_min=5)
    return lambda **how: SubmititExecutor(jobs, **({"poll_seconds": 0.1} | how))


def test_a_study_runs_as_jobs(make):
    def objective(point):
        bo.report(1, point["a"])
        if point["a"] == 3:
            raise ValueError("three")
        return point["a"]

    with make() as executor:
        result = bo.minimize(objective, SPACE, 6, method="random", seed=0, executor=executor, workers=3)
    assert {t.point["a"]: t.reason for t in result.trials if t.status == "failed"} == {3: "ValueError: three"}
    assert sorted(t.value for t in result.trials if t.value is not None) == [0, 1, 2, 4, 5]
    assert all(t.info["reports"] == [[1, t.point["a"]]] for t in result.trials)


def test_a_job_that_dies_is_handed_out_again(make, tmp_path, monkeypatch):
    monkeypatch.setattr("submitit.core.core.Job._results_timeout_s", 1)

    def objective(point):
        if point["a"] == 4 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), 9)
        return point["a"]

    with make() as executor:
        result = bo.minimize(objective, SPACE, 6, method="random", seed=0, executor=executor, workers=2)
    assert [t.status for t in result.trials] == ["completed"] * 6
    (lost,) = (t for t in result.trials if "failed_before" in t.info)
    assert lost.point["a"] == 4
    assert "UncompletedJobError" in lost.info["failed_before"][0]


@pytest.mark.usefixtures("default_sigint")  # by which submitit cancels on one machine
def test_a_job_that_is_canceled_ends(make, tmp_path):
    def wait_long():
        (tmp_path / "pid").write_text(str(os.getpid()))
        time.sleep(300)

    executor = make()
    future = executor.submit(wait_long)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.1)
    executor.shutdown(cancel_futures=True)
    assert future in wait([future], timeout=30).done
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(len, "")
    pid, deadline = int((tmp_path / "pid").read_text()), time.monotonic() + 30
    while time.monotonic() < deadline and os.path.exists(f"/proc/{pid}"):
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{pid}")


def test_what_is_no_executor_of_submitit_is_refused(make):
    with pytest.raises(TypeError, match="jobs: expected an executor of submitit"):
        type(make())("logs")
    with pytest.raises(ValueError, match="poll_seconds"):
        make(poll_seconds=0)
