"""Diffusion on the graph of one variable.

F(beta) = exp(-beta L) / mean of its diagonal, for the Laplacian L of the graph (Kondor and Lafferty 2002; Oh et al.
2019, equation 3). Entries are kept as logarithms, since products over hundreds of variables underflow.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.graphs import CompleteGraph, PathGraph, VariableGraph

SMALLEST_ENTRY = 1e-130  # entries below are rounding noise of the eigensystem; their logarithm must stay finite


def complete_log_correlation(size: Array, beta: Array) -> Array:
    """Return log F(a, b) for a != b on complete graphs, whose diagonal is exactly 1; elementwise.

    size: numbers of vertices.
    beta: edge weights, of the same shape.

    F = (1 - q) / (1 + (size - 1) q) with q = exp(-size beta).
    """
    return np.log(-np.expm1(-size * beta)) - np.log1p((size - 1.0) * np.exp(-size * beta))


def complete_slope(size: Array, beta: Array) -> Array:
    """Return the derivative of `complete_log_correlation` in log beta, elementwise.

    size: numbers of vertices.
    beta: edge weights, of the same shape.
    """
    q = np.exp(-size * beta)
    return beta * size * q * (-1.0 / np.expm1(-size * beta) + (size - 1.0) / (1.0 + (size - 1.0) * q))


class Eigensystem(NamedTuple):
    """Eigenvalues ascending (k,), the first 0; eigenvectors as columns (k, k)."""

    values: Array
    vectors: Array


@lru_cache(maxsize=256)
def eigenvalues(graph: VariableGraph) -> Array:
    """Return the eigenvalues of a graph's Laplacian, ascending (k,).

    graph: of one variable, with k vertices.
    """
    k = graph.size
    if isinstance(graph, CompleteGraph):
        return np.concatenate([[0.0], np.full(k - 1, float(k))])
    if isinstance(graph, PathGraph):
        return graph.weight * (2.0 - 2.0 * np.cos(np.pi * np.arange(k) / k))
    return eigensystem(graph).values


@lru_cache(maxsize=256)
def eigensystem(graph: VariableGraph) -> Eigensystem:
    values, vectors = np.linalg.eigh(graph.laplacian())
    values[0] = 0.0  # exactly, and it alone: the graph is connected, however light the edges that connect it
    values[1:] = np.maximum(values[1:], graph.size * np.finfo(np.float64).eps * values[-1])
    return Eigensystem(values, vectors)


class DiffusionTable(NamedTuple):
    """F between some vertices (u, v), and its diagonal at both, (u,) and (v,)."""

    between: Array
    left: Array
    right: Array


def diffusion(graph: VariableGraph, beta: float, left: IntArray, right: IntArray) -> DiffusionTable:
    """Return F(beta) between some vertices.

    graph: of one variable.
    beta: edge weight.
    left, right: vertices (u,) and (v,).
    """
    if isinstance(graph, PathGraph):
        return _on_path(_path_waves(graph, beta), left, right)
    return _spectral(graph, _decay_spectrum(graph, beta), left, right)


def _decay_spectrum(graph: VariableGraph, beta: float) -> Array:
    """Return the eigenvalues of F(beta) (k,)."""
    decay = np.exp(-beta * eigenvalues(graph))
    return decay / decay.mean()


@lru_cache(maxsize=1024)
def _path_waves(graph: PathGraph, beta: float) -> Array:
    """Return cached waves of a path, for callers that only read them: a search asks for the same ones at every step."""
    return _waves(_decay_spectrum(graph, beta))


def _waves(weights: Array) -> Array:
    """Return the sums of weighted cosines of which F on a path is made (2 k,)."""
    return np.fft.irfft(np.append(weights, 0.0), n=2 * len(weights))


def _on_path(waves: Array, left: IntArray, right: IntArray) -> DiffusionTable:
    """Return F on a path: its eigenvectors are cosines, which makes F a Toeplitz plus a Hankel matrix."""
    between = waves[np.abs(left[:, None] - right)] + waves[(left[:, None] + right + 1) % len(waves)]
    return DiffusionTable(between, *(waves[0] + waves[(2 * v + 1) % len(waves)] for v in (left, right)))


def diffusion_and_slope(
    graph: VariableGraph, beta: float, left: IntArray, right: IntArray
) -> tuple[DiffusionTable, DiffusionTable]:
    """Return F(beta) between some vertices, and its derivative in log beta.

    graph: of one variable.
    beta: edge weight.
    left, right: vertices (u,) and (v,).
    """
    values = eigenvalues(graph)
    decay = np.exp(-beta * values)
    mean = decay.mean()
    change = -beta * values * decay
    slope = (change - decay * (change.mean() / mean)) / mean
    return _spectral(graph, decay / mean, left, right), _spectral(graph, slope, left, right)


def _spectral(graph: VariableGraph, weights: Array, left: IntArray, right: IntArray) -> DiffusionTable:
    """Return U diag(weights) U^T between some vertices, for the eigenvectors U of the Laplacian."""
    if isinstance(graph, PathGraph):
        return _on_path(_waves(weights), left, right)
    vectors = eigensystem(graph).vectors
    between = (vectors[left] * weights) @ vectors[right].T
    return DiffusionTable(between, *((vectors[v] ** 2) @ weights for v in (left, right)))
