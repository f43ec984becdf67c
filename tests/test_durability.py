"""One file, one writer, however it is spelled; and what an objective raises or changes stays its own affair."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import threadpoolctl

import bostruct as bo
from bostruct.locks import StudyLocked
from bostruct.storage import StorageError
from bostruct.threads import ThreadLimit


def test_a_link_to_a_file_is_the_same_study(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    file = tmp_path / "a" / "runs.db"
    with bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file):
        (tmp_path / "other.db").symlink_to(file)
        for spelled in (tmp_path / "b" / "runs.db", tmp_path / "other.db"):
            with pytest.raises(StudyLocked):
                bo.Study({"x": [1, 2]}, method="random", seed=0, storage=spelled)


def test_a_file_with_two_names_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file).close()
    os.link(file, tmp_path / "other.db")
    with pytest.raises(StorageError, match="has 2 names"):
        bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file)


@pytest.mark.parametrize("storage", [None, "runs.db"])
def test_an_interrupt_between_disk_and_memory_waits_for_both(tmp_path: Path, storage: str | None) -> None:
    file = None if storage is None else tmp_path / storage
    study = bo.Study({"x": [1, 2, 3]}, method="random", seed=0, storage=file)
    store = study._store
    for name in ("insert", "update", "take_back", "reopen"):
        setattr(store, name, _interrupted(getattr(store, name)))
    with pytest.raises(KeyboardInterrupt):
        study.ask()
    with pytest.raises(KeyboardInterrupt):
        study.tell(0, 5.0)
    with pytest.raises(KeyboardInterrupt):
        study.ask()
    with pytest.raises(KeyboardInterrupt):
        study.tell(1, failed="x")
    with pytest.raises(KeyboardInterrupt):
        study.requeue(1)
    with pytest.raises(KeyboardInterrupt):
        study.ask()
    assert [trial.status for trial in study.trials] == ["completed", "running"]
    assert study.best_value == 5.0
    if file is not None:
        with bo.Study.load(file, read_only=True) as stored:
            assert stored.trials == study.trials
    vars(store).pop("take_back")  # as it was
    study.close()


def _interrupted(step: Callable[..., Any]) -> Callable[..., Any]:
    """Ctrl-C comes when all is on disk, and nothing yet in memory."""

    def interrupted(*args: Any) -> None:
        step(*args)
        signal.raise_signal(signal.SIGINT)

    return interrupted


def test_limits_of_threads_that_overlap_are_taken_back() -> None:
    pools = threadpoolctl.ThreadpoolController()
    before = [pool["num_threads"] for pool in pools.info()]
    first, second = ThreadLimit(1)(), ThreadLimit(1)()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert all(pool["num_threads"] == 1 for pool in pools.info())
    second.__exit__(None, None, None)
    assert [pool["num_threads"] for pool in pools.info()] == before


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    study = bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)  # lives until the parent has opened the study again
        os._exit(0)
    study.close()
    with bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file) as again:
        assert again.ask().number == 0
    os.close(writing)
    os.waitpid(child, 0)


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


def test_an_objective_cannot_change_the_space() -> None:
    space = bo.Space({"layers": [[64, 64], [128, 32], [8]]})

    def objective(point: dict) -> float:
        total = float(sum(point["layers"]))
        point["layers"].clear()
        return total

    result = bo.minimize(objective, space, 3, method="random", seed=0, progress=False)
    assert sorted(trial.value for trial in result.trials) == [8.0, 128.0, 160.0]
    assert space.variables["layers"].choices == ([64, 64], [128, 32], [8])
