"""Values on the model's scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bostruct.surrogates.standardization import standardize

VALUES = arrays(np.float64, st.integers(1, 20), elements=st.floats(-1e100, 1e100))


@given(VALUES)
def test_the_units_of_the_user_come_back(values):
    standard, shift, scale = standardize(values)
    tolerance = 1e-12 * float(np.max(np.abs(values)))
    np.testing.assert_allclose(shift + scale * standard, values, rtol=0.0, atol=tolerance)


def test_mean_0_and_standard_deviation_1():
    standard, shift, scale = standardize(np.array([1.0, 3.0]))
    assert (standard.tolist(), shift, scale) == ([-1.0, 1.0], 2.0, 1.0)
    standard, shift, scale = standardize(np.array([10.0, 20.0, 60.0]))
    assert shift == 30.0
    assert scale**2 == pytest.approx(1400.0 / 3.0)
    assert np.mean(standard) == pytest.approx(0.0, abs=1e-15)
    assert np.std(standard) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2.0], 2.0), ([-5e9, -5e9], 5e9), ([7e-9, 7e-9], 7e-9), ([0.0, 0.0], 1.0), ([1e-200, 3e-200], 1.0)],
)
def test_without_a_spread_the_scale_is_the_distance_from_0_or_1(values, expected):
    standard, shift, scale = standardize(np.array(values))
    assert scale == expected
    assert shift == np.mean(values)
    assert np.all(np.abs(standard) <= 1e-150)


def test_a_spread_of_rounding_counts_where_it_is_wanted():
    values = np.array([1.0, 1.0 + 2.0**-50])
    assert standardize(values).values.tolist() == [-1.0, 1.0]
    standard, _, scale = standardize(values, rounding=1e-13)
    assert scale == pytest.approx(1.0)
    assert np.all(np.abs(standard) < 1e-15)


def test_the_given_values_stay_as_they_are():
    values = np.array([1.0, 2.0, 4.0])
    standardize(values)
    assert values.tolist() == [1.0, 2.0, 4.0]


def test_noise_that_all_values_share_belongs_to_their_scale():
    values = np.array([1.0, 3.0, 8.0, 2.0])
    for variances in (np.full(4, 2.5), np.full(4, np.nan), np.array([np.nan, 0.0, 0.0, np.nan])):
        found, plain = standardize(values, variances=variances), standardize(values)
        assert found.shift == pytest.approx(plain.shift)
        assert found.scale == pytest.approx(plain.scale)


def test_values_that_are_mostly_noise_set_no_scale():
    """The scale of both halves was that of the noise: 7 in place of 1."""
    rng = np.random.default_rng(0)
    latent, variances = rng.normal(size=200), np.tile([1e-6, 100.0], 100)
    values = 50.0 + latent + np.sqrt(variances) * rng.normal(size=200)
    _, shift, scale = standardize(values, variances=variances)
    assert scale == pytest.approx(1.0, rel=0.2)
    assert shift == pytest.approx(50.0, abs=0.3)
    weights = 1.0 / (scale**2 + np.maximum(variances - 1e-6, 0.0))
    assert weights @ np.square(values - shift) == pytest.approx(200.0)  # Paule and Mandel's equation
    assert shift == pytest.approx(weights @ values / weights.sum())


@pytest.mark.parametrize("variances", [[0.0] * 2 + [100.0] * 6, [0.0] * 4 + [1e300] * 4, [0.0] * 7 + [1e-300]])
def test_a_scale_is_never_below_what_the_noise_lets_one_see(variances):
    rng = np.random.default_rng(1)
    values = np.array([3.0] * 4 + [3.0 + 1e-9] * 4) + np.minimum(np.sqrt(variances), 10.0) * rng.normal(size=8)
    standard, shift, scale = standardize(values, variances=np.array(variances))
    assert np.isfinite([shift, *standard]).all()
    assert 0.0 < scale <= np.std(values) * (1.0 + 1e-12)
