"""Gaussian process algebra: published evidence and predictions, dense formulas, jitter."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

import bostruct as bo
from bostruct.acquisition.functions import ExpectedImprovement
from bostruct.contracts import Array, NumericalError
from bostruct.kernels.space.diffusion import ard_diffusion
from bostruct.kernels.space.product import SpaceKernel
from bostruct.kernels.space.spectra import LogEdgeWeight
from bostruct.methods.combo import EDGE_WEIGHT_PRIOR
from bostruct.methods.defaults import variable_graphs
from bostruct.study.threads import ThreadLimit
from bostruct.surrogates.gaussian import JITTER_LADDER, cholesky, evidence, inverse_from_cholesky, log_determinant
from bostruct.surrogates.hyperparameters import Hyperparameters
from bostruct.surrogates.posterior import SMALLEST_VARIANCE, GaussianPosterior, fit_posterior_sample
from tests.kernels.space.test_diffusion import GOLDEN_POINTS
from tests.strategies import rngs, spaces

NUGGET = 1e-6
# Values at the points of the published Gram matrix, as the authors' code holds them, in float32.
GOLDEN_VALUES = np.array([1.0, 0.5, -0.3, 0.8, 0.1, -1.2]).astype(np.float32).astype(np.float64)
GOLDEN_SPACE = bo.Space({"a": bool, "b": range(3), "c": list("pqrst")})
GOLDEN_THETA = np.log([0.5, 1.0, 0.2])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work: threads that wait for each other cost these small matrices most of the time."""
    with ThreadLimit(1)():
        yield


def kernel_of(space: bo.Space) -> SpaceKernel:
    return ard_diffusion(variable_graphs(space), EDGE_WEIGHT_PRIOR, LogEdgeWeight())


def posterior_of(space: bo.Space, xs: Array, values: Array, hypers: list[Hyperparameters]) -> GaussianPosterior:
    kernel = kernel_of(space)
    samples = [fit_posterior_sample(kernel, xs, values - hyper.mean, hyper, NUGGET) for hyper in hypers]
    return GaussianPosterior(kernel, xs, space.join, samples, NUGGET)


@pytest.mark.parametrize(
    ("log_amplitude", "mean", "log_noise", "expected"),
    [
        (0.0, 0.0, math.log(0.1), -7.0206291725),
        (0.5, 0.2, -4.0, -7.6578591397),
        (-1.0, -0.3, 1.0, -9.5876405612),
        (2.0, 0.0, -12.0, -11.1760833519),
    ],
)
def test_published_evidence(log_amplitude, mean, log_noise, expected):
    kernel = kernel_of(GOLDEN_SPACE)
    gram = kernel.gram(GOLDEN_THETA, kernel.prepare(GOLDEN_POINTS))
    ratio = Hyperparameters(mean, log_amplitude, log_noise, GOLDEN_THETA).ratio(NUGGET)
    found = evidence(gram.copy, GOLDEN_VALUES - mean, log_amplitude, ratio)
    assert found.log_density == pytest.approx(expected, abs=1e-10)
    assert found.jitter == 0.0


def test_published_predictions():
    posterior = posterior_of(
        GOLDEN_SPACE, GOLDEN_POINTS, GOLDEN_VALUES, [Hyperparameters(0.2, 0.5, -4.0, GOLDEN_THETA)]
    )
    prediction = posterior.predict(np.array([[0, 0, 1], [1, 1, 1], [0, 2, 4], [0, 1, 2]]))
    tolerance = {"rtol": 0, "atol": 2e-6}  # the published code works in float32
    np.testing.assert_allclose(prediction.mean[0], [0.3647355, -0.0450840, 0.0079982, 0.4897943], **tolerance)
    np.testing.assert_allclose(prediction.variance[0], [1.6678867, 1.1418115, 1.3654237, 0.0177717], **tolerance)
    improvement = ExpectedImprovement()
    far = improvement(prediction, float(np.float32(-1.2)))[0]
    np.testing.assert_allclose(far, [0.0707481, 0.0761474, 0.0912504, 0.0], **tolerance)
    # Far out, phi + u Phi is phi / u^2 (1 - 3 / u^2 + ...). The published 6.9e-37 is what is left of it in float32.
    sd = math.sqrt(prediction.variance[0, 3])
    u = (float(np.float32(-1.2)) - prediction.mean[0, 3]) / sd
    density = math.exp(-0.5 * u * u) / math.sqrt(2 * math.pi)
    assert far[3] == pytest.approx(sd * density / u**2 * (1 - 3 / u**2 + 15 / u**4), rel=1e-4)
    assert sd * density == pytest.approx(6.9e-37, rel=0.1)
    near = improvement(prediction, 0.0)[0]
    np.testing.assert_allclose(near, [0.3532648, 0.4492135, 0.4621812, 3.8448e-6], **tolerance)


