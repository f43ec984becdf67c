"""Hostile files: a reader that runs code, hangs, breaks, or reads something else is found."""

from __future__ import annotations

import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from benchmarks.chaos import forgeries, hostile_reading
from benchmarks.chaos.forgeries import SCHEMAS, forge_column, forge_json, forge_schema, judge, make_originals, run_case
from benchmarks.chaos.row import Verdict
from bostruct.contracts import BostructError
from bostruct.storage.rows import checksum


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "runs.db").write_bytes(make_originals()[1])
    return tmp_path / "own" / "runs.db"


def test_a_case_of_forgeries_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgeries, "FORGERIES_PER_CASE", 8)
    verdict = run_case("3", tmp_path)
    assert verdict.faults == {}
    assert sum(verdict.counts.values()) == 8


def judge_file(file: Path, what: str = "nothing") -> Verdict:
    judge(what, file, verdict := Verdict())
    return verdict


def test_an_original_is_read_as_what_it_says(file: Path) -> None:
    verdict = judge_file(file)
    assert (verdict.faults, verdict.counts) == ({}, {"read as what they say": 1})


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (lambda *_: os.system("true"), "code run"),
        (lambda *_: Path("canary").touch(), "code run"),
        (lambda *_: open(Path(tempfile.gettempdir(), "elsewhere"), "a").close(), "code run"),
        (lambda *_: {}["nothing"], "tracebacks"),
        (lambda *_: _refuse_without_words(), "tracebacks"),
        (lambda *_: _spin(), "hangs"),
        (lambda *_: bytes(2**40), "tracebacks"),
    ],
)
def test_what_a_reader_must_not_do_is_found(
    file: Path, monkeypatch: pytest.MonkeyPatch, broken: Callable[..., Any], kind: str
) -> None:
    monkeypatch.setattr(hostile_reading, "CPU_SECONDS", 0)
    monkeypatch.setattr(hostile_reading, "_read", broken)
    assert set(judge_file(file).faults) == {kind}


def _refuse_without_words() -> None:
    raise BostructError("")


def _spin() -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pass


def test_values_that_are_read_otherwise_are_found(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = bo.Study.trials.fget
    wrong = property(lambda study: tuple(replace(trial, value=7.0) for trial in trials(study)))
    monkeypatch.setattr(bo.Study, "trials", wrong)
    assert "read otherwise" in judge_file(file).faults


def test_escape_sequences_that_reach_the_terminal_are_found(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import click

    @click.command()
    @click.argument("given", nargs=-1)
    def show(given: tuple[str, ...]) -> None:
        click.echo(f"{len(given)} \x1b[2J", color=True)

    monkeypatch.setattr(hostile_reading, "command", show)
    assert set(judge_file(file).faults) == {"escape sequences"}


def test_forged_columns_have_right_checksums(file: Path) -> None:
    what = forge_column(file, random.Random(4))
    assert what != "nothing"
    with closing(sqlite3.connect(file)) as connection:
        for table in forgeries.TABLES:
            columns = ", ".join(forgeries.TABLES[table])
            for *row, seal in connection.execute(f"SELECT {columns}, checksum FROM {table}").fetchall():
                assert checksum(tuple(row)) == seal


def test_forged_json_differs_somewhere() -> None:
    text = '{"a": [1, 2, {"b": null}], "c": "x"}'
    found = {forge_json(text, random.Random(seed)) for seed in range(50)}
    assert len(found) > 25


@pytest.mark.parametrize("script", SCHEMAS)
def test_every_forged_schema_is_refused_or_read_as_it_is(
    file: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgeries, "SCHEMAS", (script,))
    forge_schema(file, random.Random(0))
    assert judge_file(file, script).faults == {}
