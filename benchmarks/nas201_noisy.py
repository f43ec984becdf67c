"""NAS-Bench-201 by the field's protocol: noisy queries, incumbent by validation error, mean test error reported.

    python -m benchmarks.nas201_noisy FILE.npz [--methods auto nasbot] [--data cifar10] [--seeds 50] [--trials 100]
        [--processes 1] [--mean]

FILE: as docs/problems.md describes it for `nasbench201`. A query is the validation error after 200 epochs of one
training drawn at random (with --mean, the mean of all trainings). The incumbent is the cell of the best query so far;
its mean test error is reported. Searchers observe the logarithm of the error, which is monotone and prevents cells that
learn nothing from dominating the scale. `nasbot` and `nasbot-published` search cells as architectures; all others
search six variables of five unordered operations.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Array
from bostruct.problems.nas_tables import NASBENCH201_DATA_SETS
from bostruct.problems.tabular import rows_of, table_domain

EDGES = ("0-1", "0-2", "1-2", "0-3", "1-3", "2-3")
OPERATIONS = ("none", "skip", "conv1", "conv3", "pool")
MARKS = (25, 50, 100, 150, 200)
ON_ARCHITECTURES = {"nasbot": methods.nasbot, "nasbot-published": methods.published_nasbot}


def one_run(file: str, data: str, method: str, trials: int, mean: bool, seed: int) -> Array:
    """Return the mean test error of the incumbent after each query (trials,)."""
    with np.load(file) as arrays:
        codes = arrays["edges"]
        validation = 100.0 - arrays[f"{NASBENCH201_DATA_SETS[data]}_val_200ep"].astype(np.float64)
        test = 100.0 - arrays[f"{NASBENCH201_DATA_SETS[data]}_test_200ep_mean"].astype(np.float64)
    rng = np.random.default_rng([seed, 1])
    if method in ON_ARCHITECTURES:
        domain: Any = table_domain("nasbench201", codes)
        rows = rows_of(domain, codes)
        searcher: Any = ON_ARCHITECTURES[method](domain)

        def index(point: Any) -> int:
            return int(rows[domain.index_of(point)][0])  # the first of the cells with this graph
    else:
        domain = bo.Space({edge: list(OPERATIONS) for edge in EDGES})
        rows_of_codes = {tuple(map(int, code)): i for i, code in enumerate(codes)}
        searcher = method

        def index(point: Any) -> int:
            return rows_of_codes[tuple(OPERATIONS.index(point[edge]) for edge in EDGES)]

    def query(point: Any) -> float:
        errors = validation[index(point)]
        errors = errors[~np.isnan(errors)]
        return math.log(float(errors.mean() if mean else rng.choice(errors)))

    result = bo.minimize(query, domain, trials, method=searcher, seed=seed, progress=False)
    values = np.array([trial.value for trial in result.trials], dtype=np.float64)
    incumbents = [int(np.argmin(values[: n + 1])) for n in range(len(values))]
    reported = np.array([test[index(trial.point)] for trial in result.trials])
    return reported[incumbents]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--methods", nargs="+", default=["auto", "regularized-evolution", "hill-climbing", "random"])
    parser.add_argument("--data", nargs="+", choices=list(NASBENCH201_DATA_SETS), default=list(NASBENCH201_DATA_SETS))
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--mean", action="store_true")
    given = parser.parse_args()
    if not given.file.exists():
        sys.exit(f"{given.file}: no such file; docs/problems.md describes its contents (nasbench201)")
    marks = [mark for mark in MARKS if mark <= given.trials]
    print(f"{given.seeds} seeds, {'mean' if given.mean else 'noisy'} validation, mean test error and standard error\n")
    print("| data | method | " + " | ".join(f"{mark} queries" for mark in marks) + " |")
    print("|---|---|" + "---|" * len(marks), flush=True)
    with ProcessPoolExecutor(given.processes) as executor:
        for data in given.data:
            for method in given.methods:
                run = partial(one_run, str(given.file), data, method, given.trials, given.mean)
                found = np.array(list(executor.map(run, range(given.seeds))))
                error = found.std(axis=0, ddof=1) / math.sqrt(len(found))
                cells = [f"{found[:, mark - 1].mean():.3f} ± {error[mark - 1]:.3f}" for mark in marks]
                print(f"| {data} | `{method}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
