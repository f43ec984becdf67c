"""Files that are damaged, forged or no files are refused at once, in words that name study and trial."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.searchers.baselines import RandomSearch
from bostruct.storage import opening
from bostruct.storage.protocol import StorageError
from bostruct.storage.reading import read_study
from bostruct.storage.schema import SCHEMA_VERSION
from bostruct.storage.sqlite import Database
from tests.stored import damage, forge

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "runs.db"
    with bo.Study({"a": range(9), "b": bool}, method="annealing", seed=0, storage=file, name="mine") as study:
        for number in range(5):
            trial = study.ask()
            study.tell(trial, failed="rain") if number == 3 else study.tell(trial, float(number))
        study.requeue(study.ask())
    return file


def open_new(file: Any) -> bo.Study:
    return bo.Study({"a": range(9)}, method="random", seed=0, storage=file)


def check_refused(file: Path, message: str) -> None:
    before = file.read_bytes()
    for read_only in (True, False):
        with pytest.raises(StorageError, match=message) as caught:
            bo.Study.load(file, read_only=read_only)
        assert str(file) in str(caught.value) or "study 'mine' cannot be read: domain" in str(caught.value)
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == ["runs.db"]


def test_a_file_is_checked_again_only_if_somebody_wrote_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []
    connect = opening._open_database

    def follow(path: Path, mode: str) -> sqlite3.Connection:
        connection = connect(path, mode)
        connection.set_trace_callback(statements.append)
        return connection

    def count_checks() -> int:
        return sum("integrity_check" in one for one in statements)

    monkeypatch.setattr(opening, "_open_database", follow)
    monkeypatch.setattr(opening, "_sound", {})
    monkeypatch.setattr(opening, "TICK_SECONDS", -1.0)
    bo.Study.load(file).close()
    assert count_checks() == 1  # of listing the studies and of reading one
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("VACUUM")
    bo.Study.load(file).close()
    assert count_checks() == 2
    monkeypatch.setattr(opening, "TICK_SECONDS", 60.0)
    bo.Study.load(file).close()
    assert count_checks() == 4  # of a file


NOT_OURS = "does not match bostruct's schema|has no table progress"
ENDLESS = "AS WITH RECURSIVE r(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM r) SELECT n AS id FROM r"
DROP_ALL = ["DROP TABLE trials", "DROP TABLE progress", "DROP TABLE studies"]


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (
            ["UPDATE trials SET value = 9.0 WHERE number = 2"],
            "study 'mine': trial 2 is damaged: its checksum .*; restore a backup",
        ),
        (["UPDATE trials SET owner = 'x' WHERE number = 2"], "trial 2 is damaged"),
        (["UPDATE studies SET created = 1.0"], "study 'mine' is damaged"),
        (["UPDATE progress SET state = '{}'"], "study 'mine': progress is damaged"),
        (["DELETE FROM trials WHERE number = 2"], "expected 5 finished trials, found 4"),
        (["DELETE FROM trials WHERE number = 5"], "its trials differ from what was written last"),
        (["DELETE FROM progress"], "no row in the table progress; restore"),
        (
            ["UPDATE trials SET reason = CAST(x'ff41' AS TEXT) WHERE number = 3"],
            "trial 3 is damaged",
        ),
        (["CREATE TRIGGER t AFTER UPDATE ON trials BEGIN UPDATE trials SET value = -1000; END"], NOT_OURS),
        ([f"CREATE VIEW v {ENDLESS}"], NOT_OURS),
        (["CREATE TABLE notes (text TEXT)"], NOT_OURS),
        (["CREATE INDEX another ON trials (value)"], NOT_OURS),
        (["ALTER TABLE trials ADD COLUMN more TEXT"], NOT_OURS),
        (["DROP TABLE progress"], NOT_OURS),
        ([*DROP_ALL, f"CREATE VIEW studies {ENDLESS}"], "its view 'studies' does not match"),  # which is not run
    ],
)
def test_accidents_and_schemas_that_are_not_ours_are_found(file: Path, statements: list[str], message: str) -> None:
    damage(file, *statements)
    check_refused(file, message)


@pytest.mark.parametrize(
    ("table", "column", "given", "message"),
    [
        ("trials", "value", "abc", "trial 2.*values: expected a number.*; restore a backup"),
        ("trials", "value", float("inf"), "trial 2.*values: expected finite"),
        ("trials", "value", None, "trial 2 cannot be read"),
        ("trials", "value", b"\0", "trial 2 cannot be read"),
        ("trials", "status", "running", "trial 2 cannot be read"),
        ("trials", "status", "failed", "trial 2 cannot be read"),
        ("trials", "reason", "rain", "trial 2.*status: expected one that matches reason 'rain'"),
        ("trials", "outcome", "{", "trial 2 cannot be read"),
        ("trials", "outcome", '{"cost": -1.0}', "trial 2.*cost: expected finite numbers from 0"),
        ("trials", "outcome", '{"cost": true}', "trial 2.*cost: expected a number"),
        ("trials", "outcome", '{"code": "import os"}', "trial 2.*outcome: expected a JSON object of values"),
        ("trials", "outcome", DEEP, "trial 2.*nested too deeply"),
        ("trials", "number", -1, "expected an integer from 0, got -1"),
        ("trials", "number", 77, "expected trial 2, found trial 3"),
        ("trials", "told", 0, "2 trials have position 0 in the order of completion"),
        ("trials", "told", -3, "trial 2.*told: expected an integer from 0"),
        ("trials", "told", None, "trial 2.*told"),
        ("trials", "attempts", "many", "trial 2.*attempts"),
        ("trials", "owner", b"\xff", "trial 2.*owner"),
        ("trials", "started", b"\xff", "trial 2 is damaged: it contains a blob"),
        ("trials", "revision", -1, "trial 2.*revision"),
        ("trials", "point", "{", "trial 2 cannot be read"),
        ("trials", "point", DEEP, "trial 2.*nested too deeply"),
        ("trials", "point", '{"a": 1}', "trial 2 cannot be read"),
        ("trials", "info", "[]", "trial 2.*info: expected a JSON object about a trial"),
        ("trials", "info", DEEP, "trial 2.*nested too deeply"),
        ("trials", "info", '{"suggest_seconds": "1"}', "trial 2.*info"),
        ("trials", "study", 7, "a row belongs to no study"),
        ("studies", "seed", "-1", "seed: expected decimal digits"),
        ("studies", "seed", "\u0663", "seed: expected decimal digits"),
        ("studies", "name", "", "name: expected a non-empty string"),
        ("studies", "domain", DEEP, "domain: JSON that is nested too deeply"),
        ("studies", "domain", "[]", "domain: got"),
        ("studies", "domain", '{"domain": "space"}', "domain"),
        ("studies", "domain", '{"domain": "space", "variables": {"a": 3}}', "domain"),
        ("studies", "method", "{}", "method: got"),
        ("studies", "method", '{"name": 3, "searcher": "x", "settings": {}}', "method: got"),
        ("studies", "initial", "{}", "initial: got"),
        ("studies", "initial", '[{"z": 1}]', "initial"),
        ("progress", "state", "{", "state"),
        ("progress", "state", b"{}", "state: expected text"),
        ("progress", "told", -1, "told|damaged"),
    ],
)
def test_a_forged_row_is_refused_by_its_column(file: Path, table: str, column: str, given: Any, message: str) -> None:
    number = {"study": 5}.get(column, 2)
    where = f" WHERE number = {number}" if table == "trials" else ""
    forge(file, f"UPDATE {table} SET {column} = ?{where}", values=(given,))
    if (table, column) == ("progress", "told"):
        damage(file, "UPDATE progress SET told = -1")
    check_refused(file, message)


def test_a_forged_state_is_an_error_of_storage_and_not_of_the_searcher(file: Path) -> None:
    class Counting(RandomSearch):
        def initial_state(self) -> Any:
            return {"n": 0}

        def suggest(self, history: Any, state: Any, rng: Any) -> Any:
            return super().suggest(history, state, rng)._replace(state={"n": state["n"] + 1})

    def open_study() -> bo.Study:
        space = bo.Space({"a": range(9)})
        return bo.Study(space, method=Counting(space), seed=0, storage=file, name="counting")

    with open_study() as study:
        study.tell(study.ask(), 1.0)
    forge(file, "UPDATE progress SET state = '[3]'")
    with open_study() as study, pytest.raises(StorageError, match="study 'counting': Counting cannot continue from"):
        study.ask()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("pipe.db", "is not a regular file"),
        ("/dev/null", "is not a regular file"),
        ("x" * 300, "File name too long"),
        ("a\0b", "without NUL"),
        ("loop.db", "symbolic links"),
        ("loop.db/a.db", "symbolic links"),
    ],
)
def test_pipes_devices_and_names_that_cannot_be_are_refused_at_once(tmp_path: Path, place: str, message: str) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    (tmp_path / "loop.db").symlink_to(tmp_path / "loop.db")
    for step in (bo.Study.load, open_new):
        with pytest.raises(StorageError, match=message):
            step(tmp_path / place)


@pytest.mark.parametrize("ending", ["-journal", "-wal"])
def test_a_journal_that_is_a_link_is_not_followed(file: Path, ending: str) -> None:
    important = file.with_name("important.txt")
    important.write_text("important")
    file.with_name(file.name + ending).symlink_to(important)
    with pytest.raises(StorageError, match=f"runs.db{ending}: is not a regular file"):
        bo.Study.load(file)
    assert important.read_text() == "important"


def test_the_journal_may_be_removed_between_two_steps(file: Path) -> None:
    with bo.Study.load(file) as study:
        study.tell(5, 1.0)
        file.with_name("runs.db-journal").unlink()
        study.tell(study.ask(), 2.0)
    with bo.Study.load(file, read_only=True) as study:
        assert study.trials[6].value == 2.0
    assert os.listdir(file.parent) == ["runs.db"]


def test_a_plain_copy_of_an_open_study_holds_all_that_was_told(file: Path, tmp_path: Path) -> None:
    with bo.Study.load(file) as study:
        study.tell(5, 1.0)
        (tmp_path / "copy").mkdir()
        copy = tmp_path / "copy" / "runs.db"
        copy.write_bytes(file.read_bytes())
        with bo.Study.load(copy, read_only=True) as copied:
            assert copied.trials == study.trials


def test_pages_of_two_moments_are_refused(file: Path, tmp_path: Path) -> None:
    """As a copy that was made while the file was written."""
    before = file.read_bytes()
    with bo.Study.load(file) as study:
        study.tell(5, 1.0)
    after, size = file.read_bytes(), 4096
    changed = [at for at in range(size, len(before), size) if before[at : at + size] != after[at : at + size]]
    assert len(changed) >= 2
    for at in changed:
        mixed = tmp_path / f"mixed-{at}.db"
        mixed.write_bytes(before[:at] + after[at : at + size] + before[at + size :])
        with pytest.raises(StorageError, match=r"6 finished trials, found 5|5 finished trials, found 6|damaged"):
            bo.Study.load(mixed, read_only=True)


def test_a_connection_reads_what_a_study_wrote(file: Path) -> None:
    with closing(Database(file, read_only=True)) as database:
        connection = database.connection
        stored, progress, _ = read_study(connection, None, "here", SCHEMA_VERSION)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM trials")
    assert [json.loads(row.info)["origin"] for row in stored.trials] == ["initial"] * 6
    assert progress.told == 5


def test_a_name_that_is_no_text_is_a_name(tmp_path: Path) -> None:
    file = tmp_path / "runs\udcff.db"
    with bo.Study({"a": bool}, method="random", storage=file) as study:
        study.tell(study.ask(), 1.0)
    assert bo.Study.load(file, read_only=True).best_value == 1.0
    assert os.listdir(os.fsencode(tmp_path)) == [b"runs\xff.db"]


def test_no_file_is_looked_at_by_hand_while_another_thread_opens_it(file, monkeypatch):
    looks, goes_on, read_header = threading.Event(), threading.Event(), opening._read_header

    def look_slowly(path: Path, read_only: bool) -> bytes:
        looks.set()
        goes_on.wait(60)
        return read_header(path, read_only)

    def open_and_close() -> None:
        Database(file, read_only=True).close()

    monkeypatch.setattr(opening, "_read_header", look_slowly)
    with ThreadPoolExecutor(2) as executor:
        first = executor.submit(open_and_close)
        assert looks.wait(60)
        second = executor.submit(open_and_close)
        assert not wait([second], 0.2).done
        goes_on.set()
        first.result(60)
        second.result(60)


def test_a_file_that_others_hold_keeps_no_other_file_waiting(file: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as other, ThreadPoolExecutor(1) as executor:
        other.execute("BEGIN EXCLUSIVE")
        waiting = executor.submit(Database, file, read_only=False)
        wait([waiting], 0.2)
        began = time.monotonic()
        Database(tmp_path / "another.db", read_only=False).close()
        assert time.monotonic() - began < 5.0
        assert not waiting.done()
        other.execute("ROLLBACK")
        waiting.result(60).close()


@pytest.mark.parametrize("place", ["opening.create_tables", "sqlite.insert_study"])
def test_a_new_file_that_cannot_be_written_leaves_nothing(place, tmp_path, monkeypatch):
    study, saved = open_new(None), tmp_path / "saved.db"

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    def check_full(broken: str, step: Callable[[], object]) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(f"bostruct.storage.{broken}", fail)
            with pytest.raises(StorageError, match="disk is full"):
                step()

    check_full(place, lambda: open_new(tmp_path / "new.db"))
    check_full(place, lambda: study.save(saved))
    assert os.listdir(tmp_path) == []
    study.save(saved)
    check_full("sqlite.insert_study", lambda: study.save(saved, name="again"))
    assert bo.Study.load(saved, read_only=True).name == study.name
    assert os.listdir(tmp_path) == ["saved.db"]


def test_a_file_whose_maker_gives_up_while_another_opens_it_is_made_anew(tmp_path, monkeypatch):
    def prepare(*args: Any) -> None:
        before(*args)
        if makers:
            makers.pop().undo()

    makers, before = [Database(tmp_path / "new.db", read_only=False)], opening._prepare_to_write
    monkeypatch.setattr(opening, "_prepare_to_write", prepare)
    with open_new(tmp_path / "new.db") as study:
        study.tell(study.ask(), 1.0)
    assert makers == []
    with open_new(tmp_path / "new.db") as study:
        assert study.best_value == 1.0


def test_a_file_that_cannot_be_looked_at_once_it_is_open_is_refused_in_words(tmp_path, monkeypatch):
    def fail(_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(opening.OpenFile, "identify", fail)
    with pytest.raises(StorageError, match=r"new\.db: cannot be accessed: Input/output error"):
        Database(tmp_path / "new.db", read_only=False)


def test_a_new_file_that_has_a_study_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StorageError("the lock cannot be made")

    with monkeypatch.context() as patched:
        patched.setattr("bostruct.storage.sqlite.FileWriterLock", fail)
        with pytest.raises(StorageError, match="the lock cannot be made"):
            open_new(tmp_path / "new.db")
    assert os.listdir(tmp_path) == ["new.db"]
    open_new(tmp_path / "new.db").close()


def test_a_folder_that_is_gone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir("gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(StorageError):
        open_new("gone.db")
