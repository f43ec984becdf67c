"""A sampler for studies of Optuna, which reads each trial of a study once."""

from __future__ import annotations

import json
import logging
import os
import threading
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study as OptunaStudy
from optuna.trial import FrozenTrial, Trial, TrialState

from bostruct.checks import check_integer, did_you_mean, short_repr
from bostruct.contracts import (
    BostructError,
    Domain,
    DomainError,
    Info,
    ParsedJson,
    Point,
    PointError,
    Presented,
    Searcher,
    SpaceExhausted,
    State,
)
from bostruct.domains.registry import as_domain
from bostruct.domains.space.call_limit import limit_calls
from bostruct.domains.space.clauses import OneOf
from bostruct.domains.space.discrete import Ordinal
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable
from bostruct.goals.declared import Goals
from bostruct.integrations.optuna_spaces import (
    CHOSEN,
    WHOLE,
    add_conditions,
    assemble_point,
    count_limits,
    declare,
    describe_parameters,
    encode_point,
    fit_value,
    has_values,
    infer_conditions,
    list_parameters,
    read_distribution,
    read_outcome,
    read_structure,
    read_trial_point,
    write_variable,
)
from bostruct.integrations.optuna_studies import StudyMirror, mirror_study
from bostruct.methods import find_method
from bostruct.outcome import Outcome
from bostruct.study.history import BatchBuffer, History, Measurements
from bostruct.study.stored_searcher import build_searcher
from bostruct.study.suggestion import FallbackWatch
from bostruct.study.threads import ThreadLimit

__all__ = ["BostructSampler", "StudyMirror", "mirror_study"]


log = logging.getLogger(__name__)


