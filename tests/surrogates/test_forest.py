"""The random forest as a surrogate."""

from __future__ import annotations

import numpy as np
import pytest

from bostruct.language import SearchSpace
from bostruct.surrogates.forest import RandomForest
from examples.language_figures import figure_4
from tests.methods.mixed_space import SPACE, objective


def test_predictions_are_means_and_variances_over_trees():
    rng = np.random.default_rng(0)
    xs = SPACE.sample(60, rng)
    values = np.array([objective(SPACE.present(x)) for x in xs])
    posterior, _, info = RandomForest(SPACE.coordinates).condition(xs, values, None, rng)
    found = posterior.predict(xs)
    assert info == {"trees": 32}
    assert np.corrcoef(found.mean[0], values)[0, 1] > 0.97
    assert (found.variance > 0).all()
    far = posterior.predict(SPACE.sample(200, rng))
    assert far.variance.mean() > found.variance.mean()
    assert far.mean.min() >= values.min() - 1e-9
    assert far.mean.max() <= values.max() + 1e-9


def test_columns_by_table_are_the_same_predictions():
    xs = SPACE.sample(40, np.random.default_rng(1))
    values = np.arange(40.0)
    slow, fast = (
        RandomForest(SPACE.coordinates, values=given).condition(xs, values, None, np.random.default_rng(2))[0]
        for given in (None, SPACE.coordinate_values)
    )
    np.testing.assert_array_equal(slow.predict(xs).mean, fast.predict(xs).mean)


@pytest.mark.parametrize("values", [np.zeros(20), np.full(20, 1e140), np.geomspace(1e-300, 1e140, 20)])
def test_any_values_are_fitted(values):
    xs = SPACE.sample(20, np.random.default_rng(3))
    posterior, *_ = RandomForest(SPACE.coordinates).condition(xs, values, None, np.random.default_rng(0))
    assert np.isfinite(posterior.predict(xs).mean).all()


def test_choices_that_no_trial_had_are_left_out():
    space = SearchSpace(figure_4)
    xs = sorted(space.sample(40, np.random.default_rng(0)), key=len)
    posterior, *_ = RandomForest(space.coordinates).condition(xs[:12], np.arange(12.0), None, np.random.default_rng(0))
    assert np.isfinite(posterior.predict(xs[-5:]).mean).all()
