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
    """The settings of `Study` and of `Study.optimize`, whose defaults are theirs, by their types."""

    method: str | Searcher
    seed: int | None
    directions: Sequence[Direction] | None
    constraints: Declared | None
    repeats: Literal["auto"] | None
    suggest_seconds: float | None
    objective_name: str | Sequence[str] | None
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


_OF_STUDY, _OF_RUN = (
    {name: one for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY}
    for function in (Study, Study.optimize)
)
_OF_STUDY["name"] = _OF_STUDY["name"].replace(default=None, annotation="str | None")


def _show_settings(search: SearchFunction) -> SearchFunction:
    """Give a function the signature that help() and notebooks show: its own arguments, then all settings."""
    own = inspect.signature(search)
    settings = [one for name, one in (_OF_STUDY | _OF_RUN).items() if name != "direction"]
    vars(search)["__signature__"] = own.replace(parameters=[*list(own.parameters.values())[:-1], *settings])
    return search


@_show_settings
def minimize(
    objective: Callable[[Presented], object],
    space: Domain | Mapping[str, object],
    n_trials: int | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Look for the point with the smallest value of an objective, and return the result.

    objective: called with a point as the user wrote it, returns a number, or what else `Study.tell` takes as a value.
    space: a `Space`, a dict of variables, or any other domain.
    n_trials: total number of finished trials of the study, from 0; failed ones count. None if `timeout`, `patience` or
        `n_more` ends the run.
    settings: of the study and of the run, by name. They are the following.
    timeout: seconds of this call, from 0. No trial begins afterward; running trials finish. A resumed call has the
        whole time again. None for no limit.
    patience: finished trials in a row without a better value that end the run, from 1; None for no such end.
    n_more: finished trials beyond those that a stored study has at the call, in place of `n_trials`; None for none.
    cancel_running: True gives running trials back when the timeout is up.
    method: a name, or a searcher from `bostruct.methods`.
    seed: an integer from 0; None draws one and records it.
    directions: ``minimize`` or ``maximize`` for each of several objectives, in place of one to minimize; the objective
        returns a tuple then. None for one objective; of one alone, ``maximize`` is refused.
    constraints: limits on numbers that each evaluation measures, a sense and a bound by name, such as
        ``{"latency": ("<=", 10.0)}``; the objective returns ``{"value": ..., "constraints": {"latency": ...}}`` then.
        None for none.
    repeats: ``auto`` where a told point of a noisy objective may be asked for again; None if no point ever is.
    suggest_seconds: that a suggestion is to take at most, as of `Study`; None for as long as it takes.
    objective_name: what axes, tables and reports call the value, as of `Study`; None for ``value``.
    storage: a file, or a `Storage` object; None keeps all in memory. With one, the same call again
        continues an interrupted run, and does nothing after a finished one.
    name: of the study in its file; None for ``study``.
    initial_points: asked before any point of the method's own; None for none.
    threads: for model work, from 1; None leaves them alone.
    prior: earlier studies of related tasks that the model learns from, as of `Study`; None for none.
    workers: processes, or trials in flight with an executor; 1 without trial_timeout runs in this process.
    executor: any `concurrent.futures.Executor`.
    trial_timeout: seconds, from 0.001, after which the worker is killed and the trial fails; not with an executor.
    load_timeout: seconds, from 0.001, that a worker gets to load the objective; a worker that is slower, or dies
        meanwhile, is replaced, twice for a trial.
    callbacks: one or several, called as callback(study, trial) after each finished trial.
    progress: a bar on stderr, None shows it on a terminal and in a notebook.
    reraise: exceptions that end the run, beside failing their trial.
    stopping_rule: such as `bostruct.MedianRule`, stops trials early by what the objective tells `bostruct.report`; None
        for none.
    retries: how often a trial that failed or timed out is evaluated again, from 0; at least twice if the objective
        raised `bostruct.Transient`.
    max_initial_failures: failed trials without a completed one that end the run, from 1; ``auto`` for 10 or more, as of
        `Study.optimize`; None for no end.

    Raises what `Study` and `Study.optimize` raise, and ValueError for the single direction ``maximize``. What ends a
    run carries the result so far, as `error.result`.
    """
    return _search("minimize", objective, space, n_trials, settings)


@_show_settings
def maximize(
    objective: Callable[[Presented], object],
    space: Domain | Mapping[str, object],
    n_trials: int | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Look for the point with the largest value of an objective, and return the result.

    objective: called with a point as the user wrote it, returns a number, or what else `Study.tell` takes as a value.
    space: a `Space`, a dict of variables, or any other domain.
    n_trials: total number of finished trials of the study, as of `minimize`.
    settings: of the study and of the run, by name, as of `minimize`, but for ``directions``: ``maximize`` for each of
        several objectives; None for one. Where one is to be minimized, call `minimize` with all directions.

    Raises what `minimize` raises, and ValueError for directions with a ``minimize``.
    """
    return _search("maximize", objective, space, n_trials, settings)


def _search(
    direction: Direction,
    objective: Callable[[Presented], object],
    space: Domain | Mapping[str, object],
    n_trials: int | None,
    settings: Mapping[str, Any],
) -> Result:
    """Run one study from start to end; a name of None is that which `Study` gives."""
    if unknown := settings.keys() - Settings.__annotations__.keys():
        raise TypeError(f"{direction}() got an unexpected keyword argument {min(unknown)!r}")
    _check_directions(direction, settings.get("directions"))
    of_study = {name: one for name, one in settings.items() if name in _OF_STUDY and (name, one) != ("name", None)}
    of_run = {name: one for name, one in settings.items() if name in _OF_RUN}
    if settings.get("directions") is None:
        of_study["direction"] = direction
    with Study(space, **of_study) as study:
        result = study.optimize(objective, n_trials, **of_run)
        with study.result_on_error():
            study.close()
    return result


def _check_directions(direction: Direction, directions: object) -> None:
    """Raise ValueError for directions that contradict the function that was called; `Study` checks all else of them."""
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
