"""One call for a whole search: `minimize` and `maximize`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from bostruct.checks import short_repr
from bostruct.contracts import Domain, Presented, Searcher
from bostruct.goals.declared import Declared, Direction
from bostruct.study.prior import PriorSource
from bostruct.study.result import Result
from bostruct.study.run_settings import FailureLimit
from bostruct.study.stopping import StoppingRule
from bostruct.study.study import Callback, Place, Study

SearchFunction = TypeVar("SearchFunction", bound=Callable[..., Result])


class Settings(TypedDict, total=False):
    """The types of the settings of `Study` and `Study.optimize`, which define their defaults."""

    method: str | Searcher
    seed: int | None
    directions: Sequence[Direction] | None
    constraints: Declared | None
    repeats: Literal["auto"] | None
    suggest_seconds: float | None
    objective_name: str | Sequence[str] | Callable[..., object] | None
    storage: Place | None
    name: str | None
    initial_points: Iterable[object] | None
    threads: int | None
    prior: Iterable[PriorSource] | None
    n_more: int | None
    timeout: float | None
    patience: int | None
    cancel_running: bool
    workers: int
    executor: Executor | None
    trial_timeout: float | None
    load_timeout: float
    callbacks: Callback | Sequence[Callback]
    progress: bool | None
    reraise: type[Exception] | tuple[type[Exception], ...]
    stopping_rule: StoppingRule | None
    retries: int
    max_initial_failures: FailureLimit


_STUDY, _RUN = (
    {name: one for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY}
    for function in (Study, Study.optimize)
)
_STUDY["name"] = _STUDY["name"].replace(default=None, annotation="str | None")


def _show_settings(search: SearchFunction) -> SearchFunction:
    """Give a function the signature that help() and notebooks show: its own arguments, then all settings."""
    own = inspect.signature(search)
    settings = [one for name, one in (_STUDY | _RUN).items() if name != "direction"]
    vars(search)["__signature__"] = own.replace(parameters=[*list(own.parameters.values())[:-1], *settings])
    return search


@_show_settings
def minimize(
    objective: Callable[[Presented], object],
    space: Domain | Mapping[str, object],
    n_trials: int | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Minimize an objective.

    With `storage`, the same call again resumes an interrupted run, and does nothing after a finished one.

    Parameters
    ----------
    objective : callable
        Called as ``objective(point)``. Returns a number, or anything else that `Study.tell` accepts as a value.
    space : Space, dict, or Domain
        The search space. A dict of variables becomes a `Space`.
    n_trials : int, optional
        Total number of finished trials of the study, at least 0. Failed trials count. Optional if `timeout`,
        `patience` or `n_more` ends the run.
    timeout : float, optional
        Wall-clock seconds of this call, at least 0. No trial starts afterward; running trials finish. A resumed call
        has the full time again.
    patience : int, optional
        Ends the run after this number of completed trials in a row without a better one; see `Study.optimize`.
    n_more : int, optional
        Number of finished trials to add to those of the stored study, instead of `n_trials`.
    cancel_running : bool, default False
        If True, running trials are requeued at the timeout, and a resumed run evaluates them again.
    method : str or Searcher, default "auto"
        The name of a method, or a searcher from `bostruct.methods`.
    seed : int, optional
        Random seed, at least 0. If None, a seed is drawn and stored.
    directions : sequence of {"minimize", "maximize"}, optional
        One direction for each of several objectives. The objective then returns a tuple.
    constraints : dict, optional
        Constraints on quantities that each evaluation measures, by name, such as ``{"latency": ("<=", 10.0)}``.
        The objective then returns ``{"value": ..., "constraints": {"latency": ...}}``.
    repeats : {"auto"}, optional
        If "auto", a point of a noisy objective may be evaluated again.
    suggest_seconds : float, optional
        Target time of a suggestion in seconds; see `Study`.
    objective_name : str, sequence of str, or callable, optional
        The name of the value in axes, tables and reports; see `Study`. By default the name of the function `objective`,
        if it has at least three letters and is not as general as ``objective`` or ``run``.
    storage : path, URL, or Storage, optional
        A file, a ``postgresql://user@host/database`` URL, or a `Storage` object. If None, the study is kept in memory.
    name : str, default "study"
        The name of the study in its storage.
    initial_points : iterable, optional
        Points to evaluate before those that the method chooses.
    threads : int or None, default 1
        Threads for the model, at least 1. None leaves the current setting unchanged.
    prior : iterable of studies, results, or files, optional
        Earlier studies of related tasks for transfer learning; see `Study`.
    workers : int, default 1
        Number of worker processes, or of trials in flight with an executor. One worker without `trial_timeout` runs
        in this process.
    executor : concurrent.futures.Executor, optional
        Evaluates the trials instead of worker processes.
    trial_timeout : float, optional
        Seconds per trial, at least 0.001; then the worker is killed and the trial fails. Not with an executor.
    load_timeout : float, default 60.0
        Seconds in which a worker must load the objective, at least 0.001. A worker that is slower or dies is replaced
        at most twice per trial.
    callbacks : callable or sequence of callables, optional
        Called as ``callback(study, trial)`` after each finished trial.
    progress : bool, optional
        Whether to show a progress bar on stderr. By default it is shown in a terminal and in a notebook.
    reraise : exception class or tuple of them, optional
        Exceptions of the objective that end the run, in addition to failing their trial.
    stopping_rule : StoppingRule, optional
        Stops trials early by the values that the objective passes to `bostruct.report`, such as `bostruct.MedianRule`.
    retries : int, default 0
        Number of times that a failed or timed-out trial is evaluated again, at least 0. A trial that raised
        `bostruct.Transient` is evaluated again at least twice.
    max_initial_failures : int, "auto", or None, default "auto"
        Ends the run after this number of failed trials if no trial has completed, at least 1. "auto" is 10 or more;
        see `Study.optimize`. None never ends the run.

    Returns
    -------
    Result
        The best trial, all trials, and what the model has learned.

    Raises
    ------
    ValueError
        If an argument is invalid, or for the single direction "maximize".
    BostructError
        See `Study` and `Study.optimize`. An error that ends a run carries the result so far as ``error.result``.

    See Also
    --------
    maximize, Study
    """
    return _search("minimize", objective, space, n_trials, settings)


