"""NASBOT against evolution and random search, paired by seed, on problems whose architectures are free to evaluate.

    python -m benchmarks.nasbot_landscape run FILE [--problem landscape] [--methods nasbot,evolution,random]
        [--seeds 20] [--trials 80]
    python -m benchmarks.nasbot_landscape report FILE

FILE has one JSON line for each finished run; runs in FILE are not repeated. A run is judged by the value that the
problem reports (noise-free, or on test data) for the best observed point so far. Names of problems are those of
`bostruct problems`, including ``nasbench201:file=PATH,...``, which needs the file of the table.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

import bostruct as bo
from benchmarks.nasbot_variants import VARIANTS
from bostruct import methods
from bostruct.contracts import Array
from bostruct.problems.registry import load
from bostruct.study.threads import ThreadLimit

MILESTONES = (20, 40, 60, 80, 100, 150)


def run(
    file: Path,
    names: Sequence[str],
    chosen: Sequence[str],
    seeds: int,
    trials: int,
    problem_of: Callable[[str], Any] = load,
    first: int = 0,
) -> None:
    """Take the runs that the file lacks: every method on every problem, by seed from `first`; skip missing tables."""
    if unknown := [method for method in chosen if method not in {*methods.METHODS, *VARIANTS}]:
        raise SystemExit(f"methods: expected some of {', '.join([*methods.METHODS, *VARIANTS])}; got {unknown[0]}")
    done = {(row["problem"], row["method"], row["seed"]) for row in rows(file) if len(row["values"]) >= trials}
    for name in names:
        try:
            problem = problem_of(name)
        except (OSError, ValueError) as error:
            print(f"{name} is skipped: {error}")
            continue
        for seed in range(first, first + seeds):
            for method in chosen:
                if (name, method, seed) not in done:
                    row = {"problem": name, "method": method, "seed": seed} | one_run(problem, method, seed, trials)
                    with file.open("a") as out:
                        out.write(json.dumps(row) + "\n")


def one_run(problem: Any, method: str, seed: int, trials: int) -> dict[str, Any]:
    """Take a run; return observed and reported values of its trials, CPU seconds, and the number of fallbacks."""
    began = time.process_time()
    searcher = (methods.METHODS | VARIANTS)[method](problem.space)
    result = bo.minimize(problem, problem.space, trials, method=searcher, seed=seed, progress=False)
    return {
        "values": [trial.value for trial in result.trials],
        "reported": [problem.reported(trial.point) for trial in result.trials],
        "seconds": time.process_time() - began,
        "fallbacks": sum(trial.origin == "fallback" for trial in result.trials),
    }


def rows(file: Path) -> list[dict[str, Any]]:
    """Return the finished runs in the order of the file; none if it does not exist."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def report(file: Path, marks: Sequence[int] = MILESTONES) -> str:
    """Return in Markdown mean best values with standard errors after some numbers of trials, and NASBOT's wins."""
    tables = []
    found = sorted(rows(file), key=lambda row: row["method"] != "nasbot")
    for name in dict.fromkeys(row["problem"] for row in found):
        best: dict[str, dict[int, Array]] = {}
        seconds: dict[str, list[float]] = {}
        for row in found:
            if row["problem"] == name:
                best.setdefault(row["method"], {})[row["seed"]] = reported_of_best(row["values"], row["reported"])
                seconds.setdefault(row["method"], []).append(row["seconds"] / len(row["values"]))
        tables.append(table(name, best, seconds, marks))
    return "\n".join(tables)


def reported_of_best(values: Sequence[float], reported: Sequence[float]) -> Array:
    """Return the reported value of the best point so far after each trial; of equal points, of the first."""
    best = 0
    found = []
    for trial, value in enumerate(values):
        best = trial if value < values[best] else best
        found.append(reported[best])
    return np.array(found)


def table(
    name: str, best: dict[str, dict[int, Array]], seconds: dict[str, list[float]], marks: Sequence[int] = MILESTONES
) -> str:
    """Tabulate a problem. best: method -> seed -> best value after each trial. seconds: CPU per trial of each run."""
    first = next(iter(best))
    length = min(len(values) for runs in best.values() for values in runs.values())
    marks = [mark for mark in marks if mark <= length] or [length]
    judged = dict.fromkeys((marks[len(marks) // 3], marks[-1]))
    header = [f"after {mark}" for mark in marks] + [f"{first} wins / losses after {mark}, p" for mark in judged]
    lines = [f"### {name}", "", f"| method | seeds | {' | '.join(header)} | CPU per trial |"]
    lines.append("|---" * (len(header) + 3) + "|")
    for method, runs in best.items():
        cells = [mean_and_error([float(values[mark - 1]) for values in runs.values()]) for mark in marks]
        cells += ["" if method == first else against(best[first], runs, mark) for mark in judged]
        lines.append(f"| {method} | {len(runs)} | {' | '.join(cells)} | {np.mean(seconds[method]):.2g} s |")
    return "\n".join([*lines, ""])


def mean_and_error(values: Sequence[float]) -> str:
    error = float(np.std(values, ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.3f} ± {error:.3f}"


def against(mine: dict[int, Array], theirs: dict[int, Array], mark: int) -> str:
    """Return wins and losses over the seeds that both have, and the p-value of the two-sided sign test."""
    shared = mine.keys() & theirs.keys()
    wins = sum(bool(mine[seed][mark - 1] < theirs[seed][mark - 1]) for seed in shared)
    losses = sum(bool(mine[seed][mark - 1] > theirs[seed][mark - 1]) for seed in shared)
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return f"{wins} / {losses}, {p:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--problem", action="append", help="may be repeated; by default the synthetic landscape")
    parser.add_argument("--methods", default="nasbot,evolution,regularized-evolution,random")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=80)
    given = parser.parse_args()
    if given.what == "run":
        with ThreadLimit(1)():
            run(given.file, given.problem or ["landscape"], given.methods.split(","), given.seeds, given.trials)
    print(report(given.file))


if __name__ == "__main__":
    main()
