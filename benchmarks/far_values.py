"""Compare one extreme value, or many noisy values, with the same trials observed as failed, in runs of `auto`.

    python -m benchmarks.far_values                            # the table of docs/evidence/auto.md: seeds 0 to 15
    python -m benchmarks.far_values --first-seed 16 --seeds 32 --rows "Branin, 1e4"   # one row on other seeds

A row is a kind of problem with one disturbance. A seed is an instance and three runs: without the disturbance (clean),
with the disturbed trials observed as failed, and with their values observed. The columns are the mean gaps to the
optimum, the mean paired difference with one standard error, and this difference divided by its standard deviation.
--out FILE has a JSON line for each run; runs in FILE are not repeated.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo

FAR_TRIAL = 6  # counted from 0: one of the ten random trials with which `auto` starts
NOISE = 10.0  # standard deviation
NOISY = f"sd {NOISE:g}"
LITTLE_NOISE = 0.001
Point = Mapping[str, Any]


class Problem(NamedTuple):
    """An instance of a problem.

    space: of its points.
    objective: minimized, without noise.
    optimum: the smallest value.
    n_trials: of a run.
    """

    space: dict[str, Any]
    objective: Callable[[Point], float]
    optimum: float
    n_trials: int = 30


def branin(seed: int) -> Problem:
    """Return Branin's function; its instances differ only by the seed of the run."""
    del seed

    def objective(point: Point) -> float:
        x, y = point["x"], point["y"]
        bowl = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
        return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10

    return Problem({"x": bo.Real(-5.0, 10.0), "y": bo.Real(0.0, 15.0)}, objective, 0.39788735772973816)


def bits(d: int, seed: int, interaction: float) -> Problem:
    """Return a random quadratic function of d bits; `interaction` is the standard deviation of pair coefficients."""
    rng = np.random.default_rng(seed)
    single, pairs = rng.normal(size=d), interaction * rng.normal(size=(d, d))
    names = [f"b{i:02}" for i in range(d)]
    every = np.array(list(product([0.0, 1.0], repeat=d)))
    optimum = float(np.min(every @ single + np.einsum("ni,ij,nj->n", every, pairs, every)))

    def objective(point: Point) -> float:
        x = np.array([float(point[name]) for name in names])
        return float(x @ single + x @ pairs @ x)

    return Problem(dict.fromkeys(names, bool), objective, optimum)


def categories(seed: int) -> Problem:
    """Return a function of six categories of five choices: effects of each category, and of neighboring pairs."""
    rng = np.random.default_rng(seed)
    single, pairs = rng.normal(size=(6, 5)), 0.5 * rng.normal(size=(5, 5, 5))

    def value(x: tuple[int, ...]) -> float:
        return sum(single[i, x[i]] for i in range(6)) + sum(pairs[i, x[i], x[i + 1]] for i in range(5))

    optimum = min(value(x) for x in product(range(5), repeat=6))
    space = {f"c{i}": [f"k{j}" for j in range(5)] for i in range(6)}
    return Problem(space, lambda p: float(value(tuple(int(p[f"c{i}"][1:]) for i in range(6)))), float(optimum))


