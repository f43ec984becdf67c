"""The summary of `bostruct run`: facts for programs, and rows of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.analysis.tables import format_number, pluralize
from bostruct.cli.text import Facts, format_pairs, sparkline

if TYPE_CHECKING:
    from bostruct.problems.own import AnyProblem
    from bostruct.study.result import Result
    from bostruct.study.study import Study

BEST_FACTS = (
    "best_value",
    "best_value_without_noise",
    "best_trial",
    "best_point",
    "best_constraints",
    "recommended",
    "reported",
    "regret",
)


def describe_run(problem: AnyProblem, study: Study, result: Result) -> Facts:
    """Return what there is to say of a run, as JSON holds it.

    problem: that was optimized.
    study: of the run.
    result: of the study.

    Raises BostructError where no trial has completed.
    """
    from bostruct.comparison.statistics import suggestion_seconds

    return {
        "problem": problem.name,
        "method": result.method,
        "seed": study.seed,
        "goals": None if result.goals.is_default else str(result.goals),
        "study": study.name,
        "storage": study.where,
        "trials": len(result.trials),
        "completed": result.n_completed,
        "failed": result.n_failed,
        "infeasible": result.n_infeasible,
        "unread": result.n_unread,
        "stopped": result.stopped_because,
        "feasible": sum(trial.is_feasible for trial in result.trials) if result.goals.limits else None,
        **_describe_found(problem, result),
        "optimum": problem.optimum,
        "best_known": problem.best_known,
        "optimum_source": problem.optimum_source,
        "seconds_per_suggestion": suggestion_seconds(result),
        "seconds_suggesting": result.timing.suggest,
        "seconds_evaluating": result.timing.objective,
    }


def _describe_found(problem: AnyProblem, result: Result) -> Facts:
    """Describe the best trial or the front, or say why there is none though trials have completed."""
    from bostruct.contracts import BostructError

    several = result.goals.n_objectives > 1
    try:
        result.pareto_front  # noqa: B018  # of one objective it is the best trial
    except BostructError as error:
        if not result.n_completed:
            raise
        empty = {"front": [], "hypervolume": 0.0} if several else dict.fromkeys(BEST_FACTS)
        return empty | {"nothing_feasible": str(error)}
    return _describe_front(problem, result) if several else _describe_best(problem, result)


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
        "best_constraints": dict(result.best_trial.constraints) or None,
        "recommended": _describe_recommendation(problem, result),
        "reported": reported_value(problem, result),
        "regret": None if problem.optimum is None else sign * (value - problem.optimum),
    }


def _describe_front(problem: AnyProblem, result: Result) -> Facts:
    front = result.pareto_front
    return {
        "front": [
            {
                "trial": one.number,
                "values": one.values,
                "point": one.point,
                **({"constraints": dict(one.constraints)} if one.constraints else {}),
            }
            for one in front
        ],
        "hypervolume": result.hypervolume(problem.reference),
    }


def _describe_recommendation(problem: AnyProblem, result: Result) -> Facts:
    from bostruct.comparison.statistics import value_without_noise

    found = result.recommended
    return found.to_json() | {"value_without_noise": value_without_noise(problem, found.trial.point)}


def _count_statuses(summary: Facts) -> str:
    return ", ".join(f"{summary[status]} {status}" for status in ("completed", "failed", "infeasible"))


def format_summary(summary: Facts, result: Result) -> str:
    """Write a summary as rows of text.

    summary: of `describe_run`.
    result: of the study.
    """
    goals = "" if summary["goals"] is None else f", {summary['goals']}"
    rows = [
        ("problem", summary["problem"]),
        ("method", f"{summary['method']}, seed {summary['seed']}{goals}"),
        ("trials", f"{summary['trials']}: {_count_statuses(summary)}"),
        *_found_rows(summary, result),
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


def _found_rows(summary: Facts, result: Result) -> list[tuple[str, str]]:
    kept = (
        []
        if summary["feasible"] is None
        else [("limits", f"kept by {summary['feasible']} of {summary['completed']} completed trials")]
    )
    if "nothing_feasible" in summary:
        return [*kept, ("front" if "front" in summary else "best value", f"none: {summary['nothing_feasible']}")]
    return [*kept, *(_front_rows(summary) if "front" in summary else _best_rows(summary, result))]


def _best_rows(summary: Facts, result: Result) -> list[tuple[str, str]]:
    best = f"{format_number(summary['best_value'], 10)} as told of trial {summary['best_trial']} (counted from 0)"
    known = summary["best_known"] if summary["optimum"] is None else summary["optimum"]
    optimum = "not known" if known is None else f"{format_number(known, 10)} ({summary['optimum_source']})"
    rows = [("best value", best)]
    if summary["best_constraints"] is not None:
        rows.append(("it measures", ", ".join(f"{name} {n:g}" for name, n in summary["best_constraints"].items())))
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
