"""bostruct in Optuna: a sampler for its studies, and a mirror of studies of ours for its dashboard."""

from __future__ import annotations

import logging
import os
import threading
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study as OptunaStudy
from optuna.trial import FrozenTrial, Trial

from bostruct.checks import check_integer
from bostruct.contracts import BostructError, Domain, DomainError, Presented, Searcher, State
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable
from bostruct.goals.declared import Goals
from bostruct.integrations.optuna_conditions import add_conditions
from bostruct.integrations.optuna_history import SeenTrials
from bostruct.integrations.optuna_mirror import StudyMirror, mirror_study
from bostruct.integrations.optuna_spaces import (
    CHOSEN,
    WHOLE,
    describe_parameters,
    fit_value,
    list_parameters,
    read_distribution,
    read_point,
    read_structure,
    write_variable,
)
from bostruct.integrations.optuna_structure import (
    check_structure,
    check_structured,
    fix_parameters,
    read_search_space,
    read_structured,
    suggest_parameter,
)
from bostruct.methods import find_method
from bostruct.study.stored_searcher import build_searcher
from bostruct.study.threads import ThreadLimit

__all__ = ["BostructSampler", "StudyMirror", "mirror_study"]

log = logging.getLogger(__name__)


class BostructSampler(BaseSampler):
    """A sampler of Optuna whose suggestions are those of a method of bostruct.

    search_space: a `Space`, a dict of variables or of distributions of Optuna, or any other domain: where it is given,
        it holds before the first trial, and conditions (`when=`) and constraints are known. None for what the
        trials with values tell, after a first one at random: parameters that all of them have, and others whose
        presence the value of one categorical or integer tells. All further ones are drawn at random.
    method: a name, or for an explicit search space a searcher.
    seed: an integer from 0; None draws one.
    structure: without a search space, parameters by name that are more than Optuna's distributions say: ``"ordinal"``
        for a categorical whose choices are ordered, or a variable. A variable with plain choices, such as a
        `Categorical` with descriptors, stands for a categorical with these choices. Any other, such as a `Permutation`,
        is read by `suggest`.
    threads: for model work, from 1; None leaves them alone.

    Running trials are believed, failed ones are learned from, a pruned one has its last report as its value. A trial
    pruned before it reported is infeasible. Constraints that all trials with values have are limits. Points are never
    repeated while a new one is left. A trial keeps its point as the system attribute `bostruct:point`, so that one that
    ended before it asked for all of it is learned from, too.

    Chance comes from the seed and the number of the trial, whatever was drawn before: a study that goes on in another
    process, or on several workers, never draws the same numbers twice. Raises DomainError, TypeError, ValueError.
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
            raise ValueError("structure: expected None beside search_space, whose variables have the structure")
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
        """Return the parameters that the trials with values tell; none for an explicit search space.

        study, trial: of Optuna.

        With an explicit space each parameter is asked for by its name, so that an objective may ask for the choices in
        any order, and for the parameters that a condition leaves out.
        """
        del trial
        if self._domain is not None:
            return {}
        with self._lock:
            return self._read(study).find_space(study)

    def sample_relative(
        self, study: OptunaStudy, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the values of all parameters of a search space.

        study, trial: of Optuna.
        search_space: of `infer_relative_search_space`.
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
        """Return the value of one parameter: of the point of the explicit search space, else at random.

        study, trial: of Optuna.
        param_name: of the parameter.
        param_distribution: as the objective asks for it.

        Raises ValueError where the search space has the parameter with other values.
        """
        if self._domain is not None:
            point = self._find_point(study, trial.number)
            if param_name in point:
                return fit_value(param_name, point[param_name], param_distribution)
            why = "search_space has it not, or not at this point"
            self._warn_once(param_name, f"parameter {param_name!r} is drawn at random: {why}")
        else:
            self._log_random(self._read(study), param_name)
        seed = np.random.SeedSequence(self._seed, spawn_key=(trial.number, zlib.crc32(param_name.encode())))
        sampler = RandomSampler(int(seed.generate_state(1)[0]))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def suggest(self, trial: Trial, name: str) -> Presented:
        """Return the value of a structured parameter, such as a permutation, as `bostruct` presents it.

        trial: of an objective; the value is its user attribute `name` from now on, as JSON.
        name: of a variable of `structure` or of the search space, or of a domain inside it; ``point`` for a domain that
            is no space.

        A trial that has the attribute already, such as one of ``enqueue_trial(..., user_attrs=...)``, has that value.
        Raises ValueError for a name that is no structured parameter, and for one that the point has not.
        """
        domain = self._domain if self._domain is not None else Space(self._list_structures())
        check_structured(domain, name)
        if name in (given := trial.user_attrs):
            return read_structure(domain, name, given[name])
        if self._domain is None:
            _ = trial.relative_params  # has the point chosen where nothing has yet
        encoded = self._encode_point(trial.study, trial.number)
        if name not in encoded:
            raise ValueError(f"name: expected one that the point of trial {trial.number} has, but it has no {name!r}")
        trial.set_user_attr(name, encoded[name])
        return read_structure(domain, name, encoded[name])

    def suggest_point(self, trial: Trial) -> Presented:
        """Return the whole point of a trial, as objectives of `bostruct` receive it.

        trial: of an objective. Plain values are its parameters from now on, structured ones its user attributes.

        Raises BostructError without an explicit search space, and PointError where fixed parameters make no point.
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
        return domain.present(domain.parse(read_point(domain, values, {}) | values))

    def reseed_rng(self) -> None:
        """Do nothing: chance comes from the seed and a trial's number, so that copies never draw the same numbers."""

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
        self._carried: tuple[str, State] | None = None  # a model's label, and its state, of a pickled sampler

    def _read(self, study: OptunaStudy) -> SeenTrials:
        """Return what is known of the trials of a study, nothing of one that is new."""
        if self._trials is None or not self._trials.is_of(study):
            self._trials = SeenTrials(study)
        return self._trials

    def _find_point(self, study: OptunaStudy, number: int) -> Presented:
        """Return the point of a running trial as its domain presents it, chosen now where none was."""
        with self._lock:
            found = self._read(study)
            if number not in found.points:
                assert self._domain is not None
                self._suggest(study, number, self._domain)
            assert found.model is not None
            return found.model.domain.present(found.points[number])

    def _encode_point(self, study: OptunaStudy, number: int) -> dict[str, Any]:
        """Return the values of the point of a running trial as JSON."""
        with self._lock:
            if self._domain is not None:
                self._find_point(study, number)
            if (chosen := self._read(study).find_chosen(study, number)) is None:
                raise BostructError(f"trial {number} was begun by another sampler, which knows its structured values")
            return chosen

    def _find_domain(self, study: OptunaStudy, search_space: Mapping[str, BaseDistribution]) -> Domain | None:
        """Return the space of some parameters and the structured ones, the same object as before where it is equal."""
        read = {name: self._read_parameter(name, one) for name, one in search_space.items()}
        variables = {name: one for name, one in read.items() if one is not None} | self._list_structures()
        if not variables:
            return None
        space, model = Space(add_conditions(variables, self._read(study).conditions)), self._read(study).model
        return model.domain if model is not None and model.domain == space else space

    def _list_structures(self) -> dict[str, Variable]:
        """Return the variables of `structure` that are no parameters of Optuna's."""
        given = self._structure.items()
        return {name: one for name, one in given if isinstance(one, Variable) and write_variable(one) is None}

    def _read_parameter(self, name: str, distribution: BaseDistribution) -> Variable | None:
        """Return the variable of a distribution; None where it has one value, or none stands for it."""
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
        """Choose the point of a trial, keep it, and return it as the domain presents it."""
        found, trials = self._read(study), study.get_trials(deepcopy=False)
        finished = [one for one in trials if one.state.is_finished()]
        model = found.update(study, finished, domain, self._method)
        if self._carried is not None and self._carried[0] == model.label:
            model.state, self._carried = self._carried[1], None
        for unread, why in model.unread.items():
            self._warn_once("trial", f"trial {unread} has values, but is no data for the method: {why}")
        own = next((one for one in trials if one.number == number), None)
        attributes = {} if own is None else own.system_attrs
        x = model.find_point(own) if own is not None and CHOSEN in attributes else None  # such as of one tried again
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
        """Log that a parameter is drawn at random: a warning only where the trials cannot tell when it is there."""
        if seen.model is None:  # the first trials of define-by-run are random
            return
        if name in seen.names and name not in seen.conditions:
            why = "not all trials have it, and no other tells when; give search_space"
            self._warn_once(name, f"parameter {name!r} is drawn at random: {why}")
        else:
            log.info(
                "BostructSampler: parameter %r is drawn at random: its branch is new, and learned from now on", name
            )

    def _warn_once(self, key: str, message: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            log.warning("BostructSampler: %s", message)
