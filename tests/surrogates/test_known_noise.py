"""Noise that is known: the posterior has it on its diagonal, whatever surrogate is told."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Array
from bostruct.kernels.space.diffusion import ard_diffusion
from bostruct.kernels.space.spectra import LogLengthscale
from bostruct.methods.defaults import variable_graphs
from bostruct.surrogates.hyperparameters import Normal
from bostruct.surrogates.map_gp import MAPGP, Mode
from bostruct.surrogates.marginalized import block_evidence
from bostruct.surrogates.posterior import GaussianPosterior
from bostruct.surrogates.standardization import check_variances
from bostruct.surrogates.warping import Compression, OutputWarping
from bostruct.testing.model_laws import check_posterior
from tests.surrogates.test_block_evidence import line_of

SPACE = bo.Space({f"x{i}": bool for i in range(5)} | {"o": range(5)})
POINTS = SPACE.enumerate()


def plain() -> MAPGP:
    kernel = ard_diffusion(
        variable_graphs(SPACE), Normal(-0.5, 1.5), LogLengthscale(), initial=-0.5, unit_diagonal=True
    )
    return MAPGP(kernel, SPACE.join, Normal(-3.0, 1.0), -3.0)


def model_of(searcher: Any) -> Any:
    return searcher.surrogate


def make_data(seed: int, n: int = 14) -> tuple[Any, Array, Array]:
    rng = np.random.default_rng(seed)
    xs = POINTS[rng.choice(len(POINTS), size=n, replace=False)]
    values = 5.0 + 3.0 * (xs @ rng.normal(size=xs.shape[1]) + rng.normal(size=n))
    return xs, values, rng.uniform(0.0, 4.0, n) ** 2


def brute_force(posterior: GaussianPosterior, xs: Any, values: Array, noise: Array, at: Any) -> tuple[Array, Array]:
    """A posterior by its textbook formula, in the user's units, with the mean of the largest evidence."""
    (one,), kernel = posterior.samples, posterior.kernel
    amplitude = posterior.scale**2 * math.exp(one.hyper.log_amplitude)
    covariance = amplitude * kernel.gram(one.hyper.theta, kernel.prepare(xs)) + np.diag(noise)
    cross = amplitude * kernel.gram(one.hyper.theta, kernel.prepare(at, xs))
    ones = np.linalg.solve(covariance, np.ones(len(xs)))
    mean = ones @ values / ones.sum()
    found = mean + cross @ np.linalg.solve(covariance, values - mean)
    explained = np.einsum("mn,nm->m", cross, np.linalg.solve(covariance, cross.T))
    return found, amplitude * kernel.diag(one.hyper.theta, at) - explained


@pytest.mark.parametrize("seed", range(4))
def test_the_posterior_has_the_noise_told_on_its_diagonal(seed: int) -> None:
    """All noise known, some of it known, and two values of no noise beside others."""
    xs, values, variances = make_data(seed)
    variances[:2] = 0.0
    for known in (variances, np.where(np.arange(len(values)) % 3 == 1, np.nan, variances)):
        surrogate = plain().with_variances(known)
        posterior, state, info = surrogate.condition(xs, values, None, np.random.default_rng(0))
        noise = np.where(np.isnan(known), posterior.noise[0], known)
        mean, variance = brute_force(posterior, xs, values, noise, POINTS)
        found = posterior.predict(POINTS)
        np.testing.assert_allclose(found.mean[0], mean, rtol=1e-9)
        np.testing.assert_allclose(found.variance[0], variance, rtol=1e-7, atol=2e-8 * posterior.scale**2)
        exact = known == 0.0
        np.testing.assert_allclose(posterior.predict(xs[exact]).mean[0], values[exact], rtol=1e-6)
        assert (info["fit"], len(state)) == ("mode", 1 + SPACE.d)
        if not np.isnan(known).any():
            assert posterior.noise[0, 0] == pytest.approx(np.median(variances))


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(deadline=None, max_examples=30)
def test_the_gradient_knows_which_noise_is_learned(seed: int, is_all_known: bool) -> None:
    rng = np.random.default_rng(seed)
    xs, values, variances = make_data(seed, n=8)
    variances[3:] = variances[3:] if is_all_known else np.nan
    surrogate = plain().with_variances(variances)
    fit = surrogate.prepare(xs, values)
    packed = np.concatenate([[rng.uniform(-4, 0)], rng.uniform(-2.0, 1.0, SPACE.d)])
    value, gradient = surrogate.log_posterior(fit, packed)
    gram = surrogate.kernel.gram(packed[1:], fit.prepared)
    covariance: Any = gram + np.diag(np.where(np.isnan(variances), math.exp(packed[0]), variances / fit.scale**2))
    ones = np.linalg.solve(covariance, np.ones(len(xs)))
    mean = np.full(len(xs), ones @ fit.values / ones.sum())
    prior = surrogate.noise_prior.log_density(packed[0])
    prior += sum(surrogate.kernel.parameters[0].prior.log_density(t) for t in packed[1:])
    assert value == pytest.approx(multivariate_normal(mean, covariance).logpdf(fit.values) + prior, rel=1e-8, abs=1e-8)
    for i in range(len(packed)):
        step = np.zeros(len(packed))
        step[i] = 1e-5
        ahead, behind = (surrogate.log_posterior(fit, packed + sign * step)[0] for sign in (1, -1))
        assert gradient[i] == pytest.approx((ahead - behind) / 2e-5, rel=1e-4, abs=1e-4)


