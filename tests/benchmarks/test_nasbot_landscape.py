"""The comparison of NASBOT with its baselines: it resumes, pairs by seed, and says why a problem is skipped."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import nasbot_landscape as script


def test_runs_once_and_reports_paired_wins(tmp_path):
    file = tmp_path / "runs.jsonl"
    for seeds in (2, 3, 3):
        script.run(file, ["landscape"], ["evolution", "random"], seeds, 16)
    found = script.rows(file)
    assert sorted((row["method"], row["seed"]) for row in found) == [
        (method, seed) for method in ("evolution", "random") for seed in range(3)
    ]
    for row in found:
        assert len(row["values"]) == 16
        assert row["reported"] == row["values"]
        assert row["values"][:12] == found[0]["values"][:12]  # the same pool
    text = script.report(file)
    assert "### landscape" in text
    assert "| evolution | 3 |" in text


def test_a_run_is_judged_by_what_is_reported_of_its_best_value():
    found = script.reported_of_best([3.0, 5.0, 1.0, 1.0], [30.0, 0.0, 11.0, 7.0])
    np.testing.assert_array_equal(found, [30.0, 30.0, 11.0, 11.0])


def test_wins_are_counted_over_seeds_that_both_have():
    mine = {seed: np.array([9.0, 1.0]) for seed in range(5)}
    theirs = {seed: np.array([0.0, 1.0 + (seed > 0)]) for seed in range(1, 9)} | {0: np.array([0.0, 0.5])}
    assert script.against(mine, theirs, 2) == "4 / 1, 0.38"


def test_a_missing_table_is_skipped_aloud(tmp_path, capsys):
    script.run(tmp_path / "runs.jsonl", [f"nasbench201:file={tmp_path}/none.npz"], ["random"], 1, 12)
    assert "is skipped: " in capsys.readouterr().out
    with pytest.raises(SystemExit, match="got nonsense"):
        script.run(tmp_path / "runs.jsonl", ["landscape"], ["nonsense"], 1, 12)
