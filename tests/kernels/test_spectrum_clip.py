"""Indefinite similarities: clipped alike in training and in prediction, with the right gradient, and reported."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.algebra import SpectrumClip
from bostruct.kernels.otmann.kernel import DistanceTerms, OtmannKernel
from bostruct.methods import map_surrogate, marginalized_surrogate
from bostruct.methods.defaults import architecture_kernel
from bostruct.surrogates.hyperparameters import Hyperparameters, bounded_normal
from bostruct.surrogates.posterior import GaussianPosterior, fit_posterior_sample
from bostruct.testing.kernel_laws import check_gram, check_line
from tests.architectures import SMALL_CNN

SQUARED = DistanceTerms(bounded_normal(np.log(3.0), 0.05), float(np.log(3.0)), power=2.0)
FORGOTTEN = DistanceTerms(bounded_normal(-30.0, 0.1), -30.0)  # rates so small that these distances do not count
INDEFINITE = OtmannKernel(FORGOTTEN, SQUARED)
THETA = np.array([-30.0] * 4 + [np.log(3.0)] * 4)


@cache
def some(m: int, seed: int) -> tuple[Architecture, ...]:
    return tuple(SMALL_CNN.sample(m, np.random.default_rng(seed)))


@pytest.fixture
def training() -> list[Architecture]:
    return list(some(40, 0))


def raw_gram(xs: Sequence[Architecture], ys: Sequence[Architecture]) -> np.ndarray:
    return INDEFINITE.gram(THETA, INDEFINITE.prepare(xs, ys))


def test_a_definite_similarity_stays_as_it_is(training):
    similarity = architecture_kernel(SMALL_CNN)
    kernel, strangers = SpectrumClip(similarity), list(some(5, 3))
    theta = np.concatenate([np.full(block.size, block.initial) for block in similarity.parameters])
    check_gram(kernel, SMALL_CNN, training, strangers, theta)
    check_line(kernel, training, strangers, theta, theta + 0.5)
    across, back = (kernel.prepare(*pair) for pair in ((training, strangers), (strangers, training)))
    np.testing.assert_allclose(kernel.gram(theta, across), kernel.gram(theta, back).T, atol=1e-10)
    expected = similarity.gram(theta, similarity.prepare(training))
    np.testing.assert_array_equal(kernel.gram(theta, kernel.prepare(training)), expected)
    cotangent = np.random.default_rng(2).normal(size=expected.shape)
    found, known = (k.gram_and_pullback(theta, k.prepare(training))[1](cotangent) for k in (kernel, similarity))
    np.testing.assert_array_equal(found, known)


def test_the_published_square_is_clipped_to_the_nearest_definite_matrix(training):
    raw = raw_gram(training, training)
    values, vectors = np.linalg.eigh(raw)
    assert values[0] < -1e-4  # or there would be nothing to test
    kernel = SpectrumClip(INDEFINITE)
    gram = kernel.gram(THETA, kernel.prepare(training))
    np.testing.assert_allclose(gram, (vectors * np.maximum(values, 0.0)) @ vectors.T, atol=1e-10)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-10


def test_candidates_are_projected_as_training_points_are(training):
    """A training point, met as a candidate, has the row that it has in training."""
    kernel = SpectrumClip(INDEFINITE)
    gram = kernel.gram(THETA, kernel.prepare(training))
    across = kernel.gram(THETA, kernel.prepare(training[5:9], training))
    np.testing.assert_allclose(across, gram[5:9], atol=1e-10)
    strangers = list(some(5, 3))
    values, vectors = np.linalg.eigh(raw_gram(training, training))
    kept = vectors[:, values > 0.0]
    expected = raw_gram(strangers, training) @ kept @ kept.T
    np.testing.assert_allclose(kernel.gram(THETA, kernel.prepare(strangers, training)), expected, atol=1e-10)


def test_a_line_is_the_gram_matrix(training):
    kernel = SpectrumClip(INDEFINITE)
    for prepared in (kernel.prepare(training), kernel.prepare(list(some(5, 3)), training)):
        moved = THETA.copy()
        moved[6] = 0.3
        np.testing.assert_allclose(kernel.line(THETA, 6, prepared)(0.3), kernel.gram(moved, prepared), atol=1e-10)


def test_the_gradient_of_what_was_clipped(training):
    kernel = SpectrumClip(INDEFINITE)
    prepared = kernel.prepare(training)
    gram, pullback = kernel.gram_and_pullback(THETA, prepared)
    np.testing.assert_allclose(gram, kernel.gram(THETA, prepared), atol=1e-10)
    cotangent = np.random.default_rng(4).normal(size=gram.shape)
    gradient = pullback(cotangent)
    for i in range(4, 8):
        step = np.eye(8)[i] * 1e-5
        ahead, behind = (kernel.gram(THETA + sign * step, prepared) for sign in (1, -1))
        assert gradient[i] == pytest.approx(np.sum(cotangent * (ahead - behind)) / 2e-5, rel=1e-4, abs=1e-4)
    with pytest.raises(ValueError, match="training points"):
        kernel.gram_and_pullback(THETA, kernel.prepare(training[:2], training))


def test_a_posterior_is_that_of_the_clipped_matrix(training):
    """Mean and variance at the training points, from nothing but the clipped matrix; of others no less than before."""
    noise = 1e-3
    values = np.array([float(len(x)) for x in training])
    kernel, hyper = SpectrumClip(INDEFINITE), Hyperparameters(0.0, 0.0, np.log(noise), THETA)
    one = fit_posterior_sample(kernel, training, values, hyper, 0.0)
    posterior = GaussianPosterior(kernel, training, SMALL_CNN.join, [one], 0.0)
    eigenvalues, vectors = np.linalg.eigh(raw_gram(training, training))
    clipped = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T
    inverse = np.linalg.inv(clipped + noise * np.eye(len(training)))
    found = posterior.predict(training)
    np.testing.assert_allclose(found.mean[0], clipped @ inverse @ values, rtol=1e-6)
    expected = np.diag(clipped - clipped @ inverse @ clipped)
    np.testing.assert_allclose(found.variance[0], expected, rtol=1e-4)
    strangers = list(some(5, 3))
    gram, diag = kernel.gram_and_diag(THETA, strangers, kernel.prepare(strangers, training))
    np.testing.assert_array_equal(gram, kernel.gram(THETA, kernel.prepare(strangers, training)))
    assert np.all(diag >= 1.0)
    assert np.max(diag) <= np.max(clipped.diagonal()) + 1e-10


def test_beliefs_move_no_mean_and_grow_no_variance(training):
    """With points believed the eigenvectors clipped are others: neither mean nor variance may notice."""
    values = np.array([len(x) + 0.01 * sum(layer.units or 0 for layer in x.layers) for x in training])
    hyper = Hyperparameters(0.0, 0.0, np.log(1e-3), THETA)
    kernel, running, more = SpectrumClip(INDEFINITE), list(some(3, 8)), list(some(2, 9))
    one = fit_posterior_sample(kernel, training, values, hyper, 0.0)
    posterior = GaussianPosterior(kernel, training, SMALL_CNN.join, [one], 0.0)
    strangers = [*some(60, 3), *running, *more, *training[:5]]
    believed = posterior.believe(running)
    further = believed.believe(more)
    before, after, last = (p.predict(strangers) for p in (posterior, believed, further))
    np.testing.assert_array_equal(after.mean, before.mean)
    np.testing.assert_array_equal(last.mean, before.mean)
    assert np.all(after.variance <= before.variance)
    assert np.all(after.variance[:, 60:63] < 3e-3)
    assert np.all(last.variance[:, 60:65] < 3e-3)
    assert np.all(before.variance[:, 60:65] > 1e-2)
    optimist = believed.screen(strangers)
    assert np.all(optimist.mean <= after.mean)
    assert np.all(optimist.variance >= after.variance)
    assert believed.believe([]) is believed


@pytest.mark.parametrize("fit", [map_surrogate, marginalized_surrogate])
def test_models_of_an_indefinite_similarity_predict_what_they_were_told_and_report_it(fit, training):
    values = np.array([len(x) + 0.01 * sum(layer.units or 0 for layer in x.layers) for x in training])
    rng = np.random.default_rng(5)
    posterior, _, info = fit(INDEFINITE, SMALL_CNN).condition(training, values, None, rng)
    assert json.loads(json.dumps(info)) == info
    assert info["smallest_eigenvalue"] < 0.0 < info["negative_share"]
    found = posterior.predict(list(training))
    assert np.all(found.variance > 0.0)
    assert np.corrcoef(found.mean.mean(axis=0), values)[0, 1] > 0.8
    definite = fit(architecture_kernel(SMALL_CNN), SMALL_CNN).condition(training, values, None, rng)[2]
    assert definite["smallest_eigenvalue"] > -1e-9
    assert definite["negative_share"] < 1e-9
