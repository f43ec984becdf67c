"""Compare priors of the noise in `auto` on problems without noise and with it.

    python -m benchmarks.noise_prior [--seeds 10] [--first-seed 0] [--quick] [--out FILE]

A prior is a normal density of the log variance of the noise of standardized values, named by its mean and sd. `auto` is
the default method, which selects between the first two priors. Every prior searches the same instances from the same
initial points; a seed is one instance and its initial points. The table has the mean of the first prior, and for the
others the mean paired difference to it with its standard error: a negative number is a gain. `told` is the value of
`best_point`, `recommended` the value of `recommended`, both without noise. FILE has a JSON line for each run. Runs in
FILE are not repeated, so a file is valid for one revision of the package.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo
from bostruct import methods, problems
from bostruct.contracts import Array
from bostruct.surrogates.hyperparameters import Normal

MARKS = (30, 60)  # trials
WHAT = ("told", "recommended")
N_INITIAL = 10
PRIORS = {f"({mean:g}, {sd:g})": Normal(mean, sd) for mean, sd in ((-5.0, 1.0), (-1.0, 1.0), (-2.0, 1.0), (-3.0, 2.0))}
SELECTED = "auto"  # the first or the second, by the data
NAMES = (*PRIORS, SELECTED)
Point = Mapping[str, Any]


class Task(NamedTuple):
    """A function to minimize. value: as the search observes it. truth: without noise."""

    space: bo.Space
    value: Callable[[Point], float]
    truth: Callable[[Point], float]


class Key(NamedTuple):
    """A run. problem: a name in `TASKS`. prior: one of `NAMES`. seed: of the instance and the initial points."""

    problem: str
    prior: str
    seed: int


def load_task(spec: str, seed: int) -> Task:
    """Load a problem of the package; its instance is `seed` if the specification contains ``{}``."""
    problem: Any = problems.load(spec.format(seed))
    return Task(problem.space, problem, problem.noise_free)


def make_ackley(seed: int) -> Task:
    """Make the Ackley function of 10 ordinals of 7 levels at distance 1; its optimum is a random grid point."""
    space = bo.Space({f"x{i}": bo.Ordinal(range(7)) for i in range(10)})
    optimum = np.random.default_rng([seed, 1]).integers(7, size=10)

    def value(point: Point) -> float:
        distance = math.sqrt(np.mean(np.square(space.parse(point) - optimum)))
        return 20.0 - 20.0 * math.exp(-0.2 * distance)  # the cosines are 1 at whole numbers

    return Task(space, value, value)


def make_noisy(n_bits: int, n_ordinals: int, seed: int, occasion: int = 0) -> Task:
    """Make a linear function of bits plus parabolas of ordinals of 7 levels; half the variance of the values is noise.

    Weights are standard normal, and parabolas have the variance of a bit of weight 1. The noise is a function of
    the point, so that it is equal for all priors.

    occasion: from 0; each occasion has different noise.
    """
    space = bo.Space(
        {f"b{i}": bool for i in range(n_bits)} | {f"o{i}": bo.Ordinal(range(7)) for i in range(n_ordinals)}
    )
    rng = np.random.default_rng([seed, 1])
    weights, optimum = rng.standard_normal(n_bits), rng.integers(7, size=n_ordinals)
    parabolas = np.square(np.arange(7)[:, None] - optimum)  # (7, n_ordinals)
    parabolas = 0.5 * parabolas / parabolas.std(axis=0)
    sd = 0.5 * math.sqrt(float(weights @ weights) + n_ordinals)

    again = [occasion] if occasion else []

    def truth(point: Point) -> float:
        vertex = space.parse(point)
        return float(weights @ vertex[:n_bits] + parabolas[vertex[n_bits:], np.arange(n_ordinals)].sum())

    def value(point: Point) -> float:
        rng = np.random.default_rng([seed, 2, *space.parse(point).tolist(), *again])
        return truth(point) + sd * float(rng.normal())

    return Task(space, value, truth)


QUIET: dict[str, Callable[[int], Task]] = {
    "Max-3-SAT, 28 variables": partial(load_task, "max3sat:variables=28,clauses=140,seed={}"),
    "contamination": partial(load_task, "contamination:case={}"),
    "Ising": partial(load_task, "ising:case={}"),
    "Branin, 51 x 51": partial(load_task, "branin"),
    "Ackley, 10 ordinals": make_ackley,
}
NOISY: dict[str, Callable[[int], Task]] = {
    "linear, 16 bits": partial(make_noisy, 16, 0),
    "8 bits, 4 ordinals": partial(make_noisy, 8, 4),
    "pest control": partial(load_task, "pest:noise_seed={}"),
}
TASKS = QUIET | NOISY


def run_once(key: Key, marks: tuple[int, ...]) -> dict[str, list[float]]:
    """Run a search; return the values of best and recommended points, without noise, at each mark."""
    task = TASKS[key.problem](key.seed)
    search: Any = methods.auto(task.space)
    if key.prior != SELECTED:
        prior = PRIORS[key.prior]
        model = replace(search.surrogate.surrogate.quiet, noise_prior=prior, initial_log_noise=prior.mean)
        search = replace(search, surrogate=replace(search.surrogate, surrogate=model))
    sample = task.space.sample(N_INITIAL, np.random.default_rng([key.seed, 0]))
    initial = [task.space.present(row) for row in sample]
    found: dict[str, list[float]] = {what: [] for what in WHAT}
    with bo.Study(task.space, method=search, seed=key.seed, initial_points=initial) as study:
        for mark in marks:
            result = study.optimize(task.value, mark, progress=False)
            found["told"].append(task.truth(result.best_point))
            found["recommended"].append(task.truth(result.recommended.trial.point))
    return found


def run_all(keys: list[Key], marks: tuple[int, ...], out: Path | None) -> dict[Key, dict[str, list[float]]]:
    """Take the runs that the file lacks, and append them to it."""
    lines = out.read_text().splitlines() if out is not None and out.exists() else []
    runs = {Key(*row["key"]): row["found"] for row in map(json.loads, lines)}
    for key in keys:
        if key not in runs:
            runs[key] = run_once(key, marks)
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps({"key": key, "found": runs[key]}) + "\n")
    return {key: runs[key] for key in keys}


def summarize(values: Array) -> str:
    """Write a mean and its standard error."""
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{values.mean():+.2f} ± {error:.2f}"


def tabulate(runs: dict[Key, dict[str, list[float]]], seeds: range, marks: tuple[int, ...]) -> str:
    """Write the table: a row for each problem, choice of a point and number of trials; a column for each prior."""
    first, *others = NAMES
    lines = [f"| problem | point | trials | {' | '.join(NAMES)} |", "|---|---|---|" + "---|" * len(NAMES)]
    rows = [(problem, what) for problem in TASKS for what in WHAT if problem in NOISY or what == WHAT[0]]
    for problem, what in rows:
        for i, mark in enumerate(marks):
            values = {name: np.array([runs[Key(problem, name, seed)][what][i] for seed in seeds]) for name in NAMES}
            cells = [f"{values[first].mean():.2f}", *(summarize(values[name] - values[first]) for name in others)]
            lines.append(f"| {problem} | {what} | {mark} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="12 and 14 trials, 2 seeds: only to test the command")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + (2 if given.quick else given.seeds))
    marks = (12, 14) if given.quick else MARKS
    keys = [Key(problem, prior, seed) for seed in seeds for problem in TASKS for prior in NAMES]
    runs = run_all(keys, marks, given.out)
    print(f"{len(seeds)} seeds from {seeds.start}; minus: better than {NAMES[0]}\n")
    print(tabulate(runs, seeds, marks))


if __name__ == "__main__":
    main()
