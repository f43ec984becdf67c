"""One file, one writer, however it is spelled and whatever is interrupted; no objective changes the space."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import bostruct as bo
from bostruct.searchers.baselines import RandomSearch
from bostruct.storage.protocol import StorageError, StudyLocked, StudyMismatch
from tests.programs import finish
from tests.stored import forge


def test_a_link_to_a_file_is_the_same_study(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    file = tmp_path / "a" / "runs.db"
    with bo.Study({"x": [1, 2, 3]}, method="random", seed=0, storage=file) as study:
        (tmp_path / "other.db").symlink_to(file)
        trials = [study.ask()]
        for spelled in (tmp_path / "b" / "runs.db", tmp_path / "other.db"):
            with bo.Study({"x": [1, 2, 3]}, method="random", seed=0, storage=spelled) as another:
                trials.append(another.ask())
                another.tell(trials[-1], 1.0)
        assert [trial.number for trial in trials] == [0, 1, 2]


def test_a_file_with_two_names_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    file, other = tmp_path / "runs.db", tmp_path / "other.db"
    with bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file) as study:
        os.link(file, other)
        with pytest.raises(StorageError, match="has 2 names"):
            bo.Study({"x": [1, 2]}, method="random", seed=0, storage=other, name="another")
        assert not list(tmp_path.glob("other.db-*"))
        study.tell(study.ask(), 1.0)
    with pytest.raises(StorageError, match="has 2 names"):
        bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file)
    other.unlink()
    with bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file) as study:
        assert study.best_value == 1.0


def test_who_may_only_read_sees_what_was_told_last_through_a_link_too(tmp_path, monkeypatch):
    file, link = tmp_path / "runs.db", tmp_path / "links" / "runs.db"
    link.parent.mkdir()
    link.symlink_to(file)
    with bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file) as study:
        study.tell(study.ask(), 1.0)
        access = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
        with bo.Study.load(link, read_only=True) as seen:
            assert seen.best_value == 1.0


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_place_without_locks_is_refused_and_nothing_stays_open(tmp_path, monkeypatch, number):
    opened = []

    def no_lock(descriptor: int, _: int) -> None:
        opened.append(descriptor)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", no_lock)
    with pytest.raises(StorageError, match=rf"runs\.db.*{os.strerror(number)}; try a local disk"):
        bo.Study({"x": [1, 2]}, method="random", seed=0, storage=tmp_path / "runs.db")
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    assert opened


def test_a_lock_without_space_for_it_is_given_back(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as full:
        full.setattr(os, "write", _no_space)
        with pytest.raises(StorageError, match="No space left on device"):
            bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file)
    bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file).close()


def _no_space(*_: Any) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.usefixtures("default_sigint")
@pytest.mark.parametrize("storage", [None, "runs.db"])
def test_an_interrupt_between_disk_and_memory_waits_for_both(tmp_path: Path, storage: str | None) -> None:
    file = None if storage is None else tmp_path / storage
    study = bo.Study({"x": [1, 2, 3]}, method="random", seed=0, storage=file)
    store = study._store
    for name in ("insert", "update", "release", "reopen"):
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
    vars(store).pop("release")  # as it was
    study.close()


@pytest.mark.usefixtures("default_sigint")
def test_a_trial_whose_ask_was_interrupted_is_handed_out_by_the_next(tmp_path: Path) -> None:
    with bo.Study({"x": [1, 2, 3]}, method="random", seed=0, storage=tmp_path / "runs.db") as study:
        for name in ("insert", "update"):  # a new trial, then the same again
            step = getattr(study._store, name)
            setattr(study._store, name, _interrupted(step))
            with pytest.raises(KeyboardInterrupt):
                study.ask()
            setattr(study._store, name, step)
            assert len(study.trials) == 1
        trial = study.ask()
        assert trial.number == 0
        assert "attempts" not in trial.info  # it was never evaluated
        assert study.ask().number == 1


def test_an_interrupt_is_what_is_seen_though_the_trials_cannot_be_given_back(file, monkeypatch):

    def objective(_: dict) -> float:
        monkeypatch.setattr(study._store, "release", fail)
        raise KeyboardInterrupt

    def fail(*_: int) -> None:
        raise StorageError("the disk is full")

    study = bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file)
    with pytest.raises(KeyboardInterrupt) as caught:
        study.optimize(objective, 2)
    notes = " ".join(caught.value.__notes__)
    assert "Trial 0 is requeued once this process has ended: the disk is full" in notes
    assert "is safe in" in notes
    with pytest.warns(UserWarning, match="its running trials could not be requeued.* the disk is full"):
        study.close()
    with bo.Study.load(file) as again:
        assert again.ask().number == 0


def test_an_interrupt_between_two_tells_loses_neither_value(monkeypatch: pytest.MonkeyPatch) -> None:
    study = bo.Study({"x": [1, 2, 3]}, method="random", seed=0)
    tell = study.tell

    def told_then_interrupted(*given: Any, **reasons: Any) -> Any:
        monkeypatch.undo()
        executor.shutdown()  # both have ended
        tell(*given, **reasons)
        raise KeyboardInterrupt

    both = Barrier(2, timeout=60)  # neither is told before both are in flight
    monkeypatch.setattr(study, "tell", told_then_interrupted)
    with ThreadPoolExecutor(2) as executor, pytest.raises(KeyboardInterrupt):
        study.optimize(lambda point: [both.wait(), point["x"]][1], 3, executor=executor, workers=2)
    assert [trial.status for trial in study.trials] == ["completed", "completed"]
    assert {trial.value for trial in study.optimize(lambda point: point["x"], 3).trials} == {1, 2, 3}


def _interrupted(step: Callable[..., Any]) -> Callable[..., Any]:
    """Ctrl-C comes when all is on disk, and nothing yet in memory."""

    def interrupted(*args: Any) -> None:
        step(*args)
        signal.raise_signal(signal.SIGINT)

    return interrupted


def test_a_forked_child_does_not_keep_the_lock(file: Path) -> None:
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


def test_a_forked_child_cannot_write_the_study_of_its_parent(tmp_path: Path) -> None:
    with bo.Study({"x": [1, 2]}, method="random", seed=0, storage=tmp_path / "runs.db") as study:
        child = os.fork()
        if child == 0:
            try:
                study.ask()
            except StorageError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert study.ask().number == 0


LEAVES_ITS_LOCK_BEHIND = """
study = bo.Study({"x": [1, 2]}, method="random", seed=0, storage=sys.argv[1])
study.ask()
lock = next(iter(study._store._lock._held.values()))
child = subprocess.Popen(["sleep", "60"], pass_fds=[lock], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(os.getpid(), child.pid, flush=True)
os._exit(0)
"""


def test_what_the_dead_left_behind_keeps_their_lock_and_is_not_called_by_their_name(file: Path) -> None:
    done = finish(LEAVES_ITS_LOCK_BEHIND, file)
    dead, keeper = (int(word) for word in done.stdout.split())
    try:
        with bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file) as study:
            assert study.ask().number == 1  # trial 0 may be evaluated there
        with pytest.raises(StudyLocked, match=f"a process that process {dead} on .* started and left behind"):
            bo.Study({"x": [1, 2, 3]}, method="random", seed=0, storage=file)
    finally:
        os.kill(keeper, signal.SIGKILL)


def made_by_an_older_version(file: Path) -> None:
    """A study whose method had a setting that is not known today, in a file of version 0.0.1."""
    bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file).close()
    forge(file, "UPDATE studies SET version = '0.0.1', method = json_set(method, '$.settings.older', 1)")


def test_a_named_method_goes_on_as_it_is_now_and_says_so(file: Path) -> None:
    made_by_an_older_version(file)
    expected = f"created by bostruct 0.0.1 with other settings of the method 'random' than in {bo.__version__}"
    with pytest.warns(UserWarning, match=re.escape(expected)), bo.Study.load(file) as study:
        assert study.ask().number == 0
    with pytest.warns(UserWarning, match="0.0.1"):
        result = bo.minimize(lambda point: point["x"], {"x": [1, 2]}, 2, method="random", storage=file)
    assert result.best_value == 1


def test_a_study_of_another_version_goes_on_and_says_that_it_may_differ(file: Path) -> None:
    bo.Study({"x": [1, 2]}, method="random", seed=0, storage=file).close()
    with bo.Study.load(file):
        pass  # of this version: nothing is said
    forge(file, "UPDATE studies SET version = '0.0.1'")
    expected = f"created by bostruct 0.0.1; it continues with {bo.__version__}, whose suggestions may"
    with pytest.warns(UserWarning, match=re.escape(expected)) as said, bo.Study.load(file) as study:
        assert study.ask().number == 0
    assert len(said) == 1
    with bo.Study.load(file, read_only=True) as study:
        assert study.version == "0.0.1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "annealing"}, "by bostruct 0.0.1, with another method"),
        ({"method": RandomSearch(bo.Space({"x": [1, 2]}))}, "by bostruct 0.0.1, with another method"),
        ({"space": {"y": [1, 2, 3]}}, "with another domain"),  # and that alone: nothing goes on
    ],
)
def test_another_method_is_refused_with_the_version_of_the_file(file: Path, given: dict, message: str) -> None:
    made_by_an_older_version(file)
    with pytest.raises(StudyMismatch, match=message):
        bo.Study(**({"space": {"x": [1, 2]}, "method": "random", "storage": file} | given))


def test_an_objective_cannot_change_the_space() -> None:
    space = bo.Space({"layers": [[64, 64], [128, 32], [8]]})

    def objective(point: dict) -> float:
        total = float(sum(point["layers"]))
        point["layers"].clear()
        return total

    result = bo.minimize(objective, space, 3, method="random", seed=0, progress=False)
    assert {trial.value for trial in result.trials} == {8.0, 128.0, 160.0}
    assert space.variables["layers"].choices == ([64, 64], [128, 32], [8])


def test_a_lock_that_is_a_symbolic_link_is_refused_and_what_it_leads_to_left_alone(tmp_path: Path) -> None:
    important = tmp_path / "important.txt"
    important.write_text("important")
    (tmp_path / "runs.db.1.lock").symlink_to(important)
    study = bo.Study({"x": [1, 2]}, method="random", seed=0, storage=tmp_path / "runs.db")
    with study, pytest.raises(StorageError, match=r"runs\.db\.1\.lock.*is a symbolic link"):
        study.ask()
    assert important.read_text() == "important"
