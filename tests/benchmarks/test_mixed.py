"""The comparison on numbers, categories and conditions: tasks, runs, what peers are handed, and verdicts."""

import math

import numpy as np
import pytest

from benchmarks.mixed.report import describe_difference, format_tables
from benchmarks.mixed.run import N_INITIAL, Run, is_missing, take
from benchmarks.mixed.searches import Coder, exists
from benchmarks.mixed.tasks import GROUPS, TASKS, ackley, hartmann, levy, rosenbrock
from bostruct.problems.branin import branin_at


def test_functions_have_their_published_minima():
    assert branin_at(math.pi, 2.275) == pytest.approx(0.397887, abs=1e-6)
    best = np.array([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573])
    assert hartmann(best) == pytest.approx(-3.32237, abs=1e-4)
    assert levy(np.ones(10)) == pytest.approx(0.0, abs=1e-12)
    assert rosenbrock(np.ones(4)) == 0.0
    assert ackley(np.zeros(6)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("problem", [name for name in TASKS if not name.startswith(("network", "pipeline"))])
def test_an_instance_is_a_function_of_its_seed(problem):
    task, again = TASKS[problem](3), TASKS[problem](3)
    points = [task.space.present(x) for x in task.space.sample(5, np.random.default_rng(0))]
    assert [task.value(point) for point in points] == [again.value(point) for point in points]


def test_searches_share_their_initial_points():
    runs = [Run("branin, categories", search, 1, N_INITIAL + 2) for search in ("auto", "random")]
    found = [take(run, math.inf)["values"] for run in runs]
    assert found[0][:N_INITIAL] == found[1][:N_INITIAL]
    assert found[0][N_INITIAL:] != found[1][N_INITIAL:]


def test_vectors_of_peers_are_points():
    space = TASKS["network on digits"](0).space
    coder = Coder(space)
    for x in space.sample(50, np.random.default_rng(0)):
        point = space.present(x)
        vector = coder.encode(point)
        assert all(low <= one <= high for one, (low, high) in zip(vector, coder.bounds, strict=True))
        again = coder.decode(vector)
        space.parse(again)
        assert all(again[n] == value or math.isclose(again[n], value, rel_tol=1e-9) for n, value in point.items())


def test_conditions_are_told_to_peers():
    space = next(iter(GROUPS["conditional"].values()))(0).space
    for x in space.sample(30, np.random.default_rng(0)):
        point = space.present(x)
        assert [name for name in space.variables if exists(space, name, point)] == list(point)


def test_verdicts():
    assert describe_difference(np.array([1.0, 1.1, 0.9])).endswith("ahead")
    assert describe_difference(np.array([-1.0, -1.1, -0.9])).endswith("**behind**")
    assert describe_difference(np.array([1.0, -1.0, 0.5])).endswith("level")
    assert describe_difference(np.array([1.0])) == ""


def test_tables_say_what_is_missing_and_cut():
    whole = {"values": [3.0] * 10 + [2.0] * 10, "seconds": [0.0] * 10 + [0.5] * 10, "cut": False}
    runs = {
        Run("branin", "auto", 0, 20): whole,
        Run("branin", "auto", 1, 20): whole,
        Run("branin", "SMAC3", 0, 20): {"missing": "No module named 'smac'"},
        Run("branin", "BoTorch", 0, 20): {**whole, "cut": True},
    }
    text = format_tables(runs)
    assert "| branin | auto | 2 | 2 |  | 0.500 |" in text
    assert "SMAC3: No module named 'smac'" in text
    assert "cut: BoTorch on branin, seed 0" in text
    assert is_missing("ModuleNotFoundError: No module named 'smac'")
    assert not is_missing("ModuleNotFoundError: No module named 'scipy'")
