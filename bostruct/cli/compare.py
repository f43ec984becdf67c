"""`bostruct compare`: methods x seeds on one problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bostruct.cli.options import (
    FAILED,
    add_relabel,
    check_method,
    json_option,
    load_problem,
    plain_errors,
    progress_option,
    relabel_option,
)
from bostruct.cli.text import echo_json, format_markdown, format_number, format_table, pluralize

if TYPE_CHECKING:
    from bostruct.cli.comparison import Comparison, RunKey
    from bostruct.cli.statistics import MethodRow
    from bostruct.problems.registry import AnyProblem
    from bostruct.study.result import Result


@click.command()
@click.argument("problem")
@click.option("--methods", default="auto,combo,annealing,hill-climbing,random", show_default=True)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Number of runs of each method; their seeds are 0, 1, ...",
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Trials of each run, those at its initial points included.",
)
@click.option("--out", type=click.Path(file_okay=False), required=True, help="A folder for runs, tables and picture.")
@relabel_option
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True, help="Runs side by side.")
@progress_option
@json_option
def compare(
    *,
    problem: str,
    methods: str,
    seeds: int,
    trials: int,
    out: str,
    relabel: int | None,
    processes: int,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Compare methods on a problem, each with several seeds; the same line goes on where it stopped.

    Seed 0 of every method starts from the problem's first set of initial points (configuration 1 of a published
    problem), seed 1 from its second, and so on. OUT gets comparison.txt, comparison.md, incumbents.csv,
    convergence.png, comparison.json (what was asked for), and runs/METHOD-SEED.db, each a study for `bostruct show`.
    The report covers all runs in OUT that have so many trials, those of earlier lines too; its columns `runs` and
    `pairs` say how many.

    \b
    Example:
      bostruct compare max3sat --methods auto,random --seeds 5 --trials 100 --out out/max3sat
    """
    spec = add_relabel(problem, relabel)
    loaded = load_problem(spec)
    names = tuple(dict.fromkeys(check_method(name.strip(), loaded) for name in methods.split(",")))
    with plain_errors("The same line goes on where it stopped."):
        from bostruct.cli.comparison import Comparison, execute

        comparison = Comparison(spec, names, seeds, trials, Path(out))
        comparison.claim_folder()
        failed = execute(comparison, processes, progress)
        _report(comparison, loaded, failed, as_json)
    if failed:
        raise click.exceptions.Exit(FAILED)


def _report(comparison: Comparison, problem: AnyProblem, failed: dict[RunKey, str], as_json: bool) -> None:
    from bostruct.cli.comparison import read_results
    from bostruct.cli.statistics import method_rows, table_of, write_incumbents

    for cell, why in failed.items():
        click.echo(f"failed: {cell.method}, seed {cell.seed}: {why}", err=True)
    results, left_out = read_results(comparison)
    for cell, why in left_out.items():
        click.echo(f"not in the report: {cell.method}, seed {cell.seed}: {why}", err=True)
    if not results:
        return
    found = method_rows(problem, results)
    header, cells = table_of(found)
    title = _title(comparison, problem)
    out = comparison.folder
    (out / "comparison.txt").write_text(f"{title}\n\n{format_table(header, cells)}\n", encoding="utf-8")
    (out / "comparison.md").write_text(f"{title}\n\n{format_markdown(header, cells)}\n", encoding="utf-8")
    write_incumbents(out / "incumbents.csv", problem, results)
    picture = _draw_picture(comparison, problem, results)
    if as_json:
        echo_json(_as_json(comparison, problem, found, failed, picture))
        return
    click.echo(f"{title}\n\n{format_table(header, cells)}\n")
    click.echo(f"in {out}: comparison.txt, comparison.md, incumbents.csv{', convergence.png' if picture else ''}")


def _title(comparison: Comparison, problem: AnyProblem) -> str:
    known = problem.best_known if problem.optimum is None else problem.optimum
    optimum = "not known" if known is None else f"{format_number(known)} ({problem.optimum_source})"
    noise = " Values are without noise." if problem.noisy else ""
    return f"{problem.name}: {pluralize(comparison.trials, 'trial')} a run. Optimum {optimum}.{noise}"


def _draw_picture(comparison: Comparison, problem: AnyProblem, results: dict[RunKey, Result]) -> Path | None:
    """Draw the picture and return its path; None where matplotlib is missing, which a line on stderr then says."""
    from bostruct.analysis.plots import plot_convergence, save_figure
    from bostruct.contracts import MissingExtra

    groups: dict[str, list[Result]] = {}
    for cell, result in results.items():
        groups.setdefault(cell.method, []).append(result)
    path = comparison.folder / "convergence.png"
    try:
        axes = plot_convergence(groups, optimum=None if problem.noisy else problem.optimum)
    except MissingExtra as error:
        click.echo(f"no picture: {error}", err=True)
        return None
    runs = sorted({len(group) for group in groups.values()})
    means = pluralize(runs[0], "run") if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs"
    noise = ", values with their noise" if problem.noisy else ""
    axes.set_title(
        f"{problem.name}, mean of {means}, one standard error{noise}", loc="left", fontsize=10, pad=14, wrap=True
    )
    save_figure(axes, path)
    return path


def _as_json(
    comparison: Comparison, problem: AnyProblem, found: list[MethodRow], failed: dict[RunKey, str], picture: Path | None
) -> Any:
    return {
        "problem": problem.name,
        "seeds": comparison.seeds,
        "trials": comparison.trials,
        "optimum": problem.optimum,
        "optimum_source": problem.optimum_source,
        "methods": [row._asdict() for row in found],
        "failed": [{"method": cell.method, "seed": cell.seed, "why": why} for cell, why in failed.items()],
        "out": str(comparison.folder),
        "picture": None if picture is None else str(picture),
    }
