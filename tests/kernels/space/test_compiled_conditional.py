"""The compiled loops of numbers with conditions: half of the pairs are enough, and no lengthscale overflows."""

from __future__ import annotations

import numpy as np
import pytest

from bostruct.kernels.space import compiled

C = np.array([0.2, 0.9, 0.5, 1.0])


@pytest.fixture
def batch():
    """Shares (4, 9), which points have each number, and the same as numbers."""
    rng = np.random.default_rng(0)
    has = rng.random((4, 9)) < 0.6
    return np.where(has, rng.random((4, 9)), 0.0), has, has.astype(np.float64)


def test_half_of_the_pairs_of_one_batch_are_enough(batch):
    xs, has, counts = batch
    rng = np.random.default_rng(1)
    rates, weighted = rng.uniform(0.5, 9.0, size=4), rng.normal(size=(9, 9))
    weighted += weighted.T
    found = []
    for is_same in (True, False):
        product, sums = np.empty((9, 9)), np.empty((2, 4))
        compiled.multiply_conditional(xs, has, xs, counts, rates, C, is_same, product)
        compiled.sum_conditional_slopes(xs, has, xs, counts, rates, C, is_same, weighted, sums)
        found.append((product, sums))
    for half, whole in zip(*found, strict=True):
        np.testing.assert_allclose(half, whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rate", [1.0, 699.0, 701.0, 1e6])
def test_short_lengthscales_do_not_overflow(batch, rate):
    xs, has, counts = batch
    product, out = np.empty((9, 9)), np.empty((9, 4))
    rates = np.full(4, rate)
    with np.errstate(all="raise"):
        compiled.multiply_conditional(xs, has, xs, counts, rates, C, False, product)
        compiled.pull_conditional_shares(xs, has, xs, counts, rates, C, np.ones((9, 9)), out)
    a = rate * np.abs(xs[:, :, None] - xs[:, None, :])
    c = C[:, None, None]
    both, one = has[:, :, None] & has[:, None, :], has[:, :, None] ^ has[:, None, :]
    each = np.where(both, c**2 + (1.0 - c**2) * (1.0 + a + a**2 / 3.0) * np.exp(-a), np.where(one, c, 1.0))
    np.testing.assert_allclose(product, each.prod(axis=0), rtol=1e-12)
    assert np.isfinite(out).all()
    assert not out[~has.T].any()
