"""`bostruct run` and `bostruct compare`: a study of a problem, and several methods and seeds on it, resumable."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bostruct.analysis.tables import format_number
from bostruct.cli.options import (
    FAILED,
    FiniteRange,
    IntegerRange,
    add_relabel,
    check_config,
    check_method,
    check_outputs,
    failures_option,
    json_option,
    load_problem,
    name_on_record,
    open_place,
    overwrite_option,
    patience_option,
    plain_errors,
    plot_option,
    progress_option,
    relabel_option,
    timeout_option,
)
from bostruct.cli.text import Facts, Rows, describe_findings, echo_json, format_pairs, incumbent_row, list_findings
from bostruct.display import pluralize

if TYPE_CHECKING:
    from bostruct.comparison.value import ProblemComparison
    from bostruct.goals.declared import Goals
    from bostruct.problems.own import AnyProblem
    from bostruct.study.result import Result
    from bostruct.study.run_settings import FailureLimit
    from bostruct.study.study import Study

JUDGED = ("best_value_without_noise", "reported", "regret")  # facts about a best value
PICTURE = "convergence.png"


@click.command()
@click.argument("problem")
@click.option(
    "--method",
    default="auto",
    show_default=True,
    help="On any problem auto, annealing, evolution, regularized-evolution, random; on spaces of variables also combo, "
    "bocs, smac, tpe, smbo, smbo-mcts, mcts, wrs, hill-climbing; on architectures also nasbot; on spaces with a "
    "fidelity also hyperband, successive-halving, model-based-hyperband, successive-narrowing; or module:name of your "
    "own. `bostruct methods` shows which searches what.",
)
@click.option(
    "--trials",
    type=IntegerRange(1),
    default=100,
    show_default=True,
    help="Total number of finished trials, including earlier runs of the same command.",
)
@click.option("--seed", type=IntegerRange(0), default=0, show_default=True)
@click.option(
    "--storage", type=click.Path(dir_okay=False), help="A SQLite file, or postgresql://...; the same command resumes."
)
@click.option(
    "--name", help="Name of the study in the file of --storage; by default made of problem, method, seed and config."
)
@relabel_option
@click.option("--config", type=int, metavar="C", help="Start with this published set of initial points.")
@click.option("--workers", type=IntegerRange(1), default=1, show_default=True, help="Processes that evaluate.")
@click.option("--until-optimum", is_flag=True, help="Stop once the proven optimum is reached.")
@click.option(
    "--regret",
    type=FiniteRange(0.0, min_open=True),
    help="Stop when the model predicts that no point is better by more than this.",
)
@click.option(
    "--stop-trials",
    type=click.Choice(["median", "halving"]),
    help="Stop trials that lag behind, if the objective reports intermediate values: by the median rule, or by "
    "successive halving.",
)
@click.option("--repeats", is_flag=True, help="Let the method evaluate a point again if the objective is noisy.")
@timeout_option
@patience_option
@failures_option
@plot_option
@overwrite_option
@progress_option
@json_option
def run(
    *,
    problem: str,
    method: str,
    trials: int,
    seed: int,
    storage: str | None,
    name: str | None,
    relabel: int | None,
    config: int | None,
    workers: int,
    until_optimum: bool,
    regret: float | None,
    stop_trials: str | None,
    repeats: bool,
    timeout: float | None,
    patience: int | None,
    max_initial_failures: FailureLimit,
    plot: str | None,
    overwrite: bool,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Optimize a problem.

    PROBLEM is a name from `bostruct problems`, or module:name or file.py:name of your own: a bostruct.Problem, an
    object with objective and space, or a function that returns one. The method may also be module:name.

    \b
    Examples:
      bostruct run max3sat:variables=28,clauses=140 --method combo --trials 150
      bostruct run contamination --method combo --trials 270 --seed 3 --config 1 --storage runs.db
      bostruct run mine.py:problem --method mine.py:method --trials 40
    """
    from bostruct.comparison.runs import name_in_file
    from bostruct.study.stopping import MedianRule, StopWhen, SuccessiveHalvingRule, TargetValue

    loaded = load_problem(add_relabel(problem, relabel))
    check_method(method, loaded)
    of_one_objective = {"regret": regret is not None, "stop-trials": stop_trials is not None, "repeats": repeats}
    for option, is_given in of_one_objective.items():
        if is_given and not loaded.goals.is_single:
            raise click.UsageError(
                f"--{option}: expected one objective and no constraints; the goals of {loaded.name}: {loaded.goals}"
            )
    named = f"{loaded.name} {method} seed={seed}" + ("" if config is None else f" config={config}")
    of_study: dict[str, Any] = {
        "method": method,
        "seed": seed,
        "storage": storage,
        "name": name or name_in_file(storage, named),
        "initial_points": [] if config is None else loaded.initial_points(check_config(loaded, config)),
    }
    reached = [TargetValue(_target(loaded), "optimum reached")] if until_optimum else []
    rule = {"median": MedianRule, "halving": SuccessiveHalvingRule}.get(stop_trials or "")
    of_run: dict[str, Any] = {"workers": workers, "timeout": timeout, "patience": patience}
    of_run["callbacks"] = [*reached, *([] if regret is None else [StopWhen(regret)])]
    of_run |= {"stopping_rule": None if rule is None else rule(), "max_initial_failures": max_initial_failures}
    goals = replace(loaded.goals, repeats=repeats)
    with plain_errors():
        label = None if storage is None else open_place(storage).label
        check_outputs({plot: "picture"}, overwrite=overwrite)
    with plain_errors("" if label is None else f"The same command resumes the study in {label}."):
        result, summary = _execute(loaded, goals, of_study, trials, of_run, progress, as_json, plot, overwrite)
    _print_summary(result, summary, as_json)
    if not result.n_completed:
        undrawn = "" if plot is None else f"; nothing is drawn into {plot}"
        raise click.ClickException(f"no trial has completed{undrawn}")


