"""The kernel of subsets: what it is by its definition, the laws, and what sums it learns."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

import bostruct as bo
from bostruct.domains.space.graphs import WeightedGraph
from bostruct.kernels.space.registry import main_effects
from bostruct.kernels.space.subset import MOST_RELEVANCES, TIME, FeatureFactor, SubsetEffect, SubsetFeatures
from bostruct.methods.defaults import space_kernel
from bostruct.testing import check_kernel

RING = nx.cycle_graph(5)
SPACES = {
    "alone": {"s": bo.Subset(range(6), 2)},
    "several": {
        "s": bo.Subset(range(6), 3),
        "b": bool,
        "q": bo.Subset(list("abcdef"), 3),
        "r": bo.Subset(range(4), (0, 4)),
    },
    "mixed": {"c": list("abc"), "s": bo.Subset(range(5), (1, 2), graph=RING, when={"c": "a"}), "r": bo.Real(0, 1)},
}


@pytest.mark.parametrize("name", SPACES)
def test_laws(name):
    space, rng = bo.Space(SPACES[name]), np.random.default_rng(0)
    check_kernel(space_kernel(space), space, rng)
    check_kernel(main_effects(space), space, rng)


def test_the_factor_is_diffusion_on_the_hypercube_between_allowed_sizes():
    """Each bit diffuses along its own edge: the heat kernel of a product of graphs, normalized."""
    times, bits = np.array([0.2, 0.5, 0.05, 1.0]), np.array([[(c >> i) & 1 for i in range(4)] for c in range(16)])
    laplacian = np.zeros((16, 16))
    for i, time in enumerate(times):
        apart = (np.abs(bits[:, None] - bits).sum(axis=2) == 1) & (bits[:, None, i] != bits[:, i])
        laplacian += time * (np.diag(apart.sum(axis=1)) - apart)
    heat = expm(-laplacian)
    rows = np.flatnonzero(np.isin(bits.sum(axis=1), (1, 2)))
    expected = heat[np.ix_(rows, rows)] / heat[0, 0]
    lengthscales = (-2.0 * np.log(np.tanh(times))) ** -0.5
    factor = FeatureFactor(SubsetFeatures(4, True, False), 1)
    log_gram = factor.log_gram(np.log(lengthscales), factor.prepare(bits[rows]))
    assert_allclose(np.exp(log_gram), expected, rtol=1e-10)


def test_features_of_a_graph_are_diffusion_on_the_items():
    graph = WeightedGraph(5, ((0, 1, 1.0), (1, 2, 2.0), (2, 3, 1.0), (3, 4, 1.0)))
    heat = expm(-TIME / np.trace(graph.laplacian()) * 5 * graph.laplacian()) - 0.2
    heat *= 4 / np.trace(heat)
    xs = np.array(bo.Subset(range(5), 2).enumerate())
    features = SubsetFeatures(5, True, False, graph)
    own = features.encode(xs)[:, 5:]
    squares = np.square(own[:, None] - own).sum(axis=2)
    differences = (xs[:, None] - xs).astype(float)
    assert_allclose(squares, np.einsum("nmi,ij,nmj->nm", differences, heat, differences), atol=1e-9)
    bits = np.square(differences).sum(axis=2)
    assert_allclose(squares.mean(), bits.mean(), rtol=1e-9)  # over all subsets, as far apart as bits
    assert features.groups.tolist() == [0, 1, 2, 3, 4, 5, 5, 5, 5]


@pytest.mark.parametrize("size", [5, (1, 8)])
@pytest.mark.parametrize("has_graph", [False, True])
def test_up_to_100_items_have_a_relevance_each(size, has_graph):
    for n, expected in ((MOST_RELEVANCES, MOST_RELEVANCES + 1), (MOST_RELEVANCES + 1, 1)):
        graph = nx.path_graph(n) if has_graph else None
        kernel = space_kernel(bo.Space({"s": bo.Subset(range(n), size, graph=graph)}))
        assert [block.size for block in kernel.parameters] == [expected + has_graph + (size != 5)]


def test_names_and_the_order_of_items_do_not_matter():
    rng, order = np.random.default_rng(0), np.random.default_rng(1).permutation(8)
    first = bo.Space({"s": bo.Subset(range(8), (2, 3), graph=nx.cycle_graph(8))})
    names = [f"i{i}" for i in order]
    edges = [(f"i{a}", f"i{b}") for a, b in nx.cycle_graph(8).edges]
    second = bo.Space({"s": bo.Subset(names, (2, 3), graph=edges)})
    xs = first.sample(20, rng)
    ys = np.array([second.parse({"s": [f"i{item}" for item in first.present(x)["s"]]}) for x in xs])
    kernel, other = space_kernel(first), space_kernel(second)
    theta = rng.normal(size=11)
    moved = np.concatenate([theta[:8][order], theta[8:]])  # relevances go with their items
    grams = kernel.gram(theta, kernel.prepare(xs)), other.gram(moved, other.prepare(ys))
    assert_allclose(*grams, atol=1e-10)


def test_subsets_of_equal_shape_share_a_factor():
    kernel = space_kernel(bo.Space(SPACES["several"]))
    placed = {one.variables: one.parameters for one in kernel.factors}
    assert placed == {(0, 2): (*range(7), *range(8, 15)), (1,): (7,), (3,): tuple(range(15, 21))}


@pytest.mark.parametrize("size", [2, (0, 3)])
def test_the_effect_is_zero_on_average_and_one_of_equal_subsets(size):
    variable = bo.Subset(range(6), size)
    effect, xs = SubsetEffect(6, variable.share), variable.enumerate()
    gram, chances = effect.gram(xs, xs), variable.chances(xs)
    assert_allclose(chances @ gram, 0.0, atol=1e-12)
    assert_allclose(gram.diagonal(), effect.diag(xs))
    assert_allclose(chances @ gram.diagonal(), 1.0)
    assert np.linalg.eigvalsh(gram).min() > -1e-9


def test_two_subsets_at_random_are_half_as_many_bits_apart_as_a_subset_counts_for():
    for size in (5, (1, 8)):
        variable = bo.Subset(range(40), size)
        xs = variable.sample(400, np.random.default_rng(0))
        apart = np.abs(xs[:200] - xs[200:]).sum(axis=1).mean()
        assert apart == pytest.approx(variable.degrees / 2, rel=0.1)


def test_a_sum_with_interactions_is_learned_from_few_values():
    rng = np.random.default_rng(0)
    weights = np.triu(rng.normal(size=(12, 12)))
    space = bo.Space({"s": bo.Subset(range(12), 4)})

    def cost(point):
        own = list(point["s"])
        return float(weights[np.ix_(own, own)].sum())

    best = min(weights[np.ix_(own, own)].sum() for own in combinations(range(12), 4))
    assert bo.minimize(cost, space, 45, seed=0).best_value == pytest.approx(best)
