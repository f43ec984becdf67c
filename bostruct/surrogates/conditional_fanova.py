"""Functional analysis of variance where some variables exist only under conditions.

There variables are not independent, so that the variance is no sum over products of their own distributions. Points
drawn from the space stand for it instead: the effect of a variable is the variance of what the trees predict on average
for each of its values, among the points that have it, times the share of these points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bostruct.contracts import Array, Choice, IntArray
from bostruct.surrogates.fanova import (
    Effect,
    Feature,
    Importances,
    design_and_features,
    fill_design,
    grow_forest,
    importances,
    scale_to_unit,
)

BINS = 16  # of a variable of more ordered values
MOST_LEVELS = 64  # values of a structure, such as an order, that the draws have


@dataclass(frozen=True)
class VarianceShares:
    """The shares of the variance that a forest explains by each choice alone. trees: of the forest, at least 1."""

    trees: int = 16

    def __call__(
        self,
        points: Sequence[Sequence[Choice]],
        values: Array,
        seed: int,
        draws: Sequence[Sequence[Choice]] = (),
    ) -> dict[str, float]:
        """Return the share of each choice by its path.

        points: the choices of n points.
        values: of the points (n,).
        seed: of the forest.
        draws: the choices of points of the domain, where choices exist under conditions; empty where none do.
        """
        design, features = design_and_features(points)
        forest = grow_forest(design, scale_to_unit(values), seed, self.trees)
        if draws:
            found = importances_of_draws(forest, features, fill_design(draws, features))
        else:
            found = importances(forest, features)
        return {name: effect.share for name, effect in found.main.items()}


def importances_of_draws(forest: Any, features: Sequence[Feature], draws: Array, pairs: bool = False) -> Importances:
    """Return the importance of each variable to a fitted forest over points of a space with conditions.

    With f a tree, and p the share of points that have the variable i, its share is
    p Var(E[f | x_i, i exists] | i exists) / Var(f). That of a pair is, with p the share of points that have both,
    p (Var(E[f | x_i, x_k]) - Var(E[f | x_i]) - Var(E[f | x_k])) / Var(f), all given that both exist. Estimates are
    corrected for the chance in means of few points, and at least 0. Trees that predict a constant are left out; with no
    other, every effect is 0.

    forest: of `bostruct.surrogates.fanova.grow_forest`.
    features: the variables, as columns of the design that the forest was grown on; -1 in those of an absent one.
    draws: points of the space in these columns (n, c).
    pairs: also return the interactions of any two variables, which is quadratic in their number.

    Source: the marginals of Hutter, Hoos and Leyton-Brown 2014, section 3, under the distribution of the space; the
    correction is that of the analysis of variance with random effects (Searle, Casella and
    McCulloch 1992, section 3.6).
    """
    predictions = predict_by_tree(forest, draws)
    variances = predictions.var(axis=0)
    varies = variances > 1e-12 * np.maximum(np.square(predictions.mean(axis=0)), 1e-300)
    predictions, variances = predictions[:, varies], variances[varies]
    levels = [number_levels(draws[:, feature.columns]) for feature in features]

    main = {
        one.name: _summarize(_explained(predictions, own) / variances)
        for one, own in zip(features, levels, strict=True)
    }
    both: dict[tuple[str, str], Effect] = {}
    for i, k in combinations(range(len(features)), 2) if pairs else ():
        joint, first, second = _cross(levels[i], levels[k])
        extra = _explained(predictions, joint) - _explained(predictions, first) - _explained(predictions, second)
        both[features[i].name, features[k].name] = _summarize(extra / variances)
    return Importances(main, both)


def predict_by_tree(forest: Any, draws: Array) -> Array:
    """Return what each tree of a forest predicts (n, trees).

    forest: of `bostruct.surrogates.fanova.grow_forest`.
    draws: rows in the columns of its design (n, c).
    """
    rows = np.asarray(draws, dtype=np.float32)  # in which trees compare
    return np.column_stack([tree.tree_.predict(rows)[:, 0] for tree in forest.estimators_])


def number_levels(rows: Array) -> IntArray:
    """Return the number of the value of a variable at each point (n,), -1 where the variable is absent.

    rows: its columns of the design (n, c). One column of more than 16 values is split into 16 equal bins of [0, 1].
    """
    absent = rows[:, 0] < 0.0
    if rows.shape[1] == 1 and len(np.unique(rows[~absent])) > BINS:
        levels = np.minimum((rows[:, 0] * BINS).astype(np.int64), BINS - 1)
    else:
        levels = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.where(absent, -1, levels)


def thin_levels(draws: Array, feature: Feature, rng: np.random.Generator) -> None:
    """Replace the values of a structure in draws by few of them, in place, so that each has many points.

    Its value says nothing of other variables, given that it exists, unless constraints or conditions ask for it.

    draws: points of the space (n, c).
    feature: of several columns.
    rng: the only source of chance.
    """
    present = np.flatnonzero(draws[:, feature.columns.start] >= 0.0)
    values = np.unique(draws[present, feature.columns], axis=0)
    if len(values) > MOST_LEVELS:
        kept = draws[rng.choice(present, MOST_LEVELS, replace=False), feature.columns]
        draws[present, feature.columns] = kept[rng.integers(0, MOST_LEVELS, len(present))]


def mean_of_draws(forest: Any, draws: Array, cells: tuple[IntArray, IntArray], shape: tuple[int, int]) -> Array:
    """Return what a forest predicts on average for the points in each cell of two variables, NaN without any (a, b).

    forest: of `bostruct.surrogates.fanova.grow_forest`.
    draws: points of the space, as rows in the columns of the forest's design (n, c).
    cells: of each point by the first and by the second variable (n,) each, -1 for none.
    shape: numbers of cells, (a, b).
    """
    inside = (cells[0] >= 0) & (cells[1] >= 0)
    flat = np.where(inside, cells[0] * shape[1] + cells[1], shape[0] * shape[1])
    means = predict_by_tree(forest, draws).mean(axis=1)
    counts = np.bincount(flat, minlength=shape[0] * shape[1] + 1)[:-1]
    sums = np.bincount(flat, means, minlength=shape[0] * shape[1] + 1)[:-1]
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0).reshape(shape)


def _cross(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the levels of a pair, and those of each of the two, where both exist; -1 elsewhere."""
    exist = (first >= 0) & (second >= 0)
    joint = first * (1 + int(second.max(initial=0))) + second
    return np.where(exist, joint, -1), np.where(exist, first, -1), np.where(exist, second, -1)


