"""Studies are deleted and renamed from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import bostruct as bo
from bostruct.cli import main
from tests.cli.invoke import as_json, call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        bo.minimize(lambda x: x["a"], {"a": range(9)}, 2, method="random", storage=tmp_path / "runs.db", name=name)
    return tmp_path / "runs.db"


def list_names(file: Path) -> list[str]:
    return [one["study"] for one in as_json("show", file)["studies"]]


def test_a_study_is_renamed(file: Path) -> None:
    assert call("rename", file, "c", "--name", "a").stdout.startswith("study 'a' in ")
    assert list_names(file) == ["c", "b"]
    assert "already contains a study 'b'" in call("rename", file, "b", "--name", "c", code=3).output
    assert "there is no study 'nobody'" in call("rename", file, "b", "--name", "nobody", code=3).output
    assert "expected one of its studies" in call("rename", file, "d", code=3).output


def test_a_study_is_deleted_once_that_is_confirmed(file: Path) -> None:
    asked = CliRunner().invoke(main, ["delete", str(file), "--name", "a"], input="n\n")
    assert "Permanently delete study 'a' with 2 trials" in asked.output
    assert (asked.exit_code, list_names(file)) == (1, ["a", "b"])
    call("delete", file, "--name", "a", "--yes")
    assert "there is no study 'a'" in call("delete", file, "--name", "a", "--yes", code=3).output
    assert as_json("show", file)["study"] == "b"


def test_a_study_that_is_open_stays(file: Path) -> None:
    with bo.Study.load(file, "a"):
        assert "while it is open in" in call("delete", file, "--name", "a", "--yes", code=3).output
        with pytest.raises(bo.StudyLocked, match="cannot be deleted or renamed while it is open in"):
            bo.Study.rename(file, "a", "c")
    bo.Study.delete(file, "a")
    with pytest.raises(ValueError, match="name: expected a name that is not blank, got ' '"):
        bo.Study.rename(file, "b", " ")
    bo.Study.rename(file, "b", "a")
    assert bo.Study.load(file, read_only=True).name == "a"
