"""Factors obey their contract, whatever kind of variable they serve: they see their own columns, as logarithms."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.domains.space.descriptors import Descriptors
from bostruct.domains.space.graphs import CompleteGraph, PathGraph, VariableGraph, weighted_graph
from bostruct.domains.space.scale import RealGrid
from bostruct.domains.space.subset import Subset
from bostruct.domains.space.variable import INACTIVE
from bostruct.kernels.space.complete import CompleteFactor
from bostruct.kernels.space.diffusion import TableFactor
from bostruct.kernels.space.effects import ConditionalEffect, EffectKernel, FactorEffect, GraphEffect
from bostruct.kernels.space.factor import MAX_CODES, Factor, VariableChanges
from bostruct.kernels.space.likeness import ChoiceEffect, DistanceFactor, LikenessDistances, LikenessEffect
from bostruct.kernels.space.matern import LengthKernel, NumberEffect
from bostruct.kernels.space.permutation import OrderDistances, OrderShape, PermutationEffect
from bostruct.kernels.space.product import PlacedFactor, SpaceKernel
from bostruct.kernels.space.sequence import SequenceEffect, SequenceShape
from bostruct.kernels.space.spectra import Link, LogEdgeWeight, LogLengthscale
from bostruct.kernels.space.subset import (
    FactorPair,
    FeatureFactor,
    JohnsonFactor,
    SubsetEffect,
    SubsetFeatures,
    SubsetShape,
    subset_factor,
)
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.common import check_defaults
from bostruct.testing.kernel_laws import check_factor, check_kernel
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
    "subsets of all sizes": (FeatureFactor(SubsetFeatures(3, True, True, None, LengthKernel(0, 3, 0)), 2), 8),
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


def test_factors_obey_their_law(case):
    factor, xs, _, _ = case
    check_factor(factor, xs, np.random.default_rng(3))


class FaultyOrders(OrderFactor):
    """A factor with one fault."""

    def __init__(self, n_variables: int, fault: str) -> None:
        super().__init__(n_variables)
        self.fault = fault

    def log_gram(self, theta, prepared, without=None):
        found = super().log_gram(theta, prepared, without)
        return found + np.arange(len(found))[:, None] if self.fault == "uneven" else found

    def log_diag(self, theta, xs):
        return super().log_diag(theta, xs) - (self.fault == "diagonal")

    def gradient(self, theta, prepared, weighted):
        return super().gradient(theta, prepared, weighted) * (1.01 if self.fault == "gradient" else 1.0)

    def line(self, i, theta, prepared, gram, *, carried):
        return super().line(i, theta, prepared, gram, carried=carried or self.fault == "line")

    def log_change(self, theta, prepared):
        return super().log_change(theta, prepared) * (-1.0 if self.fault == "change" else 1.0)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("uneven", "log_gram is symmetric"),
        ("diagonal", "log_diag is the diagonal of log_gram"),
        ("gradient", "gradient agrees with its default in Factor"),
        ("line", "line agrees with its default in Factor"),
        ("change", "log_change is the difference caused by the changes"),
    ],
)
def test_a_faulty_factor_fails(fault, says):
    xs = ORDERS[np.random.default_rng(0).integers(len(ORDERS), size=(6, 2))].reshape(6, -1)
    check_factor(FaultyOrders(2, "none"), xs, np.random.default_rng(0))
    with pytest.raises(AssertionError, match=f"^FaultyOrders breaks the law: {says}"):
        check_factor(FaultyOrders(2, fault), xs, np.random.default_rng(0))


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


def changes_of(factor: Factor, xs: np.ndarray) -> VariableChanges:
    """Return a change of a variable of each point, to the value that the point at the other end has."""
    width, which = xs.shape[1] // factor.n_variables, np.arange(len(xs)) % factor.n_variables
    columns = which[:, None] * width + np.arange(width)
    before, after = (np.take_along_axis(rows, columns, axis=1) for rows in (xs, xs[::-1]))
    return VariableChanges(which, before, after)


def test_a_change_adds_the_difference_of_two_points(case):
    factor, xs, ys, theta = case
    changes, width, moved = changes_of(factor, xs), xs.shape[1] // factor.n_variables, xs.copy()
    np.put_along_axis(moved, changes.which[:, None] * width + np.arange(width), changes.after, axis=1)
    found = factor.log_change(theta, factor.prepare_changes(changes, ys))
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


def along_lines(factor, theta, prepared):
    """Return the calls of `line` at another value of each parameter, with `gram` and without the parameter in it."""
    whole = np.exp(factor.log_gram(theta, prepared))

    def call(line):
        found = []
        for i in range(len(theta)):
            rest = np.exp(factor.log_gram(theta, prepared, without=i))
            for gram, carried in ((whole, True), (rest, False)):
                found.append(np.asarray(line(i, theta, prepared, gram, carried=carried)(0.3)).copy())
        return found

    return call


def test_overrides_do_what_the_defaults_do(case):
    factor, xs, ys, theta = case
    prepared, weighted = factor.prepare(xs, ys), np.random.default_rng(1).normal(size=(8, 6))
    calls = {
        "log_diag": lambda own: [own(theta, xs)],
        "gradient": lambda own: [own(theta, prepared, weighted)],
        "line": along_lines(factor, theta, prepared),
    }
    check_defaults(factor, Factor, calls, 1e-6)
    changes = changes_of(factor, xs)
    found = factor.log_change(theta, factor.prepare_changes(changes, ys))
    expected = Factor.log_change(factor, theta, Factor.prepare_changes(factor, changes, ys))
    assert_allclose(found, expected, atol=1e-9)


@dataclass(frozen=True)
class Faulty(DistanceFactor):
    """A factor whose overrides are not what the base has, but for one or none of them."""

    fault: str = "none"

    def log_diag(self, theta, xs):
        del theta
        return np.full(len(xs), 0.1 if self.fault == "log_diag" else 0.0)

    def gradient(self, theta, prepared, weighted):
        return DistanceFactor.gradient(self, theta, prepared, weighted) * (2.0 if self.fault == "gradient" else 1.0)

    def line(self, i, theta, prepared, gram, *, carried):
        return DistanceFactor.line(self, i, theta, prepared, gram, carried=carried or self.fault == "line")


@pytest.mark.parametrize("fault", ["log_diag", "gradient", "line"])
def test_an_override_that_does_something_else_is_found(fault):
    rng, distances = np.random.default_rng(0), OrderDistances(OrderShape(3))
    xs, ys = ORDERS[rng.integers(6, size=8)], ORDERS[rng.integers(6, size=6)]
    theta = rng.normal(-0.5, 0.5, 3)
    test_overrides_do_what_the_defaults_do((Faulty(distances, 1), xs, ys, theta))
    with pytest.raises(AssertionError, match=f"{fault} agrees with its default in Factor"):
        test_overrides_do_what_the_defaults_do((Faulty(distances, 1, fault), xs, ys, theta))


class OneMethod(Factor):
    """exp(-exp(theta) |x - y|) of one variable: all that must be written of a factor."""

    n_variables = 1

    def log_gram(self, theta, prepared, without=None):
        xs, ys = prepared
        return -(0.0 if without == 0 else np.exp(theta[0])) * np.abs(xs - ys[:, 0]).astype(float)


def test_a_factor_of_one_method_serves_a_space():
    space = bo.Space({"x": range(5), "b": bool})
    placed = (
        PlacedFactor(OneMethod(), (0,), (0,)),
        PlacedFactor(CompleteFactor((2,), LogLengthscale()), (1,), (1,)),
    )
    check_kernel(SpaceKernel(placed, "theta", Normal(0.0, 1.0)), space, np.random.default_rng(0))


@dataclass(frozen=True)
class Doubled(EffectKernel):
    """An effect of one method."""

    def gram(self, xs, ys):
        return 2.0 * (xs == ys[:, 0])


def test_an_effect_of_one_method_has_a_diagonal_and_changes():
    effect, xs = Doubled(), np.arange(3)[:, None]
    assert effect.diag(xs).tolist() == [2.0, 2.0, 2.0]
    assert effect.change(xs, xs[::-1], xs).tolist() == (effect.gram(xs[::-1], xs) - effect.gram(xs, xs)).tolist()
    assert not effect.has_unit_diagonal


EFFECTS = {
    "graph": (GraphEffect(PathGraph(5)), np.arange(5)[:, None]),
    "complete graph": (GraphEffect(CompleteGraph(4)), np.arange(4)[:, None]),
    "factor": (FactorEffect(OrderFactor(1)), ORDERS),
    "orders": (PermutationEffect(OrderShape(3)), ORDERS),
    "subsets": (SubsetEffect(3, 0.4), np.array([[0, 1, 1], [1, 0, 0], [1, 1, 1]])),
    "sizes": (LengthKernel(0, 3, 0), np.array([[0, 1, 1], [1, 0, 0], [1, 1, 1]])),
    "sequences": (SequenceEffect(SequenceShape(3, 4, 4)), np.array([[0, 1, 2, 0], [2, 2, 1, 0], [1, 1, 1, 1]])),
    "choices": (ChoiceEffect(4), np.arange(4)[:, None]),
    "rows of a table": (LikenessEffect(TABLE), np.arange(5)[:, None]),
    "absent choices": (ConditionalEffect(ChoiceEffect(4)), np.array([[0], [INACTIVE], [2]])),
    "numbers": (NumberEffect(RealGrid(0.0, 1.0, False)), np.array([[0], [10], [77]])),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_effects_do_what_the_defaults_do(name):
    effect, xs = EFFECTS[name]
    calls = {"diag": lambda own: [own(xs)], "change": lambda own: [own(xs, xs[::-1], xs)]}
    check_defaults(effect, EffectKernel, calls, 1e-9)
    if effect.has_unit_diagonal:
        assert_allclose(effect.diag(xs), 1.0)


@pytest.mark.parametrize("link", [LogEdgeWeight(), LogLengthscale()])
def test_the_quick_rho_of_a_link_is_that_of_the_base(link):
    for theta in (-3.0, -0.5, 0.0, 2.0):
        check_defaults(link, Link, {"rho": lambda own, theta=theta: [np.array(own(theta, 4.0))]}, 1e-12)


@pytest.mark.parametrize("graph", [CompleteGraph(5), PathGraph(6), weighted_graph(nx.cycle_graph(5))[1]])
def test_the_laplacian_of_a_graph_of_even_edges_is_that_of_the_base(graph):
    check_defaults(graph, VariableGraph, {"laplacian": lambda own: [own()]}, 0.0)
