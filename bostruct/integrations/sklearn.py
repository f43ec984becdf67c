"""Hyperparameter search of scikit-learn estimators: a drop-in for `sklearn.model_selection.RandomizedSearchCV`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.model_selection import RandomizedSearchCV
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state

from bostruct.checks import short_repr
from bostruct.contracts import DomainError, Presented, Searcher, SpaceExhausted
from bostruct.domains.space.choice_json import is_json_scalar
from bostruct.domains.space.choices import list_entries
from bostruct.domains.space.clauses import OneOf
from bostruct.domains.space.discrete import Categorical
from bostruct.domains.space.numeric import Integer, Real
from bostruct.domains.space.registry import variable
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable
from bostruct.study.result import Result
from bostruct.study.study import Study

SWITCH = "param_distributions"  # the variable that selects one of several dicts for a candidate

Candidate = dict[str, Presented]  # parameters of the estimator


class BostructSearchCV(BaseSearchCV):
    """Search the parameters of an estimator by cross-validation, with candidates chosen by a model of the scores.

    Parameters and attributes are the same as in `sklearn.model_selection.RandomizedSearchCV`, plus the parameter
    `method` and the attribute `search_result_`, the `bostruct.Result` of the search.

    Parameters
    ----------
    estimator : object
        A scikit-learn estimator; it has `score` unless `scoring` is given.
    param_distributions : mapping of str to object, sequence of mapping of str to object or Space
        Dict from names of parameters to `scipy.stats` uniform, loguniform or randint, to a list of choices, or to a
        variable of bostruct, whose `when=` may name other parameters; or a `Space`, with its constraints. Arrays of
        ascending numbers are ordered. A list of dicts is searched as one space, in which a choice selects the dict.
    n_iter : int, default 10
        Number of candidates to evaluate, at least 1; fewer if the space has fewer.
    method : str or Searcher, default "auto"
        The name of a method of bostruct, or a searcher.
    scoring : object, optional
        As in scikit-learn. The search maximizes the score. If there are several scores, it maximizes the score that
        `refit` names, or the first score if `refit` is a function.
    n_jobs : int, optional
        Number of folds evaluated in parallel. If it exceeds the number of folds, several candidates are suggested at a
        time; the earlier ones count as running.
    refit, cv, verbose, pre_dispatch, return_train_score
        As in scikit-learn.
    random_state : object, optional
        Int, `numpy.random.RandomState` or None. The same int, with the same number of candidates suggested at a time,
        gives the same candidates if the scores are the same.
    error_score : Any, default np.nan
        Score of a fold whose fit fails, or "raise". NaN makes the candidate a failure, and the method learns to avoid
        similar ones; a number is used as a score.

    Raises
    ------
    DomainError
        If an argument is invalid.
    ValueError
        If there are several scores and `refit` neither names one nor is a function.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012  # a class attribute that scikit-learn reads
        **RandomizedSearchCV._parameter_constraints,
        "param_distributions": "no_validation",
        "method": "no_validation",
    }

    def __init__(
        self,
        estimator: object,
        param_distributions: Mapping[str, object] | Sequence[Mapping[str, object]] | Space,
        *,
        n_iter: int = 10,
        method: str | Searcher = "auto",
        scoring: object = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[..., object] = True,
        cv: object = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: object = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.method = method
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,  # type: ignore[arg-type]  # scikit-learn's stubs take it for a bool
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,  # type: ignore[arg-type]  # or an int
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def _run_search(  # type: ignore[override]  # callbacks are passed to searches that take them
        self, evaluate_candidates: Callable[[list[Candidate]], dict[str, Any]]
    ) -> None:
        """Ask for candidates, evaluate them and report the scores, until there are `n_iter`."""
        grid = CandidateSpace(self.param_distributions)
        if grid.space is None:
            if self.n_iter > 1:
                warnings.warn(f"n_iter: 1 candidate was evaluated, fewer than {self.n_iter}", UserWarning, stacklevel=2)
            evaluate_candidates([grid.candidate({})])
            return
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        n_together = math.ceil(effective_n_jobs(self.n_jobs) / self.n_splits_)  # type: ignore[arg-type]  # None is the default
        study = Study(grid.space, direction="maximize", method=self.method, seed=seed)
        self._failed: list[tuple[int, Candidate]] = []  # candidates whose fits all failed, and their positions
        results: dict[str, Any] = {}
        last_error: ValueError | None = None
        try:
            while study.n_finished < self.n_iter:
                trials = study.ask(min(n_together, self.n_iter - study.n_finished))
                candidates = [grid.candidate(trial.point) for trial in trials]
                try:
                    results = evaluate_candidates(candidates)
                    scores = self._scores(results)[-len(trials) :]
                except ValueError as error:
                    if self.error_score == "raise" or "fits failed" not in str(error):
                        raise
                    self._failed += [(trial.number, one) for trial, one in zip(trials, candidates, strict=True)]
                    scores, last_error = [self.error_score] * len(trials), error
                for trial, score in zip(trials, scores, strict=True):
                    is_score = bool(np.isfinite(score))
                    study.tell(trial, float(score) if is_score else None, failed=None if is_score else "error_score")
            study.stop(f"n_iter reached ({self.n_iter})")
        except SpaceExhausted as error:
            study.stop(str(error))
            message = f"n_iter: {study.n_finished} candidates were evaluated, fewer than {self.n_iter}: {error}"
            warnings.warn(message, UserWarning, stacklevel=2)
        if last_error is not None and not results:
            raise last_error
        results.update(self._format_results(*self._evaluated))  # includes failures after the last success
        del self._failed, self._evaluated
        self.search_result_: Result = study.result

    def _format_results(self, candidate_params: Any, n_splits: int, out: Any, more_results: Any = None) -> Any:
        """Return `cv_results_`, including the candidates whose fits all failed, in order.

        scikit-learn raises an error if all fits of a call fail, even if the call has a single candidate.
        """
        self._evaluated = candidate_params, n_splits, out, more_results
        candidates, rows = list(candidate_params), list(out)
        for place, candidate in getattr(self, "_failed", ()):
            candidates.insert(place, candidate)
            rows[place * n_splits : place * n_splits] = [_failed_fit(out[0], self.error_score)] * n_splits
        return super()._format_results(candidates, n_splits, rows, more_results)

    def _scores(self, results: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        """Return the mean scores to maximize, one per candidate evaluated so far."""
        names = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
        wanted = self.refit if isinstance(self.refit, str) else "score"
        if callable(self.refit) and wanted not in names:  # it chooses among all candidates after the search
            wanted = names[0]
        if wanted not in names:
            raise ValueError(
                f"refit: expected the name of the score to search by, one of {', '.join(names)}, or a function; got "
                f"{self.refit!r}"
            )
        return results[f"mean_test_{wanted}"]


def _failed_fit(like: Mapping[str, Any], error_score: float) -> dict[str, Any]:
    """Return the record of a failed fit, whose time is unknown, in the form of another record."""
    row = {**like, "fit_time": 0.0, "score_time": 0.0}
    for part in {"test_scores", "train_scores"} & row.keys():
        row[part] = dict.fromkeys(row[part], error_score) if isinstance(row[part], dict) else error_score
    return row


class CandidateSpace:
    """The space of the candidates of a search, and the conversion of its points to candidates.

    Parameters
    ----------
    given : object
        `param_distributions`, a dict or a list of dicts.

    Raises
    ------
    DomainError
        If an argument is invalid.
    """

    space: Space | None

    def __init__(self, given: object) -> None:
        if isinstance(given, Space):
            self.space, self._fixed, self._names = given, [{}], [{name: name for name in given.variables}]
            return
        dicts = [given] if isinstance(given, Mapping) else given
        if not isinstance(dicts, list | tuple) or not dicts or not all(isinstance(one, Mapping) for one in dicts):
            raise DomainError(f"param_distributions: expected a dict, or a list of dicts, got {short_repr(given)}")
        read = [{name: _read_parameter_values(name, one) for name, one in own.items()} for own in dicts]
        self._fixed = [{name: v for name, v in own.items() if not isinstance(v, Variable)} for own in read]
        free = [{name: v for name, v in own.items() if isinstance(v, Variable)} for own in read]
        self._dicts = _label_dicts(self._fixed)
        variables: dict[str, Variable] = {SWITCH: Categorical(self._dicts)} if len(free) > 1 else {}
        self._names: list[dict[str, str]] = []  # for each dict: parameter -> variable
        for i, own in enumerate(free):
            self._names.append({})
            for name, given in own.items():
                holders = [k for k, other in enumerate(free) if name in other]
                is_shared = all(free[k][name] == given for k in holders)
                label = self._names[i][name] = name if is_shared else f"{name} ({self._dicts[i]})"
                holders = [self._dicts[k] for k in (holders if is_shared else [i])]
                variables[label] = given if len(holders) == len(free) else _only_in(holders, name, given)
        self.space = Space(variables) if variables else None

    def candidate(self, point: Mapping[str, Presented]) -> Candidate:
        """Return a point as parameters of the estimator, without inactive variables.

        Parameters
        ----------
        point : mapping of str to Presented
            Point of the space.
        """
        i = self._dicts.index(point[SWITCH]) if SWITCH in point else 0
        chosen = {name: point[label] for name, label in self._names[i].items() if label in point}
        return {name: value[0] for name, value in self._fixed[i].items()} | chosen


def _label_dicts(fixed: list[dict[str, Any]]) -> list[str]:
    """Name each dict by a constant parameter that differs between all dicts; by its number if there is none."""
    for name in fixed[0]:
        given = [own[name][0] for own in fixed if name in own]
        values = [str(value) if is_json_scalar(value) else type(value).__name__ for value in given]
        if len(set(values)) == len(fixed):
            return [f"{name}={value}" for value in values]
    return [f"dict {i}" for i in range(len(fixed))]


def _only_in(dicts: list[str], name: str, given: Variable) -> Variable:
    """Return a variable that is active if one of some dicts is selected."""
    if given.when:
        raise DomainError(f"{name}: when: expected none in a list of dicts; give one dict, with when= on its variables")
    found = type(given).from_json(given.to_json()) if not isinstance(given, Categorical) else Categorical(given.choices)
    found.when = {SWITCH: OneOf(*dicts) if len(dicts) > 1 else dicts[0]}
    return found


def _read_parameter_values(name: str, given: Any) -> Variable | tuple[object]:
    """Return the values of a parameter as a variable, or its only value in a tuple."""
    if isinstance(given, Variable):
        return given
    if hasattr(given, "rvs"):
        return _read_distribution(name, given)
    values = list_entries(given)
    if isinstance(values, list | tuple):
        distinct = [
            value
            for i, value in enumerate(values)
            if not any(
                (value is one or (type(value) is type(one) and bool(np.all(value == one)))) for one in values[:i]
            )
        ]
        if len(distinct) == 1:
            return (distinct[0],)
        is_ordered = isinstance(given, np.ndarray) and given.dtype.kind in "iuf" and bool((np.diff(given) > 0).all())
        return variable(name, given if is_ordered and len(values) > 2 else distinct)
    if given is bool or isinstance(given, range):
        return variable(name, given)
    raise DomainError(
        f"{name}: expected a distribution of scipy.stats, a list of choices or a variable of bostruct, such as "
        f"bostruct.Real(low, high); got {short_repr(given)}"
    )


def _read_distribution(name: str, given: Any) -> Variable:
    """Return a frozen distribution as a variable of its range."""
    kind = getattr(getattr(given, "dist", None), "name", type(given).__name__)
    if kind not in ("uniform", "loguniform", "reciprocal", "randint"):
        raise DomainError(
            f"{name}: expected uniform, loguniform or randint of scipy.stats, got {kind}; give its range as "
            "bostruct.Real(low, high) or bostruct.Integer(low, high)"
        )
    low, high = given.support()
    if kind == "randint":
        return Integer(int(low), int(high))
    is_log = kind != "uniform"
    if is_log and given.dist._parse_args(*given.args, **given.kwds)[1] != 0.0:
        raise DomainError(f"{name}: expected a loguniform with loc=0, got {short_repr(given.kwds)}")
    return Real(float(low), float(high), log=is_log)
