"""Compare `auto` with its own earlier runs in another file, paired by problem and seed.

    python -m benchmarks.peers.since BEFORE [AFTER] [--trials 100]

BEFORE and AFTER are files of `benchmarks.peers`, such as `git show REVISION:benchmarks/peers/results.jsonl > BEFORE`;
AFTER is benchmarks/peers/results.jsonl by default. Prints a row for each problem whose runs differ: the mean best value
before, and the mean difference since with its standard error; a negative difference is a gain. Below the rows are the
problems that are worse by more than two standard errors, and the mean of all differences in standard errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.publish import FILE
from benchmarks.peers.record import read_file
from benchmarks.peers.run import Run
from benchmarks.peers.verdicts import OURS, compare, find_best, index_runs

EARLIER = "earlier"


def _read_ours(parser: argparse.ArgumentParser, name: str, file: Path) -> dict[Run, dict[str, Any]]:
    """Return the runs of `auto` in a file; end the command if it is not a file of runs."""
    if not file.is_file():
        parser.error(f"{name.upper()}: there is no file {file}")
    try:
        return {run: found for run, found in read_file(file)[1].items() if run.search == OURS}
    except ValueError as error:
        parser.error(f"{name.upper()}: {error}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.since", description="auto since earlier runs")
    parser.add_argument("before", type=Path, metavar="BEFORE")
    parser.add_argument("after", type=Path, nargs="?", default=FILE, metavar="AFTER")
    parser.add_argument("--trials", type=int, default=100)
    given = parser.parse_args(arguments)
    earlier, runs = (_read_ours(parser, name, getattr(given, name)) for name in ("before", "after"))
    index = index_runs(runs | {run._replace(search=EARLIER): found for run, found in earlier.items()})
    scaled, rows = {}, ["| problem | seeds | before | since |\n|---|---|---|---|"]
    for problem in dict.fromkeys(run.problem for run in runs):
        since = -compare(index, problem, EARLIER, given.trials)
        if len(since) > 1 and since.any():
            error = float(np.std(since, ddof=1)) / len(since) ** 0.5
            scaled[problem] = float(since.mean()) / error
            before = np.mean([*find_best(index, problem, EARLIER, given.trials).values()])
            rows.append(f"| {problem} | {len(since)} | {before:.4g} | {since.mean():+.2g} ± {error:.2g} |")
    if not scaled:
        parser.error(f"BEFORE, AFTER: expected different runs of {OURS} of {given.trials} trials, got none")
    worse = [problem for problem, share in scaled.items() if share > 2.0]
    print(*rows, sep="\n")
    print(f"\nworse by more than two standard errors: {', '.join(worse) or 'none'}")
    print(f"mean difference in standard errors: {np.mean([*scaled.values()]):+.2f}")


if __name__ == "__main__":
    main()
