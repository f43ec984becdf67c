"""The laws of gradients with respect to continuous coordinates: of kernels, posteriors and scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bostruct.checks import check_part
from bostruct.contracts import AcquisitionFunction, Array, Batch, Domain, Kernel, Posterior, Prediction, Score
from bostruct.testing.common import assert_close

STEP = 1e-5  # change of a share, on either side
TOLERANCE = 1e-6  # relative to the largest derivative and the largest value: error of finite differences
INSIDE = (0.01, 0.99)  # shares at which derivatives are measured


def check_input_gradient(
    kernel: Kernel, domain: Domain, xs: Batch, ys: Batch, theta: Array, rng: np.random.Generator
) -> None:
    """Check that a kernel at shares equals the kernel at their points, and that its pullback is its gradient.

    Shares of inactive coordinates must have no effect.

    theta: (p,).
    """
    if not domain.n_continuous > 0 or (varied := kernel.input_vjp(theta, xs, ys)) is None:
        return
    shares = domain.shares(xs)
    expected = kernel.gram(theta, kernel.prepare(xs, ys))
    rounding = 1e-9 * float(np.max(np.abs(expected)))
    assert_close(varied(shares)[0], expected, rounding, "input_vjp at a point's own shares returns gram")
    moved = domain.with_shares(xs, rng.random(shares.shape))
    there = kernel.gram(theta, kernel.prepare(moved, ys))
    assert_close(varied(domain.shares(moved))[0], there, rounding, "input_vjp at shares returns gram of their points")
    diag = kernel.diag(theta, xs)
    assert_close(kernel.diag(theta, moved), diag, rounding, "k(x, x) does not depend on shares")
    cotangent = rng.normal(size=expected.shape)

    def total(at: Array) -> tuple[Array, Array]:
        gram, pullback = varied(at)
        return np.sum(cotangent * gram, axis=1), pullback(cotangent)

    check_gradient(total, rng.uniform(*INSIDE, size=shares.shape), "the pullback of a kernel")


def check_prediction_gradient(posterior: Posterior, domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    """Check that predictions at shares equal predictions at their points, and that the pullback is the gradient."""
    varied, shares = posterior.input_vjp(xs), domain.shares(xs)
    assert varied is not None, "a posterior has a gradient in the continuous coordinates: input_vjp returned None"
    moved = domain.with_shares(xs, rng.random(shares.shape))
    for points in (xs, moved):
        expected, found = posterior.predict(points), varied(domain.shares(points))[0]
        scale = float(expected.variance.max())
        assert_close(found.mean, expected.mean, 1e-7 * np.sqrt(scale), "the mean at shares matches their points")
        assert_close(found.variance, expected.variance, 1e-7 * scale, "the variance at shares matches their points")
    of_mean, of_variance = (rng.normal(size=varied(shares)[0].mean.shape) for _ in range(2))

    def total(at: Array) -> tuple[Array, Array]:
        prediction, pullback = varied(at)
        value = np.sum(of_mean * prediction.mean + of_variance * prediction.variance, axis=0)
        return value, pullback(Prediction(of_mean, of_variance))

    check_gradient(total, rng.uniform(*INSIDE, size=shares.shape), "the pullback of a posterior")


def check_score_gradient(score: Score, domain: Domain, xs: Batch, rng: np.random.Generator) -> None:
    """Check that a score at shares equals the score of their points, and that its gradient is right.

    Parameters
    ----------
    score : Score
        A score with gradients in continuous coordinates.
    domain : Domain
        A domain with continuous coordinates.
    xs : Batch
        m points.
    rng : Generator
        Generator of random shares.
    """
    varied, shares = check_part("score", score, Score).input_vjp(xs), domain.shares(xs)
    assert varied is not None, "a score has a gradient in the continuous coordinates: input_vjp returned None"
    moved = domain.with_shares(xs, rng.random(shares.shape))
    for points in (xs, moved):
        expected = score(points)
        rounding = 1e-6 * (1.0 + float(np.max(np.abs(expected))))
        assert_close(varied(domain.shares(points))[0], expected, rounding, "the score at shares matches their points")
    check_gradient(varied, rng.uniform(*INSIDE, size=shares.shape), "the gradient of a score")


def check_acquisition_gradient(
    acquisition: AcquisitionFunction, rng: np.random.Generator, s: int = 2, m: int = 30
) -> None:
    """Check the derivatives of an acquisition function against finite differences.

    s: number of posterior samples, at least 1.
    m: number of points, at least 1.
    """
    prediction = Prediction(rng.normal(size=(s, m)), rng.uniform(0.05, 2.0, size=(s, m)))
    incumbent = float(rng.normal())
    found = acquisition.value_and_gradient(prediction, incumbent)
    expected = AcquisitionFunction.value_and_gradient(acquisition, prediction, incumbent)
    rounding = 1e-9 * (1.0 + float(np.max(np.abs(expected.value))))
    assert_close(found.value, expected.value, rounding, "value_and_gradient returns the acquisition value")
    for gradient, numeric in ((found.mean, expected.mean), (found.variance, expected.variance)):
        largest = 1.0 + float(np.max(np.abs(numeric)))
        assert_close(gradient, numeric, TOLERANCE * largest, "value_and_gradient returns the derivatives of the value")


def check_gradient(function: Callable[[Array], tuple[Array, Array]], at: Array, what: str) -> None:
    """Check the gradient of each of m values, which depends only on its own row, against central differences.

    function: (m, c) -> values (m,) and their gradients (m, c).
    at: evaluation points (m, c).
    """
    values, gradient = function(at)
    assert gradient.shape == at.shape, f"{what} is (m, c): expected {at.shape}, got {gradient.shape}"
    for k in range(at.shape[1]):
        step = np.zeros_like(at)
        step[:, k] = STEP
        numeric = (function(at + step)[0] - function(at - step)[0]) / (2.0 * STEP)
        largest = float(np.max(np.abs(numeric))) + float(np.max(np.abs(values))) * 1e-3
        assert_close(
            gradient[:, k], numeric, 10.0 * TOLERANCE * largest + 1e-9, f"{what} in coordinate {k} is the derivative"
        )
