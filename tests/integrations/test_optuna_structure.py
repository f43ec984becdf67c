"""Fixed parameters of a trial make a point of the space where they can."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution

import bostruct as bo
from bostruct.domains.space.space import Space
from bostruct.integrations.optuna import (
    BostructSampler,
    fix_parameters,
    mirror_study,
    read_search_space,
    read_structured,
)

SPACE = Space({"a": bool, "b": bo.Real(0, 1, when={"a": True}), "c": range(3)}, constraints=[lambda p: p["c"] < 2])


@pytest.mark.parametrize(
    ("given", "fixed", "names"),
    [
        ({"a": False, "c": 0}, {"a": True}, {"a", "b", "c"}),
        ({"a": True, "b": 0.5, "c": 0}, {"a": False, "b": 0.7}, {"a", "c"}),
        ({"a": False, "c": 0}, {"other": 1}, {"a", "c"}),
    ],
)
def test_conditions_hold_with_fixed_parameters(given, fixed, names):
    found = SPACE.present(fix_parameters(SPACE, SPACE.parse(given), fixed, np.random.default_rng(0)))
    assert found.keys() == names
    assert found["a"] == fixed.get("a", given["a"])


@pytest.mark.parametrize("fixed", [{"c": 2}, {"c": "x"}])
def test_fixed_parameters_that_make_no_point_leave_it_alone(fixed):
    x = SPACE.parse({"a": False, "c": 1})
    assert fix_parameters(SPACE, x, fixed, np.random.default_rng(0)).tolist() == x.tolist()


def test_a_search_space_is_a_domain_or_a_dict():
    domain = bo.mlp_domain()
    assert read_search_space(domain) is domain
    assert read_search_space({"a": bool}) == bo.Space({"a": bool})


def test_a_variable_of_the_same_choices_is_taken():
    given = bo.Ordinal([1, 5, 10])
    assert read_structured("dose", given, CategoricalDistribution([10, 1, 5])) is given
    with pytest.raises(ValueError, match=r"expected the choices that the objective uses, .*got \[1, 5, 10\]"):
        read_structured("dose", given, CategoricalDistribution([1, 5]))


def test_sums_and_linear_constraints_are_sampled_mirrored_and_imported():
    space = Space(
        {"mix": bo.Mixture(list("abc")), "units": bo.Allocation(["p", "q"], 5), "x": bo.Real(0, 3), "y": bo.Real(0, 3)},
        constraints=[bo.Linear.parse("x + 2*y <= 3")],
    )
    sampler = BostructSampler(space, seed=0)
    points = []
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: points.append(sampler.suggest_point(trial)) or points[-1]["x"], n_trials=12)
    assert all(space.constraints[0](point) and sum(point["units"].values()) == 5 for point in points)
    assert study.trials[0].user_attrs["mix"] == points[0]["mix"]
    ours, storage = bo.Study(space, seed=0, method="random"), optuna.storages.InMemoryStorage()
    ours.optimize(lambda point: point["x"], 3, progress=False)
    mirror_study(ours, storage)
    back = bo.Study.from_optuna(optuna.load_study(study_name=None, storage=storage))
    assert back.domain == space
    assert [trial.point for trial in back.trials] == [trial.point for trial in ours.trials]
