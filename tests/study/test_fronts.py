"""The front of trials, and the volume that it dominates, are those of definitions written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bostruct.goals.declared import Goals
from bostruct.study.history import Trial
from bostruct.study.result import find_front, measure_hypervolume, measure_hypervolumes

pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12)


def _dominates(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a != b and a[0] <= b[0] and a[1] <= b[1]


@given(pairs)
def test_a_front_is_what_nothing_dominates_the_first_told_of_equals(points: list[tuple[int, int]]) -> None:
    found = find_front(np.array(points, dtype=np.float64))
    best = [p for p in points if not any(_dominates(q, p) for q in points)]
    assert [points[i] for i in found] == sorted(set(best))
    assert all(points.index(points[i]) == i for i in found)


@given(pairs)
def test_volumes_are_the_cells_that_are_dominated(points: list[tuple[int, int]]) -> None:
    goals = Goals(("minimize", "maximize"))
    trials = [Trial(i, {}, "completed", values=(float(a), -float(b))) for i, (a, b) in enumerate(points)]
    volumes = measure_hypervolumes(trials, goals, (7.0, -7.0))
    for n, volume in enumerate(volumes, start=1):
        cells = {(x, y) for a, b in points[:n] for x in range(a, 7) for y in range(b, 7)}
        assert volume == pytest.approx(len(cells))
        assert measure_hypervolume(trials[:n], goals, (7.0, -7.0)) == pytest.approx(len(cells))


def test_trials_that_break_a_limit_or_failed_have_no_volume() -> None:
    goals = Goals(("minimize", "minimize"))
    broken = Trial(0, {}, "completed", values=(0.0, 0.0), broken=("w",))
    fine = Trial(1, {}, "completed", values=(1.0, 1.0))
    told = [broken, Trial(2, {}, "failed", reason="rain"), fine]
    assert measure_hypervolumes(told, goals, (2.0, 2.0)) == (0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"reference\[0\]: expected a finite number"):
        measure_hypervolumes(told, goals, (float("nan"), 1.0))


def test_a_reference_of_text_is_refused() -> None:
    told = [Trial(0, {}, "completed", values=(1.0, 1.0))]
    with pytest.raises(TypeError, match=r"reference\[0\]: expected a number, got '9'"):
        measure_hypervolumes(told, Goals(("minimize", "minimize")), ("9", "9"))  # type: ignore[arg-type]
