"""The quadratic assignment problem: which facility stands in which place (Koopmans and Beckmann 1957)."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.permutation import Permutation
from bostruct.domains.space.space import Space
from bostruct.problems.structured import StructuredProblem, attach_optimum, read_variable

MOST_FLOW = 10
MOST_ENUMERATED = 8  # facilities, whose 40,320 assignments take 0.1 s


def qap(n: int = 12, seed: int = 0) -> StructuredProblem:
    """Return a quadratic assignment problem: minimize the sum of flow times distance over all pairs of facilities.

    Half the pairs have no flow, the others 1 to 10. Places are random points of the unit square. A point says which
    facility stands in each place.

    n: facilities, and places, 2 to 200.
    seed: of flows and places, from 0.

    The optimum is proved up to 8 facilities. Raises TypeError, ValueError. Source: Koopmans and Beckmann 1957.
    """
    n = check_integer("size", n, 2, 200)
    rng = np.random.default_rng([check_integer("seed", seed, 0), 31])
    flow = np.triu(rng.integers(1, MOST_FLOW + 1, (n, n)) * (rng.random((n, n)) < 0.5), 1)
    flow = flow + flow.T
    places = rng.random((n, 2))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    problem = StructuredProblem(
        name=f"qap:size={n},seed={seed}",
        space=Space({"order": Permutation(range(n))}),
        objective=read_variable("order", partial(_sum_flows, flow, distances)),
        source="generated: quadratic assignment, Koopmans and Beckmann 1957",
    )
    if n > MOST_ENUMERATED:
        return problem
    point = {"order": tuple(_find_least(flow, distances).tolist())}
    return attach_optimum(problem, point, "enumeration of all assignments")


def _sum_flows(flow: IntArray, distances: Array, order: tuple[int, ...]) -> float:
    own = np.array(order)
    return float(np.sum(flow[np.ix_(own, own)] * distances) / 2.0)


def _find_least(flow: IntArray, distances: Array) -> IntArray:
    orders = np.array(list(itertools.permutations(range(len(flow)))))
    values = np.einsum("mij,ij->m", flow[orders[:, :, None], orders[:, None, :]], distances)
    return orders[np.argmin(values)]