def test_repeats_are_their_mean_with_its_variance() -> None:
    """With the noise s2, k values at a point say of the objective what their mean with the noise s2 / k says."""
    rng = np.random.default_rng(3)
    xs, values, _ = make_data(0, n=7)
    repeats, s2 = np.array([1, 2, 5, 1, 3, 1, 4]), 2.25
    told = [value + rng.normal(size=k) for value, k in zip(values, repeats, strict=True)]
    rows, means = plain(), plain().with_variances(s2 / repeats)
    of_means = means.prepare(xs, np.array([one.mean() for one in told]))
    standard = (np.concatenate(told) - of_means.shift) / of_means.scale
    every = np.repeat(xs, repeats, axis=0)
    alone = of_means._replace(
        prepared=rows.kernel.prepare(every),
        values=standard,
        xs=every,
        noise=np.full(len(standard), s2 / of_means.scale**2),
    )
    mode = Mode(np.concatenate([[-2.0], np.full(SPACE.d, -0.3)]), {})
    expected, found = rows.posterior_at(alone, mode)[0], means.posterior_at(of_means, mode)[0]
    np.testing.assert_allclose(found.predict(POINTS).mean, expected.predict(POINTS).mean, rtol=1e-9)
    np.testing.assert_allclose(found.predict(POINTS).variance, expected.predict(POINTS).variance, rtol=1e-7)


@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 1e6])
def test_every_law_of_a_posterior_holds_with_noise_of_any_size(spread: float) -> None:
    xs, values, variances = make_data(1, n=30)
    surrogate = model_of(methods.auto(SPACE))
    posterior = surrogate.with_variances(spread * variances).condition(xs, values, None, np.random.default_rng(0))[0]
    check_posterior(posterior, SPACE, np.random.default_rng(1), m=30)


def test_bounds_with_components_hold_with_noise_that_differs() -> None:
    space = bo.Space({f"x{i}": bool for i in range(12)})
    rng = np.random.default_rng(0)
    xs = space.sample(220, rng)
    values = xs @ rng.normal(size=12) + rng.normal(size=220)
    surrogate = model_of(methods.auto(space))
    surrogate = surrogate.with_variances(rng.uniform(0.0, 3.0, 220) ** 2)
    posterior = surrogate.condition(xs, values, None, rng)[0]
    at = space.sample(500, rng)
    bound, found = posterior.bound(at), posterior.predict(at)
    assert np.all(bound.mean <= found.mean)
    assert np.all(bound.variance >= found.variance)


def test_without_known_noise_nothing_changes() -> None:
    xs, values, _ = make_data(2)
    for surrogate in (model_of(methods.auto(SPACE)), model_of(methods.combo(SPACE))):
        told = surrogate.with_variances(np.full(len(values), np.nan))
        first, state, _ = surrogate.condition(xs, values, surrogate.initial_state(), np.random.default_rng(0))
        second, same, _ = told.condition(xs, values, surrogate.initial_state(), np.random.default_rng(0))
        assert same == state
        np.testing.assert_array_equal(first.predict(POINTS).mean, second.predict(POINTS).mean)


def test_where_all_noise_is_known_one_model_is_fitted() -> None:
    """The prior of the noise, in which the two differ, has nothing left to say."""
    xs, values, variances = make_data(0)
    choice = model_of(methods.auto(SPACE)).surrogate
    posterior, state, info = choice.with_variances(variances).condition(xs, values, None, np.random.default_rng(0))
    alone, _, fitted = choice.quiet.with_variances(variances).condition(xs, values, None, np.random.default_rng(0))
    np.testing.assert_array_equal(posterior.predict(POINTS).mean, alone.predict(POINTS).mean)
    assert info == fitted
    assert state["modes"][1] is None
    later = choice.condition(*make_data(1, n=40)[:2], state, np.random.default_rng(0))  # and noise is learned again
    assert later[2]["fit"] == "mode"
    assert later[1]["modes"][1] is not None


