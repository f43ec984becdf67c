"""The summary of `bostruct run`: facts for programs, and rows of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.analysis.tables import format_number
from bostruct.cli.findings import Rows, describe_findings, find_rows, incumbent_row
from bostruct.cli.text import Facts, format_pairs
from bostruct.display import pluralize

if TYPE_CHECKING:
    from bostruct.problems.own import AnyProblem
    from bostruct.study.result import Result
    from bostruct.study.study import Study

JUDGED = ("best_value_without_noise", "reported", "regret")  # facts of a best value


def describe_run(problem: AnyProblem, study: Study, result: Result) -> Facts:
    """Return what there is to say of a run, as JSON holds it.

    problem: that was optimized.
    study: of the run.
    result: of the study.
    """
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
    """Describe the best and the recommended trial by what is known of the problem; nothing of several objectives."""
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


def _count_statuses(summary: Facts) -> str:
    counts = ", ".join(f"{summary[status]} {status}" for status in ("completed", "failed", "infeasible"))
    return f"{counts}; {summary['stopped_early']} stopped early" if summary["stopped_early"] else counts


def format_summary(summary: Facts, result: Result) -> str:
    """Write a summary as rows of text.

    summary: of `describe_run`.
    result: of the study.
    """
    goals = "" if result.goals.is_default else f", {result.goals}"
    rows = [
        ("problem", summary["problem"]),
        ("method", f"{summary['method']}, seed {summary['seed']}{goals}"),
        ("trials", f"{summary['trials']}: {_count_statuses(summary)}"),
        *find_rows(summary, result, with_points=True),
        *_judged_rows(summary, result),
        ("seconds", f"{format_number(summary['seconds_per_suggestion'], 3)} a suggestion (median)"),
        ("stopped", summary["stopped"]),
    ]
    if summary["unread"]:
        rows.append(("no data", f"{pluralize(summary['unread'], 'trial')} not in the problem's space"))
    if summary["storage"] is not None:
        rows.append(("stored", f"{summary['study']!r} in {summary['storage']}"))
    if "plot" in summary:
        rows.append(("picture", summary["plot"]))
    return format_pairs(rows)


def _judged_rows(summary: Facts, result: Result) -> Rows:
    """Write how good the best and the recommended trial are; nothing where there is none, and of several objectives."""
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
