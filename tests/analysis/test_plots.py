"""Pictures show what the results hold, and leave the rest of the process alone."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

import bostruct as bo
from bostruct.analysis import plots
from bostruct.contracts import BostructError, MissingExtra
from bostruct.goals.declared import Goals
from bostruct.study.history import Trial


def result(values: list[float | None], origins: list[str] | None = None, direction: str = "minimize") -> bo.Result:
    """One trial a value; None is a failure."""
    trials = tuple(
        Trial(i, {}, "failed" if v is None else "completed", v, info={"origin": (origins or ["model"] * 99)[i]})
        for i, v in enumerate(values)
    )
    return bo.Result(trials, tuple(range(len(values))), Goals((direction,)), 0, "fake", "done")


def curve(axes: object, label: str) -> tuple[list[float], list[float]]:
    line = next(line for line in axes.get_lines() if line.get_label() == label)
    return list(line.get_xdata()), list(line.get_ydata())


def test_the_optimum_is_a_line():
    axes = plots.plot_convergence(result([5.0, 3.0]), optimum=1.5)
    assert set(curve(axes, "optimum 1.5")[1]) == {1.5}


def test_several_are_their_mean_and_one_standard_error():
    axes = plots.plot_convergence([result([4.0, 2.0]), result([8.0, 4.0])])
    assert curve(axes, "mean of 2 runs") == ([1, 2], [6.0, 3.0])
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (2.0, 8.0)  # 3 - 1 and 6 + 2


def test_names_make_curves():
    axes = plots.plot_convergence({"auto": [result([4.0, 2.0])], "random": [result([4.0, 3.0])]})
    assert curve(axes, "auto")[1] == [4.0, 2.0]
    assert curve(axes, "random")[1] == [4.0, 3.0]
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {"auto  2", "random  3"}


def test_a_title_counts_runs_and_trials():
    axes = plots.plot_convergence({"a": [result([4.0, 2.0]), result([4.0, 1.0])], "b": [result([4.0, 3.0, 1.0])]})
    title = "mean best value of 1 to 2 runs, 2 to 3 trials, ± one standard error"
    assert axes.get_title(loc="left") == title


def test_the_legend_names_the_best_at_the_end_first():
    axes = plots.plot_convergence({"bad": [result([4.0, 3.0])], "good": [result([4.0, 2.0]), result([4.0, 1.0])]})
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["good  1.5 ± 0.5", "bad  3"]


def test_what_is_shared_is_drawn_once():
    beginning = ["initial"] * 3 + ["model"] * 9
    groups = {name: [result([9.0, 8.0, 7.0, end], beginning)] for name, end in (("a", 3.0), ("b", 2.0))}
    lines = {line.get_label(): list(line.get_xdata()) for line in plots.plot_convergence(groups).get_lines()}
    assert lines["a"] == lines["b"] == [3, 4]
    assert [xs for label, xs in lines.items() if label.startswith("_")] == [[1, 2, 3]]  # gray


def test_many_curves_have_no_bands_but_intervals_at_the_end():
    groups = {f"m{i}": [result([4.0, 2.0 + i]), result([4.0, 1.0 + i])] for i in range(10)}
    axes = plots.plot_convergence(groups)
    assert not any(type(found).__name__ == "PolyCollection" for found in axes.collections)
    bars = [found for found in axes.collections if hasattr(found, "get_segments")]
    assert len(bars) == 10
    assert axes.get_xlim()[1] < 3.0  # after trial 2
    assert np.ptp(bars[0].get_segments()[0][:, 1]) == pytest.approx(1.0)  # 1.5 and one standard error of 0.5


def test_a_run_that_ended_early_keeps_its_last_value():
    _, best = plots.best_so_far([result([3.0, 1.0]), result([5.0, 4.0, 2.0])])
    np.testing.assert_array_equal(best, [[3.0, 1.0, 1.0], [5.0, 4.0, 2.0]])


def test_draws_on_the_axes_given():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    assert plots.plot_convergence(result([1.0]), ax=axes) is axes
    assert result([1.0]).plot(ax=axes) is axes


def test_single_runs_have_no_mean_and_a_study_stands_for_its_result():
    one = result([4.0, 2.0])
    axes = plots.plot_convergence({"a": [one], "b": [one]})
    assert axes.get_title(loc="left") == "best value of 1 run each, 2 trials"
    assert curve(plots.plot_convergence([one]), "1 run")[1] == [4.0, 2.0]
    study = bo.Study({"a": bool}, method="random", seed=0)
    study.optimize(lambda point: 1.0 * point["a"], 2, progress=False)
    assert plots.plot_convergence(study).get_title(loc="left") == "random, 2 trials"
    assert plots.plot_convergence({"a": [study]}).get_title(loc="left") == "best value of 1 run, 2 trials"


def test_what_cannot_be_averaged_is_refused():
    with pytest.raises(
        TypeError, match=r"results: expected a list of results for 'a', such as \[result\], got a Result"
    ):
        plots.plot_convergence({"a": result([1.0])})
    two = bo.Result((), (), Goals(("minimize", "minimize")), 0, "fake", "done")
    with pytest.raises(BostructError, match=r"results: the study has 2 objectives.*plot_hypervolume"):
        plots.plot_convergence([two])
    with pytest.raises(TypeError, match="optimum: expected a number, got 'low'"):
        plots.plot_convergence([result([1.0])], optimum="low")


@pytest.mark.parametrize("nothing", [[], {}, {"auto": []}, "results", 5, None])
def test_nothing_to_draw_is_refused(nothing):
    with pytest.raises(TypeError, match="results: expected"):
        plots.plot_convergence(nothing)


def test_a_result_without_a_value_is_refused():
    with pytest.raises(ValueError, match="expected a feasible completed trial in each"):
        plots.plot_convergence([result([None])])


@pytest.mark.parametrize("ending", [".xyz", "", ".jpg", ".eps", ".svgz", ".tif", ".webp"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_kind_of_file_that_the_next_call_would_not_know_as_ours_is_refused(ending, overwrite, tmp_path):
    axes = plots.plot_convergence(result([1.0]))
    with pytest.raises(ValueError, match=rf"path: expected a file that ends in \.png, .*; got .*run{ending}$"):
        plots.save_figure(axes, tmp_path / f"run{ending}", overwrite=overwrite)
    assert list(tmp_path.iterdir()) == []


def test_says_which_extra_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match="plot"):
        plots.plot_convergence(result([1.0]))


def test_leaves_pyplot_alone():
    script = (
        "import sys, bostruct as bo\n"
        "result = bo.minimize(lambda point: point['a'], {'a': range(9)}, 5, method='random', seed=0)\n"
        "result.plot()\nassert 'matplotlib.figure' in sys.modules\nassert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_texts_stand_out_from_a_dark_background():
    result = bo.minimize(lambda point: point["x"], {"x": bo.Real(0.0, 1.0)}, n_trials=3, method="random", seed=0)
    found = set()
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            axes = bo.plot_history(result)
        shade = sum(to_rgb(axes.texts[0].get_color())) - sum(to_rgb(axes.get_facecolor()))
        found.add(np.sign(shade))
        assert abs(shade) > 2.0
        plt.close(axes.figure)
    assert found == {-1.0, 1.0}
