"""Studies written to other files go on there as they would have gone on where they were."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import bostruct as bo
from bostruct.cli import main
from bostruct.storage.protocol import LONGEST_NAME, NameTooLong, StorageError, TrialRow
from bostruct.storage.sqlite import SqliteStorage, SqliteWriter
from bostruct.storage.writing import Transaction
from bostruct.study.saving import copy_file
from tests.programs import start

SPACE = {"a": range(12), "b": ["x", "y", "z"], "c": bool}


def open_study(file: Path | None, **given: Any) -> bo.Study:
    return bo.Study(SPACE, **({"method": "annealing", "seed": 3, "storage": file} | given))


def objective(point: dict) -> float:
    if point["a"] == 5:
        raise bo.Infeasible("five")
    return float(point["a"]) + "xyz".index(point["b"]) / 4


def what_happened(study: bo.Study) -> tuple:
    """All but clocks."""
    trials = [
        replace(t, info={k: v for k, v in t.info.items() if k != "suggest_seconds"}, started=0.0, finished=None)
        for t in study.trials
    ]
    return trials, study.result.order, study._ledger.state


@pytest.mark.parametrize("storage", [None, "runs.db"])
@pytest.mark.parametrize("cut", [0, 1, 6])
@pytest.mark.parametrize("running", [False, True])
def test_a_saved_study_goes_on_as_the_study_itself(tmp_path, storage, cut, running):
    first = [{"a": 1, "b": "y", "c": True}, {"a": 5, "b": "x", "c": True}]
    with open_study(None if storage is None else tmp_path / storage, initial_points=first) as study:
        study.add({"a": 3, "b": "z", "c": False}, 2.0)
        study.optimize(objective, cut)
        if running:
            study.ask()
        where = study.where
        study.save(tmp_path / "saved.db")
        assert study.where == where  # it stays where it is
        if running:
            study.requeue(len(study.trials) - 1)  # as the saved one hands it out again
        study.optimize(objective, 14)
        expected = what_happened(study)
    with bo.Study.load(tmp_path / "saved.db") as saved:
        assert len(saved.trials) == 1 + cut + running
        saved.optimize(objective, 14)
        assert what_happened(saved) == expected
    assert sorted(os.listdir(tmp_path)) == sorted({"saved.db", storage or "saved.db"})


def test_a_saved_study_keeps_clocks_name_direction_and_method(tmp_path: Path) -> None:
    study = open_study(None, name="mine", direction="maximize", seed=2**70)
    study.optimize(objective, 5)
    study.save(tmp_path / "saved.db")
    with bo.Study.load(tmp_path / "saved.db") as saved:
        assert saved.trials == study.trials
        assert (saved.name, saved.direction, saved.seed) == ("mine", "maximize", 2**70)
        assert saved.result.method == "annealing"


def test_what_was_requeued_stays_in_its_place(tmp_path: Path) -> None:
    study = open_study(None)
    for number in range(4):
        study.tell(study.ask(), failed="rain") if number == 1 else study.tell(study.ask(), float(number))
    study.requeue(1)
    study.save(tmp_path / "saved.db")
    with bo.Study.load(tmp_path / "saved.db") as saved:
        assert saved.result.order == study.result.order == (0, 2, 3)
        assert saved.ask() == replace(study.ask(), started=saved.trials[1].started)


def test_a_file_takes_studies_of_other_names_and_refuses_that_of_the_same(tmp_path: Path) -> None:
    file = tmp_path / "saved.db"
    one, two = open_study(None, name="one"), open_study(None, name="two", seed=9)
    one.optimize(objective, 3)
    two.optimize(objective, 4)
    one.save(file)
    two.save(file)
    assert [row.name for row in SqliteStorage(file).studies()] == ["one", "two"]
    one.optimize(objective, 5)
    with pytest.raises(StorageError, match=r"saved\.db: already contains a study 'one'"):
        one.save(file)
    with bo.Study.load(file, "one") as kept:
        assert len(kept.trials) == 3
    with open_study(tmp_path / "own.db") as own, pytest.raises(StorageError, match="already contains a study 'study'"):
        own.save(tmp_path / "own.db")


def test_a_study_is_saved_under_another_name_beside_itself(tmp_path: Path) -> None:
    file = tmp_path / "own.db"
    with open_study(file) as own:
        own.optimize(objective, 3)
        own.save(file, name="branch")
        assert own.name == "study"
        with pytest.raises(StorageError, match="already contains a study 'branch'"):
            own.save(file, name="branch")
        for wrong in ("", 3):
            with pytest.raises(ValueError, match="name: expected a non-empty string"):
                own.save(tmp_path / "never.db", name=wrong)  # type: ignore[arg-type]
        with bo.Study.load(file, "branch") as branch:
            assert (branch.name, branch.trials) == ("branch", own.trials)
            assert branch.ask().point == own.ask().point
    assert os.listdir(tmp_path) == ["own.db"]


def test_a_study_whose_file_was_lost_goes_on_under_the_name_that_it_is_saved_by(tmp_path: Path) -> None:
    with open_study(tmp_path / "own.db") as study:
        study.optimize(objective, 3)
        os.unlink(tmp_path / "own.db")
        with pytest.raises(StorageError):
            study.ask()
        study.save(tmp_path / "new.db", name="again")
        assert (study.name, study.where) == ("again", str(tmp_path / "new.db"))
        study.optimize(objective, 5)
        assert study.result.recommended.trial.number in range(5)
    with bo.Study.load(tmp_path / "new.db", "again") as again:
        assert again.n_finished == 5


def test_closed_studies_and_readers_are_saved_too(tmp_path: Path) -> None:
    with open_study(tmp_path / "runs.db") as study:
        study.optimize(objective, 3)
        with bo.Study.load(tmp_path / "runs.db", read_only=True) as reader:
            reader.save(tmp_path / "a.db")
    study.save(tmp_path / "b.db")
    for name in ("a.db", "b.db"):
        with bo.Study.load(tmp_path / name) as saved:
            assert saved.trials == study.trials
    assert sorted(os.listdir(tmp_path)) == ["a.db", "b.db", "runs.db"]


def test_a_space_that_a_reader_cannot_rebuild_is_saved_as_it_is_stored(tmp_path: Path) -> None:
    space = bo.Space({"a": bo.Integer(0, 9)}, constraints=[lambda p: p["a"] < 8])
    with bo.Study(space, method="random", seed=0, storage=tmp_path / "runs.db") as study:
        study.optimize(lambda p: p["a"], 4)
        with bo.Study.load(tmp_path / "runs.db", read_only=True) as reader:
            reader.save(tmp_path / "saved.db")
        with bo.Study.load(tmp_path / "saved.db", space=space) as saved:
            assert saved.ask().point == study.ask().point


@pytest.mark.parametrize("path", [None, 3])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(TypeError, match=rf"^path: expected the path of a file, got {path}$"):
        open_study(None).save(path)


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(StorageError, match="expected the path of a file"):
        open_study(None).save("")


WRITES = """
study = bo.Study({"a": range(12), "b": ["x", "y", "z"], "c": bool}, method="annealing", seed=3, storage=sys.argv[1])
for _ in range(20):
    trial = study.ask()
    study.tell(trial, float(trial.point["a"]))
