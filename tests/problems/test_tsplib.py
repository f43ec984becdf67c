"""Files of QAPLIB and TSPLIB: costs and optima that their authors publish, the rules of distances, refusals."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import pickle
from pathlib import Path

import numpy as np
import pytest

import bostruct as bo
from bostruct import problems
from bostruct.contracts import PointError
from bostruct.problems.base import StructuredProblem
from bostruct.problems.orders import Trip, find_shortest_tour, qap, read_qaplib, read_tsplib, sop, tsp

NUG12 = """12

0 1 2 3 1 2 3 4 2 3 4 5
1 0 1 2 2 1 2 3 3 2 3 4
2 1 0 1 3 2 1 2 4 3 2 3
3 2 1 0 4 3 2 1 5 4 3 2
1 2 3 4 0 1 2 3 1 2 3 4
2 1 2 3 1 0 1 2 2 1 2 3
3 2 1 2 2 1 0 1 3 2 1 2
4 3 2 1 3 2 1 0 4 3 2 1
2 3 4 5 1 2 3 4 0 1 2 3
3 2 3 4 2 1 2 3 1 0 1 2
4 3 2 3 3 2 1 2 2 1 0 1
5 4 3 2 4 3 2 1 3 2 1 0

0 5 2 4 1 0 0 6 2 1 1 1 5 0 3 0 2 2 2 0 4 5 0 0
2 3 0 0 0 0 0 5 5 2 2 2 4 0 0 0 5 2 2 10 0 0 5 5
1 2 0 5 0 10 0 0 0 5 1 1 0 2 0 2 10 0 5 1 1 5 4 0
0 2 0 2 0 5 0 10 5 2 3 3 6 0 5 10 0 1 10 0 0 0 5 0
2 4 5 0 0 1 5 0 0 0 10 10 1 5 2 0 5 5 2 0 0 0 5 0
1 0 2 5 1 4 3 5 10 5 0 2 1 0 2 5 1 0 3 0 10 0 2 0
"""
NUG12_ORDER = (12, 7, 9, 3, 4, 8, 11, 1, 5, 6, 10, 2)  # of cost 578, as QAPLIB prints it
NUG5 = """5 50
0 1 1 2 3
1 0 2 1 2
1 2 0 1 2
2 1 1 0 1
3 2 2 1 0
0 5 2 4 1
5 0 3 0 2
2 3 0 0 0
4 0 0 0 5
1 2 0 5 0
"""
BURMA14 = """NAME: burma14
TYPE: TSP
COMMENT: 14-Staedte in Burma (Zaw Win)
DIMENSION: 14
EDGE_WEIGHT_TYPE: GEO
EDGE_WEIGHT_FORMAT: FUNCTION
DISPLAY_DATA_TYPE: COORD_DISPLAY
NODE_COORD_SECTION
   1  16.47       96.10
   2  16.47       94.44
   3  20.09       92.54
   4  22.39       93.37
   5  25.23       97.24
   6  22.00       96.05
   7  20.47       97.02
   8  17.20       96.29
   9  16.30       97.38
  10  14.05       98.12
  11  16.53       97.38
  12  21.52       95.59
  13  19.41       97.13
  14  20.09       94.55
EOF
"""
ULYSSES16 = """NAME: ulysses16.tsp
TYPE: TSP
COMMENT: Odyssey of Ulysses (Groetschel/Padberg)
DIMENSION: 16
EDGE_WEIGHT_TYPE: GEO
DISPLAY_DATA_TYPE: COORD_DISPLAY
NODE_COORD_SECTION
 1 38.24 20.42
 2 39.57 26.15
 3 40.56 25.32
 4 36.26 23.12
 5 33.48 10.54
 6 37.56 12.19
 7 38.42 13.11
 8 37.52 20.44
 9 41.23 9.10
 10 41.17 13.05
 11 36.08 -5.21
 12 38.47 15.13
 13 38.15 15.35
 14 37.51 15.17
 15 35.49 14.32
 16 39.36 19.56
 EOF
