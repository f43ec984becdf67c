"""What a file must be, who may write it, and what is left alone."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import bostruct as bo
from bostruct.storage import files
from bostruct.storage import sqlite as database_module
from bostruct.storage.backends import as_path
from bostruct.storage.protocol import StorageError, StorageLost, StudyMismatch
from bostruct.storage.schema import SCHEMA_VERSION
from bostruct.storage.sqlite import SqliteStorage
from tests.programs import finish, start
from tests.stored import damage, forge

SPACE = bo.Space({"a": bo.Categorical(["x", "y"]), "b": bo.Ordinal([1, 2, 4])})


def open_study(path, space=SPACE, **given):
    return bo.Study(space, **({"method": "random", "seed": 1, "storage": path, "name": "mine"} | given))


@pytest.fixture
def path(tmp_path):
    with open_study(tmp_path / "runs.db") as study:
        study.optimize(lambda p: float(p["b"]), 4)
    return tmp_path / "runs.db"


def test_one_file_is_left_and_any_sqlite_tool_reads_it(path):
    assert os.listdir(path.parent) == ["runs.db"]
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT number, status, point, value FROM trials ORDER BY number").fetchall()
    connection.close()
    assert [row[:2] for row in rows] == [(i, "completed") for i in range(4)]
    assert all(json.loads(point)[1] == value for _, _, point, value in rows)


def test_commits_are_synced_to_disk(path):
    with open_study(path) as study:
        connection = study._store._database.connection
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("persist",)


def rewritten(change):
    """Return what makes a study, and changes the bytes of its file."""

    def make(path):
        with open_study(path) as study:
            study.optimize(lambda p: float(p["b"]), 6)
        path.write_bytes(change(path.read_bytes()))

    return make


def newer(path):
    open_study(path).close()
    damage(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: damage(path, "CREATE TABLE trials (id INTEGER)"), "database of another application"),
        (lambda path: path.write_text("a,b\n1,2\n" * 100), "not a SQLite database"),
        (lambda path: path.write_bytes(b"SQLite format 3\0"), "not a SQLite database"),
        (rewritten(lambda data: data[:6000]), "damaged|malformed; restore a backup"),
        (rewritten(lambda data: data[:4096] + b"\xa5" * 4096 + data[8192:]), "damaged|malformed"),
        (newer, f"newer bostruct .schema version {SCHEMA_VERSION + 1}; this one knows up to {SCHEMA_VERSION}"),
    ],
    ids=["foreign", "text", "stub", "truncated", "scribbled", "newer"],
)
def test_what_is_not_ours_or_not_sound_is_refused_and_left_as_it_is(tmp_path, make, message):
    path = tmp_path / "file.db"
    make(path)
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StorageError, match=message) as caught:
            bo.Study.load(path, read_only=read_only)
        assert str(path) in str(caught.value)
        with pytest.raises(StorageError, match=message):
            open_study(path)
        assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["file.db"]


@pytest.mark.parametrize(
    ("step", "place", "message"),
    [
        (open_study, ".", "is a directory"),
        (open_study, "no/runs.db", "does not exist"),
        (bo.Study.load, "runs.db", "no such file"),
        (open_study, "sqlite:///runs.db", "path of a file"),
    ],
)
def test_places_where_no_file_can_be_are_refused(tmp_path, step, place, message):
    with pytest.raises(StorageError, match=message):
        step(place if ":" in place else tmp_path / place)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["new.db", "runs.db"])
def test_a_folder_to_write_nothing_in_is_refused_in_one_wording(path, name, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    says = rf"{name}: cannot be written: .* and {re.escape(str(path.parent))} is not writable: .*permission"
    with pytest.raises(StorageError, match=says):
        open_study(path.with_name(name))
    monkeypatch.setattr(files, "_is_read_only", lambda _: True)
    says = "it is on a read-only file system" + "; .*read_only=True" * (name == "runs.db")
    with pytest.raises(StorageError, match=says):
        open_study(path.with_name(name))
    assert (os.listdir(path.parent), path.read_bytes()) == (["runs.db"], before)


def test_a_tilde_is_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with open_study("~/runs.db") as study:
        assert study.where == str(tmp_path / "runs.db")
    with bo.Study.load(Path("~/runs.db"), read_only=True) as study:
        study.save("~/copy.db")
    (tmp_path / "~").mkdir()
    open_study("./~/own.db").close()
    assert sorted(os.listdir(tmp_path)) == ["copy.db", "runs.db", "~"]
    assert as_path("~nobody.db") == Path("~nobody.db")


def test_an_empty_file_becomes_a_study(file):
    file.touch()
    with pytest.raises(StorageError, match="is empty; it contains no study"):
        bo.Study.load(file, read_only=True)
    with open_study(file) as study:
        assert study.ask().number == 0


def test_a_read_only_file_is_read_with_what_a_writer_has_just_told_and_not_written(path, monkeypatch):
    # Permissions bind nobody who is root: the check that asks for them is made to answer as for others.
    with open_study(path) as study:
        study.tell(study.ask(), -7.0)
        with monkeypatch.context() as patched:
            patched.setattr(os, "access", lambda _, mode: mode != os.W_OK)
            with bo.Study.load(path, read_only=True) as reader:
                assert reader.best_value == -7.0
    before = path.read_bytes()
    path.chmod(stat.S_IRUSR)
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    with pytest.raises(StorageError, match="read-only"):
        open_study(path)
    with bo.Study.load(path, read_only=True) as study:
        assert len(study.trials) == 5
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["runs.db"]


def test_an_ask_is_on_disk_before_the_objective_sees_it(file):

    def objective(point):
        with bo.Study.load(file, read_only=True) as study:
            assert study.trials[-1].status == "running"
            assert study.trials[-1].point == point
            return float(len(study.trials))

    with open_study(file) as study:
        assert [t.value for t in study.optimize(objective, 4, reraise=(AssertionError,)).trials] == [1.0, 2.0, 3.0, 4.0]


def test_an_ask_and_a_tell_cost_one_commit_each(path):
    said = []
    with open_study(path) as study:
        study._store._database.connection.set_trace_callback(said.append)
        trial = study.ask()
        for n, step in enumerate((lambda: study.tell(trial, 1.0), lambda: study.add({"a": "x", "b": 1}, 1.0)), 1):
            assert said.count("COMMIT") == n
            step()
        assert said.count("COMMIT") == 3


def test_a_second_writer_in_this_process_shares_the_study(path):
    with open_study(path) as first:
        with open_study(path, name="another"):
            assert first.ask().number == 4
        with open_study(path) as second:
            assert second.ask().number == 5
        assert first.ask().number == 5  # given back


HOLD = """
study = bo.Study.load(sys.argv[1])
study.ask()
print("open", flush=True)
sys.stdin.read()
"""


CREATE = """
bo.Study
sys.stdin.readline()
with bo.Study({"a": range(9)}, method="random", seed=0, storage=sys.argv[1], name=sys.argv[2]) as study:
    for _ in range(5):
        study.tell(study.ask(), 1.0)
