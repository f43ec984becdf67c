"""Writers side by side: who is there, who has gone, and who decides."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

import bostruct as bo
from bostruct.storage import locks
from bostruct.storage.locks import FileWriterLock
from bostruct.storage.protocol import StorageError, StudyLocked
from tests.programs import start


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs [1].db"


def test_a_seat_leaves_nothing_behind(file: Path) -> None:
    first, second = FileWriterLock(file, 1, "study"), FileWriterLock(file, 1, "study")
    with first.ask_lock():
        assert len(os.listdir(file.parent)) == 3
    assert first.owner != second.owner
    assert not first.is_gone(second.owner)
    second.leave()
    assert first.is_gone(second.owner)
    first.leave()
    first.leave()
    assert os.listdir(file.parent) == []


def test_others_are_found_but_not_those_of_another_study_or_file(file: Path) -> None:
    seat = FileWriterLock(file, 1, "study")
    others = [FileWriterLock(file, 2, "another"), FileWriterLock(file.with_name("other.db"), 1, "study")]
    assert seat.find_other() is None
    others.append(FileWriterLock(file, 1, "study"))
    assert f"process {os.getpid()} on " in (seat.find_other() or "")
    others.pop().leave()
    assert seat.find_other() is None
    for one in (seat, *others):
        one.leave()


HOLD = """
from pathlib import Path
from bostruct.storage.locks import FileWriterLock
seat = FileWriterLock(Path(sys.argv[1]), 1, "study")
with seat.ask_lock():
    print(seat.owner, flush=True)
    sys.stdin.read()
