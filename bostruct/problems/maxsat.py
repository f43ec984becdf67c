"""Weighted MaxSAT: formulas from a seed or a DIMACS file, the unsatisfied weight of a point, proofs of optima.

Files are .wcnf in the old format or the format of 2022, or .cnf, plain or compressed (.gz, .bz2, .xz).
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from threading import Event, Timer
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_choice, check_integer, check_number, optional_import, short_repr
from bostruct.contracts import Array, DomainError, IntArray
from bostruct.domains.space.discrete import Binary
from bostruct.domains.space.space import MAX_VARIABLES, Space
from bostruct.output_files import write_output
from bostruct.problems.base import (
    GENERATED_SEEDS,
    InitialPoints,
    SpaceProblem,
    all_bits,
    bits,
    evaluate_in_chunks,
    prove_by_enumeration,
    published_initial_seeds,
)
from bostruct.problems.paths import COMPRESSION, WrongWord, read_lines

CHUNK_CELLS = 4_000_000
EXACT = 2**53
MAX_DIGITS = 20  # maximum number of digits of a number in a header
Floats = npt.NDArray[np.floating[Any]]
MAX_QUADRATIC_VARIABLES = 28
MAX_ENUMERATED_VARIABLES = 14
TAG = "2019NeurIPS_MAXSAT"
SOURCE = "Oh et al., NeurIPS 2019 (COMBO) for the standardized objective; MaxSAT Evaluation 2018 for its files"
UNPROVED = "not proved: "

# (`fingerprint` of the formula, weights) -> a best point, and its proof, if any.
KNOWN = {
    ("6f0d609031fb4e6a", "standardized"): ("1011101100101000010100010110", "proved by enumeration of all 2^28 points"),
    ("6f0d609031fb4e6a", "raw"): ("1001101101000000000001111111", "proved by enumeration of all 2^28 points"),
    ("74aa213e5abfe052", "standardized"): (
        "1010011001101100000001111011011111000111110",
        UNPROVED + "best of 500 tabu restarts",
    ),
    ("2e87f658b0e112c7", "standardized"): (
        "0" * 60,
        "proved: all clauses of positive weight are satisfied, and none of negative weight",
    ),
    ("2e87f658b0e112c7", "raw"): (
        "000001010000010000001000000001000001100000000100010000000001",
        "proved by the MaxSAT solver RC2; also in the file's header",
    ),
}
CLAUSE_LENGTH = 3
MAX_VERTICES = 1000
TIGHTNESS = 0.25  # p of model RB
DENSITY = 0.8 / math.log(4 / 3)  # r of model RB, at the threshold for size = groups^0.8


def maxsat(file: str | Path, weights: str = "raw") -> SpaceProblem:
    """Return the weighted MaxSAT problem of a file, over binary variables x1, x2, ...

    Its optimum is None if no proof is known; `prove_optimum` may find one.

    Parameters
    ----------
    file : str or Path
        File in a format of `read_wcnf`, plain or compressed.
    weights : {"raw", "standardized"}, default "raw"
        The objective to minimize: `raw_costs` or `standardized_costs` of the formula.

    Raises
    ------
    OSError, ValueError
        See `read_wcnf`; also ValueError if the weights cannot be standardized.
    DomainError
        If the formula has more than 10,000 variables.
    """
    check_choice("weights", weights, WEIGHTS)
    formula = read_wcnf(file)
    if formula.n_variables > MAX_VARIABLES:
        raise DomainError(f"{file}: expected at most {MAX_VARIABLES} variables, got {formula.n_variables}")
    objective = WEIGHTS[weights](formula)
    text, source = KNOWN.get((fingerprint(formula), weights), ("", "not known; prove_optimum may prove it"))
    vertices = bits(text) or None
    value = None if vertices is None else float(objective(np.array([vertices]))[0])
    is_proved = not source.startswith(UNPROVED)
    seeds = published_initial_seeds(TAG)
    return SpaceProblem(
        name=f"maxsat:file={file},weights={weights}",
        space=formula.space,
        vertex_objective=objective,
        initial=InitialPoints(seeds, (2,) * formula.n_variables),
        source=SOURCE,
        configs=tuple(seeds),
        optimum=value if is_proved else None,
        optimum_source=source,
        best_known=None if is_proved else value,
        optimal_vertices=vertices if is_proved else None,
    )


def fingerprint(formula: Formula) -> str:
    """Return a digest of 16 hexadecimal digits: of the number of variables, and the clauses and weights in order.

    Parameters
    ----------
    formula : Formula
        The formula.
    """
    text = repr((formula.n_variables, formula.clauses, formula.weights))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Formula:
    """Clauses of signed variable numbers, as in DIMACS files: 3 is x3, -3 its negation.

    Raises ValueError if a value is out of range, or the numbers of clauses and weights differ.

    Parameters
    ----------
    n_variables : int
        Number of variables, at least 1.
    clauses : tuple of tuple of int
        At least one clause, each a tuple of signed variable numbers.
    weights : tuple of float
        Weights of the clauses, from 0; infinite for hard clauses.
    """

    n_variables: int
    clauses: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.n_variables < 1 or not self.clauses or len(self.clauses) != len(self.weights):
            raise ValueError(
                "formula: expected at least one variable, at least one clause, and a weight for each clause; got "
                f"{self.n_variables} variables, {len(self.clauses)} clauses, {len(self.weights)} weights"
            )
        for clause, weight in zip(self.clauses, self.weights, strict=True):
            if any(literal == 0 or abs(literal) > self.n_variables for literal in clause):
                raise ValueError(f"clause: expected literals of +-1..{self.n_variables}, got {short_repr(clause)}")
            if not weight >= 0:
                raise ValueError(f"weight: expected a number of at least 0, got {weight}")

    @cached_property
    def hard(self) -> npt.NDArray[np.bool_]:
        """True for the hard clauses, (clauses,) of bool."""
        return np.isinf(self.weights)

    @cached_property
    def soft_weight(self) -> float:
        """The sum of the weights of the soft clauses."""
        return math.fsum(w for w in self.weights if not math.isinf(w))

    @property
    def space(self) -> Space:
        """The space of binary variables x1, x2, ..."""
        return Space({f"x{i + 1}": Binary() for i in range(self.n_variables)})


@dataclass(frozen=True, eq=False)
class ClauseWeight:
    """The sum of costs over the unsatisfied clauses of a point.

    An instance is a function from an array of bits, shape (m, n_variables), to an array of values, shape (m,).

    Parameters
    ----------
    formula : Formula
        The clauses.
    costs : array of float, shape (clauses,)
        Cost of each clause that is unsatisfied.
    constant : float, default 0.0
        Constant that is added to the sum.
    """

    formula: Formula
    costs: Array
    constant: float = 0.0

    def __call__(self, vertices: IntArray) -> Array:
        literals, _ = self._literals
        return evaluate_in_chunks(self._values, vertices, max(1, CHUNK_CELLS // len(literals)))

    def _values(self, vertices: IntArray) -> Array:
        literals, first = self._literals
        m, d = vertices.shape
        true = np.zeros((2 * d + 1, m), dtype=bool)  # rows of literals: 0 never, i variable i, d + i its negation
        true[1 : d + 1] = vertices.T
        np.logical_not(true[1 : d + 1], out=true[d + 1 :])
        satisfied = np.logical_or.reduceat(true[literals], first, axis=0)
        return self.costs @ ~satisfied + self.constant

    @cached_property
    def _literals(self) -> tuple[IntArray, IntArray]:
        """Rows of all literals, clause after clause, and the start of each clause; an empty clause is 0."""
        d, clauses = self.formula.n_variables, [clause or (0,) for clause in self.formula.clauses]
        rows = (literal if literal >= 0 else d - literal for clause in clauses for literal in clause)
        ends = np.cumsum(np.fromiter(map(len, clauses), np.int64, len(clauses)))
        return np.fromiter(rows, np.int64, int(ends[-1])), np.concatenate([[0], ends[:-1]])


def raw_costs(formula: Formula) -> ClauseWeight:
    """Return the weight of the unsatisfied clauses as an objective to minimize.

    A hard clause costs 1 more than all soft clauses together, so that violating it never pays off.

    Parameters
    ----------
    formula : Formula
        The formula.

    Examples
    --------
    >>> import numpy as np
    >>> from bostruct.problems.maxsat import Formula, raw_costs
    >>> formula = Formula(2, clauses=((1, 2), (-1,)), weights=(3.0, 1.0))
    >>> raw_costs(formula)(np.array([[0, 0], [0, 1], [1, 1]]))
    array([3., 0., 1.])
    """
    weights = np.where(formula.hard, formula.soft_weight + 1.0, formula.weights)
    return ClauseWeight(formula, weights)


def standardized_costs(formula: Formula) -> ClauseWeight:
    """Return minus the standardized weight of the satisfied clauses as an objective to minimize (Oh et al. 2019).

    The value is minus the sum over the satisfied clauses of (w - mean) / std, computed in float32. Satisfying a clause
    lighter than the mean then increases the objective, so its optimum is not the MaxSAT optimum. Raises ValueError if
    there are hard clauses or all weights are equal.

    Parameters
    ----------
    formula : Formula
        A formula without hard clauses.
    """
    if formula.hard.any():
        raise ValueError("weights: expected 'raw' for a formula with hard clauses; 'standardized' needs soft clauses")
    weights = np.array(formula.weights, dtype=np.float32)
    deviation = weights.std()
    if deviation == 0:
        raise ValueError("weights: expected 'raw' if all clauses have one weight; they cannot be standardized")
    scaled = ((weights - weights.mean()) / deviation).astype(np.float64)
    return ClauseWeight(formula, scaled, -float(scaled.sum()))


WEIGHTS: dict[str, Callable[[Formula], ClauseWeight]] = {"raw": raw_costs, "standardized": standardized_costs}


class Header(NamedTuple):
    """The counts in the line `p wcnf variables clauses [top]` or `p cnf variables clauses`.

    Attributes
    ----------
    n_variables, n_clauses : int
        Number of variables and clauses.
    top : float
        Smallest weight of a hard clause; infinite if the line has no top.
    is_weighted : bool
        True if each clause starts with its weight.
    """

    n_variables: int
    n_clauses: int
    top: float
    is_weighted: bool


def read_wcnf(path: str | Path) -> Formula:
    """Read a formula from a file.

    The file has `p wcnf variables clauses [top]` and `weight literals 0`; or `p cnf variables clauses` and
    `literals 0`, for weights of 1; or no header, and `h` for hard. With a header, a clause may span lines.

    Parameters
    ----------
    path : str or Path
        The file, .wcnf or .cnf, plain or compressed (.gz, .bz2, .xz).

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If the file is malformed, naming file and line, or not a regular file.
    """
    header, clauses, weights = None, [], []
    weight, literals = None, []  # the current clause
    with read_lines(path) as lines:
        for line in lines:
            tokens, place = line.split(), 0
            if not tokens or tokens[0].startswith("c"):
                continue
            if tokens[0] == "%":  # the end of the clauses in files of SATLIB
                break
            if tokens[0] == "p":
                header = _header(tokens, header, bool(clauses) or weight is not None)
                continue
            while place < len(tokens):
                if weight is None and (header is None or header.is_weighted):
                    weight, place = _weight(tokens, place, header), place + 1
                try:
                    end = tokens.index("0", place)
                except ValueError:
                    end = len(tokens)
                literals += _literals(tokens, range(place, end), header)
                place, weight = end + 1, 1.0 if weight is None else weight
                if header is None and place != len(tokens):
                    raise WrongWord("expected literals that end with one 0", min(place, len(tokens) - 1))
                if place <= len(tokens):
                    clauses.append(tuple(literals))
                    weights.append(weight)
                    weight, literals = None, []
        if weight is not None:
            raise ValueError("expected literals that end with one 0")
        if header is not None and len(clauses) != header.n_clauses:
            raise ValueError(f"the header declares {header.n_clauses} clauses, the file has {len(clauses)}")
        if not clauses:
            raise ValueError("expected at least one clause, got none")
    largest = max((abs(literal) for clause in clauses for literal in clause), default=0)
    return Formula(header.n_variables if header else max(1, largest), tuple(clauses), tuple(weights))


def write_wcnf(formula: Formula, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a formula in the old format, which keeps the number of variables; `read_wcnf` reads an equal formula.

    Parameters
    ----------
    formula : Formula
        The formula.
    path : str or Path
        The file; the endings .gz, .bz2 and .xz compress it.
    overwrite : bool, default False
        True replaces an existing file, but never a database.

    Raises
    ------
    OutputRefused, OSError
        If the file must not be replaced, a FileExistsError, or cannot be written.
    """
    top = math.floor(formula.soft_weight) + 1
    lines = [f"p wcnf {formula.n_variables} {len(formula.clauses)} {top}"]
    for clause, weight in zip(formula.clauses, formula.weights, strict=True):
        shown_weight = top if math.isinf(weight) else int(weight) if weight.is_integer() else repr(weight)
        lines.append(" ".join(map(str, (shown_weight, *clause, 0))))
    path = Path(path)
    compress = getattr(COMPRESSION.get(path.suffix), "compress", bytes)
    write_output(path, compress(("\n".join(lines) + "\n").encode("ascii")), "formula", overwrite=overwrite)


