"""Compare weighted random search with other methods, on the functions of its paper's experiment and theorem.

    python -m benchmarks.wrs_methods [--methods wrs,auto,smac,tpe,random] [--seeds 15] [--seed 20000]

Griewank: the function of `benchmarks.wrs_griewank`, six numbers; the figure is the best value, to be maximized. The
other two are the random objectives of `benchmarks.wrs_theorem` on 960 points, one for each seed: sums of effects, and
independent values. Their figure is the number of the 960 points that are better than the best point found. All methods
have their defaults.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo
from benchmarks import wrs_griewank, wrs_theorem
from bostruct.comparison.statistics import mean_and_error

METHODS = "wrs,auto,smac,tpe,random"
MARKS = (50, 100)  # trials


class Run(NamedTuple):
    """objective: to be minimized. figure: from the best value found to the figure in the table."""

    objective: Callable[[Any], float]
    figure: Callable[[float], float]


class Problem(NamedTuple):
    """make: returns the run of a seed."""

    space: bo.Space
    make: Callable[[int], Run]


def griewank(seed: int) -> Run:
    del seed
    return Run(lambda point: -wrs_griewank.objective(point), lambda best: -best)


def drawn(kind: str, seed: int) -> Run:
    values = -wrs_theorem.tables(kind, 1, np.random.default_rng(seed))[0]
    return Run(lambda point: float(values[tuple(point.values())]), lambda best: float(np.sum(values < best)))


PROBLEMS = {
    "Griewank, value": Problem(wrs_griewank.SPACE, griewank),
    "sum of effects, better points": Problem(wrs_theorem.SPACE, partial(drawn, "sum of effects")),
    "independent values, better points": Problem(wrs_theorem.SPACE, partial(drawn, "independent values")),
}


def find_best(problem: Problem, method: str, seed: int) -> list[float]:
    """Return the figure of one run after each of the marks."""
    run = problem.make(seed)
    result = bo.minimize(run.objective, problem.space, max(MARKS), method=method, seed=seed, progress=False)
    values = [trial.value for trial in result.trials if trial.value is not None]
    return [run.figure(min(values[:mark])) for mark in MARKS]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--seeds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=20_000, help="the first seed")
    given = parser.parse_args(arguments)
    print(f"bostruct {bo.__version__}, {given.seeds} seeds from {given.seed}: mean, standard error\n")
    print("| function | method | " + " | ".join(f"after {mark} trials" for mark in MARKS) + " |\n|---|---|---|---|")
    for name, problem in PROBLEMS.items():
        for method in given.methods.split(","):
            runs = [find_best(problem, method, seed) for seed in range(given.seed, given.seed + given.seeds)]
            cells = ["{:.1f} ± {:.1f}".format(*mean_and_error(column)) for column in zip(*runs, strict=True)]
            print(f"| {name} | `{method}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
