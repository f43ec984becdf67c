"""The mode surrogate: its gradient, that it is a mode, and what rescaling the values must not change."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

import bostruct as bo
from bostruct.contracts import NumericalError
from bostruct.kernels.space.diffusion import ard_diffusion
from bostruct.kernels.space.spectra import LogLengthscale
from bostruct.methods.defaults import variable_graphs
from bostruct.study.threads import ThreadLimit
from bostruct.surrogates.hyperparameters import Normal
from bostruct.surrogates.map_gp import LOG_NOISE_RANGE, MAPGP, THETA_REACH, TrainingData
from tests.strategies import rngs, spaces

NOISE = Normal(-5.0, 1.0)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work: threads that wait for each other cost these small matrices most of the time."""
    with ThreadLimit(1)():
        yield


def surrogate_of(space: bo.Space, noise: Normal = NOISE, initial_log_noise: float = -5.0) -> MAPGP:
    kernel = ard_diffusion(
        variable_graphs(space), Normal(-0.5, 1.5), LogLengthscale(), initial=-0.5, unit_diagonal=True
    )
    return MAPGP(kernel, space.join, noise, initial_log_noise)


def additive_values(space: bo.Space, xs, rng: np.random.Generator):
    tables = [rng.normal(size=k) for k in space.n_choices]
    return sum(table[xs[:, i]] for i, table in enumerate(tables)) + 0.1 * rng.normal(size=len(xs))


def standardized(surrogate: MAPGP, xs, values) -> TrainingData:
    return surrogate.prepare(xs, values)


@given(spaces(5), st.integers(3, 12), rngs())
@settings(deadline=None, max_examples=60)
def test_gradient_equals_central_differences(space, n, rng):
    xs = space.sample(n, rng)
    surrogate = surrogate_of(space)
    fit = standardized(surrogate, xs, rng.normal(size=n))
    packed = np.concatenate([[rng.uniform(-6, 0)], rng.uniform(-2.5, 1.5, space.d)])
    value, gradient = surrogate.log_posterior(fit, packed)
    assert math.isfinite(value)
    for i in range(len(packed)):
        step = np.zeros(len(packed))
        step[i] = 1e-5
        ahead, behind = (surrogate.log_posterior(fit, packed + sign * step)[0] for sign in (1, -1))
        assert gradient[i] == pytest.approx((ahead - behind) / 2e-5, rel=1e-4, abs=1e-4)


@given(spaces(4), st.integers(2, 10), rngs())
@settings(deadline=None, max_examples=40)
def test_log_posterior_is_evidence_at_the_best_mean_plus_priors(space, n, rng):
    xs = space.sample(n, rng)
    surrogate = surrogate_of(space)
    fit = standardized(surrogate, xs, rng.normal(size=n))
    log_noise, theta = rng.uniform(-4, 0), rng.uniform(-2, 1, space.d)
    found, _ = surrogate.log_posterior(fit, np.concatenate([[log_noise], theta]))
    kernel = surrogate.kernel
    covariance = kernel.gram(theta, kernel.prepare(xs)) + math.exp(log_noise) * np.eye(n)
    weights = np.linalg.solve(covariance, np.ones(n))
    mean = weights @ fit.values / weights.sum()
    prior = NOISE.log_density(log_noise) + sum(kernel.prior.log_density(t) for t in theta)
    expected = multivariate_normal(np.full(n, mean), covariance).logpdf(fit.values) + prior
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    for other in (mean - 0.1, mean + 0.1):
        assert multivariate_normal(np.full(n, other), covariance).logpdf(fit.values) + prior < found


@pytest.mark.parametrize("seed", range(3))
def test_mode_beats_random_parameters(seed):
    rng = np.random.default_rng(seed)
    space = bo.Space({f"x{i}": bool for i in range(6)} | {"c": list("pqrs"), "o": range(7)})
    xs = space.sample(25, rng)
    values = additive_values(space, xs, rng)
    surrogate = surrogate_of(space)
    _, state, info = surrogate.condition(xs, values, None, rng)
    fit = standardized(surrogate, xs, values)
    at_mode, gradient = surrogate.log_posterior(fit, np.array(state))
    assert info["fit"] == "mode"
    assert info["log_posterior"] == pytest.approx(at_mode)
    inside = (np.array(state) > np.array([LOG_NOISE_RANGE[0], *[-0.5 - THETA_REACH] * 8]) + 1e-9) & (
        np.array(state) < 2
    )
    assert np.all(np.abs(gradient[inside]) < 0.05)
    for _ in range(200):
        packed = np.concatenate([[rng.uniform(*LOG_NOISE_RANGE)], rng.normal(-0.5, 1.5, space.d)])
        assert surrogate.log_posterior(fit, packed)[0] < at_mode


@given(st.sampled_from([1e-12, 1e-3, 2.5, 1e12]), st.sampled_from([0.0, -3.0, 1e5]), rngs())
@settings(deadline=None, max_examples=10)
def test_prediction_follows_shift_and_scale_of_the_values(scale, shift, rng):
    space = bo.Space({"a": bool, "b": bool, "c": list("pqr"), "o": range(5)})
    xs, ys = space.sample(10, rng), space.sample(12, rng)
    values = additive_values(space, xs, rng)
    surrogate = surrogate_of(space)
    plain = surrogate.condition(xs, values, None, rng)[0].predict(ys)
    moved = surrogate.condition(xs, scale * (values + shift), None, rng)[0].predict(ys)
    np.testing.assert_allclose(moved.mean / scale - shift, plain.mean, rtol=0, atol=1e-4)
    np.testing.assert_allclose(moved.variance / scale**2, plain.variance, rtol=1e-3, atol=1e-6)


