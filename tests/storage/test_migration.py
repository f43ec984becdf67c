"""Files of schema version 1 are read as they are, and brought forward with the old file kept beside them."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import pytest

import bostruct as bo
from bostruct.goals.declared import Goals
from bostruct.storage import opening
from bostruct.storage.json_text import dump, parse
from bostruct.storage.protocol import StorageError, TrialRow
from bostruct.storage.rows import STUDY_COLUMNS, TRIAL_COLUMNS, seal
from bostruct.storage.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES, read_version
from bostruct.storage.sqlite import Database, SqliteStorage
from tests.stored import damage

SPACE = {"a": range(12), "b": ["x", "y", "z"]}


def objective(point: dict) -> float:
    if point["a"] == 5:
        raise ValueError("five")
    return float(point["a"]) + "xyz".index(point["b"]) / 4


def open_study(file: Path | None) -> bo.Study:
    return bo.Study(SPACE, method="annealing", seed=3, storage=file, name="mine")


def write_older(file: Path, version: int) -> None:
    """Turn a file of the current schema into one of an older version that has checksums."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        rows = connection.execute(f"SELECT {', '.join(STUDY_COLUMNS)} FROM studies").fetchall()
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("DROP TABLE studies")
        connection.execute(TABLES[version]["studies"])
        for row in rows:
            goals = parse(row[5])["directions"][0] if version < 4 else row[5]
            values = seal((*row[:5], goals, *row[6:]))
            connection.execute(f"INSERT INTO studies VALUES ({', '.join('?' * len(values))})", values)
        if version < 3:
            connection.execute("DROP TABLE changes")
        if version < 5:
            _undo_sharing(connection, version)
        connection.execute(f"PRAGMA user_version = {version}")


def _undo_sharing(connection: sqlite3.Connection, version: int) -> None:
    """Trials without a step, but with a lease that nothing used; progress without a count of steps."""
    names = ", ".join(TRIAL_COLUMNS)
    trials = [seal((*row[:-1], None)) for row in connection.execute(f"SELECT {names} FROM trials").fetchall()]
    study, state, told, *_ = connection.execute("SELECT * FROM progress").fetchone()
    changes = [] if version < 3 else connection.execute("SELECT checksum FROM changes").fetchall()
    digest = sum(row[-1] for row in (*trials, *changes))
    for table in ("trials", "progress"):
        connection.execute(f"DROP TABLE {table}")
        connection.execute(TABLES[version][table])
    for row in trials:
        connection.execute(f"INSERT INTO trials VALUES ({', '.join('?' * len(row))})", row)
    sealed = seal((study, state, told, (digest + 2**63) % 2**64 - 2**63))
    connection.execute("INSERT INTO progress VALUES (?, ?, ?, ?, ?)", sealed)


