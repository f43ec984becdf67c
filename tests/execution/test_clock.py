"""Times are possible ones, whatever a clock says and whoever gives them, and no module asks what a user may replace."""

from __future__ import annotations

import ast
import logging
import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct.execution import clock
from bostruct.execution.clock import CLOCKS, LATEST, as_time, clamp_end, name_unit, now, restore_clocks

ROOT = Path(__file__).resolve().parents[2] / "bostruct"
TODAY = 1_795_800_000.0
anything = st.floats() | st.integers() | st.text() | st.none() | st.booleans()


@pytest.fixture(autouse=True)
def forget_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_wrong", set())


def find_replaceable(source: str) -> list[int]:
    """Return the lines that import the module `time` itself, through which a replaced clock would be read."""
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import)]
    return [node.lineno for node in imports if any(name.name == "time" for name in node.names)]


def test_no_module_reads_a_clock_that_an_objective_may_replace() -> None:
    found = {path.name: find_replaceable(path.read_text()) for path in ROOT.rglob("*.py") if path.name != "clock.py"}
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert find_replaceable("from time import monotonic\nimport time as clock\n") == [2]


@given(anything)
def test_any_time_becomes_a_possible_one_that_stays(given: object) -> None:
    found = as_time(given)
    assert type(found) is float
    assert 0.0 <= found <= LATEST
    assert math.copysign(1.0, found) == 1.0  # a database does not keep the sign of zero
    assert as_time(found) == found


@given(st.floats(0.0, LATEST))
def test_a_possible_time_is_kept(given: float) -> None:
    assert as_time(given) == given


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (TODAY * 1e3, TODAY),
        (TODAY * 1e6, TODAY),
        (TODAY * 1e9, TODAY),
        (math.inf, LATEST),
        (1e10, LATEST),
        ("now", 0.0),
    ],
)
def test_other_units_become_seconds(given: object, found: float) -> None:
    assert as_time(given) == found


@pytest.mark.parametrize("wrong", [math.nan, -1e6, 1e300, "noon", None])
def test_a_clock_that_is_wrong_is_noted_once(wrong, monkeypatch, caplog):
    monkeypatch.setattr(clock, "read_clock", lambda: wrong)
    with caplog.at_level(logging.WARNING):
        assert {now(), now()} == {as_time(wrong)}
    assert len(caplog.records) == 1
    assert "the clock of this machine" in caplog.text


@pytest.mark.parametrize("ended", [TODAY - 1.0, TODAY - 2 * 86_400, TODAY + 9, math.nan, math.inf, -5.0, "soon", True])
def test_the_end_of_an_evaluation_is_a_possible_one(ended, monkeypatch, caplog):
    monkeypatch.setattr(clock, "read_clock", lambda: TODAY + 5.0)
    assert clamp_end(ended, TODAY) == clamp_end(ended, TODAY) == TODAY + 5.0
    (record,) = caplog.records
    assert record.message.startswith("the clock of a worker shows ")
    assert "which lies outside of its trial" in record.message


def test_an_end_that_is_possible_is_kept(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(clock, "read_clock", lambda: TODAY + 5.0)
    assert clamp_end(TODAY + 3.0, TODAY) == TODAY + 3.0
    assert clamp_end(None, TODAY) == TODAY + 5.0
    assert clamp_end(None, TODAY + 9.0) == TODAY + 9.0  # the clock was set back
    assert not caplog.records


def test_a_unit_has_a_name() -> None:
    assert name_unit(TODAY * 1e3, TODAY - 9, TODAY + 9) == "milliseconds"
    assert name_unit(TODAY * 1e9, TODAY - 9, TODAY + 9) == "nanoseconds"
    assert name_unit(3.5, TODAY - 9, TODAY + 9) is None


@pytest.mark.parametrize("name", CLOCKS)
@pytest.mark.parametrize("wrong", [math.nan, math.inf, "noon", None, 10**400])
def test_a_clock_without_numbers_is_put_back(name: str, wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = getattr(time, name)
    monkeypatch.setattr(time, name, lambda: wrong)
    restore_clocks()
    assert getattr(time, name) is kept
    monkeypatch.setattr(time, name, "no function")
    restore_clocks()
    assert getattr(time, name) is kept


def test_the_clock_of_logging_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.13's logging calls time_ns, earlier ones time."""
    assert {"time", "time_ns"} <= set(CLOCKS)
    for name in ("time", "time_ns"):
        monkeypatch.setattr(time, name, lambda: "noon")
    restore_clocks()
    assert logging.makeLogRecord({}).created > TODAY - 1e9


def test_a_replaced_clock_that_returns_numbers_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", frozen := lambda: 7.0)
    restore_clocks()
    assert time.time is frozen
