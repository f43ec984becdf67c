"""Weighted random search beside other methods of this package, on the functions of its paper's experiment and theorem.

    python -m benchmarks.wrs_methods [--methods wrs,auto,smac,tpe,random] [--seeds 15] [--seed 20000]

Griewank: the function of `benchmarks.wrs_griewank`, six numbers; the value reached, to be maximized. The other two are
the drawn objectives of `benchmarks.wrs_theorem` on 960 points, another one for each seed: sums of effects, and
independent values. What is told of them is how many of the 960 points are better than the best one found. All methods
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
    """objective: to be minimized. told: what is told of the best value found."""

    objective: Callable[[Any], float]
    told: Callable[[float], float]


class Problem(NamedTuple):
    """make: gives the run of a seed."""

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
    """What is told after each of the marks, of one run."""
    run = problem.make(seed)
    result = bo.minimize(run.objective, problem.space, max(MARKS), method=method, seed=seed, progress=False)
    values = [trial.value for trial in result.trials if trial.value is not None]
    return [run.told(min(values[:mark])) for mark in MARKS]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--seeds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=20_000, help="the first")
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
