"""Compare batches of points that share one fit and search with points that have their own, for many workers.

    python -m benchmarks.joint [--seeds 10] [--first 40] [--trials 120] [--workers 16] [--batch 8] [PROBLEM ...]

There are always as many trials in flight as workers. When a batch of trials has ended, as many new points are
suggested, by `Study.ask_jointly` or by `Study.ask`. Both start with the same points. A row has the mean best value of
each, and the mean paired difference with its 95% interval (Student's t); below 0, the joint points are better.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

import bostruct as bo
from bostruct.problems import registry

PROBLEMS = (
    "max3sat:variables=28,clauses=140,seed={}",
    "max3sat:seed={}",
    "contamination:case={}",
    "ising:case={}",
    "pest:noise_seed={}",
)


def run(name: str, seed: int, given: argparse.Namespace, jointly: bool) -> float:
    """Return the best value of one run.

    name: of the problem, with ``{}`` for its seed.
    seed: of the study.
    given: the numbers of trials, of workers, and of trials per batch.
    jointly: whether a batch has one fit.
    """
    problem = registry.load(name.format(seed))
    study = bo.Study(problem.space, method="auto", seed=seed)
    running = study.ask(given.workers)
    while study.n_finished < given.trials:
        ended, running = running[: given.batch], running[given.batch :]
        for trial in ended:
            study.tell(trial, problem(trial.point))
        running += study.ask_jointly(given.batch) if jointly else study.ask(given.batch)
    return study.best_value


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each problem."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.joint", description="one fit for several points")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=40, help="first seed")
    parser.add_argument("--trials", type=int, default=120)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    given = parser.parse_args(arguments)
    print("| problem | one fit per point | one fit per batch | difference |\n|---|---|---|---|")
    for name in given.problems:
        seeds = range(given.first, given.first + given.seeds)
        each, joint = (np.array([run(name, seed, given, how) for seed in seeds]) for how in (False, True))
        gaps = joint - each
        half = student.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
        row = f"| {name} | {each.mean():.4g} | {joint.mean():.4g} | {gaps.mean():+.3g} +- {half:.2g} |"
        print(row, flush=True)


if __name__ == "__main__":
    main()