"""
ESC07 = """NAME: ESC07.sop
TYPE: SOP
COMMENT: Received by Norbert Ascheuer / Laureano Escudero
DIMENSION: 9
EDGE_WEIGHT_TYPE: EXPLICIT
EDGE_WEIGHT_FORMAT: FULL_MATRIX
EDGE_WEIGHT_SECTION
9
    0    0    0    0    0    0    0    0 1000000
   -1    0  100  200   75    0  300  100    0
   -1  400    0  500  325  400  600    0    0
   -1  700  800    0  550  700  900  800    0
   -1   -1  250  225    0  275  525  250    0
   -1   -1  100  200   -1    0   -1   -1    0
   -1   -1 1100 1200 1075 1000    0 1100    0
   -1   -1    0  500  325  400  600    0    0
   -1   -1   -1   -1   -1   -1   -1   -1    0
EOF
"""
SQUARE = [[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]]
LAYOUTS = {
    "FULL_MATRIX": "0 1 2 3 1 0 4 5\n2 4 0 6\n3 5 6 0",
    "UPPER_ROW": "1 2 3\n4 5\n6",
    "LOWER_ROW": "1\n2 4\n3 5 6",
    "UPPER_DIAG_ROW": "0 1 2 3\n0 4 5\n0 6\n0",
    "LOWER_DIAG_ROW": "0\n1 0\n2 4 0 3 5 6 0",
    "UPPER_COL": "1\n2 4\n3 5 6",
    "LOWER_COL": "1 2 3\n4 5\n6",
    "UPPER_DIAG_COL": "9\n1 9\n2 4 9\n3 5 6 9",  # the diagonal counts for nothing
    "LOWER_DIAG_COL": "0 1 2 3\n0 4 5\n0 6\n0",
}


def saved(path: Path, text: str) -> Path:
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(text.encode()))
    return path


def measure(problem: StructuredProblem, order: tuple[int, ...]) -> object:
    return problem({"order": order})


def explicit(layout: str, numbers: str, kind: str = "TSP", n: int = 4) -> str:
    return (
        f"TYPE : {kind}\nDIMENSION : {n}\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : {layout}\n"
        f"EDGE_WEIGHT_SECTION\n{numbers}\nEOF\n"
    )


def plane(rule: str, cities: str, n: int) -> str:
    return f"TYPE: TSP\nDIMENSION: {n}\nEDGE_WEIGHT_TYPE: {rule}\nNODE_COORD_SECTION\n{cities}\n"


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_the_order_that_qaplib_prints_has_the_cost_that_it_prints(tmp_path, suffix):
    path = saved(tmp_path / f"nug12.dat{suffix}", NUG12)
    problem = problems.load(f"qap:file={path}")
    assert isinstance(problem, StructuredProblem)
    assert (problem.name, measure(problem, NUG12_ORDER), problem.optimum) == (f"qap:file={path}", 578.0, None)
    assert measure(problem, tuple(range(1, 13))) == 724.0
    assert len(problem.initial_points(1)) == 10


def test_the_optimum_of_a_small_assignment_is_the_published_one(tmp_path):
    problem = qap(file=saved(tmp_path / "nug5.dat", NUG5))
    assert (problem.optimum, problem.optimum_source) == (50.0, "proved by enumeration of all assignments")
    assert problem.optimal_point is not None
    assert measure(problem, problem.optimal_point["order"]) == 50.0
    lopsided = saved(tmp_path / "a.dat", "3\n0 1 2 3 0 4 5 6 0\n0 7 0 0 0 8 9 0 0")  # no matrix is symmetric
    a, b = read_qaplib(lopsided)
    for order in itertools.permutations(range(3)):
        expected = sum(a[i, j] * b[order[i], order[j]] for i in range(3) for j in range(3))
        assert measure(qap(file=lopsided), tuple(i + 1 for i in order)) == expected


@pytest.mark.parametrize(("text", "optimum"), [(BURMA14, 3323), (ULYSSES16, 6859)])
def test_geographic_distances_have_the_published_optima(tmp_path, text, optimum):
    path = saved(tmp_path / "a.tsp", text)
    names, distances = read_tsplib(path, ("TSP",))
    trip = find_shortest_tour(distances)
    assert measure(tsp(file=path), tuple(names[i] for i in trip)) == optimum
    assert not np.diag(distances).any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_matrices_are_read_in_each_format(tmp_path, layout):
    names, distances = read_tsplib(saved(tmp_path / "a.tsp", explicit(layout, LAYOUTS[layout])), ("TSP",))
    assert (names, distances.tolist()) == ((1, 2, 3, 4), SQUARE)


RULES = {  # of (0, 0), (3, 4) and (10.2, 0.4), rounded by hand
    "EUC_2D": (5, 10, 8),
    "CEIL_2D": (5, 11, 9),
    "MAN_2D": (7, 11, 11),
    "MAX_2D": (4, 10, 7),
    "ATT": (2, 4, 3),
}


@pytest.mark.parametrize("rule", RULES)
def test_distances_in_the_plane_are_rounded_to_the_rule(tmp_path, rule):
    text = plane(rule, "7 0 0\n-2 3.0 4e0\n5 10.2 .4", 3)
    names, distances = read_tsplib(saved(tmp_path / "a.tsp", text), ("TSP",))
    assert names == (7, -2, 5)
    assert (*distances[0, 1:], distances[1, 2]) == RULES[rule]
    assert (distances == distances.T).all()
    assert measure(tsp(file=tmp_path / "a.tsp"), (5, 7, -2)) == sum(RULES[rule])


def test_a_third_coordinate_counts(tmp_path):
    for rule, far in (("EUC_3D", 3), ("MAN_3D", 5), ("MAX_3D", 2)):
        text = plane(rule, "1 0 0 0\n2 1 2 2", 2)
        assert read_tsplib(saved(tmp_path / "a.tsp", text), ("TSP",)).distances[0, 1] == far


def test_an_asymmetric_trip_goes_from_row_to_column_and_its_optimum_is_that_of_enumeration(tmp_path):
    rows = np.random.default_rng(3).integers(1, 50, (6, 6))
    text = explicit("FULL_MATRIX", "\n".join(" ".join(map(str, row)) for row in rows.tolist()), "ATSP", 6)
    problem = tsp(file=saved(tmp_path / "a.atsp", text))
    costs = {
        order: sum(rows[order[i] - 1, order[(i + 1) % 6] - 1] for i in range(6))
        for order in itertools.permutations(range(1, 7))
    }
    assert all(measure(problem, order) == cost for order, cost in costs.items())
    assert problem.optimum == min(costs.values()) < max(costs.values())


def test_precedences_are_a_constraint_and_the_optimum_is_the_published_one(tmp_path):
    path = saved(tmp_path / "ESC07.sop", ESC07)
    problem = problems.load(f"sop:file={path}")
    assert isinstance(problem, StructuredProblem)
    assert (problem.optimum, problem.optimum_source) == (2125.0, "proved by enumeration of all orders")
    assert measure(problem, (2, 5, 3, 8, 7, 6, 4)) == 2125.0
    allowed = {tuple(problem.space.present(x)["order"]) for x in problem.space.enumerate()}
    before = [(2, 5), (2, 6), (2, 7), (2, 8), (5, 6), (7, 6), (8, 6)]  # the columns of -1 in each row
    orders = itertools.permutations(range(2, 9))
    assert allowed == {o for o in orders if all(o.index(first) < o.index(then) for first, then in before)}
    with pytest.raises(PointError, match="Precedences"):
        measure(problem, (5, 2, 3, 8, 7, 6, 4))
    again = pickle.loads(pickle.dumps(problem))
    assert measure(again, (2, 5, 3, 8, 7, 6, 4)) == 2125.0
    result = bo.minimize(problem, problem.space, 40, seed=0, progress=False)
    assert result.best_value >= 2125.0


def test_long_precedences_that_no_random_order_keeps_have_valid_points(tmp_path):
    n = 42  # cities 2 to 41, of which 2, 4, ... and 3, 5, ... are chains; numbers fall along them
    rows = np.ones((n, n), dtype=int)
    for last in range(1, n - 1):
        rows[last, last + 2 : n - 1 : 2] = -1
    text = explicit("FULL_MATRIX", "\n".join(" ".join(map(str, row)) for row in rows.tolist()), "SOP", n)
    problem = sop(saved(tmp_path / "a.sop", text))
    orders = [point["order"] for point in problem.initial_points(1)]
    assert len(set(orders)) == 10
    for order in orders:
        for parity in (0, 1):
            chain = [city for city in order if city % 2 == parity]
            assert chain == sorted(chain, reverse=True)
    assert measure(problem, orders[0]) == n - 1.0


def test_paths_begin_and_end_at_the_cities_of_the_file():
    distances = np.arange(16.0).reshape(4, 4)
    assert Trip((7, 8, 9, 10), distances, ends=(7, 10))((9, 8)) == distances[0, 2] + distances[2, 1] + distances[1, 3]


REFUSED_CITIES = [
    ("TYPE: TSP\nDIMENSION: 3 4\n", "line 2, column 1: DIMENSION: expected an integer, got 3.0 4.0"),
    ("DIMENSION:\n", "line 1, column 1: DIMENSION: expected an integer, got none"),
    ("DIMENSION: 3\nCOMMENT: a\nCOMMENT: b\nDIMENSION: 4\n", "line 4, column 1: expected one DIMENSION, got a second"),
    ("COMMENT: a\nCOMMENT: b\n", "line 2, column 11: expected DIMENSION.*; the file ends"),
    ("", "a.tsp, line 1, column 1: expected DIMENSION.*; the file ends"),
    (
        "TYPE: TSP\nNODE_COORD_SECTION\n1 0 0\n",
        "line 2, column 1: expected DIMENSION: number of cities, before the sections",
    ),
    ("TYPE: CVRP\n", "line 1, column 1: TYPE: expected TSP or ATSP, got 'CVRP'; the line is 'TYPE: CVRP'"),
    ("TYPE: SOP\n", "line 1, column 1: TYPE: expected TSP or ATSP, got 'SOP'"),
    ("DIMENSION: many\n", "line 1, column 1: expected numbers, got 'many'"),
    ("DIMENSION: 85900\n", "line 1, column 1: DIMENSION: expected between 2 and 500, got 85900"),
    ("DIMENSION: 2.5\n", "line 1, column 1: DIMENSION: expected an integer, got 2.5"),
    ("DIMENSION: 1\n", "line 1, column 1: DIMENSION: expected between 2"),
    (
        "EDGE_WEIGHT_TYPE: XRAY1\n",
        "line 1, column 1: EDGE_WEIGHT_TYPE: expected one of EXPLICIT, EUC_2D, .*; got 'XRAY1'",
    ),
    ("DIMENSION: 3\nFIXED_EDGES_SECTION\n1 2\n-1\n", "line 2, column 1: expected only the sections NODE_COORD_SECTION"),
    ("1 2 3\n", "line 1, column 1: expected KEYWORD: value, a section or its numbers"),
    ("hello\n", "line 1, column 1: expected KEYWORD: value"),
    (plane("EUC_2D", "1 0 0\n2 x 0", 2), "line 6, column 3: expected numbers, got 'x'; the line is '2 x 0'"),
    (plane("EUC_2D", "1 0 0\n2 1_0 0", 2), "line 6, column 3: expected numbers, got '1_0'"),
    (plane("EUC_2D", "1 0 0\n2 9e99 0", 2), r"line 6, column 3: expected numbers of at most 2\^53, got '9e99'"),
    (plane("EUC_2D", "1 0 0\n2 nan 0", 2), r"line 6, column 3: expected numbers of at most 2\^53, got 'nan'"),
    (plane("EUC_2D", "1 0 0\n", 2), "NODE_COORD_SECTION: expected 6 numbers for 2 cities, got 3"),
    (plane("EUC_2D", "1 0 0\n1 0 1", 2), "NODE_COORD_SECTION: expected 2 cities with different numbers"),
    (plane("EUC_2D", "1.5 0 0\n1 0 1", 2), "NODE_COORD_SECTION: expected 2 cities with different numbers"),
    (plane("EUC_2D", "1 0 0\n" * 9, 2), "line 7, column 1: expected at most 8 numbers for 2 cities"),
    (explicit("UPPER_ROW", "1 2 3"), "line 7, column 1: EDGE_WEIGHT_SECTION: expected 6 numbers for 4 cities, got 3"),
    (explicit("FULL_MATRIX", "1 2 3"), "EDGE_WEIGHT_SECTION: expected 16 numbers for 4 cities, got 3"),
    (explicit("FUNCTION", "1 2 3"), "EDGE_WEIGHT_FORMAT: expected one of FULL_MATRIX, .*; got 'FUNCTION'"),
    ("DIMENSION: 3\nEDGE_WEIGHT_SECTION\n1 2 3\n", "EDGE_WEIGHT_FORMAT: expected one of"),
    ("DIMENSION: 2\nNODE_COORD_SECTION\n1 0 0\n2 0 1\n", "expected EDGE_WEIGHT_TYPE with coordinates, one of EUC"),
    (  # the size, and a matrix that has lost a number
        explicit("FULL_MATRIX", "4 0 1 2 3 1 0 2 3 1 2 0 3 1 2 3"),
        "EDGE_WEIGHT_SECTION: expected 16 numbers after the size 4, got 15",
    ),
]


def check_refusal(problem, path, message):
    """Check that a problem refuses a file by its path and a message."""
    with pytest.raises(ValueError, match=message) as caught:
        problem(file=path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(("text", "message"), REFUSED_CITIES, ids=range(len(REFUSED_CITIES)))
def test_a_malformed_file_of_tsplib_is_refused_with_its_line(tmp_path, text, message):
    check_refusal(tsp, saved(tmp_path / "a.tsp", text), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.dat, line 1, column 1: expected a size and two matrices, got no number; the file ends"),
        ("2\n0 1 1 0\n0 x 1 0\n", "line 3, column 3: expected numbers, got 'x'; the line is '0 x 1 0'"),
        ("2\n0 1 1 0\n0 1 1\n", "line 3, column 6: expected 8 numbers after the size 2, for two matrices; got 7"),
        (
            "2\n0 1 1 0\n0 1 1 0\n1\n1 x",
            "line 4, column 1: expected 8 numbers after the size 2, for two matrices; got more",
        ),
        ("501\n", "line 1, column 1: size: expected between 2 and 500, got 501"),
        ("2.5\n", "line 1, column 1: size: expected an integer, got 2.5"),
    ],
)
def test_a_malformed_file_of_qaplib_is_refused_with_its_line(tmp_path, text, message):
    check_refusal(qap, saved(tmp_path / "a.dat", text), message)


def test_a_second_section_and_a_second_city_are_refused(tmp_path):
    head = "NAME: x\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\n"
    section = "NODE_COORD_SECTION\n1 0 0\n2 3 4\n3 0 8\n"
    with pytest.raises(ValueError, match=r"a.tsp, line 9, column 1: expected one NODE_COORD_SECTION, got a second"):
        read_tsplib(saved(tmp_path / "a.tsp", head + section + section + "EOF\n"), {"TSP"})
    with pytest.raises(ValueError, match="3 cities with different numbers, and 2 coordinates; got 2 twice"):
        read_tsplib(saved(tmp_path / "a.tsp", head + section.replace("3 0 8", "2 0 8") + "EOF\n"), {"TSP"})
    with pytest.raises(ValueError, match="qap:file= reads files of QAPLIB"):
        read_tsplib(saved(tmp_path / "a.tsp", NUG5), {"TSP"})
    marked = saved(tmp_path / "a.dat", "\ufeff" + NUG5)
    assert (read_qaplib(marked)[0] == read_qaplib(saved(tmp_path / "b.dat", NUG5))[0]).all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "0 1 1 1 -1 0 -1 1 -1 -1 0 1 -1 -1 -1 0",
            "a.sop: expected precedences without a cycle, got [23] before [23] before",
        ),
        ("0 1 1 9 -1 0 1 -1 -1 1 0 1 -1 -1 -1 0", "a.sop: expected no city before the first, 1, or after the last, 4"),
        ("0 -1 1 9 -1 0 1 1 -1 1 0 1 -1 -1 -1 0", "a.sop: expected no city before the first, 1, or after the last, 4"),
        ("0 1 1 0", "a.sop: expected at least two cities between the first and the last"),
    ],
)
def test_impossible_precedences_are_refused(tmp_path, rows, message):
    n = int(len(rows.split()) ** 0.5)
    with pytest.raises(ValueError, match=message):
        sop(saved(tmp_path / "a.sop", explicit("FULL_MATRIX", rows, "SOP", n)))
