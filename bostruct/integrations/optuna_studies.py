"""Studies of bostruct mirrored to a storage of Optuna, whose dashboard shows them, and made from studies of Optuna."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study as OptunaStudy
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from bostruct.checks import short_repr
from bostruct.contracts import BostructError, Domain, DomainError, ParsedJson, Point, PointError, Presented
from bostruct.domains.registry import as_domain, domain_from_json
from bostruct.domains.space.space import Space
from bostruct.execution.clock import as_time
from bostruct.goals.declared import Goals
from bostruct.integrations.optuna_spaces import (
    add_conditions,
    assemble_point,
    count_limits,
    declare,
    describe_parameters,
    drop_inactive,
    encode_point,
    encode_structures,
    fit_value,
    has_values,
    infer_conditions,
    read_distribution,
    read_outcome,
    read_trial_point,
    read_value,
)
from bostruct.outcome import Outcome, outcome_of
from bostruct.output_files import check_output
from bostruct.study.frames import ATTRIBUTE
from bostruct.study.history import Trial
from bostruct.study.study import Study

AnyStudy = TypeVar("AnyStudy", bound=Study)
MIRRORED = "bostruct"  # the user attribute of studies and trials with data for which Optuna has no field


def mirror_study(study: Study, storage: str | os.PathLike[str] | BaseStorage) -> None:
    """Write a study to a storage of Optuna, under its name; a repeated call adds only new trials.

    `StudyMirror` describes the stored data, mirrors a study while it runs, and raises the same exceptions.

    Parameters
    ----------
    study : Study
        A study of bostruct.
    storage : str, path-like, or BaseStorage
        The path of a journal file, which is created if missing, or any storage of Optuna.
    """
    StudyMirror(storage)(study)


class StudyMirror:
    """A callback of `Study.optimize` that keeps a study of Optuna equal to a study of bostruct.

    The study of Optuna has the name and the directions of our study. Plain values are parameters, inactive values are
    omitted, and other values are user attributes as JSON. Failed and infeasible trials have the state FAIL, trials that
    a rule stopped PRUNED; `bostruct.report` makes intermediate values. Constraints are satisfied if at most 0. The user
    attribute `bostruct` of a trial has its number, why it failed, and how it was chosen. A failed trial that was
    started again is stored twice, because Optuna reopens no trial. If the space of the study changed, earlier trials
    keep their parameters, and the user attribute `bostruct` of the study has their points in the new space.

    Parameters
    ----------
    storage : str, path-like, or BaseStorage
        The path of a journal file, which is created if missing, or any storage of Optuna. SQLite is an order of
        magnitude slower than a journal.

    Raises
    ------
    TypeError, OutputRefused
        If `storage` is neither a path nor a storage; if the file is not a journal.
    """

    def __init__(self, storage: str | os.PathLike[str] | BaseStorage) -> None:
        if not isinstance(storage, str | os.PathLike | BaseStorage):
            raise TypeError(f"storage: expected a path or a storage of Optuna, got {short_repr(storage)}")
        if isinstance(storage, str | os.PathLike):
            path = os.path.expanduser(os.fspath(storage))
            if not (os.path.exists(path) and os.path.getsize(path) == 0):  # an empty file loses nothing
                check_output(path, "journal of Optuna", overwrite=None)
            storage = JournalStorage(JournalFileBackend(path))
        self._storage = storage

    def __call__(self, study: Study, trial: Trial | None = None) -> None:
        """Write the new trials of a study.

        study: study of bostruct.
        trial: ignored, because all new trials are written.

        Raises ValueError if the storage has another study of this name, or a study with other directions, or if
        choices changed and the storage is relational, such as SQLite, which rejects other choices. Raises DomainError
        if the study was loaded without its space.
        """
        if not study.domain.is_whole:
            raise DomainError(f"study {study.name!r} was loaded without its space; use Study.load(..., space=...)")
        study_id = self._open(study)
        self._describe(study, study_id)
        stored = self._storage.get_all_trials(study_id, deepcopy=False)
        known = {one.user_attrs[MIRRORED]["number"]: one for one in stored if MIRRORED in one.user_attrs}  # last wins
        for one in study.trials:
            mirrored = known.get(one.number)
            if mirrored is None or (mirrored.state.is_finished() and _find_end(mirrored) != one.finished):
                self._add(study_id, study, one)
            elif not mirrored.state.is_finished() and one.status != "running":
                self._finish(
                    self._storage.get_trial_id_from_study_id_trial_number(study_id, mirrored.number),
                    _to_frozen_trial(study, one),
                )

    def _open(self, study: Study) -> int:
        """Return the id of the study in the storage; a missing study is created."""
        storage, wanted = self._storage, [StudyDirection[one.upper()] for one in study.goals.directions]
        try:
            study_id = storage.get_study_id_from_name(study.name)
        except KeyError:
            return storage.create_new_study(wanted, study.name)
        if (found := storage.get_study_directions(study_id)) != wanted:
            shown = [", ".join(one.name.lower() for one in each) for each in (wanted, found)]
            raise ValueError(
                f"storage: expected a study {study.name!r} with the directions {shown[0]}, got {shown[1]}; take "
                "another file, or another name"
            )
        return study_id

    def _describe(self, study: Study, study_id: int) -> None:
        """Write the data of a study for which Optuna has no field, unless the storage has them already."""
        facts = {"space": study.domain.to_json(), "goals": study.goals.to_json(), "changes": len(study.space_changes)}
        facts = json.loads(json.dumps(facts))
        stored = self._storage.get_study_user_attrs(study_id).get(MIRRORED, {})
        if (created := as_time(stored.get("created", study.created))) != study.created:
            made = datetime.fromtimestamp(created, UTC).isoformat(timespec="seconds")
            raise ValueError(
                f"storage: expected no other study {study.name!r}, got a study created at {made}; use another file or "
                "another name"
            )
        if stored != stored | facts:
            more = {"seed": study.seed, "method": study.result.method, "moved": _list_moved(study)}
            more["created"] = study.created
            self._storage.set_study_user_attr(study_id, MIRRORED, facts | more)

    def _add(self, study_id: int, study: Study, trial: Trial) -> None:
        try:
            self._storage.create_new_trial(study_id, template_trial=_to_frozen_trial(study, trial))
        except ValueError as error:
            if not study.space_changes:
                raise
            raise ValueError(
                f"storage: trial {trial.number} of study {study.name!r} conflicts with trials from before its space "
                f"changed: {error} A journal file takes both; or use another storage"
            ) from error

    def _finish(self, trial_id: int, frozen: FrozenTrial) -> None:
        """Write the outcome of a trial that is running in the storage."""
        for key, value in frozen.user_attrs.items():
            self._storage.set_trial_user_attr(trial_id, key, value)
        for key, value in frozen.system_attrs.items():
            self._storage.set_trial_system_attr(trial_id, key, value)
        for step, value in frozen.intermediate_values.items():
            self._storage.set_trial_intermediate_value(trial_id, step, value)
        self._storage.set_trial_state_values(trial_id, frozen.state, frozen.values)


def _find_end(trial: FrozenTrial) -> float | None:
    """Return the time at which a mirrored trial was finished; None while it runs."""
    finished = trial.user_attrs[MIRRORED]["finished"]
    return None if finished is None else as_time(finished)


def _list_moved(study: Study) -> dict[str, ParsedJson]:
    """Return for each trial from before the last change of the space its point as JSON, or why it has none, by number.

    Optuna changes no finished trial.
    """
    found: dict[str, ParsedJson] = {}
    for trial in study.trials[: study.space_changes[-1].trials if study.space_changes else 0]:
        if trial.unread is not None:
            found[str(trial.number)] = {"unread": trial.unread}
        elif (x := _parse_point(study, trial)) is not None:
            found[str(trial.number)] = {"point": encode_point(study.domain, x)}
    return found


def _parse_point(study: Study, trial: Trial) -> Point | None:
    """Return the point of a trial, None if it is not in the domain."""
    try:
        return None if trial.unread is not None else study.domain.parse(trial.point)
    except PointError:  # a trial that failed before the predicates changed
        return None


def _to_frozen_trial(study: Study, trial: Trial) -> FrozenTrial:
    """Return a trial in Optuna's form."""
    params, distributions, structures = _write_parameters(study, trial)
    taken = {MIRRORED, *describe_parameters(study.domain)}
    attributes = {
        f"{ATTRIBUTE}{name}" if name in taken or name.startswith(ATTRIBUTE) else name: value
        for name, value in trial.attributes.items()
    }
    has_stopped = "stopped_at" in trial.info
    states = {"running": TrialState.RUNNING, "completed": TrialState.PRUNED if has_stopped else TrialState.COMPLETE}
    frozen = create_trial(
        state=states.get(trial.status, TrialState.FAIL),
        values=list(trial.values) or None,
        params=params,
        distributions=distributions,
        user_attrs=structures | attributes | {MIRRORED: _mirrored_attributes(trial)},
        intermediate_values={int(step): float(value) for step, value in trial.info.get("reports", ())},
        constraints={
            limit.name: limit.violation(trial.constraints[limit.name]) for limit in study.goals.limits if trial.values
        },
    )
    frozen.datetime_start = datetime.fromtimestamp(trial.started)
    frozen.datetime_complete = None if trial.finished is None else datetime.fromtimestamp(trial.finished)
    return frozen


