"""The paired table of NASBOT: intervals by hand, seeds that both have, names that say how perceptrons are trained."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import nasbot_paired as script
from benchmarks.uci_regression import RECIPE


def test_the_interval_is_students():
    """Differences 1, 2, 3: mean 2, standard deviation 1, and 4.3027 standard errors at 2 degrees of freedom."""
    mean, half = script.paired_difference(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    assert mean == pytest.approx(2.0)
    assert half == pytest.approx(4.302653 / np.sqrt(3.0), rel=1e-6)
    assert np.isnan(script.paired_difference(np.array([1.0]), np.array([0.0]))[1])


def test_the_table_pairs_the_seeds_that_both_have_and_leaves_out_short_runs(tmp_path):
    file = tmp_path / "runs.jsonl"
    told = {
        "nasbot": {100: [3.0, 1.0], 101: [3.0, 2.0], 102: [9.0, 9.0]},
        "evolution": {100: [3.0, 2.0], 101: [4.0, 4.0], 103: [0.0, 0.0], 102: [9.0]},
        "random": {500: [0.0, 0.0]},
    }
    runs = [
        {"problem": "p", "method": method, "seed": seed, "values": values, "reported": [10.0 * v for v in values]}
        for method, seeds in told.items()
        for seed, values in seeds.items()
    ]
    file.write_text("".join(json.dumps(run) + "\n" for run in runs))
    header, _, line = script.report(file, (1, 2)).splitlines()
    assert header.count("|") == line.count("|")
    assert line.startswith("| p | evolution | 2 | 15.0000 | 30.0000 | -5.0000 [")
    assert line.endswith("| 2 / 0 |")


def test_fresh_seeds_are_run_once(tmp_path):
    file = tmp_path / "runs.jsonl"
    for _ in range(2):
        script.run(file, ["landscape"], ["evolution"], 2, 12, first=100)
    assert [row["seed"] for row in script.rows(file)] == [100, 101]


def test_the_name_of_a_perceptron_problem_says_how_it_is_trained():
    short, fast = replace(RECIPE, epochs=5), replace(RECIPE, learning_rate=1e-2)
    names = {script.label("protein", *how) for how in ((12_000, RECIPE), (12_000, short), (500, RECIPE), (500, fast))}
    assert len(names) == 4
    assert {script.label("nasbench-macro", 500, one) for one in (RECIPE, short)} == {"nasbench-macro"}


def test_a_problem_without_its_file_is_named(tmp_path):
    for name in ("nasbench-macro", script.label("protein", 500, RECIPE)):
        with pytest.raises((OSError, ValueError), match=str(tmp_path)):
            script.load_problem(tmp_path, 500, RECIPE, name)
