"""The table of a run's trials, which holds the best and the last of very many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bostruct.analysis.report.facts import Run, write_point
from bostruct.analysis.report.story import cut_end, first_line, format_time
from bostruct.analysis.report.tables import MOST_COLUMNS, format_value, write_table
from bostruct.display import Html, pluralize
from bostruct.study.history import Trial

MOST_CELLS = 60_000  # about 1 MB
LEAST_ROWS, MOST_ROWS = 100, 1000
LONGEST_CELL = 120  # characters of a part of a point


def tabulate_trials(run: Run) -> Html:
    """Write the trials, a row each; of many the best and the last.

    run: to tell of.
    """
    trials, goals = run.result.trials, run.result.goals
    values = ["value"] if run.is_single else [f"value {k}" for k in range(goals.n_objectives)]
    limits = [limit.name for limit in goals.limits]
    lead = ["trial", "status", *values, *limits, "chosen by", "began", "seconds"]
    points = [write_point(trial.point) for trial in trials]
    names = list(dict.fromkeys(name for point in points for name in point))
    most = max(LEAST_ROWS, min(MOST_ROWS, MOST_CELLS // (len(lead) + min(len(names), MOST_COLUMNS))))
    shown = _choose_rows(run, most)
    rows = [_write_row(trial, points[trial.number], run, names[:MOST_COLUMNS]) for trial in shown]
    numeric = [0, *range(2, 2 + len(values) + len(limits))]
    caption = _caption(len(trials), len(shown), len(names))
    return write_table(caption, [*lead, *names[:MOST_COLUMNS]], rows, numeric=numeric, sort=True)


def _caption(n_trials: int, n_shown: int, n_names: int) -> str:
    caption = pluralize(n_trials, "trial")
    if n_shown < n_trials:
        caption = f"{n_shown:,} of {caption}, half of them the best and the others the last"
    if n_names > MOST_COLUMNS:
        caption += f", with {MOST_COLUMNS} of {n_names:,} parts of their points"
    return caption + (
        "; bostruct show --csv writes all of them" if n_shown < n_trials or n_names > MOST_COLUMNS else ""
    )


def _choose_rows(run: Run, most: int) -> Sequence[Trial]:
    """Return the trials to show: the best and the last ones where there are too many, by number."""
    result = run.result
    if len(result.trials) <= most:
        return result.trials
    best: Sequence[Trial] = run.front
    if run.is_single:
        best = sorted(result.list_completed(), key=lambda one: (bool(one.broken), *result.goals.orient(one.values)))
    chosen = {trial.number for trial in best[: most // 2]}
    for trial in reversed(result.trials):
        if len(chosen) >= most:
            break
        chosen.add(trial.number)
    return [result.trials[number] for number in sorted(chosen)]


def _write_row(trial: Trial, point: Mapping[str, str], run: Run, names: Sequence[str]) -> list[object]:
    goals = run.result.goals
    return [
        trial.number,
        _describe_status(trial, run),
        *map(format_value, trial.values or (None,) * goals.n_objectives),
        *(format_value(trial.constraints.get(limit.name)) for limit in goals.limits),
        trial.origin,
        format_time(trial.started),
        format_value(trial.seconds, 3),
        *(cut_end(point.get(name, "–"), LONGEST_CELL) for name in names),
    ]


def _describe_status(trial: Trial, run: Run) -> str:
    if trial.broken:
        return f"breaks {cut_end(', '.join(trial.broken), LONGEST_CELL)}"
    if trial.reason is None:
        return run.find_status(trial)
    return f"{trial.status}: {cut_end(first_line(trial.reason), LONGEST_CELL)}"
