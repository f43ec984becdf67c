"""Weighted MaxSAT: files in all their formats, the objectives, generators, proved optima."""

import bz2
import gzip
import itertools
import lzma
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bostruct import problems
from bostruct.contracts import DomainError
from bostruct.problems.base import bits, relabel
from bostruct.problems.maxsat import (
    Formula,
    frb_formula,
    johnson_graph,
    max3sat_formula,
    maxcut_formula,
    maxsat,
    prove_optimum,
    raw_costs,
    read_wcnf,
    standardized_costs,
    write_wcnf,
)

OLD = """c a comment
p wcnf 3 4 20
20 1 -2 0
3 2 3 0
4.5 -1 0
20 -3 0
"""
NEW = """c the same
h 1 -2 0
3 2 3 0
4.5 -1 0

h -3 0
"""
FORMULA = Formula(3, ((1, -2), (2, 3), (-1,), (-3,)), (math.inf, 3.0, 4.5, math.inf))
SUFFIXES = ["", ".gz", ".bz2", ".xz"]


def saved(path: Path, text: str) -> Path:
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(text.encode()))
    return path


@st.composite
def formulas(draw, hard=True, shortest=0):
    d = draw(st.integers(1, 7))
    literals = st.integers(1, d).flatmap(lambda v: st.sampled_from([v, -v]))
    clauses = draw(st.lists(st.lists(literals, min_size=shortest, max_size=4).map(tuple), min_size=1, max_size=15))
    weight = st.one_of(st.integers(0, 50).map(float), st.floats(0.001, 1e6), *([st.just(math.inf)] if hard else []))
    return Formula(d, tuple(clauses), tuple(draw(weight) for _ in clauses))


def holds(clause, x) -> bool:
    return any((x[abs(literal) - 1] == 1) == (literal > 0) for literal in clause)


@settings(deadline=None)
@given(formulas())
def test_raw_value_is_the_weight_of_unsatisfied_clauses(formula):
    hard_cost = math.fsum(w for w in formula.weights if w < math.inf) + 1
    points = formula.space.enumerate()
    pairs = [(c, min(w, hard_cost)) for c, w in zip(formula.clauses, formula.weights, strict=True)]
    expected = [math.fsum(w for c, w in pairs if not holds(c, x)) for x in points]
    np.testing.assert_allclose(raw_costs(formula)(points), expected, rtol=1e-12)


@st.composite
def breakable_formulas(draw):
    """Hard clauses that one point keeps, made to hold it, and one that another breaks; soft ones as they come."""
    formula = draw(formulas())
    kept = draw(st.lists(st.booleans(), min_size=formula.n_variables, max_size=formula.n_variables))
    literals = [v if positive else -v for v, positive in enumerate(kept, 1)]
    pairs = zip(formula.clauses, formula.weights, strict=True)
    clauses = tuple((*c, draw(st.sampled_from(literals))) if w == math.inf else c for c, w in pairs)
    return Formula(formula.n_variables, (*clauses, (draw(st.sampled_from(literals)),)), (*formula.weights, math.inf))


@settings(deadline=None)
@given(breakable_formulas())
def test_breaking_a_hard_clause_is_never_worth_it(formula):
    points = formula.space.enumerate()
    hard = [c for c, w in zip(formula.clauses, formula.weights, strict=True) if w == math.inf]
    legal = np.array([all(holds(c, x) for c in hard) for x in points])
    assert legal.any()
    assert not legal.all()
    values = raw_costs(formula)(points)
    assert values[legal].max() < values[~legal].min()


@settings(deadline=None)
@given(formulas(hard=False))
def test_standardized_value_is_minus_the_standardized_satisfied_weight(formula):
    weights = np.array(formula.weights, dtype=np.float32)
    if weights.std() == 0:
        with pytest.raises(ValueError, match="all clauses have one weight"):
            standardized_costs(formula)
        return
    scaled = (weights - weights.mean()) / weights.std()
    points = formula.space.enumerate()
    expected = [-math.fsum(w for c, w in zip(formula.clauses, scaled, strict=True) if holds(c, x)) for x in points]
    np.testing.assert_allclose(standardized_costs(formula)(points), expected, atol=1e-10)


def test_standardized_weights_need_soft_clauses():
    with pytest.raises(ValueError, match="expected 'raw' for a formula with hard clauses"):
        standardized_costs(FORMULA)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("text", [OLD, NEW, OLD.replace("\n", "\r\n")])
