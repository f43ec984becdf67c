"""A file that is removed, renamed, replaced or emptied under an open study costs no value and is not kept secret."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.storage.protocol import RemoteChanges, StorageError
from tests.programs import finish

SPACE = {"a": range(30), "b": ["x", "y"]}


def open_study(file: Path | None, **given: Any) -> bo.Study:
    return bo.Study(SPACE, **({"method": "annealing", "seed": 3, "storage": file} | given))


def objective(point: dict) -> float:
    return float(point["a"]) + (point["b"] == "x") / 2


def points_and_values(study: bo.Study) -> list[tuple]:
    return [(trial.number, trial.point, trial.status, trial.value, trial.reason) for trial in study.trials]


@pytest.fixture
def uninterrupted() -> list[tuple]:
    study = open_study(None)
    study.optimize(objective, 12)
    return points_and_values(study)


def remove_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def rename(file: Path) -> None:
    file.rename(file.with_name("renamed.db"))


def remove_all(file: Path) -> None:
    for name in file.parent.glob("runs.db*"):
        name.unlink(missing_ok=True)  # a study that finds its file lost removes its locks


def replace(file: Path) -> None:
    shutil.copy(file, file.with_name("other.db"))
    os.replace(file.with_name("other.db"), file)


def replace_by_another_study(file: Path) -> None:
    remove_all(file)
    bo.Study({"z": [1, 2]}, method="random", seed=0, storage=file).close()


LOSSES: list[Callable[[Path], object]] = [
    Path.unlink,
    remove_all,
    remove_folder,
    rename,
    lambda file: file.parent.rename(file.parent.with_name("elsewhere")),
    replace,
    replace_by_another_study,
    lambda file: os.truncate(file, 0),
]
NAMES = ["rm", "rm all", "rm folder", "mv", "mv folder", "mv over", "anew", "truncate"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder" / "runs.db"


@pytest.mark.parametrize("lose", LOSSES, ids=NAMES)
def test_the_loss_is_said_and_the_value_kept_and_saved_and_the_study_goes_on(file, lose, uninterrupted):
    elsewhere = file.parent.parent / "saved.db"
    study = open_study(file)
    study.optimize(objective, 5)
    trial = study.ask()
    lose(file)
    with pytest.raises(StorageError, match=r"while the study was open.*study\.save\(path\)"):
        study.tell(trial, objective(trial.point))
    assert study.trials[5].value == objective(trial.point)
    with pytest.raises(StorageError, match="while the study was open"):
        study.ask()
    with pytest.raises(StorageError, match="while the study was open"):
        study.add({"a": 0, "b": "x"}, 1.0)
    assert len(study.trials) == 6
    assert study.where is None
    study.save(elsewhere)
    assert study.where == str(elsewhere)
    with bo.Study.load(elsewhere) as another:
        assert another.n_remote == len(study.in_flight)  # its trials are on record as its own
    study.optimize(objective, 8)
    study.close()
    with bo.Study.load(elsewhere) as again:
        again.optimize(objective, 12)
        assert points_and_values(again) == uninterrupted


@pytest.mark.parametrize("lose", [Path.unlink, remove_all])
def test_a_lost_study_may_be_saved_under_the_name_it_had(file, lose, uninterrupted):
    with open_study(file) as study:
        study.optimize(objective, 5)
        lose(file)
        with pytest.raises(StorageError, match="while the study was open"):
            study.ask()
        study.save(file)
        study.optimize(objective, 9)
    assert os.listdir(file.parent) == ["runs.db"]
    with bo.Study.load(file) as again:
        again.optimize(objective, 12)
        assert points_and_values(again) == uninterrupted


def test_whoever_takes_the_name_of_a_lost_file_is_not_disturbed(file: Path) -> None:
    study = open_study(file)
    trial = study.ask()
    remove_all(file)
    with pytest.raises(StorageError, match="was removed or renamed"):
        study.tell(trial, 1.0)
    with open_study(file) as another:
        another.optimize(objective, 4)
        study.save(file.with_name("mine.db"))
        study.close()
        another.optimize(objective, 6)
    with bo.Study.load(file) as again:
        assert len(again.trials) == 6


def test_a_new_working_directory_is_no_loss(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    with bo.Study(SPACE, method="random", seed=0, storage="runs.db") as study:
        monkeypatch.chdir("/")
        study.optimize(objective, 3)
    assert os.listdir(file.parent) == ["runs.db"]


def test_what_is_in_flight_is_waited_for_and_kept(file: Path) -> None:
    lost, started = threading.Event(), threading.Semaphore(0)
    values: list[float] = []

    def slow(point: dict) -> float:
        started.release()
        assert lost.wait(60)
        values.append(objective(point))
        return values[-1]

    def lose() -> None:
        for _ in range(3):
            assert started.acquire(timeout=60)
        remove_all(file)
        lost.set()

    study = open_study(file)
    loser = threading.Thread(target=lose)
    loser.start()
    with ThreadPoolExecutor(3) as executor, pytest.raises(StorageError, match="while the study was open"):
        study.optimize(slow, 20, executor=executor, workers=3)
    loser.join()
    assert sorted(trial.value for trial in study.trials) == sorted(values)
    assert len(values) == 3
    study.save(file)
    study.close()
    with bo.Study.load(file, read_only=True) as again:
        assert [trial.value for trial in again.trials] == [trial.value for trial in study.trials]


def test_one_call_that_loses_its_file_leaves_another(file: Path) -> None:
    calls = []

    def losing(point: dict) -> float:
        calls.append(point)
        if len(calls) == 4:
            remove_all(file)
        return objective(point)

    with pytest.warns(UserWarning, match=r"runs\.db was lost .* was saved to .*rescued"), pytest.raises(StorageError):
        bo.minimize(losing, SPACE, 10, method="random", seed=0, storage=file)
    (rescued,) = file.parent.iterdir()
    with bo.Study.load(rescued) as study:
        assert [trial.value for trial in study.trials] == [objective(point) for point in calls]
        assert [trial.status for trial in study.trials] == ["completed"] * 4


ENDS = """
study = bo.Study({"a": range(9)}, method="random", seed=0, storage=sys.argv[1])
trial = study.ask()
os.unlink(sys.argv[1])
study.tell(trial, 7.0)
"""


def test_a_script_that_ends_by_the_error_leaves_what_it_told(file: Path) -> None:
    done = finish(ENDS, file)
    assert done.returncode == 1
    assert "StorageLost" in done.stderr
    (rescued,) = file.parent.glob("runs-rescued-*.db")
    assert str(rescued) in done.stderr
    with bo.Study.load(rescued, read_only=True) as study:
        assert study.best_value == 7.0


def test_a_reader_in_the_process_of_a_writer_does_not_give_its_locks_away(file: Path) -> None:
    with open_study(file) as study:
        study.optimize(objective, 2)
        with bo.Study.load(file, read_only=True) as reader:
            assert len(reader.trials) == 2
        assert finish("print(len(bo.Study.load(sys.argv[1], read_only=True).trials))", file).stdout == "2\n"
        study.optimize(objective, 4)


def delete_study(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for table in ("trials", "changes", "progress", "studies"):
            connection.execute(f"DELETE FROM {table}")


def make_study_anew(file: Path) -> None:
    delete_study(file)
    with bo.Study({"z": range(30)}, method="annealing", seed=3, storage=file) as other:
        other.ask(6)


@pytest.mark.parametrize("lose", [delete_study, make_study_anew])
def test_a_study_that_is_deleted_from_its_file_is_lost_as_a_file_is(file: Path, lose: Callable[[Path], None]) -> None:
    study = open_study(file)
    study.optimize(objective, 5)
    trial = study.ask()
    lose(file)
    for step in (lambda: study.tell(trial, 7.0), study.ask):
        with pytest.raises(StorageError, match=r"was removed while it was open.*study\.save\(path\)"):
            step()
    study.save(file.with_name("saved.db"))
    study.close()
    with bo.Study.load(file.with_name("saved.db"), read_only=True) as saved:
        assert saved.trials[5].value == 7.0
    if lose is make_study_anew:
        with bo.Study.load(file, read_only=True) as other:
            assert [trial.value for trial in other.trials] == [None] * 6


def delete_trial(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM trials WHERE number = 2")


def read_rows(file: Path) -> list[list[tuple]]:
    """Return all rows of trials, and the progress."""
    with closing(sqlite3.connect(file)) as connection:
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in ("trials", "progress")]


def write_rows(file: Path, rows: list[list[tuple]]) -> None:
    """Put earlier rows in the place of those that are there, as a server does that lost steps."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for table, found in zip(("trials", "progress"), rows, strict=True):
            connection.execute(f"DELETE FROM {table}")
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(found[0]))})", found)


