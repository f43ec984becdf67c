"""Statistics of a comparison: means over seeds, and paired differences from the first method on the same seeds.

Differences have Student's interval and test, with Holm's correction for several methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import NamedTuple

from scipy.special import stdtr, stdtrit

from bostruct.analysis.fronts import find_corner
from bostruct.comparison.plan import RunKey
from bostruct.contracts import Presented
from bostruct.problems.base import ArchitectureProblem
from bostruct.problems.own import AnyProblem
from bostruct.study.history import Trial
from bostruct.study.result import Result

LEVEL = 0.05  # significance level; intervals have confidence 1 - LEVEL
EQUAL = 1e-12  # largest standard error of equal differences due to rounding, relative to the mean


class MethodRow(NamedTuple):
    """A method over its seeds. NaN and None represent unknown values, such as the error of a single run.

    runs: number of seeds of the row.
    feasible: number of runs with a figure of merit: all runs with several objectives, otherwise runs with a completed
        trial that satisfies all constraints.
    pairs: number of seeds that the first method has too; 0 for the first method itself.
    low, high: ends of the 95% interval of the difference; NaN if all differences are equal, and not zero.
    p, p_holm: p-values of the test that the difference is zero, before and after correction for the number of methods;
        None without an interval.
    optima: number of runs whose figure of merit equals the optimum.
    cpu_seconds: mean CPU seconds of a suggestion, if the runs have a record of them.
    reported, reported_error: mean of the reported figure, such as a test error; None if it is the value.
    """

    method: str
    runs: int
    feasible: int
    mean: float
    error: float
    difference: float
    difference_error: float
    pairs: int
    low: float
    high: float
    p: float | None
    p_holm: float | None
    regret: float | None
    optima: int | None
    seconds: float | None
    cpu_seconds: float | None
    reported: float | None
    reported_error: float | None


def method_rows(
    problem: AnyProblem, results: Mapping[RunKey, Result], cpu: Mapping[RunKey, tuple[int, float]] | None = None
) -> list[MethodRow]:
    """Return one row for each method, in their order; differences are over the seeds that both methods have.

    cpu: numbers of suggestions and CPU seconds of runs that have a record of them, if any.
    """
    final = final_values(problem, results)
    names = list(dict.fromkeys(cell.method for cell in results))
    rows = [_method_row(name, names[0], problem, final, results, cpu or {}) for name in names]
    tested = [position for position, row in enumerate(rows) if row.p is not None]
    for position, p in zip(tested, correct_by_holm([rows[i].p or 0.0 for i in tested]), strict=True):
        rows[position] = rows[position]._replace(p_holm=p)
    return rows


def final_values(problem: AnyProblem, results: Mapping[RunKey, Result]) -> dict[RunKey, float]:
    """Return the figure of merit of each run that has one; the hypervolume of a run without a feasible trial is 0."""
    if problem.goals.n_objectives == 1:
        return {cell: _final_value(problem, result) for cell, result in results.items() if result.has_feasible}
    corner = find_corner(list(results.values())) if problem.reference is None else problem.reference
    return {cell: result.hypervolume(corner) for cell, result in results.items()}


def is_maximized(problem: AnyProblem) -> bool:
    """Return whether a larger figure of merit is better."""
    return problem.goals.n_objectives > 1 or problem.goals.direction == "maximize"


def merit_name(problem: AnyProblem) -> str:
    """Return the name of the figure of merit of a problem's runs."""
    if problem.goals.n_objectives > 1:
        return "hypervolume"
    return "best feasible value" if problem.goals.limits else "best value"


def _method_row(
    method: str,
    first: str,
    problem: AnyProblem,
    final: Mapping[RunKey, float],
    results: Mapping[RunKey, Result],
    cpu: Mapping[RunKey, tuple[int, float]],
) -> MethodRow:
    own = [value for cell, value in final.items() if cell.method == method]
    runs = {cell: result for cell, result in results.items() if cell.method == method}
    mean, error = mean_and_error(own) if own else (math.nan, math.nan)
    optimum = problem.optimum
    sign = -1.0 if is_maximized(problem) else 1.0
    regret = None if optimum is None or not own else sign * (mean - optimum)
    reached = None if optimum is None else sum(is_optimum(value, optimum) for value in own)
    known = [second for result in runs.values() if (second := suggestion_seconds(result)) is not None]
    timed = [seconds / suggestions for cell, (suggestions, seconds) in cpu.items() if cell in runs and suggestions]
    pace = median(known) if known else None
    best = [result for cell, result in runs.items() if cell in final]
    reports = [value for result in best if (value := reported_value(problem, result)) is not None]
    report = mean_and_error(reports) if reports else (None, None)
    seconds = (pace, fmean(timed) if timed else None)
    compared = _compare_with(first, method, final, results)
    return MethodRow(method, len(runs), len(own), mean, error, *compared, None, regret, reached, *seconds, *report)


