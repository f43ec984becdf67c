"""Functional analysis of variance under conditions: against enumeration of the space, whose shares are known."""

from __future__ import annotations

import time

import numpy as np
import pytest

import bostruct as bo
from bostruct import language as lang
from bostruct.analysis.importances import importance, read_design
from bostruct.surrogates.fanova import grow_forest, importances_of_draws, number_levels, predict_by_tree, scale_to_unit

BASE = {"gbm": 0.0, "svm": 2.0, "knn": 6.0, "linear": 3.0}
VARIABLES = {
    "model": list(BASE),
    "trees": range(6),
    "c": range(5),
    "kernel": ["rbf", "poly"],
    "k": range(8),
    "scale": [False, True],
}
WHEN = {
    "trees": {"model": "gbm"},
    "c": {"model": bo.OneOf("svm", "linear")},
    "kernel": {"model": "svm"},
    "k": {"model": "knn"},
}


def build(names=tuple(VARIABLES)):
    return bo.Space({n: bo.Categorical(VARIABLES[n], when=WHEN[n]) if n in WHEN else VARIABLES[n] for n in names})


def loss(point):
    """The model matters most; then c within two models, k within one; the kernel only together with c."""
    value = BASE[point["model"]] + 0.8 * point.get("c", 0.0) + 0.45 * point.get("k", 0.0)
    return value + 1.5 * (point.get("kernel") == "poly") * (point.get("c", 0) > 2) + 0.2 * point.get("trees", 0)


def study_of_all(space, n):
    study = bo.Study(space, method="random", seed=0)
    for x in space.sample(n, np.random.default_rng(1)):
        study.add(space.present(x), loss(space.present(x)))
    return study


def weigh(space):
    """All points with their chances: each variable even given those that it depends on."""
    points = [space.present(x) for x in space.enumerate()]
    chances = np.array([np.prod([1.0 / len(space.variables[n]) for n in point]) for point in points])
    return points, chances / chances.sum()


def variance_of_means(points, chances, values, names):
    """Var(E[f | names]) among the points that have the names, times their share."""
    groups = {}
    for point, chance, value in zip(points, chances, values, strict=True):
        if all(n in point for n in names):
            groups.setdefault(tuple(point[n] for n in names), []).append((chance, value))
    means = np.array([np.average([v for _, v in g], weights=[c for c, _ in g]) for g in groups.values()])
    weights = np.array([sum(c for c, _ in g) for g in groups.values()])
    if not len(means):
        return 0.0
    return float(weights @ np.square(means - np.average(means, weights=weights)))


def true_pair(points, chances, values, both):
    has = np.array([all(n in point for n in both) for point in points])
    kept = [point for point, one in zip(points, has, strict=True) if one], chances[has], values[has]
    return variance_of_means(*kept, both) - sum(variance_of_means(*kept, (name,)) for name in both)


def test_shares_are_those_of_the_definition_over_all_points():
    space = build()
    points, chances = weigh(space)
    values = np.array([loss(point) for point in points])
    total = float(chances @ np.square(values - chances @ values))
    found = importance(study_of_all(space, 250), pairs=True)
    expected = {n: variance_of_means(points, chances, values, (n,)) / total for n in space.variables}
    assert expected["model"] > 0.6 > 0.05 > expected["k"] > 0.02
    for name, share in expected.items():
        assert found.main[name].share == pytest.approx(share, abs=0.03), name
    for both, effect in found.pairs.items():
        assert effect.share == pytest.approx(true_pair(points, chances, values, both) / total, abs=0.02), both
    assert next(iter(found.main)) == "model"
    assert next(both for both in found.pairs if "model" not in both) == ("c", "kernel")
    assert found.pairs["trees", "k"].share == 0.0  # no point has both


def test_each_tree_has_the_shares_of_its_own_predictions():
    data = read_design(study_of_all(build(), 60), 0, 0)
    assert data.draws is not None
    forest = grow_forest(data.design, scale_to_unit(data.values), 0, 3)
    found = importances_of_draws(forest, data.features, data.draws)
    predictions, model = predict_by_tree(forest, data.draws), data.features[0]
    levels = number_levels(data.draws[:, model.columns])
    means = np.array([predictions[levels == level].mean(axis=0) for level in range(4)])
    rough = means.var(axis=0) / predictions.var(axis=0)
    assert found.main["model"].share == pytest.approx(rough.mean(), abs=0.01)
    assert found.main["model"].spread == pytest.approx(rough.std(), abs=0.01)


def test_the_order_of_variables_changes_nothing_beyond_noise():
    names = list(VARIABLES)
    first, last = (importance(study_of_all(build(order), 250)) for order in (names, names[::-1]))
    for name in names:
        assert first.main[name].share == pytest.approx(last.main[name].share, abs=0.04), name


def test_irrelevant_variables_of_many_values_have_no_share():
    many = {"a": bool, **{f"many{i}": bo.Categorical(range(200), when={"a": True}) for i in range(2)}}
    many["order"] = bo.Permutation(range(7), when={"a": True})
    space = bo.Space(many)
    study = bo.Study(space, method="random", seed=0)
    study.optimize(lambda point: float(point["a"]), 60, progress=False)
    noise = {name: effect.share for name, effect in importance(study).main.items()}
    assert noise.pop("a") == pytest.approx(1.0, abs=1e-6)
    assert max(noise.values()) < 1e-6


def test_an_order_that_exists_under_a_condition_has_its_share():
    space = bo.Space({"a": bool, "order": bo.Permutation(range(6), when={"a": True}), "u": bo.Real(0.0, 1.0)})
    study = bo.Study(space, method="random", seed=0)
    study.optimize(lambda p: 2.0 * (p["order"].index(0) > 2) if p["a"] else 4.0, 150, progress=False)
    found = importance(study).main  # among the half with an order, 0 and 2 by even chance: variance 1, of 2.75 in all
    assert found["order"].share == pytest.approx(0.5 / 2.75, abs=0.05)
    assert found["a"].share == pytest.approx(2.25 / 2.75, abs=0.05)


def test_numbers_are_split_into_bins_and_absence_is_none():
    rows = np.concatenate([[-1.0, 1.0], np.linspace(0.0, 1.0, 50)])[:, None]
    levels = number_levels(rows)
    assert levels[0] == -1
    assert (levels[1], levels[2], set(levels[2:])) == (15, 0, set(range(16)))


def test_the_cost_is_a_few_seconds_at_most():
    study = study_of_all(build(), 250)
    began = time.process_time()
    importance(study, pairs=True)
    assert time.process_time() - began < 5.0


def test_choices_that_some_programs_lack_matter_as_in_a_space_with_conditions():
    def build():
        parts = {"deep": lambda: lang.siso_module("Deep", {"x": lang.D(range(200))}), "plain": lambda: lang.identity()}
        return lang.siso_or(parts, lang.D(["deep", "plain"]))

    study = bo.Study(lang.SearchSpace(build), method="random", seed=0)
    for trace in study.domain.sample(60, np.random.default_rng(0)):
        study.add(study.domain.present(trace), 10.0 * (len(trace) == 1))
    found = importance(study)
    assert found.main["SISOOr-0.idx"].share > 0.99
    assert found.main["SISOOr-0[deep]/Deep-0.x"].share < 0.01
