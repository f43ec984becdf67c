"""The traveling salesman problem: the shortest round trip through cities of a plane."""

from __future__ import annotations

from functools import partial

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array
from bostruct.domains.space.permutation import Permutation
from bostruct.domains.space.space import Space
from bostruct.problems.structured import StructuredProblem, attach_optimum, read_variable

MOST_PROVED = 12  # cities, whose 2,048 subsets take 0.1 s


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
