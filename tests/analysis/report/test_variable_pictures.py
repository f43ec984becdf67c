"""Pictures of variables are of those that an axis can hold, the most important first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import bostruct as bo
from bostruct.analysis.report import pictures
from bostruct.analysis.report.facts import Run, read_run
from bostruct.analysis.report.pictures import (
    MOST_ROWS,
    count_bars,
    count_rows,
    describe_parallel_coordinates,
    describe_slices,
)
from bostruct.analysis.report.tables import clean_names, tabulate_effects
from bostruct.surrogates.fanova import Effect, Importances


def run(space: Any, value: Any, n: int = 30, **goals: Any) -> Run:
    study = bo.Study(space, method="random", seed=0, **goals)
    study.optimize(value, n, progress=False)
    return read_run(study)


def test_the_most_important_variable_is_first_for_each_objective():
    space = {name: [0, 1, 2] for name in "abc"}
    found = run(space, lambda p: (9.0 * p["b"] + p["c"], 9.0 * p["c"] + p["a"]), directions=["minimize"] * 2)
    assert found.sorted_variables[0][0] == "b"
    assert found.sorted_variables[1][0] == "c"
    assert describe_slices(found).startswith("Observed values against each of b, c, a, the most important first.")


def test_a_variable_that_the_best_point_lacks_comes_last():
    space = {"a": bool, "b": [0, 1, 2], "c": bo.Integer(0, 9, when={"a": True})}
    found = run(space, lambda p: 5.0 + 3.0 * p["c"] if p["a"] else 0.1 * p["b"])
    assert found.sorted_variables[0][-1] == "c"


def test_of_many_variables_the_text_names_those_that_are_drawn():
    found = run({f"v{i:02d}": bool for i in range(34)}, lambda p: float(sum(p.values())) + 9.0 * p["v20"], 12)
    text = describe_parallel_coordinates(found)
    assert "through the 10 most important of 34 variables (v20, " in text
    assert count_bars(found) == 15


def test_of_many_trials_the_text_says_how_many_are_drawn(monkeypatch):
    for name, most in (("MOST_DRAWN", 20), ("MOST_DRAWN_LINES", 10)):
        monkeypatch.setattr(pictures, name, most)
    found = run({"a": range(40), "b": bool}, lambda p: float(p["a"] + p["b"]), 40)
    assert "20 of 40 trials drawn, evenly by rank." in describe_slices(found)
    assert "A line for each of 10 of 40 completed trials" in describe_parallel_coordinates(found)


@pytest.mark.parametrize(
    ("share", "spread", "said"), [(0.3, 0.1, "yes"), (0.3, 0.3, "unsure"), (0.004, 0.001, "below 1%")]
)
def test_the_table_says_which_shares_are_clear(share, spread, said):
    assert f">{said}</td>" in str(tabulate_effects(Importances({"a": Effect(share, spread)}, {}), "Importances"))


def test_points_without_named_variables_have_no_pictures_of_them():
    order = run({"order": bo.Permutation(range(6))}, lambda p: float(p["order"][0]), 12)  # 720 values fit no axis
    assert order.sorted_variables[0] == []
    assert run(bo.cnn_domain(), len, 2).sorted_variables[0] == []
    assert run({"a": bool}, lambda p: float(p["a"]), 1).sorted_variables[0] == []


def test_rows_are_of_the_first_objectives():
    many = run({"a": bool, "b": bool}, lambda p: (float(p["a"]), 2.0, 3.0, 4.0), 2, directions=["minimize"] * 4)
    assert count_rows(many) == MOST_ROWS
    assert "A row for each of the first 3 objectives." in describe_slices(many)


def test_selected_variables_come_first_in_the_table():
    long = "c" * 80
    found = Importances({"a": Effect(0.6, 0.1), "b": Effect(0.3, 0.1), long: Effect(0.1, 0.0)}, {}, selected=(long,))
    cleaned = clean_names(found)
    first, *others = cleaned.main
    assert (others, cleaned.selected) == (["a", "b"], (first,))
    assert list(clean_names(found._replace(selected=())).main)[:2] == ["a", "b"]


def test_selected_variables_come_first_in_all_pictures():
    """Parallel coordinates left out the variables that the model used, because they were not among the first 14."""
    space = {**{f"v{i:02d}": bool for i in range(16)}, "m": bo.Mixture(["p", "q"])}
    found = run(space, lambda p: 9.0 * p["v03"] + p["v15"] + p["m"]["p"])
    assert found.sorted_variables[0][0] == "v03"
    last = replace(found.result.trials[-1], info={"fit": "x", "variables": ["v15", "m"]})
    chosen = Run("", replace(found.result, trials=(*found.result.trials[:-1], last)))
    assert set(chosen.sorted_variables[0][:3]) == {"v15", "m.p", "m.q"}
    assert chosen.sorted_variables[0][3] == "v03"
    assert {panel.get_xlabel() for panel in bo.plot_slices(chosen.result)[:3]} == {"v15", "m.p", "m.q"}
    ticks = bo.plot_parallel_coordinates(chosen.result).get_xticklabels()
    assert [tick.get_text() for tick in ticks[:4]] == ["v15", "m.p", "m.q", "v00"]
    bars = bo.plot_importance(chosen.result)
    assert {tick.get_text() for tick in bars.get_yticklabels()[-3:]} == {"v15", "m.p", "m.q"}
    assert "\nthe first 3: the variables that the last model selected\n" in bars.get_title(loc="left")
