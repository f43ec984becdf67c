"""What a trial costs when a long study is opened: counted in calls and bytes, which a busy machine does not change."""

from __future__ import annotations

import cProfile
import gc
import pstats
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import bostruct as bo
from benchmarks.speed.long_studies import Case, write_study
from bostruct.study.records import DeferredTrial
from tests.stored import damage, forge

CALLS = 65  # of Python and C functions for each trial of 60 variables; 69 if trials are created, 201 without batches
BYTES = 2_500  # for each trial of 60 bits; 3,750 where points, keys and texts are kept
WIDE_BYTES = 5_000  # for each trial of 1,000 bits; 33,000 where they are, 11,000 if a searcher reads them all
ON_DISK = 8_000  # bytes for each trial of 1,000 bits


def count_calls(path: Path) -> int:
    profile = cProfile.Profile()
    profile.enable()
    study = bo.Study.load(path)
    profile.disable()
    study.close()
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


def count_bytes(path: Path) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        study = bo.Study.load(path)
        study.tell(study.ask(), 1.0)  # with a method that reads no points
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    study.close()
    return size


def write(folder: Path, case: Case) -> Path:
    path = folder / f"{case.n}-{case.d}.db"
    write_study(path, case)
    bo.Study.load(path).close()  # imports
    return path


@pytest.mark.parametrize("kinds", ["bits", "mixed variables"])
def test_a_trial_is_opened_by_few_calls(tmp_path: Path, kinds: str) -> None:
    few, many = (count_calls(write(tmp_path, Case(n, 60, kinds))) for n in (200, 800))
    assert (many - few) / 600 < CALLS


def test_a_damaged_trial_far_from_the_first_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, Case(1_200, 3, "bits"))
    damage(path, "UPDATE trials SET value = 0.5 WHERE number = 1100")
    with pytest.raises(bo.StorageError, match="trial 1100 is damaged: its checksum does not match"):
        bo.Study.load(path)
    forge(path, """UPDATE trials SET info = '{"origin": 1}' WHERE number = 700""")
    with pytest.raises(bo.StorageError, match=r"trial 700 cannot be read: .*info: expected a JSON object"):
        bo.Study.load(path)
    forge(path, "UPDATE trials SET point = '[true,true]' WHERE number = 600")
    with pytest.raises(bo.StorageError, match=r"trial 600 cannot be read: .*expected 3 values, got 2"):
        bo.Study.load(path)


def test_a_completed_trial_is_created_once_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "study.db") as study:
        for a in range(5):
            study.add({"a": a}, float(a))
        study.tell(study.ask(), failed="no")
        study.ask()
        told = study.trials
    created: list[int] = []
    create = DeferredTrial.create
    monkeypatch.setattr(DeferredTrial, "create", lambda one: created.append(one.number) or create(one))
    with bo.Study.load(tmp_path / "study.db") as study:
        assert sorted(created) == [0, 5, 6]  # the incumbent, and those that may change
        with ThreadPoolExecutor(8) as pool:
            several = list(pool.map(lambda _: study.trials, range(8)))
        assert all(one is another for trials in several for one, another in zip(trials, several[0], strict=True))
        assert (several[0], sorted(created)) == (told, list(range(7)))


def test_an_opening_that_failed_leaves_no_lock(tmp_path: Path) -> None:
    path = write(tmp_path, Case(1_200, 3, "bits"))
    damage(path, "UPDATE trials SET value = 0.5 WHERE number = 10")
    with pytest.raises(bo.StorageError, match="trial 10 is damaged") as kept:
        bo.Study.load(path)
    damage(path, "UPDATE trials SET value = 0.25 WHERE number = 10")
    assert kept.tb is not None  # it is alive, and so are the variables of its frames


@pytest.mark.parametrize(("d", "limit"), [(60, BYTES), pytest.param(1_000, WIDE_BYTES, marks=pytest.mark.slow)])
def test_a_trial_is_kept_in_few_bytes(tmp_path: Path, d: int, limit: int) -> None:
    few, many = (count_bytes(write(tmp_path, Case(n, d, "bits"))) for n in (50, 250))
    assert (many - few) / 200 < limit


def test_a_trial_takes_few_bytes_on_disk(tmp_path: Path) -> None:
    few, many = (write(tmp_path, Case(n, 1_000, "bits")).stat().st_size for n in (100, 300))
    assert (many - few) / 200 < ON_DISK


def test_the_best_trial_and_what_a_searcher_sees_cost_the_same_however_long_a_study_is(monkeypatch):
    study = bo.Study({"a": range(9)}, method="random", seed=0)
    for a in range(9):
        study.add({"a": a}, float((a - 4) ** 2))
    before = study._ledger.history()
    assert np.shares_memory(study._ledger.history().values, before.values)  # nothing is copied
    assert study.best_trial is study.result.best_trial
    monkeypatch.setattr(bo.Study, "result", None)
    assert (study.best_trial.number, study.best_value, study.best_point) == (4, 0.0, {"a": 4})
