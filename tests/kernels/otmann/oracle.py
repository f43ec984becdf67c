"""OTMANN by other routes than the package's: the whole program as a linear one, and path lengths path by path."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from bostruct.contracts import Array
from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.otmann.distance import layer_masses, path_lengths
from bostruct.kernels.otmann.settings import Otmann


def matching_costs(a: Architecture, b: Architecture, settings: Otmann, weight: float) -> Array:
    """Cost of matching a unit of mass of each pair of layers; inf where it is forbidden."""
    table = settings.costs(a.family)
    labels, labels2 = ([x.family.index[layer.label] for layer in x.layers] for x in (a, b))
    far = np.abs(path_lengths(a)[:, None] - path_lengths(b)[None]).mean(axis=(2, 3, 4))
    return table[np.ix_(labels, labels2)] + weight * far


def distance_by_linear_program(a: Architecture, b: Architecture, settings: Otmann, weight: float) -> float:
    """Equation (3) of Kandasamy et al. 2018 as it stands, by SciPy's HiGHS: no blocks, no entry left out."""
    costs = matching_costs(a, b, settings, weight)
    masses, masses2 = layer_masses(a, settings), layer_masses(b, settings)
    allowed = np.argwhere(np.isfinite(costs))
    limits = np.zeros((len(a) + len(b), len(allowed)))
    limits[allowed[:, 0], np.arange(len(allowed))] = 1.0
    limits[len(a) + allowed[:, 1], np.arange(len(allowed))] = 1.0
    saved = costs[allowed[:, 0], allowed[:, 1]] - 2.0
    scale = masses.sum() + masses2.sum()
    solved = linprog(saved, A_ub=limits, b_ub=np.concatenate([masses, masses2]) / scale, method="highs")
    assert solved.status == 0, solved.message
    return scale * (1.0 + solved.fun)


def least_cost(cost: Array, supply: Array, demand: Array) -> float:
    """By SciPy's HiGHS: ship at most what there is, at the least total cost."""
    a, b = cost.shape
    limits = np.concatenate([np.kron(np.eye(a), np.ones(b)), np.kron(np.ones(a), np.eye(b))])
    solved = linprog(cost.ravel(), A_ub=limits, b_ub=np.concatenate([supply, demand]), method="highs")
    assert solved.status == 0
    return float(solved.fun)


def hops_to_output_by_enumeration(x: Architecture, u: int, group: str | None) -> tuple[float, float, float]:
    """Shortest, longest and random-walk length from layer u to the output, each path listed with its chance."""
    found: list[tuple[float, float]] = []
    ahead = [(u, 0.0, 1.0)]
    while ahead:
        v, hops, chance = ahead.pop()
        counted = group is None or x.family.by_name[x.layers[v].label].group == group
        if not x.children[v]:
            found.append((hops, chance))
        ahead += [(child, hops + counted, chance / len(x.children[v])) for child in x.children[v]]
    lengths = [hops for hops, _ in found]
    return min(lengths), max(lengths), sum(hops * chance for hops, chance in found)
