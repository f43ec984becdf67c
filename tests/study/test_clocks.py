"""No time that anybody gives ends a run, loses a value or makes a study unreadable."""

from __future__ import annotations

import logging
import math
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import bostruct as bo
from bostruct.execution import clock
from bostruct.execution.evaluation import Evaluation
from bostruct.execution.pools import InProcessPool
from bostruct.storage.rows import TRIAL_COLUMNS, add_checksums, checksum, seal
from bostruct.study.history import Trial
from bostruct.study.result import Result
from tests.stored import damage, forge

SPACE = {"x": bo.Real(0.0, 1.0), "k": ["a", "b", "c"]}
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # importing it would cost a worker more than all it does
CLOCKS = ("time", "monotonic", "perf_counter")
WRONG: dict[str, Callable[[], Any]] = {
    "NaN": lambda: math.nan,
    "text": lambda: "noon",
    "negative": lambda: -1e6,
    "milliseconds": lambda: 1.8e12,
    "endless": lambda: math.inf,
    "an integer": lambda: 1_795_800_000,
    "nothing": lambda: None,
    "a day behind": lambda: clock.read_clock() - 2 * 86_400,
    "a day ahead": lambda: clock.read_clock() + 2 * 86_400,
}


def value_of(point: Any) -> float:
    return point["x"]


@pytest.fixture
def real_clocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the clocks back that an objective replaced."""
    kept = {name: getattr(time, name) for name in CLOCKS}
    monkeypatch.setattr(clock, "_wrong", set())
    yield
    for name, one in kept.items():
        setattr(time, name, one)


def check_study(file: Path, n_trials: int) -> None:
    """Load a study, and read all its times."""
    study = bo.Study.load(file, read_only=True)
    assert [trial.status for trial in study.trials] == ["completed"] * n_trials
    for trial in study.trials:
        assert trial.finished is not None
        assert 0.0 <= trial.started <= trial.finished <= clock.LATEST
    frame = study.result.to_dataframe()
    assert len(frame) == n_trials
    assert study.result.timing.objective >= 0.0
    assert "choosing points" in str(study.result)


@pytest.mark.usefixtures("real_clocks")
@pytest.mark.parametrize("name", CLOCKS)
@pytest.mark.parametrize("wrong", WRONG)
def test_an_objective_that_replaces_a_clock_changes_no_study(tmp_path, name, wrong, caplog):
    caplog.set_level(logging.INFO)  # for which Python reads time.time

    def objective(point: Any) -> float:
        setattr(time, name, WRONG[wrong])
        return point["x"]

    study = bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "runs.db")
    began = clock.read_clock()
    study.optimize(objective, 4)
    assert all(began <= trial.started <= clock.read_clock() for trial in study.trials)
    assert all(isinstance(trial.info["suggest_seconds"], float) for trial in study.trials)
    study.close()
    bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "later.db").close()  # its own `created`
    check_study(tmp_path / "runs.db", 4)


@pytest.mark.usefixtures("real_clocks")
def test_an_objective_in_a_thread_that_replaces_a_clock_changes_no_study(tmp_path: Path) -> None:
    def objective(point: Any) -> float:
        time.time = WRONG["text"]
        return point["x"]

    with ThreadPoolExecutor(2) as executor:
        study = bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "runs.db")
        study.optimize(objective, 6, workers=2, executor=executor)
    study.close()
    check_study(tmp_path / "runs.db", 6)


def set_worker_clock(point: Any) -> float:
    """Make the clock of this process one that is two days behind, as on a machine where that is so."""
    clock.read_clock = lambda: time.time() - 2 * 86_400
    return point["x"]


def replace_worker_clock(point: Any) -> float:
    read = clock.read_clock
    time.time = lambda: read() - 2 * 86_400
    return point["x"]


@pytest.mark.parametrize("objective", [set_worker_clock, replace_worker_clock])
def test_a_worker_whose_clock_is_days_behind_loses_nothing(tmp_path, objective, monkeypatch, caplog):
    monkeypatch.setattr(clock, "_wrong", set())
    study = bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "runs.db")
    study.optimize(objective, 6, workers=2)
    study.close()
    check_study(tmp_path / "runs.db", 6)
    noted = [record for record in caplog.records if "the clock of a worker" in record.message]
    assert len(noted) == (objective is set_worker_clock)  # once, where a clock was wrong; else the answer was right


@pytest.mark.parametrize("ended", [math.nan, math.inf, -1.0, 1.8e12, "noon", 5.0, True])
def test_a_pool_may_say_anything_of_the_end(ended: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool of a user's own, or another version of ours on another machine."""
    wait = InProcessPool.wait

    def say(pool: InProcessPool) -> list[tuple[int, Evaluation]]:
        return [(number, one._replace(ended=ended)) for number, one in wait(pool)]

    monkeypatch.setattr(InProcessPool, "wait", say)
    study = bo.Study(SPACE, method="random", seed=0)
    result = study.optimize(value_of, 3)
    assert result.n_completed == 3
    assert 0.0 <= result.timing.objective < 60.0


def test_a_clock_that_is_set_back_loses_no_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [2e9]

    def backward() -> float:
        moments[0] -= 100_000.0
        return moments[0]

    monkeypatch.setattr(clock, "read_clock", backward)
    study = bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "runs.db")
    study.optimize(value_of, 5)
    study.close()
    check_study(tmp_path / "runs.db", 5)