def test_both_formats_plain_and_compressed(tmp_path, suffix, text):
    assert read_wcnf(saved(tmp_path / f"a.wcnf{suffix}", text)) == FORMULA


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(formula=formulas())
def test_what_is_written_is_read_back(tmp_path, suffix, formula):
    path = tmp_path / f"a.wcnf{suffix}"
    write_wcnf(formula, path, overwrite=True)
    assert read_wcnf(path) == formula


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("text", [OLD, NEW])
def test_python_sat_reads_the_same(tmp_path, suffix, text):
    wcnf = pytest.importorskip("pysat.formula", reason="python-sat, extra sat, is not installed").WCNF
    path = saved(tmp_path / f"a.wcnf{suffix}", text)
    theirs, ours = wcnf(from_file=str(path)), read_wcnf(path)
    pairs = list(zip(ours.clauses, ours.weights, strict=True))
    assert theirs.nv == ours.n_variables
    assert [tuple(c) for c in theirs.hard] == [c for c, w in pairs if math.isinf(w)]
    soft = [(tuple(c), float(w)) for c, w in zip(theirs.soft, theirs.wght, strict=True)]
    assert soft == [(c, w) for c, w in pairs if not math.isinf(w)]


MALFORMED = [
    ("p wcnf 2\n1 1 0\n", "line 1, column 1: expected 'p wcnf variables clauses"),
    ("p dnf 2 1\n1 0\n", "line 1, column 1: expected 'p wcnf variables clauses .top.' or 'p cnf variables clauses'"),
    ("p cnf 2 1 9\n1 0\n", "line 1, column 1: expected 'p wcnf"),
    ("p cnf 2 1\n1 3 0\n", r"line 2, column 3: expected literals of \+-1..2"),
    ("p cnf 2 1\n1 a 0\n", "line 2, column 3: expected integers; the line is '1 a 0'"),
    ("p cnf 2 1\n1\n2\nc\n", "line 4, column 2: expected literals that end with one 0"),
    ("p cnf 2 2\n1 0\n", "the header declares 2 clauses, the file has 1"),
    ("1 1\n0\n", "line 1, column 3: expected literals that end with one 0"),
    ("1 1 0 2 2 0\n", "line 1, column 7: expected literals that end with one 0"),
    ("p wcnf 0 1\n1 1 0\n", "line 1, column 1: expected at least one variable"),
    ("p wcnf 2 x\n", "line 1, column 1: expected 'p wcnf"),
    ("c\np wcnf 2 1 9\np wcnf 2 1 9\n", "line 3, column 1: expected one header, before the clauses"),
    ("1 1 0\np wcnf 2 1 9\n", "line 2, column 1: expected one header"),
    ("p wcnf 2 1 9\n1 3 0\n", r"line 2, column 3: expected literals of \+-1..2"),
    ("p wcnf 2 1 9\n1 1 2\n", "line 2, column 6: expected literals that end with one 0"),
    ("p wcnf 2 1 9\n1 1 0 2 0\n", "the header declares 1 clauses, the file has 2"),
    ("p wcnf 2 1 9\n1 1 00 0\n", "line 2, column 5: expected literals that end with one 0"),
    ("p wcnf 2 1 9\n1\n", "line 2, column 2: expected literals that end"),
    ("p wcnf 2 1 9\n1 a 0\n", "line 2, column 3: expected integers"),
    ("1_0 1 0\n", "line 1, column 1: expected a weight or h, got '1_0'"),
    ("1_0.5 1 0\n", "line 1, column 1: expected a weight or h"),
    ("p wcnf 20 1 9\n1 1_0 0\n", "line 2, column 3: expected integers"),
    ("p wcnf 2_0 1 9\n1 1 0\n", "line 1, column 1: expected 'p wcnf"),
    ("p wcnf 2 1 9\nh 1 0\n", "line 2, column 1: expected a weight, got 'h'"),
    ("p wcnf 2 1 9\n-2 1 0\n", "line 2, column 1: expected a weight of at least 0"),
    ("nan 1 0\n", "line 1, column 1: expected a weight of at least 0"),
    ("9007199254740993 1 0\n", "line 1, column 1: expected a weight of at least 0, at most 2"),
    ("hello world\n", "line 1, column 1: expected a weight or h, got 'hello'"),
    ("p wcnf 2 1\ninf 1 0\n", "line 2, column 1: expected a weight of at least 0, at most 2.53, got 'inf'"),
    ("p wcnf 2 1\n1e999 1 0\n", "line 2, column 1: expected a weight of at least 0, at most 2.53, got '1e999'"),
    ("p wcnf 2 2 9\n1 1 0\n\n", "line 3, column 1: the header declares 2 clauses, the file has 1; the file ends"),
    (f"p cnf {'9' * 5000} 1\n1 0\n", "line 1, column 1: expected 'p wcnf variables clauses"),
    ("p wcnf 2 2\n  1  1 0   x 0\n", "line 2, column 12: expected a weight, got 'x'"),
    ("", "line 1, column 1: expected at least one clause, got none; the file ends"),
]


