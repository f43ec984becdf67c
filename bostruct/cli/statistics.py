"""Statistics of a comparison: means over seeds, and differences on the same seeds."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, NamedTuple

from bostruct.cli.comparison import RunKey
from bostruct.cli.run import reported_value, suggestion_seconds
from bostruct.cli.text import format_number

if TYPE_CHECKING:
    from bostruct.problems.registry import AnyProblem
    from bostruct.study.result import Result

HEADER = (
    "method",
    "runs",
    "best value",
    "s.e.",
    "minus first",
    "s.e. of it",
    "pairs",
    "regret",
    "optima",
    "s a suggestion",
)
REPORTED = ("reported", "s.e. of it")
CSV_HEADER = ("method", "seed", "n_trials", "value", "best_value", "regret", "origin", "suggest_seconds")


class MethodRow(NamedTuple):
    """A method over its seeds. NaN and None stand for what cannot be known, such as the error of a single run.

    method: its name.
    runs: number of seeds that the row covers.
    mean, error: of the best value over these, without noise where the problem has any.
    difference, difference_error: to the first method, over the seeds that both have.
    pairs: number of these seeds; 0 for the first method itself.
    regret: mean above the optimum.
    optima: number of runs that reached the optimum.
    seconds: median of a suggestion.
    reported, reported_error: of what runs are judged by, None where that is the value.
    """

    method: str
    runs: int
    mean: float
    error: float
    difference: float
    difference_error: float
    pairs: int
    regret: float | None
    optima: int | None
    seconds: float | None
    reported: float | None
    reported_error: float | None


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, which is NaN for fewer than two values.

    values: at least one.
    """
    return fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def method_rows(problem: AnyProblem, results: Mapping[RunKey, Result]) -> list[MethodRow]:
    """Return a row a method, in their order; the differences are over the seeds that both methods have.

    problem: that was optimized.
    results: of all runs; the first method is the one that the others are compared with.
    """
    final = {cell: _final_value(problem, result) for cell, result in results.items()}
    reports = {cell: reported_value(problem, result) for cell, result in results.items()}
    methods = list(dict.fromkeys(cell.method for cell in results))
    return [_method_row(method, methods[0], problem.optimum, final, reports, results) for method in methods]


def _method_row(
    method: str,
    first: str,
    optimum: float | None,
    final: Mapping[RunKey, float],
    reports: Mapping[RunKey, float | None],
    results: Mapping[RunKey, Result],
) -> MethodRow:
    own = {cell.seed: value for cell, value in final.items() if cell.method == method}
    others = {cell.seed: value for cell, value in final.items() if cell.method == first}
    differences = [value - others[seed] for seed, value in own.items() if seed in others and method != first]
    seconds = [suggestion_seconds(result) for cell, result in results.items() if cell.method == method]
    known = [second for second in seconds if second is not None]
    mean, error = mean_and_error(list(own.values()))
    paired = mean_and_error(differences) if differences else (math.nan, math.nan)
    reached = None if optimum is None else sum(_is_optimum(value, optimum) for value in own.values())
    regret = None if optimum is None else mean - optimum
    own_reports = [value for cell, value in reports.items() if cell.method == method and value is not None]
    report = mean_and_error(own_reports) if own_reports else (None, None)
    pace = median(known) if known else None
    return MethodRow(method, len(own), mean, error, *paired, len(differences), regret, reached, pace, *report)


def _is_optimum(value: float, optimum: float) -> bool:
    return math.isclose(value, optimum, rel_tol=1e-9, abs_tol=1e-9)


def _final_value(problem: AnyProblem, result: Result) -> float:
    return problem.noise_free(result.best_point) if problem.noisy else result.best_value


def table_of(found: Sequence[MethodRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows; what runs are judged by has columns of its own where that is not the value.

    found: a row a method.
    """
    has_reported = any(row.reported is not None for row in found)
    return HEADER + (REPORTED if has_reported else ()), [_format_cells(row, has_reported) for row in found]


def _format_cells(row: MethodRow, has_reported: bool) -> tuple[str, ...]:
    optima = "-" if row.optima is None else str(row.optima)
    mean, error, difference, its_error, regret = (
        format_number(value, 5) for value in (row.mean, row.error, row.difference, row.difference_error, row.regret)
    )
    pairs = str(row.pairs) if row.pairs else "-"
    report = (format_number(row.reported, 5), format_number(row.reported_error, 5)) if has_reported else ()
    seconds = format_number(row.seconds, 3)
    return (row.method, str(row.runs), mean, error, difference, its_error, pairs, regret, optima, seconds, *report)


def write_incumbents(path: Path, problem: AnyProblem, results: Mapping[RunKey, Result]) -> None:
    """Write a CSV file with a line for each finished trial of each run, as told; of noisy problems no regret.

    path: of the file, which is overwritten.
    problem: gives the optimum.
    results: of all runs.
    """
    optimum = None if problem.noisy else problem.optimum
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(CSV_HEADER)
        for cell, result in results.items():
            for position, step in enumerate(result.incumbents, start=1):
                trial, best = step.told, step.best_value
                regret = None if best is None or optimum is None else best - optimum
                seconds = trial.info.get("suggest_seconds")
                writer.writerow((*cell, position, trial.value, best, regret, trial.origin, seconds))
