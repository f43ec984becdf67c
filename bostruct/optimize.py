"""One call for a whole search: `minimize` and `maximize`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, SupportsFloat

from bostruct.contracts import Searcher
from bostruct.result import Result
from bostruct.study import Callback, Storage, Study


def minimize(
    objective: Callable[[Any], SupportsFloat],
    space: Any,
    n_trials: int,
    *,
    method: str | Searcher = "auto",
    seed: int | None = None,
    storage: Storage = None,
    name: str | None = None,
    initial_points: Iterable[Any] = (),
    threads: int | None = 1,
    workers: int = 1,
    executor: Executor | None = None,
    trial_timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    reraise: tuple[type[Exception], ...] = (),
) -> Result:
    """Look for the point with the smallest value of `objective`, which receives points as the user wrote them.

    space: a `Space`, a dict of variables, or any other domain. n_trials: how many finished trials the study should
    have in the end. With storage, the same call again continues an interrupted run, and does nothing after a finished
    one. All other arguments, and what is raised, are those of `Study` and `Study.optimize`.
    """
    with Study(
        space,
        method=method,
        seed=seed,
        direction="minimize",
        storage=storage,
        name="study" if name is None else name,
        initial_points=initial_points,
        threads=threads,
    ) as study:
        return study.optimize(
            objective,
            n_trials,
            workers=workers,
            executor=executor,
            trial_timeout=trial_timeout,
            callbacks=callbacks,
            progress=progress,
            reraise=reraise,
        )


def maximize(
    objective: Callable[[Any], SupportsFloat],
    space: Any,
    n_trials: int,
    *,
    method: str | Searcher = "auto",
    seed: int | None = None,
    storage: Storage = None,
    name: str | None = None,
    initial_points: Iterable[Any] = (),
    threads: int | None = 1,
    workers: int = 1,
    executor: Executor | None = None,
    trial_timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    reraise: tuple[type[Exception], ...] = (),
) -> Result:
    """As `minimize`, for the largest value."""
    with Study(
        space,
        method=method,
        seed=seed,
        direction="maximize",
        storage=storage,
        name="study" if name is None else name,
        initial_points=initial_points,
        threads=threads,
    ) as study:
        return study.optimize(
            objective,
            n_trials,
            workers=workers,
            executor=executor,
            trial_timeout=trial_timeout,
            callbacks=callbacks,
            progress=progress,
            reraise=reraise,
        )
