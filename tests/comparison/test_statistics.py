"""Statistics of a comparison: means, paired differences and tables that are what they say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct import problems
from bostruct.comparison.plan import RunKey
from bostruct.comparison.statistics import method_rows
from bostruct.comparison.value import table_of
from bostruct.goals.declared import Goals
from bostruct.study.history import Trial


def make_result(values: list[Any]) -> bo.Result:
    trials = tuple(
        Trial(i, {"a": i}, "completed", value, info={"origin": "model", "suggest_seconds": 0.5})
        for i, value in enumerate(values)
    )
    return bo.Result(trials, tuple(range(len(values))), Goals(), 0, "fake", "done")


def test_a_constant_lead_has_no_error():
    problem = problems.load("branin")
    finals = {0: 1.0, 1: 4.0, 2: 2.5}
    results = {RunKey("a", seed): make_result([9.0, value]) for seed, value in finals.items()}
    results |= {RunKey("b", seed): make_result([9.0, value + 0.5]) for seed, value in finals.items()}
    first, second = method_rows(problem, results)
    assert first.mean == pytest.approx(2.5)
    assert first.error == pytest.approx(np.std([1.0, 4.0, 2.5], ddof=1) / math.sqrt(3))
    assert (second.difference, second.difference_error) == (0.5, 0.0)
    assert (second.p, second.p_holm) == (None, None)  # equal differences are no evidence by Student's test
    header, cells = table_of([first, second], "best value")
    shown = dict(zip(header, cells[1], strict=True))
    assert (shown["p (Holm)"], shown["95% interval"], shown["difference to a"]) == ("-", "-", "0.5")
    assert "feasible" not in header
    assert math.isnan(first.difference)
    assert second.seconds == 0.5


def test_a_single_seed_has_no_error():
    row = method_rows(problems.load("branin"), {RunKey("a", 0): make_result([3.0])})[0]
    assert math.isnan(row.error)
    header, cells = table_of([row], "best value")
    shown = dict(zip(header, cells[0], strict=True))
    assert (shown["runs"], shown["best value (± s.e.)"], shown["pairs"]) == ("1", "3", "-")


def test_a_row_says_how_many_runs_and_pairs_it_is_over():
    seeds = {"a": (0, 1, 2, 3), "b": (1, 5)}
    results = {RunKey(name, seed): make_result([float(seed)]) for name in seeds for seed in seeds[name]}
    first, second = method_rows(problems.load("branin"), results)
    assert (first.runs, first.pairs, second.runs, second.pairs) == (4, 0, 2, 1)
    header, cells = table_of([first, second], "best value")
    found = [dict(zip(header, row, strict=True)) for row in cells]
    assert [(row["runs"], row["pairs"]) for row in found] == [("4", "-"), ("2", "1")]


def test_optima_are_counted():
    problem = problems.load("branin")
    assert problem.optimum is not None
    runs = {RunKey("a", 0): make_result([problem.optimum]), RunKey("a", 1): make_result([problem.optimum + 1.0])}
    assert method_rows(problem, runs)[0].optima == 1


def test_differences_are_over_shared_seeds_only():
    runs = {
        RunKey("a", 0): make_result([1.0]),
        RunKey("b", 0): make_result([3.0]),
        RunKey("b", 1): make_result([100.0]),
    }
    assert method_rows(problems.load("branin"), runs)[1].difference == 2.0
