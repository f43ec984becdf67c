"""Compare log noisy expected improvement with the acquisition function of `auto` on noisy values.

    python -m benchmarks.noisy_improvement [--problem NAME] [--seeds 10] [--first-seed 10] [--quick]

A seed is one instance, its noise and its first points. Values are without noise: `recommended` is the value of the
recommended point, `asked` the mean of the last 20 points. The table has the mean of `auto`, and the mean paired
difference of noisy improvement with its standard error: a negative number is a gain.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo
from bostruct import methods, problems
from bostruct.acquisition.functions import LOG_EI
from bostruct.contracts import Array
from bostruct.problems.contamination import contamination
from bostruct.searchers.scores import NoisyImprovement
from bostruct.surrogates.latent_draws import LatentSampler

LEAST_NOISE = 0.1  # share of the variance of a value
MOST, N_DRAWS = 32, 16  # chosen on seeds 0 to 9
LAST = 20  # trials


class Task(NamedTuple):
    """A function to minimize. value: as the search observes it. truth: without noise. n_trials: of a run."""

    space: bo.Space
    value: Callable[[Any], float]
    truth: Callable[[Any], float]
    n_trials: int


def make_linear(seed: int) -> Task:
    """Make a linear function of 16 bits, in units of its sd above its smallest value, with noise of the same sd."""
    weights, noise = np.random.default_rng(1000 + seed).normal(size=16), np.random.default_rng(2000 + seed)
    sd, lowest = math.sqrt(float(weights @ weights) / 4.0), float(np.minimum(weights, 0.0).sum())

    def raw(point: Any) -> float:
        return float(weights @ np.array([*point.values()], dtype=np.float64))

    space = bo.Space({f"b{i:02}": bool for i in range(16)})
    return Task(space, lambda p: raw(p) + sd * noise.normal(), lambda p: (raw(p) - lowest) / sd, 80)


def make_maxsat(seed: int, n: int = 24, m: int = 100) -> Task:
    """Make the number of unsatisfied clauses of three literals; the noise has the sd of values of random points."""
    rng, noise = np.random.default_rng(3000 + seed), np.random.default_rng(4000 + seed)
    variables = np.array([rng.choice(n, 3, replace=False) for _ in range(m)])
    signs = rng.integers(0, 2, (m, 3)).astype(np.bool_)

    def truth(point: Any) -> float:
        bits = np.array([*point.values()], dtype=np.bool_)
        return float(np.count_nonzero(~np.any(bits[variables] == signs, axis=1)))

    sd = math.sqrt(m * 7 / 64)
    return Task(bo.Space({f"b{i:02}": bool for i in range(n)}), lambda p: truth(p) + sd * noise.normal(), truth, 80)


def make_contamination(seed: int) -> Task:
    """Make contamination control with a new simulation for each value; the truth is the mean of 20 others."""
    noise = np.random.default_rng(5000 + seed)
    judges = [contamination(900_000 + k).vertex_objective for k in range(20)]

    def row(point: Any) -> Any:
        return np.array([[*point.values()]], dtype=np.int64)

    def value(point: Any) -> float:
        return float(contamination(int(noise.integers(800_000))).vertex_objective(row(point))[0])

    def truth(point: Any) -> float:
        return float(np.mean([one(row(point))[0] for one in judges]))

    return Task(bo.Space({f"stage {i + 1}": bool for i in range(25)}), value, truth, 100)


def make_pest(seed: int) -> Task:
    """Make pest control, judged by the mean of 2,000 simulations."""
    problem: Any = problems.load(f"pest:noise_seed={seed}")
    space = problem.space

    def truth(point: Any) -> float:
        return float(problem.mean(np.array([space.parse(point)]), 2000)[0])

    return Task(space, problem, truth, 100)


TASKS = {"linear": make_linear, "max3sat": make_maxsat, "contamination": make_contamination, "pest": make_pest}


def run_once(problem: str, seed: int, is_noisy: bool, most: int | None) -> tuple[float, float]:
    """Run a search; return the true value of the recommended point, and the mean true value of the last points."""
    task = TASKS[problem](seed)
    search: Any = methods.auto(task.space)
    if is_noisy:
        score = NoisyImprovement(search.score.score, LOG_EI, LatentSampler(MOST, N_DRAWS), LEAST_NOISE)
        search = replace(search, score=replace(search.score, score=score))
    result = bo.minimize(task.value, task.space, most or task.n_trials, method=search, seed=seed, progress=False)
    asked = [task.truth(trial.point) for trial in result.trials[-LAST:]]
    return task.truth(result.recommended.trial.point), float(np.mean(asked))


def summarize(plain: Array, noisy: Array) -> str:
    """Write the mean of `plain`, and the mean paired difference with its standard error."""
    gains = noisy - plain
    return f"{plain.mean():.3f} | {gains.mean():+.3f} ± {gains.std(ddof=1) / math.sqrt(len(gains)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problem", choices=[*TASKS], action="append")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="14 trials, 2 seeds: only to test the command")
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + (2 if given.quick else given.seeds))
    print("| problem | seeds | recommended, auto | noisy improvement | asked, auto | noisy improvement |")
    print("|---|---|---|---|---|---|")
    for problem in given.problem or TASKS:
        runs = [[run_once(problem, s, noisy, 14 if given.quick else None) for s in seeds] for noisy in (False, True)]
        plain, noisy = np.array(runs)
        cells = [summarize(plain[:, i], noisy[:, i]) for i in range(2)]
        print(f"| {problem} | {len(seeds)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
