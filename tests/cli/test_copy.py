"""`bostruct copy`: what it says, what it leaves, and what it exits with."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import bostruct as bo
from bostruct.cli.studies import copy
from tests.cli.invoke import as_json, call


@pytest.fixture
def file(tmp_path):
    for name in ("one", "two"):
        with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "runs.db", name=name) as study:
            study.tell(study.ask(), 1.0)
    return tmp_path / "runs.db"


def test_it_says_what_the_copy_holds(file, tmp_path):
    names = ["one", "two"]
    expected = {"file": str(file), "copy": str(tmp_path / "b.db"), "studies": names}
    assert as_json("copy", file, tmp_path / "b.db") == expected
    shown = CliRunner().invoke(copy, [str(file), str(tmp_path / "c.db")])
    assert shown.stdout == f"{file} is copied to {tmp_path / 'c.db'}, which contains 'one', 'two'\n"


def test_a_copy_shows_what_the_file_shows_also_while_a_study_is_open(file, tmp_path):
    with bo.Study.load(file, "one") as study:
        study.tell(study.ask(), 0.5)
        call("copy", file, tmp_path / "b.db")
        assert as_json("show", tmp_path / "b.db", "--name", "one") == as_json("show", file, "--name", "one")
    assert as_json("show", tmp_path / "b.db", "--name", "one")["best_value"] == 0.5


def test_a_copy_never_replaces_a_file(file, tmp_path):
    (tmp_path / "notes.txt").write_text("important")
    assert "exists already" in call("copy", file, tmp_path / "notes.txt", code=3).stderr
    assert (tmp_path / "notes.txt").read_text() == "important"


def test_a_folder_that_is_not_there_is_wrong_use(file, tmp_path):
    refused = call("copy", file, tmp_path / "no" / "b.db", code=2).stderr
    assert "the directory of" in refused