def summarize_run(problem: AnyProblem, study: Study, result: Result) -> Facts:
    """Return the summary of a run as JSON data."""
    from bostruct.comparison.statistics import suggestion_seconds

    return {
        "problem": problem.name,
        "method": result.method,
        "seed": study.seed,
        "goals": result.goals.to_json(),
        "study": study.name,
        "storage": study.where,
        "trials": len(result.trials),
        "completed": result.n_completed,
        "stopped_early": result.n_stopped,
        "failed": result.n_failed,
        "infeasible": result.n_infeasible,
        "unread": result.n_unread,
        "stopped": result.stopped_because,
        **describe_findings(result, problem.reference),
        **_judge_best(problem, result),
        "optimum": problem.optimum,
        "best_known": problem.best_known,
        "optimum_source": problem.optimum_source,
        "seconds_per_suggestion": suggestion_seconds(result),
        "seconds_suggesting": result.timing.suggest,
        "seconds_evaluating": result.timing.objective,
    }


def _judge_best(problem: AnyProblem, result: Result) -> Facts:
    """Compare the best and the recommended trial with the known optimum; empty for several objectives."""
    from bostruct.comparison.statistics import is_maximized, reported_value, value_without_noise

    if result.goals.n_objectives > 1:
        return {}
    if not result.has_feasible:
        return dict.fromkeys(JUDGED)
    found = result.recommended
    without_noise = value_without_noise(problem, result.best_point)
    value = result.best_value if without_noise is None else without_noise
    sign = -1.0 if is_maximized(problem) else 1.0
    return {
        "best_value_without_noise": without_noise,
        "recommended": found.to_json() | {"value_without_noise": value_without_noise(problem, found.trial.point)},
        "reported": reported_value(problem, result),
        "regret": None if problem.optimum is None else sign * (value - problem.optimum),
    }


def format_summary(summary: Facts, result: Result) -> str:
    """Format a summary as lines of text."""
    goals = "" if result.goals.is_default else f", {result.goals}"
    counts = ", ".join(f"{summary[status]} {status}" for status in ("completed", "failed", "infeasible"))
    pace = summary["seconds_per_suggestion"]
    stopped = f"; {summary['stopped_early']} stopped early" if summary["stopped_early"] else ""
    rows = [
        ("problem", summary["problem"]),
        ("method", f"{summary['method']}, seed {summary['seed']}{goals}"),
        ("trials", f"{summary['trials']}: {counts}{stopped}"),
        *list_findings(summary, result, with_points=True),
        *_judged_rows(summary, result),
        *([] if pace is None else [("seconds", f"{format_number(pace, 3)} per suggestion (median)")]),
        ("stopped", summary["stopped"]),
    ]
    if summary["unread"]:
        rows.append(("ignored", f"{pluralize(summary['unread'], 'trial')} not in the problem's space"))
    if summary["storage"] is not None:
        rows.append(("stored", f"{summary['study']!r} in {summary['storage']}"))
    if "plot" in summary:
        rows.append(("picture", summary["plot"]))
    return format_pairs(rows)


