"""Branin on a grid: values of the published code, the formula done plainly, the minimum over all points."""

import math

import numpy as np
import pytest

from bostruct.problems.branin import branin, branin_values


def test_branin_values_and_minimum():
    problem = branin()
    rows = np.array([(0, 0), (25, 25), (50, 50), (6, 42), (27, 7), (0, 50), (48, 8), (27, 8), (6, 41)])
    golden = [308.129059, 24.129965, 145.872208, 0.448188, 0.449314, 17.508297, 0.403770, 0.414719, 0.427672]
    np.testing.assert_allclose(problem.evaluate(rows), golden, rtol=2e-7, atol=1e-6)
    assert (problem.optimal_vertices, problem.optimal_point) == ((48, 8), {"x1": 9.4, "x2": 2.4})
    assert problem.space.variables["x1"].graph.weight == 50.0
    assert problem.space.variables["x1"].choices[::25] == (-5.0, 2.5, 10.0)
    assert problem.initial_points(4)[0] == {"x1": 2.5, "x2": 7.5}


def test_the_grid_is_branins_function_at_the_values_of_its_variables():
    problem = branin()
    rows = problem.space.sample(200, np.random.default_rng(0))
    x, y = np.array([list(problem.space.present(row).values()) for row in rows]).T
    bowl = y - 5.1 * x * x / (4 * math.pi**2) + 5 * x / math.pi - 6
    expected = bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * np.cos(x) + 10
    np.testing.assert_allclose(branin_values(rows), expected, rtol=1e-12)


def test_no_point_is_below_the_optimum_which_is_above_that_of_the_plane():
    problem = branin()
    values = branin_values(np.stack(np.meshgrid(np.arange(51), np.arange(51), indexing="ij"), -1).reshape(-1, 2))
    assert problem.space.size == len(values) == 2_601
    assert problem.optimum == values.min() == pytest.approx(0.403770, abs=1e-6)
    assert problem.optimum > 0.397887  # of the continuous function (Dixon and Szego 1978)


def test_the_center_comes_first_and_the_second_point_is_that_of_the_configuration():
    problem = branin()
    starts = [problem.initial(config).tolist() for config in problem.configs]
    assert {tuple(start[0]) for start in starts} == {(25, 25)}
    assert len({tuple(start[1]) for start in starts}) > len(starts) // 2