def mixed(seed: int) -> Problem:
    """Return a quadratic bowl over two numbers and an integer; its center and depth depend on a category."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0.25, 0.75, size=3) + rng.uniform(-0.1, 0.1, size=(4, 3))
    offsets = rng.permutation(np.append(0.0, rng.uniform(0.1, 0.6, size=3)))
    centers[:, 2] = np.round(20 * centers[:, 2]) / 20

    def objective(point: Point) -> float:
        k = int(point["c"][1:])
        x = np.array([point["u"], point["v"], point["i"] / 20])
        return float(4.0 * np.sum(np.square(x - centers[k])) + offsets[k])

    space = {"u": bo.Real(0, 1), "v": bo.Real(0, 1), "i": bo.Integer(0, 20), "c": [f"k{j}" for j in range(4)]}
    return Problem(space, objective, 0.0, n_trials=40)


class Row(NamedTuple):
    """A kind of problem with a disturbance.

    kind: a name in `KINDS`.
    far: the value that is observed for trial 6; None for noise of sd 10 in every second trial, passed as `sd`.
    """

    kind: str
    far: float | None

    def __str__(self) -> str:
        return f"{self.kind}, " + (NOISY if self.far is None else f"1e{round(math.log10(self.far))}")


KINDS: dict[str, Callable[[int], Problem]] = {
    "Branin": branin,
    "12 bits": lambda seed: bits(12, seed, 0.4),
    "6 categories": categories,
    "mixed": mixed,
    "10 bits": lambda seed: bits(10, seed, 0.4),
    "10 bits, additive": lambda seed: bits(10, seed, 0.05),
}
ROWS = [Row(kind, far) for kind in ("Branin", "12 bits", "6 categories", "mixed") for far in (1e4, 1e12)]
ROWS += [Row(kind, None) for kind in ("10 bits", "mixed", "10 bits, additive", "Branin", "6 categories")]


def run(row: Row, how: str, seed: int) -> float:
    """Return the gap to the optimum of the best value; in noisy rows, of the recommended trial's noise-free value.

    row: the problem and its disturbance.
    how: ``clean``, ``failed`` or ``observed``.
    seed: of the instance, the run and its noise.
    """
    problem, noise = KINDS[row.kind](seed), np.random.default_rng([seed, 1])
    with bo.Study(problem.space, seed=seed) as study:
        for i in range(problem.n_trials):
            trial, drawn = study.ask(), float(noise.normal())
            value = problem.objective(trial.point)
            is_disturbed = i % 2 == 1 if row.far is None else i == FAR_TRIAL
            if is_disturbed and how == "failed":
                study.tell(trial, failed="disturbed")
            elif row.far is None:
                sd = NOISE if is_disturbed and how == "observed" else LITTLE_NOISE
                study.tell(trial, value + sd * drawn, sd=sd)
            else:
                study.tell(trial, row.far if is_disturbed and how == "observed" else value)
        chosen = study.result.recommended.trial if row.far is None else study.best_trial
        return problem.objective(chosen.point) - problem.optimum


def take(rows: list[Row], seeds: range, path: Path | None) -> dict[tuple[str, str, int], float]:
    """Return the gaps by row, treatment and seed; runs in the file are read from it.

    rows: to be run.
    seeds: of each row.
    path: of the file with a JSON line for each run; None for no file.
    """
    lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
    found = {tuple(one[:3]): one[3] for one in map(json.loads, lines)}
    for row, seed, how in product(rows, seeds, ("clean", "failed", "observed")):
        # if the extreme value is not observed, the run is the same for all extreme values
        key = (f"{row.kind}, any" if how != "observed" and row.far is not None else str(row), how, seed)
        if key not in found:
            found[key] = run(row, how, seed)
            if path is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([*key, found[key]]) + "\n")
        found[str(row), how, seed] = found[key]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", default="", help="part of the names of rows, such as Branin")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = [row for row in ROWS if given.rows in str(row)]
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    found = take(rows, seeds, given.out)
    print("| problem, disturbance | clean | failed | observed | observed - failed | in sd |\n|---|---|---|---|---|---|")
    standardized = []
    for row in rows:
        gaps = [np.array([found[str(row), how, seed] for seed in seeds]) for how in ("clean", "failed", "observed")]
        difference = gaps[2] - gaps[1]
        mean, sd = float(np.mean(difference)), float(np.std(difference, ddof=1))
        standardized.append(mean / sd if sd else 0.0)
        means = " | ".join(f"{np.mean(one):.2g}" for one in gaps)
        print(f"| {row} | {means} | {mean:+.2g} ± {sd / math.sqrt(len(seeds)):.2g} | {standardized[-1]:+.2f} |")
    print(f"\nmean standardized difference: {np.mean(standardized):+.2f}")


if __name__ == "__main__":
    main()
