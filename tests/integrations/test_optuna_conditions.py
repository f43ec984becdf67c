"""Conditions are read off trials where one parameter tells, and nowhere else."""

from __future__ import annotations

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from bostruct.domains.space.clauses import OneOf
from bostruct.integrations.optuna_spaces import infer_conditions

DISTRIBUTIONS = {
    "kind": CategoricalDistribution(["a", "b", "c"]),
    "n": IntDistribution(1, 9),
    "x": FloatDistribution(0, 1),
    "y": FloatDistribution(0, 1),
    "z": CategoricalDistribution([1, 2]),
    "deep": FloatDistribution(0, 1),
}


@pytest.mark.parametrize(
    ("trials", "conditions"),
    [
        ([{"kind": "a", "x": 0.1}, {"kind": "b"}], {"kind": None, "x": {"kind": OneOf("a")}}),
        (
            [{"kind": "a", "x": 0.1}, {"kind": "b"}, {"kind": "c", "x": 0}],
            {"kind": None, "x": {"kind": OneOf("a", "c")}},
        ),
        ([{"kind": "a", "x": 0.1}, {"kind": "a"}], {"kind": None}),
        (
            [{"n": 2}, {"n": 4, "x": 0.1}, {"n": 6, "x": 0.1}],
            {"n": None, "x": {"n": OneOf(4, 5, 6, 7, 8, 9)}},
        ),
        ([{"n": 2, "x": 0.1}, {"n": 4}], {"n": None, "x": {"n": OneOf(1, 2)}}),
        ([{"n": 2, "x": 0.1}, {"n": 3}, {"n": 4, "x": 0.1}], {"n": None}),
        ([{"y": 0.2, "x": 0.1}, {"y": 0.8}], {"y": None}),
        (
            [{"kind": "a", "z": 1, "deep": 0.1}, {"kind": "a", "z": 2}, {"kind": "b"}],
            {"kind": None, "z": {"kind": OneOf("a")}, "deep": {"z": OneOf(1)}},
        ),
        ([{"kind": "a", "n": 2}, {"kind": "b", "n": 3}], {"kind": None, "n": None}),
        ([{"x": 0.1}, {"kind": "a"}], {}),
    ],
)
def test_a_condition_is_what_separates_trials(trials, conditions):
    known = {name: one for name, one in DISTRIBUTIONS.items() if any(name in trial for trial in trials)}
    assert infer_conditions(trials, known) == conditions