class BostructSampler(BaseSampler):
    """A sampler of Optuna whose suggestions come from a method of bostruct.

    The model conditions on running trials and learns from failed trials. The value of a pruned trial is its last
    report; a trial pruned before its first report is infeasible. Constraints that all trials with values have are
    outcome constraints. No point is repeated as long as an unevaluated point is left. A trial keeps its point as the
    system attribute `bostruct:point`, so that trials that ended before they asked for all parameters are data, too.

    Random numbers depend only on the seed and the number of the trial: a study that continues in another process, or
    on several workers, never draws the same numbers twice.

    Parameters
    ----------
    search_space : Domain or mapping of str to object, optional
        A `Space`, a dict of variables or of distributions of Optuna, or any other domain; it makes conditions
        (`when=`) and constraints known before the first trial. If None, the space is inferred from trials with values,
        after a random first trial: it contains the parameters that all these trials have, and parameters whose presence
        depends on the value of one categorical or integer. All other parameters are drawn at random.
    method : str or Searcher, default "auto"
        Name of a method, or a searcher if `search_space` is given.
    seed : int, optional
        Seed, at least 0. If None, a seed is drawn.
    structure : mapping of str to str or Variable, optional
        Structure of parameters by name, without a search space: ``"ordinal"`` for a categorical whose choices are
        ordered, or a variable. A variable with plain choices, such as a `Categorical` with descriptors, replaces a
        categorical with these choices. The value of any other variable, such as a `Permutation`, is read by `suggest`.
    threads : int or None, default 1
        Number of threads for model computations, at least 1. If None, threads are not limited.

    Raises
    ------
    DomainError, TypeError, ValueError
    """

    def __init__(
        self,
        search_space: Domain | Mapping[str, object] | None = None,
        *,
        method: str | Searcher = "auto",
        seed: int | None = None,
        structure: Mapping[str, str | Variable] | None = None,
        threads: int | None = 1,
    ) -> None:
        if search_space is not None and structure is not None:
            raise ValueError("structure: expected None with search_space, whose variables have the structure")
        if not isinstance(method, str) and search_space is None:
            raise TypeError("method: expected a name without search_space, because a searcher is made for one space")
        self._domain = None if search_space is None else read_search_space(search_space)
        self._structure = check_structure(structure or {})
        self._method = method
        self._seed = int.from_bytes(os.urandom(4)) if seed is None else check_integer("seed", seed, 0)
        self._threads = None if threads is None else check_integer("threads", threads, 1)
        self._forget()
        if self._domain is not None:  # what the method refuses is refused here
            build_searcher(method, self._domain, Goals())
        elif isinstance(method, str):
            find_method(method)

    def infer_relative_search_space(self, study: OptunaStudy, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters inferred from trials with values; none for an explicit search space.

        With an explicit space each parameter is suggested by its name, so that an objective may list the choices in
        any order, and may suggest inactive parameters.

        Parameters
        ----------
        study, trial
            Study and trial of Optuna.
        """
        if self._domain is not None:
            return {}
        with self._lock:
            return self._read(study).find_space(study)

    def sample_relative(
        self, study: OptunaStudy, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the values of all parameters of a search space.

        Parameters
        ----------
        study, trial
            Study and trial of Optuna.
        search_space : dict of str to BaseDistribution
            Result of `infer_relative_search_space`.
        """
        if self._domain is not None:
            return {}
        with self._lock:
            domain = self._find_domain(study, search_space)
            if domain is None:
                return {}
            point = self._suggest(study, trial.number, domain)
            return {name: fit_value(name, point[name], one) for name, one in search_space.items() if name in point}

    def sample_independent(
        self, study: OptunaStudy, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the value of one parameter: from the point of the explicit search space, otherwise at random.

        Parameters
        ----------
        study, trial
            Study and trial of Optuna.
        param_name : str
            Name of the parameter.
        param_distribution : BaseDistribution
            Distribution that the objective uses.

        Raises
        ------
        ValueError
            If the search space has the parameter with other values.
        """
        if self._domain is not None:
            point = self._find_point(study, trial.number)
            if param_name in point:
                return fit_value(param_name, point[param_name], param_distribution)
            why = "search_space does not have it, or not at this point"
            self._warn_once(param_name, f"parameter {param_name!r} is drawn at random: {why}")
        else:
            self._log_random(self._read(study), param_name)
        seed = np.random.SeedSequence(self._seed, spawn_key=(trial.number, zlib.crc32(param_name.encode())))
        sampler = RandomSampler(int(seed.generate_state(1)[0]))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def suggest(self, trial: Trial, name: str) -> Presented:
        """Return the value of a structured parameter, such as a permutation, in the form of `bostruct`.

        If the trial already has the attribute, as after ``enqueue_trial(..., user_attrs=...)``, that value is returned.

        Parameters
        ----------
        trial : Trial
            The trial of an objective; the value becomes its user attribute `name`, as JSON.
        name : str
            The name of a variable of `structure` or of the search space, or of a domain inside it; ``point`` for a
            domain that is not a space.

        Raises
        ------
        ValueError
            If no structured parameter has this name, or the point does not contain it.
        """
        domain = self._domain if self._domain is not None else Space(self._list_structures())
        check_structured(domain, name)
        if name in (given := trial.user_attrs):
            return read_structure(domain, name, given[name])
        if self._domain is None:
            _ = trial.relative_params  # chooses the point unless it is chosen already
        with self._lock:
            if self._domain is not None:
                self._find_point(trial.study, trial.number)
            encoded = self._read(trial.study).find_chosen(trial.study, trial.number)
        if encoded is None:
            raise BostructError(
                f"trial {trial.number} was started by another sampler: its structured values are unknown"
            )
        if name not in encoded:
            raise ValueError(f"name: expected a parameter of the point of trial {trial.number}, got {name!r}")
        trial.set_user_attr(name, encoded[name])
        return read_structure(domain, name, encoded[name])

    def suggest_point(self, trial: Trial) -> Presented:
        """Return the whole point of a trial, as objectives of `bostruct` receive it.

        Parameters
        ----------
        trial : Trial
            The trial of an objective. Plain values become its parameters, structured ones its user attributes.

        Raises
        ------
        BostructError
            If there is no explicit search space.
        PointError
            If the fixed parameters do not form a point.
        """
        domain = self._domain
        if domain is None:
            raise BostructError("suggest_point needs a sampler with a search space: BostructSampler(search_space)")
        if list_parameters(domain) is None:
            return self.suggest(trial, WHOLE)
        point = self._find_point(trial.study, trial.number)
        distributions = {name: one for name, one in describe_parameters(domain).items() if name in point}
        values: dict[str, Any] = {
            name: self.suggest(trial, name) if one is None else suggest_parameter(trial, name, one)
            for name, one in distributions.items()
        }
        return domain.present(domain.parse(assemble_point(domain, values, {}) | values))

    def reseed_rng(self) -> None:
        """Do nothing: random numbers come from the seed and the trial's number, so copies never draw the same."""

    def __getstate__(self) -> dict[str, Any]:
        kept = {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_lock", "_limit", "_trials", "_warned")
        }
        if self._trials is not None and self._trials.model is not None:
            kept["_carried"] = self._trials.model.label, self._trials.model.state
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        carried = state.pop("_carried")
        vars(self).update(state)
        self._forget()
        self._carried = carried

    def _forget(self) -> None:
        self._lock, self._limit = threading.RLock(), ThreadLimit(self._threads)
        self._trials: SeenTrials | None = None
        self._warned: set[str] = set()
        self._carried: tuple[str, State] | None = None  # label and state of the model of a pickled sampler

    def _read(self, study: OptunaStudy) -> SeenTrials:
        """Return the known trials of a study, none for a new study."""
        if self._trials is None or not self._trials.is_of(study):
            self._trials = SeenTrials(study)
        return self._trials

    def _find_point(self, study: OptunaStudy, number: int) -> Presented:
        """Return the presented point of a running trial; it is chosen now unless it was chosen before."""
        with self._lock:
            found = self._read(study)
            if number not in found.points:
                assert self._domain is not None
                self._suggest(study, number, self._domain)
            assert found.model is not None
            return found.model.domain.present(found.points[number])

    def _find_domain(self, study: OptunaStudy, search_space: Mapping[str, BaseDistribution]) -> Domain | None:
        """Return the space of some parameters and the structured parameters; an equal space is reused."""
        read = {name: self._read_parameter(name, one) for name, one in search_space.items()}
        variables = {name: one for name, one in read.items() if one is not None} | self._list_structures()
        if not variables:
            return None
        space, model = Space(add_conditions(variables, self._read(study).conditions)), self._read(study).model
        return model.domain if model is not None and model.domain == space else space

    def _list_structures(self) -> dict[str, Variable]:
        """Return the variables of `structure` that are not parameters of Optuna."""
        given = self._structure.items()
        return {name: one for name, one in given if isinstance(one, Variable) and write_variable(one) is None}

    def _read_parameter(self, name: str, distribution: BaseDistribution) -> Variable | None:
        """Return the variable of a distribution; None if it has one value, or no variable represents it."""
        given = self._structure.get(name)
        if given is not None:
            return read_structured(name, given, distribution)
        if distribution.single():
            return None
        try:
            return read_distribution(name, distribution)
        except DomainError as error:
            self._warn_once(name, f"parameter {name!r} is drawn at random: {error}")
            return None

    def _suggest(self, study: OptunaStudy, number: int, domain: Domain) -> Presented:
        """Choose the point of a trial, store it, and return it in the form of `Domain.present`."""
        found, trials = self._read(study), study.get_trials(deepcopy=False)
        finished = [one for one in trials if one.state.is_finished()]
        model = found.update(study, finished, domain, self._method)
        if self._carried is not None and self._carried[0] == model.label:
            model.state, self._carried = self._carried[1], None
        for unread, why in model.unread.items():
            self._warn_once("trial", f"trial {unread} has values, but the method ignores it: {why}")
        own = next((one for one in trials if one.number == number), None)
        attributes = {} if own is None else own.system_attrs
        x = model.find_point(own) if own is not None and CHOSEN in attributes else None  # if it is retried
        if x is None:
            rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(number,)))
            with self._limit():
                x, info = model.suggest(found.list_running(trials, number), rng)
            if info["origin"] == "exhausted":
                self._warn_once("", f"{info['why']}; points are drawn at random again")
            x = fix_parameters(domain, x, attributes.get("fixed_params", {}), rng)
        found.keep_point(study, own, number, x)
        return domain.present(x)

    def _log_random(self, seen: SeenTrials, name: str) -> None:
        """Log that a parameter is drawn at random: a warning only if its presence cannot be inferred from trials."""
        if seen.model is None:  # the first trials of define-by-run are random
            return
        if name in seen.names and name not in seen.conditions:
            why = "not all trials have it, and no other parameter shows when; give search_space"
            self._warn_once(name, f"parameter {name!r} is drawn at random: {why}")
        else:
            log.info(
                "BostructSampler: parameter %r is drawn at random: its branch is new, and is learned from now on", name
            )

    def _warn_once(self, key: str, message: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            log.warning("BostructSampler: %s", message)


class SeenTrials:
    """The trials of one Optuna study that were read.

    study: the Optuna study.
    """

    def __init__(self, study: OptunaStudy) -> None:
        self.name = study.study_name
        self._storage, self._study_id = study._storage, study._study_id
        self.model: Model | None = None
        self.points: dict[int, Point] = {}  # points of running trials, by number, in the domain of the model
        self._chosen: dict[int, dict[str, ParsedJson]] = {}  # the same points as JSON, independent of the model
        self._limits: frozenset[str] | None = None
        self._counted: set[int] = set()
        self.conditions: dict[str, dict[str, OneOf] | None] = {}  # conditions of parameters, see `infer_conditions`
        self.names: set[str] = set()  # names of the parameters of trials with values
        self._union: dict[str, BaseDistribution] = {}
        self._completed: set[int] = set()

    def is_of(self, study: OptunaStudy) -> bool:
        """Return whether these are the trials of a study; a study of the same name in another storage is different.

        study: the Optuna study.
        """
        return (study._storage, study._study_id, study.study_name) == (self._storage, self._study_id, self.name)

    def find_space(self, study: OptunaStudy) -> dict[str, BaseDistribution]:
        """Return the distributions of the parameters that have an entry in `conditions`.

        study: the Optuna study.
        """
        completed = [trial for trial in study.get_trials(deepcopy=False) if has_values(trial)]
        if (numbers := {trial.number for trial in completed}) != self._completed:
            self._completed = numbers
            self.names = {name for trial in completed for name in trial.params}
            self._union = _unite(completed)
            self.conditions = infer_conditions([trial.params for trial in completed], self._union)
        return {name: self._union[name] for name in self.conditions}

    def update(
        self, study: OptunaStudy, trials: Sequence[FrozenTrial], domain: Domain, method: str | Searcher
    ) -> Model:
        """Return a model of all finished trials: the previous model, unless the space, goals or trials have changed.

        study: the Optuna study.
        trials: all finished trials.
        domain: domain of the points.
        method: name of a method, or a searcher.
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
        """Store the point of a trial, here and in the storage, so that readers know which points were not suggested.

        study: the Optuna study.
        trial: the trial in the storage, None if the storage does not have it.
        number: number of the trial.
        x: the point.
        """
        assert self.model is not None
        self.points[number] = x
        self._chosen[number] = chosen = encode_point(self.model.domain, x)
        if trial is not None and trial.state is TrialState.RUNNING and trial.system_attrs.get(CHOSEN) != chosen:
            study._storage.set_trial_system_attr(trial._trial_id, CHOSEN, chosen)

    def find_chosen(self, study: OptunaStudy, number: int) -> dict[str, ParsedJson] | None:
        """Return the values that were chosen for a running trial as JSON, None if none are known.

        study: the Optuna study.
        number: number of the trial.
        """
        if number in self._chosen:
            return self._chosen[number]
        stored = (one.system_attrs for one in study.get_trials(deepcopy=False) if one.number == number)
        return next(stored, {}).get(CHOSEN)

    def list_running(self, trials: Iterable[FrozenTrial], asking: int) -> list[Point]:
        """Return the points of running trials: the points suggested here, otherwise the points of their parameters.

        trials: all trials of the study.
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
    """Return the distributions of all trials by name, without constants and parameters with several distributions."""
    found: dict[str, set[BaseDistribution]] = {}
    for trial in trials:
        for name, one in trial.distributions.items():
            found.setdefault(name, set()).add(one)
    firsts = {name: next(iter(several)) for name, several in found.items() if len(several) == 1}
    return {name: one for name, one in firsts.items() if not one.single()}


class Model:
    """A searcher on a domain, and its history, which grows by one finished trial at a time.

    domain: domain of the points.
    goals: goals of the study.
    method: name of a method, or a searcher.
    who: name of the study in the warning about many random points.

    Raises DomainError if the method does not support the domain or the goals.
    """

    def __init__(self, domain: Domain, goals: Goals, method: str | Searcher, who: str) -> None:
        self.domain = domain
        self.goals = goals
        self.searcher = build_searcher(method, domain, goals)
        self.state: State = self.searcher.initial_state()
        self.numbers: set[int] = set()  # numbers of the trials that were read
        self.unread: dict[int, str] = {}  # why the point of a trial with values is not in the domain, by number
        self._limits = tuple(limit.name for limit in goals.limits)
        self._completed, self._failed = BatchBuffer(domain), BatchBuffer(domain)
        self._measurements = Measurements(goals)
        self._seen: set[Hashable] = set()
        self._who, self._fallbacks = who, FallbackWatch()

    @property
    def label(self) -> str:
        """The domain and the goals as text, which identify the model of a pickled sampler."""
        return f"{json.dumps(self.domain.to_json())} {self.goals}"

    def read(self, trials: Iterable[FrozenTrial]) -> None:
        """Add new finished trials; a trial whose point is not in the domain is ignored and listed in `unread`.

        trials: trials of Optuna.
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
        """Return the point of a trial, None if it is not in the domain, for example because parameters are missing.

        trial: trial of Optuna.
        """
        try:
            return self.domain.parse(read_trial_point(self.domain, trial))
        except PointError:
            return None

    def suggest(self, running: Sequence[Point], rng: np.random.Generator) -> tuple[Point, Info]:
        """Return the next point to evaluate, and how it was chosen.

        running: points under evaluation.
        rng: random number generator.

        If no unevaluated point is left, or found, the point is drawn at random and has the origin `exhausted`.
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


def read_search_space(given: Domain | Mapping[str, object]) -> Domain:
    """Return the domain of a search space, without distributions of one value, which Optuna does not sample.

    given: a domain, or a dict of variables or of distributions of Optuna.

    Raises DomainError, TypeError.
    """
    if not isinstance(given, Mapping):
        return as_domain(given)
    several = {name: one for name, one in given.items() if not (isinstance(one, BaseDistribution) and one.single())}
    return as_domain(
        {
            name: read_distribution(name, one) if isinstance(one, BaseDistribution) else one
            for name, one in several.items()
        }
    )


def check_structure(given: object) -> dict[str, Any]:
    """Return a structure whose parts are all valid.

    given: ``"ordinal"`` or a variable for each name.

    Raises TypeError for anything else, DomainError for a variable with conditions.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f'structure: expected a dict such as {{"dose": "ordinal"}}, got {short_repr(given)}')
    for name, one in given.items():
        if one != "ordinal" and not isinstance(one, Variable):
            raise TypeError(
                f"structure[{name!r}]: expected 'ordinal' or a variable, Permutation(...), got {short_repr(one)}"
            )
        if isinstance(one, Variable) and one.when:
            raise DomainError(f"structure[{name!r}]: when: conditions need a search_space, which has all variables")
    return dict(given)


def check_structured(domain: Domain, name: str) -> None:
    """Raise ValueError unless a name belongs to a structured parameter, whose values are not plain.

    domain: domain with the parameters.
    name: name from the user.
    """
    names = [one for one, distribution in describe_parameters(domain).items() if distribution is None]
    if name not in names:
        plain = "; trial.suggest_float, suggest_int and suggest_categorical read the others"
        raise ValueError(
            f"name: expected a structured parameter, {', '.join(map(repr, names)) or 'but there are none'}, "
            f"got {short_repr(name)}{did_you_mean(name, names)}{plain}"
        )


def read_structured(name: str, given: str | Variable, distribution: BaseDistribution) -> Variable:
    """Return the variable of a parameter with a given structure.

    name: name of the parameter.
    given: ``"ordinal"`` or a variable.
    distribution: distribution that the objective uses.

    Raises ValueError if the structure does not fit the distribution.
    """
    if isinstance(given, Variable) and write_variable(given) is None:
        raise ValueError(
            f"structure[{name!r}]: {given} is not a parameter of Optuna; sampler.suggest(trial, {name!r}) reads it"
        )
    if not isinstance(distribution, CategoricalDistribution):
        raise ValueError(
            f"structure[{name!r}]: expected None for numbers, which have an order, got {short_repr(given)}"
        )
    if isinstance(given, str):
        return Ordinal(distribution.choices)
    own = [] if given.choices is None else list(given.choices)
    if sorted(map(repr, own)) != sorted(map(repr, distribution.choices)):
        raise ValueError(
            f"structure[{name!r}]: expected the choices that the objective uses, "
            f"{short_repr(distribution.choices)}, got {short_repr(own)}"
        )
    return given


def suggest_parameter(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """Suggest a parameter of a trial, as an objective does.

    trial: trial of Optuna.
    name: name of the parameter.
    distribution: distribution of the parameter; a float has no step.
    """
    if isinstance(distribution, FloatDistribution):
        return trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log)
    if isinstance(distribution, IntDistribution):
        low, high, step = distribution.low, distribution.high, distribution.step
        return trial.suggest_int(name, low, high, step=step, log=distribution.log)
    assert isinstance(distribution, CategoricalDistribution)
    return trial.suggest_categorical(name, distribution.choices)


def fix_parameters(domain: Domain, x: Point, fixed: Mapping[str, object], rng: np.random.Generator) -> Point:
    """Return a point that agrees with the fixed parameters of an enqueued trial and with the resulting conditions.

    domain: domain of the point.
    x: the point.
    fixed: values of parameters, by name.
    rng: random number generator for the variables that become active.

    The point is returned unchanged if the domain is not a space, or if the fixed parameters lead to no valid point.
    """
    if not isinstance(domain, Space) or not domain.variables.keys() & fixed.keys():
        return x
    row = np.array(x)
    try:
        for name in domain.variables.keys() & fixed.keys():
            own = domain.variables[name]
            row[domain.layout.columns(domain.positions[name])] = own.parse(fixed[name])
        row = domain.conditions.apply_randomly(row[None], rng)[0]
        domain.check(row)
    except PointError:
        return x
    return row
