"""Slices: a panel a variable, the model through the best point, and trials alone where there is no model."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.text import Text

import bostruct as bo
from bostruct.analysis.slices import plot_slices
from bostruct.contracts import BostructError
from bostruct.searchers.bayesian import BayesianSearch
from tests.analysis.test_plots import result

SPACE = {"x": bo.Real(0.0, 1.0), "c": ["a", "b", "d"], "n": bo.Ordinal([1, 2, 4, 8])}


def worth(point: dict) -> float:
    return 10.0 * (point["x"] - 0.3) ** 2 + {"a": 0.0, "b": 1.0, "d": 2.0}[point["c"]] + 0.01 * point["n"]


def study(method: str = "auto", n: int = 20) -> bo.Study:
    found = bo.Study(SPACE, method=method, seed=0)
    found.optimize(worth, n, progress=False)
    return found


def test_the_model_goes_through_the_best_point():
    done = study()
    panels = plot_slices(done, ["x", "c"])
    assert [panel.get_xlabel() for panel in panels] == ["x", "c"]
    (line,) = panels[0].get_lines()
    xs, ys = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    best = done.best_point
    expected = done.predict([{**best, "x": float(x)} for x in xs[::10]]).mean
    np.testing.assert_allclose(ys[::10], expected)
    assert panels[0].get_title(loc="left") == "slices through the best of auto, 20 trials"
    panels[0].figure.draw_without_rendering()


def test_integers_have_integer_ticks():
    done = bo.Study({"k": bo.Integer(1, 3), "x": bo.Real(0.0, 1.0)}, method="random", seed=0)
    done.optimize(lambda point: point["k"] + point["x"], 12, progress=False)
    whole, real = plot_slices(done, ["k", "x"])
    ticks = np.asarray(whole.get_xticks())
    np.testing.assert_array_equal(ticks, np.round(ticks))
    assert any(tick % 1 for tick in real.get_xticks())


def test_the_most_important_variable_comes_first():
    assert [panel.get_xlabel() for panel in plot_slices(study())] == ["x", "c", "n"]


def test_without_a_model_trials_are_drawn_alone():
    panels = plot_slices(study("random", 6))
    assert sorted(panel.get_xlabel() for panel in panels) == ["c", "n", "x"]
    assert all(not panel.get_lines() for panel in panels)


def test_a_single_trial_and_two_objectives_are_drawn():
    plot_slices(study("random", 1))[0].figure.draw_without_rendering()
    both = bo.Study(SPACE, seed=0, directions=["minimize", "maximize"])
    both.optimize(lambda point: (worth(point), point["x"]), 12, progress=False)
    (panel,) = plot_slices(both, ["x"], objective=1)
    assert panel.get_lines()


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(BostructError, match="at least one completed trial"):
        plot_slices(result([None]))
    with pytest.raises(ValueError, match="axes: expected one for each of 2 variables"):
        plot_slices(study("random", 2), ["x", "c"], axes=np.empty(1, dtype=object))


def test_without_a_trial_that_keeps_the_limits_there_are_no_slices_and_the_title_says_why():
    done = bo.Study(SPACE, method="auto", seed=0, constraints={"l": ("<=", 1.0)})
    done.optimize(lambda point: {"value": worth(point), "constraints": {"l": 2.0 + point["x"]}}, 12, progress=False)
    panels = plot_slices(done, ["x", "c"])
    what, limits, nearest = panels[0].get_title(loc="left").split("\n")
    assert (what, limits) == ("values by variable of auto, 12 trials", "no trial satisfies all constraints: l <= 1")
    assert nearest.startswith("the nearest of 12 completed trials is ")
    assert plot_slices(study("random", 6))[0].get_title(loc="left") == "values by variable of random, 6 trials"


def test_the_best_trial_is_a_star_alone():
    for panel in plot_slices(study("random", 6), ["x", "c"]):
        marked = {one.get_label(): len(one.get_offsets()) for one in panel.collections}
        assert marked["best"] == 1
        assert sum(marked.values()) == 6


@pytest.mark.parametrize("objective", ["seconds", 1.0, None, 1])
def test_the_position_of_an_objective_is_checked(objective):
    done = study("random", 3)
    for draw in (plot_slices, bo.plot_parallel_coordinates):
        with pytest.raises((TypeError, ValueError), match=r"objective: expected (an int|at least 0|0, because).*, got"):
            draw(done, objective=objective)


def test_names_and_axes_are_checked():
    done = study("random", 3)
    for draw in (plot_slices, bo.plot_parallel_coordinates):
        for names in ("x", 5):
            with pytest.raises(TypeError, match="names: expected a list of names of variables, got"):
                draw(done, names)
        with pytest.raises(ValueError, match="names: expected at least one name"):
            draw(done, [])
    with pytest.raises(TypeError, match="axes: expected axes of matplotlib, got None"):
        plot_slices(done, ["x", "c"], axes=[None, None])


def list_heights(panel) -> tuple[list[float], list[float]]:
    """Return places and means of the bars of a model on a panel."""
    (bars,) = (one for one in panel.containers if one.get_label().startswith("model"))
    return np.asarray(bars.lines[0].get_xdata()).tolist(), np.asarray(bars.lines[0].get_ydata()).tolist()


@pytest.mark.parametrize("choices", [[0.5, 1, 2], [8, 4.0, 1, 2.5, 3]])
def test_all_numbers_of_a_list_are_predicted_whatever_the_type_of_the_best(choices):
    done = bo.Study({"o": bo.Ordinal(choices), "y": bo.Real(0, 1)}, seed=1)
    done.optimize(lambda point: abs(point["o"] - 1) + point["y"], 14, progress=False)
    seen = [trial.point["o"] for trial in done.trials]
    expected = [one for one in sorted(choices) if min(seen) <= one <= max(seen)]
    assert isinstance(done.best_point["o"], int)
    assert len(expected) > 2
    at, means = list_heights(plot_slices(done, ["o"])[0])
    assert at == expected
    np.testing.assert_allclose(means, done.predict([{**done.best_point, "o": one} for one in expected]).mean)


def test_integers_are_a_line_through_integers_alone():
    done = bo.Study({"n": bo.Integer(0, 5000), "y": bo.Real(0, 1)}, seed=1)
    done.optimize(lambda point: abs(point["n"] - 100) + point["y"], 8, progress=False)
    (line,) = plot_slices(done, ["n"])[0].get_lines()
    xs = np.asarray(line.get_xdata())
    assert len(xs) > 20
    assert (xs == np.round(xs)).all()


def test_the_model_is_conditioned_once_for_all_panels(monkeypatch):
    done, count = study(), []
    condition = BayesianSearch._condition
    monkeypatch.setattr(BayesianSearch, "_condition", lambda *args: count.append(1) or condition(*args))
    assert len(plot_slices(done)) == 3
    assert len(count) == 1


def test_values_near_the_largest_float_are_drawn():
    done = bo.Study({"x": bo.Real(0.0, 1.0)}, method="random", seed=0)
    values = iter([1.0, 3.0, 1e308, -1e308] * 3)
    done.optimize(lambda _: next(values), 12, progress=False)
    for axes in (bo.plot_history(done), plot_slices(done)[0]):
        axes.figure.draw_without_rendering()
        assert np.all(np.isfinite(axes.get_ylim()))


def test_what_is_not_drawn_is_named():
    space = {"rate": bo.Real(0, 1), "order": bo.Permutation(list("abcdef"))}
    result = bo.minimize(lambda point: point["rate"], space, 14, method="random", seed=0, progress=False)
    (panel,) = bo.plot_slices(result)
    assert panel.get_title(loc="right") == "not drawn: order"
    many = {f"x{i}": bool for i in range(16)}
    wide = bo.minimize(lambda point: float(point["x0"]), many, 4, method="random", seed=0, progress=False)
    assert bo.plot_parallel_coordinates(wide).get_title(loc="right") == "not drawn: x14, x15"


def test_titles_and_legend_of_one_panel_fit_and_do_not_meet():
    done = bo.Study({"rate": bo.Real(0, 1), "order": bo.Permutation(list("abcdef"))}, seed=0, name="soldering, week 47")
    done.optimize(lambda point: point["rate"], 12, progress=False)
    (panel,) = bo.plot_slices(done)
    figure = panel.figure
    figure.draw_without_rendering()
    found = {text.get_text(): text.get_window_extent() for text in panel.findobj(Text) if text.get_text()}
    title = next(extent for text, extent in found.items() if text.startswith("slices through the best of soldering"))
    assert found["not drawn: order"].y1 <= title.y0 + title.height / 2  # beside the second line, which is empty
    (legend,) = figure.legends
    for extent in (title, legend.get_window_extent()):
        assert extent.x0 >= 0
        assert extent.x1 <= figure.bbox.width
