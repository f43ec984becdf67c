"""Functional analysis of variance: against brute force over whole spaces and Optuna on the same forest; facts."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import BostructError
from bostruct.language import SearchSpace
from bostruct.surrogates.fanova import Feature, design_and_features, grow_forest, importances
from tests.domains.language.more_programs import layers_of_kinds

SPACE = bo.Space({"a": range(4), "b": ["x", "y", "z"], "c": bool})


def study_of(space, objective, n=60):
    study = bo.Study(space, method="random", seed=0)
    study.optimize(objective, n)
    return study


def by_enumeration(tree, space, features):
    """Shares of one tree's variance over all points of a space, from the definition."""
    points = space.enumerate()
    design, _ = design_and_features([space.coordinates(x) for x in points])
    values = tree.predict(design).reshape([len(v) for v in space.variables.values()])
    mean, variance = values.mean(), values.var()
    axes = range(values.ndim)
    one = [values.mean(axis=tuple(j for j in axes if j != i)).var() for i in axes]
    two = {}
    for i, k in combinations(axes, 2):
        marginal = values.mean(axis=tuple(j for j in axes if j not in (i, k)))
        two[features[i].name, features[k].name] = (marginal.var() - one[i] - one[k]) / variance
    assert np.isfinite(mean)
    return {features[i].name: share / variance for i, share in enumerate(one)}, two


def test_effects_of_a_tree_are_those_over_all_points():
    rng = np.random.default_rng(0)
    xs = np.array(list(product(range(4), range(3), range(2))))[rng.permutation(24)[:18]]
    values = rng.normal(size=18)
    design, features = design_and_features([SPACE.coordinates(x) for x in xs])
    forest = grow_forest(design, values, 0, 5)
    found = importances(forest, features, pairs=True)
    expected = [by_enumeration(tree, SPACE, features) for tree in forest.estimators_]
    for name, effect in found.main.items():
        shares = [one[name] for one, _ in expected]
        np.testing.assert_allclose(effect, [np.mean(shares), np.std(shares)], atol=1e-12)
    for both, effect in found.pairs.items():
        np.testing.assert_allclose(effect.share, np.mean([two[both] for _, two in expected]), atol=1e-12)


def test_agrees_with_optuna_on_the_same_forest():
    optuna_trees = pytest.importorskip("optuna.importance._fanova._tree")
    rng = np.random.default_rng(1)
    design = rng.random((200, 4))
    values = design[:, 0] * 3 + design[:, 1] * design[:, 2] + 0.1 * rng.normal(size=200)
    forest = grow_forest(design, values, 0, 8)
    features = [Feature(f"x{i}", slice(i, i + 1)) for i in range(4)]
    found = importances(forest, features, pairs=True)
    theirs = [optuna_trees._FanovaTree(tree.tree_, np.array([[0.0, 1.0]] * 4)) for tree in forest.estimators_]
    main = np.array([[t.get_marginal_variance(np.array([i])) / t.variance for i in range(4)] for t in theirs])
    np.testing.assert_allclose([effect.share for effect in found.main.values()], main.mean(axis=0), atol=5e-4)
    both = [t.get_marginal_variance(np.array([1, 2])) / t.variance for t in theirs] - main[:, 1] - main[:, 2]
    assert abs(found.pairs["x1", "x2"].share - both.mean()) < 5e-4


def test_exact_on_a_known_function():
    rng = np.random.default_rng(0)
    design = np.repeat(np.array(list(product([0.0, 1.0], repeat=3))), 40, axis=0)
    values = 3.0 * design[:, 0] + 1.0 * design[:, 1]  # variances 9/4 and 1/4: 90 %, 10 %, nothing
    features = [
        Feature(name, slice(i, i + 1), np.array([[0.0], [1.0]]), np.full(2, 0.5)) for i, name in enumerate("abc")
    ]
    order = rng.permutation(len(design))
    found = importances(grow_forest(design[order], values[order], 0, 8), features)
    np.testing.assert_allclose([found.main[name].share for name in "abc"], [0.9, 0.1, 0.0], atol=1e-9)


def test_choices_that_not_every_program_has_are_kept():
    space = SearchSpace(layers_of_kinds)
    study = study_of(space, lambda program: float(sum(node.values.get("units", 0.0) for node in program.nodes)))
    found = bo.importance(study)
    assert set(found.main) == {
        one.path for trial in study.trials for one in space.coordinates(space.parse(trial.point))
    }
    absent_from_some = "SISORepeat-0/SISOOr-2[dense]/Dense-0.units"
    assert found.main[absent_from_some].share > 0.0
    assert next(iter(found.main)).startswith("SISORepeat-0")


def test_importance_of_a_study_is_sorted_and_in_range():
    study = study_of(SPACE, lambda p: 10.0 * (p["b"] == "x") + p["a"] * p["c"], 24)
    found = bo.importance(study, pairs=True)
    shares = [effect.share for effect in found.main.values()]
    assert shares == sorted(shares, reverse=True)
    assert next(iter(found.main)) == "b"
    assert found.pairs["a", "c"].share > max(found.pairs["a", "b"].share, found.pairs["b", "c"].share)
    assert 0.0 <= sum(shares) <= 1.0 + 1e-9
    assert bo.importance(study, pairs=True) == found
    assert all(bar.get_width() >= 0 for bar in bo.plot_importance(found).patches)


@pytest.mark.parametrize("value", [0.0, 1e300, 7.0])
def test_a_constant_objective_has_no_importances(value):
    found = bo.importance(study_of(SPACE, lambda _: value, 10))
    assert {effect.share for effect in found.main.values()} == {0.0}


def test_what_cannot_be_analyzed_is_refused():
    study = bo.Study(SPACE, method="random", seed=0)
    with pytest.raises(BostructError, match="at least two completed trials, got 0"):
        bo.importance(study)
    architectures = bo.Study(bo.mlp_domain(), method="random", seed=0)
    with pytest.raises(BostructError, match="made of named choices"):
        bo.importance(architectures)


def test_a_result_knows_its_space_and_may_be_a_part_of_the_trials():
    study = study_of(SPACE, lambda point: float(point["a"]), 20)
    assert bo.importance(study.result) == bo.importance(study)
    name = next(iter(SPACE.variables))
    kept = study.result.where(lambda point: point[name] != study.result.trials[0].point[name])
    assert bo.importance(kept) != bo.importance(study)
    with pytest.raises(TypeError, match="study: expected a Study or a Result"):
        bo.importance(study.trials)


def test_importances_print_as_a_table():
    found = bo.importance(study_of(SPACE, lambda point: float(point["a"]), 20), pairs=True)
    lines = repr(found).splitlines()
    assert lines[0].split() == ["variable", "share", "spread"]
    assert len(lines) == 1 + len(found.main) + len(found.pairs)
    assert lines[1].split()[-2:] == [f"{value:.3f}" for value in next(iter(found.main.values()))]
