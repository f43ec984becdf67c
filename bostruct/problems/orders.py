"""Problems over orders: quadratic assignment, traveling salesman, linear ordering; generated, or from files.

Files are in the formats of TSPLIB and QAPLIB. Distances follow the rules of TSPLIB 95 (Reinelt 1995), with the rounding
of the programs that found its optima.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_choice, check_integer, short_repr
from bostruct.contracts import Array, IntArray
from bostruct.domains.space.permutation import MAX_ITEMS, Permutation
from bostruct.domains.space.space import Space
from bostruct.problems.base import ObjectivePoint, StructuredProblem, attach_optimum, read_variable
from bostruct.problems.paths import WrongWord, read_lines

SIZE, SEED = 12, 0  # defaults of a generated problem
PRECEDES = -1.0  # entry in a file of SOP: the city of the column comes before the city of the row
MOST_PROVED = 12  # number of cities, whose 2,048 subsets take 0.1 s
MOST_FLOW = 10
MOST_ENUMERATED = 8  # number of facilities, whose 40,320 assignments take 0.1 s
EXACT = 2**53
NUMBERS = re.compile(r"[+-]?\.?[0-9]")  # start of a line of data
EARTH = 6378.388  # radius in km
PI = 3.141592  # value of TSPLIB
FORMATS = (
    "FULL_MATRIX", "UPPER_ROW", "LOWER_ROW", "UPPER_DIAG_ROW", "LOWER_DIAG_ROW", "UPPER_COL", "LOWER_COL",
    "UPPER_DIAG_COL", "LOWER_DIAG_COL",
)  # fmt: skip
SECTIONS = ("NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", "DISPLAY_DATA_SECTION")


def qap(n: int = SIZE, seed: int = SEED, file: str | Path | None = None) -> StructuredProblem:
    """Return a quadratic assignment problem: minimize the sum of flow times distance over all pairs of facilities.

    Half of the pairs have no flow, the others 1 to 10. Locations are random points of the unit square. A point lists
    the facility at each location.

    n: number of facilities and of locations, 2 to 200.
    seed: seed of flows and locations, from 0.
    file: file of QAPLIB, .dat, plain or compressed, of up to 500 facilities; None for a generated problem. Facilities
        are numbered from 1, so that a point is a permutation as QAPLIB prints it. Both directions of a pair count.

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

    n: number of cities, 3 to 500.
    seed: seed of the cities, from 0.
    file: file of TSPLIB, .tsp or .atsp, plain or compressed, of up to 500 cities; None for a generated problem. Cities
        have the numbers of the file, and distances its rule.

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
    """Return a sequential ordering problem: minimize the length of a path that satisfies given precedences.

    file: file of TSPLIB, .sop, plain or compressed. A point orders all cities except the first and the last of the
        file, which are the ends of each path. The space has the precedences as a constraint.

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
        order = tuple(TopologicalSorter(graph).static_order())  # valid, so that the space has an initial point
    except CycleError as error:
        cycle = " before ".join(str(names[1 + i]) for i in error.args[1])
        raise ValueError(f"{file}: expected precedences without a cycle, got {cycle}") from None
    indirect = before.astype(np.float64) @ before > 0  # pairs with a city between them are implied by other pairs
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
        raise ValueError("file: expected no size and no seed with a file; they belong to generated problems")


def ordering(n: int = 12, seed: int = 0) -> StructuredProblem:
    """Return a linear ordering problem: minimize minus the sum of a matrix above its diagonal, reordered.

    An entry, uniform in 0 to 1, is the benefit of placing the row's item before the column's item.

    n: number of items, 2 to 500.
    seed: seed of the matrix, from 0.

    The optimum is proved up to 12 items by dynamic programming. Raises TypeError, ValueError. Source: Grötschel, Jünger
    and Reinelt 1984.
    """
    n = check_integer("size", n, 2, 500)
    benefits = np.random.default_rng([check_integer("seed", seed, 0), 33]).random((n, n))
    problem = StructuredProblem(
        name=f"ordering:size={n},seed={seed}",
        space=Space({"order": Permutation(range(n))}),
        objective=read_variable("order", partial(_negative_benefit, benefits)),
        source="generated: linear ordering, Grötschel, Jünger and Reinelt 1984",
    )
    if n > MOST_PROVED:
        return problem
    point = {"order": find_best_order(benefits)}
    return attach_optimum(problem, point, "dynamic programming")


@dataclass(frozen=True, eq=False)
class Trip:
    """The length of a trip through all cities.

    names: numbers of the cities.
    distances: distances from the row's city to the column's city (n, n).
    ends: first and last city of the trip; empty for a round trip.
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
    """A constraint on points with an order: the first item of each pair is before the second.

    pairs: pairs of items.
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

    distances: distances from the row's city to the column's city (n, n); 2^(n - 1) subsets are visited.

    Source: Held and Karp 1962.
    """
    m = len(distances) - 1  # the trip starts at city m
    lengths = np.full((2**m, m), np.inf)  # length of the shortest path from a city of a subset through the others to m
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