def _header(tokens: list[str], before: Header | None, has_clauses: bool) -> Header:
    if before is not None or has_clauses:
        raise ValueError("expected one header, before the clauses")
    lengths = {"wcnf": (4, 5), "cnf": (4,)}.get(tokens[1] if len(tokens) > 1 else "", ())
    if len(tokens) not in lengths or not all(token.isdigit() and len(token) <= MAX_DIGITS for token in tokens[2:]):
        raise ValueError("expected 'p wcnf variables clauses [top]' or 'p cnf variables clauses'")
    if int(tokens[2]) < 1:
        raise ValueError("expected at least one variable")
    top = int(tokens[4]) if len(tokens) == 5 else math.inf
    return Header(int(tokens[2]), int(tokens[3]), top, tokens[1] == "wcnf")


def _weight(tokens: list[str], place: int, header: Header | None) -> float:
    token = tokens[place]
    if token == "h":
        if header is not None:
            raise WrongWord("expected a weight, got 'h', which needs a file without a header", place)
        return math.inf
    try:
        weight = _read_dimacs_number(token, int if token.isdigit() else float)
    except ValueError:
        raise WrongWord(f"expected a weight{'' if header else ' or h'}, got {short_repr(token)}", place) from None
    if header is not None and weight >= header.top < math.inf:  # without a top no clause is hard
        return math.inf
    if not 0 <= weight <= EXACT:
        raise WrongWord(f"expected a weight of at least 0, at most 2^53, got {short_repr(token)}", place)
    return float(weight)


