"""Factors obey their contract, whatever kind of variable they serve: they see their own columns, as logarithms."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose

from bostruct.domains.space.descriptors import Descriptors
from bostruct.domains.space.graphs import PathGraph, weighted_graph
from bostruct.domains.space.subset import Subset
from bostruct.kernels.space.complete import CompleteFactor
from bostruct.kernels.space.distances import DistanceFactor
from bostruct.kernels.space.extent import Extent
from bostruct.kernels.space.factor import MAX_CODES, Factor, VariableChanges
from bostruct.kernels.space.features import FeatureFactor
from bostruct.kernels.space.johnson import JohnsonFactor
from bostruct.kernels.space.likeness import LikenessDistances
from bostruct.kernels.space.links import LogEdgeWeight, LogLengthscale
from bostruct.kernels.space.pairs import FactorPair
from bostruct.kernels.space.permutation import OrderDistances, OrderShape
from bostruct.kernels.space.subset import SubsetFeatures, SubsetShape, subset_factor
from bostruct.kernels.space.tables import TableFactor
from tests.wide_variable import ORDERS, OrderFactor

CYCLE = weighted_graph(nx.cycle_graph(5))[1]
TABLE = Descriptors({"a": np.array([0.1, 2.0, 0.7, -1.0, 0.3])}, np.eye(5, 9, dtype=np.uint8), tuple("abcdefghi"))
FACTORS: dict[str, tuple[Factor, int]] = {  # and the number of values of each variable
    "complete": (CompleteFactor((3, 2, 4), LogLengthscale()), 2),
    "complete, many codes": (CompleteFactor((3, MAX_CODES), LogEdgeWeight()), 3),
    "paths": (TableFactor(PathGraph(7), 3, LogLengthscale(), True), 7),
    "cycles, as published": (TableFactor(CYCLE, 2, LogEdgeWeight(), False), 5),
    "a long path": (TableFactor(PathGraph(100), 1, LogLengthscale(), True), 100),  # nowhere near rounding
    "orders": (OrderFactor(2), len(ORDERS)),
    "orders, three distances": (DistanceFactor(OrderDistances(OrderShape(3)), 2), len(ORDERS)),
    "rows of a table": (DistanceFactor(LikenessDistances(TABLE), 2), 5),
    "subsets on a graph": (FeatureFactor(SubsetFeatures(3, True, True, weighted_graph(nx.path_graph(3))[1]), 2), 8),
    "subsets of all sizes": (FeatureFactor(SubsetFeatures(3, True, True, None, Extent(0, 3, 0)), 2), 8),
    "subsets of one size": (subset_factor(SubsetShape(4, (2, 2), 0.5, None), 2), 6),
    "subsets of many items": (JohnsonFactor(4, 2, 3), 6),
}


def draw(factor: Factor, size: int, n: int, rng: np.random.Generator) -> np.ndarray:
    values = rng.integers(size, size=(n, factor.n_variables))
    if isinstance(factor, FeatureFactor):
        return (values[:, :, None] >> np.arange(factor.features.width) & 1).reshape(n, -1)
    if isinstance(factor, JohnsonFactor | FactorPair):
        return Subset(range(4), 2).enumerate()[values].reshape(n, -1)
    width = factor.distances.width if isinstance(factor, DistanceFactor) else 1
    return ORDERS[values].reshape(n, -1) if isinstance(factor, OrderFactor) or width > 1 else values


@pytest.fixture(params=FACTORS)
def case(request):
    factor, size = FACTORS[request.param]
    rng = np.random.default_rng(0)
    xs, ys = draw(factor, size, 8, rng), draw(factor, size, 6, rng)
    return factor, xs, ys, rng.normal(-0.5, 0.5, factor.n_parameters)


def test_the_diagonal_is_that_of_the_matrix(case):
    factor, xs, _, theta = case
    log_gram = factor.log_gram(theta, factor.prepare(xs))
    assert_allclose(log_gram, log_gram.T, atol=1e-12)
    assert_allclose(factor.log_diag(theta, xs), log_gram.diagonal(), atol=1e-12)
    if factor.has_unit_diagonal:
        assert_allclose(log_gram.diagonal(), 0.0, atol=1e-12)
    assert_allclose(factor.log_gram(theta, factor.prepare(xs, xs)), log_gram, atol=1e-12)


def test_a_line_is_the_matrix_along_one_parameter(case):
    factor, xs, ys, theta = case
    for prepared in (factor.prepare(xs), factor.prepare(xs, ys)):
        whole = np.exp(factor.log_gram(theta, prepared))
        for i in range(factor.n_parameters):
            rest = np.exp(factor.log_gram(theta, prepared, without=i))
            for t in (theta[i], -1.0, 0.4):
                moved = theta.copy()
                moved[i] = t
                expected = np.exp(factor.log_gram(moved, prepared))
                for gram, carried in ((whole, True), (rest, False)):
                    line = factor.line(i, theta, prepared, gram.copy(), carried=carried)
                    found = line(float(t))
                    assert_allclose(np.asarray(found), expected, rtol=1e-9)


def test_the_gradient_is_that_of_differences(case):
    factor, xs, ys, theta = case
    prepared, weighted, step = factor.prepare(xs, ys), np.random.default_rng(1).normal(size=(8, 6)), 1e-5
    gradient = factor.gradient(theta, prepared, weighted)
    for i in range(factor.n_parameters):
        ahead, behind = theta.copy(), theta.copy()
        ahead[i] += step
        behind[i] -= step
        change = factor.log_gram(ahead, prepared) - factor.log_gram(behind, prepared)
        assert gradient[i] == pytest.approx(np.vdot(weighted, change) / (2.0 * step), rel=1e-5, abs=1e-6)


def test_a_change_adds_the_difference_of_two_points(case):
    factor, xs, ys, theta = case
    width = xs.shape[1] // factor.n_variables
    which = np.arange(len(xs)) % factor.n_variables
    columns = which[:, None] * width + np.arange(width)
    before, after = np.take_along_axis(xs, columns, axis=1), np.take_along_axis(xs[::-1], columns, axis=1)
    moved = xs.copy()
    np.put_along_axis(moved, columns, after, axis=1)
    found = factor.log_change(theta, factor.prepare_changes(VariableChanges(which, before, after), ys))
    expected = factor.log_gram(theta, factor.prepare(moved, ys)) - factor.log_gram(theta, factor.prepare(xs, ys))
    assert_allclose(found, expected, atol=1e-10)


def test_many_variables_give_what_few_give_one_by_one():
    """Beyond `MAX_CODES` columns a factor adds up its variables instead of encoding them."""
    rng, d = np.random.default_rng(2), MAX_CODES // 7 + 1
    many, one = (TableFactor(PathGraph(7), c, LogLengthscale(), True) for c in (d, 1))
    xs, ys, theta = rng.integers(7, size=(4, d)), rng.integers(7, size=(3, d)), rng.normal(size=d)
    prepared = many.prepare(xs, ys)
    assert prepared.codes is None
    alone = sum(one.log_gram(theta[[i]], one.prepare(xs[:, [i]], ys[:, [i]])) for i in range(d))
    assert_allclose(many.log_gram(theta, prepared), alone, rtol=1e-10)