def _judged_rows(summary: Facts, result: Result) -> Rows:
    """Format the quality of the best and the recommended trial; empty for several objectives or no feasible trial."""
    if result.goals.n_objectives > 1 or not result.has_feasible:
        return []
    known = summary["best_known"] if summary["optimum"] is None else summary["optimum"]
    optimum = "not known" if known is None else f"{format_number(known, 10)} ({summary['optimum_source']})"
    rows = []
    if summary["best_value_without_noise"] is not None:
        rows.append(("without noise", format_number(summary["best_value_without_noise"])))
    if summary["reported"] is not None:
        rows.append(("reported", f"{format_number(summary['reported'], 10)}, by which runs are judged"))
    return [
        *rows,
        ("optimum" if summary["best_known"] is None else "best known", optimum),
        ("regret", format_number(summary["regret"])),
        incumbent_row(result),
    ]


def _target(problem: AnyProblem) -> float:
    """Return the value that ends the run; raises UsageError if the optimum is unknown."""
    if problem.optimum is None or problem.noisy:
        raise click.UsageError(f"--until-optimum: the optimum of {problem.name} is not known, or hidden by noise")
    margin = 1e-9 * max(1.0, abs(problem.optimum))
    return problem.optimum - margin if problem.goals.direction == "maximize" else problem.optimum + margin


def _print_summary(result: Result, summary: Facts, as_json: bool) -> None:
    if as_json:
        echo_json(summary)
    else:
        click.echo(format_summary(summary, result))


def _execute(
    problem: AnyProblem,
    goals: Goals,
    of_study: dict[str, Any],
    trials: int,
    of_run: dict[str, Any],
    progress: bool | None,
    as_json: bool,
    plot: str | None,
    overwrite: bool,
) -> tuple[Result, Facts]:
    """Run the study, plot it, and return its result and a summary, which is printed if an error ends the run."""
    from bostruct.study.progress import trial_bar
    from bostruct.study.study import Study

    def draw(result: Result, summary: Facts) -> None:
        if plot is not None and result.n_completed:
            draw_result(result, problem, plot, overwrite=overwrite)
            summary["plot"] = plot

    is_stored = of_study["storage"] is not None
    with Study.for_problem(name_on_record(problem), problem.space, goals, **of_study) as study:
        try:
            with trial_bar("trials", study, trials, progress, problem.optimum) as show:
                of_run["callbacks"] = (show, *of_run["callbacks"])
                study.optimize(problem, trials, progress=False, **of_run)
        except BaseException as error:
            with suppress(Exception):  # an error here must not replace the original one
                if not is_stored or isinstance(error, Exception):  # otherwise the study is kept, and the process ends
                    result = study.result
                    summary = summarize_run(problem, study, result)
                    with suppress(Exception):  # nor must an error of the summary
                        draw(result, summary)
                    _print_summary(result, summary, as_json)
                if not is_stored and study.n_finished:
                    lost = pluralize(study.n_finished, "finished trial")
                    click.echo(f"{lost} not kept: --storage FILE keeps them, and the same command resumes.", err=True)
            raise
        result = study.result
        summary = summarize_run(problem, study, result)
        draw(result, summary)
        return result, summary


def draw_result(result: Result, problem: AnyProblem, path: str, *, overwrite: bool = False) -> None:
    """Plot the history of a result; raise MissingExtra without matplotlib, ValueError for an unknown file type."""
    from bostruct.analysis.plots import plot_history, save_figure

    several = result.goals.n_objectives > 1
    axes = result.plot() if several else plot_history(result, optimum=problem.optimum)
    title = f"{result.method} on {problem.name}, {pluralize(len(result.order), 'trial')}"
    axes.set_title(title, loc="left", fontsize=10, pad=14, wrap=True)
    save_figure(axes, path, overwrite=overwrite)


