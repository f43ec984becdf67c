"""Methods on the 25 published configurations of contamination control and Ising sparsification, beside published means.

    python -m benchmarks.published_binary [--methods bocs auto] [--problem contamination] [--processes 1]

A configuration is one of five instances and one of five sets of 20 initial points (Oh et al. 2019, supplement 4.1); 270
trials of contamination control and 170 of Ising sparsification, initial points included, as there. The published rows
are their table: means and standard errors over 25 runs.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

import bostruct as bo
from bostruct import problems
from bostruct.problems import contamination, ising
from bostruct.problems.base import published_seeds

TRIALS = {"contamination": 270, "ising": 170}
TAGS = {"contamination": contamination.TAG, "ising": ising.TAG}
LAMBDAS = (0.0, 1e-4, 1e-2)
PUBLISHED = {
    "contamination": {
        "SMAC": ("21.464 ± 0.031", "21.501 ± 0.033", "21.651 ± 0.040"),
        "TPE": ("21.641 ± 0.044", "21.687 ± 0.041", "21.844 ± 0.042"),
        "annealing": ("21.470 ± 0.037", "21.487 ± 0.037", "21.612 ± 0.039"),
        "BOCS-SDP": ("21.375 ± 0.025", "21.379 ± 0.030", "21.523 ± 0.027"),
        "COMBO": ("21.275 ± 0.029", "21.278 ± 0.031", "21.444 ± 0.029"),
    },
    "ising": {
        "SMAC": ("0.152 ± 0.040", "0.219 ± 0.052", "0.350 ± 0.045"),
        "TPE": ("0.404 ± 0.109", "0.444 ± 0.095", "0.609 ± 0.107"),
        "annealing": ("0.095 ± 0.033", "0.117 ± 0.035", "0.334 ± 0.064"),
        "BOCS-SDP": ("0.105 ± 0.031", "0.059 ± 0.013", "0.300 ± 0.039"),
        "COMBO": ("0.103 ± 0.035", "0.081 ± 0.028", "0.317 ± 0.042"),
    },
}


def best(name: str, strength: float, method: str, config: int) -> float:
    """The best value of one run."""
    case, _ = published_seeds(TAGS[name])[config]
    problem = problems.load(f"{name}:case={case},lambda={strength}")
    initial = problem.initial_points(config)
    result = bo.minimize(
        problem, problem.space, TRIALS[name], method=method, seed=config, initial_points=initial, progress=False
    )
    return float(result.best_value)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--methods", nargs="+", default=["bocs", "auto", "annealing", "random"])
    parser.add_argument("--problem", choices=sorted(TRIALS), default="contamination")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    print(f"{given.problem}, {TRIALS[given.problem]} trials, 25 configurations: mean and standard error\n")
    print("| method | " + " | ".join(f"lambda {one:g}" for one in LAMBDAS) + " |\n|---|---|---|---|", flush=True)
    for name, row in PUBLISHED[given.problem].items():
        print(f"| {name}, published | " + " | ".join(row) + " |", flush=True)
    with ProcessPoolExecutor(given.processes) as executor:
        for method in given.methods:
            cells = []
            for strength in LAMBDAS:
                run = partial(best, given.problem, strength, method)
                values = np.array(list(executor.map(run, range(1, 26))))
                cells.append(f"{values.mean():.3f} ± {values.std(ddof=1) / math.sqrt(len(values)):.3f}")
            print(f"| `{method}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