def _literals(tokens: list[str], places: range, header: Header | None) -> list[int]:
    literals, most = [], header.n_variables if header else math.inf
    for place in places:
        try:
            literal = int(_read_dimacs_number(tokens[place], int))
        except ValueError:
            after = " after the weight" if not header or header.is_weighted else ""
            raise WrongWord(f"expected integers{after}", place) from None
        if literal == 0:  # such as 00
            raise WrongWord("expected literals that end with one 0", place)
        if abs(literal) > most:
            raise WrongWord(f"expected literals of +-1..{most}, as the header declares", place)
        literals.append(literal)
    return literals


def _read_dimacs_number(token: str, read: Callable[[str], float]) -> float:
    """Read a number; raise ValueError also for `1_0`, which is a number only in Python."""
    if "_" in token:
        raise ValueError
    return read(token)


def prove_optimum(problem: SpaceProblem, seconds: float = 60.0) -> SpaceProblem:
    """Return a copy of the problem with its optimum proved.

    The proof is by enumeration up to 14 variables, or 28 if no clause has more than two literals; otherwise by the
    MaxSAT solver RC2 of python-sat (extra `sat`), which needs positive costs, as with weights="raw".

    Parameters
    ----------
    problem : SpaceProblem
        A weighted MaxSAT problem. Prove it before relabeling.
    seconds : float, default 60.0
        Approximate time limit of the solver in seconds, at least 0.

    Raises
    ------
    DomainError
        For another kind of problem, a relabeled problem, negative costs, or contradictory hard clauses.
    MissingExtra, TimeoutError
        If the solver is not installed, or has no proof after `seconds`.

    Examples
    --------
    >>> from bostruct.problems.maxsat import max3sat, prove_optimum
    >>> prove_optimum(max3sat(n_variables=12, n_clauses=40)).optimum_source
    'proved by enumeration'
    """
    seconds = check_number("seconds", seconds, 0.0)
    objective = problem.vertex_objective
    if not isinstance(objective, ClauseWeight):
        raise DomainError(f"problem: expected weighted MaxSAT, not relabeled; got {problem.name}")
    if problem.space.d <= MAX_ENUMERATED_VARIABLES:
        return prove_by_enumeration(problem)
    if problem.space.d <= MAX_QUADRATIC_VARIABLES and max(map(len, objective.formula.clauses)) <= 2:
        point = least_quadratic(*quadratic_form(objective))
        source = f"proved by enumeration of all 2^{problem.space.d} points"
    elif (objective.costs < 0).any():
        raise DomainError(f"{problem.name}: RC2 needs positive costs: use weights='raw'")
    else:
        point, source = _rc2(problem.name, objective, seconds), "proved by the MaxSAT solver RC2"
    value = float(objective(np.array([point]))[0])
    return replace(problem, optimum=value, optimum_source=source, optimal_vertices=point)


