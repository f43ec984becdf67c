"""The linear kernel of main effects: centered effects of mean diagonal 1, and single changes as the rows they are."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.contracts.search import describe_part
from bostruct.domains.space.graphs import CompleteGraph, PathGraph, weighted_graph
from bostruct.domains.space.single_changes import Layout
from bostruct.kernels.space.effects import FactorEffect, GraphEffect
from bostruct.kernels.space.main_effects import (
    LARGEST_TABLE,
    MOST_COORDINATES,
    MOST_COORDINATES_OF_POINT,
    LengthscaleBlend,
    MainEffects,
)
from bostruct.kernels.space.matern import sum_effects
from bostruct.kernels.space.registry import main_effects
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.gradient_laws import check_input_gradient
from bostruct.testing.kernel_laws import check_kernel
from tests.wide_variable import ORDERS, OrderFactor

NONE = np.zeros(0)
STAR = weighted_graph(nx.star_graph(4))[1]


@pytest.mark.parametrize("graph", [CompleteGraph(2), CompleteGraph(4), PathGraph(5), PathGraph(80), STAR])
def test_effects_sum_to_zero_and_have_mean_diagonal_1(graph):
    effect, every = GraphEffect(graph), np.arange(graph.size)[:, None]
    table = effect.gram(every, every)
    assert_allclose(table, table.T, atol=1e-12)
    assert_allclose(table.sum(axis=0), 0.0, atol=1e-9)
    assert np.mean(effect.diag(every)) == pytest.approx(1.0)
    assert np.linalg.eigvalsh(table).min() > -1e-9
    assert_allclose(effect.diag(every), table.diagonal())
    assert effect.graph.is_complete == isinstance(graph, CompleteGraph)


def test_on_a_complete_graph_the_effect_is_in_closed_form():
    table = GraphEffect(CompleteGraph(4)).table
    assert_allclose(table, (4.0 * np.eye(4) - 1.0) / 3.0)


def test_the_kernel_is_the_mean_of_the_effects():
    effects = (GraphEffect(CompleteGraph(2)), GraphEffect(PathGraph(5)), FactorEffect(OrderFactor(1)))
    kernel, rng = MainEffects(effects, Layout((1, 1, 3))), np.random.default_rng(0)
    xs = np.column_stack([rng.integers(2, size=6), rng.integers(5, size=6), ORDERS[rng.integers(6, size=6)]])
    columns = [xs[:, :1], xs[:, 1:2], xs[:, 2:]]
    expected = sum(effect.gram(own, own) for effect, own in zip(effects, columns, strict=True)) / 3.0
    gram = kernel.gram(NONE, kernel.prepare(xs))
    assert_allclose(gram, expected, atol=1e-12)
    assert_allclose(kernel.diag(NONE, xs), gram.diagonal(), atol=1e-12)
    assert kernel.parameters == ()


def test_single_changes_are_the_rows_that_they_stand_for():
    graph = bo.Graph(nx.cycle_graph(5))
    space = bo.Space({"a": bool, "p": bo.Integer(0, 5), "c": list("xyz"), "g": graph, "q": range(6)})
    kernel, rng = main_effects(space), np.random.default_rng(0)
    changes, _ = space.sample_neighborhoods(space.sample(3, rng), 1_000, rng)
    ys = space.sample(4, rng)
    found, expected = (kernel.gram(NONE, kernel.prepare(batch, ys)) for batch in (changes, changes.rows()))
    assert_allclose(found, expected, atol=1e-12)
    assert_allclose(kernel.diag(NONE, changes), kernel.diag(NONE, changes.rows()), atol=1e-12)


CYCLE = nx.cycle_graph(5)
nx.set_edge_attributes(CYCLE, {edge: 0.1 + i for i, edge in enumerate(CYCLE.edges)}, "weight")
OTHERS = {"bit": bool, "number": bo.Real(0.0, 1.0), "sometimes": bo.Ordinal(list("pqr"), when={"bit": True})}


@pytest.mark.parametrize(
    "variable",
    [
        list("xyz"),
        list(range(MOST_COORDINATES + 1)),
        list(range(MOST_COORDINATES + 2)),
        bo.Ordinal(list(range(16))),
        bo.Ordinal(list(range(LARGEST_TABLE + 1))),
        bo.Graph(CYCLE),
    ],
)
@pytest.mark.parametrize("others", [{}, OTHERS])
@pytest.mark.parametrize("most", [MOST_COORDINATES_OF_POINT, 1])
def test_graphs_by_coordinates_are_those_looked_up(variable, others, most, monkeypatch):
    """Two variables share a graph, so that their coordinates come from one table."""
    monkeypatch.setattr("bostruct.kernels.space.main_effects.MOST_COORDINATES_OF_POINT", most)
    space = bo.Space({"a": variable, "b": variable, "c": list("uvwx"), **others})
    rng = np.random.default_rng(0)
    kernel, xs, ys = main_effects(space), space.sample(9, rng), space.sample(7, rng)
    each = [kernel.layout.columns(i) for i in range(len(kernel.effects))]
    pairs = [effect.gram(xs[:, own], ys[:, own]) for effect, own in zip(kernel.effects, each, strict=True)]
    for _ in range(2):  # the second time the coordinates of ys are known
        assert_allclose(kernel.gram(NONE, kernel.prepare(xs, ys)), sum(pairs) / len(pairs), atol=1e-13)
    square = kernel.gram(NONE, kernel.prepare(xs))
    assert_allclose(square, square.T, atol=1e-13)
    assert_allclose(kernel.diag(NONE, xs), square.diagonal(), atol=1e-13)


def test_the_coordinates_of_a_smooth_effect_are_few():
    """Effects along a path are smooth: those of 16 levels have rank 6, those of 16 categories 15."""
    assert GraphEffect(PathGraph(16)).coordinates.shape == (16, 6)
    assert GraphEffect(CompleteGraph(16)).coordinates.shape == (16, 15)


CONDITIONAL = {"choice": list("xyz"), "when": bo.Real(0.0, 1.0, when={"choice": "x"})}


@pytest.mark.parametrize("others", [{}, OTHERS, CONDITIONAL])
def test_the_effects_of_numbers_blend_three_lengthscales(others):
    rng, prior = np.random.default_rng(0), Normal(0.0, 1.0)
    space = bo.Space({"x": bo.Real(0.0, 1.0), "y": bo.Real(0.001, 1.0, log=True), **others})
    kernel, single = main_effects(space, blend=LengthscaleBlend(prior, prior, 0.5, -0.5)), main_effects(space)
    check_kernel(kernel, space, rng)
    theta, xs, ys = rng.normal(size=2), space.sample(9, rng), space.sample(7, rng)
    check_input_gradient(kernel, space, xs, ys, theta, rng)
    whole, quarter = 1.0 / (1.0 + np.exp(-theta))
    weights = {1.0: whole, 0.25: (1.0 - whole) * quarter - 1.0, 0.0625: (1.0 - whole) * (1.0 - quarter)}
    expected = len(space.variables) * single.gram(NONE, single.prepare(xs, ys))
    for i, effect in enumerate(kernel.effects):
        if effect.grid is not None:
            own = kernel.layout.columns(i)
            for lengthscale, weight in weights.items():
                expected += weight * sum_effects((effect.grid,), xs[:, own], ys[:, own], lengthscale)
    assert_allclose(kernel.gram(theta, kernel.prepare(xs, ys)), expected / len(space.variables), atol=1e-14)


def test_other_priors_of_lengthscales_are_other_settings():
    space, prior = bo.Space({"x": bo.Real(0.0, 1.0)}), Normal(0.0, 1.0)
    blends = [LengthscaleBlend(prior, prior, 0.0, 0.0), LengthscaleBlend(prior, Normal(1.0, 1.0), 0.0, 0.0), None]
    described = [str(describe_part(main_effects(space, blend=one))) for one in blends]
    assert len(set(described)) == 3
    assert "blend" not in described[2]  # as before blends were added


def test_no_points_have_no_rows():
    space = bo.Space({"a": list("xyz"), "x": bo.Real(0.0, 1.0)})
    kernel, xs = main_effects(space), space.sample(3, np.random.default_rng(0))
    assert kernel.gram(NONE, kernel.prepare(xs[:0], xs)).shape == (0, 3)