@click.command()
@click.argument("problem")
@click.option("--methods", default="auto,combo,annealing,hill-climbing,random", show_default=True)
@click.option(
    "--seeds",
    type=IntegerRange(1),
    default=5,
    show_default=True,
    help="Number of runs of each method; their seeds are 0, 1, ...",
)
@click.option(
    "--trials",
    type=IntegerRange(1),
    default=100,
    show_default=True,
    help="Trials of each run, including its initial points.",
)
@click.option("--out", type=click.Path(file_okay=False), required=True, help="A folder for runs, tables and plot.")
@relabel_option
@click.option("--processes", type=IntegerRange(1), default=2, show_default=True, help="Number of parallel runs.")
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
    """Compare methods on a problem with several seeds each.

    The same command resumes an interrupted comparison.

    PROBLEM is a name from `bostruct problems`, or module:name or file.py:name of your own: a bostruct.Problem, an
    object with objective and space, or a function that returns one. A method may also be module:name.

    Seed 0 of every method starts from the problem's first set of initial points (configuration 1 of a published
    problem), seed 1 from its second, and so on. OUT gets comparison.txt, comparison.md, incumbents.csv,
    convergence.png, comparison.json (the settings), and runs/METHOD-SEED.db, each a study for `bostruct show`. The
    report covers all runs in OUT that have so many trials, including runs of earlier commands; its columns `runs` and
    `pairs` count them.

    \b
    Examples:
      bostruct compare max3sat --methods auto,random --seeds 5 --trials 100 --out out/max3sat
      bostruct compare mine.py:problem --methods auto,mine.py:method --trials 40 --out out/mine
    """
    spec = add_relabel(problem, relabel)
    loaded = load_problem(spec)
    names = list(dict.fromkeys(check_method(name.strip(), loaded) for name in methods.split(",")))
    with plain_errors("The same command resumes the comparison."):
        from bostruct.comparison.compare import compare as compare_methods
        from bostruct.comparison.plan import TABLES

        files = {**TABLES, PICTURE: "picture"}
        check_outputs({os.path.join(out, name): kind for name, kind in files.items()}, overwrite=overwrite)
        settings: dict[str, Any] = {"storage": out, "progress": progress, "overwrite": overwrite}
        settings |= {"max_initial_failures": max_initial_failures, "timeout": timeout, "patience": patience}
        found = compare_methods(spec, names, n_trials=trials, seeds=seeds, workers=processes, **settings)
        _report_comparison(found.problems[0], seeds, Path(out), as_json, overwrite)
    if found.problems[0].failed:
        raise click.exceptions.Exit(FAILED)


def _report_comparison(compared: ProblemComparison, seeds: int, folder: Path, as_json: bool, overwrite: bool) -> None:
    table = replace(compared, failed={}, left_out={})
    printed_below = [] if as_json or not compared.results else table.notes
    for note in (note for note in compared.notes if note not in printed_below):
        click.echo(note, err=True)
    picture = _draw_picture(compared, folder / PICTURE, overwrite) if compared.results else None
    if as_json:
        echo_json(_comparison_to_json(compared, seeds, folder, picture))
    if as_json or not compared.results:
        return
    click.echo(f"{table.to_text()}\n")
    click.echo(f"in {folder}: comparison.txt, comparison.md, incumbents.csv{f', {PICTURE}' if picture else ''}")


def _draw_picture(compared: ProblemComparison, path: Path, overwrite: bool) -> Path | None:
    """Draw the plot and return its path; if that fails, print a note on stderr and return None."""
    from bostruct.analysis.plots import save_figure
    from bostruct.contracts import MissingExtra

    try:
        save_figure(compared.plot(), path, overwrite=overwrite)
    except (MissingExtra, ValueError) as error:  # matplotlib is not installed, or no run has a feasible trial
        click.echo(f"no plot: {error}", err=True)
        return None
    return path


def _comparison_to_json(compared: ProblemComparison, seeds: int, folder: Path, picture: Path | None) -> Any:
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
