"""Compare `auto` with other methods on noise, failures, limits, objectives and batches; write the page of the results.

    python -m benchmarks.experiments [--groups NAME,...] [--problems NAME,...] [--methods NAME,...] [--seeds 10]
        [--first-seed 20] [--data DIR] [--python PYTHON] [--before FOLDER] [--processes 1] [--out FILE] [--page PAGE]

A seed is an instance of a problem and ten initial points, which all methods share. Each run is a process of its own
with one thread. FILE, benchmarks/experiments/results.jsonl by default, keeps a JSON line for each run. Runs that it
holds are not repeated, also where a method has changed since: delete their lines to take them again. So a command that
was ended goes on where it was. PAGE is written from FILE; 0 seeds renew the page alone.

PYTHON is an interpreter that has Optuna, BoTorch, SMAC3 and this package's dependencies, by default the running one;
the runs of a peer that it lacks are recorded as missing. DIR has the folders kernel_tuning and nasbench201 of the
tables, and what `pip install --no-deps --target DIR pytorch-holo==0.0.5 pooch platformdirs` puts there: problems of
files are skipped without it. FOLDER has the package of the revision before (`git archive REVISION bostruct | tar x -C
FOLDER`), whose `auto` is run as `auto before`; without it, that is skipped. Each of these runs keeps the hash of the
package, and the revision if FOLDER has a file REVISION with it (`git rev-parse --short=10 REVISION > FOLDER/REVISION`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.experiments.cases import GROUPS, PROBLEMS, SEARCHES, make_task
from benchmarks.experiments.report import FILE, PAGE, publish
from benchmarks.peers.before import BEFORE, check_before, use_before
from benchmarks.peers.run import Run, take_apart
from benchmarks.structures.command import Comparison, make_parser, parse_arguments, take_missing

NAME = "benchmarks.experiments"
FIRST_SEED = 20  # those before were looked at while `auto` was made
MOST_SECONDS = 3_600.0  # of CPU for one run, after which it is cut, and printed as cut


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the runs that are missing and write the page; return 0, or 1 where the file has no runs or is damaged.

    arguments: of the command; None for those of the process.
    """
    words = sys.argv[1:] if arguments is None else arguments
    parser = make_parser(COMPARISON)
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="has the package of the revision before")
    given = parse_arguments(COMPARISON, parser, words)
    check_before(parser, given.before)
    if given.before is None:
        given.methods = [name for name in given.methods if name != BEFORE]
    return take_missing(COMPARISON, given, words, lambda run: _take(run, given))


def _list_runs(problem: str, seed: int) -> list[Run]:
    return PROBLEMS[problem].list_runs(problem, seed)


def _take(run: Run, given: argparse.Namespace) -> dict[str, Any]:
    package = use_before(given.before, run.search)
    return take_apart(f"{NAME}.run", run, given.python, MOST_SECONDS, given.data) | package


COMPARISON = Comparison(
    NAME,
    "auto on noise, failures, limits, objectives and batches",
    {name: group.problems for name, group in GROUPS.items()},
    SEARCHES,
    FIRST_SEED,
    make_task,
    _list_runs,
    publish,
    FILE,
    PAGE,
)

if __name__ == "__main__":
    raise SystemExit(main())
