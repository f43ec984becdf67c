"""The factor of features: squared differences by hand, and what its fast ways compute."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bostruct.kernels.space.factor import VariableChanges
from bostruct.kernels.space.subset import FeatureFactor, SubsetFeatures


class Grid(SubsetFeatures):
    """Three features in two groups, of two columns."""

    groups = np.array([0, 0, 1])

    def encode(self, xs):
        return np.column_stack([xs[:, 0], np.square(xs[:, 1]), xs.sum(axis=1)]).astype(float)


GRID = Grid(2, False, False)
FACTOR, THETA = FeatureFactor(GRID, 2), np.array([0.3, -0.2, 1.0, 0.5])


def draw(m, seed):
    return np.random.default_rng(seed).integers(3, size=(m, 4))


def compare_by_hand(xs, ys, theta):
    total = np.zeros((len(xs), len(ys)))
    for v in (0, 1):
        mine, theirs = (GRID.encode(one[:, 2 * v : 2 * v + 2]) for one in (xs, ys))
        for j, group in enumerate(Grid.groups):
            total -= np.subtract.outer(mine[:, j], theirs[:, j]) ** 2 / (2.0 * np.exp(2.0 * theta[2 * v + group]))
    return total


def test_it_is_the_sum_over_features():
    xs, ys = draw(5, 0), draw(6, 1)
    assert FACTOR.n_parameters == 4
    assert_allclose(FACTOR.log_gram(THETA, FACTOR.prepare(xs, ys)), compare_by_hand(xs, ys, THETA), atol=1e-10)


@pytest.mark.parametrize("i", range(4))
def test_without_a_parameter_its_features_are_left_out(i):
    xs, ys, none = draw(5, 0), draw(6, 1), THETA.copy()
    none[i] = 300.0
    assert_allclose(FACTOR.log_gram(THETA, FACTOR.prepare(xs, ys), i), compare_by_hand(xs, ys, none), atol=1e-10)


def test_changes_are_those_of_whole_points():
    xs, ys, which = draw(1, 0), draw(6, 1), np.array([0, 1, 1, 0])
    before, after = np.vstack([xs[:, :2], xs[:, 2:], xs[:, 2:], xs[:, :2]]), draw(4, 2)[:, :2]
    whole = np.repeat(xs, 4, axis=0)
    for row, v, own in zip(whole, which, after, strict=True):
        row[2 * v : 2 * v + 2] = own
    found = FACTOR.log_change(THETA, FACTOR.prepare_changes(VariableChanges(which, before, after), ys))
    assert_allclose(found, compare_by_hand(whole, ys, THETA) - compare_by_hand(xs, ys, THETA), atol=1e-10)
