"""The file of a token: its server's alone while that lives, anybody's afterwards."""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import bostruct as bo
from bostruct.output_files import OutputRefused
from bostruct.serving.guarded_http import keep_token
from bostruct.serving.service import Service
from bostruct.serving.transports import StudyServer
from tests.locked_files import hard_link, hold_lock, is_locked
from tests.programs import start

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
OURS, THEIRS = "bostruct-" + "o" * 43, "bostruct--_aZ9" + "t" * 38
HOLD = """
from bostruct.serving.guarded_http import keep_token
with keep_token(sys.argv[1], sys.argv[2]):
    print("kept", flush=True)
    sys.stdin.read()
"""


def test_a_token_is_for_its_user_alone_and_goes_with_the_block(tmp_path):
    path = tmp_path / "token"
    path.write_text(f"{THEIRS}\n")
    path.chmod(0o666)
    with keep_token(str(path), OURS):
        assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (f"{OURS}\n", 0o600)
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_a_living_server_is_refused_and_that_of_a_killed_one_is_not(tmp_path):
    path = tmp_path / "token"
    with start(HOLD, path, THEIRS) as process:
        try:
            assert process.stdout.readline() == "kept\n"
            with pytest.raises(FileExistsError, match="contains the token of another running bostruct serve"):
                keep_token(str(path), OURS).__enter__()
            assert path.read_text() == f"{THEIRS}\n"
        finally:
            process.send_signal(signal.SIGKILL)
    assert path.read_text() == f"{THEIRS}\n"
    with keep_token(str(path), OURS):
        assert path.read_text() == f"{OURS}\n"


@pytest.mark.parametrize(
    "content", ["", "notes", "x" * 43, "x" * 52, f"bostruct-{'=' * 43}", f"bostruct-{'x' * 42}\n\n"]
)
def test_what_holds_no_token_is_refused_and_left(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(OutputRefused, match="contains no token of bostruct serve"):
        keep_token(str(path), OURS).__enter__()
    assert path.read_text() == content


@pytest.mark.parametrize("lead", [lambda path: path, hard_link])
def test_a_database_is_left_and_keeps_the_locks_of_this_process(file, lead):
    with bo.Study({"a": bool}, storage=file, method="random") as study, hold_lock(file):
        with pytest.raises(OutputRefused, match="contains no token"):
            keep_token(str(lead(file)), OURS).__enter__()
        assert is_locked(file)
        assert study.name == "study"


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
def test_names_that_a_database_keeps_files_under_are_refused(tmp_path, ending):
    bo.Study({"a": bool}, storage=tmp_path / "runs.db", method="random").close()
    path = tmp_path / f"runs.db{ending}"
    with pytest.raises(OutputRefused, match=r"database .*runs\.db keeps a file of this name"):
        keep_token(str(path), OURS).__enter__()
    with bo.Study.load(tmp_path / "runs.db") as study, pytest.raises(OutputRefused, match="keeps a file of this name"):
        StudyServer(Service([study]), path=str(path))
    assert not path.exists()


def test_a_file_that_somebody_put_in_its_place_is_left(tmp_path):
    path = tmp_path / "token"
    with keep_token(str(path), OURS):
        path.unlink()
        path.write_text("another\n")
    assert path.read_text() == "another\n"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("elsewhere")])
def test_what_is_no_file_is_refused_and_left(tmp_path, make):
    path = tmp_path / "token"
    make(path)
    with pytest.raises(FileExistsError, match="is not a regular file"):
        keep_token(str(path), OURS).__enter__()
    assert os.path.lexists(path)


def test_of_many_that_begin_at_once_one_has_the_file(tmp_path):
    path, barrier = tmp_path / "token", threading.Barrier(8)
    path.write_text(f"{THEIRS}\n")

    def begin(token):
        barrier.wait()
        try:
            with keep_token(str(path), token):
                kept = path.read_text() == f"{token}\n"
                barrier.wait()
        except FileExistsError:
            barrier.wait()
            return "refused"
        return kept

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(begin, (str(number) * 43 for number in range(8))))
    assert (found.count(True), found.count("refused"), path.exists()) == (1, 7, False)
