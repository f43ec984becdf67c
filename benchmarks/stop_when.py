"""How often `bostruct.StopWhen` keeps its promise: the share of stopped runs that are within the given regret.

    python -m benchmarks.stop_when bits8 table      # rows of the table in docs/evidence/studies.md, a CPU minute
    python -m benchmarks.stop_when --seeds 5 bits14

Each objective is drawn again for each seed; its optimum is found by enumeration of all points. The regret is a share of
the standard deviation of the objective over its space.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo

N_TRIALS = 100
REGRETS = (0.5, 0.1)
Point = Mapping[str, Any]


class Problem(NamedTuple):
    """An objective with the values of all its points.

    space: of its points.
    objective: minimized.
    values: of all points.
    """

    space: dict[str, Any]
    objective: Callable[[Point], float]
    values: np.ndarray


def bits(d: int, seed: int) -> Problem:
    """Return a quadratic function of bits, with random coefficients.

    d: number of bits, from 1.
    seed: from 0.
    """
    rng = np.random.default_rng(seed)
    single, pairs = rng.normal(size=d), 0.4 * rng.normal(size=(d, d))
    names = [f"b{i:02}" for i in range(d)]
    every = np.array(list(product([0.0, 1.0], repeat=d)))

    def objective(point: Point) -> float:
        x = np.array([float(point[name]) for name in names])
        return float(x @ single + x @ pairs @ x)

    values = every @ single + np.einsum("ni,ij,nj->n", every, pairs, every)
    return Problem(dict.fromkeys(names, bool), objective, values)


def table(seed: int) -> Problem:
    """Return a function of two unordered choices, which interact, and of a number, with 216 points in all.

    seed: from 0.
    """
    rng = np.random.default_rng(seed)
    a, steps, c, pairs = rng.normal(size=6), rng.normal(size=6), rng.normal(size=6), 0.7 * rng.normal(size=(6, 6))
    n = np.cumsum(steps)

    def objective(point: Point) -> float:
        return float(a[point["a"]] + n[point["n"]] + c[point["c"]] + pairs[point["a"], point["c"]])

    six = list(range(6))
    space = {"a": bo.Categorical(six), "n": bo.Integer(0, 5), "c": bo.Categorical(six)}
    values = [objective(dict(zip(space, one, strict=True))) for one in product(six, repeat=3)]
    return Problem(space, objective, np.array(values))


def rough(seed: int) -> Problem:
    """Return a function of 8 bits without any structure: all values are drawn independently.

    seed: from 0.
    """
    values = np.random.default_rng(seed).normal(size=2**8)
    names = [f"b{i}" for i in range(8)]
    weights = 2 ** np.arange(8)

    def objective(point: Point) -> float:
        return float(values[int(sum(w for w, name in zip(weights, names, strict=True) if point[name]))])

    return Problem(dict.fromkeys(names, bool), objective, values)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "bits8": lambda seed: bits(8, seed),
    "table": table,
    "rough": rough,
    "bits14": lambda seed: bits(14, seed),
}


def measure(name: str, share: float, probability: float, seeds: int) -> str:
    """Return a row of the table: stopped runs, how many of them kept the promise, and the median of their trials.

    name: of the problem.
    share: the regret, in standard deviations of the objective.
    probability: of `StopWhen`.
    seeds: number of runs, from 1.
    """
    kept, trials = [], []
    for seed in range(seeds):
        problem = PROBLEMS[name](seed)
        regret = share * float(problem.values.std())
        rule = bo.StopWhen(regret, probability)
        result = bo.minimize(problem.objective, problem.space, N_TRIALS, seed=seed, callbacks=rule, progress=False)
        if len(result.trials) < N_TRIALS:
            trials.append(len(result.trials))
            kept.append(result.best_value - float(problem.values.min()) <= regret)
    within = f"{sum(kept)} of {len(kept)}"
    middle = f"{np.median(trials):g}" if trials else "-"
    return f"| {name} | {share:g} | {probability:g} | {len(kept)} of {seeds} | {within} | {middle} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", help=f"some of {', '.join(PROBLEMS)}; by default all of them")
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    if unknown := [name for name in given.problems if name not in PROBLEMS]:
        parser.error(f"problems: expected some of {', '.join(PROBLEMS)}; got {', '.join(unknown)}")
    print("| problem | regret, in sd | probability | stopped | within the regret | median trials |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in given.problems or PROBLEMS:
        for share, probability in [*((share, 0.05) for share in REGRETS), (0.1, 0.2)]:
            print(measure(name, share, probability, given.seeds), flush=True)


if __name__ == "__main__":
    main()
