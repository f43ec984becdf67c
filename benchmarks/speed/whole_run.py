"""A whole run of COMBO: contamination control, 270 trials, through the study.

    python -m benchmarks.speed.whole_run [--check]

The published code is estimated to take 1.5 to 2 CPU hours for the same run.
"""

from __future__ import annotations

import numpy as np

import bostruct as bo
from benchmarks.speed.report import Row, at_most, main, plain_row, time_call
from bostruct.problems.contamination import contamination

SECONDS = 120.0
TRIALS = 270


def measure(miniature: bool) -> list[Row]:
    problem = contamination()
    n_trials = 21 if miniature else TRIALS
    initial = problem.initial_points(problem.configs[0])
    run = time_call(
        lambda: bo.minimize(
            problem, problem.space, n_trials, method="combo", seed=0, initial_points=initial, progress=False
        )
    )
    best = run.value.best_value
    return [
        at_most(f"{n_trials} trials, CPU", np.inf if miniature else SECONDS, run.cpu, " s"),
        plain_row(f"{n_trials} trials, wall", f"{run.wall:.4g} s"),
        plain_row("best value found, optimum", f"{best:.4g}, {problem.optimum:.4g}"),
    ]


if __name__ == "__main__":
    main("Whole run, combo on contamination control", measure)
