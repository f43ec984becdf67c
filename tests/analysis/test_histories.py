"""The picture of a run: values by origin, the best so far, what failed, and an axis that shows what the model did."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pytest

import bostruct as bo
from bostruct.analysis import plots
from bostruct.analysis.plots import plot_history
from bostruct.contracts import BostructError
from bostruct.display import pluralize
from bostruct.goals.declared import Goals, Limit
from bostruct.study.history import Trial
from bostruct.testing.searcher_laws import ORIGINS
from tests.analysis.test_plots import curve, result

ONE_GOAL = Goals(("minimize",))


def marks(axes: object) -> dict[str, list[list[float]]]:
    return {marked.get_label(): marked.get_offsets().tolist() for marked in axes.collections}


def history(trials: Sequence[Trial], goals: Goals = ONE_GOAL) -> bo.Result:
    return bo.Result(tuple(trials), tuple(range(len(trials))), goals, 0, "fake", "done")


@pytest.mark.parametrize(
    ("direction", "best"), [("minimize", [5.0, 3.0, 3.0, 1.0]), ("maximize", [5.0, 5.0, 7.0, 7.0])]
)
def test_the_line_is_the_best_so_far(direction, best):
    axes = plot_history(result([5.0, 3.0, 7.0, 1.0], direction=direction))
    assert curve(axes, "best so far") == ([1, 2, 3, 4], best)


def test_failures_are_marked_and_the_line_begins_at_the_first_value():
    axes = plot_history(result([None, 4.0, None, 2.0]))
    assert curve(axes, "best so far") == ([2, 3, 4], [4.0, 4.0, 2.0])
    assert [x for x, _ in marks(axes)["2 failed"]] == [1, 3]


def test_every_value_is_marked_by_its_origin():
    axes = plot_history(result([5.0, 3.0, None, 1.0, 2.0], ["initial", "initial", "model", "model", "model"]))
    assert marks(axes)["initial"] == [[1, 5], [2, 3]]
    assert marks(axes)["model"] == [[5, 2]]  # the best one is a star


def test_every_origin_of_a_method_has_a_look_of_its_own():
    origins = (*ORIGINS, "repeat")
    assert len({plots.ORIGINS[origin] for origin in origins}) == len(origins)


def test_the_best_is_named_with_its_value_and_trial():
    axes = plot_history(result([5.0, 3.25, 7.0]))
    (label,) = [text for text in axes.texts if "best" in text.get_text()]
    assert label.get_text() == "\N{BLACK STAR} best 3.25, trial 1, the 2nd to finish"
    axes.figure.draw_without_rendering()
    assert label.get_window_extent().y0 >= axes.get_window_extent().y1  # no value is there


def test_a_title_names_study_method_and_trials():
    study = bo.Study({"a": bool}, method="random", seed=0, name="flags of $gcc")
    study.optimize(lambda point: 1.0 * point["a"], 2, progress=False)
    axes = plot_history(study)
    assert axes.get_title(loc="left") == r"flags of \$gcc: random, 2 trials"
    axes.figure.draw_without_rendering()  # a dollar sign is no formula


def test_the_initial_phase_takes_a_seventh_of_the_width():
    axes = plot_history(result([9.0] * 40 + [5.0, 4.0, 3.0] * 10, ["initial"] * 40 + ["model"] * 30))
    axes.figure.draw_without_rendering()
    start, border, end = (axes.transData.transform((x, 5.0))[0] for x in (0.5, 40.5, 70.5))
    assert (border - start) / (end - start) == pytest.approx(1 / 7, abs=0.01)
    assert axes.get_xticks().tolist() == [1, 40, 45, 50, 55, 60, 65, 70]


def test_an_outlier_is_at_the_border_and_counted():
    axes = plot_history(result([1e6, 5.0, 4.0, 2.0, 4.0, 3.5, 2.5, 2.2, 3.0, 1.0]))
    assert axes.get_ylim()[1] < 10.0
    assert axes.get_ylabel() == "value (minimized), 1 above the axis"
    assert [place for found in marks(axes).values() for place in found if place[0] == 1.0] == [[1.0, 0.985]]  # no dot


def test_all_values_are_shown_unless_some_are_far():
    """The axis left out 15 of 80 values between -7 and 5, and ended at 1."""
    values = [5.2, 4.0, 3.0, 1.5, *np.linspace(0.5, -6.8, 30), *[-5.0, -2.0, 2.5] * 10]
    axes = plot_history(result(values, ["initial"] * 4 + ["model"] * 60))
    assert "beyond" not in axes.get_ylabel()
    low, high = axes.get_ylim()
    assert low < min(values) < max(values) < high


def test_marks_of_the_first_and_the_last_of_many_trials_are_whole():
    axes = plot_history(result([float(i % 50) for i in range(2000)], ["initial"] * 10 + ["model"] * 1990))
    axes.figure.draw_without_rendering()
    ends = axes.transData.transform([[1.0, 0.0], [2000.0, 0.0]])[:, 0]
    radius = 2.2 * axes.figure.dpi / 72.0  # of a dot of 18 square points
    assert axes.bbox.x0 + radius < ends[0] < ends[1] < axes.bbox.x1 - radius


def test_the_recommended_trial_has_a_ring_if_it_is_not_the_best():
    noise = np.random.default_rng(0)
    study = bo.Study({"x": bo.Real(0.0, 1.0)}, seed=0)
    study.optimize(lambda point: (point["x"] - 0.3) ** 2 + noise.normal(), 20, progress=False)
    found = study.result.recommended.trial
    assert found.number != study.best_trial.number
    axes = plot_history(study)
    assert marks(axes)[f"recommended, trial {found.number}"] == [[found.number + 1, found.value]]
    exact = bo.minimize(lambda point: point["x"], {"x": [1, 2, 3]}, 3, seed=0, progress=False)
    assert not [label for label in marks(plot_history(exact)) if label.startswith("recommended")]


def test_positive_values_over_decades_are_on_a_log_scale():
    axes = plot_history(result([300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3]))
    assert axes.get_yscale() == "log"
    assert "log scale" in axes.get_ylabel()


def test_noise_is_drawn_as_told_and_as_measured():
    repeated = Trial(1, {}, "completed", 3.0, repeats=(2.0, 4.0))  # the mean has a standard error of 1
    axes = plot_history(history([Trial(0, {}, "completed", 2.0, sd=0.5), repeated]))
    (bars,) = [one for one in axes.collections if one.get_label() == "_nolegend_" or hasattr(one, "get_segments")]
    lengths = [np.ptp(segment[:, 1]) / 2 for segment in bars.get_segments()]
    assert lengths == pytest.approx([0.5, 1.0])


@pytest.mark.parametrize("values", [[None, None], [None]])
def test_a_run_without_a_value_says_so(values):
    axes = plot_history(result(values))
    told = f"no trial has completed: {pluralize(len(values), 'trial')}, {len(values)} failed, 0 infeasible"
    assert told in {text.get_text() for text in axes.texts}
    axes.figure.draw_without_rendering()


def test_a_single_trial_is_drawn():
    axes = plot_history(result([3.0]))
    assert axes.get_xticks().tolist() == [1]
    low, high = axes.get_ylim()
    assert low < 3.0 < high


def test_an_optimum_far_away_is_named_and_does_not_flatten_the_run():
    axes = plot_history(result([5.0, 3.0, 2.0]), optimum=-1e6)
    assert axes.get_ylim()[0] > 0.0
    assert "optimum -1e+06, not in the picture" in {text.get_text() for text in axes.get_legend().get_texts()}


def limited(n: int, kept: set[int], values: list[float] | None = None) -> bo.Result:
    """Make a run in which few trials keep a limit on `l`; their values are worse."""
    rng = np.random.default_rng(0)
    trials = []
    for i in range(n):
        told = 9.5 if i in kept else float(rng.normal(5.0 - 0.1 * i))
        origin, broken = "initial" if i < 10 else "model", () if i in kept else ("l",)
        constraints = {"l": 0.5 if i in kept else 1.25 + 0.5 * (i != 20)}
        told = told if values is None else values[i]
        trials.append(Trial(i, {}, "completed", told, info={"origin": origin}, constraints=constraints, broken=broken))
    return history(trials, Goals(("minimize",), (Limit("l", "<=", 1.0),)))


@pytest.mark.parametrize("at", [33, 59])
def test_most_of_what_the_method_chose_is_seen_where_few_trials_keep_a_limit(at):
    done = limited(60, {at})
    axes = plot_history(done)
    low, high = axes.get_ylim()
    chosen = [trial.value for trial in done.trials[10:]]
    assert sum(low <= value <= high for value in chosen) > 0.6 * len(chosen)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [
        "violates a constraint",
        *["best so far"] * (at < 59),
    ]  # no dot but the star, and no line of one point


def test_trials_that_break_a_limit_by_far_do_not_squeeze_the_others():
    values = [-1e6 if i % 4 == 0 else 5.0 - 0.05 * i for i in range(60)]
    axes = plot_history(limited(60, {i for i in range(60) if i % 4}, values))
    assert axes.get_ylim()[0] > 0.0
    beyond = [one for one in axes.collections if one.get_label() == "violates a constraint"]
    assert [len(one.get_offsets()) for one in beyond] == [15]  # triangles alone, which the legend shows
    assert beyond[0].get_offset_transform() == axes.get_xaxis_transform()


def test_a_run_without_a_trial_that_keeps_the_limits_names_them_and_the_nearest():
    axes = plot_history(limited(40, set()))
    name, limits, nearest = axes.get_title(loc="left").split("\n")
    assert (name, limits) == ("fake, 40 trials", "no trial satisfies all constraints: l <= 1")
    assert nearest == "the nearest of 40 completed trials is trial 20, whose l is 1.25"
    assert not [text for text in axes.texts if "no trial" in text.get_text()]
    axes.figure.draw_without_rendering()


def test_trials_that_were_stopped_early_have_a_mark_of_their_own():
    values = [5.0, 4.0, 4.5, 3.0, 3.5, 2.0]
    infos = [{"origin": "model"} | ({"stopped_at": 2} if i in (2, 4) else {}) for i in range(6)]
    axes = plot_history(history([Trial(i, {}, "completed", values[i], info=infos[i]) for i in range(6)]))
    assert marks(axes)["stopped early"] == [[3, 4.5], [5, 3.5]]
    assert marks(axes)["model"] == [[1, 5.0], [2, 4.0], [4, 3.0]]
    assert "stopped early" in {text.get_text() for text in axes.get_legend().get_texts()}


@pytest.mark.parametrize("count", [1, 4, 6, 9])
def test_legends_of_any_number_of_marks_are_within_the_figure(count):
    trials = [
        Trial(i, {}, "completed", float(i), sd=0.1, info={"origin": list(plots.ORIGINS)[i % count]}) for i in range(30)
    ]
    axes = plot_history(history(trials), optimum=-1.0)
    axes.figure.draw_without_rendering()
    extent = axes.get_legend().get_window_extent()
    assert 0.0 <= extent.x0 < extent.x1 <= axes.figure.bbox.width


def test_infeasible_trials_stand_out_from_a_dark_background():
    with plt.style.context("dark_background"):
        axes = plot_history(history([Trial(0, {}, "completed", 1.0), Trial(1, {}, "infeasible")]))
    (infeasible,) = (one for one in axes.collections if one.get_label() == "1 infeasible")
    assert infeasible.get_facecolor()[0, :3].min() > 0.8


def test_the_noise_of_values_beyond_the_axis_is_not_in_the_legend():
    values = [1e6, 5.0, 4.0, 2.0, 4.0, 3.5, 2.5, 2.2, 3.0, 1.0]
    axes = plot_history(history([Trial(i, {}, "completed", v, sd=None if i else 0.5) for i, v in enumerate(values)]))
    assert "noise, one s.d." not in {text.get_text() for text in axes.get_legend().get_texts()}


@pytest.mark.parametrize(
    ("given", "settings", "error", "words"),
    [
        (result([1.0]), {"optimum": "low"}, TypeError, "optimum: expected"),
        (result([1.0]), {"optimum": float("nan")}, ValueError, "optimum: expected"),
        (result([1.0]), {"ax": 5}, TypeError, "ax: expected axes of matplotlib, got 5"),
        ("result", {}, TypeError, "result: expected a Result or a Study, got 'result'"),
        (result([]), {}, ValueError, "expected at least one finished trial"),
        (history([], Goals(("minimize", "minimize"))), {}, BostructError, "2 objectives"),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, settings, error, words):
    with pytest.raises(error, match=words):
        plot_history(given, **settings)
