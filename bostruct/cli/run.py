"""`bostruct run`: one study of a benchmark problem, resumable by the same line."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import click

from bostruct.cli.options import (
    add_relabel,
    check_config,
    check_method,
    file_to_write,
    json_option,
    load_problem,
    name_in_file,
    plain_errors,
    plot_option,
    progress_option,
    relabel_option,
)
from bostruct.cli.text import Facts, echo_json, format_number, format_pairs, pluralize, sparkline

if TYPE_CHECKING:
    from bostruct.contracts import Presented
    from bostruct.problems.registry import AnyProblem
    from bostruct.study.result import Result
    from bostruct.study.study import Study


@click.command()
@click.argument("problem")
@click.option(
    "--method",
    default="auto",
    show_default=True,
    help="On any problem auto, annealing, evolution, regularized-evolution, random; on spaces of variables also combo, "
    "bocs, smac, tpe, smbo, smbo-mcts, mcts, wrs, hill-climbing; on architectures also nasbot; on spaces with a "
    "fidelity also hyperband, successive-halving, model-based-hyperband, successive-narrowing. `bostruct methods` "
    "shows which searches what.",
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Total number of finished trials, those of earlier runs of the same line included.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--storage", type=file_to_write, help="A SQLite file; the same line then goes on where it stopped.")
@click.option(
    "--name", help="Name of the study in the file of --storage; by default made of problem, method, seed and config."
)
@relabel_option
@click.option("--config", type=int, metavar="C", help="Begin with this published set of initial points.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that evaluate.")
@click.option("--until-optimum", is_flag=True, help="Stop once the proven optimum is reached.")
@plot_option
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
    plot: str | None,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Optimize a benchmark problem (see `bostruct problems`).

    \b
    Examples:
      bostruct run max3sat:variables=28,clauses=140 --method combo --trials 150
      bostruct run contamination --method combo --trials 270 --seed 3 --config 1 --storage runs.db
    """
    loaded = load_problem(add_relabel(problem, relabel))
    check_method(method, loaded)
    initial = [] if config is None else loaded.initial_points(check_config(loaded, config))
    default_name = f"{loaded.name} {method} seed={seed}{'' if config is None else f' config={config}'}"
    default_name = name_in_file(storage, default_name)
    target = _target(loaded) if until_optimum else None
    request = RunRequest(loaded, method, seed, storage, name or default_name, initial, trials, workers, target)
    with plain_errors("" if storage is None else f"The same line goes on with the study in {storage}."):
        result, summary = _execute(request, progress)
        if plot is not None:
            draw_result(result, loaded, plot)
            summary["plot"] = plot
    if as_json:
        echo_json(summary)
    else:
        click.echo(_run_text(summary, result))


@dataclass(frozen=True)
class RunRequest:
    """A run that the command line asks for.

    problem: as loaded.
    method: name of the method.
    seed: an integer from 0.
    storage: a file, None keeps all in memory.
    name: of the study in its file.
    initial: points to begin with.
    trials: finished trials in the end, at least 1.
    workers: processes that evaluate, at least 1.
    target: a value that ends the run, None for none.
    """

    problem: AnyProblem
    method: str
    seed: int
    storage: str | None
    name: str
    initial: list[dict[str, Presented]]
    trials: int
    workers: int
    target: float | None


def _target(problem: AnyProblem) -> float:
    """Return the value that ends the run; raises UsageError where no value is known to be the least."""
    if problem.optimum is None or problem.noisy:
        raise click.UsageError(f"--until-optimum: the optimum of {problem.name} is not known, or hidden by noise")
    return problem.optimum + 1e-9 * max(1.0, abs(problem.optimum))


def _execute(request: RunRequest, progress: bool | None) -> tuple[Result, Facts]:
    """Run the study, and return its result and what there is to say of it."""
    from bostruct.study.study import Study

    with Study(
        request.problem.space,
        method=request.method,
        seed=request.seed,
        storage=request.storage,
        name=request.name,
        initial_points=request.initial,
    ) as study:
        result = _optimize(study, request, progress)
        return result, _summary(request.problem, study, result)


def _optimize(study: Study, request: RunRequest, progress: bool | None) -> Result:
    from bostruct.study.callbacks import TargetValue
    from bostruct.study.progress import trial_bar

    best, target = study.incumbent, request.target
    stops = () if target is None else (TargetValue(target, "optimum reached"),)
    reached = target is not None and best is not None and best.value is not None and best.value <= target
    total = study.n_finished if reached else request.trials
    with trial_bar("trials", study, total, progress, request.problem.optimum) as show:
        return study.optimize(request.problem, total, workers=request.workers, progress=False, callbacks=(show, *stops))


