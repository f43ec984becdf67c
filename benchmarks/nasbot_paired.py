"""NASBOT against methods without a model, as paired differences with intervals: trained perceptrons and tables.

    python -m benchmarks.nasbot_paired FILE --data FOLDER [--problems naval protein ...] [--methods evolution ...]
        [--seeds 8] [--first 100] [--trials 40] [--rows 12000] [--epochs 20] [--rate 0.002]

FOLDER has the folders ``uci_regression``, ``nasbench201``, ``nasbench_macro`` and ``nas_small_tables`` with the .npz
files of docs/problems.md and of `benchmarks.uci_regression`. FILE has one JSON line for each finished run; runs in FILE
are not repeated, and a problem whose file is missing is skipped. Seeds start at `--first`, because seeds below 100 were
used when settings were chosen.

A run is judged by the value that the problem reports for the best observed point: the test error, if any. A difference
is NASBOT's value minus the other's at the same seed, so that NASBOT is better below 0. The interval is Student's, at
95%. Fewer rows and epochs make perceptrons cheap; rows, epochs and rate are part of the name of the problem, so that
FILE distinguishes them.

Variants of `benchmarks.nasbot_variants` are methods, too, such as `nasbot-line`, whose mean is linear in the log mass.
The problem ``mass``, minus the log mass of perceptrons, has no noise and needs no file.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

from benchmarks import uci_regression
from benchmarks.nasbot_landscape import reported_of_best, rows, run
from benchmarks.nasbot_variants import mass
from bostruct.contracts import Array
from bostruct.nas.recipes import Recipe
from bostruct.problems.registry import load
from bostruct.study.threads import ThreadLimit

CONFIDENCE = 0.95
TABLES = {  # name in the report -> name of the problem in `bostruct problems`, with {} for the folder
    "nasbench201 cifar100": "nasbench201:file={}/nasbench201/nasbench201.npz,data=cifar100",
    "nasbench201 imagenet16-120": "nasbench201:file={}/nasbench201/nasbench201.npz,data=imagenet16-120",
    "nasbench-macro": "nasbench-macro:file={}/nasbench_macro/nasbench_macro.npz",
    "transnas-macro class_scene": "transnas-macro:file={}/nas_small_tables/transnas101_macro_subset.npz",
    "transnas-macro autoencoder": (
        "transnas-macro:file={}/nas_small_tables/transnas101_macro_subset.npz,task=autoencoder"
    ),
    "transnas-micro class_scene": ("transnas-micro:file={}/nas_small_tables/transnas101_micro_class_scene_subset.npz"),
}
CHEAP = ("mass", *TABLES)  # problems without training
PROBLEMS = (*uci_regression.SETS, *CHEAP)


def load_problem(folder: Path, n_rows: int, recipe: Recipe, name: str) -> Any:
    """Return a problem by its name in the report; raises OSError or ValueError if its file is missing.

    folder: contains the folders of the files.
    n_rows: maximum number of examples of a UCI data set.
    recipe: of the perceptrons.
    name: one of `PROBLEMS`; for a UCI data set, the label that `label` returns.
    """
    if name == "mass":
        return mass()
    if name in TABLES:
        return load(TABLES[name].format(folder))
    return uci_regression.problem(folder / "uci_regression", name.split(",")[0], n_rows, recipe)


def label(name: str, n_rows: int, recipe: Recipe) -> str:
    """Return the stored name of a problem, which includes the settings of the training."""
    return name if name in CHEAP else f"{name}, {n_rows} rows, {recipe.epochs} epochs, rate {recipe.learning_rate:g}"


def paired_difference(mine: Array, theirs: Array) -> tuple[float, float]:
    """Return the mean of mine - theirs and the half width of its confidence interval; NaN for less than two pairs.

    mine, theirs: paired, (n,).
    """
    differences = mine - theirs
    n = len(differences)
    if n < 2:
        return float(np.mean(differences)), float("nan")
    error = float(np.std(differences, ddof=1)) / np.sqrt(n)
    return float(np.mean(differences)), float(t.ppf(0.5 + CONFIDENCE / 2.0, n - 1)) * error


def report(file: Path, marks: Sequence[int]) -> str:
    """Return the table of all problems of a file in Markdown, without runs that are shorter than the last mark.

    file: of runs.
    marks: numbers of trials after which runs are compared.
    """
    header = [f"nasbot - other after {mark}, 95%" for mark in marks]
    lines = [f"| problem | other | seeds | nasbot | other | {' | '.join(header)} | wins / losses |"]
    lines.append("|---" * (6 + len(marks)) + "|")
    best: dict[str, dict[str, dict[int, Array]]] = {}
    for row in rows(file):
        if len(row["values"]) >= marks[-1]:
            runs = best.setdefault(row["problem"], {}).setdefault(row["method"], {})
            runs[row["seed"]] = reported_of_best(row["values"], row["reported"])
    for name, methods in best.items():
        mine = methods.pop("nasbot", {})
        lines += [
            f"| {name} | {other} | {compare(mine, theirs, marks)} |"
            for other, theirs in methods.items()
            if mine.keys() & theirs.keys()
        ]
    return "\n".join(lines)


def compare(mine: dict[int, Array], theirs: dict[int, Array], marks: Sequence[int]) -> str:
    """Return the cells of one line of the table, over the seeds that both have.

    mine, theirs: seed -> reported value of the best point after each trial.
    marks: numbers of trials; means, wins and losses are taken at the last mark.
    """
    seeds = sorted(mine.keys() & theirs.keys())
    own, others = (np.array([runs[seed][: marks[-1]] for seed in seeds]) for runs in (mine, theirs))
    cells = [str(len(seeds)), f"{own[:, -1].mean():.4f}", f"{others[:, -1].mean():.4f}"]
    for mark in marks:
        mean, half = paired_difference(own[:, mark - 1], others[:, mark - 1])
        cells.append(f"{mean:+.4f} [{mean - half:+.4f}, {mean + half:+.4f}]")
    last = own[:, -1] - others[:, -1]
    return " | ".join([*cells, f"{np.sum(last < 0)} / {np.sum(last > 0)}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--data", type=Path, default=Path(), help="the folder of the folders of data")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS, metavar="NAME")
    parser.add_argument("--methods", nargs="+", default=["evolution"], help="compared with NASBOT")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--rows", type=int, default=uci_regression.ROWS, help="most examples of a UCI data set")
    parser.add_argument("--epochs", type=int, default=uci_regression.RECIPE.epochs)
    parser.add_argument("--rate", type=float, default=uci_regression.RECIPE.learning_rate, help="of the training")
    given = parser.parse_args()
    recipe = replace(uci_regression.RECIPE, epochs=given.epochs, learning_rate=given.rate)
    names = [label(name, given.rows, recipe) for name in given.problems]
    problem = partial(load_problem, given.data, given.rows, recipe)
    with ThreadLimit(1)():
        run(given.file, names, ["nasbot", *given.methods], given.seeds, given.trials, problem, given.first)
    print(report(given.file, sorted({max(given.trials // 2, 1), given.trials})))


if __name__ == "__main__":
    main()
