"""Who only looks at a study learns which writers are there, and which trials wait since their process was killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import bostruct as bo
from bostruct.analysis.report.facts import read_run
from bostruct.cli.live_page import LivePage
from bostruct.storage import locks
from bostruct.storage.backends import open_storage
from bostruct.storage.documents import MemoryStorage
from tests.cli.invoke import as_json
from tests.programs import start

SPACE = {"a": range(12)}
HOLD = """
study = bo.Study({"a": range(12)}, method="random", seed=0, storage=sys.argv[1])
print(study.ask().number, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs [1].db"


def test_trials_of_a_killed_process_wait_for_who_only_looks(file: Path) -> None:
    with bo.Study(SPACE, method="random", seed=0, storage=file) as study:
        study.ask()
        with start(HOLD, file) as process:
            assert process.stdout.readline() == "1\n"
            page = LivePage(str(file))
            assert b"2 trials: 2 running." in page.read().body
            with bo.Study.load(file, read_only=True) as seen:
                assert (seen.waiting, seen.n_remote) == ((), 2)
            process.send_signal(signal.SIGKILL)
        before = file.read_bytes()
        with bo.Study.load(file, read_only=True) as seen:
            assert (seen.waiting, seen.n_waiting, seen.n_remote) == ((1,), 1, 1)
            assert [trial.status for trial in seen.trials] == ["running", "running"]
            assert read_run(seen).counts == {"running": 1, "waiting": 1}
        page._due = 0.0
        assert b"2 trials: 1 running, 1 waiting." in page.read().body
        assert (as_json("show", file)["running"], as_json("show", file)["waiting"]) == (1, 1)
        assert file.read_bytes() == before
        assert study.ask().info["attempts"] == 2
    assert os.listdir(file.parent) == [file.name]


def test_the_writers_of_a_file_are_those_that_have_it_open(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = open_storage(file)
    with bo.Study(SPACE, storage=file) as one, bo.Study(SPACE, storage=file, name="other") as other:
        assert storage.find_writers() == {one._ledger.owner, other._ledger.owner}
        with bo.Study(SPACE, storage=file.with_name(f"{file.name}.x")):
            link = file.with_name("link.db")
            link.symlink_to(file)
            found = open_storage(link).find_writers()
            assert found is not None
            assert {one._ledger.owner, other._ledger.owner} <= found
        monkeypatch.setattr(locks, "find_network_filesystem", lambda _: "nfs")
        assert storage.find_writers() is None
    monkeypatch.undo()
    assert storage.find_writers() == frozenset()
    assert MemoryStorage().find_writers() is None
