"""Rows survive their columns exactly, and their checksums depend on every column."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct.execution.clock import LATEST, as_time
from bostruct.outcome import Outcome
from bostruct.storage.json_text import dump, dump_compactly, parse, parse_all
from bostruct.storage.protocol import SpaceChange, StorageError, TrialRow
from bostruct.storage.rows import (
    TRIAL_COLUMNS,
    Progress,
    change_columns,
    checksum,
    read_change_columns,
    read_progress_columns,
    read_study_columns,
    read_trial_columns,
    read_trial_rows,
    seal,
    study_columns,
    trial_columns,
)
from bostruct.storage.schema import SCHEMA_VERSION
from bostruct.testing.storage_laws import STUDY

numbers = st.floats(allow_nan=False, allow_infinity=False)
times = st.floats(0, LATEST)
positive = st.floats(0, allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
reasons = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
extra: dict[str, Any] = {
    "constraints": st.dictionaries(texts, numbers, max_size=3),
    "cost": st.none() | positive,
    "sd": st.none() | positive,
    "repeats": st.lists(numbers, max_size=3).map(tuple),
}
outcomes = st.one_of(
    st.builds(Outcome, st.lists(numbers, min_size=1, max_size=3).map(tuple), **extra),
    st.builds(Outcome, failed=reasons, **extra),
    st.builds(Outcome, infeasible=reasons, **extra),
)


@given(outcomes, texts, times)
def test_a_trial_survives_its_columns(outcome: Outcome, text: str, time: float) -> None:
    row = TrialRow(3, text, text, time, 1, outcome, time, 7)
    assert read_trial_columns(seal(trial_columns(2, row, 5)), "here", SCHEMA_VERSION) == row
    running = TrialRow(0, text, text, time, 0, owner=text)
    assert read_trial_columns(seal(trial_columns(2, running, 0)), "here", SCHEMA_VERSION) == running


def read_all(rows: list[Any], read: Callable[[list[Any]], list[TrialRow]]) -> list[TrialRow] | str:
    try:
        return read(rows)
    except StorageError as error:
        return str(error)


@pytest.mark.parametrize("column", [None, *TRIAL_COLUMNS, "checksum"])
@pytest.mark.parametrize("put", ["another", "caf\udce9", b"blob", -7, 1.5, math.inf, None])
def test_trials_are_read_by_column_as_one_by_one(column: str | None, put: Any) -> None:
    outcomes = [Outcome((1.5,)), Outcome((-0.0,)), Outcome(failed="rain"), None, Outcome((1.0, 2.0)), Outcome((3.0,))]
    trials = [
        TrialRow(number, "[1]", "{}", 1.7e9, 1, one, *((None, None) if one is None else (1.8e9, number)))
        for number, one in enumerate(outcomes)
    ]
    rows = [seal(trial_columns(2, trial, 5)) for trial in trials]
    if column is not None:
        position = [*TRIAL_COLUMNS, "checksum"].index(column)
        rows[5] = (*rows[5][:position], put, *rows[5][position + 1 :])
    slow = read_all(rows, lambda given: [read_trial_columns(one, "here", SCHEMA_VERSION) for one in given])
    assert read_all(rows, lambda given: read_trial_rows(given, "here", SCHEMA_VERSION)) == slow
    assert slow == trials or column is not None


def test_the_text_of_a_row_is_compact_json() -> None:
    rows: list[Any] = [seal((1, 'é"\\\n', 1.5, None, math.inf, -(2**63))), seal(("a", 0.1, 1e300, None))]
    assert [dump_compactly(row) for row in rows] == [json.dumps(row, separators=(",", ":")) for row in rows]


@given(st.floats() | st.text() | st.none(), st.floats() | st.text())
def test_only_possible_times_are_written_and_read(started: Any, finished: Any) -> None:
    row = TrialRow(3, "p", "i", started, 1, Outcome((1.0,)), finished, 7)
    written = trial_columns(2, row, 5)
    assert written[8:10] == (as_time(started), as_time(finished))
    assert study_columns(4, STUDY._replace(created=started))[7] == as_time(started)
    change = SpaceChange("{}", "{}", "[]", 0, "{}", started, "")
    assert change_columns(4, 0, change)[7] == as_time(started)
    stored = (*written[:8], started, finished, *written[10:])  # by an earlier version
    read = read_trial_columns(seal(stored), "here", SCHEMA_VERSION)
    assert read.started == as_time(started)
    assert read.finished == (as_time(finished) or as_time(started))
    assert read_change_columns(seal((4, 0, *change)), 0, "here").changed == as_time(started)


def test_a_study_and_its_progress_survive_their_columns() -> None:
    assert read_study_columns(seal(study_columns(4, STUDY)), "here", SCHEMA_VERSION) == (4, STUDY._replace(state=""))
    progress = Progress(4, "{}", 3, -5, 7)
    assert read_progress_columns(seal(progress), "here") == progress


@pytest.mark.parametrize("position", range(len(TRIAL_COLUMNS)))
def test_a_checksum_depends_on_every_column(position: int) -> None:
    columns = trial_columns(2, TrialRow(3, "p", "i", 1.0, 1, Outcome((1.0,), cost=1.0), 2.0, 7), 4)
    other = list(columns)
    other[position] = "another"
    assert checksum(other) != checksum(columns)
    assert checksum([1.0]) != checksum([1]) != checksum(["1"])


def test_a_digest_wraps_and_forgets_what_is_taken_away() -> None:
    progress = Progress(1, "a").advance(2**63 - 1, 1).advance(2**63 - 1, 1, "b")
    assert progress == Progress(1, "b", 2, -2)
    assert progress.advance(2, -2).digest == 0


@pytest.mark.parametrize("wrong", ["", "nul", "[1", "2]", "1,2", "1 2", " 1", "[" * 100_000])
def test_texts_are_parsed_together_if_each_is_json(wrong: str) -> None:
    assert parse_all(["[1]", '{"a": 2}']) == [[1], {"a": 2}]
    assert parse_all(["[1]", wrong, "[3],[4]"]) is parse_all(["[1]", wrong]) is None


def test_json_that_is_too_deep_is_a_value_error() -> None:
    assert parse(dump({"a": [1, 2.5, None]})) == {"a": [1, 2.5, None]}
    with pytest.raises(ValueError, match="nested too deeply"):
        parse("[" * 100_000 + "]" * 100_000)
    with pytest.raises(StorageError, match="study 'x'"):
        read_study_columns((1, "x", 3, "", "", "", "", 1.0, ""), "here", False)
