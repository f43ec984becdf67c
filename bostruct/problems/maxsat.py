"""Weighted MaxSAT from a DIMACS .wcnf file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bostruct.checks import check_choice
from bostruct.contracts import DomainError
from bostruct.domains.space.space import MAX_VARIABLES
from bostruct.problems.base import InitialPoints, SpaceProblem, bits, published_initial_seeds
from bostruct.problems.dimacs import read_wcnf
from bostruct.problems.formula import ClauseWeight, Formula, raw_costs, standardized_costs

TAG = "2019NeurIPS_MAXSAT"
SOURCE = "Oh et al., NeurIPS 2019 (COMBO) for the standardized objective; MaxSAT Evaluation 2018 for its files"
WEIGHTS: dict[str, Callable[[Formula], ClauseWeight]] = {"raw": raw_costs, "standardized": standardized_costs}

UNPROVED = "not proved: "

# By `fingerprint` of the formula, and weights: a best point, and how far it is known to be one.
KNOWN = {
    ("6f0d609031fb4e6a", "standardized"): ("1011101100101000010100010110", "proved by enumeration of all 2^28 points"),
    ("6f0d609031fb4e6a", "raw"): ("1001101101000000000001111111", "proved by enumeration of all 2^28 points"),
    ("74aa213e5abfe052", "standardized"): (
        "1010011001101100000001111011011111000111110",
        UNPROVED + "best of 500 tabu restarts",
    ),
    ("2e87f658b0e112c7", "standardized"): (
        "0" * 60,
        "proved: every clause that counts for is satisfied, and none that counts against",
    ),
    ("2e87f658b0e112c7", "raw"): (
        "000001010000010000001000000001000001100000000100010000000001",
        "proved by the MaxSAT solver RC2; also in the file's header",
    ),
}


def maxsat(file: str | Path, weights: str = "raw") -> SpaceProblem:
    """Return the weighted MaxSAT problem of a file, over binary variables x1, x2, ...

    file: plain, .gz or .xz.
    weights: "raw" minimizes the weight of the unsatisfied clauses, where a hard clause weighs the sum of all soft ones
    plus 1; "standardized" minimizes what the COMBO paper did: minus the sum over satisfied clauses of (w - mean) / std,
    which makes light clauses count against a point.

    Raises OSError, ValueError (naming file and line), DomainError.
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
    """Return a digest of a formula: of its number of variables, its clauses and weights, in order.

    formula: equal ones have equal digests.
    """
    text = repr((formula.n_variables, formula.clauses, formula.weights))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
