"""Eigensystems of graphs: those in closed form are those of the Laplacian."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bostruct.domains.space.graphs import (
    CompleteGraph,
    DyadicGraph,
    PathGraph,
    PathSpectrum,
    VariableGraph,
    WeightedGraph,
)

GRAPHS = [
    CompleteGraph(5),
    PathGraph(2),
    PathGraph(7, 0.3),
    DyadicGraph(9),
    WeightedGraph(4, ((0, 1, 2.0), (0, 2, 0.5), (2, 3, 1.0))),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
def test_a_spectrum_is_that_of_the_laplacian(graph: VariableGraph):
    spectrum, vertices = graph.spectrum(), np.arange(graph.size)
    assert_allclose(graph.eigenvalues(), np.linalg.eigvalsh(graph.laplacian()), atol=1e-12)
    assert_allclose(spectrum.values, graph.eigenvalues(), atol=1e-12)
    assert_allclose((spectrum.vectors * spectrum.values) @ spectrum.vectors.T, graph.laplacian(), atol=1e-12)
    found = spectrum.diffuse(np.exp(-spectrum.values)[None])
    expected = (spectrum.vectors * np.exp(-spectrum.values)) @ spectrum.vectors.T
    assert_allclose(found.whole()[0], expected, atol=1e-12)
    assert_allclose(found.between(vertices[1:], vertices[:1])[0], expected[1:, :1], atol=1e-12)
    assert_allclose(found.diagonal(vertices)[0], expected.diagonal(), atol=1e-12)


def test_equal_graphs_share_their_spectrum():
    one, other = (WeightedGraph(3, ((0, 1, 1.0), (1, 2, weight))) for weight in (0.7, 0.7))
    assert one.spectrum() is other.spectrum()
    assert PathGraph(4).spectrum() == PathSpectrum(4, 1.0)
