"""Variables of one value: single choices, and those that `Space.fix` freezes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import PointError
from bostruct.domains import AllOf, AnyOf, Compare, CompareVariables, Not, ValueOf
from bostruct.domains.space.fixed import Fixed
from bostruct.testing import check_domain, check_kernel, check_variable
from tests.domains.space.test_kinds import DESCRIPTIONS

ONE = {"one": ["x"], "i": bo.Integer(3, 3), "r": bo.Real(1, 1), "o": bo.Ordinal([7.5]), "l": bo.Integer(5, 5, log=True)}
MANY = {"b": bool, "c": ["u", "v", "w"], "n": bo.Integer(1, 9)}


def cost(point):
    return point["n"] + 2 * point["b"] + (point["c"] == "v") + point.get("x", 0.0)


@pytest.mark.parametrize("variable", [one for one in ONE.values() if not isinstance(one, list)], ids=repr)
def test_a_variable_of_one_value_is_a_variable(variable):
    check_variable(variable, np.random.default_rng(0))
    assert variable.is_fixed
    assert bo.Space({"x": variable}).count().count == 1


@pytest.mark.parametrize("variable", DESCRIPTIONS, ids=repr)
def test_a_value_of_any_kind_can_be_fixed(variable):
    space = bo.Space({"x": variable, "b": bool})
    value = space.present(space.sample(1, np.random.default_rng(0))[0])["x"]
    fixed = space.fix(x=value)
    check_variable(fixed.variables["x"], np.random.default_rng(0))
    check_domain(fixed, np.random.default_rng(0))
    again = bo.Space.from_json(json.loads(json.dumps(fixed.to_json())))
    assert again == fixed
    assert again.count().count == 2
    assert fixed.fix(x=value).count().count == 2
    rows = fixed.enumerate()
    assert [space.parse(fixed.present(row)).tolist() for row in rows]
    assert {json.dumps(fixed.encode(row)["x"]) for row in rows} == {json.dumps(space.encode(space.parse(
        {"x": value, "b": True}))["x"])}  # fmt: skip


@pytest.mark.parametrize("method", ["auto", "combo"])
def test_a_fixed_variable_changes_no_suggestion(method):
    without = bo.minimize(cost, MANY, method=method, n_trials=25, seed=1)
    beside = bo.minimize(cost, bo.Space(MANY | ONE), method=method, n_trials=25, seed=1)
    names = list(MANY)
    assert [[trial.point[name] for name in names] for trial in beside.trials] == [
        [trial.point[name] for name in names] for trial in without.trials
    ]


@pytest.mark.parametrize("method", [
    "bocs", "smac", "tpe", "random", "smbo", "mcts", "smbo-mcts", "wrs", "evolution", "regularized-evolution",
    "annealing", "hill-climbing",
])  # fmt: skip
def test_every_method_takes_fixed_variables(method):
    result = bo.minimize(cost, bo.Space(MANY | ONE), method=method, n_trials=24, seed=0)
    assert result.trials[0].point.keys() == (MANY | ONE).keys()
    assert len({json.dumps(trial.point) for trial in result.trials}) > 10


def test_a_kernel_has_no_parameter_for_a_fixed_variable():
    from bostruct.methods.defaults import space_kernel

    given = {"x": bo.Real(0.0, 1.0, when={"b": True}), "y": bo.Real(2.0, 2.0, when={"b": True})}
    space = bo.Space({"one": ["u"], **MANY, **given})
    kernel = space_kernel(space)
    assert [one.size for one in kernel.parameters] == [4, 1]
    assert [one.size for one in space_kernel(bo.Space(ONE)).parameters] == [0]
    check_kernel(kernel, space, np.random.default_rng(0))


def test_methods_and_conditions_with_fixed_variables():
    space = bo.Space({**MANY, **ONE, "x": bo.Real(0, 1, when={"b": True}), "y": bo.Real(2, 2, when={"b": True})})
    check_domain(space, np.random.default_rng(0))
    for method in ("auto", "smac", "tpe"):
        result = bo.minimize(cost, space, method=method, n_trials=14, seed=0)
        assert all(("y" in trial.point) == trial.point["b"] for trial in result.trials)


def test_pictures_show_fixed_variables_only_by_name():
    from bostruct.analysis.point_columns import read_columns

    result = bo.minimize(cost, bo.Space(MANY | ONE).fix(c="v"), method="random", n_trials=8, seed=0)
    assert [one.name for one in read_columns(result, result.trials, None).columns] == ["b", "n"]
    assert [one.name for one in read_columns(result, result.trials, ["c", "n"]).columns] == ["c", "n"]
    shares = {name: one.share for name, one in bo.importance(result).main.items()}
    assert (shares["c"], shares["one"]) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_a_space_of_one_point_ends_after_one_trial():
    result = bo.minimize(lambda point: point["i"], ONE, n_trials=5, seed=0)
    assert len(result.trials) == 1
    assert "the only point of the space has been seen" in result.stopped_because


FREE = bo.Space(
    {
        "model": ["svm", "tree"],
        "c": bo.Real(0.1, 10.0, when={"model": "svm"}),
        "kernel": bo.Categorical(["rbf", "poly"], when={"model": "svm"}),
        "degree": bo.Integer(2, 5, when={"kernel": "poly"}),
        "depth": bo.Integer(1, 9, when={"model": "tree"}),
        "seed": bo.Integer(0, 99),
    },
    constraints=[lambda point: point.get("depth", 0) + point["seed"] < 100],
)


def test_fixed_parents_decide_conditions():
    svm = FREE.fix(model="svm")
    assert list(svm.variables) == ["model", "c", "kernel", "degree", "seed"]
    assert [name for name, one in svm.variables.items() if one.when] == ["degree"]
    assert list(FREE.fix(model="tree", seed=3).variables) == ["model", "depth", "seed"]
    assert list(FREE.fix(kernel="rbf").variables) == ["model", "c", "kernel", "depth", "seed"]
    poly = FREE.fix(kernel="poly")
    assert {name for name, one in poly.variables.items() if one.when} == {"c", "kernel", "degree", "depth"}
    for space in (svm, poly):
        check_domain(space, np.random.default_rng(0), rebuildable=False)
        for x in space.sample(20, np.random.default_rng(0)):
            assert FREE.present(FREE.parse(space.present(x))) == space.present(x)
    assert str(svm.variables["model"]) == "Fixed(Categorical(['svm', 'tree']), 'svm')"


@pytest.mark.parametrize(("values", "message"), [
    ({"modle": "svm"}, r"fix: there is no variable 'modle'; expected one of .*mean 'model'"),
    ({"model": "knn"}, r"fix: model: expected one of \['svm', 'tree'\], got 'knn'"),
    ({"model": "svm", "depth": 3}, "fix: depth: no point has this variable, because of the other fixed values"),
    ({"c": 11.0}, r"fix: c: expected a number from 0.1 to 10.0, got 11.0"),
])  # fmt: skip
def test_what_cannot_be_fixed_is_refused(values, message):
    with pytest.raises(bo.DomainError, match=message):
        FREE.fix(**values)


ALL = {"k": ["u", "v"], "x": bo.Real(0, 1, when={"k": "u"}), "y": bo.Real(0, 1), "z": bo.Integer(0, 3)}
BIG = ValueOf("x", Compare(">", 0.5))
SMALL = ValueOf("y", Compare("<", 0.5))


@pytest.mark.parametrize(("rule", "left"), [
    (Not(BIG), []),
    (bo.Linear({"x": 1, "y": 2, "z": 1}, "<=", 4), [bo.Linear({"y": 2, "z": 1}, "<=", 4)]),
    (bo.Linear({"x": 1}, "<=", 1), []),
    (bo.Linear({"x": 1, "z": 2}, "<=", 4), [bo.Linear({"z": 2}, "<=", 4)]),
    (AnyOf((BIG, SMALL)), [AnyOf((SMALL,))]),
    (AllOf((Not(BIG), ValueOf("k", Compare("==", "v")))), []),
    (Not(AllOf((BIG, SMALL))), []),
    (AnyOf((SMALL, ValueOf("k", Compare("==", "v")))), []),
    (Not(CompareVariables("y", "<=", "x")), []),
])  # fmt: skip
def test_fix_decides_constraints_or_drops_what_is_gone(rule, left):
    space = bo.Space(ALL, [rule])
    fixed = space.fix(k="v")
    assert list(fixed.constraints) == left
    free, some = bo.Space(ALL).fix(k="v"), np.random.default_rng(0)
    for point in map(free.present, free.sample(300, some)):  # as if the constraints had stayed as they were
        assert all(one(point) for one in fixed.constraints) == rule(point)


@pytest.mark.parametrize(("rule", "values", "message"), [
    (BIG, {"k": "v"}, r"fix: constraint x > 0.5 does not hold for \{'k': 'v'\} and without x"),
    (CompareVariables("y", "<=", "x"), {"k": "v"}, "fix: constraint y <= x does not hold"),
    (AllOf((SMALL, BIG)), {"k": "v"}, "fix: constraint .* does not hold"),
    (bo.Linear({"x": 1}, ">=", 0.5), {"k": "v"}, "fix: constraint x >= 0.5 does not hold"),
    (bo.Linear({"y": 1, "z": 1}, "<=", 2), {"y": 0.5, "z": 3}, "fix: constraint y . z <= 2 does not hold"),
    (lambda point: point["y"] >= 0.5, {"y": 0.1}, "fix: constraint <lambda> does not hold for {'y': 0.1}"),
    (lambda point: point["k"] == "u" or point["x"] > 0.5, {"k": "v"}, r"fix: .* reads x, .*point.get\('x', VALUE\)"),
])  # fmt: skip
def test_fix_refuses_a_constraint_that_no_point_satisfies(rule, values, message):
    with pytest.raises(bo.DomainError, match=message):
        bo.Space(ALL, [rule]).fix(**values)


@pytest.mark.parametrize("rule", [
    lambda point: len(point) > 2,
    lambda point: {**point}["y"] >= 0.0,
    lambda point: "x" in point or point["y"] <= 1.0,
    lambda point: point["y"] <= 1.0 or point["k"] == "u",
    lambda point: any(name == "y" for name in point),
    lambda point: point == point.copy(),
    lambda point: point.get("z", 0) >= 0,
])  # fmt: skip
def test_a_predicate_of_what_points_differ_in_is_kept(rule):
    space = bo.Space(ALL, [rule])
    assert space.fix(k="u").constraints == (rule,)
    assert bo.Space({**ALL, "net": {"w": bool}}, [rule]).fix(k="u").constraints == (rule,)


def test_what_fixed_values_decide_is_dropped():
    space = bo.Space(ALL, [lambda point: point["k"] == "v" or point.get("x", 0) < 2, SMALL])
    assert space.fix(k="v").constraints == (SMALL,)
    assert len(space.fix(k="u").constraints) == 2
    mixed = bo.Space({**ALL, "net": {"w": bool}}, [Not(BIG), lambda point: point["net"]["w"]])
    assert len(mixed.fix(k="v").constraints) == 1


def test_fixing_again_changes_nothing():
    space = bo.Space(ALL | {"one": ["w"]})
    fixed = space.fix(k="u")
    assert fixed.fix(k="u", one="w") == fixed
    assert str(fixed.fix(k="u")) == str(fixed)
    with pytest.raises(bo.DomainError, match="fix: k: expected 'u', its fixed value, got 'v'"):
        fixed.fix(k="v")


def test_points_with_other_values_are_refused():
    fixed = FREE.fix(seed=3, model="tree")
    for parse in (fixed.parse, fixed.decode):
        with pytest.raises(PointError, match="seed: expected 3, its fixed value, got 4"):
            parse({"model": "tree", "depth": 2, "seed": 4})


def test_studies_go_on_between_a_free_and_a_fixed_space(tmp_path):
    file, space = str(tmp_path / "runs.db"), bo.Space({"rate": bo.Real(0.0, 1.0), "b": bool, "n": bo.Integer(1, 9)})

    def loss(point):
        return (point["rate"] - 0.3) ** 2 + point["n"] + point["b"]

    first = [{"rate": 0.25, "b": True, "n": 5}, {"rate": 0.25, "b": False, "n": 4}]
    of_study = {"storage": file, "name": "s", "seed": 0}
    bo.minimize(loss, space, n_trials=6, initial_points=first, **of_study)
    fixed = space.fix(rate=0.25)
    with pytest.warns(bo.SpaceChanged, match="rate: expected 0.25, its fixed value, got .*4 such"):
        result = bo.minimize(loss, fixed, n_trials=10, **of_study)
    assert (result.n_unread, len(result.trials)) == (4, 10)
    assert all(trial.point["rate"] == 0.25 for trial in result.trials[6:])
    again = bo.minimize(loss, space, n_trials=12, **of_study)
    assert (again.n_unread, len(again.trials)) == (0, 12)
    with bo.Study(fixed, method="random") as study:
        frame = again.to_dataframe()
        study.add_frame(frame[frame["point.rate"] == 0.25])
        assert len(study.trials) >= 6


def test_spaces_inside_are_fixed_by_a_dict():
    space = bo.Space(
        {
            "net": {"width": bo.Integer(1, 8), "flip": bool},
            "rate": bo.Real(0.0, 1.0, when={"net": lambda net: net["flip"]}),
            "m": ["a", "b"],
            "k": bo.Integer(1, 3, when={"m": "a"}),
        }
    )
    fixed = space.fix(net={"width": 3}, m="a")
    check_domain(fixed, np.random.default_rng(0), rebuildable=False)
    points = [fixed.present(x) for x in fixed.sample(30, np.random.default_rng(0))]
    assert all(point["net"]["width"] == 3 and point["m"] == "a" and "k" in point for point in points)
    assert all(("rate" in point) == point["net"]["flip"] for point in points)
    assert {point["net"]["flip"] for point in points} == {True, False}
    assert "k" not in space.fix(m="b").named_values
    with pytest.raises(bo.DomainError, match="fix: net: expected a dict for an inner space, got 3"):
        space.fix(net=3)


def test_a_fixed_value_may_be_one_that_no_file_holds():
    space = bo.Space({"f": [min, max], "b": bool}).fix(f=max)
    assert space.present(space.enumerate()[0])["f"] is max
    assert isinstance(space.variables["f"], Fixed)


def test_hyperparameters_name_the_variables_that_vary():
    result = bo.minimize(cost, bo.Space(ONE | MANY), method="combo", n_trials=22, seed=0)
    rows = result.model.hyperparameters.rows
    assert {row.variable for row in rows if row.variable} == set(MANY)
