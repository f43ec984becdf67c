"""Theorem 2 of Florea and Andonie 2019 by simulation: does weighted random search hit the optimum as often as random?

    python -m benchmarks.wrs_theorem [--runs 20000] [--steps 240]

The theorem says that k_i can be chosen so that the probability of having met the optimum after n steps is at least that
of random search; its condition is that k_i steps have shown two different values of variable i (section 3.3 asks for
k_i > 1 / p_i), and its proof takes the best value seen so far of each variable to be the optimal one with probability
1 / (|S_i| - m_i + 1). Here variables have 8, 6, 5 and 4 values, probabilities of change 1, 1/2, 1/4 and 1/8, and
objectives are drawn: sums of a random effect a variable (which the theorem assumes), and independent values of all 960
points (where nothing can be learned from a variable by itself). With k = 0 the first phase is one point.
"""

from __future__ import annotations

import argparse

import numpy as np

from bostruct.contracts import Array

SIZES = np.array([8, 6, 5, 4])
CHANCES = np.array([1.0, 0.5, 0.25, 0.125])
LEAST = {"k_i > 1 / p_i": np.array([2, 3, 5, 9]), "k_i = 0": np.zeros(4, dtype=int)}


def tables(kind: str, runs: int, rng: np.random.Generator) -> Array:
    """Values of all points, one objective a run (runs, 8, 6, 5, 4)."""
    if kind == "independent values":
        return rng.random((runs, *SIZES))
    total = np.zeros((runs, *SIZES))
    for i, (size, weight) in enumerate(zip(SIZES, np.sqrt(CHANCES), strict=True)):
        shape = [runs, 1, 1, 1, 1]
        shape[i + 1] = size
        total += weight * rng.random((runs, size)).reshape(shape)
    return total


def hits(values: Array, least: Array | None, steps: int, rng: np.random.Generator) -> Array:
    """The share of runs that have met the optimum after each step (steps,); least: k_i, None for random search."""
    runs = len(values)
    every = np.arange(runs)
    best_possible = values.reshape(runs, -1).max(axis=1)
    x = rng.integers(0, SIZES, size=(runs, 4))
    reached = values[every, *x.T]
    met = [np.mean(reached >= best_possible)]
    for step in range(1, steps):
        drawn = rng.integers(0, SIZES, size=(runs, 4))
        if least is not None:
            changes = (rng.random((runs, 1)) <= CHANCES) | (step <= least)
            drawn = np.where(changes, drawn, x)
        new = values[every, *drawn.T]
        better = new >= reached
        x, reached = np.where(better[:, None], drawn, x), np.where(better, new, reached)
        met.append(np.mean(reached >= best_possible))
    return np.array(met)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=240)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    marks = [given.steps // 8, given.steps // 4, given.steps // 2, given.steps]
    head = " | ".join(f"{n} steps" for n in marks)
    print(f"{given.runs} runs: share that met the optimum\n\n| objective | search | {head} |\n|---|---|" + "---|" * 4)
    for kind in ("sum of effects", "independent values"):
        values = tables(kind, given.runs, rng)
        for name, least in {"random": None, **{f"weighted, {k}": v for k, v in LEAST.items()}}.items():
            met = hits(values, least, given.steps, rng)
            print(f"| {kind} | {name} | " + " | ".join(f"{met[n - 1]:.3f}" for n in marks) + " |")


if __name__ == "__main__":
    main()
