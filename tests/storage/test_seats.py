"""Writers side by side: who is there, who has gone, and who decides."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import bostruct as bo
from bostruct.storage import seats
from bostruct.storage.protocol import StudyLocked
from bostruct.storage.seats import Seat

ROOT = Path(bo.__file__).parent.parent


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs [1].db"


def test_a_seat_leaves_nothing_behind(file: Path) -> None:
    first, second = Seat(file, 1, "study"), Seat(file, 1, "study")
    with first.deciding():
        assert len(os.listdir(file.parent)) == 3
    assert first.owner != second.owner
    assert not first.is_gone(second.owner)
    second.leave()
    assert first.is_gone(second.owner)
    first.leave()
    first.leave()
    assert os.listdir(file.parent) == []


def test_others_are_found_but_not_those_of_another_study_or_file(file: Path) -> None:
    seat = Seat(file, 1, "study")
    others = [Seat(file, 2, "another"), Seat(file.with_name("other.db"), 1, "study")]
    assert seat.find_other() is None
    others.append(Seat(file, 1, "study"))
    assert f"process {os.getpid()} on " in (seat.find_other() or "")
    others.pop().leave()
    assert seat.find_other() is None
    for one in (seat, *others):
        one.leave()


HOLD = """
import os, sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from bostruct.storage.seats import Seat
seat = Seat(Path(sys.argv[1]), 1, "study")
with seat.deciding():
    print(seat.owner, flush=True)
    sys.stdin.read()
"""


def test_who_is_killed_has_gone_and_keeps_nobody_waiting(file: Path) -> None:
    seat = Seat(file, 1, "study")
    command = [sys.executable, "-c", HOLD, str(file), str(ROOT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
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


def decide(seat: Seat, decided: threading.Event) -> None:
    with seat.deciding():
        decided.set()


@pytest.mark.parametrize("owner", ["../../etc/passwd", "", "12-zz", "1" * 11 + "-" + "a" * 12, "1-" + "a" * 12 + "\n"])
def test_what_a_file_names_as_an_owner_is_no_path(file: Path, owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seat = Seat(file, 1, "study")
    monkeypatch.setattr(seats, "find_holder", lambda path: pytest.fail(f"{path} was opened"))
    assert seat.is_gone(owner)
    seat.leave()


def test_on_a_network_file_system_there_is_one_writer(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "find_network_filesystem", lambda _: "nfs4")
    space = {"x": [1, 2, 3]}
    with bo.Study(space, method="random", seed=0, storage=file) as study:
        study.tell(study.ask(), 1.0)
        with pytest.raises(StudyLocked, match=r"process .* on .*; close it there first\. Several writers need a local"):
            bo.Study(space, method="random", seed=0, storage=file)
        with bo.Study(space, method="random", seed=0, storage=file, name="another") as another:
            another.ask()
    with bo.Study(space, method="random", seed=0, storage=file) as study:
        assert len(study.trials) == 1
