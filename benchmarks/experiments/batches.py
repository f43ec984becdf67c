"""Batches: several trials in flight, compared with one at a time."""

from __future__ import annotations

import heapq
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo
from benchmarks.experiments.instances import Instance, Measured, try_measure
from benchmarks.experiments.judging import Maker, list_initial, score_values
from benchmarks.experiments.searches import open_study, tell_study
from benchmarks.peers.bits import registered
from benchmarks.peers.run import Run, describe
from benchmarks.peers.tasks import Point

SEQUENTIAL = "sequential"
LONGEST = 3.0  # evaluations take 1 to 3 units of time


class Schedule(NamedTuple):
    """How many evaluations are in flight.

    width: their number.
    waits: whether a batch is completed as a whole before the next is suggested.
    """

    width: int
    waits: bool


SCHEDULES = {
    SEQUENTIAL: Schedule(1, True),
    "batches of 8": Schedule(8, True),
    "64 asynchronous": Schedule(64, False),
}


def take_batches(make: Maker, run: Run, most_seconds: float, data: Path | None) -> dict[str, Any]:
    """Run `auto` by a schedule; return what `benchmarks.peers.run.take` returns, with trials in completion order.

    make: makes the instance.
    run: a run whose search is one of `SCHEDULES`.
    most_seconds, data: see `benchmarks.experiments.run.take`.
    """
    instance = make(run.seed, data)
    study = open_study(instance, "auto", list_initial(instance, run.seed), run.seed)
    trials, seconds = evaluate_in_flight(study, instance, SCHEDULES[run.search], run, most_seconds)
    return describe(run, score_values(instance, trials), seconds) | {"measures": {}}


def evaluate_in_flight(
    study: bo.Study, instance: Instance, schedule: Schedule, run: Run, most_seconds: float
) -> tuple[list[tuple[Point, Measured | None]], list[float]]:
    """Return the trials in the order of completion, and the CPU seconds of `ask` and `tell` of each.

    study: a study of the instance.
    instance: instance of the problem.
    schedule: schedule of the evaluations; their durations are drawn with the run's seed.
    run: its seed and number of trials are used.
    most_seconds: CPU seconds after which the run is cut.
    """
    rng = np.random.default_rng([run.seed, 91])
    running, trials, seconds = list[tuple[float, int, Any]](), list[tuple[Point, Measured | None]](), list[float]()
    now, n_asked = 0.0, 0
    while len(trials) < run.trials and sum(seconds) <= most_seconds:
        before = time.process_time()
        free = min(schedule.width - len(running), run.trials - n_asked)
        for trial in study.ask(free) if free else ():
            heapq.heappush(running, (now + float(rng.uniform(1.0, LONGEST)), n_asked, trial))
            n_asked += 1
        completed = [heapq.heappop(running) for _ in range(len(running) if schedule.waits else 1)]
        now = completed[-1][0]
        spent = time.process_time() - before
        for _, _, trial in completed:
            measured = try_measure(instance, trial.point)
            before = time.process_time()
            tell_study(study, trial, instance, measured)
            seconds.append(time.process_time() - before + spent / len(completed))
            trials.append((trial.point, measured))
    return trials, seconds


def find_needed(wide: np.ndarray, narrow: np.ndarray) -> float:
    """Return the evaluations until a schedule's mean best value reaches another's final one, as a multiple of m.

    wide: best values of the schedule after each trial, one row per seed (s, n).
    narrow: best values of the other schedule (s, m).

    Infinite if the schedule does not reach it.
    """
    means, goal = wide.mean(axis=0), narrow.mean(axis=0)[-1]
    met = np.flatnonzero(means <= goal + 1e-12)
    return float(met[0] + 1) / narrow.shape[1] if len(met) else float("inf")


def estimate_needed(wide: np.ndarray, narrow: np.ndarray, draws: int = 2_000) -> tuple[float, float, float]:
    """Return `find_needed` and its 95% bootstrap interval over seeds.

    wide, narrow: see `find_needed`; equal rows have equal seeds.
    draws: number of bootstrap samples.
    """
    rng, n = np.random.default_rng(0), len(wide)
    found = [find_needed(wide[rows], narrow[rows]) for rows in rng.integers(n, size=(draws, n))]
    low, high = np.quantile(found, [0.025, 0.975], method="nearest")
    return find_needed(wide, narrow), float(low), float(high)


def _make_sat(spec: str, seed: int, data: Path | None = None) -> Instance:
    """Make a relabeled instance of Max-3-SAT."""
    del data
    task = registered(spec, seed)
    return Instance(task.space, lambda point: Measured((task.value(point),)))


FEW = {"max-3-sat 60 in batches": partial(_make_sat, "max3sat:seed={}")}
MANY = {"max-3-sat 100 in flight": partial(_make_sat, "max3sat:variables=100,clauses=500,seed={}")}
TEXT = """\
`auto` with several evaluations in flight compared with `auto` with one, on Max-3-SAT. **Needed** is the number of
evaluations after which its mean best value equals the final sequential one, as a multiple of the sequential
evaluations. The interval is a bootstrap over seeds."""
FEW_TEXT = f"{TEXT} Batches of 8 are suggested and observed as a whole."
MANY_TEXT = f"{TEXT} Each of 64 workers takes a random time and gets a new point when it ends."
