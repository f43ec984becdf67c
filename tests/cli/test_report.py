"""`bostruct report`: the page of one study or of all in a file, which is left as it is."""

from __future__ import annotations

import errno
import os

import pytest

import bostruct as bo
from bostruct import output_files
from bostruct.cli.studies import open_studies, render_file
from bostruct.storage.sqlite import Database
from tests.analysis.report.runs import check_page
from tests.cli.invoke import SMALL, as_json, call


def make_file(folder, n=2):
    for seed in range(n):
        call("run", SMALL, "--method", "random", "--seed", seed, "--trials", 5, "--storage", folder / "r.db")
    return folder / "r.db"


def test_writes_a_page_of_all_studies_beside_the_file(tmp_path):
    file = make_file(tmp_path)
    before = file.read_bytes()
    said = as_json("report", file)
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert said == {"file": str(file), "page": str(tmp_path / "r.html"), "studies": said["studies"]}
    assert len(said["studies"]) == 2
    assert "<h1>r.db</h1>" in html
    assert all(name in html for name in said["studies"])
    check_page(html)
    assert file.read_bytes() == before


def test_writes_the_page_of_one(tmp_path):
    file = make_file(tmp_path)
    name = as_json("show", file)["studies"][1]["study"]
    said = call("report", file, "--name", name, "--out", tmp_path / "one.html").stdout
    assert said == f"{tmp_path / 'one.html'} shows {name!r}\n"
    text, names = render_file(str(file), name)
    assert names == [name]
    assert text == (tmp_path / "one.html").read_text(encoding="utf-8")
    assert f"<h1>{name}</h1>" in text


def test_reads_a_file_that_is_being_written(tmp_path):
    with bo.Study({"a": bool}, method="random", seed=0, storage=tmp_path / "r.db") as study:
        study.ask()
        with open_studies(str(tmp_path / "r.db"), None) as (found,):
            assert found.trials[0].status == "running"


def test_never_writes_over_studies(tmp_path):
    file = make_file(tmp_path, 1).rename(tmp_path / "r.html")
    before = file.read_bytes()
    assert "is a SQLite database" in call("report", file, "--out", file, code=2).stderr
    assert file.read_bytes() == before


def test_another_ending_is_refused(tmp_path):
    file = make_file(tmp_path, 1)
    said = call("report", file, "--out", tmp_path / "x.pdf", code=2).stderr
    assert f"expected a file that ends in .html or .htm; got {tmp_path / 'x.pdf'}" in said
    call("report", file, "--out", tmp_path / "x.HTM")
    call("report", file, "--out", "/dev/null")
    with bo.Study.load(file, read_only=True) as study, pytest.raises(ValueError, match=r"\.htm; got .*x\.pdf"):
        bo.write_report(study, tmp_path / "x.pdf")
    assert not (tmp_path / "x.pdf").exists()


def test_a_table_is_refused_with_the_command_that_reads_it(tmp_path):
    (tmp_path / "long.csv").write_text("a,b\n" + "1,2\n" * 99)
    for command in ("report", "show"):
        assert "`bostruct import` reads tables" in call(command, tmp_path / "long.csv", code=3).stderr
    (tmp_path / "long.txt").write_text("a,b\n" + "1,2\n" * 99)
    assert "import" not in call("report", tmp_path / "long.txt", code=3).stderr


def test_a_folder_that_cannot_be_written_to_is_answered_with_how_to_choose_another(tmp_path, monkeypatch):
    file = make_file(tmp_path, 1)

    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(output_files, "_write_content", refuse)  # root may write anywhere
    page = tmp_path / "r.html"
    assert call("report", file, code=1).stderr == f"Error: {page}: Permission denied; give another page with --out\n"
    assert call("report", file, "--out", page, code=1).stderr == f"Error: {page}: Permission denied\n"
    access = os.access
    monkeypatch.setattr(output_files.os, "access", lambda path, mode: mode == os.R_OK and access(path, mode))
    assert "give another page with --out" in call("report", file, code=1).stderr


def test_a_database_needs_the_name_of_the_page(tmp_path, monkeypatch):
    pytest.importorskip("psycopg")
    monkeypatch.chdir(tmp_path)
    assert "--out: expected" in call("report", "postgresql://ann:secret@db.lab/runs", code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_or_a_study_that_is_not_there_is_refused(tmp_path):
    Database(tmp_path / "empty.db", read_only=False).close()
    assert "contains no study" in call("report", tmp_path / "empty.db", code=3).stderr
    assert "no such file" in call("report", tmp_path / "no.db", code=3).stderr
    assert "there is no study 'x'" in call("report", make_file(tmp_path, 1), "--name", "x", code=3).stderr
    assert not list(tmp_path.glob("*.html"))


OWN = """
import bostruct as bo

space = bo.Space({"a": range(6), "b": range(6), "c": [1, 2, 3]}, constraints=[lambda point: point["a"] <= point["b"]])
other = {"x": range(6), "b": range(6)}
problem = bo.Problem(lambda point: float(point["a"] - point["b"] + point["c"]), space, name="own", initial=0)
"""


def test_a_space_that_the_file_does_not_hold_is_given_by_its_problem(tmp_path):
    (tmp_path / "ordered_pair.py").write_text(OWN)
    file, problem = tmp_path / "r.db", f"{tmp_path / 'ordered_pair.py'}:problem"
    call("run", problem, "--trials", 16, "--storage", file)
    without, _ = render_file(str(file), None)
    assert "not drawn" not in without
    assert "because they need the whole space" in without
    call("report", file, "--problem", problem)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    check_page(page)
    assert "need the whole space" not in page
    assert "Importances" in page
    assert as_json("show", file)["recommended"]["mean"] is None
    assert "--problem on the command line" in call("show", file).stdout
    assert as_json("show", file, "--problem", problem)["recommended"]["mean"] is not None
    call("run", problem, "--trials", 3, "--seed", 1, "--storage", file)
    for command, words in (("show", "--name: expected one of"), ("report", "--problem: is of one study")):
        assert words in call(command, file, "--problem", problem, code=2).stderr


def test_a_space_itself_may_be_given_and_one_that_no_trial_is_in_is_refused(tmp_path):
    (tmp_path / "spaces_alone.py").write_text(OWN)
    file, own = tmp_path / "r.db", f"{tmp_path / 'spaces_alone.py'}"
    call("run", f"{own}:problem", "--trials", 16, "--storage", file, "--name", "one")
    call("report", file, "--problem", f"{own}:space")
    assert "need the whole space" not in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert as_json("show", file, "--problem", f"{own}:space")["recommended"]["mean"] is not None
    (tmp_path / "r.html").unlink()
    for command in ("show", "report"):
        refused = call(command, file, "--problem", f"{own}:other", code=3).stderr
        assert "--problem: of 16 trials of study 'one' none can be read in the space Space({'x': " in refused
        assert "Is it the right one?" in refused
        assert "architecture" in call(command, file, "--problem", "landscape", code=3).stderr.lower()
    assert not (tmp_path / "r.html").exists()
    bo.Study({"a": bool}, storage=file, name="empty").close()
    assert as_json("show", file, "--name", "empty", "--problem", f"{own}:other")["trials"] == 0
