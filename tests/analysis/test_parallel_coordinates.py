"""Parallel coordinates: a line a trial, gaps under conditions, the best one last."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.analysis.parallel_coordinates import plot_parallel_coordinates
from bostruct.contracts import BostructError
from tests.analysis.test_plots import result
from tests.analysis.test_point_columns import study


def test_a_line_a_trial_with_gaps_where_a_variable_is_inactive():
    done = study(12)
    axes = plot_parallel_coordinates(done)
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 5]  # four variables and the value
    assert len(lines) == 12
    lacking = [trial.point["optimizer"] != "sgd" for trial in done.trials]
    gaps = [bool(np.isnan(np.asarray(line.get_ydata())[1])) for line in lines]
    assert sum(gaps) == sum(lacking)
    best = max(lines, key=lambda line: line.get_zorder())
    assert best.get_label() == f"best, trial {done.best_trial.number}"
    assert np.asarray(best.get_ydata())[-1] == 1.0
    axes.figure.canvas.draw()


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_better_is_up(direction):
    done = bo.Study({"x": bo.Real(0.0, 1.0)}, method="random", seed=0, direction=direction)
    done.optimize(lambda point: point["x"], 5, progress=False)
    lines = [np.asarray(line.get_ydata()) for line in plot_parallel_coordinates(done).get_lines()]
    ends = sorted(ends.tolist() for ends in lines if len(ends) == 2)
    worst, best = (0.0, 1.0) if direction == "maximize" else (1.0, 0.0)
    assert [worst, 0.0] in ends
    assert [best, 1.0] in ends


def test_one_trial_is_drawn_and_none_is_refused():
    plot_parallel_coordinates(study(1)).figure.canvas.draw()
    with pytest.raises(BostructError, match="at least one completed trial"):
        plot_parallel_coordinates(result([None]))