def _explained(predictions: Array, levels: IntArray) -> Array:
    """Return the variance of the means of levels, times the share of the points that have one (trees,).

    Means of few points vary by chance, too. Chance adds the variance within a level once for each of k - 1 levels,
    which is taken off: the result may be below 0.
    """
    from scipy.sparse import csr_matrix

    present = np.flatnonzero(levels >= 0)
    if not len(present):
        return np.zeros(predictions.shape[1])
    _, groups, counts = np.unique(levels[present], return_inverse=True, return_counts=True)
    n, m, k = len(levels), len(present), len(counts)
    if k == 1 or k == m:  # nothing varies, or nothing can be told from chance
        return np.zeros(predictions.shape[1])
    own = predictions[present] - predictions[present].mean(axis=0)
    sums = csr_matrix((np.ones(m), (groups, np.arange(m))), shape=(k, m)) @ own
    between = (np.square(sums) / counts[:, None]).sum(axis=0)
    within = np.maximum(np.square(own).sum(axis=0) - between, 0.0)
    return (between - (k - 1) * within / (m - k)) / n


def _summarize(shares: Array) -> Effect:
    kept = np.maximum(shares, 0.0)
    return Effect(float(kept.mean()), float(kept.std())) if len(kept) else Effect(0.0, 0.0)
