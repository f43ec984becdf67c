"""Acquisition functions: definitions by quadrature, tails, bounds, averages."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from bostruct.acquisition.functions import (
    LOG_EI,
    ExpectedImprovement,
    LogAugmentedExpectedImprovement,
    LogExpectedImprovement,
    LowerConfidenceBound,
    ProbabilityOfImprovement,
)
from bostruct.contracts import Prediction
from bostruct.goals.logarithms import SERIES_FROM, log_h

ALL = (
    ExpectedImprovement(),
    LogExpectedImprovement(),
    LogAugmentedExpectedImprovement(0.3),
    LogAugmentedExpectedImprovement(1e-9),
    ProbabilityOfImprovement(),
    ProbabilityOfImprovement(0.3),
    LowerConfidenceBound(),
    LowerConfidenceBound(0.0),
)


def prediction(mean: float, variance: float) -> Prediction:
    return Prediction(np.array([[mean]]), np.array([[variance]]))


def value(acquisition, mean: float, variance: float, incumbent: float) -> float:
    return float(acquisition(prediction(mean, variance), incumbent)[0, 0])


means, variances, incumbents = st.floats(-4, 4), st.floats(1e-3, 9), st.floats(-3, 3)


@given(means, variances, incumbents)
def test_expected_improvement_is_its_integral(mean, variance, incumbent):
    sd = math.sqrt(variance)
    integrand = lambda f: (incumbent - f) * norm.pdf(f, mean, sd)  # noqa: E731
    low = min(incumbent, mean) - 9 * sd
    exact = quad(integrand, low, incumbent, points=[min(mean, incumbent)], epsabs=1e-12, limit=200)[0]
    assert value(ExpectedImprovement(), mean, variance, incumbent) == pytest.approx(exact, rel=1e-6, abs=1e-10)


@given(means, variances, incumbents, st.floats(0, 1))
def test_probability_and_confidence_are_their_definitions(mean, variance, incumbent, margin):
    found = value(ProbabilityOfImprovement(margin), mean, variance, incumbent)
    assert found == pytest.approx(norm.logcdf(incumbent - margin, mean, math.sqrt(variance)), rel=1e-9, abs=1e-12)
    bound = value(LowerConfidenceBound(1.5), mean, variance, incumbent)
    assert bound == pytest.approx(1.5 * math.sqrt(variance) - mean)


@pytest.mark.parametrize(
    ("mean", "variance", "expected"),
    [(0, 1, 0.3989423), (1, 0.25, 0.0042453), (-1, 0.04, 1.0), (3, 0.01, 0.0)],  # the code of Oh et al. (2019)
)
def test_published_expected_improvement(mean, variance, expected):
    assert value(ExpectedImprovement(), mean, variance, 0.0) == pytest.approx(expected, abs=1e-7)


@given(st.floats(-30, 1e8), st.floats(1e-6, 1e6))
def test_log_expected_improvement_is_the_logarithm_where_there_is_one(u, sd):
    plain = value(ExpectedImprovement(), -u * sd, sd**2, 0.0)
    log = value(LogExpectedImprovement(), -u * sd, sd**2, 0.0)
    assert log == pytest.approx(math.log(plain), rel=1e-10, abs=1e-10)


@given(means, variances, incumbents, st.just(0.0) | st.floats(1e-6, 10))
def test_augmented_expected_improvement_is_its_definition(mean, variance, incumbent, noise):
    plain = value(LogExpectedImprovement(), mean, variance, incumbent)
    share = 1.0 - math.sqrt(noise / (noise + variance))
    found = value(LogAugmentedExpectedImprovement(noise), mean, variance, incumbent)
    assert found == pytest.approx(plain + math.log(share), abs=1e-8)


def test_augmented_expected_improvement_beside_told_points():
    """A variance that vanishes beside the noise leaves half of their ratio; each posterior sample has a noise."""
    acquisition = LogAugmentedExpectedImprovement(np.array([[1.0], [100.0]]))
    both = Prediction(np.zeros((2, 1)), np.full((2, 1), 1e-12))
    share = np.exp(acquisition(both, 0.0) - LogExpectedImprovement()(both, 0.0))
    np.testing.assert_allclose(share, [[5e-13], [5e-15]], rtol=1e-6)


@pytest.mark.parametrize("noise", [-1.0, math.nan, math.inf, "much", None, np.array([[1.0], [-1.0]])])
def test_a_noise_that_is_no_variance_is_refused(noise):
    with pytest.raises((TypeError, ValueError), match="noise: expected"):
        LogAugmentedExpectedImprovement(noise)


@pytest.mark.parametrize("scale", [1e-150, 1e-90, 1e90, 1e150])
def test_augmented_expected_improvement_of_values_in_any_unit(scale):
    """A scale of the values adds its logarithm to the score and divides the slopes."""
    plain, noise = Prediction(np.array([[0.3, -2.0]]), np.array([[0.5, 1e-3]])), np.array([[0.2]])
    scaled = Prediction(scale * plain.mean, scale * plain.variance * scale)
    expected = LogAugmentedExpectedImprovement(noise)
    found = LogAugmentedExpectedImprovement(scale * noise * scale)
    np.testing.assert_allclose(found(scaled, 0.1 * scale), expected(plain, 0.1) + math.log(scale), rtol=1e-12)
    assert np.all(found.upper_bounds(scaled, 0.1 * scale) >= found(scaled, 0.1 * scale))
    slopes, at_one = found.value_and_gradient(scaled, 0.1 * scale), expected.value_and_gradient(plain, 0.1)
    np.testing.assert_allclose(slopes.mean * scale, at_one.mean, rtol=1e-12)
    np.testing.assert_allclose(slopes.variance * scale * scale, at_one.variance, rtol=1e-12)


def test_log_expected_improvement_in_the_far_tail():
    """log phi(u) - 2 log |u| + log(1 - 3 / u^2 + 15 / u^4 - ...), finite and rising in u."""
    u = -np.geomspace(1e8, 20.0, 4_000)
    expected = -0.5 * u**2 - 0.5 * math.log(2 * math.pi) - 2 * np.log(-u) + np.log1p(-3 / u**2 + 15 / u**4 - 105 / u**6)
    np.testing.assert_allclose(log_h(u), expected, rtol=1e-9)
    everywhere = np.concatenate([u, np.linspace(-19.99, 19.99, 4_000), np.geomspace(20.0, 1e8, 1_000)])
    found = log_h(everywhere)
    assert np.all(np.isfinite(found))
    assert np.all(np.diff(found[everywhere < 5.0]) > 0)
    assert np.all(np.diff(found) >= 0)
    np.testing.assert_allclose(found[everywhere > 40.0], np.log(everywhere[everywhere > 40.0]), rtol=1e-12)


def test_log_h_has_no_seam_where_its_formulas_meet():
    for seam in (-1.0, -1e4):
        u = seam + np.abs(seam) * np.linspace(-1e-9, 1e-9, 21)
        slope = np.diff(log_h(u)) / np.diff(u)
        expected = math.exp(norm.logcdf(seam) - log_h(np.array([seam]))[0])  # h' = Phi
        assert log_h(u[:1])[0] == pytest.approx(log_h(u[-1:])[0], rel=1e-8)
        assert np.mean(slope) == pytest.approx(expected, rel=2e-3)


@given(
    st.sampled_from(ALL),
    st.floats(-50, 50),
    st.floats(1e-8, 100),
    incumbents,
    st.floats(0, 10),
    st.floats(0, 100),
)
def test_bounds_bind(acquisition, mean, variance, incumbent, lower, wider):
    """Nothing with a mean no smaller and a variance no larger is worth more than the bound."""
    optimist = prediction(mean - lower, variance + wider)
    bound = float(acquisition.upper_bounds(optimist, incumbent)[0, 0])
    assert value(acquisition, mean, variance, incumbent) <= bound + 1e-12 * abs(bound)


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 1000), st.floats(-2, 2))
def test_averages_are_over_samples(s, m, seed, incumbent):
    rng = np.random.default_rng(seed)
    several = Prediction(rng.normal(size=(s, m)), rng.uniform(0.1, 2.0, size=(s, m)))
    improvement = ExpectedImprovement()(several, incumbent)
    assert improvement.shape == (s, m)
    np.testing.assert_allclose(ExpectedImprovement().average(improvement), improvement.mean(axis=0), rtol=1e-12)
    log = LogExpectedImprovement()
    np.testing.assert_allclose(log.average(log(several, incumbent)), np.log(improvement.mean(axis=0)), rtol=1e-9)
    chance = ProbabilityOfImprovement()
    scores = chance(several, incumbent)
    np.testing.assert_allclose(chance.average(scores), np.log(np.exp(scores).mean(axis=0)), rtol=1e-9, atol=1e-12)
    confidence = LowerConfidenceBound()
    scores = confidence(several, incumbent)
    np.testing.assert_allclose(confidence.average(scores), scores.mean(axis=0), rtol=1e-12)


def test_average_of_vanishing_chances_does_not_underflow():
    scores = np.array([[-1e6, -np.inf], [-1e6 - 1.0, -np.inf]])
    found = LogExpectedImprovement().average(scores)
    assert found[0] == pytest.approx(-1e6 + math.log((1 + math.exp(-1)) / 2))
    assert found[1] == -np.inf


@pytest.mark.parametrize(("make", "name"), [(ProbabilityOfImprovement, "margin"), (LowerConfidenceBound, "weight")])
def test_settings_below_zero_are_refused_by_name(make, name):
    for wrong in (-0.1, math.nan):
        with pytest.raises(ValueError, match=name):
            make(wrong)
    with pytest.raises(TypeError, match=name):
        make("much")


def test_the_logarithm_keeps_its_digits_in_the_tail():
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 60
    for u in (-0.5, -3.0, -15.0, -19.99, -20.01, -60.0, -9.9e3, -1e6):
        v = mpmath.mpf(u)
        exact = mpmath.log(mpmath.npdf(v) + v * mpmath.erfc(-v / mpmath.sqrt(2)) / 2)
        assert abs(log_h(np.array([u]))[0] - float(exact)) < 1e-12 * (1.0 + abs(float(exact)))
        lost = log_h(np.array([u]))[0] + 0.5 * u * u - float(exact + v * v / 2)
        assert u < -1e3 or abs(lost) < 1e-12


@pytest.mark.parametrize("acquisition", [LOG_EI, ProbabilityOfImprovement()])
def test_slopes_have_their_digits_however_far_in_the_tail(acquisition):
    """The derivative of either logarithm in u is -u (1 + O(1 / u^2)), and halves the variance's by the sd."""
    u = -np.geomspace(1e3, 1e12, 40)
    found = acquisition.value_and_gradient(Prediction(-u[None], np.ones((1, 40))), 0.0)
    np.testing.assert_allclose(found.mean[0], u, rtol=1e-5)
    np.testing.assert_allclose(found.variance[0], 0.5 * u * u, rtol=1e-5)


def test_the_slope_of_log_expected_improvement_has_no_seam():
    u = np.array([SERIES_FROM - 1e-9, SERIES_FROM + 1e-9])
    found = LOG_EI.value_and_gradient(Prediction(-u[None], np.ones((1, 2))), 0.0).mean[0]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


@given(means, variances, incumbents, st.just(0.0) | st.floats(1e-3, 10))
def test_slopes_of_augmented_expected_improvement_are_its_derivatives(mean, variance, incumbent, noise):
    acquisition = LogAugmentedExpectedImprovement(noise)
    slopes = acquisition.value_and_gradient(prediction(mean, variance), incumbent)
    step = 1e-5 * variance
    up, down = (value(acquisition, mean, variance + change, incumbent) for change in (step, -step))
    assert slopes.variance[0, 0] == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-4)
