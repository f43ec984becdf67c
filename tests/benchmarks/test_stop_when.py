"""The benchmark of StopWhen: its optima are those of its objectives, and a row says what happened."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from benchmarks.stop_when import PROBLEMS, bits, measure, table


@pytest.mark.parametrize("problem", [bits(4, 3), table(1), PROBLEMS["rough"](2)])
def test_the_values_are_those_of_all_points(problem) -> None:
    choices = [[False, True] if kind is bool else list(range(6)) for kind in problem.space.values()]
    values = [problem.objective(dict(zip(problem.space, point, strict=True))) for point in product(*choices)]
    np.testing.assert_allclose(np.sort(values), np.sort(problem.values))


def test_a_row_counts_the_runs() -> None:
    cells = [cell.strip() for cell in measure("bits8", 0.5, 0.05, 1).strip("|").split("|")]
    assert cells[:5] == ["bits8", "0.5", "0.05", "1 of 1", "1 of 1"]
    assert 10 < float(cells[5]) < 60
