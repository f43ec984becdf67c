"""The eigensystem of a graph's Laplacian, and functions of it: U diag(w) U^T for eigenvectors U and weights w."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from bostruct.contracts import Array, IntArray


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
        """Return the entries between some vertices (c, u, v)."""
        apart, across = _wave_cells(left, right, self.waves.shape[1])
        return self.waves.take(apart, axis=1) + self.waves.take(across, axis=1)

    def diagonal(self, vertices: IntArray) -> Array:
        """Return the diagonals at some vertices (c, u)."""
        return self.waves[:, :1] + self.waves[:, (2 * vertices + 1) % self.waves.shape[1]]


def _wave_cells(left: IntArray, right: IntArray, n: int) -> tuple[IntArray, IntArray]:
    return np.abs(left[:, None] - right), (left[:, None] + right + 1) % n


@lru_cache(maxsize=64)
def _path_cells(k: int) -> tuple[IntArray, IntArray]:
    """Return the cells of a whole path, for callers that only read them."""
    return _wave_cells(np.arange(k), np.arange(k), 2 * k)


@dataclass(frozen=True)
class PathSpectrum:
    """The spectrum of a path of some size, whose edges have one weight, in closed form."""

    size: int
    weight: float

    @property
    def values(self) -> Array:
        """The eigenvalues, ascending (k,)."""
        return self._values

    @cached_property
    def _values(self) -> Array:
        return self.weight * (2.0 - 2.0 * np.cos(np.pi * np.arange(self.size) / self.size))

    @property
    def vectors(self) -> Array:
        """The eigenvectors (k, k), columns: cosines."""
        waves = np.cos(np.pi * np.outer(np.arange(self.size) + 0.5, np.arange(self.size)) / self.size)
        return waves / np.linalg.norm(waves, axis=0)

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
        """Return the entries between some vertices (c, u, v)."""
        return (self.vectors[left] * self.weights[:, None, :]) @ self.vectors[right].T

    def diagonal(self, vertices: IntArray) -> Array:
        """Return the diagonals at some vertices (c, u)."""
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