def quadratic_form(objective: ClauseWeight) -> tuple[Array, Array]:
    """Return Q and b of an objective x Q x + b x plus a constant.

    Parameters
    ----------
    objective : ClauseWeight
        Objective over clauses of 1 or 2 literals.

    Returns
    -------
    pairs : array of float, shape (d, d)
        Q, upper triangular, for d variables.
    linear : array of float, shape (d,)
        b.
    """
    d = objective.formula.n_variables
    pairs, linear = np.zeros((d, d)), np.zeros(d)
    for clause, cost in zip(objective.formula.clauses, objective.costs, strict=True):
        # unsatisfied: product over its literals of 1 - x if positive, of x if negative
        parts = [(abs(literal) - 1, 1.0, -1.0) if literal > 0 else (abs(literal) - 1, 0.0, 1.0) for literal in clause]
        if len(parts) == 1:
            linear[parts[0][0]] += cost * parts[0][2]
        elif len(parts) == 2:
            (i, p, s), (j, q, t) = parts
            linear[i] += cost * s * q
            linear[j] += cost * p * t
            pairs[min(i, j), max(i, j)] += cost * s * t
    return pairs, linear


def least_quadratic(pairs: Floats, linear: Floats) -> tuple[int, ...]:
    """Return the d bits that minimize x Q x + b x, by enumeration in two halves, in the precision of Q.

    Parameters
    ----------
    pairs : array of float, shape (d, d)
        Q, upper triangular, d at most 28.
    linear : array of float, shape (d,)
        b.
    """
    d = len(linear)
    half = d // 2
    halves = [slice(0, half), slice(half, d)]
    points = [all_bits(half).astype(pairs.dtype), all_bits(d - half).astype(pairs.dtype)]
    own = [
        np.einsum("ai,ij,aj->a", x, pairs[part, part], x, optimize=True) + x @ linear[part]
        for x, part in zip(points, halves, strict=True)
    ]
    cross = points[0] @ pairs[halves[0], halves[1]]
    best, rows = math.inf, (0, 0)
    for first in range(0, len(cross), 256):
        values = cross[first : first + 256] @ points[1].T
        values += own[1]
        least = values.argmin(axis=1)
        totals = values[np.arange(len(values)), least] + own[0][first : first + 256]
        row = int(totals.argmin())
        if totals[row] < best:
            best, rows = float(totals[row]), (first + row, int(least[row]))
    return tuple(int(b) for x, at in zip(points, rows, strict=True) for b in x[at])


