"""Draws of the latent objective: their moments, the posterior given each, and its bounds and gradients."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.acquisition.functions import LOG_EI
from bostruct.contracts import Array
from bostruct.kernels.algebra import SpectrumClip
from bostruct.searchers.scores import AcquisitionScore
from bostruct.surrogates.latent_draws import LatentPosterior, LatentSampler
from bostruct.surrogates.posterior import GaussianPosterior
from bostruct.testing.gradient_laws import check_prediction_gradient
from bostruct.testing.model_laws import check_prediction, check_screen
from tests.fakes import TablePosterior

SPACE = bo.Space({f"x{i}": bool for i in range(5)} | {"o": range(5)})
POINTS = SPACE.enumerate()


def fitted(n: int = 20, noise: float = 1.0, seed: int = 0) -> tuple[GaussianPosterior, Any, Array]:
    rng = np.random.default_rng(seed)
    xs = POINTS[rng.choice(len(POINTS), size=n, replace=False)]
    values = 7.0 + 2.0 * (xs @ rng.normal(size=6) + noise * rng.normal(size=n))
    model: Any = methods.auto(SPACE)
    surrogate = model.surrogate.with_variances(np.full(n, 4.0 * noise**2))
    return surrogate.condition(xs, values, None, rng)[0], xs, values


def drawn(posterior: GaussianPosterior, most: int, n_draws: int, seed: int = 0) -> LatentPosterior:
    found = LatentSampler(most, n_draws)(posterior, np.random.default_rng(seed))
    assert found is not None
    return found


def test_draws_average_to_the_posterior() -> None:
    """The law of total variance: what the draws leave, and by how much their means differ, is the variance."""
    posterior, xs, _ = fitted()
    found = drawn(posterior, 6, 4000)
    given, plain = found.predict(POINTS), posterior.predict(POINTS)
    mean = given.mean + posterior.scale * found.lowest + posterior.shift
    np.testing.assert_allclose(mean.mean(axis=0), plain.mean[0], atol=0.02 * posterior.scale)
    total = mean.var(axis=0) + given.variance[0]
    np.testing.assert_allclose(total, plain.variance[0], rtol=0.05, atol=1e-3 * posterior.scale**2)
    best = xs[np.argsort(posterior.predict(xs).mean[0])[:6]]
    among = found.predict(best)
    assert np.all(among.variance < 1e-4 * posterior.scale**2)
    np.testing.assert_allclose(among.mean.min(axis=1), 0.0, atol=0.02 * posterior.scale)


def test_each_draw_conditions_the_posterior_as_the_covariances_say() -> None:
    posterior, xs, _ = fitted()
    found = drawn(posterior, 5, 3)
    best = xs[np.argsort(posterior.predict(xs).mean[0], kind="stable")[:5]]
    together = posterior.covariance(SPACE.join(best, POINTS))[0]
    told = together[:5, :5] + 1e-6 * posterior.scale**2 * np.eye(5)
    gain = np.linalg.solve(told, together[:5, 5:]).T
    latent = found.predict(best).mean  # less the smallest
    plain = posterior.predict(SPACE.join(best, POINTS)).mean[0]
    lowest = posterior.shift + posterior.scale * found.lowest
    expected = plain[5:] - lowest + (latent + lowest - plain[:5]) @ gain.T
    np.testing.assert_allclose(found.predict(POINTS).mean, expected, atol=1e-3 * posterior.scale)
    left = np.diag(together)[5:] - np.einsum("mr,rm->m", gain, together[:5, 5:])
    np.testing.assert_allclose(found.predict(POINTS).variance[0], left, atol=1e-5 * posterior.scale**2)


def test_without_noise_it_is_log_expected_improvement() -> None:
    posterior, xs, values = fitted(noise=0.0)
    noisy = AcquisitionScore(drawn(posterior, 100, 8), LOG_EI, 0.0)
    plain = AcquisitionScore(posterior, LOG_EI, float(values.min()))
    known = {x.tobytes() for x in xs}
    unseen = POINTS[[x.tobytes() not in known for x in POINTS]]
    likely = plain(unseen) > -10.0
    assert likely.sum() > 10
    np.testing.assert_allclose(noisy(unseen)[likely], plain(unseen)[likely], atol=0.05)


def test_it_equals_the_average_of_improvements_by_brute_force() -> None:
    """Noisy expected improvement from many joint draws at all points told, and at one more point each time."""
    posterior, xs, _ = fitted(n=6)
    score = AcquisitionScore(drawn(posterior, 10, 2000), LOG_EI, 0.0)
    rng = np.random.default_rng(1)
    for x in POINTS[::37]:
        both = SPACE.join(xs, x[None])
        mean, covariance = posterior.predict(both).mean[0], posterior.covariance(both)[0]
        draws = rng.multivariate_normal(mean, covariance, size=200_000, method="eigh")
        gain = np.maximum(draws[:, :-1].min(axis=1) - draws[:, -1], 0.0).mean()
        assert math.exp(score(x[None])[0]) == pytest.approx(gain, rel=0.1, abs=1e-3 * posterior.scale)


def test_its_bounds_are_never_below_it() -> None:
    rng = np.random.default_rng(0)
    for noise in (0.0, 0.3, 2.0):
        found = drawn(fitted(noise=noise)[0], 12, 9)
        check_prediction(found, SPACE, POINTS[:30], rng)
        check_screen(found, SPACE, POINTS, rng)
        check_screen(found.believe(POINTS[:2]), SPACE, POINTS, rng)
        score = AcquisitionScore(found, LOG_EI, 0.0)
        assert np.all(score.upper_bounds(POINTS) >= score(POINTS))


def test_believed_points_keep_each_mean_and_are_drawn() -> None:
    posterior, _, _ = fitted()
    found = drawn(posterior, 12, 9)
    believed = found.believe(POINTS[:3])
    np.testing.assert_allclose(believed.predict(POINTS).mean, found.predict(POINTS).mean, atol=1e-9)
    assert np.all(believed.predict(POINTS[:3]).variance < found.predict(POINTS[:3]).variance)
    assert found.believe(POINTS[:0]) is found
    before: Any = posterior.believe(POINTS[:3])
    assert np.all(drawn(before, 100, 9).predict(POINTS[:3]).variance < 1e-4 * posterior.scale**2)


def test_gradients_are_those_of_the_predictions() -> None:
    space = bo.Space({"x": bo.Real(0, 1), "y": bo.Real(0, 1), "b": bool})
    rng = np.random.default_rng(0)
    xs = space.sample(15, rng)
    model: Any = methods.auto(space)
    posterior = model.surrogate.condition(xs, rng.normal(size=15), None, rng)[0]
    check_prediction_gradient(drawn(posterior, 8, 5), space, space.sample(4, rng), rng)


def test_samples_of_hyperparameters_have_draws_each() -> None:
    rng = np.random.default_rng(0)
    xs = POINTS[rng.choice(len(POINTS), size=10, replace=False)]
    model: Any = methods.combo(SPACE)
    posterior = replace(model.surrogate, burn_in=1, samples=3).condition(xs, rng.normal(size=10), None, rng)[0]
    found = drawn(posterior, 5, 400)
    assert found.predict(POINTS).mean.shape == (1200, len(POINTS))
    mean = (found.predict(POINTS).mean + found.lowest).reshape(3, 400, -1).mean(axis=1)
    spread = np.sqrt(posterior.predict(POINTS).variance)
    assert np.all(np.abs(mean - posterior.predict(POINTS).mean) < 0.2 * spread + 1e-3)


def test_a_point_told_twice_is_drawn_once() -> None:
    posterior, xs, values = fitted(n=8)
    model: Any = methods.auto(SPACE)
    twice = np.concatenate([xs, xs])
    posterior = model.surrogate.condition(twice, np.concatenate([values, values + 1.0]), None, None)[0]
    found = drawn(posterior, 100, 7)
    assert np.abs(found.weights[0]).max() < 1e4
    assert np.all(found.predict(xs).variance < 1e-4 * posterior.scale**2)


def test_other_posteriors_are_not_drawn_from() -> None:
    other = TablePosterior(np.array([2, 2]), np.zeros(4), np.ones(4), np.zeros(4))
    assert LatentSampler(3, 4)(other, np.random.default_rng(0)) is None


def test_a_kernel_that_depends_on_the_training_points_is_not_drawn_from() -> None:
    """Points believed would change it, as that of architectures, and so what was drawn."""
    posterior, _, _ = fitted()
    assert LatentSampler(3, 4)(posterior, np.random.default_rng(0)) is not None
    clipped = replace(posterior, kernel=SpectrumClip(posterior.kernel))  # type: ignore[arg-type]
    assert LatentSampler(3, 4)(clipped, np.random.default_rng(0)) is None
