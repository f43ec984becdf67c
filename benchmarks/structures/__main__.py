"""Compare `auto` with local search, evolution and Optuna on structures; writes docs/evidence/structures.md.

    python -m benchmarks.structures [--groups NAME,...] [--problems NAME,...] [--methods NAME,...] [--seeds 10]
        [--first-seed 10] [--data DIR] [--python PYTHON] [--processes 1] [--out FILE] [--page PAGE]

A seed is an instance of a problem and ten initial points, which all methods share. Each run is a process of its own
with one thread. FILE, benchmarks/structures/results.jsonl by default, keeps a JSON line for each run. Runs that it
holds are not repeated, also where a method has changed since: delete their lines to take them again. So a command that
was ended goes on where it was. PAGE is written from FILE; 0 seeds renew the page alone.

Defaults of `auto` were chosen on seeds 0 to 9. PYTHON is an interpreter that has Optuna and this package's
dependencies, by default the running one. DIR has the files that some problems are: they are skipped without it.
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
FIRST_SEED = 10  # those before were looked at while `auto` was made
MOST_SECONDS = 3_600.0  # of CPU for one run, after which it is cut, and printed as cut


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the runs that are missing and write the page; return 0, or 1 where the file has no runs or is damaged.

    arguments: of the command; None for those of the process.
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
    "auto on structures, beside other methods",
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
