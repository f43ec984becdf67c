"""One run: a method of the package on a configuration of a published benchmark, in this process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import bostruct as bo
from benchmarks.peers.run import Run, summarize, time_search
from benchmarks.peers.searches import ask_and_tell
from benchmarks.published.ablations import BUILT
from benchmarks.published.cases import CASES, RELABELED


def take(run: Run, data: Path | None) -> dict[str, Any]:
    """Run a method, and return its results and its CPU time; `combo` uses its model after the initial points.

    run: its problem is one of `benchmarks.published.cases.PROBLEMS`, its seed the configuration, 1 to 25.
    data: the folder of the files; None for none.

    Returns the entries of `benchmarks.peers.run.take`; optimum, the least value if it is proved, otherwise None; and
    best_known, the least known value. For a noisy problem also noise_free_best and noise_free_recommended, the values
    without noise of the point with the best value and of the recommended point.

    Raises FileNotFoundError if the problem is a file that is missing.
    """
    before = time.process_time()
    case = CASES[run.problem.removesuffix(RELABELED)]
    problem = case.load(run.seed, data, run.problem.endswith(RELABELED))
    initial = problem.initial_points(run.seed)
    method = BUILT[run.search](problem.space, len(initial)) if run.search in BUILT else run.search
    study = bo.Study(problem.space, method=method, seed=run.seed, initial_points=initial)
    values, seconds = time_search(ask_and_tell(study), problem, run.trials)
    known = problem.best_known if problem.optimum is None else problem.optimum
    found = summarize(values, seconds, len(initial)) | {"cut": False, "optimum": problem.optimum, "best_known": known}
    if problem.noisy:
        result = study.result
        found["noise_free_best"] = problem.noise_free(result.best_point)
        found["noise_free_recommended"] = problem.noise_free(result.recommended.trial.point)
    return found | {"process_seconds": round(time.process_time() - before, 2)}


def take_named(run: Run, data: Path | None) -> tuple[Run, dict[str, Any]]:
    """Run a method; return the run and the result of `take`.

    run, data: see `take`.
    """
    return run, take(run, data)
