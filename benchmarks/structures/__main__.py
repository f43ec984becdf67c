"""Compare `auto` with local search, evolution and Optuna on structures; writes docs/evidence/structures.md.

    python -m benchmarks.structures [--groups NAME,...] [--problems NAME,...] [--methods NAME,...] [--seeds 10]
        [--first-seed 10] [--data DIR] [--python PYTHON] [--processes 1] [--out FILE] [--page PAGE]

A seed is an instance of a problem and ten initial points, which all methods share. Each run is a separate process with
one thread. FILE, benchmarks/structures/results.jsonl by default, contains a JSON line for each run. Runs in FILE are
not repeated, even if a method has changed since: delete their lines to repeat them. An interrupted command thus
resumes. PAGE is written from FILE; `--seeds 0` only updates the page.

Defaults of `auto` were chosen on seeds 0 to 9. PYTHON is an interpreter with Optuna and this package's dependencies, by
default the running one. DIR contains the data files of some problems, which are skipped without it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.peers.run import Run, take_apart
from benchmarks.structures.cases import GROUPS, PROBLEMS, make_task
from benchmarks.structures.command import Comparison, make_parser, parse_arguments, take_missing
from benchmarks.structures.report import FILE, PAGE, publish
from benchmarks.structures.searches import SEARCHES

NAME = "benchmarks.structures"
FIRST_SEED = 10  # earlier seeds were used to develop `auto`
MOST_SECONDS = 3_600.0  # CPU seconds after which a run is cut and reported as cut


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing and write the page; return 0, or 1 if the file has no runs or is damaged.

    arguments: arguments of the command; None for the arguments of the process.
    """
    words = sys.argv[1:] if arguments is None else arguments
    given = parse_arguments(COMPARISON, make_parser(COMPARISON), words)
    return take_missing(COMPARISON, given, words, lambda run: _take(run, given))


def _list_runs(problem: str, seed: int) -> list[Run]:
    group = PROBLEMS[problem]
    return [Run(problem, search, seed, group.trials) for search in group.searches]


def _take(run: Run, given: argparse.Namespace) -> dict[str, Any]:
    return take_apart(f"{NAME}.run", run, given.python, MOST_SECONDS, given.data)


COMPARISON = Comparison(
    NAME,
    "auto on structures, compared with other methods",
    {name: tuple(group.problems) for name, group in GROUPS.items()},
    tuple(SEARCHES),
    FIRST_SEED,
    make_task,
    _list_runs,
    publish,
    FILE,
    PAGE,
)

if __name__ == "__main__":
    raise SystemExit(main())
