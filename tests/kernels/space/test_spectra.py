"""Factors, links and priors of single variables: closed forms against the spectral definition, published values."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.graphs import CompleteGraph, Diffusion, PathGraph, VariableGraph, WeightedGraph
from bostruct.kernels.space.spectra import (
    Link,
    LogEdgeWeight,
    LogLengthscale,
    complete_log_correlation,
    complete_slope,
    heat_slopes,
    heat_weights,
)
from bostruct.methods.combo import EDGE_WEIGHT_PRIOR, NOISE_PRIOR, ComboPriors
from bostruct.study.threads import ThreadLimit
from bostruct.surrogates.hyperparameters import LogHorseshoe, Normal, TruncatedNormal


class DiffusionTable(NamedTuple):
    """F between some vertices of one graph, left and right."""

    between: Array
    left: Array
    right: Array


def diffusion(graph: VariableGraph, beta: float, left: IntArray, right: IntArray) -> DiffusionTable:
    """Return F(beta) between some vertices of one graph."""
    return diffusion_and_slope(graph, beta, left, right)[0]


def diffusion_and_slope(
    graph: VariableGraph, beta: float, left: IntArray, right: IntArray
) -> tuple[DiffusionTable, DiffusionTable]:
    """Return F(beta) between some vertices of one graph, and its derivative in log beta."""
    spectrum = graph.spectrum()
    own, slope = (spectrum.diffuse(of(spectrum.values, np.array([beta]))) for of in (heat_weights, heat_slopes))
    return _table(own, left, right), _table(slope, left, right)


def _table(own: Diffusion, left: IntArray, right: IntArray) -> DiffusionTable:
    return DiffusionTable(own.between(left, right)[0], own.diagonal(left)[0], own.diagonal(right)[0])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work: threads that wait for each other cost these small matrices most of the time."""
    with ThreadLimit(1)():
        yield


@st.composite
def any_graph(draw: st.DrawFn) -> VariableGraph:
    size = draw(st.integers(2, 12))
    weights = st.floats(1e-2, 1e2)
    edges = [(draw(st.integers(0, v - 1)), v, draw(weights)) for v in range(1, size)]
    return draw(
        st.sampled_from(
            [CompleteGraph(size), PathGraph(size, draw(weights)), WeightedGraph(size, tuple(sorted(edges)))]
        )
    )


def brute_force(graph: VariableGraph, beta: float) -> Array:
    heat = expm(-beta * graph.laplacian())
    return heat / heat.diagonal().mean()


