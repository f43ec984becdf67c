"""One run: a search on an instance of a problem, in this process.

    python -m benchmarks.mixed.run PROBLEM SEARCH SEED TRIALS SECONDS

Prints a JSON object: the values in order, the CPU seconds that each suggestion took, and whether the run was cut
because its suggestions had taken SECONDS in all.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

N_INITIAL = 10
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Run(NamedTuple):
    """One run.

    problem: a name in `benchmarks.mixed.tasks.TASKS`.
    search: a name in `benchmarks.mixed.searches.SEARCHES`.
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
    """Tell whether a run ended because a peer is not installed."""
    return any(f"No module named '{name}'" in errors for name in ("optuna", "botorch", "smac", "ConfigSpace"))


def take(run: Run, most_seconds: float) -> dict[str, Any]:
    """Run a search, and return what it found and what that cost.

    run: the run.
    most_seconds: of CPU for all suggestions, after which it is cut.
    """
    from benchmarks.mixed.searches import SEARCHES
    from benchmarks.mixed.tasks import TASKS

    task = TASKS[run.problem](run.seed)
    drawn = task.space.sample(N_INITIAL, np.random.default_rng([run.seed, 7]))
    search = SEARCHES[run.search](task.space, [task.space.present(x) for x in drawn], run.seed)
    values: list[float] = []
    seconds: list[float] = []
    before = time.process_time()
    point = next(search)
    while True:
        seconds.append(time.process_time() - before)
        values.append(task.value(point))
        if len(values) == run.trials or sum(seconds) > most_seconds:
            return {"values": values, "seconds": seconds, "cut": len(values) < run.trials}
        before = time.process_time()
        point = search.send(values[-1])


if __name__ == "__main__":
    problem, search, seed, trials, most_seconds = sys.argv[1:]
    print(json.dumps(take(Run(problem, search, int(seed), int(trials)), float(most_seconds))))