@pytest.mark.parametrize(("text", "message"), MALFORMED)
def test_a_malformed_file_is_refused_with_its_line(tmp_path, text, message):
    path = saved(tmp_path / "bad.wcnf", text)
    with pytest.raises(ValueError, match=message) as caught:
        read_wcnf(path)
    assert str(caught.value).startswith(str(path))


CNF = """c the clauses of a satisfiable formula, two of them in one line, one over three
p cnf 3 4
1 -2 0 2 3 0
-1
c between
 3
0
-3 2 0
%
0
"""
WEIGHTED = "p wcnf 3 4 9\n9 1 -2 0 0 2\n3 0\n2\n-1 3 0 4.5 -3 2 0"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_clauses_of_a_header_go_over_lines_and_those_of_cnf_weigh_one_each(tmp_path, suffix):
    clauses = ((1, -2), (2, 3), (-1, 3), (-3, 2))
    assert read_wcnf(saved(tmp_path / f"a.cnf{suffix}", CNF)) == Formula(3, clauses, (1.0,) * 4)
    weights = (math.inf, 0.0, 2.0, 4.5)
    assert read_wcnf(saved(tmp_path / f"a.wcnf{suffix}", WEIGHTED)) == Formula(3, clauses, weights)


def test_a_satisfied_formula_costs_nothing_and_others_their_broken_clauses(tmp_path):
    problem = problems.load(f"maxsat:file={saved(tmp_path / 'a.cnf', CNF)}")
    assert prove_optimum(problem).optimum == 0.0
    assert problem({"x1": True, "x2": True, "x3": False}) == 1.0
    with pytest.raises(ValueError, match="all clauses have one weight"):
        maxsat(tmp_path / "a.cnf", "standardized")


def test_a_clause_of_weight_zero_counts_for_nothing(tmp_path):
    pytest.importorskip("pysat", reason="python-sat, extra sat, is not installed")
    rest = random_clauses(20, 60, 3, 5)
    plain, more = (
        Formula(20, c, w) for c, w in ((rest, (1.0,) * 60), ((*rest, (1,), (-1,)), (1.0,) * 60 + (0.0,) * 2))
    )
    points = plain.space.sample(50, np.random.default_rng(0))
    np.testing.assert_array_equal(raw_costs(plain)(points), raw_costs(more)(points))
    assert prove_optimum(as_problem(tmp_path, plain)).optimum == prove_optimum(as_problem(tmp_path, more)).optimum


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_damaged_compressed_file_is_refused(tmp_path, suffix):
    path = saved(tmp_path / f"a.wcnf{suffix}", OLD)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], OLD.encode(), whole[:20] + bytes([whole[20] ^ 255]) + whole[21:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="expected a file with the compression of its suffix"):
            read_wcnf(path)


def test_a_file_as_a_problem(tmp_path):
    path = saved(tmp_path / "a,b.wcnf", OLD)
    problem = problems.load(f"maxsat:file={path},weights=raw")
    assert problem.name == f"maxsat:file={path},weights=raw"
    assert problems.load(f"maxsat:file={path}").name == problem.name
    assert problem({"x1": True, "x2": False, "x3": False}) == 7.5
    assert problem({"x1": False, "x2": True, "x3": True}) == 2 * 8.5
    assert (len(problem.initial_points(25)), prove_optimum(problem).optimum) == (20, 3.0)
    with pytest.raises(ValueError, match="weights: expected one of raw, standardized"):
        maxsat(path, "native")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        maxsat(tmp_path / "nowhere.wcnf")
    with pytest.raises(DomainError, match="at most 10000 variables, got 10001"):
        maxsat(saved(tmp_path / "big.wcnf", "1 10001 0\n"))


NONSENSE = [
    (0, ((1,),), (1.0,), "one variable"), (2, (), (), "one variable"), (2, ((1,),), (1.0, 2.0), "one variable"),
    (2, ((3,),), (1.0,), "literals"), (2, ((0,),), (1.0,), "literals"),
    (2, ((1,),), (-1.0,), "at least 0"), (2, ((1,),), (math.nan,), "at least 0"),
]  # fmt: skip


@pytest.mark.parametrize(("n", "clauses", "weights", "message"), NONSENSE)
def test_a_formula_refuses_nonsense(n, clauses, weights, message):
    with pytest.raises(ValueError, match=message):
        Formula(n, clauses, weights)


