"""Commands that take the URL of a database: `bostruct copy` and what `show` and `report` say of an empty one."""

from __future__ import annotations

from pathlib import Path

import pytest

import bostruct as bo
from bostruct.cli.studies import copy_studies
from bostruct.storage.protocol import StorageError
from tests.cli.invoke import as_json, call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        with bo.Study({"a": range(9)}, method="random", seed=0, storage=tmp_path / "runs.db", name=name) as study:
            study.tell(study.ask(), 1.0)
    bo.Study(bo.Space({"a": range(9)}, constraints=[lambda _: True]), storage=tmp_path / "runs.db", name="code").close()
    return tmp_path / "runs.db"


def test_studies_go_to_a_database_and_back_whole(file: Path, tmp_path: Path, url: str) -> None:
    with bo.Study.load(file, "one") as study:
        study.ask()
        assert as_json("copy", file, url)["studies"] == ["one", "two", "code"]
    assert "which contains 'one', 'two', 'code'" in call("copy", url, tmp_path / "back.db").stdout
    for name in ("one", "two", "code"):
        made, there, back = (as_json("show", place, "--name", name) for place in (file, url, tmp_path / "back.db"))
        assert made == there == back
        assert made["waiting"] == (name == "one")
    with bo.Study.load(tmp_path / "back.db", "one") as study:
        trial = study.ask()
        assert (trial.number, "attempts" in trial.info) == (1, False)


def test_a_copy_to_a_database_that_has_one_of_the_names_is_refused(file: Path, url: str) -> None:
    bo.Study({"a": bool}, storage=url, name="two").close()
    assert "already contains a study 'two'; nothing was copied" in call("copy", file, url, code=3).stderr
    assert as_json("show", url)["study"] == "two"


def test_a_copy_of_a_database_takes_nobodys_place(tmp_path: Path, url: str) -> None:
    bo.Study({"a": bool}, storage=url).close()
    (tmp_path / "notes.txt").write_text("important")
    assert "exists already" in call("copy", url, tmp_path / "notes.txt", code=3).stderr
    assert (tmp_path / "notes.txt").read_text() == "important"


def test_a_copy_that_fails_leaves_no_file(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bo.Study({"a": bool}, storage=url).close()

    def fail(study: bo.Study, path: str) -> None:
        del study
        raise StorageError(f"{path}: the disk is full")

    monkeypatch.setattr(bo.Study, "save", fail)
    with pytest.raises(StorageError, match="the disk is full"):
        copy_studies(url, str(tmp_path / "b.db"))
    assert list(tmp_path.iterdir()) == []


def test_an_empty_database_holds_no_study(tmp_path: Path, url: str) -> None:
    for line in [("show", url), ("report", url, "--out", tmp_path / "r.html"), ("copy", url, tmp_path / "b.db")]:
        assert "contains no study" in call(*line, code=3).stderr
    assert list(tmp_path.iterdir()) == []