def test_points_chosen_from_many_keep_their_own_noise() -> None:
    xs, values, variances = make_data(0, n=40)
    few = replace(plain(), most=12).with_variances(variances).prepare(xs, values)
    position = {x.tobytes(): i for i, x in enumerate(xs)}
    kept = [position[np.asarray(x).tobytes()] for x in few.xs]
    assert len(kept) == 12
    assert few.noise is not None
    np.testing.assert_allclose(few.noise * few.scale**2, variances[kept])


def test_noise_is_compressed_as_values_are() -> None:
    xs, values, variances = make_data(0)
    values[4] += 40.0
    inner = plain()
    compression = Compression.of(values, 3.0)
    lower = values - np.sqrt(variances)
    noise = variances.copy()
    both = compression.compress(np.append(values, lower[4]))  # the compression is that of the values
    noise[4] = (both[4] - both[-1]) ** 2
    assert noise[4] < 0.5 * variances[4]
    compressed, found_noise = compression.observe(values, variances)
    np.testing.assert_allclose(found_noise, noise)
    warping = OutputWarping(inner).with_variances(variances)
    found = warping.condition(xs, values, None, np.random.default_rng(0))[0]
    expected = inner.with_variances(found_noise).condition(xs, compressed, None, np.random.default_rng(0))[0]
    np.testing.assert_array_equal(found.predict(POINTS).mean, expected.predict(POINTS).mean)


def test_a_sampled_model_has_the_noise_told_too() -> None:
    xs, values, variances = make_data(0)
    surrogate: Any = replace(model_of(methods.combo(SPACE)), burn_in=2, samples=2)
    for known in (variances, np.where(np.arange(len(values)) < 3, np.nan, variances)):
        posterior, state, _ = surrogate.with_variances(known).condition(xs, values, None, np.random.default_rng(0))
        assert posterior.known is not None
        for s, one in enumerate(posterior.samples):
            kernel, hyper = posterior.kernel, one.hyper
            noise = np.where(np.isnan(known), math.exp(hyper.log_noise), known)
            covariance = math.exp(hyper.log_amplitude) * kernel.gram(hyper.theta, kernel.prepare(xs))
            covariance += np.diag(noise + (1e-6 + one.jitter) * math.exp(hyper.log_amplitude))
            cross = math.exp(hyper.log_amplitude) * kernel.gram(hyper.theta, kernel.prepare(POINTS, xs))
            mean = hyper.mean + cross @ np.linalg.solve(covariance, values - hyper.mean)
            np.testing.assert_allclose(posterior.predict(POINTS).mean[s], mean, rtol=1e-6)
        assert (math.exp(state[2]) == pytest.approx(np.median(variances))) == (not np.isnan(known).any())


def test_the_evidence_in_blocks_has_the_noise_of_each_point() -> None:
    space = bo.Space({"a": bool, "b": bool, "c": ["x", "y", "z"], **{f"d{i}": bool for i in range(6)}})
    rng = np.random.default_rng(0)
    n = 405
    xs, ratio, residual = space.sample(n, rng), rng.uniform(0.1, 2.0, n), rng.normal(size=n)
    theta = rng.uniform(-2.0, 0.0, space.d)
    kernel, line, prepared = line_of(space, xs, theta, 1)
    along = block_evidence(line, residual, ratio)
    assert along is not None
    found = along(float(theta[1]))
    whole = kernel.gram(theta, prepared) + np.diag(ratio)
    assert found is not None
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(whole)[1], abs=1e-6)
    assert found.quadratic == pytest.approx(residual @ np.linalg.solve(whole, residual), rel=1e-6)


@pytest.mark.parametrize("wrong", [[-1.0, 0.0], [[0.0, 1.0]], [math.inf, 0.0]])
def test_noise_that_is_none_is_refused(wrong: Any) -> None:
    for surrogate in (plain(), OutputWarping(plain()), model_of(methods.auto(SPACE))):
        with pytest.raises(ValueError, match="variances: expected numbers of at least 0, or NaN, one for each value"):
            surrogate.with_variances(wrong)
    with pytest.raises(ValueError, match="variances: expected numbers of at least 0, or NaN, one for each value"):
        check_variances(wrong)


def test_as_many_variances_as_values_are_asked_for() -> None:
    xs, values, variances = make_data(0)
    with pytest.raises(ValueError, match="variances: expected one for each of 14 values, got 13"):
        plain().with_variances(variances[1:]).condition(xs, values, None, np.random.default_rng(0))
