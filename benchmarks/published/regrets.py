"""The distance of each run of the published benchmarks from the least known value of its instance."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.peers.verdicts import Found, Index, find_best
from benchmarks.published.cases import CASES, CONFIGS, RELABELED

AT_OPTIMUM = 1e-6  # tolerance above the optimum within which a value counts as the optimum, because of rounding errors


def list_regrets(index: Index, problem: str, search: str) -> np.ndarray:
    """Return the regret of each run (n,), without runs whose least value is unknown.

    index: of the runs.
    problem, search: names.
    """
    own = index.get((problem, search), {})
    best = find_best(index, problem, search, trials_of(problem))
    known = {config: found["best_known"] for config, found in own.items() if found["best_known"] is not None}
    return np.array([best[config] - known[config] for config in sorted(best.keys() & known.keys())])


def find_mean_optimum(index: Index, problem: str) -> float | None:
    """Return the mean of the least value over all configurations; None if some of them are unknown.

    index: of the runs.
    problem: its name.
    """
    known = {
        config: found["best_known"]
        for (name, _), own in index.items()
        for config, found in own.items()
        if name == problem and found["best_known"] is not None
    }
    return math.fsum(known.values()) / len(known) if len(known) == len(CONFIGS) else None


def trials_of(problem: str) -> int:
    """Return the published number of trials.

    problem: one of `PROBLEMS`.
    """
    return CASES[problem.removesuffix(RELABELED)].trials


def find_optimal_trial(found: Found) -> int | None:
    """Return the first trial of a run that had the least known value; None if no trial had it.

    found: the run.
    """
    known = found["best_known"]
    hits = [n for n, value in found["improvements"] if known is not None and value <= known + AT_OPTIMUM]
    return hits[0] if hits else None