def test_a_value_that_was_lost_and_told_otherwise_is_noticed(file: Path) -> None:
    study = open_study(file, method="random")
    study.tell(study.ask(), 5.0)
    trial = study.ask()
    before = read_rows(file)
    study.tell(trial, 42.0)
    write_rows(file, before)
    with bo.Study.load(file) as other:
        other.requeue(1)
        other.tell(other.ask(), 7.0)
    study.sync()
    for step in (study.ask, lambda: study.add({"a": 0, "b": "x"}, 0.0)):
        with pytest.raises(StorageError, match="trial 1 has another value there than in this process"):
            step()
    study.save(file.with_name("saved.db"))
    study.close()
    with bo.Study.load(file.with_name("saved.db"), read_only=True) as saved:
        assert [one.value for one in saved.trials] == [5.0, 42.0]


def test_a_trial_whose_point_is_another_one_is_noticed(file: Path) -> None:
    study = open_study(file, method="random")
    trial = study.ask()
    study.add({"a": (trial.point["a"] + 1) % 30, "b": "x"}, 1.0)
    row, other = study._ledger.export().trials
    with pytest.raises(StorageError, match="trial 0 has another point there than in this process"):
        study._ledger._apply(RemoteChanges([row._replace(point=other.point)], study._ledger.state, 0))
    with pytest.warns(UserWarning, match="was lost"):
        study.close()


def test_a_rescued_study_lies_beside_its_lost_file_wherever_the_process_is_now(file, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(file.parent)
    study = open_study(Path(file.name))
    study.optimize(objective, 2)
    remove_all(file)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    with pytest.warns(UserWarning, match=r"runs\.db was lost") as warned:
        study.close()
    assert warned[0].filename == __file__
    assert len(list(file.parent.glob("runs-rescued-*.db"))) == 1


@pytest.mark.parametrize("lose", [remove_folder, rename, delete_study, delete_trial])
def test_what_was_lost_is_noticed_and_rescued_when_the_study_is_closed(file, lose, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(file.parent.parent))  # where there is no folder any more
    study = open_study(file)
    study.optimize(objective, 5)
    lose(file)
    with pytest.warns(UserWarning, match=r"runs\.db was lost .* was saved to .*rescued"):
        study.close()
    (rescued,) = (file.parent.parent if lose is remove_folder else file.parent).glob("runs-rescued-*.db")
    with bo.Study.load(rescued) as again:
        assert points_and_values(again) == points_and_values(study)
