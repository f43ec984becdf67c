"""The diffusion kernel: the laws of kernels, brute force on whole product graphs, and published values."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.optimize import brentq

import bostruct as bo
from bostruct.contracts import Array
from bostruct.domains.space.graphs import CompleteGraph, PathGraph, WeightedGraph
from bostruct.kernels.space import complete
from bostruct.kernels.space.diffusion import ard_diffusion, extreme_eigenvalues
from bostruct.kernels.space.product import SpaceKernel
from bostruct.kernels.space.registry import main_effects
from bostruct.kernels.space.spectra import Link, LogEdgeWeight, LogLengthscale
from bostruct.methods import auto
from bostruct.methods.defaults import variable_graphs
from bostruct.study.threads import ThreadLimit
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.kernel_laws import check_gram, check_kernel, check_pullback, near_initial
from tests.strategies import graphs as graph_variables
from tests.strategies import rngs, spaces

LINKS: tuple[Link, ...] = (LogEdgeWeight(), LogLengthscale())
PRIOR = Normal(0.0, 1.0)

# Oh et al. 2019: what the authors' code gives for complete-2, path-3, complete-5 with edge weights 0.5, 1.0, 0.2.
GOLDEN_POINTS = np.array([[0, 0, 0], [0, 1, 2], [1, 2, 4], [1, 0, 0], [0, 2, 2], [1, 1, 3]])
GOLDEN_GRAM = """
1.1121887167 0.1714285042 0.0394406092 0.5139614881 0.0853476409 0.0792200530
0.7756225666 0.0792200530 0.0792200530 0.6702654857 0.0916724226
1.1121887167 0.0853476409 0.1314518664 0.1714285042
1.1121887167 0.0394406092 0.1714285042
1.1121887167 0.0792200530
0.7756225666"""


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As a study runs model work: threads that wait for each other cost these small matrices most of the time."""
    with ThreadLimit(1)():
        yield


def kernel_of(space: bo.Space, link: Link, unit_diagonal: bool = False) -> SpaceKernel:
    return ard_diffusion(variable_graphs(space), PRIOR, link, 0.0, unit_diagonal)


