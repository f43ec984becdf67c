"""The heat kernel of the Johnson graph: against the exponential of its Laplacian, and at distances without numbers."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

from bostruct.kernels.space.subset import JohnsonFactor, heat_curves, log_heat


def subsets(n, k):
    return np.array([[int(i in own) for i in range(n)] for own in combinations(range(n), k)])


def diffuse(n, k, time):
    """The heat kernel between all subsets, by the exponential of the graph's Laplacian."""
    xs = subsets(n, k)
    adjacent = (np.abs(xs[:, None] - xs).sum(axis=2) == 2).astype(float)
    heat = expm(time * (adjacent - np.diag(adjacent.sum(axis=1))))
    return heat / heat[0, 0]


@pytest.mark.parametrize(("n", "k"), [(2, 1), (5, 1), (6, 2), (6, 4), (8, 4)])
@pytest.mark.parametrize("time", [0.01, 0.1, 0.5])
def test_the_series_is_the_exponential_of_the_laplacian(n, k, time):
    xs, heat = subsets(n, k), diffuse(n, k, time)
    found = log_heat(n, k, np.array([time]))[0]
    apart = k - xs @ xs.T
    assert_allclose(np.exp(found)[apart], heat, rtol=1e-9)


@pytest.mark.parametrize(("n", "k"), [(5, 1), (7, 3)])
@pytest.mark.parametrize("time", [0.005, 0.1, 0.5])
def test_the_factor_is_the_kernel_whose_exchanges_correlate_as_the_lengthscale_says(n, k, time):
    xs, heat = subsets(n, k), diffuse(n, k, time)
    one = int(np.flatnonzero(xs[0] @ xs.T == k - 1)[0])
    theta = np.array([-0.5 * np.log(-np.log(heat[0, one]))])
    factor = JohnsonFactor(n, k, 1)
    assert_allclose(factor.log_gram(theta, factor.prepare(xs)), np.log(heat), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("log_lengthscale", [-3.0, -1.0, 0.0, 1.0, 4.0])
def test_logarithms_stay_true_for_hundreds_of_exchanges(log_lengthscale):
    """The kernel between far subsets underflows, its logarithm does not: it falls with each exchange."""
    n, k = 200, 100
    curve = JohnsonFactor(n, k, 1)
    first = (np.arange(n) < k).astype(np.int64)
    xs = np.array([np.roll(first, step) for step in range(k + 1)])  # one exchange further each
    logs = curve.log_gram(np.array([log_lengthscale]), curve.prepare(xs[:1], xs))[0]
    steps = np.diff(logs)
    assert logs[1] == pytest.approx(-np.exp(-2.0 * log_lengthscale), rel=1e-6)
    assert (steps < 0.0).all()
    assert np.isfinite(logs).all()


def test_the_closed_form_of_the_spectrum_gives_the_same_kernel():
    """The sum over eigenvalues j (n + 1 - j) with Eberlein polynomials (Delsarte 1973), where it does not cancel."""
    n, k, time = 12, 5, 0.2

    def eberlein(j, d):
        """The eigenvalue of the relation `d exchanges apart` on the j-th eigenspace."""
        return sum((-1) ** i * comb(j, i) * comb(k - j, d - i) * comb(n - k - j, d - i) for i in range(d + 1))

    expected = []
    for d in range(k + 1):
        valency = comb(k, d) * comb(n - k, d)
        multiplicities = [comb(n, j) - (comb(n, j - 1) if j else 0) for j in range(k + 1)]
        heat = [np.exp(-time * j * (n + 1 - j)) * multiplicities[j] * eberlein(j, d) / valency for j in range(k + 1)]
        expected.append(sum(heat))
    found = np.exp(log_heat(n, k, np.array([time]))[0])
    assert_allclose(found, np.array(expected) / expected[0], rtol=1e-9)


def test_the_lengthscales_that_are_known_include_all_that_matter():
    for n, k in ((2, 1), (40, 5), (300, 150)):
        curves = heat_curves(n, k)
        assert curves.lowest < -1.7
        assert curves.highest > 2.3