def _negative_benefit(benefits: Array, order: tuple[int, ...]) -> float:
    own = np.array(order)
    return -float(np.triu(benefits[np.ix_(own, own)], 1).sum())


def find_best_order(benefits: Array) -> tuple[int, ...]:
    """Return an order of the greatest sum, by dynamic programming over the subsets of first items.

    benefits: benefits of placing the row's item before the column's item (n, n); 2^n subsets are visited.

    Source: Held and Karp 1962, whose recursion also orders jobs.
    """
    n = len(benefits)
    best, last = np.zeros(2**n), np.zeros(2**n, dtype=np.int64)
    for subset in range(1, 2**n):
        members = np.flatnonzero(subset >> np.arange(n) & 1)
        pairs = benefits[np.ix_(members, members)]
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


class Cities(NamedTuple):
    """The cities of a file.

    names: numbers of the cities in the file.
    distances: distances from the row's city to the column's city (n, n), 0 on the diagonal.
    """

    names: tuple[int, ...]
    distances: Array


def read_tsplib(path: str | Path, kinds: Collection[str]) -> Cities:
    """Read the cities of a file of TSPLIB.

    path: .tsp, .atsp or .sop, plain or compressed.
    kinds: allowed values of TYPE, if the file has a TYPE.

    Raises OSError if the file cannot be opened, and ValueError, naming file and line, if it is malformed, of another
    kind or has more cities than the maximum number of items of a `Permutation`.
    """
    facts: dict[str, str] = {}
    sections: dict[str, list[float]] = {}
    numbers, n = None, 0
    with read_lines(path) as lines:
        for line in lines:
            text = line.strip()
            key, colon, value = (part.strip() for part in text.partition(":"))
            if text == "EOF":
                break
            if NUMBERS.match(text) and numbers is not None:
                numbers += read_numbers(line)
                if len(numbers) > max(n * n + 1, 4 * n):
                    raise ValueError(f"expected at most {max(n * n + 1, 4 * n)} numbers for {n} cities")
            elif key in SECTIONS:
                _check_known(n)
                if key in sections:
                    raise ValueError(f"expected one {key}, got a second")
                numbers = sections[key] = []
            elif key.endswith("_SECTION"):
                raise ValueError(f"expected only the sections {', '.join(SECTIONS)}")
            elif text and not colon:
                hint = "; qap:file= reads files of QAPLIB" if NUMBERS.match(text) and not facts else ""
                raise ValueError(f"expected KEYWORD: value, a section or its numbers{hint}")
            elif text:
                if facts.get(key, value) != value and key != "COMMENT":
                    raise ValueError(f"expected one {key}, got a second")
                facts[key], numbers = value, None
                if key == "DIMENSION":  # too many cities are rejected before they are read
                    n = _check_size(key, read_numbers(value))
                elif key == "EDGE_WEIGHT_TYPE":
                    check_choice(key, value, ("EXPLICIT", *RULES))
                elif key == "TYPE" and value.partition("(")[0].strip() not in kinds:
                    raise ValueError(f"TYPE: expected {' or '.join(kinds)}, got {short_repr(value)}")
        _check_known(n)
        if "EDGE_WEIGHT_TYPE" not in facts and "NODE_COORD_SECTION" in sections:
            raise ValueError(f"expected EDGE_WEIGHT_TYPE with coordinates, one of {', '.join(RULES)}")
        rule = facts.get("EDGE_WEIGHT_TYPE", "EXPLICIT")
        if rule == "EXPLICIT":
            values = sections.get("EDGE_WEIGHT_SECTION", [])
            names, distances = tuple(range(1, n + 1)), _fill_matrix(values, n, facts.get("EDGE_WEIGHT_FORMAT", ""))
        else:
            names, distances = _measure_cities(sections.get("NODE_COORD_SECTION", []), n, rule)
    np.fill_diagonal(distances, 0.0)
    return Cities(names, distances)


def read_qaplib(path: str | Path) -> tuple[Array, Array]:
    """Read the two matrices A and B of a file of QAPLIB (n, n), whose order p costs the sum of A[i, j] B[p(i), p(j)].

    path: .dat, plain or compressed.

    Raises OSError if the file cannot be opened, and ValueError, naming file and line, if it is malformed or too large.
    """
    numbers: list[float] = []
    n = 0
    with read_lines(path) as lines:
        for line in lines:
            numbers += read_numbers(line)
            if numbers and not n:
                n = _check_size("size", numbers[:1])
                numbers = numbers[:1] if len(numbers) == 2 else numbers  # some files add the best known cost
            if len(numbers) > 2 * n * n + 1:
                break
        if not n:
            raise ValueError("expected a size and two matrices, got no number")
        if len(numbers) != 2 * n * n + 1:
            found = "more" if len(numbers) > 2 * n * n + 1 else f"{len(numbers) - 1}"
            raise ValueError(f"expected {2 * n * n} numbers after the size {n}, for two matrices; got {found}")
    first, second = np.array(numbers[1:]).reshape(2, n, n)
    return first, second


