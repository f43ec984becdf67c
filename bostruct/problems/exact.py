"""Proved optima of weighted MaxSAT problems: by enumeration where that is possible, else by a MaxSAT solver."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from threading import Event, Timer
from typing import Any

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_number, optional_import
from bostruct.contracts import Array, DomainError
from bostruct.problems.base import SpaceProblem, all_bits, prove_by_enumeration
from bostruct.problems.formula import ClauseWeight

Floats = npt.NDArray[np.floating[Any]]
MAX_QUADRATIC_VARIABLES = 28
MAX_ENUMERATED_VARIABLES = 14


def prove_optimum(problem: SpaceProblem, seconds: float = 60.0) -> SpaceProblem:
    """Return the problem with its optimum proved.

    The proof is by enumeration up to 14 variables, or 28 where no clause has more than two literals; else by the MaxSAT
    solver RC2 of python-sat (extra `sat`), which needs all costs positive, as with weights="raw".

    problem: weighted MaxSAT.
    seconds: in the solver, at most, roughly.

    Raises DomainError for another kind of problem, a relabeled one (prove first, relabel then), negative costs, or hard
    clauses that cannot all hold; MissingExtra; TimeoutError after `seconds`.
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
        raise DomainError(f"{problem.name}: RC2 proves only costs that are positive: use weights='raw'")
    else:
        point, source = _rc2(problem.name, objective, seconds), "proved by the MaxSAT solver RC2"
    value = float(objective(np.array([point]))[0])
    return replace(problem, optimum=value, optimum_source=source, optimal_vertices=point)


def quadratic_form(objective: ClauseWeight) -> tuple[Array, Array]:
    """Return (d, d) upper triangular Q and (d,) b of an objective x Q x + b x and a constant.

    objective: of clauses of 1 or 2 literals.
    """
    d = objective.formula.n_variables
    pairs, linear = np.zeros((d, d)), np.zeros(d)
    for clause, cost in zip(objective.formula.clauses, objective.costs, strict=True):
        # unsatisfied: product over its literals of 1 - x where positive, of x where negative
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
    """Return a minimizer over bits of x Q x + b x, by enumeration in two halves, in the precision of Q.

    pairs: Q (d, d), upper triangular, d at most 28.
    linear: b (d,).
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
    best, where = math.inf, (0, 0)
    for first in range(0, len(cross), 256):
        values = cross[first : first + 256] @ points[1].T
        values += own[1]
        least = values.argmin(axis=1)
        totals = values[np.arange(len(values)), least] + own[0][first : first + 256]
        row = int(totals.argmin())
        if totals[row] < best:
            best, where = float(totals[row]), (first + row, int(least[row]))
    return tuple(int(b) for x, at in zip(points, where, strict=True) for b in x[at])


def _rc2(name: str, objective: ClauseWeight, seconds: float) -> tuple[int, ...]:
    formulas, rc2 = optional_import("pysat.formula", "sat"), optional_import("pysat.examples.rc2", "sat")
    formula = objective.formula
    weights = [Fraction(cost) for cost in objective.costs]
    scale = math.lcm(*(weight.denominator for weight in weights))  # floats are fractions: integers, exactly
    encoded = formulas.WCNF()
    for clause, weight, hard in zip(formula.clauses, weights, formula.hard, strict=True):
        if hard:
            encoded.append(list(clause))
        elif clause:
            encoded.append(list(clause), weight=int(weight * scale))
    if not encoded.soft:
        encoded.append([1], weight=1)  # RC2 asks for a soft clause
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