def _write_parameters(study: Study, trial: Trial) -> tuple[dict[str, Any], dict[str, Any], dict[str, ParsedJson]]:
    """Return a trial's parameters, their distributions, and its user attributes; all empty if it is not data."""
    if (x := _parse_point(study, trial)) is None:
        return {}, {}, {}
    found = {name: one for name, one in describe_parameters(study.domain).items() if one is not None}
    distributions = {name: one for name, one in found.items() if name in trial.point}
    params = {name: fit_value(name, trial.point[name], one) for name, one in distributions.items()}
    return params, distributions, encode_structures(study.domain, x)


def _mirrored_attributes(trial: Trial) -> dict[str, ParsedJson]:
    """Return the data of a trial for which Optuna has no field, without empty values."""
    facts = {"status": trial.status, "reason": trial.reason, "origin": trial.origin, "unread": trial.unread}
    facts |= {"constraints": dict(trial.constraints), "sd": trial.sd, "repeats": list(trial.repeats)}
    kept = {name: one for name, one in facts.items() if one not in (None, {}, [])}
    return {"number": trial.number, "finished": trial.finished, **kept}


def import_study(
    make: type[AnyStudy], given: OptunaStudy, space: Domain | Mapping[str, object] | None, **settings: Any
) -> AnyStudy:
    """Make a study from the finished trials of a study of Optuna; see `Study.from_optuna` for the arguments.

    make: class of the study.
    given: study of Optuna.
    space: search space; if None, it is inferred from the distributions.
    settings: arguments of `Study`.
    """
    if not isinstance(given, OptunaStudy):
        raise TypeError(f"optuna_study: expected a study of Optuna, optuna.load_study(...), got {short_repr(given)}")
    trials = _drop_superseded([one for one in given.get_trials(deepcopy=False) if one.state.is_finished()])
    own: Mapping[str, ParsedJson] = given.user_attrs.get(MIRRORED, {})
    is_mirror = bool(own) and all(MIRRORED in one.user_attrs for one in trials)
    domain = as_domain(space) if space is not None else _infer_space(own, trials)
    limits = sorted(count_limits(trials) or ())
    goals = Goals.from_json(own["goals"]) if is_mirror else declare(given.directions, limits)
    is_same_space = json.loads(json.dumps(domain.to_json())) == own.get("space")
    moved = own.get("moved", {}) if is_same_space else {}
    points = [_read_point(domain, one, moved) for one in trials]
    outcomes = [_read_mirrored(one) if is_mirror else read_outcome(one, limits) for one in trials]
    study = make(domain, **goals.to_arguments(), **settings)
    if study.trials:
        study.close()
        raise BostructError(f"storage: expected a storage without study {study.name!r}; Study.load opens it")
    for point, outcome, one in zip(points, outcomes, trials, strict=True):
        if point is not None:
            own_names = {MIRRORED, *describe_parameters(domain)}
            others = {name: value for name, value in one.user_attrs.items() if name not in own_names}
            if is_mirror:
                others = {name.removeprefix(ATTRIBUTE): value for name, value in others.items()}
            study.add(point, outcome, attributes=others)
    return study


