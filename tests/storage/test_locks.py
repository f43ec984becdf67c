"""Locks of studies: one holder, and no trust in what lies in the place of a lock."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from bostruct.storage.locks import acquire, find_holder, release
from bostruct.storage.protocol import StorageError, StudyLocked


def test_a_lock_has_one_holder_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.db.1.lock"
    descriptor = acquire(path, "the study")
    with pytest.raises(StudyLocked, match=rf"the study is open for writing in process {os.getpid()} on .*this process"):
        acquire(path, "the study")
    release(path, descriptor)
    release(path, descriptor)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x", "host": "h"}', "[" * 900, '{"pid": 1}'])
def test_a_holder_that_does_not_say_who_it_is_is_another_process(tmp_path: Path, text: str) -> None:
    path = tmp_path / "runs.db.1.lock"
    path.write_text(text)
    with open(path) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StudyLocked, match="is open for writing in another process"):
            acquire(path, "the study")


def test_escape_sequences_of_a_holder_reach_nobody(tmp_path: Path) -> None:
    path = tmp_path / "runs.db.1.lock"
    path.write_text('{"pid": 99999999999999999999, "host": "\\u001b[31m"}')
    with open(path) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StudyLocked) as caught:
            acquire(path, "the study")
    assert "\x1b" not in str(caught.value)


def test_a_file_with_another_name_is_no_lock(tmp_path: Path) -> None:
    precious, path = tmp_path / "precious", tmp_path / "runs.db.1.lock"
    precious.write_text("content")
    path.hardlink_to(precious)
    with pytest.raises(StorageError, match=r"runs\.db\.1\.lock: the lock of the study cannot be created: .* 2 names"):
        acquire(path, "the study")
    assert precious.read_text() == "content"


@pytest.fixture
def alarm() -> Iterator[None]:
    """Make an alarm raise TimeoutError, as a user's own limit does."""

    def expire(*_: object) -> None:
        raise TimeoutError("the user's own limit")

    before = signal.signal(signal.SIGALRM, expire)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarm")
def test_the_exception_of_a_signal_handler_is_raised_from_waiting_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "runs.db.1.lock"
    descriptor = acquire(path, "the study")
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(TimeoutError, match="the user's own limit"):
        acquire(path, "the study", wait=True)
    release(path, descriptor)


def test_the_exception_of_a_signal_handler_does_not_say_that_a_writer_is_gone(tmp_path, monkeypatch):
    def expire(*_: object) -> int:
        raise TimeoutError("the user's own limit")

    monkeypatch.setattr(os, "open", expire)
    with pytest.raises(TimeoutError):
        find_holder(tmp_path / "runs.db.1.lock")
