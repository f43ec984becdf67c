"""The page that follows a file: written anew when the file changes, and never as often as to slow a search."""

from __future__ import annotations

import os
import threading

import click
import pytest

import bostruct as bo
from bostruct.cli import live_page
from bostruct.cli.live_page import FOLLOW, LivePage
from bostruct.contracts import BostructError
from bostruct.storage.sqlite import Database
from tests.analysis.report.runs import check_page


@pytest.fixture
def study(tmp_path):
    with bo.Study({"a": bool, "b": range(5)}, method="random", seed=0, storage=tmp_path / "r.db") as study:
        yield study


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(live_page, "LEAST_PAUSE", 0.0)
    monkeypatch.setattr(live_page, "SHARE", 1.0)


def test_follows_a_study_that_writes(study):
    page = LivePage(study.where)
    before = page.read()
    assert b"There is no trial yet." in before.body
    assert page.read() is before  # nothing has changed
    study.tell(study.ask(), failed="<b>")
    after = page.read()
    assert b"1 trial: 1 failed" in after.body
    assert after.tag != before.tag
    assert FOLLOW in after.body.decode()
    metas = check_page(after.body.decode()).find("meta")
    assert "connect-src 'self'" in metas[2]["content"]


def test_a_file_that_vanishes_or_is_damaged_is_said_and_comes_back(study, tmp_path):
    file = tmp_path / "r.db"
    study.tell(study.ask(), 1.0)
    study.close()
    page, sound = LivePage(str(file)), file.read_bytes()
    before = page.read()
    os.rename(file, tmp_path / "away.db")
    gone = page.read()
    assert b'role="alert">The file cannot be read now:' in gone.body
    assert b"no such file" in gone.body
    assert b"1 trial: 1 completed" in gone.body  # what was last read
    assert page.read().tag == gone.tag
    file.write_bytes(b"no database, but something else")
    assert b"is not a SQLite database" in page.read().body
    file.write_bytes(sound)
    assert page.read().tag == before.tag


def test_a_page_takes_a_tenth_of_a_core_at_most(study, monkeypatch):
    monkeypatch.setattr(live_page, "LEAST_PAUSE", 3600.0)
    page = LivePage(study.where)
    study.ask()
    shown = page.read()  # the first change is shown at once
    study.ask()
    assert page.read() is shown


def test_who_comes_while_it_is_written_gets_the_last_one(study, monkeypatch):
    page = LivePage(study.where)
    before = page.read()
    begun, may_end = threading.Event(), threading.Event()
    read_runs = page._read_runs

    def wait():
        begun.set()
        assert may_end.wait(30)
        return read_runs()

    monkeypatch.setattr(page, "_read_runs", wait)
    study.ask()
    writer = threading.Thread(target=page.read)
    writer.start()
    assert begun.wait(30)
    assert page.read() is before
    may_end.set()
    writer.join()
    assert page.read() is not before


def test_a_file_that_is_not_there_at_first_is_refused(tmp_path):
    with pytest.raises(BostructError, match="no such file"):
        LivePage(str(tmp_path / "no.db"))


def test_a_page_with_a_space_stays_with_its_study_where_another_one_follows(study):
    page = LivePage(study.where, space=study.domain)
    bo.Study({"x": bool}, method="random", storage=study.where, name="another").close()
    study.tell(study.ask(), failed="<b>")
    after = page.read()
    assert b"1 trial: 1 failed" in after.body
    assert b"another" not in after.body
    with pytest.raises(
        click.UsageError, match="--problem: is of one study, but the file has several; pass --name, one of"
    ):
        LivePage(study.where, space=study.domain)


def test_what_keeps_a_study_from_being_read_with_a_space_is_said_and_not_asked_at_each_visit(tmp_path, monkeypatch):
    file = tmp_path / "r.db"
    Database(file, read_only=False).close()
    page = LivePage(str(file), space=bo.Space({"a": bool}))
    for name in ("one", "two"):
        bo.Study({"a": bool}, method="random", storage=file, name=name).close()
    monkeypatch.setattr(live_page, "LEAST_PAUSE", 3600.0)
    said = page.read()
    assert (
        b'role="alert">The file cannot be read now: --problem: is of one study, but the file has several' in said.body
    )
    monkeypatch.setattr(page, "_read_runs", lambda: pytest.fail("it was read again"))
    assert page.read() is said


def test_trials_that_are_not_in_the_space_that_is_given_are_said(study):
    page = LivePage(study.where, space=bo.Space({"x": bool}))
    study.ask()
    said = page.read().body
    assert b"The file cannot be read now: " in said
    assert b"--problem: of 1 trial of study " in said
