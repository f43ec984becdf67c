"""One call for a whole search: `minimize` and `maximize`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple, SupportsFloat

from bostruct.contracts import Searcher
from bostruct.study.result import Result
from bostruct.study.study import Callback, Direction, Storage, Study


class StudyArguments(NamedTuple):
    """What `Study` is made of, but for its direction."""

    space: Any
    method: str | Searcher
    seed: int | None
    storage: Storage
    name: str | None
    initial_points: Iterable[Any] | None
    threads: int | None


class RunArguments(NamedTuple):
    """How `Study.optimize` has points evaluated."""

    workers: int
    executor: Executor | None
    trial_timeout: float | None
    callbacks: Callback | Sequence[Callback]
    progress: bool | None
    reraise: type[Exception] | tuple[type[Exception], ...]


def minimize(
    objective: Callable[[Any], SupportsFloat],
    space: Any,
    n_trials: int,
    *,
    method: str | Searcher = "auto",
    seed: int | None = None,
    storage: Storage = None,
    name: str | None = None,
    initial_points: Iterable[Any] | None = None,
    threads: int | None = 1,
    workers: int = 1,
    executor: Executor | None = None,
    trial_timeout: float | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    progress: bool | None = None,
    reraise: type[Exception] | tuple[type[Exception], ...] = (),
) -> Result:
    """Look for the point with the smallest value of `objective`, which receives points as the user wrote them.

    space: a `Space`, a dict of variables, or any other domain. n_trials: how many finished trials the study should
    have in the end. With storage, the same call again continues an interrupted run, and does nothing after a finished
    one. All other arguments, and what is raised, are those of `Study` and `Study.optimize`.
    """
    study_arguments = StudyArguments(space, method, seed, storage, name, initial_points, threads)
    run_arguments = RunArguments(workers, executor, trial_timeout, callbacks, progress, reraise)
    return _run_study("minimize", objective, n_trials, study_arguments, run_arguments)


def maximize(
    objective: Callable[[Any], SupportsFloat],
    space: Any,
    n_trials: int,
    *,
    method: str | Searcher = "auto",
    seed: int | None = None,
    storage: Storage = None,
    name: str | None = None,
    initial_points: Iterable[Any] | None = None,
    threads: int | None = 1,
    workers: int = 1,
    executor: Executor | None = None,
    trial_timeout: float | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    progress: bool | None = None,
    reraise: type[Exception] | tuple[type[Exception], ...] = (),
) -> Result:
    """As `minimize`, for the largest value."""
    study_arguments = StudyArguments(space, method, seed, storage, name, initial_points, threads)
    run_arguments = RunArguments(workers, executor, trial_timeout, callbacks, progress, reraise)
    return _run_study("maximize", objective, n_trials, study_arguments, run_arguments)


def _run_study(
    direction: Direction, objective: Any, n_trials: int, study_arguments: StudyArguments, run_arguments: RunArguments
) -> Result:
    given: dict[str, Any] = study_arguments._asdict() | {
        "name": "study" if study_arguments.name is None else study_arguments.name
    }
    with Study(direction=direction, **given) as study:
        return study.optimize(objective, n_trials, **run_arguments._asdict())