def read_numbers(text: str) -> list[float]:
    """Return the numbers of a line; raise WrongWord for other words and for numbers above 2^53."""
    found = []
    for i, token in enumerate(text.split()):
        try:
            number = float("" if "_" in token else token)
        except ValueError:
            raise WrongWord(f"expected numbers, got {short_repr(token)}", i) from None
        if not abs(number) <= EXACT:
            raise WrongWord(f"expected numbers of at most 2^53, got {short_repr(token)}", i)
        found.append(number)
    return found


def _check_size(name: str, numbers: list[float]) -> int:
    if len(numbers) != 1 or not numbers[0].is_integer():
        raise ValueError(f"{name}: expected an integer, got {' '.join(map(str, numbers)) or 'none'}")
    return check_integer(name, int(numbers[0]), 2, MAX_ITEMS)


def _check_known(n: int) -> None:
    if not n:
        raise ValueError("expected DIMENSION: number of cities, before the sections")


def _fill_matrix(values: list[float], n: int, layout: str) -> Array:
    """Return a matrix from its entries, row after row or column after column, in full or of one triangle (n, n)."""
    check_choice("EDGE_WEIGHT_FORMAT", layout, FORMATS)
    if layout == "FULL_MATRIX":
        if len(values) == n * n + 1 and values[0] == n:  # files of SOP repeat the size
            values = values[1:]
        elif len(values) == n * n and values[0] == n and any(one != n for one in values[:: n + 1]):
            raise ValueError(f"EDGE_WEIGHT_SECTION: expected {n * n} numbers after the size {n}, got {n * n - 1}")
        _check_number_count("EDGE_WEIGHT_SECTION", values, n * n, n)
        return np.array(values).reshape(n, n)
    off = 0 if "DIAG" in layout else 1
    is_lower = layout.startswith("LOWER") != layout.endswith("COL")  # columns of one triangle are rows of the other
    at = np.tril_indices(n, -off) if is_lower else np.triu_indices(n, off)
    _check_number_count("EDGE_WEIGHT_SECTION", values, len(at[0]), n)
    distances = np.zeros((n, n))
    distances[at] = values
    return distances + distances.T


def _measure_cities(values: list[float], n: int, rule: str) -> tuple[tuple[int, ...], Array]:
    """Return the numbers of cities, and the distances between them (n, n)."""
    width = 4 if rule.endswith("3D") else 3
    _check_number_count("NODE_COORD_SECTION", values, n * width, n)
    rows = np.array(values).reshape(n, width)
    names = tuple(int(name) for name in rows[:, 0])
    if len(set(names)) < n or (rows[:, 0] != names).any():
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        found = "" if twice is None else f"; got {twice} twice"
        raise ValueError(
            f"NODE_COORD_SECTION: expected {n} cities with different numbers, and {width - 1} coordinates{found}"
        )
    return names, RULES[rule](rows[:, 1:])


def _check_number_count(section: str, values: list[float], count: int, n: int) -> None:
    if len(values) != count:
        raise ValueError(f"{section}: expected {count} numbers for {n} cities, got {len(values)}")


def _round(lengths: Array) -> Array:
    return np.floor(lengths + 0.5)


def _gaps(cities: Array) -> Array:
    return np.abs(cities[:, None] - cities)


def _measure_lengths(cities: Array) -> Array:
    return np.sqrt((_gaps(cities) ** 2).sum(axis=2))


def measure_earth(cities: Array) -> Array:
    """Return distances on the earth in km (n, n), by the rule GEO.

    cities: latitude and longitude (n, 2) as degrees.minutes; degrees are truncated, not rounded.
    """
    degrees = np.trunc(cities)
    latitude, longitude = (PI * (degrees + 5.0 * (cities - degrees) / 3.0) / 180.0).T
    q1 = np.cos(longitude[:, None] - longitude)
    q2, q3 = np.cos(latitude[:, None] - latitude), np.cos(latitude[:, None] + latitude)
    cosines = np.clip(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3), -1.0, 1.0)
    return np.floor(EARTH * np.arccos(cosines) + 1.0)


RULES: dict[str, Callable[[Array], Array]] = {
    "EUC_2D": lambda cities: _round(_measure_lengths(cities)),
    "EUC_3D": lambda cities: _round(_measure_lengths(cities)),
    "CEIL_2D": lambda cities: np.ceil(_measure_lengths(cities)),
    "MAN_2D": lambda cities: _round(_gaps(cities).sum(axis=2)),
    "MAN_3D": lambda cities: _round(_gaps(cities).sum(axis=2)),
    "MAX_2D": lambda cities: _round(_gaps(cities)).max(axis=2),
    "MAX_3D": lambda cities: _round(_gaps(cities)).max(axis=2),
    "ATT": lambda cities: np.ceil(np.sqrt((_gaps(cities) ** 2).sum(axis=2) / 10.0)),
    "GEO": measure_earth,
}