"""


def test_who_is_killed_has_gone_and_keeps_nobody_waiting(file: Path) -> None:
    seat = FileWriterLock(file, 1, "study")
    with start(HOLD, file) as process:
        owner = process.stdout.readline().strip()
        assert not seat.is_gone(owner)
        decided = threading.Event()
        thread = threading.Thread(target=lambda: decide(seat, decided))
        thread.start()
        assert not decided.wait(0.1)
        process.kill()
        assert decided.wait(60)
        thread.join()
    assert seat.is_gone(owner)
    seat.leave()
    assert os.listdir(file.parent) == []


def decide(seat: FileWriterLock, decided: threading.Event) -> None:
    with seat.ask_lock():
        decided.set()


def test_a_thread_that_decides_through_another_object_is_refused_and_others_wait(file: Path) -> None:
    check_one_thread_decides_once(str(file))


def check_one_thread_decides_once(file: str) -> None:
    """Check what two objects of one study do in one thread, and in two.

    file: or the URL of a database.
    """
    space = {"x": [1, 2, 3]}
    with bo.Study(space, method="random", seed=0, storage=file) as study, bo.Study.load(file) as other:
        with ThreadPoolExecutor(1) as executor:
            with study.ask_lock():
                before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("a thread waits for itself"))
                signal.alarm(30)
                with pytest.raises(bo.BostructError, match="already holds the ask lock through another Study object"):
                    other.ask()
                signal.alarm(0)
                signal.signal(signal.SIGALRM, before)
                assert study.ask().number == 0
                waiting = executor.submit(other.ask)
                wait([waiting], 0.1)
                assert not waiting.done()
            assert waiting.result(60).number == 1
        assert other.ask().number == 2


@pytest.mark.parametrize("owner", ["../../etc/passwd", "", "12-zz", "1" * 11 + "-" + "a" * 12, "1-" + "a" * 12 + "\n"])
def test_what_a_file_names_as_an_owner_is_no_path(file: Path, owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seat = FileWriterLock(file, 1, "study")
    with monkeypatch.context() as patch:
        patch.setattr(locks, "find_holder", lambda path: pytest.fail(f"{path} was opened"))
        assert seat.is_gone(owner)
    seat.leave()


def test_on_a_network_file_system_there_is_one_writer(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "find_network_filesystem", lambda _: "nfs4")
    space = {"x": [1, 2, 3]}
    with bo.Study(space, method="random", seed=0, storage=file) as study:
        study.tell(study.ask(), 1.0)
        with pytest.raises(StudyLocked, match=r"process .* on .*; close it there first\. Several writers need a local"):
            bo.Study(space, method="random", seed=0, storage=file)
        with bo.Study(space, method="random", seed=0, storage=file, name="another") as another:
            another.ask()
    with bo.Study(space, method="random", seed=0, storage=file) as study:
        assert len(study.trials) == 1


def test_who_leaves_removes_what_the_killed_left(file: Path) -> None:
    seat = FileWriterLock(file, 1, "study")
    for left in ("1.12-0123456789ab.writer", "1.lock"):  # a wait for the ask lock that a signal ended leaves its file
        file.with_name(f"{file.name}.{left}").touch()
    other = file.with_name(f"{file.name}.2.12-0123456789ab.writer")
    other.touch()
    seat.leave()
    assert os.listdir(file.parent) == [other.name]


def test_who_leaves_does_not_remove_a_lock_file_that_another_writer_removes(file: Path) -> None:
    """Between the check of one and the removal by the other, a third could hold the lock of a new file."""
    seat, lock = FileWriterLock(file, 1, "study"), file.with_name(f"{file.name}.1.lock")
    with open(lock, "w") as checked:
        fcntl.flock(checked, fcntl.LOCK_SH)
        seat.leave()
        assert lock.exists()


def test_who_leaves_keeps_the_ask_lock_of_another_writer(file: Path) -> None:
    seat, other = FileWriterLock(file, 1, "study"), FileWriterLock(file, 1, "study")
    with other.ask_lock():
        seat.leave()
        assert file.with_name(f"{file.name}.1.lock").exists()
    other.leave()
    assert os.listdir(file.parent) == []


def test_who_looks_for_a_writer_is_not_taken_for_it(file: Path) -> None:
    seat, name = FileWriterLock(file, 1, "study"), "12-0123456789ab"
    left = file.with_name(f"{file.name}.1.{name}.writer")
    left.touch()
    with open(left) as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH)  # as another one that asks the same
        assert seat.is_gone(name)
    seat.leave()


def test_a_writer_comes_while_another_one_looks_at_its_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks.secrets, "token_hex", lambda _: "0123456789ab")
    path = file.with_name(f"{file.name}.1.{os.getpid()}-0123456789ab.writer")
    with open(path, "w") as looked_at, ThreadPoolExecutor(1) as executor:
        fcntl.flock(looked_at, fcntl.LOCK_SH)
        coming = executor.submit(FileWriterLock, file, 1, "study")
        wait([coming], 0.2)
        path.unlink()
        fcntl.flock(looked_at, fcntl.LOCK_UN)
        seat = coming.result(60)
    assert not seat.is_gone(seat.owner)
    seat.leave()
    assert os.listdir(file.parent) == []


def test_a_writer_whose_file_cannot_be_looked_at_may_be_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seat, another = FileWriterLock(file, 1, "study"), FileWriterLock(file, 1, "study")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        assert not seat.is_gone(another.owner)
        assert seat.find_other() == "a process of another user"
    for one in (seat, another):
        one.leave()


def test_a_writer_whose_file_was_removed_makes_it_anew_and_says_so(file, caplog):
    with bo.Study({"x": [1, 2, 3]}, method="random", seed=0, storage=file) as study:
        trial = study.ask()
        next(file.parent.glob("*.writer")).unlink()
        study.tell(trial, 1.0)
        assert "was removed while its writer is active" in caplog.text
        assert len(list(file.parent.glob("*.writer"))) == 1
        with bo.Study.load(file) as other:
            assert other.n_remote == 0
            study.ask()
            other.sync()
            assert other.ask().number == 2
    assert os.listdir(file.parent) == [file.name]


def test_who_may_write_the_file_may_take_its_locks(file: Path) -> None:
    before = os.umask(0o077)
    try:
        file.touch()
        file.chmod(0o660)
        seat = FileWriterLock(file, 1, "study")
        with seat.ask_lock():
            modes = {path.stat().st_mode & 0o777 for path in file.parent.iterdir()}
        assert modes == {0o660}
        file.chmod(0o600)
        with seat.ask_lock():
            assert file.with_name(f"{file.name}.1.lock").stat().st_mode & 0o777 == 0o600
        seat.leave()
    finally:
        os.umask(before)


def test_a_writer_whose_file_cannot_be_made_anew_goes_on_once_it_can(file, monkeypatch):
    def refuse(*_: object, **__: object) -> int:
        raise StorageError("no space left")

    with bo.Study({"x": [1, 2, 3]}, method="random", seed=0, storage=file) as study:
        trial = study.ask()
        next(file.parent.glob("*.writer")).unlink()
        with monkeypatch.context() as patched:
            patched.setattr(locks, "acquire", refuse)
            with pytest.raises(StorageError, match="no space left"):
                study.tell(trial, 1.0)
        assert study.tell(trial, 1.0).value == 1.0
    assert os.listdir(file.parent) == [file.name]