@st.composite
def problems(draw: st.DrawFn):
    """A space, training points with repeats, values and one sample of hyperparameters."""
    space, rng = draw(spaces(5)), draw(rngs())
    xs = space.sample(draw(st.integers(1, 12)), rng)
    values = rng.normal(size=len(xs))
    hyper = Hyperparameters(rng.normal(), rng.uniform(-2, 2), rng.uniform(-6, 1), rng.uniform(-4, 1, space.d))
    return space, xs, values, hyper, rng


def dense(kernel: SpaceKernel, hyper: Hyperparameters, xs: Array, ys: Array) -> Array:
    """Covariance of the latent function, with the nugget where the points of two batches are the same batch."""
    gram = kernel.gram(hyper.theta, kernel.prepare(xs, ys)) + (NUGGET * np.eye(len(xs)) if xs is ys else 0.0)
    return math.exp(hyper.log_amplitude) * gram


@given(problems())
@settings(deadline=None, max_examples=60)
def test_evidence_and_prediction_equal_the_dense_formulas(problem):
    space, xs, values, hyper, rng = problem
    kernel = kernel_of(space)
    total = dense(kernel, hyper, xs, xs) + math.exp(hyper.log_noise) * np.eye(len(xs))
    gram = kernel.gram(hyper.theta, kernel.prepare(xs))
    found = evidence(gram.copy, values - hyper.mean, hyper.log_amplitude, hyper.ratio(NUGGET))
    expected = multivariate_normal(np.full(len(xs), hyper.mean), total).logpdf(values)
    assert found.log_density == pytest.approx(expected, rel=1e-8, abs=1e-8)
    ys = space.sample(7, rng)
    prediction = posterior_of(space, xs, values, [hyper]).predict(ys)
    across = dense(kernel, hyper, ys, xs)
    scale = math.exp(hyper.log_amplitude) * float(gram.max())
    mean = hyper.mean + across @ np.linalg.solve(total, values - hyper.mean)
    np.testing.assert_allclose(prediction.mean[0], mean, rtol=0, atol=1e-7 * max(1.0, scale))
    variance = np.diag(dense(kernel, hyper, ys, ys) - across @ np.linalg.solve(total, across.T))
    np.testing.assert_allclose(prediction.variance[0], np.maximum(variance, SMALLEST_VARIANCE), atol=1e-7 * scale)


@given(problems())
@settings(deadline=None, max_examples=60)
def test_screen_is_an_optimist(problem):
    """Its mean is exact but for what rounding may be, its variance between the posterior's and the prior's."""
    space, xs, values, hyper, rng = problem
    posterior = posterior_of(space, xs, values, [hyper, hyper._replace(log_noise=-1.0)])
    ys = space.join(space.sample(20, rng), xs)
    screened, exact = posterior.screen(ys), posterior.predict(ys)
    assert np.all(screened.mean <= exact.mean)
    sums = [abs(one.hyper.mean) + float(np.abs(one.weights).sum()) for one in posterior.samples]
    largest = float(np.max(kernel_of(space).diag(hyper.theta, ys)))
    np.testing.assert_allclose(screened.mean, exact.mean, rtol=0, atol=1e-11 * max(sums) * max(largest, 1.0))
    scale = float(np.max(screened.variance))
    assert np.all(screened.variance >= exact.variance - 1e-10 * scale)
    prior = math.exp(hyper.log_amplitude) * (kernel_of(space).diag(hyper.theta, ys) + NUGGET)
    assert np.all(screened.variance <= np.maximum(prior, SMALLEST_VARIANCE) * (1.0 + 1e-12))


