"""Whether a search is behind `auto`, tied with it or ahead: paired differences, their intervals, Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.groups import OURS
from benchmarks.peers.run import Run
from bostruct.comparison.statistics import LEVEL, Difference, correct_by_holm, estimate_difference

MARGIN = 0.05  # of random search's gap; fixed before any interval was compared with it
LEAST_SEEDS = 5  # for a verdict
BASELINE = "random"
BEHIND, TIED, UNDECIDED, AHEAD, FEW = "behind", "tied", "undecided", "**ahead**", "few seeds"
UNCORRECTED = ", not after Holm"  # if the interval excludes zero, but the corrected test is not significant
OPTIMA = {  # of problems whose minimum is known and equal for all seeds
    "branin": 0.39788735773,
    "hartmann-6": -3.32236801142,
    "levy-10": 0.0,
    "rosenbrock-4": 0.0,
    "ackley, categories": 0.0,
    "labs-50": -(50**2) / 306,  # Packebusch and Mertens 2016
    "ackley 20x11, smooth": 0.0,
    "ackley 20x11, rough": 0.0,
}
Found = Mapping[str, Any]  # as `benchmarks.peers.run.take` returns it
Index = Mapping[tuple[str, str], Mapping[int, Found]]  # by problem and search, then by seed


class Row(NamedTuple):
    """A search compared with `auto` on a problem.

    problem, search: names.
    mark: trials after which they are compared.
    difference: None if fewer than two seeds have runs of both.
    margin: half the width of the interval of a tie.
    verdict: on the search; empty without a difference.
    """

    problem: str
    search: str
    mark: int
    difference: Difference | None
    margin: float
    verdict: str


def index_runs(runs: Mapping[Run, Found]) -> Index:
    """Return the whole runs by problem and search, the longest one of each seed.

    runs: the results of each run, or why it is missing.
    """
    index: dict[tuple[str, str], dict[int, Found]] = {}
    for run, found in sorted(runs.items(), key=lambda item: item[0].trials):
        if "missing" not in found and not found["cut"]:
            index.setdefault((run.problem, run.search), {})[run.seed] = found
    return index


def find_best(index: Index, problem: str, search: str, mark: int) -> dict[int, float]:
    """Return the best value after some trials by seed.

    index: of the runs.
    problem, search: names.
    mark: trials; runs that are shorter, or had no value by then, are left out.
    """
    return {
        seed: min(value for n, value in found["improvements"] if n <= mark)
        for seed, found in index.get((problem, search), {}).items()
        if found["evaluated"] >= mark and any(n <= mark for n, _ in found["improvements"])
    }


def find_best_known(index: Index, problem: str) -> dict[int, float]:
    """Return the optimum by seed if it is known, otherwise the lowest value that any run found on the instance.

    index: of the runs.
    problem: its name.
    """
    known: dict[int, float] = {}
    for (name, _), own in index.items():
        for seed, found in own.items() if name == problem else ():
            values = [known.get(seed, math.inf), *(value for _, value in found["improvements"])]
            known[seed] = OPTIMA[problem] if problem in OPTIMA else min(values)
    return known


def find_margin(index: Index, problem: str, mark: int) -> float:
    """Return the margin of a problem, `MARGIN` times random search's gap; 0 if random search has no runs.

    The gap is the mean over seeds of random search's best value after `mark` trials minus the lowest value known of the
    same instance.

    index: of the runs.
    problem: its name.
    mark: trials.
    """
    known = find_best_known(index, problem)
    gaps = [value - known[seed] for seed, value in find_best(index, problem, BASELINE, mark).items()]
    return MARGIN * float(np.mean(gaps)) if gaps else 0.0


def compare(index: Index, problem: str, search: str, mark: int) -> np.ndarray:
    """Return the best values of a search minus those of `auto`, one for each seed that both have (n,).

    index: of the runs.
    problem, search: names.
    mark: trials after which they are compared.
    """
    own, base = (find_best(index, problem, name, mark) for name in (search, OURS))
    return np.array([own[seed] - base[seed] for seed in sorted(own.keys() & base.keys())])


def judge(difference: Difference | None, margin: float, adjusted_p: float) -> str:
    """Return the verdict on a search; empty without a difference.

    difference: between the search and `auto`.
    margin: half the width of the interval of a tie.
    adjusted_p: p-value, corrected for the problems of the search.
    """
    if difference is None:
        return ""
    if difference.n < LEAST_SEEDS:
        return FEW
    if -margin <= difference.low and difference.high <= margin:
        return TIED
    if difference.p is None or difference.p >= LEVEL:
        return UNDECIDED
    side = BEHIND if difference.mean > 0.0 else AHEAD
    return side if adjusted_p < LEVEL else side + UNCORRECTED


def judge_search(index: Index, search: str, problems: Iterable[str], mark: int) -> list[Row]:
    """Judge a search on the problems on which it has runs, which are the family of Holm's correction.

    index: of the runs.
    search: its name.
    problems: names.
    mark: trials after which it is compared.
    """
    names = [problem for problem in problems if find_best(index, problem, search, mark)]
    differences = [estimate_difference(compare(index, problem, search, mark).tolist()) for problem in names]
    ps = {
        i: one.p for i, one in enumerate(differences) if one is not None and one.n >= LEAST_SEEDS and one.p is not None
    }
    adjusted = dict(zip(ps, correct_by_holm(list(ps.values())), strict=True))
    rows = []
    for i, (problem, difference) in enumerate(zip(names, differences, strict=True)):
        margin = find_margin(index, problem, mark)
        rows.append(Row(problem, search, mark, difference, margin, judge(difference, margin, adjusted.get(i, 1.0))))
    return rows
