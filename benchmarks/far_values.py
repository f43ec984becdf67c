"""Does `auto` serve a far or a very noisy value at least as well as the same trial observed as failed?

    python -m benchmarks.far_values                           # the table of docs/auto-evidence.md, seeds 0 to 15
    python -m benchmarks.far_values --first-seed 16 --seeds 32 --rows "branin, 1e4"   # the repetition of one row

A row is a kind of problem with one disturbance. Its seeds are instances of the problem. Each runs twice: with the value
observed as it is, and with the same trials observed as failed. Three columns give the mean gap to the optimum of the
undisturbed run, of the failed and of the observed one, then the paired difference observed - failed with one standard
error, and the difference in standard deviations. --out FILE keeps a JSON line a run, and runs that it holds are not
repeated.
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

FAR_TRIAL = 6  # counted from 0: one of the ten random ones that `auto` begins with
NOISE = 10.0
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
    """Return Branin's function; its instances differ by the seed of the run alone."""
    del seed

    def objective(point: Point) -> float:
        x, y = point["x"], point["y"]
        bowl = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
        return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10

    return Problem({"x": bo.Real(-5.0, 10.0), "y": bo.Real(0.0, 15.0)}, objective, 0.39788735772973816)


def bits(d: int, seed: int) -> Problem:
    """Return a quadratic function of d bits with random coefficients."""
    rng = np.random.default_rng(seed)
    single, pairs = rng.normal(size=d), 0.4 * rng.normal(size=(d, d))
    names = [f"b{i:02}" for i in range(d)]
    every = np.array(list(product([0.0, 1.0], repeat=d)))
    optimum = float(np.min(every @ single + np.einsum("ni,ij,nj->n", every, pairs, every)))

    def objective(point: Point) -> float:
        x = np.array([float(point[name]) for name in names])
        return float(x @ single + x @ pairs @ x)

    return Problem(dict.fromkeys(names, bool), objective, optimum)


def categories(seed: int) -> Problem:
    """Return a function of six categories of five choices: effects of each, and of neighboring pairs."""
    rng = np.random.default_rng(seed)
    single, pairs = rng.normal(size=(6, 5)), 0.5 * rng.normal(size=(5, 5, 5))

    def value(x: tuple[int, ...]) -> float:
        return sum(single[i, x[i]] for i in range(6)) + sum(pairs[i, x[i], x[i + 1]] for i in range(5))

    optimum = min(value(x) for x in product(range(5), repeat=6))
    space = {f"c{i}": [f"k{j}" for j in range(5)] for i in range(6)}
    return Problem(space, lambda p: float(value(tuple(int(p[f"c{i}"][1:]) for i in range(6)))), float(optimum))


def mixed(seed: int) -> Problem:
    """Return a bowl over two numbers and an integer, whose center and depth depend on a category."""
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

    problem: seed -> instance.
    far: the value that trial 6 is observed with; None where every second trial has noise of sd 10, which is given.
    """

    problem: Callable[[int], Problem]
    far: float | None


KINDS: dict[str, Callable[[int], Problem]] = {
    "branin": branin,
    "12 bits": lambda seed: bits(12, seed),
    "6 categories": categories,
    "mixed": mixed,
}
ROWS = {f"{name}, {far:g}".replace("e+0", "e").replace("e+", "e"): Row(kind, far) for name, kind in KINDS.items() for far in (1e4, 1e12)}
ROWS |= {"10 bits, sd 10": Row(lambda seed: bits(10, seed), None), "mixed, sd 10": Row(mixed, None)}


def run(row: Row, how: str, seed: int) -> float:
    """Return the gap to the optimum: of the best value, or under noise of the recommended trial's value without it.

    row: the problem and its disturbance.
    how: ``clean``, ``failed`` or ``observed``.
    seed: of the instance, the run and its noise.
    """
    problem = row.problem(seed)
    noise = np.random.default_rng([seed, 1])
    with bo.Study(problem.space, seed=seed) as study:
        for i in range(problem.n_trials):
            trial, drawn = study.ask(), float(noise.normal())
            value = problem.objective(trial.point)
            is_disturbed = i == FAR_TRIAL if row.far is not None else i % 2 == 1
            if is_disturbed and how == "failed":
                study.tell(trial, failed="disturbed")
            elif row.far is not None:
                study.tell(trial, row.far if is_disturbed and how == "observed" else value)
            else:
                sd = NOISE if is_disturbed and how == "observed" else 0.001
                study.tell(trial, value + sd * drawn, sd=sd)
        chosen = study.best_trial if row.far is not None else study.result.recommended.trial
        return problem.objective(chosen.point) - problem.optimum


def take(rows: list[str], seeds: range, path: Path | None) -> dict[tuple[str, str, int], float]:
    """Return the gaps by row, treatment and seed; runs that the file holds are read from it.

    rows: names of `ROWS`.
    seeds: of each row.
    path: of the file with a JSON line a run; None for no file.
    """
    lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
    found = {tuple(one[:3]): one[3] for one in map(json.loads, lines)}
    for name, seed, how in product(rows, seeds, ("clean", "failed", "observed")):
        # the undisturbed run of a kind is the same for each far value
        same = next((found[key] for other in ROWS if (key := (other, how, seed)) in found and is_same(other, name, how)), None)
        if (name, how, seed) in found:
            continue
        found[name, how, seed] = run(ROWS[name], how, seed) if same is None else same
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, how, seed, found[name, how, seed]]) + "\n")
    return found


def is_same(one: str, other: str, how: str) -> bool:
    """Return True where two rows differ in the far value alone, which the treatment does not observe."""
    return how != "observed" and one.rsplit(",", 1)[0] == other.rsplit(",", 1)[0] and (ROWS[one].far is None) == (ROWS[other].far is None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", help="a regular part of their names, such as branin")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = [name for name in ROWS if given.rows is None or given.rows in name]
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    found = take(rows, seeds, given.out)
    print("| row | clean | failed | observed | observed - failed | in se | in sd |\n|---|---|---|---|---|---|---|")
    scores = []
    for name in rows:
        clean, failed, observed = (np.array([found[name, how, seed] for seed in seeds]) for how in ("clean", "failed", "observed"))
        difference = observed - failed
        sd = float(np.std(difference, ddof=1)) if len(seeds) > 1 else math.nan
        se = sd / math.sqrt(len(seeds))
        scores.append(float(np.mean(difference)) / sd if sd else 0.0)
        print(
            f"| {name} | {np.mean(clean):.4g} | {np.mean(failed):.4g} | {np.mean(observed):.4g} | "
            f"{np.mean(difference):+.3g} ± {se:.2g} | {np.mean(difference) / se if se else 0.0:+.1f} | {scores[-1]:+.2f} |"
        )
    print(f"\nmean standardized difference: {np.mean(scores):+.2f}")


if __name__ == "__main__":
    main()
