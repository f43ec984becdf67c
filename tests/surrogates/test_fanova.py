"""Functional analysis of variance: against brute force over whole spaces and Optuna on the same forest; facts."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest

import bostruct as bo
from bostruct.surrogates.fanova import Feature, design_and_features, grow_binned_forest, grow_forest, importances

SPACE = bo.Space({"a": range(4), "b": ["x", "y", "z"], "c": bool})
FORESTS = pytest.mark.parametrize("grow", [grow_forest, grow_binned_forest])


def by_enumeration(tree, space, features):
    """Shares of one tree's variance over all points of a space, from the definition."""
    points = space.enumerate()
    design, _ = design_and_features([space.coordinates(x) for x in points])
    values = tree.predict(design.astype(np.float32)).reshape([len(v) for v in space.variables.values()])
    mean, variance = values.mean(), values.var()
    axes = range(values.ndim)
    one = [values.mean(axis=tuple(j for j in axes if j != i)).var() for i in axes]
    two = {}
    for i, k in combinations(axes, 2):
        marginal = values.mean(axis=tuple(j for j in axes if j not in (i, k)))
        two[features[i].name, features[k].name] = (marginal.var() - one[i] - one[k]) / variance
    assert np.isfinite(mean)
    return {features[i].name: share / variance for i, share in enumerate(one)}, two


@FORESTS
def test_effects_of_a_tree_are_those_over_all_points(grow):
    rng = np.random.default_rng(0)
    xs = np.array(list(product(range(4), range(3), range(2))))[rng.permutation(24)[:18]]
    values = rng.normal(size=18)
    design, features = design_and_features([SPACE.coordinates(x) for x in xs])
    forest = grow(design, values, 0, 5)
    found = importances(forest, features, pairs=True)
    expected = [by_enumeration(tree, SPACE, features) for tree in forest]
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
    theirs = [optuna_trees._FanovaTree(tree, np.array([[0.0, 1.0]] * 4)) for tree in forest]
    main = np.array([[t.get_marginal_variance(np.array([i])) / t.variance for i in range(4)] for t in theirs])
    np.testing.assert_allclose([effect.share for effect in found.main.values()], main.mean(axis=0), atol=5e-4)
    both = [t.get_marginal_variance(np.array([1, 2])) / t.variance for t in theirs] - main[:, 1] - main[:, 2]
    assert abs(found.pairs["x1", "x2"].share - both.mean()) < 5e-4


@FORESTS
def test_exact_on_a_known_function(grow):
    rng = np.random.default_rng(0)
    design = np.repeat(np.array(list(product([0.0, 1.0], repeat=3))), 40, axis=0)
    values = 3.0 * design[:, 0] + 1.0 * design[:, 1]  # variances 9/4 and 1/4: 90 %, 10 %, nothing
    features = [
        Feature(name, slice(i, i + 1), np.array([[0.0], [1.0]]), np.full(2, 0.5)) for i, name in enumerate("abc")
    ]
    order = rng.permutation(len(design))
    found = importances(grow(design[order], values[order], 0, 8), features)
    np.testing.assert_allclose([found.main[name].share for name in "abc"], [0.9, 0.1, 0.0], atol=1e-9)


def gain_of(is_left, counts, values):
    """Return by how much a cut reduces the sum of squared distances from the mean."""
    left, right = counts * is_left, counts * ~is_left
    distance = np.average(values, weights=left) - np.average(values, weights=right)
    return distance**2 * left.sum() * right.sum() / counts.sum()


def test_every_node_of_a_tree_has_the_best_cut_or_none():
    rng, n = np.random.default_rng(3), 40
    design = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 3, n), rng.random(n).round(1)]).astype(float)
    values = rng.normal(size=n)
    drawn = np.random.default_rng((7, 6)).multinomial(n, np.full(n, 1.0 / n), 6)
    for tree, counts in zip(grow_binned_forest(design, values, 7, 6), drawn, strict=True):
        points = {0: np.flatnonzero(counts)}
        for node, left in enumerate(tree.children_left):
            own = points[node]
            x, y, w = design[own], values[own], counts[own]
            assert tree.value[node, 0, 0] == pytest.approx(np.average(y, weights=w))
            cuts = [(k, 0.5 * (a + b)) for k in range(3) for a, b in pairwise(np.unique(x[:, k]))]
            gains = [gain_of(x[:, k] <= cut, w, y) for k, cut in cuts]
            if left < 0:
                assert np.ptp(y) == 0.0 or not gains
                continue
            cut = tree.feature[node], tree.threshold[node]
            assert cut in cuts  # midway between two neighbors
            assert gains[cuts.index(cut)] >= (1.0 - 1e-4) * max(gains)
            is_left = x[:, cut[0]] <= cut[1]
            points |= {left: own[is_left], tree.children_right[node]: own[~is_left]}
        leaf = len(tree.value) - 1  # the last node
        assert set(tree.predict(design[points[leaf]])[:, 0]) == {tree.value[leaf, 0, 0]}


def test_equally_good_cuts_are_drawn_and_points_that_are_all_equal_have_no_cut():
    design = np.tile(np.arange(2.0)[:, None], (20, 5))  # five equal columns
    cut = {int(tree.feature[0]) for tree in grow_binned_forest(design, design[:, 0], 0)}
    assert cut == set(range(5))
    (tree,) = grow_binned_forest(np.ones((4, 2)), np.arange(4.0), 0, 1)
    assert tree.children_left.tolist() == [-1]


def test_a_column_of_many_values_is_cut_evenly_by_rank_and_by_value():
    rng = np.random.default_rng(0)
    design = rng.random((1_000, 1)) ** 3
    tree, *_ = grow_binned_forest(design, rng.normal(size=1_000), 0)
    cuts = sorted(tree.threshold[tree.children_left >= 0])
    assert 20 < len(cuts) <= 33
    for places in ([np.mean(design < cut) for cut in cuts], cuts):
        assert np.diff([0.0, *places, 1.0]).max() < 0.09  # a 16th, and the distance of neighbors