@given(any_graph(), st.floats(-4, 1))
@settings(deadline=None)
def test_factor_is_the_normalized_heat_kernel(graph, log_beta):
    everything = np.arange(graph.size)
    table = diffusion(as_spectral(graph), math.exp(log_beta), everything, everything)
    expected = brute_force(graph, math.exp(log_beta))
    np.testing.assert_allclose(table.between, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(table.left, expected.diagonal(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(table.right, expected.diagonal(), rtol=0, atol=1e-12)
    assert table.left.mean() == pytest.approx(1.0)


@given(any_graph(), st.floats(-4, 1))
@settings(deadline=None)
def test_slope_of_a_factor_is_its_derivative(graph, log_beta):
    everything = np.arange(graph.size)
    spectral = as_spectral(graph)
    table, slope = diffusion_and_slope(spectral, math.exp(log_beta), everything, everything)
    np.testing.assert_array_equal(
        table.between, diffusion(spectral, math.exp(log_beta), everything, everything).between
    )
    ahead, behind = (diffusion(spectral, math.exp(log_beta + step), everything, everything) for step in (1e-5, -1e-5))
    for own, one, other in zip(slope, ahead, behind, strict=True):
        np.testing.assert_allclose(own, (one - other) / 2e-5, rtol=0, atol=1e-7)


def as_spectral(graph: VariableGraph) -> VariableGraph:
    """A complete graph as a graph like any other, whose spectrum nobody knows beforehand."""
    if not isinstance(graph, CompleteGraph):
        return graph
    pairs = [(a, b, 1.0) for b in range(graph.size) for a in range(b)]
    return WeightedGraph(graph.size, tuple(sorted(pairs)))


@given(any_graph())
@settings(deadline=None)
def test_eigenvalues_are_those_of_the_laplacian(graph):
    found = graph.eigenvalues()
    np.testing.assert_allclose(found, np.linalg.eigvalsh(graph.laplacian()), rtol=0, atol=1e-12 * found[-1])
    assert found[0] == 0.0
    assert np.all(found[1:] > 0)


@given(st.integers(2, 1000), st.floats(-12, math.log(100)))
def test_complete_correlation_is_the_closed_form_to_all_digits(size, log_beta):
    """(1 - q) / (1 + (k - 1) q), without the loss of digits near 0 and 1."""
    beta = np.float64(math.exp(log_beta))
    found = float(complete_log_correlation(np.float64(size), beta))
    x = size * beta
    q = math.exp(-x)
    rho = -math.expm1(-x) / (1 + (size - 1) * q)
    assert found <= 0.0
    assert math.exp(found) == pytest.approx(rho, rel=1e-12)
    step = 1e-6 * beta
    numeric = (complete_log_correlation(size, beta + step) - complete_log_correlation(size, beta - step)) / 2e-6
    assert float(complete_slope(np.float64(size), beta)) == pytest.approx(float(numeric), rel=1e-4, abs=1e-9)


@given(st.sampled_from([LogEdgeWeight(), LogLengthscale()]), any_graph(), st.floats(-3, 3))
@settings(deadline=None)
def test_slopes_of_links_are_derivatives(link: Link, graph, theta):
    sizes = np.array([2.0, float(graph.size)])
    ahead, behind = (link.complete(np.full(2, theta + step), sizes) for step in (1e-6, -1e-6))
    slope = link.complete_slope(np.full(2, theta), sizes)
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-8)
    log_rho = link.complete(np.full(2, theta), sizes)
    rho = [link.rho(theta, size) for size in sizes]
    np.testing.assert_allclose(rho, np.exp(log_rho), rtol=1e-13, atol=1e-300)
    beta = [edge_weight(link, theta + step, graph)[0] for step in (1e-6, -1e-6)]
    assert edge_weight(link, theta, graph)[1] == pytest.approx(math.log(beta[0] / beta[1]) / 2e-6, rel=1e-6)


def edge_weight(link: Link, theta: float, graph: VariableGraph) -> tuple[float, float]:
    """The edge weight of one variable, and the derivative of its logarithm."""
    weights, slopes = link.edge_weights(np.array([theta]), float(graph.eigenvalues()[1]))
    return float(weights[0]), float(slopes[0])


def test_lengthscale_on_a_path_is_that_of_a_gaussian():
    """Far from its ends, a path of k steps over [0, 1] correlates as exp(-distance^2 / (2 lengthscale^2))."""
    graph, lengthscale = PathGraph(400), 0.05
    middle = np.arange(150, 250)
    beta = edge_weight(LogLengthscale(), math.log(lengthscale), graph)[0]
    table = diffusion(graph, beta, middle, middle)
    correlation = table.between / np.sqrt(np.outer(table.left, table.right))
    distance = (middle[:, None] - middle) / 400
    np.testing.assert_allclose(correlation, np.exp(-0.5 * (distance / lengthscale) ** 2), atol=2e-3)


@pytest.mark.parametrize("k", [3, 4, 5, 7, 11, 20, 50, 100])
@pytest.mark.parametrize("lengthscale", [0.1, 0.2, 0.35, 0.5, 0.7, 0.92, 1.2, 1.59, 2.5, 5.0])
def test_the_ends_of_a_path_correlate_as_the_rbf(k, lengthscale):
    """Whatever the lengthscale, within 1.25 / k^2: a path of k steps is a line but for terms of that order."""
    rbf = math.exp(-0.5 / lengthscale**2)
    assert correlation(PathGraph(k), lengthscale)[0, -1] == pytest.approx(rbf, abs=1.25 / k**2)


@pytest.mark.parametrize("lengthscale", [0.3, 1.0, 3.0])
def test_opposite_points_of_a_cycle_correlate_as_the_rbf(lengthscale):
    cycle = WeightedGraph(40, tuple(sorted([(v, v + 1, 2.0) for v in range(39)] + [(0, 39, 2.0)])))
    rbf = math.exp(-0.5 / lengthscale**2)
    assert correlation(cycle, lengthscale)[0, 20] == pytest.approx(rbf, abs=2e-3)


@pytest.mark.parametrize("graph", ["star", "grid", "path with a light edge"])
def test_any_graph_goes_from_independent_to_equal_choices(graph):
    grid = [(4 * r + c, 4 * r + c + 1, 1.0) for r in range(4) for c in range(3)]
    grid += [(4 * r + c, 4 * r + c + 4, 1.0) for r in range(3) for c in range(4)]
    edges = {
        "star": (9, [(0, v, 1.0) for v in range(1, 9)]),
        "grid": (16, grid),
        "path with a light edge": (6, [(v, v + 1, 0.01 if v == 2 else 1.0) for v in range(5)]),
    }
    size, pairs = edges[graph]
    least = [
        correlation(WeightedGraph(size, tuple(sorted(pairs))), scale).min() for scale in np.geomspace(0.02, 50, 40)
    ]
    assert np.all(np.diff(least) > -1e-12)
    assert least[0] < 1e-3
    assert least[-1] > 0.99


def correlation(graph: VariableGraph, lengthscale: float) -> Array:
    """Between all vertices (k, k), under `LogLengthscale`."""
    everything = np.arange(graph.size)
    table = diffusion(graph, edge_weight(LogLengthscale(), math.log(lengthscale), graph)[0], everything, everything)
    return table.between / np.sqrt(np.outer(table.left, table.right))


@pytest.mark.parametrize("theta", [-700.0, -20.0, -9.0, -3.0, 9.0, 50.0, 700.0])
def test_a_lengthscale_has_an_edge_weight_however_short_or_long(theta):
    beta, slope = edge_weight(LogLengthscale(), theta, PathGraph(11))
    assert math.isfinite(beta)
    assert beta >= 0.0
    assert 0.0 <= slope <= 2.0


@pytest.mark.parametrize(
    ("prior", "values"),
    [
        (EDGE_WEIGHT_PRIOR, "-12 3.32905753 -5 2.6327535 -1 1.77744518 0 1.36910386 1 0.71776839 2 -0.4305893"),
        (EDGE_WEIGHT_PRIOR, "3 -2.14696485 4.6 -5.29049768 -12.001 -inf 4.61 -inf"),
        (NOISE_PRIOR, "-12 2.96500653 -8 2.43316072 -5 1.68628034 -2.302585 -0.36651305 0 -4.61014948"),
        (NOISE_PRIOR, "9.2 -23.00516957 9.22 -inf"),
        (ComboPriors(0.0, 1.0)(np.array([-1.2, 0.0, 1.0])).mean, "-1.2 -1.402163 -0.1 0.597837 0.3 0.33337419"),
        (ComboPriors(0.0, 1.0)(np.array([-1.2, 0.0, 1.0])).mean, "-1.21 -inf 1.01 -inf"),
        (ComboPriors(0.0, 1.0, "mean")(np.array([-1.2, 0.2, 0.4])).mean, "-0.2 0.91629073 0.2 0.41629073 0.41 -inf"),
    ],
)
def test_published_priors(prior, values):
    numbers = [float(word) for word in values.split()]
    for theta, expected in zip(numbers[::2], numbers[1::2], strict=True):
        assert prior.log_density(theta) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("least", "most", "values"),
    [
        (2.7097041e-16, 1404902.26, "-12 -4.06444006 0 -2.84115192 9.2 -2.52742568 9.3 -inf"),  # 25 binaries
        (8.2400e-4, 18.149850, "-2 -1.72785269 0 -1.02863765 3 -1.17981508"),  # complete-2, path-3, complete-5
    ],
)
def test_published_amplitude_prior(least, most, values):
    told = np.array([0.0, math.sqrt(0.8)])  # of variance 0.4
    prior = ComboPriors(math.log(least), math.log(most))(told).log_amplitude
    numbers = [float(word) for word in values.split()]
    for theta, expected in zip(numbers[::2], numbers[1::2], strict=True):
        assert prior.log_density(theta) == pytest.approx(expected, abs=1e-5)


@given(st.floats(-5, 5), st.floats(0.1, 5), st.lists(st.floats(-20, 20), min_size=1, max_size=5))
def test_normal_prior_is_a_normal_density(mean, sd, values):
    prior, theta = Normal(mean, sd), np.array(values)
    total, slope = prior.value_and_grad(theta)
    assert total == pytest.approx(sum(prior.log_density(t) for t in values))
    for t, own in zip(values, slope, strict=True):
        numeric = (prior.log_density(t + 1e-5) - prior.log_density(t - 1e-5)) / 2e-5
        assert own == pytest.approx(numeric, rel=1e-4, abs=1e-4)
    assert prior.log_density(mean) == 0.0
    assert prior.log_density(mean + sd) == pytest.approx(-0.5)
    wide = TruncatedNormal(mean, sd, -100.0, 100.0)
    assert wide.log_density(values[0]) - wide.log_density(mean) == pytest.approx(prior.log_density(values[0]))


def test_horseshoe_falls_everywhere_on_its_support():
    prior = LogHorseshoe(5.0, -12.0, 4.0)
    densities = [prior.log_density(t) for t in np.linspace(-12.0, 4.0, 200)]
    assert np.all(np.diff(densities) < 0)
    assert prior.log_density(4.001) == prior.log_density(-12.001) == -math.inf
