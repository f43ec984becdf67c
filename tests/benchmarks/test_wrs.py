"""The benchmarks of weighted random search: their functions, and that each of them runs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import wrs_digits, wrs_griewank, wrs_methods, wrs_theorem
from bostruct.language import SearchSpace
from bostruct.nas.spaces.wrs_cnn import wrs_cnn
from bostruct.searchers.wrs import WeightedRandomSearch

pytestmark = pytest.mark.slow  # of the code of a benchmark, not of the package


def test_the_function_is_the_paper_s():
    assert wrs_griewank.objective({f"x{i}": 0.0 for i in range(1, 7)}) == 0.0
    one = {f"x{i}": 0.0 for i in range(1, 7)} | {"x1": np.pi, "x3": 20.0}  # x1 is in the product alone
    assert wrs_griewank.objective(one) == pytest.approx(-(1 + 2 * 400 / 4000 + np.cos(20 / 3**0.5)))


def test_the_simulation_improves_on_random_search_and_stays_below_the_maximum():
    found = {
        mode: np.mean(wrs_griewank.simulate(mode, 200, 100, np.random.default_rng(0)))
        for mode in ("random", "shared", "independent", "single")
    }
    assert found["random"] < found["shared"] < found["independent"] < found["single"] < 0.0


def test_random_search_meets_the_optimum_as_often_as_it_must():
    values = wrs_theorem.tables("independent values", 4_000, np.random.default_rng(0))
    met = wrs_theorem.simulate(values, None, 48, np.random.default_rng(1))
    expected = 1.0 - (1.0 - 1.0 / 960.0) ** np.array([1, 24, 48])
    np.testing.assert_allclose(met[[0, 23, 47]], expected, atol=0.012)


def test_the_searcher_meets_the_optimum_once_all_points_are_seen():
    values = wrs_theorem.tables("sum of effects", 1, np.random.default_rng(0))[0]
    searcher = WeightedRandomSearch(wrs_theorem.SPACE, wrs_theorem.chances, n_random=2, mode="shared")
    assert wrs_theorem.first_hit(searcher, values, 960, np.random.default_rng(0)) < 960


def test_each_prints_its_table(monkeypatch, capsys):
    monkeypatch.setattr(wrs_griewank, "SIMULATED_RUNS", 10)
    monkeypatch.setattr(wrs_digits, "SPACE", SearchSpace(wrs_cnn(filters=(2, 5), units=(4, 9))))
    monkeypatch.setattr(wrs_methods, "MARKS", (20, 40))
    wrs_griewank.main(["--runs", "2", "--trials", "40"])
    wrs_methods.main(["--methods", "wrs,random", "--seeds", "2"])
    wrs_theorem.main(["--runs", "20", "--searcher-runs", "2", "--steps", "16"])
    wrs_digits.main(["--seeds", "2", "--trials", "3", "--epochs", "1"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) == (2 + 5) + (2 + 6) + (2 + 12) + (2 + 4)
    assert not [row for row in rows if "nan" in row]