def _rc2(name: str, objective: ClauseWeight, seconds: float) -> tuple[int, ...]:
    formulas, rc2 = optional_import("pysat.formula", "sat"), optional_import("pysat.examples.rc2", "sat")
    formula = objective.formula
    weights = [Fraction(cost) for cost in objective.costs]
    scale = math.lcm(*(weight.denominator for weight in weights))  # floats are fractions: integers, exactly
    encoded = formulas.WCNF()
    for clause, weight, hard in zip(formula.clauses, weights, formula.hard, strict=True):
        if hard:
            encoded.append(list(clause))
        elif clause and weight:
            encoded.append(list(clause), weight=int(weight * scale))
    if not encoded.soft:
        encoded.append([1], weight=1)  # RC2 needs a soft clause
    with rc2.RC2Stratified(encoded, adapt=True, exhaust=True, minz=True) as solver:
        is_late = Event()

        def interrupt() -> None:
            is_late.set()  # first: RC2 may forget that it was interrupted
            solver.interrupt()

        timer = Timer(seconds, interrupt)
        timer.start()
        try:
            model = solver.compute(expect_interrupt=True)
        finally:
            timer.cancel()
            timer.join()
        if model is None and is_late.is_set():
            raise TimeoutError(f"{name}: RC2 has not proved an optimum in {seconds:g} s")
    if model is None:
        raise DomainError(f"{name}: its hard clauses cannot all hold")
    true = set(model)
    return tuple(int(i + 1 in true) for i in range(formula.n_variables))


