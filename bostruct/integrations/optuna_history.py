"""The trials of an Optuna study as the history that a searcher sees, read on from where they were read last."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study as OptunaStudy
from optuna.trial import FrozenTrial, TrialState

from bostruct.contracts import Domain, Info, ParsedJson, Point, PointError, Searcher, SpaceExhausted, State
from bostruct.domains.space.call_limit import limit_calls
from bostruct.domains.space.clauses import OneOf
from bostruct.goals.declared import Goals
from bostruct.integrations.optuna_conditions import infer_conditions
from bostruct.integrations.optuna_outcomes import count_limits, declare, has_values, read_outcome
from bostruct.integrations.optuna_spaces import CHOSEN, encode_point, read_trial_point
from bostruct.outcome import Outcome
from bostruct.study.history import GrowingBatch, History, Measurements
from bostruct.study.stored_searcher import build_searcher
from bostruct.study.suggestion import FallbackWatch


class SeenTrials:
    """The trials of one Optuna study as far as they were read.

    study: of Optuna.
    """

    def __init__(self, study: OptunaStudy) -> None:
        self.name = study.study_name
        self._storage, self._study_id = study._storage, study._study_id
        self.model: Model | None = None
        self.points: dict[int, Point] = {}  # of running trials, by number, in the domain of the model
        self._chosen: dict[int, dict[str, ParsedJson]] = {}  # the same as JSON, whatever the model is by now
        self._limits: frozenset[str] | None = None
        self._counted: set[int] = set()
        self.conditions: dict[str, dict[str, OneOf] | None] = {}  # of parameters, as of `infer_conditions`
        self.names: set[str] = set()  # of the parameters of trials with values
        self._union: dict[str, BaseDistribution] = {}
        self._told: set[int] = set()

    def is_of(self, study: OptunaStudy) -> bool:
        """Tell whether these are the trials of a study; one of the same name in another storage has others.

        study: of Optuna.
        """
        return (study._storage, study._study_id, study.study_name) == (self._storage, self._study_id, self.name)

    def find_space(self, study: OptunaStudy) -> dict[str, BaseDistribution]:
        """Return the distributions of the parameters that have an entry in `conditions`.

        study: of Optuna.
        """
        told = [trial for trial in study.get_trials(deepcopy=False) if has_values(trial)]
        if (numbers := {trial.number for trial in told}) != self._told:
            self._told = numbers
            self.names = {name for trial in told for name in trial.params}
            self._union = _unite(told)
            self.conditions = infer_conditions([trial.params for trial in told], self._union)
        return {name: self._union[name] for name in self.conditions}

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
        for kept in (self.points, self._chosen):
            for number in kept.keys() & numbers:
                del kept[number]
        return model

    def keep_point(self, study: OptunaStudy, trial: FrozenTrial | None, number: int, x: Point) -> None:
        """Remember the point of a trial, here and in the storage: whoever reads it knows what was not asked for.

        study: of Optuna.
        trial: as the storage has it, None where it has it not.
        number: of the trial.
        x: the point.
        """
        assert self.model is not None
        self.points[number] = x
        self._chosen[number] = chosen = encode_point(self.model.domain, x)
        if trial is not None and trial.state is TrialState.RUNNING and trial.system_attrs.get(CHOSEN) != chosen:
            study._storage.set_trial_system_attr(trial._trial_id, CHOSEN, chosen)

    def find_chosen(self, study: OptunaStudy, number: int) -> dict[str, ParsedJson] | None:
        """Return the values that were chosen for a running trial as JSON, None where nobody knows any.

        study: of Optuna.
        number: of the trial.
        """
        if number in self._chosen:
            return self._chosen[number]
        stored = (one.system_attrs for one in study.get_trials(deepcopy=False) if one.number == number)
        return next(stored, {}).get(CHOSEN)

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
        if not self._counted <= {trial.number for trial in trials}:
            self._counted, self._limits = set(), None
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
        self.unread: dict[int, str] = {}  # why the domain has not the point of a trial with values, by number
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
        """Take finished trials that were not read before; one whose point the domain has not is no data: `unread`.

        trials: of Optuna.
        """
        for trial in trials:
            if trial.number in self.numbers:
                continue
            self.numbers.add(trial.number)
            try:
                x = self.domain.parse(read_trial_point(self.domain, trial))
            except PointError as error:
                if has_values(trial):
                    self.unread[trial.number] = str(error)
                continue
            self._take(x, read_outcome(trial, self._limits))

    def find_point(self, trial: FrozenTrial) -> Point | None:
        """Return the point of a trial, None where the domain has it not, such as of one that lacks parameters.

        trial: of Optuna.
        """
        try:
            return self.domain.parse(read_trial_point(self.domain, trial))
        except PointError:
            return None

    def suggest(self, running: Sequence[Point], rng: np.random.Generator) -> tuple[Point, Info]:
        """Return the next point to evaluate, and how it was chosen.

        running: points under evaluation.
        rng: the only source of chance.

        If no unseen point is left, or found, it is any point, drawn at random, of origin `exhausted`.
        """
        seen = self._seen.union(self.domain.key(x) for x in running)
        measured = self._measurements.read()._asdict()
        history = History(
            self._completed.read(), running=self.domain.join(running), failed=self._failed.read(), seen=seen, **measured
        )
        try:
            with limit_calls():
                found = self.searcher.suggest(history, self.state, rng)
        except SpaceExhausted as error:
            return self.domain.take(self.domain.sample(1, rng), [0])[0], {"origin": "exhausted", "why": str(error)}
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
