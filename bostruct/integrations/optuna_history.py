"""The trials of an Optuna study as the history that a searcher sees, read on from where they were read last."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study as OptunaStudy
from optuna.trial import FrozenTrial, TrialState

from bostruct.contracts import Domain, Info, ParsedJson, Point, PointError, Searcher, SpaceExhausted, State
from bostruct.domains.space.call_limit import limit_calls
from bostruct.domains.space.when import OneOf
from bostruct.goals.declared import Goals, declare_goals
from bostruct.integrations.optuna_conditions import infer_conditions
from bostruct.integrations.optuna_spaces import read_point
from bostruct.outcome import Outcome, outcome_of
from bostruct.study.growing import GrowingBatch
from bostruct.study.history import History
from bostruct.study.measured import Measurements
from bostruct.study.stored_searcher import build_searcher
from bostruct.study.suggestion import FallbackWatch

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


class SeenTrials:
    """The trials of one Optuna study as far as they were read.

    name: of the study.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.model: Model | None = None
        self.points: dict[int, Point] = {}  # of running trials, by number, in the domain of the model
        self.structures: dict[int, dict[str, ParsedJson]] = {}  # their structured values, whatever the model is by now
        self._shared = IntersectionSearchSpace(include_pruned=True)
        self._limits: frozenset[str] | None = None
        self._counted: set[int] = set()
        self.conditions: dict[str, dict[str, OneOf]] = {}  # of parameters that not all trials have
        self._union: dict[str, BaseDistribution] = {}
        self._n_told = 0

    def find_space(self, study: OptunaStudy) -> dict[str, BaseDistribution]:
        """Return the distributions of the parameters that all trials with values have, and of those with `conditions`.

        study: of Optuna.
        """
        shared = self._shared.calculate(study)
        told = [trial for trial in study.get_trials(deepcopy=False) if has_values(trial)]
        if len(told) != self._n_told:
            self._n_told = len(told)
            self._union = _unite(told)
            self.conditions = infer_conditions([trial.params for trial in told], self._union, shared)
        return shared | {name: self._union[name] for name in self.conditions}

    def update(
        self, study: OptunaStudy, trials: Sequence[FrozenTrial], domain: Domain, method: str | Searcher
    ) -> Model:
        """Return a model that knows all finished trials: the one before, unless space, goals or trials are others.

        study: of Optuna.
        trials: all finished ones.
        domain: of the points.
        method: by name, or a searcher.
        """
        goals, numbers = self._read_goals(study, trials), {trial.number for trial in trials}
        model = self.model
        if model is None or model.domain is not domain or model.goals != goals or not model.numbers <= numbers:
            if model is None or model.domain is not domain:
                self.points.clear()
            model = self.model = Model(domain, goals, method, f"Optuna study {self.name!r}")
        model.read(trials)
        for kept in (self.points, self.structures):
            for number in kept.keys() & numbers:
                del kept[number]
        return model

    def list_running(self, trials: Iterable[FrozenTrial], asking: int) -> list[Point]:
        """Return the points of running trials: what was suggested for them here, or what their parameters say.

        trials: all of the study.
        asking: the number of the trial that is left out.
        """
        assert self.model is not None
        found = []
        for trial in trials:
            if trial.state is TrialState.RUNNING and trial.number != asking:
                x = self.points.get(trial.number)
                found.append(self.model.find_point(trial) if x is None else x)
        return [x for x in found if x is not None]

    def _read_goals(self, study: OptunaStudy, trials: Sequence[FrozenTrial]) -> Goals:
        fresh = [trial for trial in trials if trial.number not in self._counted]
        self._counted.update(trial.number for trial in fresh)
        self._limits = count_limits(fresh, self._limits)
        return declare(study.directions, self._limits or ())


def _unite(trials: Iterable[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Return the distributions of several values of all trials by name, without parameters that have several."""
    found: dict[str, set[BaseDistribution]] = {}
    for trial in trials:
        for name, one in trial.distributions.items():
            found.setdefault(name, set()).add(one)
    firsts = {name: next(iter(several)) for name, several in found.items() if len(several) == 1}
    return {name: one for name, one in firsts.items() if not one.single()}


class Model:
    """A searcher on a domain, and the history that it sees, which grows by one finished trial at a time.

    domain: of the points.
    goals: of the study.
    method: by name, or a searcher.
    who: what the warning about many random points calls the study.

    Raises DomainError for a method that cannot search the domain, or has no such goals.
    """

    def __init__(self, domain: Domain, goals: Goals, method: str | Searcher, who: str) -> None:
        self.domain = domain
        self.goals = goals
        self.searcher = build_searcher(method, domain, goals)
        self.state: State = self.searcher.initial_state()
        self.numbers: set[int] = set()  # of the trials that were read
        self._limits = tuple(limit.name for limit in goals.limits)
        self._completed, self._failed = GrowingBatch(domain), GrowingBatch(domain)
        self._measurements = Measurements(goals)
        self._seen: set[Hashable] = set()
        self._who, self._fallbacks = who, FallbackWatch()

    @property
    def label(self) -> str:
        """The domain and the goals as text, by which a pickled sampler knows its model again."""
        return f"{json.dumps(self.domain.to_json())} {self.goals}"

    def read(self, trials: Iterable[FrozenTrial]) -> None:
        """Take finished trials that were not read before; a trial whose point the domain has not is no data.

        trials: of Optuna.
        """
        for trial in trials:
            if trial.number in self.numbers:
                continue
            self.numbers.add(trial.number)
            if (x := self.find_point(trial)) is not None:
                self._take(x, read_outcome(trial, self._limits))

    def find_point(self, trial: FrozenTrial) -> Point | None:
        """Return the point of a trial, None where the domain has it not, such as of one that lacks parameters.

        trial: of Optuna.
        """
        try:
            return self.domain.parse(read_point(self.domain, trial.params, trial.user_attrs))
        except PointError:
            return None

    def suggest(self, running: Sequence[Point], rng: np.random.Generator) -> tuple[Point, Info]:
        """Return the next point to evaluate, and how it was chosen.

        running: points under evaluation.
        rng: the only source of chance.

        Where every point was seen it is any point, drawn at random, of origin `exhausted`.
        """
        seen = self._seen.union(self.domain.key(x) for x in running)
        measured = self._measurements.read()._asdict()
        history = History(
            self._completed.read(), running=self.domain.join(running), failed=self._failed.read(), seen=seen, **measured
        )
        try:
            with limit_calls():
                found = self.searcher.suggest(history, self.state, rng)
        except SpaceExhausted:
            return self.domain.take(self.domain.sample(1, rng), [0])[0], {"origin": "exhausted"}
        self.state = found.state
        self._fallbacks.note(self._who, found.info)
        return found.point, found.info

    def _take(self, x: Point, outcome: Outcome) -> None:
        self._seen.add(self.domain.key(x))
        if outcome.status == "completed":
            self._completed.append(x)
            self._measurements.append(outcome)
        else:
            self._failed.append(x)
