"""Functional analysis of variance: against brute force over whole spaces and Optuna on the same forest; facts."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import bostruct as bo
from bostruct.surrogates.fanova import Feature, design_and_features, grow_forest, importances

SPACE = bo.Space({"a": range(4), "b": ["x", "y", "z"], "c": bool})


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


@pytest.mark.slow
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
