"""Fidelities that a constraint ties to the rest of a point."""

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.domains.fidelity import FidelityLevels
from tests.wide_variable import Order

TIED = bo.Space({"x": range(20), "epochs": bo.Fidelity([1, 3, 9])}, [lambda p: p["epochs"] >= 3 or p["x"] < 10])
JOINT = bo.joint_domain({"first": {"a": bool, "b": bool}, "training": TIED})


@pytest.mark.parametrize("method", ["hyperband", "successive-halving"])
@pytest.mark.parametrize("domain", [TIED, JOINT])
def test_a_fidelity_may_be_tied_to_the_rest(method, domain):
    def objective(point):
        own = point.get("training", point)
        assert own["epochs"] >= 3 or own["x"] < 10
        return abs(own["x"] - 12) + 1.0 / own["epochs"]

    result = bo.minimize(objective, domain, 40, method=method, seed=0)
    assert result.n_completed == 40
    if method == "hyperband":
        assert any(trial.point.get("training", trial.point)["x"] >= 10 for trial in result.trials)


def test_a_constraint_of_the_whole_space_is_kept():
    space = bo.Space(
        {"x": range(20), "epochs": bo.Fidelity([1, 3, 9]), "inner": {"b": bool}},
        [lambda p: p["epochs"] >= 3 or not p["inner"]["b"]],
    )
    with pytest.raises(PointError, match="breaks the constraint"):
        FidelityLevels(space).at_level(space.parse({"x": 1, "epochs": 9, "inner": {"b": True}}), 0)
    result = bo.minimize(lambda p: p["x"] + p["inner"]["b"], space, 30, method="hyperband", seed=0, progress=False)
    assert all(trial.point["epochs"] >= 3 or not trial.point["inner"]["b"] for trial in result.trials)


def test_a_fidelity_may_come_after_a_variable_of_several_columns():
    space = bo.Space({"order": Order("abc"), "epochs": bo.Fidelity([1, 3, 9])})
    levels = FidelityLevels(space)
    x = space.sample(1, np.random.default_rng(0))[0]
    moved = levels.at_level(x, 2)
    assert space.present(moved) == space.present(x) | {"epochs": 9}
    assert levels.level(moved) == 2


def test_a_fidelity_takes_no_conditions():
    with pytest.raises(TypeError, match=r"^Fidelity: when: it takes no conditions.* other variables, got \{'x': 1\}"):
        bo.Fidelity([1, 3], when={"x": 1})


AT_NINE = {
    "x": range(30),
    "e": bo.Fidelity([1, 3, 9]),
    "v": bo.Integer(0, 6, when={"e": 9}),
    "w": bo.Categorical(["p", "q"], when={"v": bo.OneOf(3, 4)}),
    "early": bo.Categorical(["r", "s"], when={"e": bo.OneOf(1, 3)}),
}


@pytest.mark.parametrize("method", ["hyperband", "successive-halving"])
@pytest.mark.parametrize("beside", [{}, {"inner": {"b": bool}}], ids=["plain", "mixed"])
def test_points_are_promoted_to_a_level_that_has_more_variables(method, beside):
    result = bo.minimize(lambda p: abs(p["x"] - 12) + p.get("v", 0) / 9, AT_NINE | beside, 30, method=method, seed=0)
    top = [t.point for t in result.trials if t.info["origin"] == "model" and t.point["e"] == 9]
    assert top
    for point in top:
        assert [t for t in result.trials if t.point["e"] == 3 and t.point["x"] == point["x"]]


def test_a_point_has_one_key_at_all_levels_whatever_variables_they_have():
    space = bo.Space(AT_NINE)
    levels = FidelityLevels(space)
    x = space.parse({"x": 5, "e": 1, "early": "s"})
    every = [levels.at_level(x, level) for level in range(3)]
    assert space.present(every[1]) == {"x": 5, "e": 3, "early": "s"}
    assert space.keys(every[2:]) == space.keys([levels.at_level(every[1], 2)])
    assert len(set(levels.keys(every))) == 1
    others = [space.parse({"x": x, "e": 1, "early": "s"}) for x in range(30)]
    assert len(set(levels.keys(others))) == 30
    assert {space.present(levels.at_level(one, 2))["v"] for one in others} == set(range(7))


@pytest.mark.parametrize("domain", [TIED, JOINT])
def test_keys_forget_the_fidelity_alone(domain):
    levels = FidelityLevels(domain)
    for x in domain.sample(30, np.random.default_rng(0)):
        key, *others = levels.keys([x, *domain.sample(5, np.random.default_rng(1))])
        assert key == levels.keys([levels.at_level(x, 2)])[0]
        assert len({key, *others}) > 1
    low = domain.parse(next(p for p in map(domain.present, domain.sample(99, np.random.default_rng(2))) if high(p)))
    with pytest.raises(PointError):
        levels.at_level(low, 0)


def high(point):
    return point.get("training", point)["x"] >= 10
