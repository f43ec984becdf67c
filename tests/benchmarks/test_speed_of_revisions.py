"""The comparison of two revisions: its statistics, and that each row runs on the package of its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.speed_of_revisions import ROWS, Worker, describe, measure, suggest, summarize

HERE = Path(__file__).parents[2]


def test_a_mean_ratio_has_an_interval():
    mean, low, high = summarize([(1.0, 1.1), (2.0, 2.0)] * 5)
    assert mean == pytest.approx(1.1**0.5)
    assert low < mean < high
    assert summarize([(1.0, 2.0)] * 10) == pytest.approx((2.0, 2.0, 2.0))
    assert describe("row", [(1.0, 2.0)] * 10) == "| row | 1 | 2 | 2.000 [2.000, 2.000] |"


def test_rows_run():
    assert suggest("mixed", "random", 3, 2, storage=True)() >= 0.0
    assert measure({"a": True, "b": "x", "c": (1, 2)}) == measure({"a": True, "b": "x", "c": (1, 2)})


def test_a_worker_has_the_package_of_its_folder(tmp_path):
    package = tmp_path / "bostruct"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit(0)")
    with Worker(tmp_path) as other, pytest.raises(ValueError, match="could not convert"):
        other.run("random, bits, memory")  # its package ends the process, and nothing is printed
    with Worker(HERE) as worker:
        assert worker.run("import") > 0.0
    assert "import" in ROWS
