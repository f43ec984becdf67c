"""What functions that draw refuse, by the name of the argument."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.analysis.pictures import (
    check_optimum,
    check_variable_names,
    list_observed,
    list_runs,
    require_result,
    require_single,
    take_axes,
    take_panels,
    thin_trials,
)
from bostruct.contracts import BostructError

SPACE = {"a": range(5), "b": bool}
RESULT = bo.minimize(lambda point: point["a"], SPACE, 4, method="random", seed=0)
BOTH = bo.minimize(
    lambda point: (point["a"], 1.0), SPACE, 4, method="random", seed=0, directions=["minimize", "minimize"]
)


def test_a_study_counts_as_its_result():
    study = bo.Study(SPACE, method="random", seed=0)
    assert require_result(RESULT) is RESULT
    assert require_result(study).n_completed == 0
    with pytest.raises(TypeError, match="result: expected a Result or a Study, got 3"):
        require_result(3)
    with pytest.raises(BostructError, match="result: expected at least one completed trial, got none"):
        list_observed(require_result(study), 0)
    assert len(list_observed(RESULT, 0)) == 4


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_trials_are_thinned_evenly_by_rank_and_the_best_one_that_keeps_all_limits_stays(direction):
    study = bo.Study({"a": range(99)}, method="random", seed=0, direction=direction, constraints={"c": ("<=", 70.0)})
    for a in range(99):
        study.add({"a": a}, float(a * 37 % 99), constraints={"c": float(a)})
    told = list_observed(study.result, 0)
    assert thin_trials(study.result, told, 0, 99) == told
    kept = thin_trials(study.result, told, 0, 15)
    assert (len(kept), study.best_trial in kept) == (15, True)
    assert [trial.number for trial in kept] == sorted({trial.number for trial in kept})
    assert sum(trial.is_feasible for trial in kept) == 11  # 71 of 99
    values = sorted(trial.value for trial in kept if trial.is_feasible)
    assert max(np.diff(values)) < 20.0


@pytest.mark.parametrize("objective", ["seconds", 1.0, 1, -1])
def test_an_objective_is_a_position(objective):
    with pytest.raises((TypeError, ValueError), match=r"^objective: expected"):
        list_observed(RESULT, objective)


def test_a_curve_is_of_several_results():
    assert list_runs("auto", [RESULT, RESULT]) == [RESULT, RESULT]
    with pytest.raises(
        TypeError, match=r"results: expected a list of results for 'auto', such as \[result\], got a Result"
    ):
        list_runs("auto", RESULT)


def test_axes_are_those_of_matplotlib():
    pytest.importorskip("matplotlib")
    axes = take_axes(None, 2.0, 2.0)
    assert take_axes(axes, 2.0, 2.0) is axes
    assert take_panels([axes], 1, "one").tolist() == [axes]
    with pytest.raises(TypeError, match="ax: expected axes of matplotlib, got 'x'"):
        take_axes("x", 2.0, 2.0)
    with pytest.raises(ValueError, match="axes: expected two, got"):
        take_panels([axes], 2, "two")


def test_names_optima_and_single_objectives_are_checked():
    check_variable_names(None)
    check_variable_names(["a"])
    with pytest.raises(TypeError, match="names: expected a list of names of variables, got 'a'"):
        check_variable_names("a")
    with pytest.raises(ValueError, match="names: expected at least one name"):
        check_variable_names([])
    with pytest.raises(TypeError, match=r"^optimum: expected"):
        check_optimum("low")
    check_optimum(None)
    assert require_single("result", RESULT) is RESULT
    with pytest.raises(BostructError, match=r"^result: the study has 2 objectives, and this plot shows only one"):
        require_single("result", BOTH)
