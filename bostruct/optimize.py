"""One call for a whole search: `minimize` and `maximize`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Literal, NamedTuple

from bostruct.checks import short_repr
from bostruct.contracts import Domain, Presented, Searcher
from bostruct.goals.declared import Declared, Direction
from bostruct.study.prior import PriorSource
from bostruct.study.result import Result
from bostruct.study.run_settings import FailureLimit
from bostruct.study.stopping import StoppingRule
from bostruct.study.study import Callback, Place, Study


class StudyArguments(NamedTuple):
    """The arguments of `Study`, without its direction.

    space: a `Space`, a dict of variables, or any other domain.
    method: a name, or a searcher.
    seed: an integer from 0, or None.
    directions: of several objectives, or None.
    constraints: limits on measured numbers by name, or None.
    repeats: ``auto`` or None.
    suggest_seconds: that a suggestion is to take at most, or None.
    storage: a file, a `Storage` object, or None.
    name: of the study in its file; None for ``study``.
    initial_points: asked before any point of the method's own; None for none.
    threads: for model work, from 1; None leaves them alone.
    prior: earlier studies to learn from, or None.
    """

    space: Domain | Mapping[str, object]
    method: str | Searcher
    seed: int | None
    directions: Sequence[Direction] | None
    constraints: Declared | None
    repeats: Literal["auto"] | None
    suggest_seconds: float | None
    storage: Place | None
    name: str | None
    initial_points: Iterable[object] | None
    threads: int | None
    prior: Iterable[PriorSource] | None


class RunArguments(NamedTuple):
    """The arguments of `Study.optimize` that say how points are evaluated.

    workers: processes, or trials in flight with an executor, from 1.
    executor: any `concurrent.futures.Executor`, or None.
    trial_timeout: seconds, from 0.001; None for no limit.
    load_timeout: seconds, from 0.001, that a worker gets to load the objective.
    callbacks: one or several, called after each finished trial.
    progress: a bar on stderr, None shows it on a terminal and in a notebook.
    reraise: exceptions that end the run, beside failing their trial.
    stopping_rule: stops trials early by what they report; None for none.
    retries: how often a trial that failed or timed out is evaluated again, from 0.
    max_initial_failures: failed trials without a completed one that end the run, from 1; ``auto``, or None.
    """

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


def minimize(
    objective: Callable[[Presented], object],
    space: Domain | Mapping[str, object],
    n_trials: int,
    *,
    method: str | Searcher = "auto",
    seed: int | None = None,
    directions: Sequence[Direction] | None = None,
    constraints: Declared | None = None,
    repeats: Literal["auto"] | None = None,
    suggest_seconds: float | None = None,
    storage: Place | None = None,
    name: str | None = None,
    initial_points: Iterable[object] | None = None,
    threads: int | None = 1,
    prior: Iterable[PriorSource] | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    trial_timeout: float | None = None,
    load_timeout: float = 60.0,
    callbacks: Callback | Sequence[Callback] = (),
    progress: bool | None = None,
    reraise: type[Exception] | tuple[type[Exception], ...] = (),
    stopping_rule: StoppingRule | None = None,
    retries: int = 0,
    max_initial_failures: FailureLimit = "auto",
) -> Result:
    """Look for the point with the smallest value of an objective, and return the result.

    objective: called with a point as the user wrote it, returns a number, or what else `Study.tell` takes as a value.
    space: a `Space`, a dict of variables, or any other domain.
    n_trials: finished trials that the study should have in the end, from 0; failed ones count.
    method: a name, or a searcher from `bostruct.methods`.
    seed: an integer from 0; None draws one and records it.
    directions: ``minimize`` or ``maximize`` for each of several objectives, in place of one to minimize; the objective
        returns a tuple then. None for one objective; of one alone, ``maximize`` is refused.
    constraints: limits on numbers that each evaluation measures, a sense and a bound by name, such as
        ``{"latency": ("<=", 10.0)}``; the objective returns ``{"value": ..., "constraints": {"latency": ...}}`` then.
        None for none.
    repeats: ``auto`` where a told point of a noisy objective may be asked for again; None where no point ever is.
    suggest_seconds: that a suggestion is to take at most, as of `Study`; None for as long as it takes.
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
    retries: how often a trial that failed or timed out is evaluated again, from 0; at least twice where the objective
        raised `bostruct.Transient`.
    max_initial_failures: failed trials without a completed one that end the run, from 1; ``auto`` for 10 or more, as of
        `Study.optimize`; None for no end.

    Raises what `Study` and `Study.optimize` raise, and ValueError for the single direction ``maximize``. What ends a
    run carries the result so far, as `error.result`.
    """
    goals = directions, constraints, repeats, suggest_seconds
    study_arguments = StudyArguments(space, method, seed, *goals, storage, name, initial_points, threads, prior)
    limits, most = (trial_timeout, load_timeout), max_initial_failures
    run_arguments = RunArguments(workers, executor, *limits, callbacks, progress, reraise, stopping_rule, retries, most)
    return _run_study("minimize", objective, n_trials, study_arguments, run_arguments)


def maximize(
    objective: Callable[[Presented], object],
    space: Domain | Mapping[str, object],
    n_trials: int,
    *,
    method: str | Searcher = "auto",
    seed: int | None = None,
    directions: Sequence[Direction] | None = None,
    constraints: Declared | None = None,
    repeats: Literal["auto"] | None = None,
    suggest_seconds: float | None = None,
    storage: Place | None = None,
    name: str | None = None,
    initial_points: Iterable[object] | None = None,
    threads: int | None = 1,
    prior: Iterable[PriorSource] | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    trial_timeout: float | None = None,
    load_timeout: float = 60.0,
    callbacks: Callback | Sequence[Callback] = (),
    progress: bool | None = None,
    reraise: type[Exception] | tuple[type[Exception], ...] = (),
    stopping_rule: StoppingRule | None = None,
    retries: int = 0,
    max_initial_failures: FailureLimit = "auto",
) -> Result:
    """Look for the point with the largest value of an objective, and return the result.

    objective: called with a point as the user wrote it, returns a number, or what else `Study.tell` takes as a value.
    space: a `Space`, a dict of variables, or any other domain.
    n_trials: finished trials that the study should have in the end, from 0; failed ones count.
    directions: ``maximize`` for each of several objectives; None for one. Where one is to be minimized, call `minimize`
        with all directions.
    method, seed, constraints, repeats, suggest_seconds: settings of the study, as of `minimize`.
    storage, name, initial_points, threads, prior: settings of the study, as of `minimize`.
    workers, executor, trial_timeout, load_timeout, callbacks, progress: settings of the run, as for `minimize`.
    reraise, stopping_rule, retries, max_initial_failures: settings of the run, as for `minimize`.

    Raises what `minimize` raises, and ValueError for directions with a ``minimize``.
    """
    goals = directions, constraints, repeats, suggest_seconds
    study_arguments = StudyArguments(space, method, seed, *goals, storage, name, initial_points, threads, prior)
    limits, most = (trial_timeout, load_timeout), max_initial_failures
    run_arguments = RunArguments(workers, executor, *limits, callbacks, progress, reraise, stopping_rule, retries, most)
    return _run_study("maximize", objective, n_trials, study_arguments, run_arguments)


def _run_study(
    direction: Direction,
    objective: Callable[[Presented], object],
    n_trials: int,
    study_arguments: StudyArguments,
    run_arguments: RunArguments,
) -> Result:
    given: dict[str, Any] = study_arguments._asdict() | {
        "name": "study" if study_arguments.name is None else study_arguments.name
    }
    _check_directions(direction, study_arguments.directions)
    only: dict[str, Any] = {"direction": direction} if study_arguments.directions is None else {}
    with Study(**only, **given) as study:
        result = study.optimize(objective, n_trials, **run_arguments._asdict())
        with study.result_on_error():
            study.close()
    return result


def _check_directions(direction: Direction, directions: object) -> None:
    """Raise ValueError for directions that contradict the function that was called; `Study` checks all else of them.

    direction: that the name of the function says.
    directions: as given to it. Those of several objectives may differ in `minimize`, which declares them.
    """
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
