"""Shared parameters: the factors are those of equal parameters, and a kernel with them obeys the laws of kernels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bostruct as bo
from bostruct.domains.space.graphs import PathGraph
from bostruct.kernels.space.complete import CompleteFactor, HammingFactor
from bostruct.kernels.space.diffusion import TableFactor
from bostruct.kernels.space.factor import SharedFactor, VariableChanges, count_disagreements
from bostruct.kernels.space.product import SpaceKernel
from bostruct.kernels.space.registry import product_kernel
from bostruct.kernels.space.spectra import LogEdgeWeight, LogLengthscale
from bostruct.methods.defaults import MOST_APART, space_kernel
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.kernel_laws import check_kernel

MIXED = {
    **{f"b{i}": bool for i in range(4)},
    **{f"c{i}": list("xyz") for i in range(3)},
    **{f"o{i}": range(4) for i in range(3)},
    "d": list("pq"),
    "e": list("uvwx"),
    "r": bo.Real(0, 1),
    "z": bo.Binary(when={"b0": True}),
    "y": bo.Categorical(list("abc"), when={"b1": True}),
}
FACTORS = {
    "bits": (HammingFactor(2, 5, LogLengthscale()), CompleteFactor((2,) * 5, LogLengthscale()), 2),
    "categories": (HammingFactor(3, 5, LogEdgeWeight()), CompleteFactor((3,) * 5, LogEdgeWeight()), 3),
    "paths": (
        SharedFactor(TableFactor(PathGraph(4), 5, LogLengthscale(), True)),
        TableFactor(PathGraph(4), 5, LogLengthscale(), True),
        4,
    ),
    "paths, as published": (
        SharedFactor(TableFactor(PathGraph(4), 5, LogEdgeWeight(), False)),
        TableFactor(PathGraph(4), 5, LogEdgeWeight(), False),
        4,
    ),
}


def share(variables, most: int) -> SpaceKernel:
    space = bo.Space(variables)
    prior = Normal(0.0, 1.0)
    return product_kernel(space, Normal(-0.5, 0.7), LogLengthscale(), 0.0, True, prior, most_apart=most)


@pytest.mark.parametrize("seed", range(4))
def test_a_kernel_with_shared_parameters_obeys_the_laws(seed):
    kernel = share(MIXED, 2)
    assert [block.size for block in kernel.parameters] == [7, 2]  # of 15 variables, two with conditions
    check_kernel(kernel, bo.Space(MIXED), np.random.default_rng(seed))


@pytest.mark.parametrize("name", FACTORS)
def test_a_shared_factor_is_the_factor_of_equal_parameters(name):
    shared, factor, size = FACTORS[name]
    rng, theta, all_theta = np.random.default_rng(0), np.array([-0.3]), np.full(5, -0.3)
    xs, ys = rng.integers(size, size=(6, 5)), rng.integers(size, size=(7, 5))
    assert (shared.n_variables, shared.n_parameters, factor.n_parameters) == (factor.n_variables, 1, 5)
    assert shared.has_unit_diagonal == factor.has_unit_diagonal
    assert_allclose(shared.log_diag(theta, xs), factor.log_diag(all_theta, xs))
    for others in (None, ys):
        own, their = shared.prepare(xs, others), factor.prepare(xs, others)
        expected = factor.log_gram(all_theta, their)
        assert_allclose(shared.log_gram(theta, own), expected, atol=1e-12)
        assert_array_equal(shared.log_gram(theta, own, without=0), np.zeros(expected.shape))
        weighted = rng.normal(size=expected.shape)
        slope = factor.gradient(all_theta, their, weighted).sum()
        assert shared.gradient(theta, own, weighted) == pytest.approx(slope)
        gram = np.exp(expected)
        along = factor.log_gram(np.full(5, 0.2), their)
        assert_allclose(shared.line(0, theta, own, gram, carried=True)(0.2), np.exp(along))
        assert_allclose(shared.line(0, theta, own, np.ones_like(gram), carried=False)(0.2), np.exp(along))
    which = rng.integers(5, size=6)
    changes = VariableChanges(which, xs[np.arange(6), which][:, None], rng.integers(size, size=(6, 1)))
    expected = factor.log_change(all_theta, factor.prepare_changes(changes, ys))
    assert_allclose(shared.log_change(theta, shared.prepare_changes(changes, ys)), expected, atol=1e-12)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_disagreements_are_counted_exactly(size):
    rng = np.random.default_rng(size)
    xs, ys = rng.integers(size, size=(5, 6_000)), rng.integers(size, size=(4, 6_000))
    expected = (xs[:, None] != ys[None]).sum(axis=2)
    assert_array_equal(count_disagreements(xs, ys, size), expected)


def test_flags_of_a_product_of_signs_are_not_warned_of():
    """An infinity takes the place of a BLAS that sets the flag although all factors are finite."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        count_disagreements(np.array([[np.inf, np.inf]]), np.array([[0, 1]]), 2)
    assert told == []


def test_only_variables_that_are_many_and_alike_share():
    link = LogLengthscale()
    few, paths = CompleteFactor((2, 3, 3), link), TableFactor(PathGraph(4), 3, link, True)
    assert few.share_parameters(3) == [(few, (0, 1, 2))]
    assert paths.share_parameters(3) == [(paths, (0, 1, 2))]
    assert paths.share_parameters(2) == [(SharedFactor(paths), (0, 1, 2))]
    assert few.share_parameters(1) == [(HammingFactor(3, 2, link), (1, 2)), (CompleteFactor((2,), link), (0,))]


def test_up_to_a_thousand_variables_have_a_lengthscale_each():
    def sizes(n: int) -> list[int]:
        return [block.size for block in space_kernel(bo.Space({f"b{i}": bool for i in range(n)})).parameters]

    assert sizes(MOST_APART) == [MOST_APART]
    assert sizes(MOST_APART + 1) == [1]
