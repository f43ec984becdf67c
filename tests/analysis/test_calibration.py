"""The picture of leave-one-out predictions: all trials are in it, and its verdict follows the coverage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import bostruct as bo
from bostruct.analysis.calibration import _limit_predictions, describe_coverage, draw_calibration, plot_calibration
from bostruct.analysis.pictures import BLUE, ORANGE
from bostruct.contracts import BostructError
from bostruct.study.predictions import HALF_WIDTH, LeftOutTrials

SPACE = {f"b{i}": bool for i in range(6)}


def worth(point: dict[str, bool]) -> float:
    return float(sum(2.0**i * bit for i, bit in enumerate(point.values())))


DIRECTIONS = pytest.mark.parametrize(("direction", "sign"), [("minimize", 1.0), ("maximize", -1.0)])


def study_of(n: int = 4, method: str = "random", objective: Callable = worth, **settings: str) -> bo.Study:
    study = bo.Study(SPACE, method=method, seed=0, **settings)
    study.optimize(objective, n, progress=False)
    return study


def left_out(n_outside: int, n: int = 100) -> LeftOutTrials:
    told = np.where(np.arange(n) < n_outside, 3.0, 0.5)
    return LeftOutTrials(np.arange(n), told, np.zeros(n), np.ones(n))


@pytest.mark.parametrize(
    ("n_outside", "verdict"), [(5, "consistent with 95%"), (30, "too sure of itself"), (0, "too cautious")]
)
def test_the_verdict_follows_the_coverage(n_outside, verdict):
    assert describe_coverage(left_out(n_outside)) == f"{100 - n_outside} of 100 in the 95% interval: {verdict}"


def test_values_far_off_are_counted_though_the_coverage_is_right():
    found = left_out(5)
    found = found._replace(observed=np.where(np.arange(100) < 2, 9.0, found.observed))
    assert describe_coverage(found) == "95 of 100 in the 95% interval: too sure of some, 2 beyond 3 s.d."


def test_intervals_are_shown_whole_where_they_leave_the_means_room():
    axes = Figure().subplots()
    _limit_predictions(axes, left_out(0, 4), -1.0, 1.0)
    assert axes.get_ylim() == pytest.approx((-HALF_WIDTH, HALF_WIDTH))
    _limit_predictions(axes, left_out(0, 4), 0.0, 1.0)
    assert axes.get_ylim() == (-0.5, 1.5)


def test_all_trials_are_drawn():
    study = study_of(16, "auto", direction="maximize")
    left, right = plot_calibration(study)
    found = study.result.cross_validate()
    drawn = sorted(x for line in left.get_lines() if line.get_marker() in "oD" for x in np.asarray(line.get_xdata()))
    assert drawn == pytest.approx(sorted(found.observed))
    residuals = sorted(y for marked in right.collections for _, y in marked.get_offsets())
    assert residuals == pytest.approx(sorted(np.clip(found.residuals, -6.0, 6.0)))
    assert left.get_title(loc="left") == "leave-one-out of auto, 16 trials"
    left.figure.draw_without_rendering()


@DIRECTIONS
def test_values_far_worse_than_most_leave_the_others_their_room(direction, sign):
    study = study_of(16, "auto", lambda p: sign * (1e9 if p["b0"] and p["b1"] else worth(p)), direction=direction)
    far = [abs(trial.value) for trial in study.trials if abs(trial.value) > 1e8]
    assert far
    left = plot_calibration(study)[0]
    assert left.get_xlabel() == f"observed ({direction}d), {len(far)} beyond"
    assert np.ptp(left.get_xlim()) < 100.0
    assert np.ptp(left.get_ylim()) < 250.0


@DIRECTIONS
def test_values_beyond_are_triangles_at_the_border_as_high_as_predicted(direction, sign):
    study = study_of(direction=direction)
    told = sign * np.array([*np.linspace(0.0, 10.0, 20), 1e6, 2e6, 3e6])
    mean = sign * np.array([*np.linspace(0.0, 10.0, 20), 4.0, 6.0, 1e5])
    sd = np.array([1.0] * 20 + [1e6, 1.0, 1.0])  # the first one beyond is inside its interval
    left = draw_calibration(study.result, LeftOutTrials(np.arange(23), told, mean, sd), 0, None)[0]
    worse, top = (left.get_xlim()[1], left.get_ylim()[1]) if sign > 0.0 else (left.get_xlim()[0], left.get_ylim()[0])
    (marks,) = (one for one in left.collections if isinstance(one, PathCollection) and len(one.get_offsets()))
    np.testing.assert_allclose(marks.get_offsets(), [[worse, sign * 4.0], [worse, sign * 6.0], [worse, top]])
    assert [to_hex(color) for color in marks.get_facecolors()] == [BLUE.lower(), *[ORANGE.lower()] * 2]
    tip = marks.get_paths()[0].vertices[0]
    assert tip == pytest.approx([sign * 0.5, 0.0])  # it points out of the axes


@DIRECTIONS
def test_the_best_value_is_on_the_axis_however_far_it_is(direction, sign):
    study = study_of(direction=direction)
    told = sign * np.array([-1e6, *np.linspace(0.0, 10.0, 20), 1e9])
    found = LeftOutTrials(np.arange(22), told, np.zeros(22), np.ones(22))
    left = draw_calibration(study.result, found, 0, None)[0]
    assert left.get_xlabel() == f"observed ({direction}d), 1 beyond"
    low, high = sorted(sign * end for end in left.get_xlim())
    assert -1.1e6 < low < -1e6
    assert 10.0 < high < 1e5
    drawn = np.concatenate([line.get_xdata() for line in left.get_lines() if line.get_marker() in "oD"])
    assert sign * -1e6 in drawn


def test_the_legend_counts_what_is_there_and_the_verdict_fits_the_figure():
    study = study_of()
    for n_outside, labels in (
        (0, ["100 values inside the 95% interval", "observed = predicted"]),
        (1, ["99 values inside the 95% interval", "1 value outside the 95% interval", "observed = predicted"]),
    ):
        pair = draw_calibration(study.result, left_out(n_outside), 0, None)
        assert sorted(text.get_text() for text in pair[0].get_legend().get_texts()) == sorted(labels)
    found = left_out(5)._replace(observed=np.where(np.arange(100) < 2, 9.0, 0.5))
    _, right = draw_calibration(study.result, found, 0, None)
    figure = right.figure
    figure.draw_without_rendering()
    title = next(one for one in right.get_children() if getattr(one, "get_text", str)().startswith("98 of"))
    assert title.get_text().endswith("2 beyond 3 s.d.")
    assert title.get_window_extent().x1 <= figure.bbox.width


def test_methods_without_a_gaussian_process_are_refused_in_words():
    study = study_of(method="smac")
    with pytest.raises(BostructError, match=r"expected a method with a Gaussian process, such as auto"):
        plot_calibration(study)