# proved optima


def random_clauses(d: int, m: int, length: int, seed: int) -> tuple[tuple[int, ...], ...]:
    rng = np.random.default_rng(seed)
    rows = [rng.choice(d, length, replace=False) + 1 for _ in range(m)]
    return tuple(tuple((row * rng.choice([-1, 1], length)).tolist()) for row in rows)


def as_problem(tmp_path, formula: Formula, weights: str = "raw"):
    write_wcnf(formula, tmp_path / "a.wcnf", overwrite=True)
    return maxsat(tmp_path / "a.wcnf", weights)


@pytest.mark.parametrize("hard", [0, 6])
@pytest.mark.parametrize("whole", [True, False])
def test_the_solver_finds_the_enumerated_optimum(tmp_path, hard, whole):
    pytest.importorskip("pysat", reason="python-sat, extra sat, is not installed")
    rng = np.random.default_rng(4)
    weights = rng.integers(1, 9, 140).astype(float) if whole else rng.random(140)
    weights[:hard] = math.inf
    problem = as_problem(tmp_path, Formula(15, random_clauses(15, 140, 3, 2), tuple(weights.tolist())))
    proved = prove_optimum(problem, 30)
    assert proved.optimum == pytest.approx(problem.evaluate(problem.space.enumerate()).min(), abs=1e-9)
    assert proved.optimum_source == "proved by the MaxSAT solver RC2"
    assert problem(proved.optimal_point) == proved.optimum


@pytest.mark.parametrize("weights", ["raw", "standardized"])
@pytest.mark.parametrize("length", [1, 2])
def test_short_clauses_are_enumerated(tmp_path, weights, length):
    rng = np.random.default_rng(8)
    clauses = random_clauses(16, 90, length, 3) + random_clauses(16, 20, 1, 4) + ((),)
    problem = as_problem(tmp_path, Formula(16, clauses, tuple(rng.integers(1, 9, 111).astype(float).tolist())), weights)
    proved = prove_optimum(problem)
    assert proved.optimum_source == "proved by enumeration of all 2^16 points"
    assert proved.optimum == pytest.approx(problem.evaluate(problem.space.enumerate()).min(), abs=1e-9)


def test_what_cannot_be_proved_is_refused(tmp_path):
    pytest.importorskip("pysat", reason="python-sat, extra sat, is not installed")
    soft = tuple(np.random.default_rng(0).random(60).tolist())
    standardized = as_problem(tmp_path, Formula(20, random_clauses(20, 60, 3, 0), soft), "standardized")
    contradiction = as_problem(tmp_path, Formula(30, ((1,), (-1,), (2, 3, 4)), (math.inf,) * 3))
    for problem, said in (
        (problems.load("branin"), "expected weighted MaxSAT"),
        (relabel(problems.load("max3sat"), 1), "not relabeled"),
        (standardized, "use weights='raw'"),
        (contradiction, "hard clauses cannot all hold"),
    ):
        with pytest.raises(DomainError, match=said):
            prove_optimum(problem)
    with pytest.raises(TimeoutError, match=r"has not proved an optimum in 0\.2 s"):
        prove_optimum(problems.load("maxcut:n=10"), 0.2)


# generators


def test_a_hidden_assignment_satisfies_every_clause():
    formula, hidden = max3sat_formula(30, 200, 5)
    assert all(holds(clause, hidden) for clause in formula.clauses)
    assert all(len({abs(literal) for literal in clause}) == 3 for clause in formula.clauses)
    assert 0 < min(formula.weights) <= max(formula.weights) <= 1
    assert max3sat_formula(30, 200, 5)[0] == formula
    assert max3sat_formula(30, 200, 6)[0] != formula


def test_random_points_of_the_standard_max3sat_are_as_bad_as_they_should_be():
    problem = problems.load("max3sat")
    values = problem.evaluate(problem.space.sample(4000, np.random.default_rng(0)))
    assert values.mean() == pytest.approx(300 * 0.5 / 8, abs=1.5)  # a clause fails with chance 1/8; mean weight 1/2


def test_hidden_assignments_are_balanced_over_seeds():
    ones = np.mean([max3sat_formula(60, 1, seed)[1] for seed in range(100)])
    assert ones == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(6000))


def test_johnson_graph_of_the_dimacs_file():
    vertices, edges = johnson_graph(8, 2)
    assert (vertices, len(edges)) == (28, 210)
    assert set(np.bincount(np.array(edges).ravel())) == {15}


