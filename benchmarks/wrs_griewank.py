"""Weighted random search on the modified Griewank function of Florea and Andonie 2019, table 2.

    python -m benchmarks.wrs_griewank [--runs 60] [--trials 1000] [--seed 10000]

-G is maximized over [-600, 600]^6, G = 1 + sum (i - 1) x_i^2 / 4000 - prod cos(x_i / sqrt i). All modes run as
`bo.maximize(..., method=methods.wrs(...))`: with the default first phase, with the published first phase (trials / e),
and with the published first phase and the weights of the paper's table 1 instead of the forest's. The last column is an
independent program: algorithms 1 and 2 of the paper, with those weights, on 10,000 runs at once.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import bostruct as bo
from bostruct import methods
from bostruct.comparison.statistics import mean_and_error
from bostruct.contracts import Array, Searcher
from bostruct.searchers.wrs import MODES, WeightedRandomSearch, wrs_trials

D = 6
SPACE = bo.Space({f"x{i}": bo.Real(-600.0, 600.0) for i in range(1, D + 1)})
PUBLISHED = np.array([0.07, 0.18, 1.24, 7.77, 23.52, 43.96])  # percent of the variance: table 1
NO_FLOOR = 1e-9
SIMULATED_RUNS = 10_000


def negative_griewank(x: Array) -> Array:
    """Return -G of points (..., 6) in [-600, 600]^6."""
    i = np.arange(1, D + 1)
    value = 1.0 + np.sum((i - 1) * x**2, axis=-1) / 4000.0 - np.prod(np.cos(x / np.sqrt(i)), axis=-1)
    return np.asarray(-value, dtype=np.float64)


def objective(point: dict[str, float]) -> float:
    """Return -G of a point of `SPACE`, to be maximized."""
    return float(negative_griewank(np.array([point[f"x{i}"] for i in range(1, D + 1)])))


def published_weights(*_: object) -> dict[str, float]:
    """Return the weights of the paper's table 1, regardless of the trials."""
    return dict(zip(SPACE.variables, PUBLISHED.tolist(), strict=True))


def searchers(mode: Any, trials: int) -> list[Searcher]:
    """Return a mode with the default and the published first phase, and with the published first phase and weights."""
    first = wrs_trials(trials)
    return [
        methods.wrs(SPACE, mode=mode),
        methods.wrs(SPACE, first, mode),
        WeightedRandomSearch(SPACE, published_weights, first, mode, NO_FLOOR),
    ]


def find_best(method: Any, runs: int, trials: int, seed: int) -> list[float]:
    """Return the best values of some runs of `bo.maximize`."""
    results = (bo.maximize(objective, SPACE, trials, method=method, seed=seed + i, progress=False) for i in range(runs))
    return [result.best_value for result in results]


def simulate(mode: str, runs: int, trials: int, rng: np.random.Generator) -> list[float]:
    """Return the best values of runs of the paper's algorithms 1 and 2, made in parallel.

    mode: ``random``, or one of the searcher's except ``auto``.
    """
    p = PUBLISHED / PUBLISHED.max()
    first = trials if mode == "random" else wrs_trials(trials)
    best = np.full(runs, -np.inf)
    incumbent = np.empty((runs, D))
    for step in range(trials):
        if step < first:
            changes = np.ones((runs, D), dtype=bool)
        elif mode == "single":
            changes = np.arange(D) == rng.choice(D, size=(runs, 1), p=p / p.sum())
        else:
            changes = p >= rng.random((runs, 1 if mode == "shared" else D))
        x = np.where(changes, rng.uniform(-600.0, 600.0, (runs, D)), incumbent)
        value = negative_griewank(x)
        better = value >= best
        incumbent, best = np.where(better[:, None], x, incumbent), np.where(better, value, best)
    return best.tolist()


def show(values: list[float]) -> str:
    """Write the mean of some values and its standard error."""
    return "{:.2f} ± {:.2f}".format(*mean_and_error(values))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=10_000, help="of the first run")
    given = parser.parse_args(arguments)
    first = wrs_trials(given.trials)
    print(f"{given.runs} runs of {given.trials} trials, seeds from {given.seed}: mean best value, standard error\n")
    heads = ("search", "37 random trials (default)", f"{first} = N / e (published)", f"{first}, published weights")
    print("| " + " | ".join((*heads, "simulated")) + " |\n" + "|---" * 5 + "|")
    rng = np.random.default_rng(given.seed)
    found = show(find_best("random", given.runs, given.trials, given.seed))
    print(f"| random | {found} | | | {show(simulate('random', SIMULATED_RUNS, given.trials, rng))} |", flush=True)
    for mode in MODES:
        cells = [show(find_best(one, given.runs, given.trials, given.seed)) for one in searchers(mode, given.trials)]
        cells.append("" if mode == "auto" else show(simulate(mode, SIMULATED_RUNS, given.trials, rng)))
        print(f"| `{mode}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
