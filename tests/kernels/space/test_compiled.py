"""The compiled loops: pairs of one batch are those of two equal batches, and long products do not overflow."""

from __future__ import annotations

import numpy as np

from bostruct.kernels.space import compiled


def test_half_of_the_pairs_of_one_batch_are_enough():
    rng = np.random.default_rng(0)
    xs, rates, weighted = rng.random((4, 9)), rng.uniform(0.5, 9.0, size=4), rng.normal(size=(9, 9))
    weighted += weighted.T
    found = []
    for is_same in (True, False):
        total, product, slopes = np.zeros((9, 9)), np.ones((9, 9)), np.empty(4)
        compiled.add_distances(xs, xs, rates, is_same, total, product)
        compiled.sum_slopes(xs, xs, rates, is_same, weighted, slopes)
        found.append((total, product, 2.0 * slopes if is_same else slopes))
    for half, whole in zip(*found, strict=True):
        np.testing.assert_allclose(half, whole, rtol=1e-12)


def test_equal_numbers_have_no_distance():
    xs, total, product = np.full((3, 2), 0.3), np.zeros((2, 2)), np.ones((2, 2))
    compiled.add_distances(xs, xs.copy(), np.full(3, 1e9), False, total, product)
    assert not total.any()
    assert (product == 1.0).all()


def test_a_change_to_the_same_number_changes_nothing():
    which, at, ys = np.array([0, 1]), np.array([0.2, 0.9]), np.random.default_rng(0).random((2, 5))
    drop, ratio, out = np.empty((2, 5)), np.empty((2, 5)), np.empty((2, 5))
    compiled.compare_changes(which, at, at, ys, np.array([1.0, 50.0]), drop, ratio)
    compiled.change_effects(which, at, at, ys, np.exp(2.0 * ys), np.exp(-2.0 * ys), 2.0, out)
    assert not drop.any()
    assert (ratio == 1.0).all()
    assert not out.any()