@pytest.mark.parametrize("moment", [2e9, -5.0, math.nan])
def test_a_clock_that_stands_still_loses_no_value(moment: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has a trial is known by when it was handed out, which is never the same time twice."""
    monkeypatch.setattr(clock, "read_clock", lambda: moment)
    study = bo.Study(SPACE, method="random", seed=0)
    first = study.ask()
    study.requeue(first)
    second = study.ask()
    assert (first.number, second.number) == (0, 0)
    assert first.started != second.started
    assert study.tell(first, 1.0).number == 0
    assert study.tell(second, 2.0).info["double_of"] == 0


UNITS = {"milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
IMPOSSIBLE = [0.0, 3.5, -1.0, 1e300, math.nan, math.inf, 10**400]


@pytest.mark.parametrize("given", [*UNITS, *IMPOSSIBLE])
def test_another_unit_is_named_and_an_impossible_time_refused(given: Any) -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    trial = study.ask()
    factor = UNITS.get(given)
    says = "finished: expected" + (rf" .* got .*; these are {given}: divide by {factor:.0f}$" if factor else "")
    with pytest.raises(ValueError, match=says):
        study.tell(trial, 1.0, finished=clock.now() * factor if factor else given)
    assert study.tell(trial, 1.0).status == "completed"  # nothing was lost


@pytest.mark.parametrize("apart", [-86_000.0, 86_000.0])  # clocks differ
def test_a_time_of_another_clock_is_kept(apart: float) -> None:
    study = bo.Study(SPACE, method="random", seed=0)
    trial = study.tell(study.ask(), 1.0, finished=clock.now() + apart)
    assert trial.seconds == pytest.approx(max(apart, 0.0), abs=60.0)


def test_a_clock_that_was_wrong_at_the_ask_refuses_no_right_time(monkeypatch: pytest.MonkeyPatch) -> None:
    study, right = bo.Study(SPACE, method="random", seed=0), clock.now()
    for wrong in (right + 1e9, right - 1e9):
        monkeypatch.setattr(clock, "read_clock", lambda moment=wrong: moment)
        trial = study.ask()
        monkeypatch.setattr(clock, "read_clock", lambda: right)
        assert study.tell(trial, 1.0, finished=right).finished == right


STORED = {
    "milliseconds": 1.8e12,
    "after the calendar": 1e300,
    "infinite": math.inf,
    "negative": -1e6,
    "text": "noon",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with bo.Study(SPACE, method="random", seed=0, storage=tmp_path / "runs.db") as study:
        study.optimize(value_of, 3)
    return tmp_path / "runs.db"


@pytest.mark.parametrize("column", ["started", "finished", "created"])
@pytest.mark.parametrize("kind", STORED)
def test_a_stored_study_with_bad_times_loads(file: Path, column: str, kind: str) -> None:
    table = "studies" if column == "created" else "trials"
    forge(file, f"UPDATE {table} SET {column} = ?", values=(STORED[kind],))
    study = bo.Study.load(file)
    frame = study.result.to_dataframe()
    assert frame["value"].notna().all()
    assert 0.0 <= study.created <= clock.LATEST
    assert math.isfinite(study.result.timing.objective)
    study.optimize(value_of, 5)  # it goes on
    study.requeue(trial := study.ask())
    assert study.ask().number == trial.number
    study.save(file.with_name("copy.db"))
    study.close()
    assert len(bo.Study.load(file.with_name("copy.db"), read_only=True).trials) == 6


TIMES = [("1795800000", 1_795_800_000.0), (1_795_800_000, 1_795_800_000.0), ("7.0", 7.0), (" 7", 7.0)]
TIMES += [(text, 12.5) for text in ("12.5", " 12.5 ", "12.5\n")]


@pytest.mark.parametrize(
    ("column", "given", "kept"),
    [("finished", math.nan, None), *[(column, *one) for column in ("started", "finished") for one in TIMES]],
)
def test_a_checksum_of_a_time_that_the_file_changed_is_known(file: Path, given: Any, kept: Any, column: str) -> None:
    """SQLite keeps NaN as NULL, and integers and digits as floats; the checksum is that of what was written."""
    forge(file, f"UPDATE trials SET {column} = ? WHERE number = 1", values=(kept,))
    with closing(sqlite3.connect(file)) as connection, connection:
        names = ", ".join(TRIAL_COLUMNS)
        (row,) = connection.execute(f"SELECT {names} FROM trials WHERE number = 1").fetchall()
        written = list(row)
        written[TRIAL_COLUMNS.index(column)] = given
        new = checksum(tuple(written))
        connection.execute("UPDATE trials SET checksum = ? WHERE number = 1", (new,))
        progress = connection.execute("SELECT study, state, told, digest, revision FROM progress").fetchone()
        digest = add_checksums(progress[3], new, -checksum(row))
        sealed = seal((*progress[:3], digest, progress[4]))
        connection.execute("UPDATE progress SET digest = ?, checksum = ?", (digest, sealed[-1]))
    with bo.Study.load(file) as study:
        assert study.trials[1].finished >= 0.0
        assert len(study.result.to_dataframe()) == 3


def test_a_damaged_time_is_still_found(file: Path) -> None:
    damage(file, "UPDATE trials SET finished = finished + 1 WHERE number = 1")
    with pytest.raises(bo.StorageError, match="damaged"):
        bo.Study.load(file)


def test_a_frame_of_trials_from_anywhere_is_made() -> None:
    trials = (Trial(0, {"x": 1}, "completed", 1.0, started=1e300, finished=-1e300),)
    frame = Result(trials, (0,), bo.Study(SPACE).goals, 0, "random", "done").to_dataframe()
    assert frame["started"].isna().all()
    assert frame["seconds"].tolist() == [0.0]