@_show_settings
def maximize(
    objective: Callable[[Presented], object],
    space: Domain | Mapping[str, object],
    n_trials: int | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Maximize an objective.

    Parameters
    ----------
    objective : callable
        Called as ``objective(point)``. Returns a number, or anything else that `Study.tell` accepts as a value.
    space : Space, dict, or Domain
        The search space. A dict of variables becomes a `Space`.
    n_trials : int, optional
        Total number of finished trials of the study, as in `minimize`.
    **settings
        All other arguments of `minimize`. If `directions` are given, all must be "maximize".

    Returns
    -------
    Result
        The best trial, all trials, and what the model has learned.

    Raises
    ------
    ValueError
        If an argument is invalid, or a direction is "minimize".
    BostructError
        As in `minimize`.
    """
    return _search("maximize", objective, space, n_trials, settings)


def _search(
    direction: Direction,
    objective: Callable[[Presented], object],
    space: Domain | Mapping[str, object],
    n_trials: int | None,
    settings: Mapping[str, Any],
) -> Result:
    """Create, run and close one study; a name of None is the default of `Study`."""
    if unknown := settings.keys() - Settings.__annotations__.keys():
        raise TypeError(f"{direction}() got an unexpected keyword argument {min(unknown)!r}")
    if isinstance(objective, Domain) or not callable(objective):
        got = f"{short_repr(objective)}; call {direction}(objective, space, ...)"
        raise TypeError(f"objective: expected a function of a point, got {got}")
    _check_directions(direction, settings.get("directions"))
    for_study = {name: one for name, one in settings.items() if name in _STUDY and (name, one) != ("name", None)}
    for_run = {name: one for name, one in settings.items() if name in _RUN}
    for_study["objective_name"] = objective if (own := settings.get("objective_name")) is None else own
    if settings.get("directions") is None:
        for_study["direction"] = direction
    with Study(space, **for_study) as study:
        result = study.optimize(objective, n_trials, **for_run)
        with study.result_on_error():
            study.close()
    return result


def _check_directions(direction: Direction, directions: object) -> None:
    """Raise ValueError for directions that contradict the called function; `Study` checks everything else."""
    given = list(directions) if isinstance(directions, Sequence) and not isinstance(directions, str) else []
    if direction == "maximize" and "minimize" in given:
        raise ValueError(
            f"directions: expected maximize for each objective of maximize(), got {short_repr(given)}; minimize() "
            "takes several objectives in any directions"
        )
    if direction == "minimize" and given == ["maximize"]:
        raise ValueError(
            f"directions: expected minimize for the only objective of minimize(), got {given}; call maximize()"
        )
