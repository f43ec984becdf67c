"""Models of success: labels regressed, and averages of models by what they say of points held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bostruct.surrogates.success import AveragedChance, AveragedSuccess


@dataclass(frozen=True)
class Says:
    """A model whose chance of success is one number where the point is 1, and another where it is 0."""

    at_one: float
    at_zero: float

    def condition(self, points, succeeded, rng, before=None):
        del points, succeeded, rng, before
        return self

    def log_chance(self, xs):
        return np.log(np.where(xs[:, 0] == 1, self.at_one, self.at_zero))


def take(xs, positions):
    return xs[positions]


RIGHT, WRONG = Says(0.9, 0.1), Says(0.1, 0.9)
XS = np.tile([[0], [1]], (15, 1))


def average(models, xs=XS, succeeded=XS[:, 0] == 1, seed=0):
    return AveragedSuccess(models, take).condition(xs, succeeded, np.random.default_rng(seed))


def test_the_model_that_foretells_points_it_was_not_shown_has_the_weight():
    found = average((WRONG, RIGHT))
    assert found.chances == (RIGHT,)
    assert_allclose(np.exp(found.log_chance(XS[:2])), [0.1, 0.9], atol=1e-6)


def test_weights_are_the_likelihoods_of_a_third_of_the_points():
    kept = np.sort(np.random.default_rng(3).permutation(30)[:10])
    models = (RIGHT, Says(0.85, 0.15))
    expected = [np.prod(np.where(XS[kept, 0] == 1, one.at_one, 1 - one.at_zero)) for one in models]
    assert_allclose(np.exp(average(models, seed=3).log_weights), expected / np.sum(expected))


def test_models_are_shown_the_other_points():
    shown = []

    class Looks(Says):
        def condition(self, points, succeeded, rng, before=None):
            shown.append((points[:, 0].tolist(), succeeded.tolist()))
            return super().condition(points, succeeded, rng, before)

    points = np.column_stack([XS[:, 0], np.arange(30)])
    average((Looks(0.6, 0.4), Looks(0.4, 0.6), RIGHT), points, XS[:, 0] == 1)
    assert [len(rows) for rows, _ in shown] == [20, 20, 30]  # the second one has next to no weight, and is left out
    assert all(told == [one == 1 for one in rows] for rows, told in shown)


@pytest.mark.parametrize("n_failed", [0, 2])
def test_where_few_points_tell_models_count_the_same(n_failed):
    xs = XS[: 11 if n_failed else 30]
    succeeded = np.arange(len(xs)) >= n_failed
    assert_allclose(np.exp(average((WRONG, RIGHT), xs, succeeded).log_weights), 0.5)


def test_one_surprise_does_not_decide():
    sure = Says(1.0 - 1e-12, 1e-12)
    succeeded = XS[:, 0] == 1
    succeeded[0] = True
    weights = [np.exp(average((sure, RIGHT), XS, succeeded, seed).log_weights) for seed in range(9)]
    assert min(weight[0] for weight in weights) > 1e-4


def test_an_average_is_one_of_chances():
    found = AveragedChance((RIGHT, WRONG), np.log([0.25, 0.75]))
    assert_allclose(np.exp(found.log_chance(XS[:2])), [0.25 * 0.1 + 0.75 * 0.9, 0.25 * 0.9 + 0.75 * 0.1])