study._store._database.connection.execute("BEGIN IMMEDIATE")
print("written", flush=True)
sys.stdin.read()
"""


def test_a_copy_of_a_running_study_holds_all_that_was_told(tmp_path: Path) -> None:
    file, copy = tmp_path / "runs.db", tmp_path / "copy.db"
    with start(WRITES, file) as process:
        assert process.stdout.readline() == "written\n"  # and in the middle of a transaction
        shown = CliRunner().invoke(main, ["copy", str(file), str(copy), "--json"])
        process.kill()
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout) == {"file": str(file), "copy": str(copy), "studies": ["study"]}
    assert not list(tmp_path.glob("copy.db-*"))
    uninterrupted = open_study(None)
    for study in (uninterrupted, bo.Study.load(copy)):
        with study:
            study.optimize(lambda point: float(point["a"]), 25)
            assert [trial.point for trial in study.trials] == [trial.point for trial in uninterrupted.trials]
    assert not list(tmp_path.glob("copy.db-*"))


def test_a_copy_takes_nobodys_place_and_is_made_of_studies_only(tmp_path: Path) -> None:
    file, notes = tmp_path / "runs.db", tmp_path / "notes.txt"
    with open_study(file, name="a b"):
        pass
    notes.write_text("important")
    invoke = CliRunner().invoke
    for source, target, message, code in [
        (file, notes, "exists already", 3),
        (file, file, "exists already", 3),
        (notes, tmp_path / "new.db", "not a SQLite database", 3),
        (tmp_path / "none.db", tmp_path / "new.db", "no such file", 3),
        (file, tmp_path / "no" / "new.db", "does not exist", 2),
    ]:
        refused = invoke(main, ["copy", str(source), str(target)])
        assert refused.exit_code == code, refused.output
        assert message in refused.stderr
    assert notes.read_text() == "important"
    (tmp_path / "link.db").symlink_to(tmp_path / "target.db")
    with pytest.raises(StorageError, match="exists already"):
        copy_file(file, tmp_path / "link.db")
    assert "contains 'a b'" in invoke(main, ["copy", str(file), str(tmp_path / "new.db")]).stdout
    assert sorted(os.listdir(tmp_path)) == ["link.db", "new.db", "notes.txt", "runs.db"]


def test_a_file_without_studies_is_not_copied(file: Path) -> None:
    open_study(file).close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM progress")
        connection.execute("DELETE FROM studies")
    with pytest.raises(StorageError, match="holds no study"):
        copy_file(file, file.with_name("copy.db"))
    assert os.listdir(file.parent) == ["runs.db"]


def test_closing_waits_for_what_another_thread_is_telling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, change = threading.Event(), Transaction.change

    def change_slowly(step: Transaction, row: TrialRow, status: str) -> None:
        change(step, row, status)
        begun.set()
        time.sleep(0.3)

    study = open_study(tmp_path / "runs.db")
    trials = study.ask(4)
    monkeypatch.setattr(Transaction, "change", change_slowly)
    with ThreadPoolExecutor() as threads:
        told = threads.submit(study.tell, trials[0], 1.0)
        begun.wait()
        study.close()
        assert told.result().value == 1.0
    with pytest.raises(bo.BostructError, match="is closed"):
        study.tell(trials[1], 1.0)
    with bo.Study.load(tmp_path / "runs.db") as again:
        assert [trial.value for trial in again.trials] == [1.0, None, None, None]
        assert again.n_waiting == 3


def test_a_close_that_is_interrupted_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    study = bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "runs.db")
    study.ask()
    with monkeypatch.context() as patched:
        patched.setattr(SqliteWriter, "check_place", interrupt)
        with pytest.raises(KeyboardInterrupt):
            study.close()
    with bo.Study.load(tmp_path / "runs.db") as other:
        assert other.n_waiting == 1


LONG = "é" * 600


def make_long_named(file: Path) -> None:
    """Write a study as an earlier version could, which had no limit on names."""
    with bo.Study({"a": range(9)}, method="random", seed=0) as study:
        study.tell(study.ask(), 1.0)
        SqliteStorage(file).save(study._ledger.export(LONG)).close()


@pytest.mark.parametrize("storage", [None, "runs.db"])
def test_a_new_name_has_one_limit_everywhere(tmp_path: Path, storage: str | None) -> None:
    file = None if storage is None else tmp_path / storage
    with open_study(file, name="\N{GRINNING FACE}" * LONGEST_NAME) as study:
        refused = rf"name: expected at most {LONGEST_NAME} characters, got {LONGEST_NAME + 1}: 'xxx"
        with pytest.raises(NameTooLong, match=refused):
            open_study(file, name="x" * (LONGEST_NAME + 1))
        with pytest.raises(ValueError, match=refused):
            study.save(tmp_path / "b.db", name="x" * (LONGEST_NAME + 1))
    assert not (tmp_path / "b.db").exists()


def test_a_longer_name_of_an_earlier_version_is_still_known(tmp_path: Path) -> None:
    make_long_named(tmp_path / "a.db")
    with bo.Study.load(tmp_path / "a.db") as study:
        study.tell(study.ask(), 2.0)
        study.save(tmp_path / "b.db")
        study.save(tmp_path / "c.db", name=LONG)
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "b.db", name=LONG) as study:
        assert len(study.trials) == 2
    copy_file(tmp_path / "c.db", tmp_path / "d.db")
    assert len(bo.Study.load(tmp_path / "d.db", LONG, read_only=True).trials) == 2
