"""Parallel coordinates: a line a trial, gaps under conditions, the best one last."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import bostruct as bo
from bostruct.analysis import pictures, slices
from bostruct.analysis.coordinates import plot_parallel_coordinates
from bostruct.contracts import BostructError
from tests.analysis.test_plots import result
from tests.analysis.test_point_columns import study


def read_lines(axes) -> list[np.ndarray]:
    """Return the heights of each line that is drawn: of the best trial last."""
    others, _ = (one for one in axes.collections if isinstance(one, LineCollection))
    best = [np.asarray(line.get_ydata()) for line in axes.get_lines() if line.get_label().startswith("best")]
    return [np.asarray(path.vertices)[:, 1] for path in others.get_paths()] + best


def test_a_line_a_trial_with_gaps_where_a_variable_is_inactive():
    done = study(12)
    axes = plot_parallel_coordinates(done)
    lines = read_lines(axes)
    assert len(lines) == 12
    lacking = [trial.point["optimizer"] != "sgd" for trial in done.trials]
    assert sum(np.isnan(line[1]) for line in lines) == sum(lacking)
    _, bridges = (one for one in axes.collections if isinstance(one, LineCollection))
    dotted = [np.asarray(path.vertices) for path in bridges.get_paths()]
    assert len(dotted) == sum(lacking) - (done.best_point["optimizer"] != "sgd")
    assert not any(np.isnan(line).any() for line in dotted)
    best = max(axes.get_lines(), key=lambda line: line.get_zorder())
    assert best.get_label() == f"best, trial {done.best_trial.number}"
    assert np.asarray(best.get_ydata())[-1] == 1.0
    axes.figure.draw_without_rendering()


def test_of_many_trials_some_are_drawn_and_the_title_says_so(monkeypatch):
    done = study(60)
    for name in ("MOST_DRAWN", "MOST_DRAWN_LINES"):
        monkeypatch.setattr(pictures, name, 20)
    axes = plot_parallel_coordinates(done)
    assert len(read_lines(axes)) == 20
    for drawn in (axes, slices.plot_slices(done, ["rate"])[0]):
        assert drawn.get_title(loc="left").endswith("random, 60 trials\n20 of 60 trials drawn, evenly by rank")


@pytest.mark.parametrize(("name", "look"), [("short", (0, "center")), ("long enough", (25, "right"))])
def test_long_names_are_turned(name, look):
    done = bo.Study({name: bool}, method="random", seed=0)
    done.optimize(lambda point: float(point[name]), 2, progress=False)
    label = plot_parallel_coordinates(done).get_xticklabels()[0]
    assert (label.get_rotation(), label.get_ha()) == look


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_better_is_up(direction):
    done = bo.Study({"x": bo.Real(0.0, 1.0)}, method="random", seed=0, direction=direction)
    done.optimize(lambda point: point["x"], 5, progress=False)
    ends = [line.tolist() for line in read_lines(plot_parallel_coordinates(done))]
    worst, best = (0.0, 1.0) if direction == "maximize" else (1.0, 0.0)
    assert [worst, 0.0] in ends
    assert [best, 1.0] in ends


def test_one_trial_is_drawn_and_none_is_refused():
    plot_parallel_coordinates(study(1)).figure.draw_without_rendering()
    with pytest.raises(BostructError, match="at least one completed trial"):
        plot_parallel_coordinates(result([None]))
