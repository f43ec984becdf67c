"""One run: a search on an instance of a problem, in this process.

    python -m benchmarks.peers.run PROBLEM SEARCH SEED TRIALS SECONDS [DATA]

DATA is the folder of the tables. Prints the result of `take` as JSON. SECONDS limits the CPU time of suggestions.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.searches import Steps
from benchmarks.peers.tasks import Point, Task
from bostruct import Infeasible, Space

ROOT = Path(__file__).parents[2]
N_INITIAL = 10
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Run(NamedTuple):
    """One run.

    problem: a name in `benchmarks.peers.groups.PROBLEMS`.
    search: a name in `benchmarks.peers.groups.ALL_SEARCHES`.
    seed: of the instance, the initial points and the search.
    trials: evaluations in all.
    """

    problem: str
    search: str
    seed: int
    trials: int


def environment(root: Path) -> dict[str, str]:
    """Return the environment of a run: one thread, and this package on the path."""
    return os.environ | dict.fromkeys(THREADS, "1") | {"PYTHONPATH": str(root), "PYTHONWARNINGS": "ignore"}


def is_missing(errors: str) -> bool:
    """Return whether a run ended because a peer is not installed."""
    peers = (
        "optuna",
        "botorch",
        "smac",
        "ConfigSpace",
        "bounce",
        "gin",
        "cmaes",
        "kernel_tuner",
        "nevergrad",
        "hebo",
        "ax",
        "mcbo",
    )
    return any(f"No module named '{name}'" in errors for name in peers)


def take_apart(module: str, run: Run, python: str, most_seconds: float, data: Path | None) -> dict[str, Any]:
    """Return the output of a module for a run, in a process of its own with one thread; or why the run is missing.

    module: its command takes a run, seconds and a folder, like the command of this module.
    run: the run.
    python: the interpreter.
    most_seconds: of CPU for all suggestions, after which it is cut.
    data: the folder of the tables; None for none.

    Raises RuntimeError if the process failed.
    """
    folder = [] if data is None else [str(data.resolve())]
    words = [python, "-m", module, *map(str, run), str(most_seconds), *folder]
    ended = subprocess.run(words, cwd=ROOT, env=environment(ROOT), capture_output=True, text=True)
    if is_missing(ended.stderr):
        return {"missing": ended.stderr.strip().splitlines()[-1]}
    if ended.returncode:
        raise RuntimeError(f"{run} failed:\n{ended.stderr[-3000:]}")
    return json.loads(ended.stdout.splitlines()[-1])


def take(run: Run, most_seconds: float, data: Path | None) -> dict[str, Any]:
    """Run a search, and return its results and its CPU time.

    run: the run.
    most_seconds: of CPU for all suggestions, after which it is cut.
    data: the folder of the tables; None if the problem is not a table.

    Returns improvements, pairs of a trial from 1 and its value; the CPU seconds that suggestions after the initial
    points had taken at each improvement; the number of evaluated trials; whether the run was cut; the mean CPU seconds
    of a suggestion after the initial points; and the CPU seconds of the whole process.
    """
    return describe(run, *evaluate(run, most_seconds, data))


def describe(run: Run, values: Sequence[float], seconds: Sequence[float]) -> dict[str, Any]:
    """Return the results of a run, as `take` returns them.

    run: the run, in this process.
    values, seconds: see `summarize`.
    """
    found = summarize(values, seconds, N_INITIAL)
    return found | {"cut": len(values) < run.trials, "process_seconds": round(time.process_time(), 2)}


def summarize(values: Sequence[float], seconds: Sequence[float], n_initial: int) -> dict[str, Any]:
    """Return the results that `take` describes, except whether the run was cut and the time of the whole process.

    values: of the trials in order; NaN if a trial has none.
    seconds: CPU seconds of each suggestion.
    n_initial: number of initial points, whose suggestions do not count.
    """
    best = np.fmin.accumulate([np.inf, *values])  # a trial without a value is NaN, which fmin ignores
    improved = [n for n, value in enumerate(values) if value < best[n]]
    return {
        "improvements": [[n + 1, values[n]] for n in improved],
        "improvement_seconds": [round(sum(seconds[n_initial : n + 1]), 5) for n in improved],
        "evaluated": len(values),
        "seconds": round(float(np.mean(seconds[n_initial:] or seconds)), 5),
    }


def evaluate(run: Run, most_seconds: float, data: Path | None) -> tuple[list[float], list[float]]:
    """Run a search, and return its values in order and the CPU seconds that each suggestion took.

    run, most_seconds, data: see `take`.
    """
    from benchmarks.peers.groups import ALL_SEARCHES, make_task

    task = make_task(run.problem, run.seed, data)
    search = ALL_SEARCHES[run.search](task, draw_initial(task.space, run.seed), run.seed)
    return time_search(search, partial(value_of, task), run.trials, most_seconds)


def time_search(
    search: Steps, value: Callable[[Point], float], trials: int, most_seconds: float = math.inf
) -> tuple[list[float], list[float]]:
    """Return the values of the points that a search yields, and the CPU seconds that it took for each.

    search: yields points and is sent their values.
    value: of a point.
    trials: the number of points.
    most_seconds: of CPU for all suggestions, after which it is cut.
    """
    values: list[float] = []
    seconds: list[float] = []
    before = time.process_time()
    point = next(search)
    while True:
        seconds.append(time.process_time() - before)
        values.append(value(point))
        if len(values) == trials or sum(seconds) > most_seconds:
            return values, seconds
        before = time.process_time()
        point = search.send(values[-1])


def value_of(task: Task, point: Point) -> float:
    """Return the value of a point; NaN if it has none.

    task: the problem.
    point: as a search yields it.
    """
    try:
        return task.value(point)
    except Infeasible:
        return math.nan


def draw_initial(space: Space, seed: int) -> list[Any]:
    """Return the initial points of a seed, which are distinct, because some searches would drop duplicates.

    space: has at least as many points as there are initial points.
    seed: from 0.
    """
    rng = np.random.default_rng([seed, 7])
    xs = space.sample(N_INITIAL, rng)
    found = dict(zip(space.keys(xs), xs, strict=True))
    while len(found) < N_INITIAL:
        xs = space.sample(1, rng)
        found.setdefault(space.keys(xs)[0], xs[0])
    return [space.present(x) for x in found.values()]


if __name__ == "__main__":
    problem, search, seed, trials, most_seconds, *data = sys.argv[1:]
    given = Run(problem, search, int(seed), int(trials))
    print(json.dumps(take(given, float(most_seconds), Path(data[0]) if data else None)))
