"""The ARD diffusion kernel on a graph Cartesian product (COMBO; Oh et al. 2019, section 2.2 and equation 3).

It is the product kernel of a space whose variables all stand on graphs: complete graphs in closed form and all
together, other graphs by tables, equal graphs together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bostruct.contracts import Array, Prior
from bostruct.domains.space.graphs import CompleteGraph, VariableGraph
from bostruct.kernels.space.complete import CompleteFactor
from bostruct.kernels.space.factor import Factor
from bostruct.kernels.space.links import Link
from bostruct.kernels.space.product import PlacedFactor, SpaceKernel
from bostruct.kernels.space.spectra import eigenvalues
from bostruct.kernels.space.tables import MAX_WHOLE_TABLE, TableFactor


class FactorSettings(NamedTuple):
    """The choices that all factors of a space share.

    link: the meaning of theta, for variables on graphs.
    unit_diagonal: True to scale kernels to k(a, a) = 1; else the mean of their diagonal is 1, as published.
    """

    link: Link
    unit_diagonal: bool


def graph_factors(graphs: Sequence[VariableGraph], settings: FactorSettings) -> list[tuple[Factor, tuple[int, ...]]]:
    """Build the factors of variables on graphs, and tell which of the graphs each serves.

    graphs: one for each variable.
    settings: that they share.
    """
    complete = tuple(i for i, graph in enumerate(graphs) if isinstance(graph, CompleteGraph))
    found: list[tuple[Factor, tuple[int, ...]]] = []
    if complete:
        found.append((CompleteFactor(tuple(graphs[i].size for i in complete), settings.link), complete))
    equal: dict[VariableGraph | int, list[int]] = {}
    for i, graph in enumerate(graphs):
        if not isinstance(graph, CompleteGraph):
            equal.setdefault(graph if graph.size <= MAX_WHOLE_TABLE else i, []).append(i)
    for served in equal.values():
        factor = TableFactor(graphs[served[0]], len(served), settings.link, settings.unit_diagonal)
        found.append((factor, tuple(served)))
    return found


def ard_diffusion(
    graphs: Sequence[VariableGraph], prior: Prior, link: Link, initial: float = 0.0, unit_diagonal: bool = False
) -> SpaceKernel:
    """Build the ARD diffusion kernel (Oh et al. 2019, equation 3) on points with one column for each graph.

    graphs: one for each variable, d of them.
    prior: of each theta_i.
    link: the meaning of theta: `LogEdgeWeight` as published, or `LogLengthscale`.
    initial: theta_i at first.
    unit_diagonal: scale the kernels of graphs that are not complete to be correlations, as those of complete graphs
        are; else the mean of their diagonal is 1, as published.
    """
    factors = graph_factors(graphs, FactorSettings(link, unit_diagonal))
    return SpaceKernel(tuple(PlacedFactor(factor, own, own) for factor, own in factors), link.name, prior, initial)


def extreme_eigenvalues(graphs: Sequence[VariableGraph], link: Link, theta: Array) -> tuple[float, float]:
    """Return the logarithms of the diffusion kernel's smallest and largest eigenvalue on all points.

    graphs: one for each variable, d of them.
    link: the meaning of theta.
    theta: (d,).
    """
    low = high = 0.0
    for graph, t in zip(graphs, theta, strict=True):
        values = eigenvalues(graph)
        beta = float(link.edge_weights(np.array([t]), float(values[1]))[0][0])
        log_mean = math.log(np.mean(np.exp(-beta * values)))
        low += -beta * float(values[-1]) - log_mean
        high += -beta * float(values[0]) - log_mean
    return low, high
