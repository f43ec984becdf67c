"""Weighted MaxSAT from a seed, so that nothing need be downloaded."""

from __future__ import annotations

import numpy as np

from bostruct.checks import check_integer
from bostruct.problems.base import GENERATED_SEEDS, InitialPoints, Problem
from bostruct.problems.formula import Formula, raw_costs

CLAUSE_LENGTH = 3


def max3sat_formula(n_variables: int, n_clauses: int, seed: int) -> tuple[Formula, tuple[int, ...]]:
    """Random three-literal clauses with weights U(0, 1), and a hidden assignment that satisfies all of them.

    The hidden assignment is drawn at random, then each clause uniformly (three different variables, random signs), and
    again where the hidden assignment does not satisfy it. Raises TypeError or ValueError.
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


def max3sat(n_variables: int = 60, n_clauses: int = 300, seed: int = 0) -> Problem:
    """Random weighted Max-3-SAT that can be satisfied: minimise the weight of the unsatisfied clauses; optimum 0.

    Raises TypeError or ValueError.
    """
    formula, hidden = max3sat_formula(n_variables, n_clauses, seed)
    return Problem(
        name=f"max3sat:variables={n_variables},clauses={n_clauses},seed={seed}",
        space=formula.space,
        objective=raw_costs(formula),
        initial=InitialPoints(GENERATED_SEEDS, (2,) * n_variables),
        source="generated: uniform clauses that a hidden random assignment satisfies",
        configs=tuple(GENERATED_SEEDS),
        optimum=0.0,
        optimum_source="proved: a hidden assignment satisfies every clause",
        optimal_vertices=hidden,
    )
