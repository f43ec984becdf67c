"""How a run is taken and which numbers of it are compared; each is the smaller the better."""

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
Maker = Callable[[int, Path | None], Instance]  # of a seed and the folder of the data
Trials = Sequence[tuple[Point, Measured | None]]
Score = Callable[[Instance, Trials], list[float]]  # one a trial, NaN where it counts for nothing
Judge = Callable[[Instance, Trials, Search], dict[str, float]]


def take_run(
    score: Score, judge: Judge, make: Maker, run: Run, most_seconds: float, data: Path | None
) -> dict[str, Any]:
    """Run a search, each suggestion of which knows all trials before it; return what `run.take` returns.

    score: the numbers of which the file keeps the improvements.
    judge: the measures.
    make: the instance.
    run, most_seconds, data: as of `run.take`.
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
    """Return the initial points of a seed: those of the instance, or random ones.

    instance: of the problem.
    seed: from 0.
    """
    return list(instance.initial) or draw_initial(instance.space, seed)


def score_values(instance: Instance, trials: Trials) -> list[float]:
    """Return the values of trials; NaN where an evaluation failed, or a limit is broken.

    instance: with one objective.
    trials: in order.
    """
    return [math.nan if one is None or not keeps_limits(instance, one) else one.objectives[0] for _, one in trials]


def score_front(instance: Instance, trials: Trials) -> list[float]:
    """Return the hypervolume that is lost after each trial.

    instance: with several objectives.
    trials: in order.
    """
    return find_losses([None if one is None else one.objectives for _, one in trials], instance.corners)


def judge_truth(instance: Instance, trials: Trials, search: Search) -> dict[str, float]:
    """Return the values without noise of the point that is recommended and of that with the best value told."""
    assert instance.truth is not None
    told = trials[int(np.nanargmin(score_values(instance, trials)))][0]
    return {"recommended": instance.truth(search.recommend()), "best told": instance.truth(told)}


def judge_best(instance: Instance, trials: Trials, search: Search) -> dict[str, float]:
    """Return the best value of a point that counts."""
    del search
    values = [value for value in score_values(instance, trials) if not math.isnan(value)]
    return {"best": min(values, default=instance.nothing)}


def judge_failures(instance: Instance, trials: Trials, search: Search) -> dict[str, float]:
    """Return the best value, and the share of the later trials that failed."""
    late = [measured is None for _, measured in trials[SETTLED:]]
    return judge_best(instance, trials, search) | {"failed": float(np.mean(late)) if late else math.nan}


def judge_front(instance: Instance, trials: Trials, search: Search) -> dict[str, float]:
    """Return the hypervolume that is lost in the end."""
    del search
    return {LOST: score_front(instance, trials)[-1]}


TAKE_NOISY = partial(take_run, score_values, judge_truth)
TAKE_FAILING = partial(take_run, score_values, judge_failures)
TAKE_LIMITED = partial(take_run, score_values, judge_best)
TAKE_FRONT = partial(take_run, score_front, judge_front)