def write_version_1(file: Path, trials: list[TrialRow], study: bo.Study) -> None:
    """Write a study as version 0.1.0 did: a write-ahead log, and rows without checksums."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in (f"PRAGMA application_id = {APPLICATION_ID}", *TABLES[1].values(), "PRAGMA user_version = 1"):
            connection.execute(statement)
        row = study._row
        made = (row.name, row.domain, row.method, str(row.seed), study.direction, row.initial, study._ledger.state)
        connection.execute("INSERT INTO studies VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*made, 1.5e9, row.version))
        for one in trials:
            value, reason = (None, None) if one.outcome is None else (one.outcome.value, one.outcome.reason)
            columns = (1, one.number, one.status, one.point, value, reason, one.info, one.started, one.finished)
            marks = ", ".join("?" * 11)
            names = "study, number, status, point, value, reason, info, started, finished, told, attempts"
            connection.execute(f"INSERT INTO trials ({names}) VALUES ({marks})", (*columns, one.told, one.attempts))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    study = open_study(None)
    study.optimize(objective, 12)
    study.ask()
    write_version_1(tmp_path / "runs.db", study._ledger.export().trials, study)
    return tmp_path / "runs.db"


def test_reading_an_old_file_leaves_it_as_it_is(file: Path) -> None:
    before = file.read_bytes()
    with bo.Study.load(file, read_only=True) as study:
        assert [trial.status for trial in study.trials].count("running") == 1
        assert len(study.trials) == 13
    assert SqliteStorage(file).count_finished() == 12
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == ["runs.db"]


def test_an_old_study_goes_on_exactly_and_its_file_is_kept(file: Path) -> None:
    before = SqliteStorage(file).read("mine")
    with open_study(file) as study:
        study.optimize(objective, 20)
        points = [trial.point for trial in study.trials]
    uninterrupted = open_study(None)
    uninterrupted.optimize(objective, 20)
    assert points == [trial.point for trial in uninterrupted.trials]
    assert sorted(os.listdir(file.parent)) == ["runs.db", "runs.db.v1"]
    kept = SqliteStorage(file.with_name("runs.db.v1"))
    assert kept.read("mine") == before
    with closing(Database(file, read_only=True)) as database:
        assert read_version(database.connection) == SCHEMA_VERSION
    assert SqliteStorage(file).read("mine").trials[:12] == before.trials[:12]
    assert SqliteStorage(file).read("mine").study.created == 1.5e9


@pytest.mark.parametrize("version", range(2, SCHEMA_VERSION))
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_file_of_an_older_version_is_brought_forward_and_kept(tmp_path: Path, version: int, direction: str) -> None:
    file = tmp_path / "runs.db"
    with bo.Study(SPACE, method="annealing", seed=3, storage=file, name="mine", direction=direction) as study:
        study.optimize(objective, 12)
    write_older(file, version)
    before = SqliteStorage(file).read("mine")
    with bo.Study.load(file, read_only=True) as study:
        assert (len(study.trials), study.direction) == (12, direction)
    assert os.listdir(tmp_path) == ["runs.db"]
    bo.Study.load(file).close()
    assert sorted(os.listdir(tmp_path)) == ["runs.db", f"runs.db.v{version}"]
    kept = SqliteStorage(tmp_path / f"runs.db.v{version}").read("mine")
    assert SqliteStorage(file).read("mine") == before == kept
    assert kept.study.goals == dump(Goals((direction,)).to_json())


def test_no_file_that_is_there_is_overwritten(file: Path) -> None:
    file.with_name("runs.db.v1").write_text("important")
    open_study(file).close()
    assert sorted(os.listdir(file.parent)) == ["runs.db", "runs.db.v1", "runs.db.v1-2"]
    assert file.with_name("runs.db.v1").read_text() == "important"


def test_a_file_system_that_cannot_sync_folders_migrates(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sync_files_alone(descriptor: int, sync: Callable[[int], None] = os.fsync) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", sync_files_alone)
    bo.Study.load(file).close()
    assert sorted(os.listdir(file.parent)) == ["runs.db", "runs.db.v1"]


def test_a_migration_that_fails_changes_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = SqliteStorage(file).read("mine")
    with monkeypatch.context() as broken:
        broken.setattr(opening, "insert_study", _disk_full)
        with pytest.raises(StorageError, match="disk is full"):
            open_study(file)
    assert SqliteStorage(file).read("mine") == before
    with open_study(file) as study:
        assert len(study.trials) == 13


def _disk_full(*_: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE trials SET value = 'abc' WHERE number = 3", "trial 3.*values: expected"),
        ("UPDATE trials SET told = 0 WHERE value IS NOT NULL", "position 0 in the order of completion"),
        ("DELETE FROM trials WHERE number = 4", "expected trial 4, found trial 5"),
    ],
)
def test_an_old_file_that_makes_no_sense_is_refused_and_left_alone(file: Path, change: str, message: str) -> None:
    damage(file, change)
    before = file.read_bytes()
    for read_only in (True, False):
        with pytest.raises(StorageError, match=rf"runs\.db.*study 'mine'.*{message}"):
            bo.Study.load(file, read_only=read_only)
    assert os.listdir(file.parent) == ["runs.db"]
    assert len(file.read_bytes()) == len(before)


def test_a_file_that_an_old_bostruct_has_open_is_not_migrated(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bostruct.storage.opening.BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(file)) as old:
        old.execute("SELECT * FROM studies").fetchall()
        with pytest.raises(StorageError, match="locked"):
            open_study(file)
    open_study(file).close()


@pytest.mark.parametrize(
    ("version", "digest"),
    [
        (1, "9dc6ec261826f3df"),
        (2, "d9beb072e7d8d06a"),
        (3, "4a8dc31f27740777"),
        (4, "79fd055d1e7a6d17"),
        (5, "eb59c6e36c1e9a1c"),
    ],
)
def test_the_tables_of_a_released_version_never_change(version: int, digest: str) -> None:
    said = "|".join(re.sub(r"\s+", "", re.sub(r"--[^\n]*", "", table)) for table in TABLES[version].values())
    assert blake2b(said.encode(), digest_size=8).hexdigest() == digest
