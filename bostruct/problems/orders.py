"""Generated problems over orders: quadratic assignment, traveling salesman, linear ordering."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.permutation import Permutation
from bostruct.domains.space.space import Space
from bostruct.problems.base import StructuredProblem, attach_optimum, read_variable

MOST_PROVED = 12  # cities, whose 2,048 subsets take 0.1 s
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


def tsp(n: int = 12, seed: int = 0) -> StructuredProblem:
    """Return a traveling salesman problem: minimize the length of a round trip through random points of a square.

    n: cities, 3 to 500.
    seed: of the cities, from 0.

    The optimum is proved up to 12 cities by dynamic programming. Raises TypeError, ValueError. Source: Held and Karp
    1962.
    """
    n = check_integer("size", n, 3, 500)
    cities = np.random.default_rng([check_integer("seed", seed, 0), 32]).random((n, 2))
    problem = StructuredProblem(
        name=f"tsp:size={n},seed={seed}",
        space=Space({"order": Permutation(range(n))}),
        objective=read_variable("order", partial(_measure_trip, cities)),
        source="generated: traveling salesman, Held and Karp 1962",
    )
    if n > MOST_PROVED:
        return problem
    point = {"order": find_shortest_tour(np.linalg.norm(cities[:, None] - cities, axis=2))}
    return attach_optimum(problem, point, "dynamic programming")


def ordering(n: int = 12, seed: int = 0) -> StructuredProblem:
    """Return a linear ordering problem: minimize minus the sum of a matrix above its diagonal, reordered.

    An entry, uniform in 0 to 1, is what it is worth that one item stands before another.

    n: items, 2 to 500.
    seed: of the matrix, from 0.

    The optimum is proved up to 12 items by dynamic programming. Raises TypeError, ValueError. Source: Grötschel, Jünger
    and Reinelt 1984.
    """
    n = check_integer("size", n, 2, 500)
    worth = np.random.default_rng([check_integer("seed", seed, 0), 33]).random((n, n))
    problem = StructuredProblem(
        name=f"ordering:size={n},seed={seed}",
        space=Space({"order": Permutation(range(n))}),
        objective=read_variable("order", partial(_sum_against, worth)),
        source="generated: linear ordering, Grötschel, Jünger and Reinelt 1984",
    )
    if n > MOST_PROVED:
        return problem
    point = {"order": find_best_order(worth)}
    return attach_optimum(problem, point, "dynamic programming")


def _measure_trip(cities: Array, order: tuple[int, ...]) -> float:
    trip = cities[np.array(order)]
    return float(np.linalg.norm(trip - np.roll(trip, 1, axis=0), axis=1).sum())


def find_shortest_tour(distances: Array) -> tuple[int, ...]:
    """Return a shortest round trip through all cities, by dynamic programming over subsets.

    distances: symmetric, of n cities (n, n); 2^(n - 1) subsets are visited.

    Source: Held and Karp 1962.
    """
    m = len(distances) - 1  # the trip begins at city m
    lengths = np.full((2**m, m), np.inf)  # of the shortest path from m through a subset that ends at a city of it
    for j in range(m):
        lengths[1 << j, j] = distances[m, j]
    for subset in range(1, 2**m):
        members = np.flatnonzero(subset >> np.arange(m) & 1)
        if len(members) > 1:
            before = lengths[subset ^ (1 << members)]
            lengths[subset, members] = (before + distances[members, :m]).min(axis=1)
    subset = 2**m - 1
    last = int(np.argmin(lengths[subset] + distances[:m, m]))
    trip = [m, last]
    while subset := subset ^ (1 << last):
        last = int(np.argmin(lengths[subset] + distances[:m, last]))
        trip.append(last)
    return tuple(trip)


def _sum_against(worth: Array, order: tuple[int, ...]) -> float:
    own = np.array(order)
    return -float(np.triu(worth[np.ix_(own, own)], 1).sum())


def find_best_order(worth: Array) -> tuple[int, ...]:
    """Return an order of the greatest sum, by dynamic programming over the subsets of items that stand first.

    worth: what it is worth that the item of the row stands before that of the column (n, n); 2^n subsets are visited.

    Source: Held and Karp 1962, whose recursion orders jobs, too.
    """
    n = len(worth)
    best, last = np.zeros(2**n), np.zeros(2**n, dtype=np.int64)
    for subset in range(1, 2**n):
        members = np.flatnonzero(subset >> np.arange(n) & 1)
        pairs = worth[np.ix_(members, members)]
        sums = best[subset ^ (1 << members)] + pairs.sum(axis=0) - np.diag(pairs)
        best[subset], last[subset] = sums.max(), members[np.argmax(sums)]
    order, subset = [], 2**n - 1
    while subset:
        order.append(int(last[subset]))
        subset ^= 1 << order[-1]
    return tuple(order[::-1])


def _sum_flows(flow: IntArray, distances: Array, order: tuple[int, ...]) -> float:
    own = np.array(order)
    return float(np.sum(flow[np.ix_(own, own)] * distances) / 2.0)


def _find_least(flow: IntArray, distances: Array) -> IntArray:
    orders = np.array(list(itertools.permutations(range(len(flow)))))
    values = np.einsum("mij,ij->m", flow[orders[:, :, None], orders[:, None, :]], distances)
    return orders[np.argmin(values)]
