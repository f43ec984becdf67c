"""Compare `auto` with evolution and random search on many variables, at equal trials and at equal CPU time.

    python -m benchmarks.peers.equal_cpu [--seeds 3] [--problems NAME,...]

CPU time is the time of all suggestions of `auto`; the others search until their suggestions have taken as long.
Differences to `auto` are paired by seed, with 95% intervals of Student's t; positive differences are gains of `auto`.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from benchmarks.peers.bits import LARGE
from benchmarks.peers.run import Run, evaluate
from bostruct.comparison.statistics import estimate_difference

TRIALS = {"max-3-sat 1000/5000": 200, "labs-100": 200, "qubo-6000": 100}
MOST_TRIALS = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.equal_cpu", description="auto at equal CPU")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--problems", default=",".join(LARGE))
    given = parser.parse_args()
    print("| problem | search | at equal trials | minus auto | at equal CPU | minus auto | trials then | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for problem in given.problems.split(","):
        n = TRIALS[problem]
        auto = [evaluate(Run(problem, "auto", seed, n), math.inf, None) for seed in range(given.seeds)]
        best, seconds = np.array([min(values) for values, _ in auto]), [sum(spent) for _, spent in auto]
        cpu = f"{np.mean(seconds):.1f}"
        print(f"| {problem} | auto | {best.mean():.5g} | | {best.mean():.5g} | | {n} | {cpu} |", flush=True)
        for search in ("evolution", "random"):
            runs = [evaluate(Run(problem, search, seed, MOST_TRIALS), own, None)[0] for seed, own in enumerate(seconds)]
            early, late = np.array([min(run[:n]) for run in runs]), np.array([min(run) for run in runs])
            columns = f"{early.mean():.5g} | {differ(early, best)} | {late.mean():.5g} | {differ(late, best)}"
            print(
                f"| {problem} | {search} | {columns} | {np.mean([len(run) for run in runs]):.0f} | {cpu} |", flush=True
            )


def differ(other: np.ndarray, auto: np.ndarray) -> str:
    """Return the mean paired difference and half its 95% interval."""
    gaps = other - auto
    found = estimate_difference(gaps)
    half = math.nan if found is None else found.high - found.mean
    return f"{gaps.mean():+.4g} ± {half:.2g}"


if __name__ == "__main__":
    main()
