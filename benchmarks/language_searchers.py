"""Ten searchers on one space of programs: NAS-Bench-201 written in the language, with its table as the objective.

    python -m benchmarks.language_searchers FILE.npz [--seeds 20] [--trials 100]

FILE: as docs/problems.md describes it for `nasbench201`, with `c10_val_12ep` for the searchers that use fidelities. The
objective is the mean validation error on CIFAR-10 after 200 epochs; the test error of the program with the best value
is reported. Searchers with fidelities may choose 12 epochs instead of 200; the total of epochs is the same for all.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo
from bostruct import methods
from bostruct.domains.language.space import SearchSpace
from bostruct.nas.spaces.nasbench201 import NASBENCH201_OPERATIONS, nasbench201

EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))  # in the order of the table
EPOCHS = (12, 200)
PUBLISHED_MCTS = "mcts(rewards='value')"


class Table(NamedTuple):
    """Errors in percent, by the operations of the six edges. validation: after 12 and after 200 epochs."""

    validation: dict[int, dict[tuple[int, ...], float]]
    test: dict[tuple[int, ...], float]


def read(file: Path) -> Table:
    with np.load(file) as arrays:
        codes = [tuple(map(int, row)) for row in arrays["edges"]]
        long = 100.0 - np.nanmean(arrays["c10_val_200ep"].astype(np.float64), axis=1)
        short = 100.0 - arrays["c10_val_12ep"].astype(np.float64)
        test = 100.0 - arrays["c10_test_200ep_mean"].astype(np.float64)
    validation = {12: dict(zip(codes, short.tolist(), strict=True)), 200: dict(zip(codes, long.tolist(), strict=True))}
    return Table(validation, dict(zip(codes, test.tolist(), strict=True)))


def code(program: Any) -> tuple[int, ...]:
    return tuple(NASBENCH201_OPERATIONS.index(program.trace[f"edge_{i}_{j}"]) for i, j in EDGES)


def searchers(space: SearchSpace) -> dict[str, Callable[[], Any]]:
    """Return functions that make the searchers without fidelities, by name."""
    names = ("random", "regularized-evolution", "smbo", "mcts", "annealing", "auto", "wrs")
    return {name: lambda name=name: methods.searcher(name, space) for name in names} | {
        PUBLISHED_MCTS: lambda: methods.mcts(space, rewards="value")
    }


def run_once(space: SearchSpace, table: Table, searcher: Any, trials: int, seed: int) -> float:
    """Return the test error of the best program by validation. Values are shares, as published rewards need."""

    def error(program: Any) -> float:
        return table.validation[200][code(program)] / 100.0

    result = bo.minimize(error, space, trials, method=searcher, seed=seed, progress=False)
    return table.test[code(result.best_point)]


def run_with_fidelities(space: SearchSpace, table: Table, method: str, trials: int, seed: int) -> float:
    """Return the same for a searcher that chooses epochs, until it has used the epochs of `trials` full trainings."""
    domain = bo.joint_domain({"program": space, "training": {"epochs": bo.Fidelity(list(EPOCHS))}})
    left = trials * EPOCHS[-1]
    with bo.Study(domain, method=method, seed=seed) as study:
        while left > 0:
            trial = study.ask()
            epochs = trial.point["training"]["epochs"]
            left -= epochs
            study.tell(trial, table.validation[epochs][code(trial.point["program"])])
        full = study.result.where(lambda point: point["training"]["epochs"] == EPOCHS[-1])
        return table.test[code(full.best_point["program"])]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--methods", default="")
    given = parser.parse_args()
    if not given.file.exists():
        sys.exit(f"{given.file}: no such file; docs/problems.md describes its contents (nasbench201)")
    table, space = read(given.file), SearchSpace(nasbench201(cells=1))
    plain = searchers(space)
    chosen = given.methods.split(",") if given.methods else [*plain, "hyperband", "successive-halving"]
    print("| method | test error, % | standard error | wins, losses against random |\n|---|---|---|---|")
    random: list[float] = []
    for name in chosen:
        found = []
        for seed in range(given.seeds):
            if name in plain:
                found.append(run_once(space, table, plain[name](), given.trials, seed))
            else:
                found.append(run_with_fidelities(space, table, name, given.trials, seed))
        random = random or found
        wins = sum(a < b for a, b in zip(found, random, strict=True))
        losses = sum(a > b for a, b in zip(found, random, strict=True))
        error = statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else math.nan
        print(f"| {name} | {statistics.fmean(found):.3f} | {error:.3f} | {wins}, {losses} |", flush=True)


if __name__ == "__main__":
    main()
