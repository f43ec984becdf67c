"""The benchmark of sums: its points are feasible for all methods, and its table reads the stored results."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.sums.__main__ import run, write_tables
from benchmarks.sums.problems import PROBLEMS, round_sum


@pytest.mark.parametrize("name", PROBLEMS)
def test_numbers_of_points_keep_the_sums_of_the_problem(name):
    problem, rng = PROBLEMS[name](0), np.random.default_rng(0)
    points = [problem.space.present(x) for x in problem.space.sample(5, rng)]
    found = [problem.to_array(point) for point in points]
    for x in found:
        assert problem.space.parse(problem.to_point(x)) is not None
        assert all(weights @ x == pytest.approx(limit) for weights, limit in problem.equal)
        assert all(weights @ x <= limit + 1e-6 for weights, limit in problem.upper)


def test_a_run_returns_its_best_value_and_cost():
    found = run(PROBLEMS["six parts"](0), "random", 0)
    assert found.keys() == {"best", "cpu"}


def test_the_table_names_each_problem():
    table = write_tables()
    assert all(f"| {name} | auto |" in table for name in PROBLEMS)


def test_sums_are_rounded_to_integers():
    assert round_sum(np.array([0.4, 1.7, 2.9]), 5).tolist() == [0, 2, 3]
