"""The result of a comparison: its statistics, its table as text, CSV files, and plot."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bostruct.analysis.fronts import plot_hypervolume
from bostruct.analysis.plots import plot_convergence
from bostruct.analysis.tables import format_markdown, format_measured, format_number, format_table
from bostruct.checks import did_you_mean, optional_import
from bostruct.comparison.plan import RunKey
from bostruct.comparison.statistics import MethodRow, final_values, is_maximized, is_optimum, merit_name, method_rows
from bostruct.display import html_table, pluralize
from bostruct.output_files import format_csv, write_output
from bostruct.problems.own import AnyProblem
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

CSV_HEADER = ("method", "seed", "n_trials", "value", "best_value", "regret", "origin", "suggest_seconds")


@dataclass(frozen=True, repr=False)
class ProblemComparison:
    """Methods compared on one problem.

    cpu: numbers of timed suggestions of runs, and their CPU seconds outside the objective.
    ends: the arguments that may have ended runs early, such as ``timeout=60``; may be empty.
    """

    name: str
    problem: AnyProblem
    n_trials: int
    results: Mapping[RunKey, Result]
    failed: Mapping[RunKey, str] = field(default_factory=dict)
    left_out: Mapping[RunKey, str] = field(default_factory=dict)
    cpu: Mapping[RunKey, tuple[int, float]] = field(default_factory=dict)
    ends: str = ""

    @cached_property
    def rows(self) -> list[MethodRow]:
        """A row of statistics for each method; empty if no run can be compared."""
        return method_rows(self.problem, self.results, self.cpu) if self.results else []

    @cached_property
    def n_initial(self) -> int:
        """The number of initial points of each run, at which methods differ only by noise."""
        given = (sum(trial.origin == "given" for trial in result.trials) for result in self.results.values())
        return min(self.n_trials, min(given, default=0))

    @property
    def _has_several_methods(self) -> bool:
        return len({cell.method for cell in self.results}) > 1

    @property
    def title(self) -> str:
        """A description of the problem, the number of trials, and the optimum, if known."""
        problem = self.problem
        known = problem.best_known if problem.optimum is None else problem.optimum
        value = "not known" if known is None else f"{format_number(known)} ({problem.optimum_source})"
        optimum = "" if problem.goals.n_objectives > 1 else f" Optimum {value}."
        noise = " Values are without noise; the plot shows observed values." if problem.noisy else ""
        goals = "" if problem.goals.is_default else f" Goals: {problem.goals}."
        begin = f", the first {self.n_initial} at points that all methods share"
        shared = begin if self.n_initial and self._has_several_methods else ""
        return f"{problem.name}: {pluralize(self.n_trials, 'trial')} a run{shared}.{goals}{optimum}{noise}"

    @cached_property
    def wrong_optimum(self) -> str:
        """A note that a run found a better value than the optimum of the problem; empty if none did."""
        if (optimum := self.problem.optimum) is None:
            return ""
        sign = -1.0 if is_maximized(self.problem) else 1.0
        best = sign * min([sign * optimum, *(sign * one for one in final_values(self.problem, self.results).values())])
        better = f"a run found {format_number(best)}, better than {format_number(optimum)}"
        return "" if is_optimum(best, optimum) else f"wrong optimum: {better}; correct optimum=, or set noise_free="

    @property
    def notes(self) -> list[str]:
        """Notes on a wrong optimum, and on failed, left out, infeasible, identical and early-ended runs."""
        notes = [self.wrong_optimum] if self.wrong_optimum else []
        notes += [f"failed: {cell.method}, seed {cell.seed}: {why}" for cell, why in self.failed.items()]
        left_out = {cell: why for cell, why in self.left_out.items() if cell not in self.failed}
        notes += [f"not compared: {cell.method}, seed {cell.seed}: {why}" for cell, why in left_out.items()]
        if self.n_initial == self.n_trials and self._has_several_methods:
            notes.append(
                "no comparison: all trials are at points that all methods share; use more trials than initial points"
            )
        if self.ends:
            notes += self._describe_early_ends()
        lacks = {cell: result for cell, result in self.results.items() if not result.has_feasible}
        notes += [
            f"not feasible: {cell.method}, seed {cell.seed}: no trial "
            f"{'satisfies all constraints' if result.n_completed else 'has completed'}"
            for cell, result in lacks.items()
        ]
        return notes

    def _describe_early_ends(self) -> list[str]:
        """Describe for each method how many runs ended before they had all their trials, and after how many."""
        counts: dict[str, list[int]] = {}
        for cell, result in self.results.items():
            counts.setdefault(cell.method, []).append(len(result.order))
        wanted = min(self.n_trials, self.problem.space.size)
        lines = []
        for method, own in counts.items():
            if few := [one for one in own if one < wanted]:
                span = f"{min(few)} to {max(few)} trials" if min(few) < max(few) else pluralize(few[0], "trial")
                share = f"{len(few)} of {pluralize(len(own), 'run')}"
                lines.append(f"ended by {self.ends}: {method}, {share}, after {span}")
        return lines

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the header and the rows of the table, as text."""
        return table_of(self.rows, merit_name(self.problem))

    def to_text(self, form: Any = format_table) -> str:
        """Return title, table, its explanation, and notes."""
        body = [form(*self.table()), describe_rows(self.rows)] if self.rows else []
        return "\n\n".join(part for part in (self.title, *body, "\n".join(self.notes)) if part)

    def to_html(self) -> str:
        """Return the same as HTML."""
        header, cells = self.table()
        lines = [*([describe_rows(self.rows)] if self.rows else []), *self.notes]
        return html_table(cells, header, self.title) + "".join(f"<p>{escape(line)}</p>" for line in lines if line)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the mean best value, or hypervolume, of each method against trials, and return the matplotlib axes.

        ax: axes to draw on; None for a new figure.

        With one objective, runs without a feasible trial are left out, and the title states this. Raises MissingExtra
        without matplotlib, and ValueError if there is no run to draw.
        """
        several = self.problem.goals.n_objectives > 1
        groups: dict[str, list[Result]] = {}
        for cell, result in self.results.items():
            if several or result.has_feasible:
                groups.setdefault(cell.method, []).append(result)
        if not groups:
            raise ValueError(f"{self.name}: expected at least one run with a feasible trial, got none")
        if several:
            axes = plot_hypervolume(groups, ax, self.problem.reference)
        else:
            axes = plot_convergence(groups, ax, None if self.problem.noisy else self.problem.optimum)
        runs = sorted({len(group) for group in groups.values()})
        means = pluralize(runs[0], "run") if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs"
        noise = ", values with their noise" if self.problem.noisy else ""
        error = "" if several else ", one standard error"
        subset = ", feasible ones alone" if sum(map(len, groups.values())) < len(self.results) else ""
        title = f"{self.problem.name}, mean of {means}{subset}{error}{noise}"
        axes.set_title(title, loc="left", fontsize=10, pad=14, wrap=True)
        return axes

    def write_tables(self, folder: Path, *, overwrite: bool = False) -> None:
        """Write comparison.txt, comparison.md and incumbents.csv into a folder.

        overwrite: True also replaces files that bostruct did not write, but never a database.

        Raises OutputRefused, a FileExistsError, for a file that it must not replace; OSError.
        """
        for name, form, mark in (
            ("comparison.txt", format_table, "{}"),
            ("comparison.md", format_markdown, "<!-- {} -->"),
        ):
            text = f"{self.to_text(form)}\n\n{mark.format('written by bostruct compare')}\n"
            write_output(folder / name, text, "comparison", overwrite=overwrite)
        self.write_incumbents(folder / "incumbents.csv", overwrite=overwrite)

    def write_incumbents(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a CSV file with a line for each finished trial of each run: observed values, and regrets without noise.

        overwrite: True also replaces a file that bostruct did not write, but never a database.

        Raises OutputRefused, a FileExistsError, for a file that it must not replace; OSError.
        """
        write_output(path, format_csv(CSV_HEADER, self._list_steps()), "table of incumbents", overwrite=overwrite)

    def _list_steps(self) -> Iterator[tuple[object, ...]]:
        """Yield a row of the CSV file for each finished trial of each run."""
        several = self.problem.goals.n_objectives > 1
        optimum = None if self.problem.noisy else self.problem.optimum
        sign = -1.0 if is_maximized(self.problem) else 1.0
        for cell, result in self.results.items():
            bests = [None] * len(result.order) if several else [step.best_value for step in result.incumbents]
            for position, (number, best) in enumerate(zip(result.order, bests, strict=True), start=1):
                trial = result.trials[number]
                regret = None if best is None or optimum is None else sign * (best - optimum)
                observed = trial.values if several else trial.value
                yield (*cell, position, observed, best, regret, trial.origin, trial.info.get("suggest_seconds"))


