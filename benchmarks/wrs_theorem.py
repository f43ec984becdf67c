"""Theorem 2 of Florea and Andonie 2019 by simulation: does weighted random search find the optimum as often as random?

    python -m benchmarks.wrs_theorem [--runs 20000] [--searcher-runs 1000] [--steps 240]

The theorem states that k_i can be chosen so that weighted random search has found the optimum after n steps with at
least the probability of random search. Its condition is that k_i steps have shown two different values of variable i
(section 3.3 requires k_i > 1 / p_i). Its proof assumes that the best value so far of each variable is optimal with
probability 1 / (|S_i| - m_i + 1). Here variables have 8, 6, 5 and 4 values, probabilities of change 1, 1/2, 1/4 and
1/8, and objectives are drawn: sums of one random effect per variable (which the theorem assumes), and independent
values of all 960 points (so that a single variable is not informative). If k = 0, the first phase is one point.

Rows of algorithm 1 are simulated, all runs in parallel, and may draw a point twice, as published. Rows of the searcher
are `WeightedRandomSearch` itself in mode ``shared`` with the same probabilities. It suggests no point twice; random
search without repeats finds the optimum in n steps with probability n / 960.
"""

from __future__ import annotations

import argparse

import numpy as np

import bostruct as bo
from bostruct.contracts import Array
from bostruct.searchers.wrs import WeightedRandomSearch
from bostruct.study.history import History

SIZES = np.array([8, 6, 5, 4])
PROBABILITIES = np.array([1.0, 0.5, 0.25, 0.125])
SPACE = bo.Space({f"x{i}": range(int(size)) for i, size in enumerate(SIZES)})
LEAST = {"k_i > 1 / p_i": np.array([2, 3, 5, 9]), "k_i = 0": np.zeros(4, dtype=int)}


def tables(kind: str, runs: int, rng: np.random.Generator) -> Array:
    """Return the values of all points, with one objective for each run (runs, 8, 6, 5, 4)."""
    if kind == "independent values":
        return rng.random((runs, *SIZES))
    total = np.zeros((runs, *SIZES))
    for i, (size, weight) in enumerate(zip(SIZES, np.sqrt(PROBABILITIES), strict=True)):
        shape = [runs, 1, 1, 1, 1]
        shape[i + 1] = size
        total += weight * rng.random((runs, size)).reshape(shape)
    return total


def simulate(values: Array, least: Array | None, steps: int, rng: np.random.Generator) -> Array:
    """Return the share of runs that have found the optimum after each step (steps,); least: k_i, or None for random."""
    runs = len(values)
    every = np.arange(runs)
    best_possible = values.reshape(runs, -1).max(axis=1)
    x = rng.integers(0, SIZES, size=(runs, 4))
    reached = values[every, *x.T]
    found = [np.mean(reached >= best_possible)]
    for n in range(1, steps):
        drawn = rng.integers(0, SIZES, size=(runs, 4))
        if least is not None:
            changes = (rng.random((runs, 1)) <= PROBABILITIES) | (n < least)
            drawn = np.where(changes, drawn, x)
        new = values[every, *drawn.T]
        better = new >= reached
        x, reached = np.where(better[:, None], drawn, x), np.where(better, new, reached)
        found.append(np.mean(reached >= best_possible))
    return np.array(found)


def chances(*_: object) -> dict[str, float]:
    """Return the effects for the searcher, regardless of its trials."""
    return dict(zip(SPACE.variables, PROBABILITIES.tolist(), strict=True))


def search(values: Array, least: Array, steps: int, rng: np.random.Generator) -> Array:
    """Return the same as `simulate`, for the searcher itself."""
    forced = dict(zip(SPACE.variables, least.tolist(), strict=True))
    searcher = WeightedRandomSearch(SPACE, chances, n_random=2, mode="shared", least=forced)
    first = [first_hit(searcher, one, steps, rng) for one in values]
    return np.array([np.mean(np.array(first) <= step) for step in range(steps)], dtype=np.float64)


def first_hit(searcher: WeightedRandomSearch, values: Array, steps: int, rng: np.random.Generator) -> int:
    """Return the step that finds the optimum, from 0; `steps` if none does."""
    xs, losses, seen, state = np.empty((steps, 4), dtype=np.int64), np.empty(steps), set(), searcher.initial_state()
    for n in range(steps):
        x, state, _ = searcher.suggest(History(xs[:n], losses[:n], xs[:0], xs[:0], seen), state, rng)
        xs[n], losses[n] = x, -values[tuple(x)]
        if values[tuple(x)] >= values.max():
            return n
        seen.add(SPACE.key(x))
    return steps


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--searcher-runs", type=int, default=1_000)
    parser.add_argument("--steps", type=int, default=240)
    given = parser.parse_args(arguments)
    rng = np.random.default_rng(0)
    marks = [given.steps // 8, given.steps // 4, given.steps // 2, given.steps]
    print(f"{given.runs} runs, {given.searcher_runs} of the searcher: share that found the optimum\n")
    print("| objective | search | " + " | ".join(f"{n} steps" for n in marks) + " |\n|---|---|" + "---|" * 4)
    for kind in ("sum of effects", "independent values"):
        values = tables(kind, given.runs, rng)
        rows = {"random": simulate(values, None, given.steps, rng)}
        rows |= {f"algorithm 1, {k}": simulate(values, least, given.steps, rng) for k, least in LEAST.items()}
        rows["random without repeats (exact)"] = np.arange(1, given.steps + 1) / np.prod(SIZES)
        some = values[: given.searcher_runs]
        rows |= {f"the searcher, {k}": search(some, least, given.steps, rng) for k, least in LEAST.items()}
        for name, found in rows.items():
            print(f"| {kind} | {name} | " + " | ".join(f"{found[n - 1]:.3f}" for n in marks) + " |", flush=True)


if __name__ == "__main__":
    main()
