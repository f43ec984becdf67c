"""The precedence distance: by hand for three items, by its definition for more, and the vectors that it comes from."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bostruct.kernels.distance import MOST_PAIRED, compare_precedence

THREE = np.array(list(permutations(range(3))))  # abc, acb, bac, bca, cab, cba


def test_distances_of_the_orders_of_three_items():
    expected = [
        [0, 1, 1, 2, 2, 3],
        [1, 0, 2, 3, 1, 2],
        [1, 2, 0, 1, 3, 2],
        [2, 3, 1, 0, 2, 1],
        [2, 1, 3, 2, 0, 1],
        [3, 2, 2, 1, 1, 0],
    ]
    assert_allclose(compare_precedence(THREE, THREE), np.array(expected) / 3.0)


@pytest.mark.parametrize("w", [2, 5, MOST_PAIRED, MOST_PAIRED + 1])
def test_it_is_a_squared_distance_of_vectors_of_norm_one_half(w):
    xs = np.random.default_rng(w).permuted(np.tile(np.arange(w), (30, 1)), axis=1)
    xs[1] = xs[0][::-1]
    distances = compare_precedence(xs, xs)
    assert_allclose(distances[0, 1], 1.0)
    gram = 0.25 - 0.5 * distances  # of such vectors
    assert_allclose(np.diag(gram), 0.25)
    assert np.linalg.eigvalsh(gram)[0] > -1e-9


@pytest.mark.parametrize("resources", [(0, 1, 0, 0, 2, 1), (0, 0, 0, 0, 0, 0), (0, 1, 2, 3, 4, 5)])
def test_with_resources_only_pairs_of_one_resource_count(resources):
    rng, w = np.random.default_rng(3), len(resources)
    orders = rng.permuted(np.tile(np.arange(w), (9, 1)), axis=1)
    queues = np.array([sorted(order, key=lambda item: resources[item]) for order in orders.tolist()])
    pairs = [(i, j) for i in range(w) for j in range(i) if resources[i] == resources[j]]
    first = [[order.index(i) < order.index(j) for i, j in pairs] for order in orders.tolist()]
    expected = np.array([[float(np.mean(np.not_equal(a, b))) if pairs else 0.0 for b in first] for a in first])
    assert_allclose(compare_precedence(queues, queues, resources), expected, atol=1e-7)


def test_pairs_of_one_resource_and_ranks_of_long_queues_are_about_as_far_apart():
    rng, w = np.random.default_rng(4), 150
    resources = tuple(int(item >= 75) for item in range(w))
    queues = np.array([np.r_[rng.permutation(75), 75 + rng.permutation(75)] for _ in range(20)])
    distances = compare_precedence(queues, queues, resources)
    assert_allclose(np.diag(distances), 0.0, atol=1e-12)
    assert_allclose(distances[np.triu_indices(20, 1)].mean(), 0.5, atol=0.03)
