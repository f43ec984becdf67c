"""Bounds in single precision: never on the wrong side, tight where posteriors are smooth, and cheap by counting."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.acquisition.bounded_search import best
from bostruct.acquisition.functions import ExpectedImprovement, LogExpectedImprovement
from bostruct.contracts import SingleGram
from bostruct.methods import combo
from bostruct.searchers.scores import AcquisitionScore
from bostruct.surrogates.hyperparameters import Hyperparameters
from bostruct.surrogates.posterior import (
    GaussianPosterior,
    bound_sample,
    fit_posterior_sample,
    leading_components,
    prepare_sample,
)

SPACE = bo.Space({f"b{i}": bool for i in range(12)} | {"c": list("pqrs"), "o": range(9)})
LEVEL = bo.Space({f"b{i}": bool for i in range(12)} | {f"c{i}": list("pqrs") for i in range(3)})  # k(x, x) = 1


def posterior_of(n: int, regime: float, log_noise: float, seed: int = 0, space: bo.Space = SPACE) -> GaussianPosterior:
    """Ten samples, log edge weights in a range of 2 above `regime`."""
    rng = np.random.default_rng([seed, n])
    kernel = combo(space).surrogate.kernel
    xs = np.unique(space.sample(n, rng), axis=0)  # of 147,456 points
    values = 100.0 + xs @ rng.normal(size=space.d)
    hypers = [Hyperparameters(100.0, 1.0, log_noise, rng.uniform(regime, regime + 2.0, space.d)) for _ in range(3)]
    samples = [fit_posterior_sample(kernel, xs, values - hyper.mean, hyper, 1e-6) for hyper in hypers]
    return GaussianPosterior(kernel, xs, space.join, samples, 1e-6, shift=3.0, scale=2.0)


@pytest.mark.parametrize("log_noise", [-12.0, -2.0])
@pytest.mark.parametrize("regime", [-12.0, -3.0, -1.0])
@pytest.mark.parametrize("n", [1, 40, 260])
def test_bounds_are_never_on_the_wrong_side(n, regime, log_noise):
    """Training points, neighbors of these and strangers, in the posterior and once points are believed."""
    rng = np.random.default_rng(1)
    posterior = posterior_of(n, regime, log_noise)
    xs = SPACE.join(SPACE.sample(300, rng), posterior.xs[:50])
    for one in (posterior, posterior.believe(SPACE.sample(3, rng))):
        near, _ = SPACE.sample_neighborhoods(xs[:5], 30, rng)
        for batch in (xs, near):
            bound, exact = one.bound(batch), one.predict(batch)
            assert np.all(bound.mean <= exact.mean)
            assert np.all(bound.variance >= exact.variance)
            assert np.all(one.bound(batch[:7]).variance >= exact.variance[:, :7])


def test_components_tighten_the_variance_of_smooth_posteriors():
    posterior, rng = posterior_of(260, -0.5, -3.0), np.random.default_rng(2)
    xs = SPACE.sample(500, rng)
    exact, bound, screen = posterior.predict(xs), posterior.bound(xs), posterior.screen(xs)
    excess = np.median(bound.variance / exact.variance)
    assert excess < 0.85 * np.median(screen.variance / exact.variance)
    assert np.median((exact.mean - bound.mean) / np.sqrt(exact.variance)) < 0.1


def test_components_are_orthonormal_in_the_training_covariance():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(260, 40))
    gram = root @ root.T / 40.0
    found = leading_components(gram, 0.01, 32)
    assert 24 <= len(found) <= 32
    np.testing.assert_allclose(found @ (gram + 0.01 * np.eye(260)) @ found.T, np.eye(len(found)), atol=1e-9)
    posterior = posterior_of(100, -0.5, -3.0)
    assert len(prepare_sample(lambda: gram, posterior.samples[0], 1e-6).rows) == 3  # of few points none, for no time


def test_an_error_that_says_nothing_bounds_nothing():
    posterior = posterior_of(40, -1.0, -3.0)
    gram = posterior.kernel.gram(posterior.samples[0].hyper.theta, posterior.kernel.prepare(posterior.xs))
    member = prepare_sample(lambda: gram, posterior.samples[0], 1e-6)
    lowest, explained, total = bound_sample(member, SingleGram(np.ones((40, 2), dtype=np.float32), 1e30))
    assert np.all(lowest < -1e20)
    np.testing.assert_array_equal(explained, 0.0)
    assert np.all(total > 1e20)


@pytest.mark.parametrize("log_noise", [-12.0, -2.0])
def test_points_that_no_training_point_reaches_have_one_score_and_few_of_them_are_scored(log_noise, monkeypatch):
    posterior, rng = posterior_of(40, -12.0, log_noise, space=LEVEL), np.random.default_rng(4)
    near = LEVEL.sample_neighborhoods(posterior.xs[:5], 10, rng)[0]
    xs = LEVEL.join(near, LEVEL.sample(2_000, rng), posterior.xs)
    unreached, exact = posterior.bound_and_reach(xs)[1], posterior.predict(xs)
    assert 500 < np.count_nonzero(unreached) < 2_000
    assert not unreached[: len(near)].any()
    assert not unreached[-len(posterior.xs) :].any()
    for found in exact.mean, exact.variance:
        assert np.all(found[:, unreached] == found[:, unreached][:, :1])
    sizes, predict = [], GaussianPosterior.predict
    monkeypatch.setattr(GaussianPosterior, "predict", lambda one, some: sizes.append(len(some)) or predict(one, some))
    for acquisition in ExpectedImprovement(), LogExpectedImprovement():
        score = AcquisitionScore(posterior, acquisition, float(np.median(exact.mean)))
        scores = score(xs)
        assert np.all(score.upper_bounds(xs)[unreached] == scores[unreached])
        sizes.clear()
        chosen, top = best(score, LEVEL, xs, 600)
        assert sum(sizes) < 2_000  # of 2,090
        expected = np.lexsort((np.arange(len(xs)), -scores))[:600]
        np.testing.assert_array_equal(chosen, expected)
        np.testing.assert_array_equal(top, scores[expected])
    assert not posterior_of(40, -3.0, log_noise, space=LEVEL).bound_and_reach(xs)[1].any()
    assert not len(posterior.bound_and_reach(xs[:0])[1])
    uneven = posterior_of(40, -12.0, log_noise)  # k(x, x) of an order differs by value
    assert not uneven.bound_and_reach(SPACE.sample(100, rng))[1].any()
