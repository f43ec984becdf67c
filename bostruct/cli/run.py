"""`bostruct run`: one study of a benchmark problem, resumable by the same line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bostruct.analysis.tables import format_number, pluralize
from bostruct.cli.options import (
    add_relabel,
    check_config,
    check_method,
    file_to_write,
    json_option,
    load_problem,
    plain_errors,
    plot_option,
    progress_option,
    relabel_option,
)
from bostruct.cli.text import Facts, echo_json, format_pairs, sparkline

if TYPE_CHECKING:
    from bostruct.contracts import Presented
    from bostruct.problems.own import AnyProblem
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
    "fidelity also hyperband, successive-halving, model-based-hyperband, successive-narrowing; or module:name of your "
    "own. `bostruct methods` shows which searches what.",
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
    """Optimize a problem.

    PROBLEM is one of `bostruct problems`, or module:name, or file.py:name, of your own: a bostruct.Problem, an object
    with objective and space, or a function that returns one. The method may be module:name, too.

    \b
    Examples:
      bostruct run max3sat:variables=28,clauses=140 --method combo --trials 150
      bostruct run contamination --method combo --trials 270 --seed 3 --config 1 --storage runs.db
      bostruct run mine.py:problem --method mine.py:method --trials 40
    """
    loaded = load_problem(add_relabel(problem, relabel))
    check_method(method, loaded)
    initial = [] if config is None else loaded.initial_points(check_config(loaded, config))
    default_name = f"{loaded.name} {method} seed={seed}{'' if config is None else f' config={config}'}"
    from bostruct.comparison.runs import name_in_file

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
    margin = 1e-9 * max(1.0, abs(problem.optimum))
    return problem.optimum - margin if problem.goals.direction == "maximize" else problem.optimum + margin


def _execute(request: RunRequest, progress: bool | None) -> tuple[Result, Facts]:
    """Run the study, and return its result and what there is to say of it."""
    from bostruct.comparison.runs import study_goals
    from bostruct.study.study import Study

    with Study(
        request.problem.space,
        method=request.method,
        seed=request.seed,
        storage=request.storage,
        name=request.name,
        initial_points=request.initial,
        **study_goals(request.problem.goals),
    ) as study:
        result = _optimize(study, request, progress)
        return result, _summary(request.problem, study, result)


def _optimize(study: Study, request: RunRequest, progress: bool | None) -> Result:
    from bostruct.study.callbacks import TargetValue
    from bostruct.study.progress import trial_bar

    best, target = study.incumbent, request.target
    stops = () if target is None else (TargetValue(target, "optimum reached"),)
    sign = -1.0 if target is not None and study.direction == "maximize" else 1.0
    reached = target is not None and best is not None and best.value is not None and sign * best.value <= sign * target
    total = study.n_finished if reached else request.trials
    with trial_bar("trials", study, total, progress, request.problem.optimum) as show:
        return study.optimize(request.problem, total, workers=request.workers, progress=False, callbacks=(show, *stops))


def draw_result(result: Result, problem: AnyProblem, path: str) -> None:
    """Draw the history of a result; raise MissingExtra without matplotlib, ValueError for an unknown kind of file.

    result: of a study.
    problem: gives the title, and the optimum where it is known.
    path: of the picture, which is overwritten.
    """
    from bostruct.analysis.histories import plot_history
    from bostruct.analysis.plots import save_figure

    several = result.goals.n_objectives > 1
    axes = result.plot() if several else plot_history(result, optimum=problem.optimum)
    title = f"{result.method} on {problem.name}, {pluralize(len(result.order), 'trial')}"
    axes.set_title(title, loc="left", fontsize=10, pad=14, wrap=True)
    save_figure(axes, path)


def _summary(problem: AnyProblem, study: Study, result: Result) -> Facts:
    from bostruct.comparison.statistics import suggestion_seconds

    single = result.goals.n_objectives == 1
    return {
        "problem": problem.name,
        "method": result.method,
        "seed": study.seed,
        "goals": None if result.goals.is_single and result.direction == "minimize" else str(result.goals),
        "study": study.name,
        "storage": study.where,
        "trials": len(result.trials),
        "completed": result.n_completed,
        "failed": result.n_failed,
        "infeasible": result.n_infeasible,
        "unread": result.n_unread,
        "stopped": result.stopped_because,
        **(_describe_best(problem, result) if single else _describe_front(problem, result)),
        "optimum": problem.optimum,
        "best_known": problem.best_known,
        "optimum_source": problem.optimum_source,
        "seconds_per_suggestion": suggestion_seconds(result),
        "seconds_suggesting": result.timing.suggest,
        "seconds_evaluating": result.timing.objective,
    }


def _describe_best(problem: AnyProblem, result: Result) -> Facts:
    from bostruct.comparison.statistics import is_maximized, reported_value, value_without_noise

    without_noise = value_without_noise(problem, result.best_point)
    value = result.best_value if without_noise is None else without_noise
    sign = -1.0 if is_maximized(problem) else 1.0
    return {
        "best_value": result.best_value,
        "best_value_without_noise": without_noise,
        "best_trial": result.best_trial.number,
        "best_point": result.best_point,
        "recommended": _describe_recommendation(problem, result),
        "reported": reported_value(problem, result),
        "regret": None if problem.optimum is None else sign * (value - problem.optimum),
    }


def _describe_front(problem: AnyProblem, result: Result) -> Facts:
    front = result.pareto_front
    return {
        "front": [{"trial": one.number, "values": one.values, "point": one.point} for one in front],
        "hypervolume": result.hypervolume(getattr(problem, "reference", None)),
    }


def _describe_recommendation(problem: AnyProblem, result: Result) -> Facts:
    from bostruct.comparison.statistics import value_without_noise

    found = result.recommended
    return found.to_json() | {"value_without_noise": value_without_noise(problem, found.trial.point)}


def _count_statuses(summary: Facts) -> str:
    return ", ".join(f"{summary[status]} {status}" for status in ("completed", "failed", "infeasible"))


def _run_text(summary: Facts, result: Result) -> str:
    goals = "" if summary["goals"] is None else f", {summary['goals']}"
    rows = [
        ("problem", summary["problem"]),
        ("method", f"{summary['method']}, seed {summary['seed']}{goals}"),
        ("trials", f"{summary['trials']}: {_count_statuses(summary)}"),
        *(_front_rows(summary) if "front" in summary else _best_rows(summary, result)),
        ("seconds", f"{format_number(summary['seconds_per_suggestion'], 3)} a suggestion (median)"),
        ("stopped", summary["stopped"]),
    ]
    if summary["unread"]:
        rows.append(("no data", f"{summary['unread']} trials, whose points are not in the problem's space"))
    if summary["storage"] is not None:
        rows.append(("stored", f"{summary['study']!r} in {summary['storage']}"))
    if "plot" in summary:
        rows.append(("picture", summary["plot"]))
    return format_pairs(rows)


def _best_rows(summary: Facts, result: Result) -> list[tuple[str, str]]:
    best = f"{format_number(summary['best_value'], 10)} as told of trial {summary['best_trial']} (counted from 0)"
    known = summary["best_known"] if summary["optimum"] is None else summary["optimum"]
    optimum = "not known" if known is None else f"{format_number(known, 10)} ({summary['optimum_source']})"
    rows = [("best value", best)]
    if summary["best_value_without_noise"] is not None:
        rows.append(("without noise", format_number(summary["best_value_without_noise"])))
    if summary["reported"] is not None:
        rows.append(("reported", f"{format_number(summary['reported'], 10)}, by which runs are judged"))
    return [
        *rows,
        ("recommended", str(result.recommended)),
        ("optimum" if summary["best_known"] is None else "best known", optimum),
        ("regret", format_number(summary["regret"])),
        ("best so far", sparkline([step.best_value for step in result.incumbents if step.best_value is not None])),
    ]


def _front_rows(summary: Facts) -> list[tuple[str, str]]:
    front = summary["front"]
    return [
        ("front", f"{pluralize(len(front), 'trial')} of which none is better in all"),
        *((f"trial {one['trial']}", ", ".join(f"{value:.6g}" for value in one["values"])) for one in front),
        ("hypervolume", format_number(summary["hypervolume"])),
    ]
