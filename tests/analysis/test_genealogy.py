"""Genealogies are those on record: each suggestion is one change away from its parent, and others are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import bostruct as bo
from bostruct.analysis.genealogy import list_ancestors, plot_genealogy
from bostruct.analysis.pictures import write_ordinal
from bostruct.contracts import BostructError

SPACE = {f"b{i}": bool for i in range(8)}


@pytest.mark.parametrize("method", ["evolution", "regularized-evolution", "annealing", "hill-climbing"])
def test_the_parent_on_record_is_one_change_away(method):
    def worth(point: dict[str, bool]) -> float:
        if point["b0"] and point["b1"] and point["b2"]:
            raise bo.Infeasible("all three")  # so that trials and completed points are numbered otherwise
        return float(sum(point.values()))

    study = bo.Study(SPACE, method=method, seed=0)
    study.optimize(worth, 40, progress=False)
    with_parents = [trial for trial in study.trials if "parent" in trial.info]
    assert len(with_parents) > 10
    for trial in with_parents:
        parent = study.trials[trial.info["parent"]]
        assert parent.status == "completed"
        assert parent.number < trial.number
        assert sum(trial.point[name] != parent.point[name] for name in SPACE) == 1
    axes = plot_genealogy(study)
    assert axes.get_title(loc="left") == f"genealogy of {method}, 40 trials"
    lines = max((found.get_paths() for found in axes.collections), key=len)
    assert len(lines) == sum(trial.status == "completed" for trial in with_parents)
    axes.figure.draw_without_rendering()


def test_the_line_of_the_best_ends_at_a_trial_without_a_parent():
    study = bo.Study(SPACE, method="evolution", seed=1)
    study.optimize(lambda point: float(sum(point.values())), 40, progress=False)
    line = next(line for line in plot_genealogy(study).get_lines() if str(line.get_label()).startswith("best"))
    xs = np.asarray(line.get_xdata())
    assert study.result.order[int(xs[0]) - 1] == study.best_trial.number
    number, place = study.best_trial.number, write_ordinal(int(xs[0]))
    assert str(line.get_label()) == f"best, trial {number}, the {place} to finish; {len(xs) - 1} ancestors"
    assert "parent" not in study.trials[study.result.order[int(xs[-1]) - 1]].info


def test_methods_without_parents_are_refused_in_words():
    study = bo.Study(SPACE, method="random", seed=0)
    study.optimize(lambda point: float(sum(point.values())), 4, progress=False)
    with pytest.raises(BostructError, match="no trial of random records its parent"):
        plot_genealogy(study)


def test_ancestors_end_where_the_records_go_round_or_are_no_numbers():
    study = bo.Study(SPACE, method="random", seed=0)
    study.optimize(lambda point: float(sum(point.values())), 3, progress=False)
    parents = (1, 0, [])
    told = [replace(trial, info={"parent": one}) for trial, one in zip(study.trials, parents, strict=True)]
    assert [trial.number for trial in list_ancestors(told[0], told)] == [0, 1]
    assert [trial.number for trial in list_ancestors(told[2], told)] == [2]


def test_values_beyond_the_axis_are_triangles_and_counted():
    study = bo.Study(SPACE, method="evolution", seed=0)
    study.optimize(lambda point: float(sum(point.values())) + 1e4 * (point["b0"] and point["b1"]), 60, progress=False)
    axes = plot_genealogy(study)
    values = np.array([trial.value for trial in study.trials])
    assert axes.get_ylabel().endswith(f", {np.sum(values > 1e3)} above the axis")
    places = [one for one in axes.collections if one.get_offset_transform() == axes.get_xaxis_transform()]
    assert {int(x) - 1 for one in places for x, _ in one.get_offsets()} == set(np.flatnonzero(values > 1e3).tolist())


def test_ordinals_have_their_endings():
    written = [write_ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111, 1003)]
    assert written == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th", "1,003rd"]
