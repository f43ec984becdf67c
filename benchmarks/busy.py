"""Measure the share of the time in which workers are busy, with a method whose suggestions take time.

    python -m benchmarks.busy [--method auto] [--workers 64] [--trials 100] [--seconds S] [--rounds 4]

N trials are added to a study of 60 bits. Then a thread pool evaluates ROUNDS times as many trials as it has workers,
and each evaluation sleeps for S seconds. The default of S is the mean seconds of a suggestion times the number of
workers: the shortest objective that can keep all workers busy. The share is taken from the moment when all workers were
first busy until the last evaluation started. The measurement needs an idle core.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import bostruct as bo

DIMENSIONS = 60


class Sleeper:
    """An objective that sleeps, and records when it started and ended.

    seconds: to sleep.
    seed: of the function that it then returns.
    """

    def __init__(self, seconds: float, seed: int) -> None:
        self.seconds = seconds
        self.times: list[tuple[float, float]] = []
        self._weights = np.random.default_rng(seed).normal(size=DIMENSIONS)
        self._lock = threading.Lock()

    def __call__(self, point: dict) -> float:
        start = time.perf_counter()
        time.sleep(self.seconds)
        with self._lock:
            self.times.append((start, time.perf_counter()))
        return self.value(point)

    def value(self, point: dict) -> float:
        """Return the value of a point without sleeping."""
        bits = np.array([point[f"x{i}"] for i in range(DIMENSIONS)], dtype=float)
        return float(bits @ self._weights + 2.0 * bits[:-1] @ bits[1:])


def find_busy_share(times: Sequence[tuple[float, float]], workers: int) -> float:
    """Return the busy share of the workers' time, from when all were busy until the last evaluation started.

    times: start and end of each evaluation, in seconds; more evaluations than workers.
    workers: the number of workers.
    """
    starts = sorted(start for start, _ in times)
    first, last = starts[workers - 1], starts[-1]
    busy = sum(max(0.0, min(end, last) - max(start, first)) for start, end in times)
    return busy / (workers * (last - first))


def time_suggestions(study: bo.Study, objective: Sleeper, n: int = 10) -> float:
    """Return the mean seconds of a suggestion; each suggestion uses the value of the previous trial."""
    seconds = 0.0
    for _ in range(n):
        start = time.perf_counter()
        trial = study.ask()
        seconds += time.perf_counter() - start
        study.tell(trial, objective.value(trial.point))
    return seconds / n


def main(arguments: Sequence[str] | None = None) -> float:
    """Print the measurements, and return the busy share."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy", description="busy workers")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--trials", type=int, default=100, help="that the study has at the start")
    parser.add_argument("--seconds", type=float, default=None, help="of an evaluation")
    parser.add_argument("--rounds", type=int, default=4, help="evaluations for each worker")
    given = parser.parse_args(arguments)
    rng, space = np.random.default_rng(0), {f"x{i}": bool for i in range(DIMENSIONS)}
    study, objective = bo.Study(space, method=given.method, seed=0), Sleeper(0.0, 0)
    for bits in rng.integers(2, size=(given.trials, DIMENSIONS)):
        point = {f"x{i}": bool(bit) for i, bit in enumerate(bits)}
        study.add(point, objective.value(point))
    suggestion = time_suggestions(study, objective)
    objective.seconds = given.workers * suggestion if given.seconds is None else given.seconds
    n_finished = study.n_finished
    with ThreadPoolExecutor(given.workers) as executor:
        n_trials = n_finished + given.rounds * given.workers
        study.optimize(objective, n_trials, executor=executor, workers=given.workers, progress=False)
    share = find_busy_share(objective.times, given.workers)
    origins = Counter(trial.origin for trial in study.trials[-given.rounds * given.workers :])
    print(
        f"{given.method}, {given.trials} trials, {given.workers} workers: a suggestion {1e3 * suggestion:.0f} ms, an "
        f"evaluation {objective.seconds:.2f} s, busy {share:.1%}, points by {dict(origins)}"
    )
    return share


if __name__ == "__main__":
    main()
