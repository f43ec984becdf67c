"""`bostruct compare`: methods and seeds on one problem."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bostruct.cli.options import (
    FAILED,
    add_relabel,
    check_method,
    check_outputs,
    failures_option,
    json_option,
    load_problem,
    overwrite_option,
    patience_option,
    plain_errors,
    progress_option,
    relabel_option,
    timeout_option,
)
from bostruct.cli.text import echo_json

if TYPE_CHECKING:
    from bostruct.comparison.value import ProblemComparison
    from bostruct.study.run_settings import FailureLimit

PICTURE = "convergence.png"


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
@overwrite_option
@timeout_option
@patience_option
@failures_option
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
    overwrite: bool,
    timeout: float | None,
    patience: int | None,
    max_initial_failures: FailureLimit,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Compare methods on a problem, each with several seeds; the same line goes on if it stopped.

    PROBLEM is one of `bostruct problems`, or module:name, or file.py:name, of your own: a bostruct.Problem, an object
    with objective and space, or a function that returns one. A method may be module:name, too.

    Seed 0 of every method starts from the problem's first set of initial points (configuration 1 of a published
    problem), seed 1 from its second, and so on. OUT gets comparison.txt, comparison.md, incumbents.csv,
    convergence.png, comparison.json (what was asked for), and runs/METHOD-SEED.db, each a study for `bostruct show`.
    The report covers all runs in OUT that have so many trials, those of earlier lines too; its columns `runs` and
    `pairs` say how many.

    \b
    Examples:
      bostruct compare max3sat --methods auto,random --seeds 5 --trials 100 --out out/max3sat
      bostruct compare mine.py:problem --methods auto,mine.py:method --trials 40 --out out/mine
    """
    spec = add_relabel(problem, relabel)
    loaded = load_problem(spec)
    names = list(dict.fromkeys(check_method(name.strip(), loaded) for name in methods.split(",")))
    with plain_errors("The same line goes on where it stopped."):
        from bostruct.comparison.compare import compare as compare_methods
        from bostruct.comparison.plan import TABLES

        files = {**TABLES, PICTURE: "picture"}
        check_outputs({os.path.join(out, name): kind for name, kind in files.items()}, overwrite=overwrite)
        settings: dict[str, Any] = {"storage": out, "progress": progress, "overwrite": overwrite}
        settings |= {"max_initial_failures": max_initial_failures, "timeout": timeout, "patience": patience}
        found = compare_methods(spec, names, n_trials=trials, seeds=seeds, workers=processes, **settings)
        _report(found.problems[0], seeds, Path(out), as_json, overwrite)
    if found.problems[0].failed:
        raise click.exceptions.Exit(FAILED)


def _report(compared: ProblemComparison, seeds: int, folder: Path, as_json: bool, overwrite: bool) -> None:
    for note in compared.notes:
        click.echo(note, err=True)
    picture = _draw_picture(compared, folder / PICTURE, overwrite) if compared.results else None
    if as_json:
        echo_json(_as_json(compared, seeds, folder, picture))
    if as_json or not compared.results:
        return
    click.echo(f"{replace(compared, failed={}, left_out={}).to_text()}\n")
    click.echo(f"in {folder}: comparison.txt, comparison.md, incumbents.csv{f', {PICTURE}' if picture else ''}")


def _draw_picture(compared: ProblemComparison, path: Path, overwrite: bool) -> Path | None:
    """Draw the plot and return its path; if that fails, print a note on stderr and return None."""
    from bostruct.analysis.plots import save_figure
    from bostruct.contracts import MissingExtra

    try:
        save_figure(compared.plot(), path, overwrite=overwrite)
    except (MissingExtra, ValueError) as error:  # matplotlib is not installed, or no run has a feasible trial
        click.echo(f"no picture: {error}", err=True)
        return None
    return path


def _as_json(compared: ProblemComparison, seeds: int, folder: Path, picture: Path | None) -> Any:
    return {
        "problem": compared.problem.name,
        "seeds": seeds,
        "trials": compared.n_trials,
        "optimum": compared.problem.optimum,
        "optimum_source": compared.problem.optimum_source,
        "methods": [row._asdict() for row in compared.rows],
        "failed": [{"method": cell.method, "seed": cell.seed, "why": why} for cell, why in compared.failed.items()],
        "left_out": [{"method": cell.method, "seed": cell.seed, "why": why} for cell, why in compared.left_out.items()],
        "out": str(folder),
        "picture": None if picture is None else str(picture),
    }
