"""`auto` where few of many variables matter: its suggestions, with conditions, constraints, failures and batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.methods import auto, model_based_hyperband
from bostruct.surrogates.map_gp import NoiseSelection
from bostruct.surrogates.selection import VariableSelection
from tests.cli.invoke import call

BITS = {f"b{i}": bool for i in range(30)}
MATTER = {"b3", "b11", "b17", "b20"}


def value(point: Any) -> float:
    """Return a function of four bits, of minimum -4.5 at one setting of these."""
    a, b, c, d = (2.0 * point[name] - 1.0 for name in sorted(MATTER, key=lambda name: int(name[1:])))
    return -2.0 * a * b - 1.5 * c * d + 0.6 * a - 0.4 * c


def run(space: Any, objective: Callable[[Any], float] = value, n_trials: int = 50, **settings: Any) -> bo.Result:
    return bo.minimize(objective, space, n_trials, seed=0, progress=False, **settings)


def last_selected(result: bo.Result) -> set[str]:
    return next(set(one.info["variables"]) for one in reversed(result.trials) if "variables" in one.info)


def test_the_variables_that_matter_are_on_record_and_the_others_are_random():
    result = run(BITS)
    assert last_selected(result) == MATTER
    assert result.best_value == pytest.approx(-4.5)
    late = [trial.point for trial in result.trials[-15:]]
    assert all("variables" in trial.info for trial in result.trials[-15:])
    others = np.array([[point[name] for name in BITS if name not in MATTER] for point in late])
    assert 0.3 < others.mean() < 0.7
    assert len({tuple(row) for row in others.tolist()}) == 15


def test_values_are_not_random_where_small_effects_show():
    def with_small(point: Any) -> float:
        return value(point) + 0.15 * sum(point[name] for name in BITS if name not in MATTER)

    late = [one for one in run(BITS, with_small, 70).trials[-20:] if "variables" in one.info]
    assert len(late) >= 10
    assert np.mean([one.point[name] for one in late for name in BITS if name not in MATTER]) < 0.25


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path):
    whole = run(BITS)
    for n_trials in (20, 33, 41, 50):
        found = run(BITS, n_trials=n_trials, storage=str(tmp_path / "runs.db"), name="s")
    assert [one.point for one in found.trials] == [one.point for one in whole.trials]


def test_no_dense_suggestion_changes():
    def dense(point: Any) -> float:
        signs = 2.0 * np.array([*point.values()]) - 1.0
        return float(signs @ np.roll(signs, 1) + 0.5 * signs.sum())

    method: Any = auto(bo.Space(BITS))
    plain = bo.minimize(dense, BITS, 40, seed=0, progress=False)
    method = replace(method, surrogate=method.surrogate.on_all_variables())
    all_variables = bo.minimize(dense, BITS, 40, method=method, seed=0, progress=False)
    assert [one.point for one in plain.trials] == [one.point for one in all_variables.trials]


def test_constraints_hold_for_the_random_values():
    def few(point: Any) -> bool:
        return sum(point.values()) <= 14

    result = run(bo.Space(BITS, constraints=[few]))
    assert last_selected(result) >= {"b3", "b11"}
    assert all(few(one.point) for one in result.trials)


def test_conditions_bring_their_parents_and_random_values_obey_them():
    space = bo.Space({**BITS, "n": bo.Real(0.0, 1.0, when={"b3": True}), "m": range(4), "k": range(3)})
    result = run(space, lambda point: value(point) - 3.0 * point.get("n", 0.0))
    assert last_selected(result) & MATTER
    assert all(("n" in one.point) == one.point["b3"] for one in result.trials)
    assert result.best_value < -6.0


def test_random_values_avoid_failures_that_other_variables_cause():
    def fragile(point: Any) -> float:
        if point["b5"] and point["b6"]:
            raise bo.Infeasible("both")
        return value(point)

    result = run(BITS, fragile, n_trials=70)
    late = result.trials[40:]
    assert sum("variables" in one.info for one in late) > 20
    assert sum(one.status != "completed" for one in late) <= 3


def test_kinds_of_variables_are_selected():
    space = bo.Space(
        {
            **{f"r{i}": bo.Real(0.0, 1.0) for i in range(8)},
            **{f"c{i}": list("pqrs") for i in range(8)},
            **{f"o{i}": bo.Ordinal([1, 2, 4, 8, 16]) for i in range(6)},
            "order": bo.Permutation(range(4)),
            "set": bo.Subset(range(5), size=2),
        }
    )
    effects = dict(zip("pqrs", (0.0, 2.0, -1.0, 0.5), strict=True))

    def mixed(point: Any) -> float:
        return 6.0 * (point["r2"] - 0.3) ** 2 + effects[point["c5"]] + 1.2 * (point["order"].index(2) == 0)

    result = run(space, mixed, n_trials=60)
    assert last_selected(result) >= {"c5"}
    assert result.best_value < -0.95


def test_two_objectives_limits_and_fidelities_have_the_model_of_all_variables():
    assert isinstance(auto(bo.Space(BITS)).surrogate.surrogate, VariableSelection)  # type: ignore[attr-defined]
    result = bo.minimize(
        lambda point: (value(point), float(point["b0"])), BITS, 30, directions=["minimize"] * 2, seed=0, progress=False
    )
    assert not any("variables" in one.info for one in result.trials)
    space = bo.Space({**BITS, "steps": bo.Fidelity([1, 3, 9])})
    proposals: Any = model_based_hyperband(space).proposals  # type: ignore[attr-defined]
    assert isinstance(proposals.surrogate.surrogate.surrogate, NoiseSelection)


def test_few_variables_schedules_and_thousands_have_the_model_of_all_variables():
    for space in (
        bo.Space({f"b{i}": bool for i in range(19)}),
        bo.Space({**BITS, "p": bo.Permutation(list("abc"), resources={"a": 1, "b": 2, "c": 1})}),
        bo.Space({f"b{i}": bool for i in range(1_001)}),
    ):
        assert isinstance(auto(space).surrogate.surrogate, NoiseSelection)  # type: ignore[attr-defined]


def test_a_batch_has_random_values_too():
    with bo.Study(BITS, seed=0) as study:
        study.optimize(value, 45, progress=False)
        batch = [study.ask() for _ in range(3)]
    assert all("variables" in one.info for one in batch)
    assert len({tuple(one.point.values()) for one in batch}) == 3


def test_importances_and_the_report_name_the_selected_variables(tmp_path):
    result = run(BITS, storage=str(tmp_path / "runs.db"))
    bo.write_report(result, tmp_path / "run.html")
    assert "selected 4 variables" in (tmp_path / "run.html").read_text()
    found = bo.importance(result)
    assert set(found.selected) == MATTER
    named = f"4 variables: {', '.join(found.selected)}"
    assert f"the last model selected {named}" in repr(found)
    assert f"selected     {named}\n" in call("show", tmp_path / "runs.db").stdout
    assert bo.importance(run(BITS, n_trials=12, method="random")).selected == ()


def test_the_selected_variables_are_named_after_a_suggestion_of_the_regression():
    result = run(BITS)
    regression = {"why": "no better value in 10 suggestions; a sample of a regression"}
    last = replace(result.trials[-1], info={"origin": "model", **regression})
    later = replace(result, trials=(*result.trials[:-1], last))
    assert set(bo.importance(later).selected) == MATTER
