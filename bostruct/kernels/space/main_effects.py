"""A linear kernel on the choices themselves: functions that are sums of one effect a variable.

K(x, x') = (1/d) sum_i E_i(x_i, x'_i), where E_i is centered, so that effects sum to zero over the choices, and has mean
diagonal 1. On a complete graph E_i = (k [a = b] - 1) / (k - 1); elsewhere it is centered diffusion for a fixed time,
whose effects are smooth along the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray, Parameter
from bostruct.domains.space.graphs import CompleteGraph, VariableGraph
from bostruct.domains.space.single_changes import SingleChanges, SpaceBatch, column
from bostruct.kernels.space.incremental import LastCall, disagreement_change, rows_by_variable
from bostruct.kernels.space.links import LogLengthscale
from bostruct.kernels.space.spectra import diffusion

LENGTHSCALE = 0.5  # of effects along a graph, in units of its length


@lru_cache(maxsize=256)
def centered_effects(graph: VariableGraph) -> Array:
    """Return the effect kernel E between all vertices of a graph (k, k), centered, its mean diagonal 1.

    graph: of one variable, with k vertices.
    """
    k = graph.size
    if isinstance(graph, CompleteGraph):
        return (k * np.eye(k) - 1.0) / (k - 1.0)
    own = np.arange(k)
    between = diffusion(graph, LogLengthscale().beta(math.log(LENGTHSCALE), graph)[0], own, own).between
    centered = between - between.mean(axis=0) - between.mean(axis=1)[:, None] + between.mean()
    return centered * (k / np.trace(centered))


@dataclass(frozen=True)
class MainEffects:
    """A linear kernel on choices: functions that are sums of one effect a variable.

    It has no parameters: its Gram matrix is made once, by `prepare`.

    graphs: one for each variable, d of them.
    """

    graphs: tuple[VariableGraph, ...]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return ()

    def prepare(self, xs: SpaceBatch, ys: IntArray) -> Array:
        """Return the Gram matrix itself (n, m).

        xs: n points, or single changes of points.
        ys: m points.
        """
        if isinstance(xs, SingleChanges):
            return self._prepare_changes(xs, ys)
        gram = np.zeros((len(xs), len(ys)))
        signs = [i for i, graph in enumerate(self.graphs) if graph.size == 2]
        if signs:  # of two choices every effect is a sign: one product serves all
            gram += (2.0 * xs[:, signs] - 1.0) @ (2.0 * ys[:, signs] - 1.0).T
        for i in self._others:
            gram += centered_effects(self.graphs[i])[xs[:, i]][:, ys[:, i]]
        return gram / len(self.graphs)

    def _prepare_changes(self, moves: SingleChanges, ys: IntArray) -> Array:
        """Return the Gram matrix of single changes from that of their base: in each row one effect is another."""
        change = disagreement_change(moves, ys) * self._step[moves.which][:, None]
        others = np.flatnonzero(self._on_path[moves.which])
        for i, found in rows_by_variable(moves.which[others]):
            rows, effects = others[found], centered_effects(self.graphs[i])
            theirs = ys[:, i]
            before = effects[moves.base[moves.of[rows], i][:, None], theirs]
            change[rows] = effects[moves.vertices[rows][:, None], theirs] - before
        change /= len(self.graphs)
        change += self._bases(moves.base, ys)[moves.of]
        return change

    def gram(self, theta: Array, prepared: Array) -> Array:
        del theta  # there is none
        return prepared.copy()

    def diag(self, theta: Array, xs: SpaceBatch) -> Array:
        """Return k(x, x) of each point (n,).

        theta: unused; there are no parameters.
        xs: n points.
        """
        del theta
        total = np.full(len(xs), float(len(self.graphs) - len(self._paths)))  # on complete graphs each is 1
        for i in self._paths:
            total += centered_effects(self.graphs[i]).diagonal()[column(xs, i)]
        return total / len(self.graphs)

    def gram_and_pullback(self, theta: Array, prepared: Array) -> tuple[Array, Callable[[Array], Array]]:
        return self.gram(theta, prepared), lambda _: np.zeros(0)

    @cached_property
    def _bases(self) -> LastCall[Array]:
        return LastCall(self.prepare)

    @cached_property
    def _on_path(self) -> npt.NDArray[np.bool_]:
        return np.isin(np.arange(len(self.graphs)), self._paths)

    @cached_property
    def _step(self) -> Array:
        """The change of a complete graph's effect when two choices that agreed no longer do, (d,)."""
        return np.array([-graph.size / (graph.size - 1.0) for graph in self.graphs])

    @cached_property
    def _paths(self) -> list[int]:
        """Variables on graphs that are not complete."""
        return [i for i, graph in enumerate(self.graphs) if not isinstance(graph, CompleteGraph)]

    @cached_property
    def _others(self) -> list[int]:
        return [i for i, graph in enumerate(self.graphs) if graph.size != 2]