@dataclass(frozen=True, repr=False)
class Comparison:
    """Methods compared on problems, with a table for each problem.

    problems: the comparison on each problem, in order; ``comparison["name"]`` is the comparison on one problem.
    """

    problems: tuple[ProblemComparison, ...]

    def __getitem__(self, name: str) -> ProblemComparison:
        found = {one.name: one for one in self.problems}
        if name not in found:
            raise KeyError(f"expected one of {', '.join(found)}; got {name!r}{did_you_mean(name, found)}")
        return found[name]

    def __iter__(self) -> Iterator[ProblemComparison]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def __repr__(self) -> str:
        return "\n\n\n".join(one.to_text() for one in self.problems)

    def _repr_html_(self) -> str:
        return "".join(one.to_html() for one in self.problems)

    def to_markdown(self) -> str:
        """Return the tables in Markdown."""
        return "\n\n".join(one.to_text(format_markdown) for one in self.problems)

    def rows(self) -> list[dict[str, object]]:
        """Return a dict for each problem and method, from the name of a statistic to its value."""
        return [{"problem": one.name, **row._asdict()} for one in self.problems for row in one.rows]

    def to_dataframe(self) -> DataFrame:
        """Return the rows as a pandas DataFrame; raise MissingExtra without pandas."""
        return optional_import("pandas", "pandas").DataFrame(self.rows())

    def plot(self, axes: Any = None) -> Any:
        """Plot the convergence of all methods on each problem, and return the matplotlib axes, or an array of several.

        axes: matplotlib axes, one for each problem; None for a new figure.

        Raises MissingExtra without matplotlib, ValueError.
        """
        if len(self.problems) == 1:
            return self.problems[0].plot(axes)
        if axes is None:
            figure = optional_import("matplotlib.figure", "plot").Figure
            height = 4.2 * len(self.problems)
            axes = figure(figsize=(7.2, height), layout="constrained").subplots(len(self.problems))
        for one, ax in zip(self.problems, axes, strict=True):
            one.plot(ax)
        return axes


