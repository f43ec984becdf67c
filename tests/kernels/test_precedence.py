"""The precedence distance: by hand for three items, by its definition for more, and the vectors that it comes from."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bostruct.kernels.precedence import MOST_PAIRED, compare_precedence

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
