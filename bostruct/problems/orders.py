"""Problems over orders, generated or from files: quadratic assignment, traveling salesman, linear ordering."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.permutation import Permutation
from bostruct.domains.space.space import Space
from bostruct.problems.base import ObjectivePoint, StructuredProblem, attach_optimum, read_variable
from bostruct.problems.tsplib import read_qaplib, read_tsplib

SIZE, SEED = 12, 0  # of a generated problem, unless others are given
PRECEDES = -1.0  # in a file of SOP: the city of the column comes before that of the row
MOST_PROVED = 12  # cities, whose 2,048 subsets take 0.1 s
MOST_FLOW = 10
MOST_ENUMERATED = 8  # facilities, whose 40,320 assignments take 0.1 s


def qap(n: int = SIZE, seed: int = SEED, file: str | Path | None = None) -> StructuredProblem:
    """Return a quadratic assignment problem: minimize the sum of flow times distance over all pairs of facilities.

    Half the pairs have no flow, the others 1 to 10. Places are random points of the unit square. A point says which
    facility stands in each place.

    n: facilities, and places, 2 to 200.
    seed: of flows and places, from 0.
    file: of QAPLIB, .dat, plain or compressed, of up to 500 facilities; None for a generated problem. Facilities are
        numbered from 1, so that a point is a permutation as QAPLIB prints it. Both directions of a pair count.

    The optimum is proved up to 8 facilities. Raises OSError, TypeError, ValueError (naming file and line). Source:
    Koopmans and Beckmann 1957.
    """
    if file is not None:
        _check_alone(n, seed)
        distances, flow = read_qaplib(file)
        facilities = range(1, len(flow) + 1)
        name, source = f"qap:file={file}", "QAPLIB, Burkard, Karisch and Rendl 1997"
    else:
        n = check_integer("size", n, 2, 200)
        rng = np.random.default_rng([check_integer("seed", seed, 0), 31])
        flow = np.triu(rng.integers(1, MOST_FLOW + 1, (n, n)) * (rng.random((n, n)) < 0.5), 1)
        flow = flow + flow.T
        places = rng.random((n, 2))
        distances = np.linalg.norm(places[:, None] - places, axis=2) / 2.0  # each pair is summed twice
        facilities = range(n)
        name, source = f"qap:size={n},seed={seed}", "generated: quadratic assignment, Koopmans and Beckmann 1957"
    problem = StructuredProblem(
        name=name,
        space=Space({"order": Permutation(facilities)}),
        objective=read_variable("order", partial(_sum_flows, flow, distances, facilities[0])),
        source=source,
    )
    if len(flow) > MOST_ENUMERATED:
        return problem
    point = {"order": tuple((_find_least(flow, distances) + facilities[0]).tolist())}
    return attach_optimum(problem, point, "enumeration of all assignments")


def tsp(n: int = SIZE, seed: int = SEED, file: str | Path | None = None) -> StructuredProblem:
    """Return a traveling salesman problem: minimize the length of a round trip through random points of a square.

    n: cities, 3 to 500.
    seed: of the cities, from 0.
    file: of TSPLIB, .tsp or .atsp, plain or compressed, of up to 500 cities; None for a generated problem. Cities have
        the numbers of the file, and distances its rule.

    The optimum is proved up to 12 cities by dynamic programming. Raises OSError, TypeError, ValueError (naming file and
    line). Source: Held and Karp 1962.
    """
    if file is not None:
        _check_alone(n, seed)
        names, distances = read_tsplib(file, ("TSP", "ATSP"))
        name, source, measure = f"tsp:file={file}", "TSPLIB, Reinelt 1991", Trip(names, distances)
    else:
        n = check_integer("size", n, 3, 500)
        cities = np.random.default_rng([check_integer("seed", seed, 0), 32]).random((n, 2))
        names, distances = tuple(range(n)), np.linalg.norm(cities[:, None] - cities, axis=2)
        name, source = f"tsp:size={n},seed={seed}", "generated: traveling salesman, Held and Karp 1962"
        measure = partial(_measure_trip, cities)
    problem = StructuredProblem(
        name=name,
        space=Space({"order": Permutation(names)}),
        objective=read_variable("order", measure),
        source=source,
    )
    if len(names) > MOST_PROVED:
        return problem
    point = {"order": tuple(names[city] for city in find_shortest_tour(distances))}
    return attach_optimum(problem, point, "dynamic programming")


def sop(file: str | Path) -> StructuredProblem:
    """Return a sequential ordering problem: minimize the length of a path that keeps given precedences.

    file: of TSPLIB, .sop, plain or compressed. A point orders all cities but the first and the last one of the file,
        which begin and end each path. The space has the precedences as a constraint.

    The optimum is proved up to 8 cities between the first and the last. Raises OSError, ValueError (naming file and
    line). Source: Escudero 1988.
    """
    names, distances = read_tsplib(file, ("SOP",))
    if len(names) < 4:
        raise ValueError(f"{file}: expected at least two cities between the first and the last, got {len(names) - 2}")
    precedes = distances == PRECEDES  # the city of the column precedes the city of the row
    if precedes[0].any() or precedes[:, -1].any():
        raise ValueError(f"{file}: expected no city before the first, {names[0]}, or after the last, {names[-1]}")
    before = precedes[1:-1, 1:-1]
    graph = {i: np.flatnonzero(row).tolist() for i, row in enumerate(before)}
    try:
        order = tuple(TopologicalSorter(graph).static_order())  # valid, so that the space has a point to begin with
    except CycleError as error:
        cycle = " before ".join(str(names[1 + i]) for i in error.args[1])
        raise ValueError(f"{file}: expected precedences without a cycle, got {cycle}") from None
    indirect = before.astype(np.float64) @ before > 0  # pairs with a city between them follow from others
    pairs = tuple((names[1 + i], names[1 + j]) for j, i in np.argwhere(before & ~indirect).tolist())
    trip = Trip(names, distances, ends=(names[0], names[-1]))
    problem = StructuredProblem(
        name=f"sop:file={file}",
        space=Space({"order": Permutation([names[1 + i] for i in order])}, [Precedences(pairs)] if pairs else []),
        objective=read_variable("order", trip),
        source="TSPLIB, Reinelt 1991",
    )
    if len(order) > MOST_ENUMERATED:
        return problem
    points = map(problem.space.present, problem.space.enumerate())
    point = min(points, key=lambda point: trip(point["order"]))
    return attach_optimum(problem, point, "enumeration of all orders")


def _check_alone(n: int, seed: int) -> None:
    if (n, seed) != (SIZE, SEED):
        raise ValueError("file: expected neither size nor seed beside it, which are of generated problems")


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


@dataclass(frozen=True, eq=False)
class Trip:
    """The length of a trip through all cities.

    names: of the cities.
    distances: from the city of the row to that of the column (n, n).
    ends: cities before and after all others, on a trip from the one to the other; none for a round trip.
    """

    names: tuple[int, ...]
    distances: Array
    ends: tuple[int, ...] = ()

    def __call__(self, order: tuple[int, ...]) -> float:
        at = {name: i for i, name in enumerate(self.names)}
        first, last = (self.ends[:1], self.ends[1:]) if self.ends else ((), order[:1])
        trip = [at[name] for name in (*first, *order, *last)]
        return float(self.distances[trip[:-1], trip[1:]].sum())


@dataclass(frozen=True)
class Precedences:
    """A constraint on points with an order: the first item of each pair stands before the second.

    pairs: of items.
    """

    pairs: tuple[tuple[int, int], ...]

    def __call__(self, point: ObjectivePoint) -> bool:
        at = {item: place for place, item in enumerate(point["order"])}
        return all(at[first] < at[second] for first, second in self.pairs)

    def __repr__(self) -> str:
        return f"Precedences({len(self.pairs)} pairs)"


def _measure_trip(cities: Array, order: tuple[int, ...]) -> float:
    trip = cities[np.array(order)]
    return float(np.linalg.norm(trip - np.roll(trip, 1, axis=0), axis=1).sum())


def find_shortest_tour(distances: Array) -> tuple[int, ...]:
    """Return a shortest round trip through all cities, by dynamic programming over subsets.

    distances: from the city of the row to that of the column (n, n); 2^(n - 1) subsets are visited.

    Source: Held and Karp 1962.
    """
    m = len(distances) - 1  # the trip begins at city m
    lengths = np.full((2**m, m), np.inf)  # of the shortest path from a city of a subset through the others to m
    for j in range(m):
        lengths[1 << j, j] = distances[j, m]
    for subset in range(1, 2**m):
        members = np.flatnonzero(subset >> np.arange(m) & 1)
        if len(members) > 1:
            rest = lengths[subset ^ (1 << members)]
            lengths[subset, members] = (rest + distances[members, :m]).min(axis=1)
    subset = 2**m - 1
    last = int(np.argmin(lengths[subset] + distances[m, :m]))
    trip = [m, last]
    while subset := subset ^ (1 << last):
        last = int(np.argmin(lengths[subset] + distances[last, :m]))
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


def _sum_flows(flow: Array | IntArray, distances: Array, first: int, order: tuple[int, ...]) -> float:
    own = np.array(order) - first
    return float(np.sum(flow[np.ix_(own, own)] * distances))


def _find_least(flow: Array | IntArray, distances: Array) -> IntArray:
    orders = np.array(list(itertools.permutations(range(len(flow)))))
    values = np.einsum("mij,ij->m", flow[orders[:, :, None], orders[:, None, :]], distances)
    return orders[np.argmin(values)]
