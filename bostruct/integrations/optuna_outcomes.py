"""Values and constraints of trials of Optuna as outcomes and goals of bostruct."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from bostruct.goals.declared import Goals, declare_goals
from bostruct.outcome import Outcome, outcome_of

WITH_VALUES = (TrialState.COMPLETE, TrialState.PRUNED)


def has_values(trial: FrozenTrial) -> bool:
    """Tell whether a trial has values: it is complete, or was pruned after a report, whose last value is its own.

    trial: of Optuna.
    """
    return trial.state in WITH_VALUES and trial.values is not None


def read_outcome(trial: FrozenTrial, limits: Collection[str]) -> Outcome:
    """Return what came of a finished trial.

    trial: of Optuna.
    limits: names of the constraints that all trials with values have. Where a trial breaks any other constraint it is
        infeasible, because nothing is known of that number at the other points.

    A trial that was pruned before its first report is infeasible, and so is one whose value is not finite a failure.
    """
    if not has_values(trial):
        if trial.state is TrialState.PRUNED:
            return Outcome(infeasible="pruned before its first report")
        return Outcome(failed=_read_reason(trial))
    constraints = trial.constraints
    if broken := [name for name, number in constraints.items() if name not in limits and number > 0.0]:
        return Outcome(infeasible=f"breaks the constraint {', '.join(broken)}")
    measured = {name: constraints[name] for name in limits}
    return outcome_of({"value": read_value(trial), "constraints": measured or None})


def read_value(trial: FrozenTrial) -> float | tuple[float, ...]:
    """Return the value of a trial that has values, a tuple where there are several objectives.

    trial: of Optuna.
    """
    return trial.values[0] if len(trial.values) == 1 else tuple(trial.values)


def _read_reason(trial: FrozenTrial) -> str:
    return str(trial.system_attrs.get("fail_reason") or "the trial failed in Optuna")


def count_limits(trials: Iterable[FrozenTrial], before: frozenset[str] | None = None) -> frozenset[str] | None:
    """Return the names of the constraints that all trials with values have; None where there is no such trial.

    trials: of Optuna; those without values are left out.
    before: of trials that were counted already.
    """
    for trial in trials:
        if has_values(trial):
            names = frozenset(trial.constraints)
            before = names if before is None else before & names
    return before


def declare(directions: Sequence[Any], limits: Collection[str]) -> Goals:
    """Return the goals of an Optuna study: its directions, and a limit of at most 0 for each constraint.

    directions: of Optuna.
    limits: names of constraints.
    """
    names = [direction.name.lower() for direction in directions]
    constraints = {name: ("<=", 0.0) for name in limits} or None
    return (
        declare_goals(names[0], None, constraints) if len(names) == 1 else declare_goals("minimize", names, constraints)
    )