def test_maxcut_value_is_the_weight_that_is_not_cut():
    formula = maxcut_formula(5, 2, 3)
    _, edges = johnson_graph(5, 2)
    weights = formula.weights[::2]
    assert formula.weights[1::2] == weights
    assert set(weights) <= set(range(1, 11))
    points = formula.space.enumerate()
    expected = [sum(w for (a, b), w in zip(edges, weights, strict=True) if x[a] == x[b]) for x in points]
    np.testing.assert_array_equal(raw_costs(formula)(points), expected)
    assert problems.load("maxcut:n=5,k=2,seed=3").optimum == min(expected)


def test_frb_is_forced_satisfiable_and_its_optimum_is_that_of_the_solver():
    pytest.importorskip("pysat", reason="python-sat, extra sat, is not installed")
    for seed in range(3):
        problem = problems.load(f"frb:groups=8,size=5,seed={seed}")
        assert prove_optimum(problem, 30).optimum == problem.optimum == 32


def test_frb_has_the_shape_of_the_published_files():
    formula, hidden = frb_formula(10, 6, 0)
    pairs = formula.clauses[60:]
    assert formula.weights == (1.0,) * 60 + (61.0,) * len(pairs)
    assert 600 <= len(pairs) <= 726  # frb10-6-4 has 638; 150 in groups, 64 constraints of 9 pairs each overlap
    assert all(holds(clause, hidden) for clause in pairs)
    assert np.reshape(hidden, (10, 6)).sum(axis=1).tolist() == [1] * 10
    inside = {(-a - 1, -b - 1) for g in range(0, 60, 6) for a, b in itertools.combinations(range(g, g + 6), 2)}
    assert inside <= set(pairs)


# the published files, where the user has them

FILES = {28: "maxcut-johnson8-2-4.clq.wcnf", 43: "maxcut-hamming8-2.clq.wcnf", 60: "frb-frb10-6-4.wcnf"}


def published(d: int, weights: str):
    folder = os.environ.get("BOSTRUCT_DATA")
    if folder is None:
        pytest.skip("set BOSTRUCT_DATA to a folder that holds maxsat/*.wcnf of the COMBO repository")
    return maxsat(Path(folder) / "maxsat" / FILES[d], weights)


PUBLISHED_VALUES = [
    (28, "1100000010001111110101111000", (-0.000017, None, 11.716564, -6.595564, 0.665870)),
    (43, "1100000010001111110101111000", (0.000080, None, 2.722383, 11.795439, 8.698286)),
    (60, "1100000010001111110101111000", (-195.652710, 195.652756, -45.079826, -68.049095, -14.668816)),
]


@pytest.mark.parametrize(("d", "leading", "values"), PUBLISHED_VALUES)
def test_published_maxsat_values(d, leading, values):
    problem = published(d, "standardized")
    initial = problem.initial(1)
    assert "".join(map(str, initial[0][:28])) == leading
    rows = np.array([[0] * d, [1] * d, ([1, 0] * d)[:d], *initial[:2]])
    for got, golden in zip(problem.evaluate(rows), values, strict=True):
        if golden is not None:
            assert got == pytest.approx(golden, abs=1e-4)  # theirs is summed in float32


PUBLISHED_OPTIMA = [
    (28, "1011101100101000010100010110", -38.162146),
    (43, "1010011001101100000001111011011111000111110", -92.740416),
    (60, "0" * 60, -195.652710),
]


@pytest.mark.parametrize(("d", "text", "value"), PUBLISHED_OPTIMA)
def test_published_maxsat_optima(d, text, value):
    problem = published(d, "standardized")
    if d == 43:
        assert (problem.optimum, problem.optimal_vertices) == (None, None)
        assert problem.best_known == pytest.approx(value, abs=2e-4)
        assert problem.best_known == problem.evaluate(np.array([bits(text)]))[0]
        assert problem.optimum_source.startswith("not proved")
        return
    assert (problem.optimal_vertices, problem.optimum) == (bits(text), pytest.approx(value, abs=2e-4))
    for other in (problem, relabel(problem, 2)):
        neighbors = other.space.neighbors(np.array(other.optimal_vertices))
        assert other.evaluate(neighbors).min() >= other.optimum


def test_published_raw_optima():
    pytest.importorskip("pysat", reason="python-sat, extra sat, is not installed")
    for d, value in ((28, 392.0), (60, 50.0)):
        problem = published(d, "raw")
        assert problem.optimum == prove_optimum(problem, 30).optimum == value
    total = published(60, "raw").vertex_objective.formula.soft_weight
    assert total - 50 == 38_928  # what the header of the file says can be satisfied
