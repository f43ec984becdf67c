"""What a user's `storage=` names, and the back ends behind it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.outcome import Outcome
from bostruct.storage.backends import as_path, open_storage
from bostruct.storage.documents import MemoryStorage
from bostruct.storage.files import OpenFile, is_open_here
from bostruct.storage.protocol import StorageError, StoredStudy, TrialRow
from bostruct.storage.reading import find_trial
from bostruct.storage.rows import Progress
from bostruct.storage.schema import TABLES, check_schema, create_tables, read_version
from bostruct.storage.sqlite import Database, SqliteStorage
from bostruct.storage.writing import Transaction, insert_study, insert_trial
from bostruct.testing.storage_laws import STUDY


def test_a_path_none_and_a_back_end_are_storages(tmp_path: Path) -> None:
    memory = MemoryStorage()
    assert open_storage(memory) is memory
    assert isinstance(open_storage(None), MemoryStorage)
    assert isinstance(open_storage(str(tmp_path / "a.db")), SqliteStorage)


NO_PATH, CONNECTION = "^storage: expected the path of a file", "a connection string"
HIDDEN, SHOWN = "whose rest may contain a password|a connection string", r"ann:\*\*\*@db"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *[(given, NO_PATH) for given in ("", 3, b"", ":memory:", "sqlite:///a.db", "a\0b")],
        ("host=db user=ann password=hunter2 dbname=runs", CONNECTION),
        ("dbname = runs password = hunter2", CONNECTION),
        ("postgresql:/ann:hunter2@db/runs", CONNECTION),
        (" postgres:ann:hunter2@db/runs", CONNECTION),
        (Path("postgresql://ann:hunter2@db/runs"), "Path made from a URL"),
        (Path("mysql://ann:hunter2@db/runs"), "Path made from a URL"),
        ("sqlite://ann:hunter2@db/runs", HIDDEN),
        ("sqlite:///ann:hunter2@db", HIDDEN),
        ("//ann:hunter2@db/runs", HIDDEN),
        (["postgresql://ann:hunter2@db/runs"], SHOWN),
        (b"postgresql://ann:hunter2@db/runs", SHOWN),
    ],
)
def test_what_names_no_place_is_refused_and_no_password_is_shown(given: Any, message: str) -> None:
    with pytest.raises(StorageError, match=message) as refused:
        as_path(given)
    assert "hunter2" not in str(refused.value)


def test_a_path_may_have_the_words_of_a_connection(tmp_path: Path) -> None:
    assert as_path(str(tmp_path / "password" / "postgres.db")) == tmp_path / "password" / "postgres.db"


def test_a_study_goes_on_in_a_back_end_of_the_users_own() -> None:
    memory = MemoryStorage()
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=memory) as study:
        study.optimize(lambda point: point["a"], 4)
        assert study.where is None
    with bo.Study.load(memory) as again:
        again.optimize(lambda point: point["a"], 9)
    with bo.Study.load(memory, read_only=True) as seen:
        assert {trial.value for trial in seen.trials} == set(range(9))


def test_all_of_an_outcome_is_carried_stored_and_copied(tmp_path: Path) -> None:
    outcome = Outcome((1.0,), cost=2.5, sd=0.1, repeats=(0.9, 1.1))
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "a.db") as study:
        study.tell(study.ask(), outcome)
        study.save(tmp_path / "b.db")
    with bo.Study.load(tmp_path / "a.db") as again:
        again.save(tmp_path / "c.db")
    for name in ("a.db", "b.db", "c.db"):
        (trial,) = SqliteStorage(tmp_path / name).read(None).trials
        assert trial.outcome == outcome
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        assert connection.execute("SELECT value FROM trials").fetchone() == (1.0,)


def test_rows_are_written_with_the_progress_that_goes_with_them() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables(connection)
        assert read_version(connection) == max(TABLES)
        check_schema(connection, Path("here"))
        progress = insert_study(connection, 1, StoredStudy(STUDY, []))
    assert progress == Progress(1, STUDY.state)


def test_changing_a_trial_moves_the_digest_by_the_difference() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables(connection)
        row = TrialRow(0, "p", "i", 1.0, 1)
        begun = insert_trial(connection, Progress(1, "{}"), row).progress
        found = find_trial(connection, 1, 0, "here")
        assert found is not None
        assert found.row == row
        told = row._replace(outcome=Outcome((1.0,)), finished=2.0, told=0)
        step = Transaction(connection, begun, "here")
        step.change(told, "running")
        after = step.finish()
        again = find_trial(connection, 1, 0, "here")
        assert again is not None
        assert after == Progress(1, "{}", 1, again.checksum, 1)
        assert find_trial(connection, 1, 5, "here") is None


def test_a_file_is_open_here_as_long_as_somebody_has_it_open(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    database = Database(path, read_only=False)
    assert is_open_here(path)
    for _ in range(2):
        database.close()
    assert not is_open_here(path)
    assert not database.is_open
    file = OpenFile(path)  # and an interrupt before anybody could close it
    assert is_open_here(path)
    del file
    assert not is_open_here(path)


def test_what_became_of_an_open_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("something")
    file = OpenFile(path)
    file.identify()
    assert file.find_change() is None
    path.write_text("")
    assert "was emptied" in str(file.find_change())
    path.rename(tmp_path / "b.db")
    assert "was removed or renamed" in str(file.find_change())
    path.write_text("another")
    assert "was replaced" in str(file.find_change())
    file.close()