def suggestion_seconds(result: Result) -> float | None:
    """Return the median seconds of the points that the method chose by itself; None where there are none.

    result: of a study.
    """
    chosen = [t.info["suggest_seconds"] for t in result.trials if t.origin not in ("given", "initial", "added")]
    return median(chosen) if chosen else None


def draw_result(result: Result, problem: AnyProblem, path: str) -> None:
    """Draw the history of a result; raise MissingExtra without matplotlib, ValueError for an unknown kind of file.

    result: of a study.
    problem: gives the title, and the optimum where it is known.
    path: of the picture, which is overwritten.
    """
    from bostruct.analysis.histories import plot_history
    from bostruct.analysis.plots import save_figure

    axes = plot_history(result, optimum=problem.optimum)
    title = f"{result.method} on {problem.name}, {pluralize(len(result.order), 'trial')}"
    axes.set_title(title, loc="left", fontsize=10, pad=14, wrap=True)
    save_figure(axes, path)


def _summary(problem: AnyProblem, study: Study, result: Result) -> Facts:
    value = problem.noise_free(result.best_point) if problem.noisy else result.best_value
    return {
        "problem": problem.name,
        "method": result.method,
        "seed": study.seed,
        "study": study.name,
        "storage": study.where,
        "trials": len(result.trials),
        "completed": result.n_completed,
        "failed": result.n_failed,
        "infeasible": result.n_infeasible,
        "unread": result.n_unread,
        "stopped": result.stopped_because,
        "best_value": result.best_value,
        "best_value_without_noise": value if problem.noisy else None,
        "best_trial": result.best_trial.number,
        "best_point": result.best_point,
        "recommended": _describe_recommendation(problem, result),
        "optimum": problem.optimum,
        "best_known": problem.best_known,
        "optimum_source": problem.optimum_source,
        "reported": reported_value(problem, result),
        "regret": None if problem.optimum is None else value - problem.optimum,
        "seconds_per_suggestion": suggestion_seconds(result),
        "seconds_suggesting": result.timing.suggest,
        "seconds_evaluating": result.timing.objective,
    }


def _describe_recommendation(problem: AnyProblem, result: Result) -> Facts:
    found = result.recommended
    without_noise = problem.noise_free(found.trial.point) if problem.noisy else None
    return found.to_json() | {"value_without_noise": without_noise}


def reported_value(problem: AnyProblem, result: Result) -> float | None:
    """Return the figure that runs on the problem are judged by, such as a test error, at the best point.

    Returns None where that is the value of the best point.

    problem: that was optimized.
    result: of a study on it.
    """
    from bostruct.problems.architectures import ArchitectureProblem

    if isinstance(problem, ArchitectureProblem) and problem.report is not None:
        return problem.reported(result.best_point)
    return None


def _count_statuses(summary: Facts) -> str:
    return ", ".join(f"{summary[status]} {status}" for status in ("completed", "failed", "infeasible"))


def _run_text(summary: Facts, result: Result) -> str:
    best = f"{format_number(summary['best_value'], 10)} as told of trial {summary['best_trial']} (counted from 0)"
    known = summary["best_known"] if summary["optimum"] is None else summary["optimum"]
    optimum = "not known" if known is None else f"{format_number(known, 10)} ({summary['optimum_source']})"
    rows = [
        ("problem", summary["problem"]),
        ("method", f"{summary['method']}, seed {summary['seed']}"),
        ("trials", f"{summary['trials']}: {_count_statuses(summary)}"),
        ("best value", best),
        ("recommended", str(result.recommended)),
        ("optimum" if summary["best_known"] is None else "best known", optimum),
        ("regret", format_number(summary["regret"])),
        ("seconds", f"{format_number(summary['seconds_per_suggestion'], 3)} a suggestion (median)"),
        ("best so far", sparkline([step.best_value for step in result.incumbents if step.best_value is not None])),
        ("stopped", summary["stopped"]),
    ]
    if summary["reported"] is not None:
        rows.insert(4, ("reported", f"{format_number(summary['reported'], 10)}, by which runs are judged"))
    if summary["best_value_without_noise"] is not None:
        rows.insert(4, ("without noise", format_number(summary["best_value_without_noise"])))
    if summary["unread"]:
        rows.append(("no data", f"{summary['unread']} trials, whose points are not in the problem's space"))
    if summary["storage"] is not None:
        rows.append(("stored", f"{summary['study']!r} in {summary['storage']}"))
    if "plot" in summary:
        rows.append(("picture", summary["plot"]))
    return format_pairs(rows)
