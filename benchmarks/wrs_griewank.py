"""Weighted random search on the modified Griewank function of Florea and Andonie 2019, table 2.

    python -m benchmarks.wrs_griewank [--runs 1000] [--trials 1000] [--processes 1] [--published-weights]

-G is maximized over [-600, 600]^6, G = 1 + sum (i - 1) x_i^2 / 4000 - prod cos(x_i / sqrt i). Each run draws trials / e
points at random, weighs the variables by its own forest, and changes its incumbent from then on; steps are those of
`bostruct.searchers.wrs`, drawn here without the study around them, since nothing but their number costs. With
--published-weights all runs use the weights of the paper's table 1 and no floor.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from bostruct.contracts import Array
from bostruct.domains.space.decisions import Coordinate
from bostruct.searchers.wrs import MODES, wrs_trials
from bostruct.surrogates.fanova import VarianceShares

D = 6
FLOOR = 0.01
PUBLISHED = np.array([0.07, 0.18, 1.24, 7.77, 23.52, 43.96])  # percent of the variance


def value(x: Array) -> float:
    """-G of a point in the unit cube."""
    at = 1200.0 * x - 600.0
    i = np.arange(1, D + 1)
    return -float(1.0 + np.sum((i - 1) * at**2) / 4000.0 - np.prod(np.cos(at / np.sqrt(i))))


def chances(xs: Array, values: Array, seed: int) -> Array:
    """Probabilities of change, from the main effects of the first phase."""
    points = [[Coordinate(f"x{i}", f"x{i}", float(u), math.inf, True) for i, u in enumerate(x)] for x in xs]
    shares = np.array(list(VarianceShares()(points, -values, seed).values()))
    return np.maximum(shares / shares.max(), FLOOR) if shares.max() > 0.0 else np.ones(D)


def run(trials: int, published: bool, seed: int) -> dict[str, Any]:
    """The best value of random search and of each mode, from the same first phase."""
    rng = np.random.default_rng(seed)
    n = wrs_trials(trials)
    xs = rng.random((trials, D))
    values = np.array([value(x) for x in xs])
    p = PUBLISHED / PUBLISHED.max() if published else chances(xs[:n], values[:n], seed)
    best = int(np.argmax(values[:n]))
    found: dict[str, Any] = {"random": float(values.max()), "p": p}
    for mode in MODES:
        incumbent, reached = xs[best], float(values[best])
        for _ in range(trials - n):
            if mode == "single":
                change = np.arange(D) == rng.choice(D, p=p / p.sum())
            else:
                change = p >= (rng.random() if mode == "shared" else rng.random(D))
            x = np.where(change, rng.random(D), incumbent)
            if (new := value(x)) >= reached:
                incumbent, reached = x, new
        found[mode] = reached
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--published-weights", action="store_true")
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes) as executor:
        runs = list(executor.map(partial(run, given.trials, given.published_weights), range(given.runs), chunksize=8))
    print(f"{given.runs} runs of {given.trials} trials\n\n| search | mean | standard error | sd |\n|---|---|---|---|")
    for name in ("random", *MODES):
        reached = np.array([one[name] for one in runs])
        spread = float(np.std(reached, ddof=1))
        print(f"| {name} | {reached.mean():.2f} | {spread / math.sqrt(len(runs)):.2f} | {spread:.2f} |")
    print("\nmean p:", " ".join(f"{p:.3f}" for p in np.mean([one["p"] for one in runs], axis=0)))


if __name__ == "__main__":
    main()
