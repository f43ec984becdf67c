"""Graphs of the choices of one variable: complete, a path, or any connected weighted graph.

Vertices are 0 .. size - 1. Graphs are values: equal graphs share the cached eigensystem of their Laplacian, and its
functions, U diag(w) U^T for eigenvectors U and weights w. Users pass the graph of some items as a networkx graph, or as
a list of edges.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from bostruct.checks import check_number, short_repr
from bostruct.contracts import Array, DomainError, IntArray, PointError

MAX_CHOICES = 1000
MIN_WEIGHT, MAX_WEIGHT = 1e-300, 1e300  # of an edge, so that sums of weights are finite
EDGE_WEIGHTS = f"edge weights from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}"
DYADIC_STEPS = 24
FACTOR_BITS = 40  # binary places to which factors between integers are rounded, so that factors such as 64 are exact


class VariableGraph(ABC):
    """The connected, undirected graph of the choices of a variable. Equal graphs compare equal.

    Attributes
    ----------
    size : int
        Number of vertices, at least 2.
    is_complete : bool
        Whether all vertices are known to be adjacent, with edges of weight 1.
    is_path : bool
        Whether vertices are known to be in a row, each adjacent to the next.
    """

    size: int
    is_complete: ClassVar[bool] = False
    is_path: ClassVar[bool] = False

    @abstractmethod
    def neighbors(self, vertex: int) -> IntArray:
        """Return the adjacent vertices, ascending.

        Parameters
        ----------
        vertex : int
            A vertex, 0 to size - 1.
        """

    def laplacian(self) -> Array:
        """Return the Laplacian (size, size), the degree matrix minus the weighted adjacency matrix.

        Edges have weight 1 by default.

        Raises
        ------
        DomainError
            If there are too many vertices for a matrix.
        """
        if self.size > MAX_CHOICES:
            raise DomainError("a graph of so many vertices has no Laplacian")
        matrix = np.zeros((self.size, self.size))
        for vertex in range(self.size):
            matrix[vertex, self.neighbors(vertex)] = -1.0
        np.fill_diagonal(matrix, -matrix.sum(axis=1))
        return matrix

    def spectrum(self) -> Spectrum:
        """Return the eigensystem of the Laplacian, computed once for equal graphs."""
        return _decompose_laplacian(self)

    def eigenvalues(self) -> Array:
        """Return the eigenvalues of the Laplacian, ascending (size,)."""
        return self.spectrum().values

    def with_large_steps(self) -> VariableGraph:
        """Return the graph with additional long steps along an order; the graph itself if it has no order."""
        return self


@lru_cache(maxsize=256)
def _decompose_laplacian(graph: VariableGraph) -> DenseSpectrum:
    values, vectors = np.linalg.eigh(graph.laplacian())
    values[0] = 0.0  # exactly, and only this one: the graph is connected, even if by edges of tiny weights
    values[1:] = np.maximum(values[1:], graph.size * np.finfo(np.float64).eps * values[-1])
    return DenseSpectrum(values, vectors)


@dataclass(frozen=True)
class CompleteGraph(VariableGraph):
    """A graph in which every choice is one change from every other, with edge weight 1.

    size: number of vertices, at least 1.
    """

    size: int
    is_complete = True

    def neighbors(self, vertex: int) -> IntArray:
        return np.delete(np.arange(self.size), vertex)

    def laplacian(self) -> Array:
        if self.size > MAX_CHOICES:
            return super().laplacian()  # raises DomainError
        return self.size * np.eye(self.size) - 1.0

    def eigenvalues(self) -> Array:
        return np.concatenate([[0.0], np.full(self.size - 1, float(self.size))])


@dataclass(frozen=True)
class PathGraph(VariableGraph):
    """A graph of choices in a row: a step up or down is one change.

    size: number of vertices, at least 2.
    weight: weight of every edge, > 0.
    """

    size: int
    weight: float = 1.0
    is_path = True

    def neighbors(self, vertex: int) -> IntArray:
        return np.array([v for v in (vertex - 1, vertex + 1) if 0 <= v < self.size], dtype=np.int64)

    def laplacian(self) -> Array:
        off = np.full(self.size - 1, -self.weight)
        degree = np.zeros(self.size)
        degree[1:] -= off
        degree[:-1] -= off
        return np.diag(degree) + np.diag(off, 1) + np.diag(off, -1)

    def spectrum(self) -> PathSpectrum:
        return PathSpectrum(self.size, self.weight)

    def with_large_steps(self) -> VariableGraph:
        """Return the graph of steps of half the vertices, a quarter and so on."""
        return DyadicGraph(self.size)


@dataclass(frozen=True)
class DyadicGraph(VariableGraph):
    """Numbers in a row, too many for single steps: a step of half of them, a quarter and so on is one change.

    size: number of vertices, at least 2.
    halvings: the most halvings of the size; with as many as the size has binary digits, the last step is 1.
    """

    size: int
    halvings: int = DYADIC_STEPS

    def neighbors(self, vertex: int) -> IntArray:
        around = vertex + self._steps
        return around[(around >= 0) & (around < self.size)]

    @cached_property
    def _steps(self) -> IntArray:
        """The steps down and up, ascending."""
        halves = np.array([self.size >> k for k in range(1, self.halvings + 1) if self.size >> k], dtype=np.int64)
        return np.concatenate([-halves, halves[::-1]])


@dataclass(frozen=True)
class GeometricGraph(VariableGraph):
    """The integers from low to high on a logarithmic scale; vertex v is low + v.

    Two integers are one change apart if they differ by a power of 2, or if one is the other times (high / low)^(1/2),
    ^(1/4), ..., rounded down. By factors alone, few integers would have a far smaller neighbor.

    low, high: int, 1 <= low < high.
    """

    low: int
    high: int

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.high - self.low + 1

    def neighbors(self, vertex: int) -> IntArray:
        value = self.low + int(vertex)
        around = {value + sign * (1 << k) for k in range(self.size.bit_length()) for sign in (-1, 1)}
        for factor in self._factors:
            around.add(value * factor >> FACTOR_BITS)
            below = -((-value << FACTOR_BITS) // factor)  # the only integer that this factor may take to the value
            if below * factor >> FACTOR_BITS == value:
                around.add(below)
        around.discard(value)
        return np.array(sorted(v for v in around if self.low <= v <= self.high), dtype=np.int64) - self.low

    @cached_property
    def _factors(self) -> list[int]:
        """The factors, in units of 2^-40, as integers: products of them are exact."""
        ratio = math.log(self.high / self.low)
        factors = [round(math.exp(ratio / 2.0**k) * 2**FACTOR_BITS) for k in range(1, DYADIC_STEPS + 1)]
        return [one for one in factors if self.high * one >> FACTOR_BITS > self.high]


@dataclass(frozen=True)
class WeightedGraph(VariableGraph):
    """A connected, undirected graph with weighted edges.

    Parameters
    ----------
    size : int
        Number of vertices, at least 2.
    edges : tuple of tuple of (int, int, float)
        The edges (smaller vertex, larger vertex, weight > 0), sorted, each once.
    """

    size: int
    edges: tuple[tuple[int, int, float], ...]

    def neighbors(self, vertex: int) -> IntArray:
        return np.array(self._adjacent[vertex], dtype=np.int64)

    def laplacian(self) -> Array:
        matrix = np.zeros((self.size, self.size))
        for a, b, weight in self.edges:
            matrix[a, b] = matrix[b, a] = -weight
        np.fill_diagonal(matrix, -matrix.sum(axis=1))
        return matrix

    @cached_property
    def _adjacent(self) -> list[list[int]]:
        lists: list[list[int]] = [[] for _ in range(self.size)]
        for a, b, _ in self.edges:
            lists[a].append(b)
            lists[b].append(a)
        return [sorted(vertices) for vertices in lists]


def weighted_graph(graph: object) -> tuple[tuple[Hashable, ...], WeightedGraph]:
    """Return the nodes of a networkx graph, in its order, and the graph over their positions.

    graph: `networkx.Graph`; the edge attribute `weight` is used, 1 if absent.

    Raises DomainError for a directed, multi- or disconnected graph, self loops, and weights that are not positive and
    finite.
    """
    import networkx as nx  # here, because it takes longer to import than the rest of the package

    if not isinstance(graph, nx.Graph):
        raise DomainError(f"Graph: expected a networkx graph, got {short_repr(graph)}")
    if graph.is_directed() or graph.is_multigraph():
        raise DomainError(f"Graph: expected an undirected simple networkx graph, got {type(graph).__name__}")
    nodes = tuple(graph.nodes)
    if not 2 <= len(nodes) <= MAX_CHOICES:
        raise DomainError(f"Graph: expected 2 to {MAX_CHOICES} nodes, got {len(nodes)}")
    if not nx.is_connected(graph):
        parts = [sorted(map(str, part))[:5] for part in nx.connected_components(graph)]
        raise DomainError(
            f"Graph: expected a connected graph, got {len(parts)} parts, such as {parts[0]} and {parts[1]}"
        )
    position = {node: index for index, node in enumerate(nodes)}
    edges = [
        normalized_edge(position[a], position[b], weight) for a, b, weight in graph.edges(data="weight", default=1.0)
    ]
    return nodes, WeightedGraph(len(nodes), tuple(sorted(edges)))


def normalized_edge(a: int, b: int, weight: float) -> tuple[int, int, float]:
    """Return an edge in the form of `WeightedGraph`; raises DomainError for a loop or an invalid weight.

    weight: float from 1e-300 to 1e300.
    """
    if a == b:
        raise DomainError(f"Graph: expected no self loops, got one at node number {a}")
    try:
        check_number("weight", weight, MIN_WEIGHT, MAX_WEIGHT)
    except (TypeError, ValueError) as error:
        raise DomainError(
            f"Graph: expected {EDGE_WEIGHTS}, got {short_repr(weight)} between nodes number {a} and {b}"
        ) from error
    return (min(a, b), max(a, b), float(weight))


def weighted_graph_from_json(size: int, edges: Sequence[Sequence[float]]) -> WeightedGraph:
    """Rebuild a graph from its number of vertices and its edges.

    size: number of vertices.
    edges: (vertex, vertex, weight > 0).

    Raises DomainError for a loop, an unknown vertex, or a weight that is not positive.
    """
    for edge in edges:
        if not all(0 <= vertex < size for vertex in edge[:2]):
            raise DomainError(f"edges: expected vertices from 0 to {size - 1}, got {short_repr(edge)}")
    return WeightedGraph(size, tuple(sorted(normalized_edge(int(a), int(b), w) for a, b, w in edges)))


def read_item_graph(kind: str, graph: object, items: Sequence[Any], find: Callable[[Any], int]) -> WeightedGraph:
    """Return the graph over the positions of items; raise DomainError unless it connects all of them.

    graph: `networkx.Graph` of items, whose edge attribute `weight` is used, 1 if absent; or a list of edges
        (item, item) or (item, item, weight).
    """
    edges: dict[tuple[int, int], float] = {}
    for given in _list_edges(kind, graph):
        a, b = (_find_item(kind, end, find) for end in given[:2])
        raw_weight = given[2] if len(given) == 3 else 1.0
        if a == b:
            raise DomainError(f"{kind}: graph: expected no self loops, got {_name_pair(items, a, b)}")
        try:
            first, second, weight = normalized_edge(a, b, raw_weight)
        except DomainError:
            raise DomainError(
                f"{kind}: graph: expected {EDGE_WEIGHTS}, got {short_repr(raw_weight)} for {_name_pair(items, a, b)}"
            ) from None
        if (first, second) in edges:
            raise DomainError(
                f"{kind}: graph: expected each edge once, got {_name_pair(items, first, second)} more than once"
            )
        edges[first, second] = weight
    found = WeightedGraph(len(items), tuple((a, b, weight) for (a, b), weight in sorted(edges.items())))
    parts = _split_components(found)
    if len(parts) > 1:
        some = " and ".join(short_repr([items[i] for i in part[:5]]) for part in parts[:2])
        raise DomainError(
            f"{kind}: graph: expected edges that connect all items, so that exchanges reach each subset; got "
            f"{len(parts)} parts, such as {some}"
        )
    return found


def _list_edges(kind: str, graph: Any) -> list[tuple[Any, ...]]:
    if isinstance(graph, list | tuple | set | frozenset):
        for edge in graph:
            if not isinstance(edge, list | tuple) or len(edge) not in (2, 3):
                raise DomainError(f"{kind}: graph: expected edges (item, item), got {short_repr(edge)}")
        return [tuple(edge) for edge in graph]
    import networkx as nx  # here, because it takes longer to import than the rest of the package

    if not isinstance(graph, nx.Graph) or graph.is_directed() or graph.is_multigraph():
        raise DomainError(
            f"{kind}: graph: expected an undirected simple networkx graph or a list of edges between items, "
            f"got {short_repr(graph)}"
        )
    return list(graph.edges(data="weight", default=1.0))


def _find_item(kind: str, end: Any, find: Callable[[Any], int]) -> int:
    try:
        return find(end)
    except PointError as error:
        raise DomainError(f"{kind}: graph: an edge ends at an unknown item: {error}") from None


def _name_pair(items: Sequence[Any], a: int, b: int) -> str:
    return f"{short_repr(items[a])} to {short_repr(items[b])}"


def _split_components(graph: WeightedGraph) -> list[list[int]]:
    """Return the connected components, each as its vertices in order."""
    left, parts = set(range(graph.size)), list[list[int]]()
    while left:
        part, queue = set[int](), [min(left)]
        while queue:
            vertex = queue.pop()
            if vertex not in part:
                part.add(vertex)
                queue += graph.neighbors(vertex).tolist()
        parts.append(sorted(part))
        left -= part
    return parts


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
    """Return the cells of a whole path; callers must not change them."""
    return _wave_cells(np.arange(k), np.arange(k), 2 * k)


@dataclass(frozen=True)
class PathSpectrum:
    """The spectrum of a path, whose edges have equal weights, in closed form."""

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
    """Diffusion on any graph.

    vectors: eigenvectors (k, k), columns.
    weights: (c, k).
    """

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
    """The spectrum of any graph.

    values: eigenvalues, ascending (k,).
    vectors: eigenvectors (k, k), columns.
    """

    values: Array
    vectors: Array

    def diffuse(self, weights: Array) -> WeightedVectors:
        """Return the matrices U diag(w) U^T.

        weights: one row w for each variable (c, k).
        """
        return WeightedVectors(self.vectors, weights)


Diffusion: TypeAlias = Waves | WeightedVectors  # U diag(w) U^T of c variables, for the eigenvectors U
Spectrum: TypeAlias = PathSpectrum | DenseSpectrum  # the eigensystem of a graph's Laplacian, with k vertices
