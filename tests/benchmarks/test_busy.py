"""The share of busy time: exact on a timetable made by hand, and a run without anything to wait for."""

from __future__ import annotations

import pytest

from benchmarks import busy


def test_the_share_is_that_of_the_time_between_all_busy_and_the_last_beginning() -> None:
    full = [(0.0, 4.0), (1.0, 4.0), (4.0, 6.0), (5.0, 7.0)]  # one worker idles from 4 to 5
    assert busy.find_busy_share(full, 2) == pytest.approx((3 + 3 + 1) / (2 * (5.0 - 1.0)))
    assert busy.find_busy_share([(0.0, 1.0), (0.0, 1.0), (1.0, 2.0), (1.0, 2.0)], 2) == 1.0


def test_a_run_keeps_its_workers_busy(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--method", "random", "--workers", "4", "--trials", "5", "--seconds", "0.2", "--rounds", "3"]
    assert busy.main(options) > 0.5
    assert "4 workers: a suggestion" in capsys.readouterr().out