def max3sat_formula(n_variables: int, n_clauses: int, seed: int) -> tuple[Formula, tuple[int, ...]]:
    """Return random three-literal clauses with weights U(0, 1), and a hidden assignment that satisfies all of them.

    The hidden assignment is drawn at random, then each clause uniformly (three different variables, random signs) until
    the hidden assignment satisfies it.

    Parameters
    ----------
    n_variables, n_clauses, seed : int
        See `max3sat`, also for errors.
    """
    n_variables = check_integer("variables", n_variables, CLAUSE_LENGTH, 1000)
    n_clauses = check_integer("clauses", n_clauses, 1, 1_000_000)
    rng = np.random.default_rng([check_integer("seed", seed, 0), n_variables, n_clauses])
    hidden = rng.integers(0, 2, n_variables)
    clauses = []
    while len(clauses) < n_clauses:
        chosen = rng.choice(n_variables, CLAUSE_LENGTH, replace=False)
        positive = rng.integers(0, 2, CLAUSE_LENGTH)
        if (hidden[chosen] == positive).any():
            clauses.append(tuple(np.where(positive == 1, chosen + 1, -chosen - 1).tolist()))
    weights = 1.0 - rng.random(n_clauses)  # (0, 1], because a clause of weight 0 would have no effect
    return Formula(n_variables, tuple(clauses), tuple(map(float, weights))), tuple(map(int, hidden))