@given(problems())
@settings(deadline=None, max_examples=60)
def test_believing_is_training_on_the_mean(problem):
    """Points told exactly their mean leave every mean as it was; variances are as if they had been evaluated."""
    space, xs, values, hyper, rng = problem
    posterior = posterior_of(space, xs, values, [hyper])
    running, ys = space.sample(3, rng), space.sample(10, rng)
    believed = posterior.believe(running)
    told = np.concatenate([values, posterior.predict(running).mean[0]])
    trained = posterior_of(space, space.join(xs, running), told, [hyper])
    before, after, expected = posterior.predict(ys), believed.predict(ys), trained.predict(ys)
    scale = math.exp(hyper.log_amplitude) * float(np.max(kernel_of(space).diag(hyper.theta, ys)))
    np.testing.assert_allclose(after.mean, before.mean, rtol=0, atol=1e-12 * max(1.0, scale))
    np.testing.assert_allclose(after.mean, expected.mean, rtol=0, atol=1e-6 * max(1.0, scale))
    np.testing.assert_allclose(after.variance, expected.variance, rtol=0, atol=1e-9 * scale)
    assert np.all(after.variance <= before.variance + 1e-9 * scale)
    at = believed.predict(running).variance
    assert np.all(at <= math.exp(hyper.log_noise) + 2 * NUGGET * scale + SMALLEST_VARIANCE)
    assert posterior.believe(space.join()) is posterior


def test_prediction_does_not_depend_on_how_candidates_are_batched():
    rng = np.random.default_rng(3)
    space = bo.Space({f"{i}": bool for i in range(12)})
    xs, ys = space.sample(15, rng), space.sample(2_500, rng)
    posterior = posterior_of(
        space, xs, rng.normal(size=15), [Hyperparameters(0.1, 0.3, -3.0, rng.uniform(-3, 0, 12)) for _ in range(2)]
    )
    together = posterior.predict(ys)
    assert together.mean.shape == together.variance.shape == (2, 2_500)
    for part in np.array_split(np.arange(2_500), 7):
        apart = posterior.predict(ys[part])
        np.testing.assert_allclose(apart.mean, together.mean[:, part], rtol=0, atol=1e-12)
        np.testing.assert_allclose(apart.variance, together.variance[:, part], rtol=0, atol=1e-12)
    empty = posterior.predict(space.join())
    assert empty.mean.shape == empty.variance.shape == (2, 0)


def test_factor_of_any_memory_order():
    rng = np.random.default_rng(4)
    root = rng.normal(size=(6, 6))
    matrix = root @ root.T
    for build in (matrix.copy, lambda: np.asfortranarray(matrix), lambda: np.array(np.pad(matrix, 2))[2:-2, 2:-2]):
        lower, jitter = cholesky(build, 0.7)
        np.testing.assert_allclose(np.tril(lower) @ np.tril(lower).T, matrix + 0.7 * np.eye(6), atol=1e-12)
        assert jitter == 0.0
        assert log_determinant(lower) == pytest.approx(np.linalg.slogdet(matrix + 0.7 * np.eye(6))[1])


@pytest.mark.parametrize("n", [1, 2, 64, 65, 131, 300])
def test_the_inverse_is_symmetric_and_that_of_the_matrix(n):
    half = np.random.default_rng(n).normal(size=(n, n))
    matrix = half @ half.T / n + 0.1 * np.eye(n)
    inverse = inverse_from_cholesky(cholesky(matrix.copy, 0.0).lower)
    assert np.array_equal(inverse, inverse.T)
    assert np.allclose(inverse @ matrix, np.eye(n), atol=1e-11)


def test_jitter_is_the_least_step_of_the_ladder_that_serves_and_is_reported():
    singular = np.ones((5, 5)) - 1e-9 * np.eye(5)  # smallest eigenvalue -1e-9
    lower, jitter = cholesky(singular.copy, 0.0)
    assert jitter == pytest.approx(1e-8)
    assert JITTER_LADDER[JITTER_LADDER.index(1e-8) - 1] < 1e-9
    np.testing.assert_allclose(np.tril(lower) @ np.tril(lower).T, singular + jitter * np.eye(5), atol=1e-14)


def test_jitter_ends_with_an_error_that_says_why():
    with pytest.raises(NumericalError, match=r"of 3 points is not positive definite .* smallest eigenvalue of K -1"):
        cholesky((2.0 * np.ones((3, 3)) - np.eye(3)).copy, 0.0)
    broken = np.eye(3)
    broken[1, 2] = broken[2, 1] = np.nan
    with pytest.raises(NumericalError, match="not finite"):
        cholesky(broken.copy, 0.1)
