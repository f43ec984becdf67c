"""Studies of bostruct made from studies of Optuna."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from optuna.study import Study as OptunaStudy
from optuna.trial import FrozenTrial

from bostruct.checks import short_repr
from bostruct.contracts import BostructError, Domain, DomainError, ParsedJson, PointError, Presented
from bostruct.domains.registry import domain_from_json
from bostruct.domains.space.space import Space
from bostruct.goals.declared import Goals
from bostruct.integrations.optuna_conditions import add_conditions, infer_conditions
from bostruct.integrations.optuna_inactive import drop_inactive
from bostruct.integrations.optuna_mirror import MIRRORED
from bostruct.integrations.optuna_outcomes import count_limits, declare, has_values, read_outcome, read_value
from bostruct.integrations.optuna_spaces import read_distribution, read_point, read_trial_point
from bostruct.outcome import Outcome, outcome_of
from bostruct.study.records import as_domain
from bostruct.study.study import Study

AnyStudy = TypeVar("AnyStudy", bound=Study)


def import_study(
    make: type[AnyStudy], given: OptunaStudy, space: Domain | Mapping[str, object] | None, **settings: Any
) -> AnyStudy:
    """Make a study of the finished trials of a study of Optuna: see `Study.from_optuna`, whose arguments these are.

    make: the class of the study.
    given: the study of Optuna.
    space: None for the one that the distributions tell.
    settings: of `Study`.
    """
    if not isinstance(given, OptunaStudy):
        raise TypeError(f"optuna_study: expected a study of Optuna, optuna.load_study(...), got {short_repr(given)}")
    trials = _drop_superseded([one for one in given.get_trials(deepcopy=False) if one.state.is_finished()])
    own: Mapping[str, ParsedJson] = given.user_attrs.get(MIRRORED, {})
    is_mirror = bool(own) and all(MIRRORED in one.user_attrs for one in trials)
    domain = as_domain(space) if space is not None else _read_space(own, trials)
    limits = sorted(count_limits(trials) or ())
    goals = Goals.from_json(own["goals"]) if is_mirror else declare(given.directions, limits)
    is_same_space = json.loads(json.dumps(domain.to_json())) == own.get("space")
    moved = own.get("moved", {}) if is_same_space else {}
    points = [_read_point(domain, one, moved) for one in trials]
    outcomes = [_read_mirrored(one) if is_mirror else read_outcome(one, limits) for one in trials]
    study = make(domain, **_write_goals(goals), **settings)
    if study.trials:
        study.close()
        raise BostructError(f"storage: expected none that holds study {study.name!r} already; Study.load opens it")
    for point, outcome in zip(points, outcomes, strict=True):
        if point is not None:
            study.add(point, outcome)
    return study


def _drop_superseded(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Return trials without those of a mirror that were handed out again: the last one of each number counts."""
    last = {one.user_attrs[MIRRORED]["number"]: one.number for one in trials if MIRRORED in one.user_attrs}
    return [
        one
        for one in trials
        if MIRRORED not in one.user_attrs or last[one.user_attrs[MIRRORED]["number"]] == one.number
    ]


def _read_space(own: Mapping[str, ParsedJson], trials: Sequence[FrozenTrial]) -> Domain:
    """Return the space of a mirrored study as it was, and of any other the one that its distributions tell.

    own: what the mirror wrote of the study, empty for another one.
    trials: finished ones.

    Raises DomainError where that takes knowledge that the storage does not hold.
    """
    if "space" in own:
        try:
            return domain_from_json(own["space"])
        except DomainError as error:
            raise DomainError(
                f"space: the storage does not hold the space of the study: {error}; give it as space="
            ) from error
    told = [one for one in trials if has_values(one)]
    distributions: dict[str, Any] = {}
    for trial in told:
        for name, one in trial.distributions.items():
            if distributions.setdefault(name, one) != one:
                raise DomainError(
                    f"{name}: trial {trial.number} has {one}, an earlier one {distributions[name]}; give space= with a "
                    f"variable {name!r} that has the values of both"
                )
    several = {name: one for name, one in distributions.items() if not one.single()}
    if not several:
        raise DomainError("space: no trial with values has a parameter of several values; give space=")
    conditions = infer_conditions([one.params for one in told], several)
    for name in [one for one in several if one not in conditions]:
        absent = [one.number for one in told if name not in one.params]
        raise DomainError(
            f"{name}: {len(absent)} of {len(told)} trials with values lack it, such as trial {absent[0]}, and no other "
            f"parameter tells when; give space= with all variables, {name!r} with when={{...}}"
        )
    return Space(add_conditions({name: read_distribution(name, one) for name, one in several.items()}, conditions))


def _read_point(domain: Domain, trial: FrozenTrial, moved: Mapping[str, ParsedJson]) -> Presented | None:
    """Return the point of a trial; None for a failed one that ended before its point was known.

    domain: of the point.
    trial: of Optuna.
    moved: what the space of a mirrored study made of trials from before it changed, by their number there.

    Raises PointError for a trial with values whose point the domain has not.
    """
    own = trial.user_attrs.get(MIRRORED, {})
    own = own | moved.get(str(own.get("number")), {})
    if own.get("unread"):
        return None
    try:
        if "point" in own:  # numbers stay as they were evaluated
            point = drop_inactive(domain, read_point(domain, trial.params, {}, own["point"]))
        else:
            point = read_trial_point(domain, trial)
        domain.parse(point)
    except PointError as error:
        if has_values(trial):
            raise PointError(f"trial {trial.number} of the study of Optuna: {error}") from error
        return None
    return point


def _read_mirrored(trial: FrozenTrial) -> Outcome:
    """Return the outcome of a trial as our study had it."""
    own = trial.user_attrs[MIRRORED]
    if not has_values(trial):
        reason = {"infeasible" if own["status"] == "infeasible" else "failed": own["reason"]}
        return Outcome(**reason)
    parts = {name: own.get(name) for name in ("constraints", "sd")}
    outcome = outcome_of({"value": read_value(trial), **parts})
    return replace(outcome, repeats=tuple(own.get("repeats", ())))


def _write_goals(goals: Goals) -> dict[str, Any]:
    """Return goals as the arguments of `Study`."""
    several = goals.n_objectives > 1
    return {
        "direction": "minimize" if several else goals.direction,
        "directions": goals.directions if several else None,
        "constraints": {limit.name: (limit.sense, limit.bound) for limit in goals.limits} or None,
        "repeats": "auto" if goals.repeats else None,
    }
