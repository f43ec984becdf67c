"""Weighted MaxSAT from a seed, so that nothing need be downloaded."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from bostruct.checks import check_integer
from bostruct.problems.base import GENERATED_SEEDS, InitialPoints, SpaceProblem
from bostruct.problems.maxsat import MAX_QUADRATIC_VARIABLES, Formula, least_quadratic, quadratic_form, raw_costs

CLAUSE_LENGTH = 3
MAX_VERTICES = 1000
TIGHTNESS = 0.25  # p of model RB
DENSITY = 0.8 / math.log(4 / 3)  # r of model RB, at the threshold for size = groups^0.8


def max3sat_formula(n_variables: int, n_clauses: int, seed: int) -> tuple[Formula, tuple[int, ...]]:
    """Return random three-literal clauses with weights U(0, 1), and a hidden assignment that satisfies all of them.

    The hidden assignment is drawn at random, then each clause uniformly (three different variables, random signs), and
    again if the hidden assignment does not satisfy it.

    n_variables: 3 to 1000.
    n_clauses: 1 to 1,000,000.
    seed: from 0.

    Raises TypeError or ValueError.
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
    weights = 1.0 - rng.random(n_clauses)  # (0, 1], for a clause of weight 0 would be none
    return Formula(n_variables, tuple(clauses), tuple(map(float, weights))), tuple(map(int, hidden))


def max3sat(n_variables: int = 60, n_clauses: int = 300, seed: int = 0) -> SpaceProblem:
    """Return a random weighted Max-3-SAT problem: minimize the weight of the unsatisfied clauses; optimum 0.

    n_variables: binary variables, 3 to 1000.
    n_clauses: 1 to 1,000,000; all of them can be satisfied.
    seed: of the instance, from 0.

    Raises TypeError or ValueError.
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
    """Return a Johnson graph as its number of vertices, and its edges.

    Its vertices are the k-subsets of n, joined if they share as little as possible.

    n: number of elements.

    The graph of the DIMACS file johnsonN-K-D with D = 2K: johnson8-2-4 is (8, 2), 28 vertices and 210 edges.
    """
    subsets = [set(chosen) for chosen in itertools.combinations(range(n), k)]
    least = max(0, 2 * k - n)
    pairs = itertools.combinations(range(len(subsets)), 2)
    return len(subsets), [(a, b) for a, b in pairs if len(subsets[a] & subsets[b]) == least]


def maxcut_formula(n: int, k: int, seed: int) -> Formula:
    """Return weighted max-cut on a Johnson graph, weights 1 to 10.

    An edge is the clauses (a or b) and (not a or not b).
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

    n: number of elements.

    The optimum is proved when the graph has at most 28 vertices, in half a second. Raises TypeError or ValueError.
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
    half = (*least_quadratic(pairs[:-1, :-1], linear[:-1]), 0)  # a point and its complement cut the same
    return replace(
        problem,
        optimum=float(objective(np.array([half]))[0]),
        optimum_source=f"proved by enumeration of all 2^{d - 1} cuts",
        optimal_vertices=half,
    )


def frb_formula(groups: int, size: int, seed: int) -> tuple[Formula, tuple[int, ...]]:
    """Return a forced satisfiable instance of model RB as weighted MaxSAT, and its hidden solution.

    As in the frb files: variable (g, v), "group g takes value v"; a unit clause of weight 1 for each, and for each
    forbidden pair (not a or not b) with a weight above that of all units: the pairs within a group, and those of
    r n ln n random constraints of p size^2 value pairs each, none of which forbids the hidden solution. n is the number
    of groups, p = 0.25, r = 0.8 / ln(4/3): the threshold of satisfiability.

    groups: number of groups, 2 to 1000.
    size: values of each group, 2 to 1000; groups times size is bounded by `MAX_VERTICES`.
    seed: an integer from 0.

    Raises TypeError, ValueError. Source: Xu, Boussemart, Hemery and Lecoutre 2007.
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

    groups: number of groups of variables.

    Raises TypeError or ValueError.
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
        optimum_source="proved: a hidden solution takes one value per group; a second one costs more than it gains",
        optimal_vertices=hidden,
    )