"""


def test_processes_may_make_and_fill_one_file_at_the_same_time(tmp_path):
    path = tmp_path / "runs.db"
    processes = [start(CREATE, path, f"study {i}", stdout=None) for i in range(3)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.close()
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    storage = SqliteStorage(path)
    assert [len(storage.read(row.name).trials) for row in storage.studies()] == [5, 5, 5]


def test_a_trial_of_another_process_is_its_own_until_that_dies(path):
    with start(HOLD, path) as process:
        assert process.stdout.readline() == "open\n"
        with bo.Study.load(path, read_only=True) as study:
            assert [t.status for t in study.trials] == ["completed"] * 4 + ["running"]
        with open_study(path) as study:
            study.tell(study.ask(), 1.0)
            assert study.trials[-1].number == 5
            process.kill()
            process.wait()
            assert study.ask().number == 4
    assert os.listdir(path.parent) == ["runs.db"]


def test_a_reader_changes_nothing(path):
    before = path.read_bytes()
    with bo.Study.load(path, read_only=True) as study:
        assert study.best_value == 1.0
        for attempt in (study.ask, lambda: study.tell(0, 1.0), lambda: study.add({"a": "x", "b": 1}, 1.0)):
            with pytest.raises(bo.contracts.BostructError, match="read_only=True"):
                attempt()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": 2}, "seed is 1 there and 2 here"),
        ({"direction": "maximize"}, r"goals\.directions is \['minimize'\] there and \['maximize'\] here"),
        ({"space": {"c": ["x", "y"]}}, r"domain\.variables\.a is .* there and missing here"),
        ({"initial_points": [{"a": "x", "b": 1}]}, "initial"),
        ({"method": "annealing"}, "method.* is 'RandomSearch' there|method.name"),
    ],
)
def test_another_study_of_the_same_name_is_refused_with_the_difference(path, given, message):
    with pytest.raises(StudyMismatch, match=message):
        open_study(path, **given)
    with open_study(path, seed=None) as study:  # a seed that is not said agrees
        assert study.seed == 1


def test_studies_are_listed_and_chosen_by_name(path):
    open_study(path, name="other").close()
    assert [row.name for row in SqliteStorage(path).studies()] == ["mine", "other"]
    with pytest.raises(StorageError, match="it contains 'mine', 'other'"):
        bo.Study.load(path)
    with pytest.raises(StorageError, match="there is no study 'third'"):
        bo.Study.load(path, "third")
    with bo.Study.load(path, "other") as study:
        assert study.name == "other"


def test_a_closed_study_says_so(path):
    study = open_study(path)
    study.close()
    study.close()
    with pytest.raises(bo.contracts.BostructError, match=r"is closed; Study\.load opens it again"):
        study.ask()
    assert len(study.result.trials) == 4


def test_a_trial_is_never_told_twice_whatever_memory_says(path):
    study = open_study(path)
    trial = study.ask()
    change = "UPDATE trials SET status = 'completed', value = 7.0, finished = 1.0, told = 9 WHERE number = ?"
    forge(path, change, values=(trial.number,))
    with pytest.raises(StorageLost, match="differs from what this process read or wrote at revision 9"):
        study.tell(trial, 1.0)
    assert study.trials[trial.number].value == 1.0
    with pytest.warns(UserWarning, match="was lost while study"):  # it names the file that has the value
        study.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT value FROM trials ORDER BY number DESC").fetchone() == (7.0,)


def test_choices_that_are_objects_agree_across_their_addresses(tmp_path):
    class Choice:
        pass

    for _ in range(2):
        with open_study(tmp_path / "runs.db", {"k": [Choice(), 1]}) as study:
            assert study.ask().number == 0


def test_importing_the_study_loads_no_package_that_only_some_runs_need():
    heavy = "matplotlib pandas tqdm cloudpickle threadpoolctl"
    done = finish(f"bo.Study; bo.minimize; print([m for m in {heavy!r}.split() if m in sys.modules])")
    assert done.stdout == "[]\n", done.stderr


def test_a_step_waits_for_another_process_that_was_stopped_and_says_so(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(database_module, "LONG_SECONDS", 0.5)
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "runs.db") as study:
        trial, another = study.ask(2)
        with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN EXCLUSIVE")
            timer = threading.Timer(1.5, other.execute, ("ROLLBACK",))
            timer.start()
            study.tell(trial, 1.0)
            timer.join()
            assert caplog.text.count("still waiting; another process is reading or writing it") == 1
            assert "Ctrl-Z" in caplog.text
            monkeypatch.setattr(database_module, "PATIENCE_SECONDS", 0.5)
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(StorageError, match=r"cannot be written: database is locked; .*Ctrl-Z"):
                study.tell(another, 2.0)
            with pytest.raises(StorageError, match=r"cannot be read: database is locked; .*Ctrl-Z"):
                study.sync()
            other.execute("ROLLBACK")
        assert [one.value for one in study.trials] == [1.0, None]


def fail_at_once(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def read_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[bo.Study, sqlite3.Connection]]:
    """Give a study with two running trials, and a connection that is in the middle of reading its file."""
    monkeypatch.setattr(database_module, "LONG_SECONDS", 0.2)
    before = signal.getsignal(signal.SIGALRM)
    with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "runs.db") as study:
        study.ask(2)
        with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM trials").fetchall()
            yield study, other
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
            if other.in_transaction:
                other.execute("ROLLBACK")


def test_a_step_waits_for_a_reader_that_was_stopped_and_says_so(read_study, caplog, monkeypatch):
    study, other = read_study
    timer = threading.Timer(1.0, other.execute, ("ROLLBACK",))
    timer.start()
    study.tell(0, 1.0)
    timer.join()
    assert caplog.text.count("still waiting; another process is reading or writing it") == 1
    other.execute("BEGIN")
    other.execute("SELECT * FROM trials").fetchall()
    monkeypatch.setattr(database_module, "PATIENCE_SECONDS", 0.2)
    with pytest.raises(StorageError, match=r"cannot be written: database is locked; .* reading or writing it.*Ctrl-Z"):
        study.tell(1, 2.0)
    other.execute("ROLLBACK")
    assert study.tell(1, 2.0).number == 1


def test_an_ask_that_waits_for_a_reader_is_interrupted_and_a_tell_says_that_nothing_is_written(read_study, monkeypatch):
    study, other = read_study
    signal.signal(signal.SIGALRM, fail_at_once)
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(KeyboardInterrupt):
        study.ask()
    assert time.monotonic() - began < database_module.PATIENCE_SECONDS / 2
    monkeypatch.setattr(database_module, "PATIENCE_SECONDS", 0.4)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(KeyboardInterrupt) as caught:
        study.tell(0, 1.0)
    assert any("not written" in note and "is locked" in note for note in caught.value.__notes__)
    other.execute("ROLLBACK")
    assert [trial.status for trial in study.trials] == ["running"] * 2
    assert study.ask().number == 2


@pytest.mark.parametrize("kind", ["reading", "writing"])
def test_a_study_that_is_collected_in_a_step_of_another_one_of_its_file_does_not_wait_for_it(kind, path):
    with bo.Study({"a": range(9)}, storage=path, name="another", seed=0) as another:
        another.ask()
        database = database_module.Database(path, read_only=False)
        began = time.monotonic()
        with getattr(database, kind)(), pytest.warns(UserWarning, match="this thread is in a transaction of another"):
            another.close()
        assert time.monotonic() - began < database_module.PATIENCE_SECONDS / 10
        database.close()


def test_a_signal_handler_has_no_part_in_a_step_that_waits_for_a_reader(read_study):
    study, other = read_study
    refused: list[StorageError] = []

    def tell(*_: object) -> None:
        try:
            study.tell(0, 1.0)
        except StorageError as error:
            refused.append(error)
        other.execute("ROLLBACK")

    signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    assert study.ask().number == 2
    assert "a signal handler cannot use a study during its COMMIT" in str(refused[0])
    with bo.Study.load(study.where or "", read_only=True) as seen:
        assert [trial.status for trial in seen.trials] == ["running"] * 3
