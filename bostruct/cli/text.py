"""Output of the commands: text, JSON, and the findings of a study, which `run` and `show` print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from bostruct.analysis.tables import format_corner, format_number
from bostruct.display import pluralize

if TYPE_CHECKING:
    from bostruct.study.history import Trial
    from bostruct.study.result import Result

Facts: TypeAlias = dict[str, Any]  # the output of a command, as JSON or in the rows of a table
Rows = list[tuple[str, str]]
SPARK_BLOCKS = "▁▂▃▄▅▆▇█"
BEST_FACTS = ("best_value", "best_trial", "best_point", "best_constraints", "recommended")


def echo_json(data: object) -> None:
    """Print one object as JSON; unsupported values become null or strings.

    data: dicts, lists and other JSON data; nonfinite numbers become null.
    """
    from bostruct.serving.messages import replace_nonfinite  # local, since --help does not need it

    click.echo(json.dumps(replace_nonfinite(data), indent=2, default=str, ensure_ascii=False, allow_nan=False))


def format_pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Format names and texts, one aligned line each.

    rows: (name, text), at least one.
    """
    from bostruct.display import printable  # local, since it imports NumPy, which --help does not need

    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {printable(text)}".rstrip() for name, text in rows)


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Plot a curve in one line of block characters; at most `width` characters, "" for no values.

    width: maximum number of characters, at least 1; longer curves show the last value of each segment.
    """
    if not values:
        return ""
    shown = list(values)
    if len(shown) > width:
        shown = [shown[(i + 1) * len(shown) // width - 1] for i in range(width)]
    low, high = min(shown), max(shown)
    scale = (len(SPARK_BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(SPARK_BLOCKS[round((value - low) * scale)] for value in shown)


def describe_findings(result: Result, reference: Sequence[float] | None = None) -> Facts:
    """Return the findings of a study as JSON data: the best trial or the Pareto front, or why there is none.

    reference: with several objectives, the reference point of the hypervolume, one number for each; None for the
        default of `Result.hypervolumes`.

    `nothing_feasible` contains the reason if no trial is feasible.
    """
    several = result.goals.n_objectives > 1
    n_feasible = sum(trial.is_feasible for trial in result.trials)
    facts: Facts = {"feasible": n_feasible if result.goals.limits else None}
    if not result.has_feasible:
        empty = _front_facts(result, reference) if several else dict.fromkeys(BEST_FACTS)
        return facts | empty | {"nothing_feasible": _lack(result)}
    return facts | (_front_facts(result, reference) if several else _best_facts(result))


def describe_trial(trial: Trial) -> Facts:
    """Return a trial of a Pareto front as JSON data."""
    measured = {"constraints": dict(trial.constraints)} if trial.constraints else {}
    return {"trial": trial.number, "values": trial.values, "point": trial.point, **measured}


def list_findings(facts: Facts, result: Result, with_points: bool = False) -> Rows:
    """Format the findings of a study as names and texts.

    facts: at least the facts of `describe_findings`.
    with_points: whether to include the best point, or each point of the Pareto front.
    """
    from bostruct.study.history import describe_failures

    rows: Rows = [("failures", reasons)] if (reasons := describe_failures(result.trials)) else []
    if facts["feasible"] is not None and result.n_completed:
        rows.append(("feasible", f"{facts['feasible']} of {result.n_completed} completed trials"))
    several = result.goals.n_objectives > 1
    if "nothing_feasible" in facts:
        return [*rows, ("front" if several else "best value", f"none: {facts['nothing_feasible']}")]
    return [
        *rows,
        *(
            [
                ("front", f"{pluralize(len(facts['front']), 'trial')}, not dominated by any trial"),
                *((f"trial {one['trial']}", _write_on_front(one, with_points)) for one in facts["front"]),
                ("hypervolume", f"{format_number(facts['hypervolume'])} {format_corner(facts['reference'])}"),
            ]
            if several
            else _best_rows(facts, result, with_points)
        ),
    ]


def incumbent_row(result: Result) -> tuple[str, str]:
    """Plot the incumbent values as a line of blocks, with the first and the last value."""
    values = [step.best_value for step in result.incumbents if step.best_value is not None]
    return "best so far", f"{sparkline(values)}  {format_number(values[0])} to {format_number(values[-1])}"


def _lack(result: Result) -> str:
    """Describe why the result has no feasible trial."""
    from bostruct.contracts import BostructError

    try:
        result.pareto_front  # noqa: B018  # for one objective, the best trial
    except BostructError as error:
        return str(error)
    return ""


def _best_facts(result: Result) -> Facts:
    best = result.best_trial
    values = best.value, best.number, best.point, dict(best.constraints) or None, result.recommended.to_json()
    return dict(zip(BEST_FACTS, values, strict=True))


def _front_facts(result: Result, reference: Sequence[float] | None) -> Facts:
    from bostruct.analysis.fronts import find_corner

    corner = find_corner([result]) if reference is None else list(reference)
    front = result.pareto_front if result.has_feasible else ()
    return {
        "front": [describe_trial(trial) for trial in front],
        "hypervolume": result.hypervolume(corner),
        "reference": corner,
    }


def _best_rows(facts: Facts, result: Result, with_points: bool) -> Rows:
    from bostruct.study.history import tell_stop

    best = f"{format_number(facts['best_value'], 10)} (trial {facts['best_trial']})"
    rows = [("best value", f"{best}{tell_stop(result.best_trial)}")]
    if facts["best_constraints"] is not None:
        rows.append(("it measures", _write_measured(facts["best_constraints"])))
    if not with_points:
        return rows
    rows += [("best point", _point_text(facts["best_point"])), ("recommended", str(result.recommended))]
    trial = result.recommended.trial
    return rows if trial.number == facts["best_trial"] else [*rows, ("its point", _point_text(trial.point))]


def _write_on_front(one: Facts, with_point: bool) -> str:
    """Format a trial of the Pareto front: its values, its measured quantities, and its point."""
    parts = [", ".join(f"{value:.6g}" for value in one["values"])]
    if "constraints" in one:
        parts.append(f"measures {_write_measured(one['constraints'])}")
    return "; ".join([*parts, _point_text(one["point"])] if with_point else parts)


def _write_measured(constraints: dict[str, float]) -> str:
    return ", ".join(f"{name} {number:g}" for name, number in constraints.items())


def _point_text(point: object) -> str:
    return json.dumps(point, default=str, ensure_ascii=False)
