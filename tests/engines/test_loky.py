"""A study on a pool of loky, which a worker that dies breaks, and which the next call replaces."""

from __future__ import annotations

import os

import pytest

import bostruct as bo
from bostruct.execution.pools import ExecutorError

loky = pytest.importorskip("loky", reason="the extra loky is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_a_worker_that_dies_ends_the_run_and_the_same_call_goes_on(tmp_path):
    def objective(point):
        if point["a"] == 4 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(1)
        return point["a"]

    study = bo.Study({"a": bo.Integer(0, 9)}, method="random", seed=0)
    with pytest.raises(ExecutorError, match="TerminatedWorkerError"):
        study.optimize(objective, 10, executor=loky.get_reusable_executor(2), workers=2)
    assert study.result.n_failed == 0
    assert not any("retries" in t.info for t in study.trials)
    study.optimize(objective, 10, executor=loky.get_reusable_executor(2), workers=2)
    assert study.result.n_completed == 10
