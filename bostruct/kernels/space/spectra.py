"""Diffusion on the graph of one variable.

F(beta) = exp(-beta L) / mean of its diagonal, for the Laplacian L of the graph (Kondor and Lafferty 2002; Oh et al.
2019, equation 3). Variables on equal graphs share one spectrum, and their diffusion is computed together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from bostruct.contracts import Array, IntArray
from bostruct.domains.space.graphs import CompleteGraph, PathGraph, VariableGraph

LARGEST_EXPONENT = 700.0  # of a number that exp can still make
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


def heat_weights(values: Array, beta: Array) -> Array:
    """Return the eigenvalues of F(beta) (c, k).

    values: eigenvalues of the Laplacian (k,).
    beta: edge weights (c,).
    """
    decay = np.exp(-beta[:, None] * values)
    decay /= np.add.reduce(decay, axis=1, keepdims=True) / len(values)
    return decay


def heat_slopes(values: Array, beta: Array) -> Array:
    """Return the derivatives of `heat_weights` in log beta (c, k).

    values: eigenvalues of the Laplacian (k,).
    beta: edge weights (c,).
    """
    weights = heat_weights(values, beta)
    change = -beta[:, None] * values * weights
    return change - weights * change.mean(axis=1, keepdims=True)


class Waves(NamedTuple):
    """Diffusion on a path: its eigenvectors are cosines, which makes F a Toeplitz plus a Hankel matrix.

    waves: sums of weighted cosines (c, 2 k).
    """

    waves: Array

    def whole(self) -> Array:
        """Return all entries (c, k, k)."""
        apart, across = _path_cells(self.waves.shape[1] // 2)
        return self.waves.take(apart, axis=1) + self.waves.take(across, axis=1)

    def between(self, left: IntArray, right: IntArray) -> Array:
        """Return the entries between some vertices (c, u, v).

        left, right: vertices (u,) and (v,).
        """
        apart, across = _wave_cells(left, right, self.waves.shape[1])
        return self.waves.take(apart, axis=1) + self.waves.take(across, axis=1)

    def diagonal(self, vertices: IntArray) -> Array:
        """Return the diagonals at some vertices (c, u).

        vertices: (u,).
        """
        return self.waves[:, :1] + self.waves[:, (2 * vertices + 1) % self.waves.shape[1]]


def _wave_cells(left: IntArray, right: IntArray, n: int) -> tuple[IntArray, IntArray]:
    return np.abs(left[:, None] - right), (left[:, None] + right + 1) % n


@lru_cache(maxsize=64)
def _path_cells(k: int) -> tuple[IntArray, IntArray]:
    """Return the cells of a whole path, for callers that only read them."""
    return _wave_cells(np.arange(k), np.arange(k), 2 * k)


@dataclass(frozen=True)
class PathSpectrum:
    """The spectrum of a path, in closed form.

    graph: the path.
    """

    graph: PathGraph

    @property
    def values(self) -> Array:
        """The eigenvalues, ascending (k,)."""
        return self._values

    @cached_property
    def _values(self) -> Array:
        k = self.graph.size
        return self.graph.weight * (2.0 - 2.0 * np.cos(np.pi * np.arange(k) / k))

    def diffuse(self, weights: Array) -> Waves:
        """Return the matrices U diag(w) U^T.

        weights: one row w for each variable (c, k).
        """
        padded = np.concatenate([weights, np.zeros((len(weights), 1))], axis=1)
        return Waves(np.fft.irfft(padded, n=2 * weights.shape[1], axis=1))


class WeightedVectors(NamedTuple):
    """Diffusion on any graph. vectors: eigenvectors (k, k), columns. weights: (c, k)."""

    vectors: Array
    weights: Array

    def whole(self) -> Array:
        """Return all entries (c, k, k)."""
        return (self.vectors * self.weights[:, None, :]) @ self.vectors.T

    def between(self, left: IntArray, right: IntArray) -> Array:
        """Return the entries between some vertices (c, u, v).

        left, right: vertices (u,) and (v,).
        """
        return (self.vectors[left] * self.weights[:, None, :]) @ self.vectors[right].T

    def diagonal(self, vertices: IntArray) -> Array:
        """Return the diagonals at some vertices (c, u).

        vertices: (u,).
        """
        return self.weights @ (self.vectors[vertices] ** 2).T


@dataclass(frozen=True, eq=False)
class DenseSpectrum:
    """The spectrum of any graph. values: ascending (k,). vectors: (k, k), columns."""

    values: Array
    vectors: Array

    def diffuse(self, weights: Array) -> WeightedVectors:
        """Return the matrices U diag(w) U^T.

        weights: one row w for each variable (c, k).
        """
        return WeightedVectors(self.vectors, weights)


Diffusion: TypeAlias = Waves | WeightedVectors  # U diag(w) U^T of c variables, for the eigenvectors U
Spectrum: TypeAlias = PathSpectrum | DenseSpectrum  # the eigensystem of a graph's Laplacian, with k vertices


@lru_cache(maxsize=256)
def spectrum_of(graph: VariableGraph) -> Spectrum:
    """Return the spectrum of a graph's Laplacian, once for equal graphs.

    graph: of one variable. Its hash may be slow, so a kernel asks once.
    """
    if isinstance(graph, PathGraph):
        return PathSpectrum(graph)
    values, vectors = np.linalg.eigh(graph.laplacian())
    values[0] = 0.0  # exactly, and it alone: the graph is connected, however light the edges that connect it
    values[1:] = np.maximum(values[1:], graph.size * np.finfo(np.float64).eps * values[-1])
    return DenseSpectrum(values, vectors)


def eigenvalues(graph: VariableGraph) -> Array:
    """Return the eigenvalues of a graph's Laplacian, ascending (k,).

    graph: of one variable, with k vertices.
    """
    if isinstance(graph, CompleteGraph):
        return np.concatenate([[0.0], np.full(graph.size - 1, float(graph.size))])
    return spectrum_of(graph).values


class DiffusionTable(NamedTuple):
    """F between some vertices of one graph, left and right.

    between: F between the vertices (u, v).
    left, right: the diagonal of F at either (u,) and (v,).
    """

    between: Array
    left: Array
    right: Array


def diffusion(graph: VariableGraph, beta: float, left: IntArray, right: IntArray) -> DiffusionTable:
    """Return F(beta) between some vertices of one graph.

    graph: of one variable.
    beta: edge weight.
    left, right: vertices (u,) and (v,).
    """
    return diffusion_and_slope(graph, beta, left, right)[0]


def diffusion_and_slope(
    graph: VariableGraph, beta: float, left: IntArray, right: IntArray
) -> tuple[DiffusionTable, DiffusionTable]:
    """Return F(beta) between some vertices of one graph, and its derivative in log beta.

    graph: of one variable.
    beta: edge weight.
    left, right: vertices (u,) and (v,).
    """
    spectrum = spectrum_of(graph)
    own, slope = (spectrum.diffuse(of(spectrum.values, np.array([beta]))) for of in (heat_weights, heat_slopes))
    return _table(own, left, right), _table(slope, left, right)


def _table(own: Diffusion, left: IntArray, right: IntArray) -> DiffusionTable:
    return DiffusionTable(own.between(left, right)[0], own.diagonal(left)[0], own.diagonal(right)[0])
