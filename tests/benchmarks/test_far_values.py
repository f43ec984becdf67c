"""The benchmark of far values: its optima, what each treatment observes, and runs that are not repeated."""

from __future__ import annotations

from itertools import product

import pytest

from benchmarks import far_values
from benchmarks.far_values import KINDS, Problem, Row, run, take


def test_optima_are_right():
    for name, best in (("Branin", {"x": 9.42478, "y": 2.475}),):
        problem = KINDS[name](0)
        assert problem.objective(best) == pytest.approx(problem.optimum, abs=1e-5)
    bits = KINDS["10 bits"](3)
    every = (dict(zip(bits.space, x, strict=True)) for x in product([False, True], repeat=10))
    assert min(map(bits.objective, every)) == pytest.approx(bits.optimum)


@pytest.mark.parametrize("row", [Row("two", 1e4), Row("two", None)])
def test_a_run_has_a_gap_from_0(monkeypatch, row):
    problem = Problem({"x": range(40)}, lambda point: float(point["x"]), 0.0, n_trials=8)
    monkeypatch.setitem(KINDS, "two", lambda _: problem)
    for how in ("clean", "failed", "observed"):
        assert run(row, how, 0) >= 0.0


def test_a_run_of_the_file_is_not_repeated(monkeypatch, tmp_path):
    runs = []
    monkeypatch.setattr(far_values, "run", lambda row, how, seed: runs.append((str(row), how, seed)) or 0.5)
    rows = [Row("mixed", 1e4), Row("mixed", 1e12)]
    found = take(rows, range(2), tmp_path / "runs.jsonl")
    assert take(rows, range(2), tmp_path / "runs.jsonl").keys() >= found.keys()
    assert len(runs) == len(set(runs)) == 2 * (1 + 1 + 2)  # clean and failed serve both far values
