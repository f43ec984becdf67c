"""Gram matrices in single precision: within the error that they tell, for every kind of graph and regime."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import SINGLE_FLOOR, SingleGram
from bostruct.kernels.space.factor import SingleLogGram
from bostruct.kernels.space.product import UNKNOWN, multiply_factors
from bostruct.methods import combo
from bostruct.methods.defaults import space_kernel

KINDS = {
    "bits": {f"b{i}": bool for i in range(40)},
    "categories": {f"c{i}": list("pqrs") for i in range(9)} | {"b": bool},
    "orders": {f"o{i}": range(7) for i in range(8)},
    "all": {f"b{i}": bool for i in range(9)}
    | {"c": list("pqrst"), "o": range(30), "g": bo.Graph(nx.cycle_graph(6)), "h": bo.Graph(nx.path_graph(6))},
}


@pytest.mark.parametrize("regime", [-12.0, -4.0, -1.0, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_single_grams_are_wrong_by_no_more_than_their_error(kind, regime):
    space, rng = bo.Space(KINDS[kind]), np.random.default_rng(0)
    kernel = combo(space).surrogate.kernel
    xs, ys = space.sample(30, rng), space.sample(200, rng)
    ys[:30] = xs
    thetas = [rng.uniform(regime, regime + 3.0, space.d) for _ in range(3)]
    near, _ = space.sample_neighborhoods(xs[:3], 50, rng)
    for others in (ys, near):
        grams = kernel.single_grams(thetas, xs)(others)
        for theta, (gram, error) in zip(thetas, grams, strict=True):
            exact = kernel.gram(theta, kernel.prepare(xs, np.asarray(others)))
            assert gram.dtype == np.float32
            assert np.all(np.abs(gram - exact) <= error * exact + SINGLE_FLOOR)
            assert error < 1e-2


def test_a_kernel_with_numbers_has_no_single_grams():
    kernel = space_kernel(bo.Space({"b": bool, "x": bo.Real(0, 1)}))
    assert kernel.single_grams([np.zeros(2)], np.zeros((1, 2), int)) is None


def test_large_products_and_large_errors_say_that_they_tell_nothing():
    logs = np.zeros((2, 3), dtype=np.float32)
    fine = multiply_factors([SingleLogGram(logs.copy(), 1e-6, -1.0, 1.0)])
    assert isinstance(fine, SingleGram)
    assert 1e-6 < fine.error < 2e-6
    for error, largest in ((1e-6, 70.0), (0.6, 1.0)):
        assert multiply_factors([SingleLogGram(logs.copy(), error, -1.0, largest)]).error == UNKNOWN


def test_errors_cover_the_sums_of_many_factors():
    rng = np.random.default_rng(0)
    logs = -rng.uniform(0.5, 1.0, (60, 20, 20)).astype(np.float32)
    exact = np.exp(logs.astype(np.float64).sum(axis=0))
    gram, error = multiply_factors([SingleLogGram(log.copy(), 0.0, -1.0, -0.5) for log in logs])
    assert np.max(np.abs(gram / exact - 1.0)) <= error < 1e-3