def table_of(rows: Sequence[MethodRow], merit: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the header of the table and its rows; columns without any number are omitted."""
    first = rows[0].method if rows else "first"
    header = (
        "method",
        "runs",
        "feasible",
        f"{merit} (± s.e.)",
        f"difference to {first}",
        "95% interval",
        "p (Holm)",
        "pairs",
        "regret",
        "optima",
        "s/suggestion",
        "CPU s/suggestion",
        "reported (± s.e.)",
    )
    timed = any(row.cpu_seconds is not None for row in rows)  # less dependent on other processes than wall-clock time
    cells = [_format_row(row._replace(seconds=None) if timed else row) for row in rows]
    if all(row.feasible == row.runs for row in rows):
        cells = [(*row[:2], "-", *row[3:]) for row in cells]
    optional = ("feasible", *header[8:])
    kept = [
        column for column, name in enumerate(header) if name not in optional or any(row[column] != "-" for row in cells)
    ]
    return tuple(header[column] for column in kept), [tuple(row[column] for column in kept) for row in cells]


def _format_row(row: MethodRow) -> tuple[str, ...]:
    difference, _ = format_measured(row.difference, row.difference_error)
    low, _ = format_measured(row.low, row.difference_error)
    high, _ = format_measured(row.high, row.difference_error)
    return (
        row.method,
        str(row.runs),
        f"{row.feasible} of {row.runs}",
        _with_error(row.mean, row.error),
        difference,
        "-" if low == "-" else f"{low} to {high}",
        "-" if row.p_holm is None else ("< 0.001" if row.p_holm < 0.001 else f"{row.p_holm:.3f}"),
        str(row.pairs) if row.pairs else "-",
        format_measured(row.regret, row.error)[0],
        "-" if row.optima is None else str(row.optima),
        format_number(row.seconds, 2),
        format_number(row.cpu_seconds, 2),
        _with_error(row.reported, row.reported_error),
    )


def _with_error(value: float | None, error: float | None) -> str:
    shown, its_error = format_measured(value, error)
    return shown if its_error == "-" else f"{shown} ± {its_error}"


def describe_rows(rows: Sequence[MethodRow]) -> str:
    """Return an explanation of the columns of differences and of feasible runs; empty if there are none."""
    sentences = []
    if any(row.pairs > 1 for row in rows):
        sentences.append(
            f"Differences to {rows[0].method} are means over pairs of runs with the same seed and initial points, with "
            "Student's 95% interval; p is corrected for the number of methods (Holm)."
        )
    if any(row.feasible < row.runs for row in rows):
        sentences.append(
            "Means are only over the runs that found a feasible point. A pair with another run has no difference."
        )
    return " ".join(sentences)