def max3sat(n_variables: int = 60, n_clauses: int = 300, seed: int = 0) -> SpaceProblem:
    """Return a random weighted Max-3-SAT problem: minimize the weight of the unsatisfied clauses; optimum 0.

    Raises TypeError or ValueError.

    Parameters
    ----------
    n_variables : int, default 60
        Number of binary variables, 3 to 1000.
    n_clauses : int, default 300
        Number of clauses, 1 to 1,000,000; all clauses can be satisfied.
    seed : int, default 0
        Seed of the instance, from 0.
    """
    formula, hidden = max3sat_formula(n_variables, n_clauses, seed)
    return SpaceProblem(
        name=f"max3sat:variables={n_variables},clauses={n_clauses},seed={seed}",
        space=formula.space,
        vertex_objective=raw_costs(formula),
        initial=InitialPoints(GENERATED_SEEDS, (2,) * n_variables),
        source="generated: uniform clauses that a hidden random assignment satisfies",
        configs=tuple(GENERATED_SEEDS),
        optimum=0.0,
        optimum_source="proved: a hidden assignment satisfies every clause",
        optimal_vertices=hidden,
    )


def johnson_graph(n: int, k: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the number of vertices of a Johnson graph, n over k, and its edges, pairs of vertices from 0.

    Its vertices are the k-subsets of n elements, joined if they share as few elements as possible. It is the graph of
    the DIMACS file johnsonN-K-D with D = 2K: johnson8-2-4 is (8, 2), 28 vertices and 210 edges.

    Parameters
    ----------
    n, k : int
        Number of elements, and of the elements in a subset.
    """
    subsets = [set(chosen) for chosen in itertools.combinations(range(n), k)]
    least = max(0, 2 * k - n)
    pairs = itertools.combinations(range(len(subsets)), 2)
    return len(subsets), [(a, b) for a, b in pairs if len(subsets[a] & subsets[b]) == least]


def maxcut_formula(n: int, k: int, seed: int) -> Formula:
    """Return weighted max-cut on a Johnson graph, with weights 1 to 10.

    An edge becomes the clauses (a or b) and (not a or not b).

    Parameters
    ----------
    n, k, seed : int
        See `maxcut`, also for errors.
    """
    n = check_integer("n", n, 3, 1000)
    k = check_integer("k", k, 1, n - 1)
    if math.comb(n, k) > MAX_VERTICES:
        raise ValueError(f"n, k: expected at most {MAX_VERTICES} vertices, got {math.comb(n, k)} for n={n}, k={k}")
    vertices, edges = johnson_graph(n, k)
    rng = np.random.default_rng([check_integer("seed", seed, 0), n, k])
    weights = rng.integers(1, 11, len(edges)).astype(float).tolist()
    clauses = [clause for a, b in edges for clause in ((a + 1, b + 1), (-a - 1, -b - 1))]
    return Formula(vertices, tuple(clauses), tuple(w for weight in weights for w in (weight, weight)))


def maxcut(n: int = 8, k: int = 2, seed: int = 0) -> SpaceProblem:
    """Return a weighted max-cut problem on a Johnson graph: minimize the weight of the edges that are not cut.

    The optimum is proved if the graph has at most 28 vertices, in half a second. Raises TypeError or ValueError.

    Parameters
    ----------
    n : int, default 8
        Number of elements of `johnson_graph`, 3 to 1000.
    k : int, default 2
        Number of elements in a subset, 1 to n - 1; the graph has at most 1000 vertices, n over k.
    seed : int, default 0
        Seed of the weights, from 0.
    """
    formula = maxcut_formula(n, k, seed)
    objective, d = raw_costs(formula), formula.n_variables
    problem = SpaceProblem(
        name=f"maxcut:n={n},k={k},seed={seed}",
        space=formula.space,
        vertex_objective=objective,
        initial=InitialPoints(GENERATED_SEEDS, (2,) * d),
        source="generated: like maxcut-johnson8-2-4 of the MaxSAT Evaluation 2018",
        configs=tuple(GENERATED_SEEDS),
    )
    if d > MAX_QUADRATIC_VARIABLES:
        return problem
    pairs, linear = (part.astype(np.float32) for part in quadratic_form(objective))  # exact: small integers
    half = (*least_quadratic(pairs[:-1, :-1], linear[:-1]), 0)  # a point and its complement cut the same edges
    return replace(
        problem,
        optimum=float(objective(np.array([half]))[0]),
        optimum_source=f"proved by enumeration of all 2^{d - 1} cuts",
        optimal_vertices=half,
    )


def frb_formula(groups: int, size: int, seed: int) -> tuple[Formula, tuple[int, ...]]:
    """Return a forced satisfiable instance of model RB as weighted MaxSAT, and its hidden solution.

    As in the frb files, variable (g, v) means that group g takes value v. Each variable has a unit clause of weight 1,
    and each forbidden pair a clause (not a or not b) that weighs more than all units. Forbidden are the pairs within a
    group, and p size^2 value pairs of each of r n ln n random constraints, none of which forbids the hidden solution. n
    is the number of groups, p = 0.25, r = 0.8 / ln(4/3): the threshold of satisfiability. Source: Xu, Boussemart,
    Hemery and Lecoutre 2007.

    Parameters
    ----------
    groups, size, seed : int
        See `frb`, also for errors.
    """
    groups = check_integer("groups", groups, 2, 1000)
    size = check_integer("size", size, 2, 1000)
    d = groups * size
    if d > MAX_VERTICES:
        raise ValueError(f"groups, size: expected at most {MAX_VERTICES} variables, got {d}")
    rng = np.random.default_rng([check_integer("seed", seed, 0), groups, size])
    hidden = rng.integers(0, size, groups)
    forbidden = {(g * size + a, g * size + b) for g in range(groups) for a, b in itertools.combinations(range(size), 2)}
    for _ in range(round(DENSITY * groups * math.log(groups))):
        first, second = sorted(rng.choice(groups, 2, replace=False).tolist())
        solution = hidden[first] * size + hidden[second]
        allowed = np.delete(np.arange(size**2), solution)
        for pair in rng.choice(allowed, round(TIGHTNESS * size**2), replace=False).tolist():
            forbidden.add((first * size + pair // size, second * size + pair % size))
    units = [(v + 1,) for v in range(d)]
    pairs = [(-a - 1, -b - 1) for a, b in sorted(forbidden)]
    point = np.zeros(d, dtype=np.int64)
    point[np.arange(groups) * size + hidden] = 1
    weights = (1.0,) * d + (d + 1.0,) * len(pairs)
    return Formula(d, (*units, *pairs), weights), tuple(point.tolist())


def frb(groups: int = 10, size: int = 6, seed: int = 0) -> SpaceProblem:
    """Return a problem of model RB, forced satisfiable: minimize the weight of the unsatisfied clauses.

    The optimum, groups x size - groups, is proved by a hidden solution. Raises TypeError or ValueError.

    Parameters
    ----------
    groups : int, default 10
        Number of groups of variables, 2 to 1000.
    size : int, default 6
        Number of values of each group, 2 to 1000; groups times size is at most 1000.
    seed : int, default 0
        Seed of the instance, from 0.
    """
    formula, hidden = frb_formula(groups, size, seed)
    return SpaceProblem(
        name=f"frb:groups={groups},size={size},seed={seed}",
        space=formula.space,
        vertex_objective=raw_costs(formula),
        initial=InitialPoints(GENERATED_SEEDS, (2,) * formula.n_variables),
        source="generated: model RB, forced satisfiable, Xu et al. 2007; like the frb files of the MaxSAT Evaluation",
        configs=tuple(GENERATED_SEEDS),
        optimum=float(groups * size - groups),
        optimum_source="proved: a hidden solution takes one value per group; a second value costs more than it gains",
        optimal_vertices=hidden,
    )