def _compare_with(
    first: str, method: str, final: Mapping[RunKey, float], results: Mapping[RunKey, Result]
) -> tuple[float, float, int, float, float, float | None]:
    """Return the mean difference from the first method, its error, the number of pairs, the interval's ends, and p."""
    seeds = [cell.seed for cell in results if cell.method == method and RunKey(first, cell.seed) in results]
    pairs = [(RunKey(method, seed), RunKey(first, seed)) for seed in seeds] if method != first else []
    if not pairs or any(cell not in final for pair in pairs for cell in pair):  # the remaining pairs would be biased
        return math.nan, math.nan, len(pairs), math.nan, math.nan, None
    differences = [final[own] - final[other] for own, other in pairs]
    estimate = estimate_difference(differences)
    mean, error = mean_and_error(differences)
    if estimate is None or estimate.p is None:
        return mean, error, len(pairs), math.nan, math.nan, None
    return mean, error, len(pairs), estimate.low, estimate.high, estimate.p


class Difference(NamedTuple):
    """The mean of paired differences.

    low, high: ends of its 95% interval, by Student's t.
    p: p-value of the two-sided t test that the mean is zero; None if the differences are equal, and not zero: the test
        is then undefined, and the interval has no width.
    n: number of pairs, at least 2.
    """

    mean: float
    low: float
    high: float
    p: float | None
    n: int


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, which is NaN for fewer than two values.

    values: at least one value.
    """
    return fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def estimate_difference(differences: Sequence[float]) -> Difference | None:
    """Return the mean of paired differences with its interval and test; None for fewer than two differences."""
    n = len(differences)
    if n < 2:
        return None
    mean, error = mean_and_error(differences)
    half = float(stdtrit(n - 1, 1.0 - LEVEL / 2.0)) * error
    if error <= EQUAL * abs(mean):
        return Difference(mean, mean, mean, 1.0 if mean == 0.0 else None, n)
    p = 2.0 * float(stdtr(n - 1, -abs(mean) / error))
    return Difference(mean, mean - half, mean + half, p, n)


def correct_by_holm(ps: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, in the same order (Holm 1979)."""
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[i]))
        corrected[i] = largest
    return corrected


def is_optimum(value: float, optimum: float) -> bool:
    """Return whether a value equals the optimum, up to rounding."""
    return math.isclose(value, optimum, rel_tol=1e-9, abs_tol=1e-9)


def _final_value(problem: AnyProblem, result: Result) -> float:
    value = value_without_noise(problem, result.best_point)
    return result.best_value if value is None else value


def value_without_noise(problem: AnyProblem, point: Presented) -> float | None:
    """Return the value of a point without noise; None if the problem has no noise, or its mean is unknown."""
    return float(problem.noise_free(point)) if problem.noisy and problem.noise_free is not None else None


def is_chosen(trial: Trial) -> bool:
    """Return whether the method chose the point of a trial, excluding initial points."""
    return trial.origin not in ("given", "initial") and not trial.is_extra


def suggestion_seconds(result: Result) -> float | None:
    """Return the median suggestion time of the points that the method chose, in seconds; None without such points."""
    chosen = [trial.info["suggest_seconds"] for trial in result.trials if is_chosen(trial)]
    return median(chosen) if chosen else None


def reported_value(problem: AnyProblem, result: Result) -> float | None:
    """Return the figure that the problem reports for its runs, such as a test error, at the best point.

    Returns None if it is the value of the best point.
    """
    if isinstance(problem, ArchitectureProblem) and problem.report is not None:
        return problem.reported(result.best_point)
    return None
