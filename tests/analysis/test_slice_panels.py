"""Panels of slices: marks for what lies beyond the axis, and labels that differ."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.analysis import pictures
from bostruct.analysis.slices import plot_slices, put_slice_legend


def test_values_beyond_the_axis_are_triangles_and_none_is_lost():
    space = {"x": bo.Real(0.0, 1.0), "kind": ["a", "b"], "y": bo.Real(0, 1, when={"kind": "b"})}
    done = bo.Study(space, method="random", seed=0)
    for i in range(24):
        point = {"x": i / 23} | ({"kind": "a"} if i > 2 else {"kind": "b", "y": 0.25 * i})
        done.add(point, 1000.0 + i if i < 3 else 0.1 * i)
    (panel,) = plot_slices(done, ["y"])
    beyond = [one for one in panel.collections if one.get_offset_transform() == panel.get_xaxis_transform()]
    assert sorted(x for one in beyond for x, _ in one.get_offsets()) == [0.0, 0.25, 0.5]
    assert panel.get_ylabel() == "value, 3 above the axis"
    assert [one.get_xlabel().split(" (")[0] for one in plot_slices(done)][-1] == "y"


def test_of_many_trials_those_drawn_are_counted(monkeypatch):
    monkeypatch.setattr(pictures, "MOST_DRAWN", 50)
    done = bo.Study({"x": bo.Real(0.0, 1.0)}, method="random", seed=0)
    for i in range(100):
        done.add({"x": i / 99}, 1e6 if i < 10 else -i / 99)
    (panel,) = plot_slices(done)
    beyond = [one for one in panel.collections if one.get_offset_transform() == panel.get_xaxis_transform()]
    assert sum(len(one.get_offsets()) for one in beyond) == 5
    assert panel.get_ylabel() == "value, 5 above the axis"
    assert panel.get_xlim()[0] < 0.0  # the triangles count


@pytest.mark.parametrize("variable", [bo.Integer(1, 4), bo.Ordinal([1, 2, 4, 8]), bo.Ordinal([0.5, 1.5, 2.5, 3.5])])
def test_few_numbers_of_many_trials_are_jittered_like_categories(variable):
    done = bo.Study({"n": variable, "y": bo.Real(0, 1)}, method="random", seed=0)
    done.optimize(lambda point: point["n"] + point["y"], 60, progress=False)
    for result, is_jittered in ((done.result, True), (done.result.where(lambda point: point["y"] < 0.2), False)):
        (panel,) = plot_slices(result, ["n"])
        places = np.concatenate([one.get_offsets()[:, 0] for one in panel.collections if one.get_label() != "best"])
        known = np.array(sorted({trial.point["n"] for trial in result.trials}), dtype=float)
        nearest = np.abs(places[:, None] - known).min(axis=1)
        assert (len(np.unique(places)) > 50) == is_jittered
        assert 0.0 < nearest.max() < 0.35 * np.diff(known).max() if is_jittered else nearest.max() == 0.0


def test_subsets_have_labels_that_differ():
    space = {"beans": bo.Subset(["arabica", "robusta", "liberica", "excelsa"], size=(1, 3)), "x": bo.Real(0, 1)}
    done = bo.minimize(lambda point: point["x"], space, 14, method="random", seed=0, progress=False)
    (panel,) = plot_slices(done, ["beans"])
    labels = [tick.get_text() for tick in panel.get_xticklabels()]
    assert len(set(labels)) == len(labels) == 14
    assert "ara+rob+lib" in labels
    shades = bo.plot_effects(done, ("beans", "x"))
    across = [tick.get_text() for tick in shades.get_xticklabels()]
    assert len(set(across)) == len(across)


def test_the_legend_explains_each_mark_once():
    done = bo.minimize(lambda p: p["x"] + p["y"], {"x": bo.Real(0, 1), "y": bo.Real(0, 1)}, 6, method="random", seed=0)
    panels = plot_slices(done, ["x", "y"])
    figure = panels[0].figure
    figure.legends.clear()
    put_slice_legend(panels)
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "best" in named
    assert len(set(named)) == len(named)


def test_a_legend_with_all_marks_is_within_the_figure():
    done = bo.Study({"x": bo.Real(0, 1), "y": bo.Real(0, 1)}, seed=0, constraints={"l": ("<=", 0.5)})
    done.optimize(lambda p: {"value": p["y"] - p["x"], "constraints": {"l": p["x"]}}, 14, progress=False)
    figure = plot_slices(done)[0].figure
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 5
    assert 0.0 <= legend.get_window_extent().x0 < legend.get_window_extent().x1 <= figure.bbox.width


def test_numbers_are_named_one_by_one_where_they_stand_apart():
    """Values close to each other had labels that lay on each other."""

    def name_ticks(values):
        done = bo.Study({"rate": bo.Real(1e-5, 1.0, log=True)}, method="random", seed=0)
        for value in values:
            done.add({"rate": value}, value)
        (panel,) = plot_slices(done)
        return [tick.get_text() for tick in panel.get_xticklabels()]

    assert name_ticks([1e-5, 1e-3, 0.1]) == ["1e-05", "0.001", "0.1"]
    assert "4.2e-05" not in name_ticks([3.892e-5, 4.2e-5, 4.5e-4, 0.004, 0.35])