def _drop_superseded(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Return trials without superseded ones: the last trial of each mirrored number counts."""
    last = {one.user_attrs[MIRRORED]["number"]: one.number for one in trials if MIRRORED in one.user_attrs}
    return [
        one
        for one in trials
        if MIRRORED not in one.user_attrs or last[one.user_attrs[MIRRORED]["number"]] == one.number
    ]


def _infer_space(own: Mapping[str, ParsedJson], trials: Sequence[FrozenTrial]) -> Domain:
    """Return the stored space of a mirrored study; the space of any other study is inferred from its distributions.

    own: attributes that the mirror wrote; empty if the study is not a mirror.
    trials: finished trials.

    Raises DomainError if the storage lacks data for the space.
    """
    if "space" in own:
        try:
            return domain_from_json(own["space"])
        except DomainError as error:
            raise DomainError(
                f"space: the storage does not contain the space of the study: {error}; give it as space="
            ) from error
    completed = [one for one in trials if has_values(one)]
    distributions: dict[str, Any] = {}
    for trial in completed:
        for name, one in trial.distributions.items():
            if distributions.setdefault(name, one) != one:
                raise DomainError(
                    f"{name}: trial {trial.number} has {one}, an earlier trial {distributions[name]}; give space= with "
                    f"a variable {name!r} that has the values of both"
                )
    several = {name: one for name, one in distributions.items() if not one.single()}
    if not several:
        raise DomainError("space: no trial with values has a parameter of several values; give space=")
    conditions = infer_conditions([one.params for one in completed], several)
    for name in [one for one in several if one not in conditions]:
        absent = [one.number for one in completed if name not in one.params]
        raise DomainError(
            f"{name}: {len(absent)} of {len(completed)} trials with values lack it, such as trial {absent[0]}, and no "
            f"other parameter determines when; give space= with all variables, {name!r} with when={{...}}"
        )
    return Space(add_conditions({name: read_distribution(name, one) for name, one in several.items()}, conditions))


def _read_point(domain: Domain, trial: FrozenTrial, moved: Mapping[str, ParsedJson]) -> Presented | None:
    """Return the point of a trial; None if the trial failed before its point was known.

    domain: domain of the point.
    trial: trial of Optuna.
    moved: points of trials from before the space of a mirrored study changed, by the number in that study.

    Raises PointError if a trial has values and its point is not in the domain.
    """
    own = trial.user_attrs.get(MIRRORED, {})
    own = own | moved.get(str(own.get("number")), {})
    if own.get("unread"):
        return None
    try:
        if "point" in own:  # keeps the numbers that were evaluated
            point = drop_inactive(domain, assemble_point(domain, trial.params, {}, own["point"]))
        else:
            point = read_trial_point(domain, trial)
        domain.parse(point)
    except PointError as error:
        if has_values(trial):
            raise PointError(f"trial {trial.number} of the study of Optuna: {error}") from error
        return None
    return point


def _read_mirrored(trial: FrozenTrial) -> Outcome:
    """Return the outcome of a trial in the mirrored study."""
    own = trial.user_attrs[MIRRORED]
    if not has_values(trial):
        reason = {"infeasible" if own["status"] == "infeasible" else "failed": own["reason"]}
        return Outcome(**reason)
    parts = {name: own.get(name) for name in ("constraints", "sd")}
    outcome = outcome_of({"value": read_value(trial), **parts})
    return replace(outcome, repeats=tuple(own.get("repeats", ())))