def test_values_are_interpolated_as_the_noise_vanishes():
    rng = np.random.default_rng(0)
    space = bo.Space({f"x{i}": bool for i in range(5)} | {"o": range(5)})
    xs = space.enumerate()[rng.choice(160, size=15, replace=False)]
    values = additive_values(space, xs, rng)
    posterior, _, info = surrogate_of(space, Normal(-30.0, 0.5), LOG_NOISE_RANGE[0]).condition(xs, values, None, rng)
    assert info["noise"] == pytest.approx(1e-6)
    prediction = posterior.predict(xs)
    np.testing.assert_allclose(prediction.mean[0], values, rtol=0, atol=1e-3 * values.std())
    assert np.all(prediction.variance[0] <= 2e-6 * values.var())


def test_a_mode_carries_over_and_is_found_again_in_fewer_steps():
    rng = np.random.default_rng(1)
    space = bo.Space({f"x{i}": bool for i in range(8)})
    xs = space.sample(20, rng)
    values = additive_values(space, xs, rng)
    surrogate = surrogate_of(space)
    first, state, cold = surrogate.condition(xs, values, None, rng)
    second, again, warm = surrogate.condition(xs, values, state, rng)
    assert warm["log_posterior"] >= cold["log_posterior"] - 1e-6
    assert warm["likelihoods"] < cold["likelihoods"]
    np.testing.assert_allclose(again, state, atol=0.05)
    np.testing.assert_allclose(second.predict(xs).mean, first.predict(xs).mean, atol=0.02)


def test_a_coarse_climb_takes_fewer_likelihoods_to_nearly_the_same_density():
    rng = np.random.default_rng(2)
    space = bo.Space({f"x{i}": bool for i in range(8)} | {"o": range(9)})
    xs = space.sample(40, rng)
    fine = surrogate_of(space)
    fit, coarse = standardized(fine, xs, additive_values(space, xs, rng)), replace(fine, tolerance=1e-5)
    exact, near = fine.find_mode(fit, None).info, coarse.find_mode(fit, None).info
    assert near["likelihoods"] < exact["likelihoods"]
    assert exact["log_posterior"] - 0.02 < near["log_posterior"] <= exact["log_posterior"]
    with pytest.raises(ValueError, match=r"tolerance: expected a finite number of at least 0, got -1"):
        replace(fine, tolerance=-1)


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e12, 1e-12])
def test_constant_values_are_predicted_with_the_priors_doubt(constant):
    space = bo.Space({f"x{i}": bool for i in range(4)})
    xs = space.enumerate()[:7]
    posterior, _, _ = surrogate_of(space).condition(xs, np.full(7, constant), None, np.random.default_rng(0))
    prediction = posterior.predict(space.enumerate())
    np.testing.assert_allclose(prediction.mean, constant, rtol=1e-9, atol=1e-9 * abs(constant))
    assert np.all(prediction.variance > 0)


@pytest.mark.parametrize("huge", [1e200, -1e308])
def test_values_whose_variance_is_infinite_are_refused_with_a_reason(huge):
    space = bo.Space({"a": bool, "b": bool})
    with pytest.raises(NumericalError, match=r"values: expected magnitudes up to 1e\+150"):
        surrogate_of(space).condition(space.enumerate()[:2], np.array([0.0, huge]), None, np.random.default_rng(0))


def test_one_value_of_huge_noise_does_not_make_new_values_noisy():
    rng = np.random.default_rng(3)
    space = bo.Space({f"x{i}": bool for i in range(8)})
    xs = space.sample(20, rng)
    values = additive_values(space, xs, rng)
    found = []
    for last in (1e-4, 1e4):
        variances = np.append(np.full(19, 1e-4), last)
        posterior, _, _ = surrogate_of(space).with_variances(variances).condition(xs, values, None, rng)
        found.append(posterior.noise.item())
    assert found == pytest.approx([1e-4, 1e-4])


def test_hyperparameters_are_fitted_to_a_part_of_the_points_and_all_points_serve():
    rng = np.random.default_rng(3)
    space = bo.Space({f"x{i}": bool for i in range(8)})
    xs = space.sample(59, rng)
    values = additive_values(space, xs, rng)
    whole, thinned = surrogate_of(space), replace(surrogate_of(space), most_fitted=30)
    fit, kept = whole.prepare(xs, values), np.arange(0, 59, 2)
    part = fit._replace(prepared=whole.kernel.prepare(xs[kept]), values=fit.values[kept], xs=xs[kept])
    posterior, state, _ = thinned.condition(xs, values, None, rng)
    assert state == whole.find_mode(part, None).packed.tolist()
    expected = whole.condition_at(xs, values, state)
    assert expected is not None
    np.testing.assert_array_equal(posterior.predict(xs).mean, expected.predict(xs).mean)
    few = xs[:30], values[:30]
    assert thinned.condition(*few, None, rng)[1] == whole.condition(*few, None, rng)[1]
    with pytest.raises(ValueError, match="most_fitted: expected at least 2, got 1"):
        replace(thinned, most_fitted=1)
