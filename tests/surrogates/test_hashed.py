"""Ridge regression on hashed tokens: the dense formulas, counts by brute force, and values of any scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bostruct as bo
from bostruct.language import SearchSpace
from bostruct.surrogates.hashed import Counts, HashedRidge
from examples.language_figures import figure_4

SPACE = SearchSpace(figure_4)
BITS = bo.Space({f"b{i}": bool for i in range(8)})
TOKENS = st.lists(st.lists(st.integers(0, 2**63 - 1), max_size=6), min_size=1, max_size=5)


@pytest.mark.parametrize("n", [30, 150])  # fewer than there are buckets in use, and more
def test_the_hashed_ridge_is_ridge_regression(n):
    rng = np.random.default_rng(0)
    xs, ys = SPACE.sample(n, rng), SPACE.sample(8, rng)
    values = rng.normal(size=n)
    penalty = 0.3
    posterior, _, info = HashedRidge(SPACE.tokens, 512, penalty).condition(xs, values, None, rng)
    assert (info["buckets_used"] > n) == (n == 30)
    design, others = (np.array([np.bincount(t % 512, minlength=512) for t in SPACE.tokens(b)]) for b in (xs, ys))
    shift, scale = values.mean(), values.std()
    precision = design.T @ design + penalty * np.eye(512)
    weights = np.linalg.solve(precision, design.T @ (values - shift) / scale)
    prediction = posterior.predict(ys)
    np.testing.assert_allclose(prediction.mean[0], shift + scale * others @ weights)
    variance = scale**2 * penalty * np.einsum("mb,bc,mc->m", others, np.linalg.inv(precision), others)
    np.testing.assert_allclose(prediction.variance[0], variance, atol=1e-9)
    screen = posterior.screen(ys)
    assert np.all(screen.mean <= prediction.mean + 1e-12)
    assert np.all(screen.variance >= prediction.variance)


@given(TOKENS, st.integers(1, 7), st.data())
def test_a_design_counts_the_tokens_in_each_bucket(tokens, buckets, data):
    used = np.array(sorted(data.draw(st.sets(st.integers(0, buckets - 1), min_size=1))), dtype=np.int64)
    arrays = [np.array(own, dtype=np.int64) for own in tokens]
    found = Counts.of(arrays, buckets).design(used, buckets)
    expected = [[sum(token % buckets == bucket for token in own) for bucket in used.tolist()] for own in tokens]
    np.testing.assert_array_equal(found, np.array(expected, dtype=float).reshape(len(tokens), len(used)))


def test_a_linear_function_of_the_tokens_is_learned():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=8)
    xs, ys = BITS.sample(60, rng), BITS.sample(30, rng)
    posterior, state, _ = HashedRidge(BITS.tokens).condition(xs, xs @ weights + 5.0, None, rng)
    np.testing.assert_allclose(posterior.predict(ys).mean[0], ys @ weights + 5.0, atol=1e-3)
    assert state is None


def test_beliefs_change_nothing():
    rng = np.random.default_rng(0)
    xs = BITS.sample(10, rng)
    posterior, *_ = HashedRidge(BITS.tokens).condition(xs, xs[:, 0].astype(float), None, rng)
    assert posterior.believe(xs[:3]) is posterior


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e100])
def test_values_of_any_scale_are_fitted(scale):
    rng = np.random.default_rng(0)
    xs = BITS.sample(20, rng)
    posterior, *_ = HashedRidge(BITS.tokens).condition(xs, scale * xs[:, 0], None, rng)
    found = posterior.predict(xs)
    np.testing.assert_allclose(found.mean[0], scale * xs[:, 0], atol=1e-3 * scale)
    assert np.all(found.variance > 0.0)


@pytest.mark.parametrize("setting", [{"buckets": 0}, {"penalty": 0.0}])
def test_wrong_settings_are_refused_by_name(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        HashedRidge(SPACE.tokens, **setting)
