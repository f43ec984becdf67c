"""How a run is performed, and which numbers are compared; smaller numbers are better."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiments.fronts import LOST, find_losses
from benchmarks.experiments.instances import Instance, Measured, keeps_limits, try_measure
from benchmarks.experiments.searches import SEARCHES, Search, list_steps
from benchmarks.peers.run import Run, describe, draw_initial, time_search
from benchmarks.peers.tasks import Point

SETTLED = 50  # trials after which failures are counted
Maker = Callable[[int, Path | None], Instance]  # takes a seed and the folder of the data
Trials = Sequence[tuple[Point, Measured | None]]
Score = Callable[[Instance, Trials], list[float]]  # one number per trial, NaN for a failed or infeasible trial
Judge = Callable[[Instance, Trials, Search], dict[str, float]]


def take_run(
    score: Score, judge: Judge, make: Maker, run: Run, most_seconds: float, data: Path | None
) -> dict[str, Any]:
    """Run a search one trial at a time, and return what `run.take` returns.

    score: returns the numbers whose improvements are stored in the file.
    judge: returns the measures.
    make: makes the instance.
    run, most_seconds, data: see `run.take`.
    """
    instance = make(run.seed, data)
    search = SEARCHES[run.search](instance, list_initial(instance, run.seed), run.seed)
    trials = list[tuple[Point, Measured | None]]()

    def measure(point: Point) -> Measured | None:
        trials.append((point, try_measure(instance, point)))
        return trials[-1][1]

    steps: Any = list_steps(search)
    evaluate: Any = measure
    seconds = time_search(steps, evaluate, run.trials, most_seconds)[1]
    return describe(run, score(instance, trials), seconds) | {"measures": judge(instance, trials, search)}


def list_initial(instance: Instance, seed: int) -> list[Point]:
    """Return the initial points of the instance, or else random initial points.

    instance: instance of the problem.
    seed: seed of the random points, from 0.
    """
    return list(instance.initial) or draw_initial(instance.space, seed)


def score_values(instance: Instance, trials: Trials) -> list[float]:
    """Return the values of trials; NaN if the evaluation failed or a limit is violated.

    instance: an instance with one objective.
    trials: trials in order.
    """
    return [math.nan if one is None or not keeps_limits(instance, one) else one.objectives[0] for _, one in trials]


def score_front(instance: Instance, trials: Trials) -> list[float]:
    """Return the hypervolume lost after each trial.

    instance: an instance with several objectives.
    trials: trials in order.
    """
    return find_losses([None if one is None else one.objectives for _, one in trials], instance.corners)


def judge_truth(instance: Instance, trials: Trials, search: Search) -> dict[str, float]:
    """Return the noise-free values of the recommended point and of the point with the best observed value."""
    assert instance.truth is not None
    best = trials[int(np.nanargmin(score_values(instance, trials)))][0]
    return {"recommended": instance.truth(search.recommend()), "best told": instance.truth(best)}


def judge_best(instance: Instance, trials: Trials, search: Search) -> dict[str, float]:
    """Return the best value of a successful, feasible trial."""
    del search
    values = [value for value in score_values(instance, trials) if not math.isnan(value)]
    return {"best": min(values, default=instance.nothing)}


def judge_failures(instance: Instance, trials: Trials, search: Search) -> dict[str, float]:
    """Return the best value, and the share of failures among the trials after `SETTLED`."""
    late = [measured is None for _, measured in trials[SETTLED:]]
    return judge_best(instance, trials, search) | {"failed": float(np.mean(late)) if late else math.nan}


def judge_front(instance: Instance, trials: Trials, search: Search) -> dict[str, float]:
    """Return the hypervolume lost after the last trial."""
    del search
    return {LOST: score_front(instance, trials)[-1]}


TAKE_NOISY = partial(take_run, score_values, judge_truth)
TAKE_FAILING = partial(take_run, score_values, judge_failures)
TAKE_LIMITED = partial(take_run, score_values, judge_best)
TAKE_FRONT = partial(take_run, score_front, judge_front)