@contextmanager
def codes(used: bool) -> Iterator[None]:
    """Send complete variables through codes or one by one; split lines of small batches as those of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(complete, "BLOCKS_FROM", 1)
        patch.setattr(complete, "MANY_BLOCKS_FROM", 1)
        patch.setattr(complete, "LARGE_BLOCK_SHARE", 0.0)
        if not used:
            patch.setattr(complete, "MAX_CODES", 0)
        yield


@st.composite
def wide_variables(draw: st.DrawFn) -> Any:
    """Up to 60 choices, of every kind of graph."""
    size = draw(st.integers(2, 60))
    weights = st.floats(1e-6, 1e6)
    return draw(
        st.one_of(
            st.just(bo.Binary()),
            st.just(bo.Categorical(range(size))),
            st.just(bo.Integer(1, size)),
            weights.map(lambda weight: bo.Ordinal(range(size), weight)),
            graph_variables(),
        )
    )


SETTINGS = (st.sampled_from(LINKS), st.booleans(), st.booleans(), rngs())


@given(st.one_of(spaces(8), spaces(8, wide_variables())), *SETTINGS)
@settings(deadline=None, max_examples=30)
def test_laws(space, link, unit_diagonal, with_codes, rng):
    with codes(with_codes):
        check_kernel(kernel_of(space, link, unit_diagonal), space, rng)


@given(st.one_of(spaces(6), spaces(4, wide_variables())), rngs())
@settings(deadline=None, max_examples=20)
def test_laws_of_the_kernel_of_auto(space, rng):
    """A blend of main effects and diffusion."""
    kernel = auto(space).surrogate.surrogate.quiet.kernel
    theta = near_initial(kernel, rng, 2.0)
    xs, ys = space.sample(6, rng), space.sample(5, rng)
    check_gram(kernel, space, xs, space.join(ys, xs[:2]), theta)
    check_pullback(kernel, xs, ys, theta, rng)


@st.composite
def small_spaces(draw: st.DrawFn) -> bo.Space:
    """Products of at most 150 points, with weights that a matrix exponential stands."""
    variables, total = {}, 1
    for i in range(draw(st.integers(1, 4))):
        size = draw(st.integers(2, 6))
        if total * size > 150:
            break
        total *= size
        edges = [(draw(st.integers(0, v - 1)), v, draw(st.floats(0.1, 5.0))) for v in range(1, size)]
        weighted = WeightedGraph(size, tuple(sorted(edges)))
        kinds = [
            bo.Categorical(range(size)),
            bo.Ordinal(range(size), draw(st.floats(0.1, 5.0))),
            bo.Graph(networkx_of(weighted)),
        ]
        variables[f"x{i}"] = draw(st.sampled_from(kinds))
    return bo.Space(variables)


def networkx_of(graph: WeightedGraph) -> Any:
    import networkx as nx

    found = nx.Graph()
    found.add_nodes_from(range(graph.size))
    found.add_weighted_edges_from(graph.edges)
    return found


def brute_force(space: bo.Space, betas: list[float], unit_diagonal: bool) -> Array:
    """exp(-L) of the whole product graph, all points with all, scaled to a mean (or every) diagonal of 1."""
    total = np.zeros((1, 1))
    for graph, beta in zip(variable_graphs(space), betas, strict=True):
        own = beta * graph.laplacian()
        total = np.kron(total, np.eye(len(own))) + np.kron(np.eye(len(total)), own)  # Kronecker sum
    heat = expm(-total)
    diagonal = heat.diagonal() if unit_diagonal else np.full(len(heat), heat.diagonal().mean())
    return heat / np.sqrt(np.outer(diagonal, diagonal))


def equivalent_edge_weight(graph: Any, theta: float) -> float:
    """The diffusion time under which a graph has the lengthscale exp(theta)."""
    rho = math.exp(-0.5 * math.exp(-2.0 * theta))
    if isinstance(graph, CompleteGraph):
        k = graph.size
        return -math.log((1 - rho) / (1 + (k - 1) * rho)) / k  # rho = (1 - q) / (1 + (k - 1) q), q = exp(-k beta)
    return fade_between_reflecting_ends(rho) / float(np.linalg.eigvalsh(graph.laplacian())[1])


def fade_between_reflecting_ends(rho: float) -> float:
    """The beta gap at which the ends of a line correlate by rho: the sum over all images of a Gaussian of variance
    2 beta, on a line of length 1 with gap pi^2. Images at odd distances are those of the other end.
    """
    odd, even = np.arange(-21.0, 22.0, 2.0), np.arange(-20.0, 21.0, 2.0)

    def excess(fade: float) -> float:
        weight = math.pi**2 / (4.0 * fade)
        ratio = np.exp(-weight * (odd**2 - 1.0)).sum() / np.exp(-weight * even**2).sum()
        return math.log(ratio) - weight - math.log(rho)

    return float(brentq(excess, 1e-6, 30.0, xtol=1e-16, rtol=1e-14))


@given(small_spaces(), st.booleans(), st.booleans(), rngs())
@settings(deadline=None, max_examples=40)
def test_equals_the_exponential_of_the_product_graph(space, unit_diagonal, with_codes, rng):
    theta = rng.uniform(-3.0, 1.0, space.d)
    everything = space.enumerate()
    for link, betas in (
        (LINKS[0], np.exp(theta).tolist()),
        (LINKS[1], [equivalent_edge_weight(g, t) for g, t in zip(variable_graphs(space), theta, strict=True)]),
    ):
        kernel = kernel_of(space, link, unit_diagonal)
        with codes(with_codes):
            gram = kernel.gram(theta, kernel.prepare(everything))
        expected = brute_force(space, betas, unit_diagonal)
        np.testing.assert_allclose(gram, expected, rtol=0, atol=1e-10 * expected.max())


@pytest.mark.parametrize("with_codes", [True, False])
def test_published_gram_matrix(with_codes):
    space = bo.Space({"a": bool, "b": range(3), "c": list("pqrst")})
    kernel = kernel_of(space, LogEdgeWeight())
    theta = np.log([0.5, 1.0, 0.2])
    with codes(with_codes):
        gram = kernel.gram(theta, kernel.prepare(GOLDEN_POINTS))
    golden = np.array([float(word) for word in GOLDEN_GRAM.split()])
    np.testing.assert_allclose(gram[np.triu_indices(6)], golden, rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel.diag(theta, GOLDEN_POINTS), gram.diagonal(), rtol=1e-12)


@given(small_spaces(), rngs())
@settings(deadline=None, max_examples=30)
def test_extreme_eigenvalues_are_those_of_the_whole_space(space, rng):
    theta = rng.uniform(-3.0, 0.0, space.d)
    found = extreme_eigenvalues(variable_graphs(space), LogEdgeWeight(), theta)
    spectrum = np.linalg.eigvalsh(brute_force(space, np.exp(theta).tolist(), False))
    assert math.exp(found[1]) == pytest.approx(spectrum[-1], rel=1e-9)
    assert math.exp(found[0]) == pytest.approx(spectrum[0], rel=1e-6, abs=1e-12 * spectrum[-1])


@pytest.mark.parametrize("unit_diagonal", [True, False])
def test_scale_of_edge_weights_is_invisible_to_lengthscales(unit_diagonal):
    plain = bo.Space({"a": bo.Ordinal(range(7)), "b": bo.Ordinal(range(4))})
    scaled = bo.Space({"a": bo.Ordinal(range(7), 1e5), "b": bo.Ordinal(range(4), 1e-5)})
    xs = plain.enumerate()
    kernels = [kernel_of(space, LogLengthscale(), unit_diagonal) for space in (plain, scaled)]
    grams = [kernel.gram(np.array([-1.0, 0.5]), kernel.prepare(xs)) for kernel in kernels]
    np.testing.assert_allclose(grams[0], grams[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("theta", [-12.0, 0.0, math.log(100.0)])
def test_extreme_parameters_give_finite_lawful_matrices(link, theta):
    rng = np.random.default_rng(0)
    kinds = [bo.Binary(), bo.Categorical(range(1000)), bo.Ordinal(range(1000)), bo.Ordinal(range(3), 1e-300)]
    space = bo.Space({f"{i}": kinds[i % 4] for i in range(8)})
    xs = space.sample(12, rng)
    xs[6:] = xs[:6]
    xs[6:, :2] = space.sample(6, rng)[:, :2]
    for unit_diagonal in (True, False):
        kernel = kernel_of(space, link, unit_diagonal)
        point = np.full(space.d, theta)
        gram, pullback = kernel.gram_and_pullback(point, kernel.prepare(xs))
        assert np.all(np.isfinite(gram))
        np.testing.assert_allclose(gram.diagonal(), kernel.diag(point, xs), rtol=1e-10)
        assert np.all(np.isfinite(pullback(rng.normal(size=gram.shape))))
        assert np.linalg.eigvalsh(gram)[0] >= -1e-10 * gram.max()


@pytest.mark.parametrize("with_codes", [True, False])
def test_thousand_variables(with_codes):
    rng = np.random.default_rng(1)
    space = bo.Space({f"{i}": bool if i % 2 else list("pqr") for i in range(1000)})
    xs = space.sample(6, rng)
    xs[1:3] = xs[0]
    xs[1, 0], xs[2, 1] = (xs[0, 0] + 1) % 3, 1 - xs[0, 1]  # one change each
    kernel = kernel_of(space, LogEdgeWeight())
    theta = np.full(1000, math.log(0.3))
    with codes(with_codes):
        gram = kernel.gram(theta, kernel.prepare(xs))
    q = math.exp(-0.9)
    assert gram[0, 1] == pytest.approx((1 - q) / (1 + 2 * q), rel=1e-10)
    assert gram[0, 2] == pytest.approx(math.tanh(0.3), rel=1e-10)
    np.testing.assert_allclose(gram.diagonal(), 1.0, rtol=1e-10)
    differing = np.array([[(a != b).reshape(500, 2).sum(axis=0) for b in xs] for a in xs])
    expected = differing @ np.log([(1 - q) / (1 + 2 * q), math.tanh(0.3)])
    np.testing.assert_allclose(np.log(gram), expected, atol=1e-9)


def test_graph_that_hardly_holds_together_stays_one_graph():
    light = WeightedGraph(4, ((0, 1, 1e6), (1, 2, 1e-12), (2, 3, 1e6)))
    four = np.arange(4)[:, None]
    for link in LINKS:
        kernel = ard_diffusion((light,), PRIOR, link)
        for theta in (-12.0, 0.0, 9.0):
            gram = kernel.gram(np.array([theta]), kernel.prepare(four))
            assert np.all(np.isfinite(gram))
            assert gram[0, 1] == pytest.approx(gram[0, 0], rel=1e-4)
            assert gram[0, 2] <= gram[0, 1]


def test_two_choices_have_one_correlation_however_they_are_joined():
    beta = 0.37
    weight = bo.Space({"x": bo.Ordinal([0, 1])})
    both = np.array([[0], [1]])
    kernel = kernel_of(weight, LogEdgeWeight())
    gram = kernel.gram(np.array([math.log(beta)]), kernel.prepare(both))
    np.testing.assert_allclose(gram, [[1.0, math.tanh(beta)], [math.tanh(beta), 1.0]], atol=1e-14)


def test_a_kernel_that_was_used_can_be_pickled():
    space = bo.Space({"a": bool, "b": bo.Ordinal([1, 2, 3, 4]), "c": ["x", "y", "z"]})
    rng = np.random.default_rng(0)
    xs = space.sample(5, rng)
    for kernel in (kernel_of(space, LogEdgeWeight()), auto(space).surrogate.surrogate.quiet.kernel):
        theta = near_initial(kernel, rng, 1.0)
        moves, _ = space.sample_neighborhoods(xs[:2], 4, rng)
        expected = kernel.gram(theta, kernel.prepare(moves, xs))
        sent = pickle.loads(pickle.dumps(kernel))
        assert np.array_equal(sent.gram(theta, sent.prepare(xs)), kernel.gram(theta, kernel.prepare(xs)))
        assert np.array_equal(sent.gram(theta, sent.prepare(moves, xs)), expected)


@pytest.mark.parametrize("theta", np.linspace(-4.0, -2.0, 101))
def test_the_lengthscale_of_a_path_moves_smoothly_where_the_nome_underflows(theta):
    graph, step = PathGraph(3), 1e-5
    gap, link = float(graph.eigenvalues()[1]), LogLengthscale()
    slope = link.edge_weights(np.array([theta]), gap)[1][0]
    ahead, behind = (math.log(link.edge_weights(np.array([theta + sign * step]), gap)[0][0]) for sign in (1, -1))
    assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-7)


def test_a_variable_in_which_all_points_agree_has_a_line_however_small_its_correlation():
    space = bo.Space({f"x{i}": bool for i in range(3)})
    for n in (2, 100):
        xs = np.zeros((n, 3), dtype=np.int64)
        xs[:, 2] = np.arange(n) % 2
        kernel, theta = kernel_of(space, LogLengthscale()), np.array([-4.0, 0.0, 0.0])
        prepared = kernel.prepare(xs)
        moved = np.array([0.5, 0.0, 0.0])
        line = kernel.line(theta, 0, prepared, kernel.gram(theta, prepared))
        np.testing.assert_allclose(line(0.5), kernel.gram(moved, prepared), rtol=1e-12)


def test_single_changes_serve_as_either_batch():
    space, rng = bo.Space({"a": bool, "b": bo.Integer(0, 5), "c": list("xyz")}), np.random.default_rng(0)
    changes, _ = space.sample_neighborhoods(space.sample(2, rng), 10, rng)
    for kernel in (kernel_of(space, LogLengthscale()), main_effects(space)):
        theta = np.zeros(sum(block.size for block in kernel.parameters))
        expected = kernel.gram(theta, kernel.prepare(changes.rows(), changes.rows()))
        np.testing.assert_allclose(kernel.gram(theta, kernel.prepare(changes, changes)), expected, rtol=1e-12)
        np.testing.assert_allclose(kernel.gram(theta, kernel.prepare(changes.rows(), changes)), expected, rtol=1e-12)
