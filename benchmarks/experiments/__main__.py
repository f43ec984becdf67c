"""Compare `auto` with other methods on noise, failures, limits, objectives and batches; write the page of the results.

    python -m benchmarks.experiments [--groups NAME,...] [--problems NAME,...] [--methods NAME,...] [--seeds 10]
        [--first-seed 20] [--data DIR] [--python PYTHON] [--before FOLDER] [--processes 1] [--out FILE] [--page PAGE]

A seed is an instance of a problem and ten initial points, which all methods share. Each run is a separate process with
one thread. FILE, benchmarks/experiments/results.jsonl by default, contains a JSON line for each run. Runs in FILE are
not repeated, even if a method has changed since: delete their lines to repeat them. An interrupted command thus
resumes. PAGE is written from FILE; `--seeds 0` only updates the page.

PYTHON is an interpreter with Optuna, BoTorch, SMAC3 and this package's dependencies, by default the running one; the
runs of a peer that it lacks are recorded as missing. DIR contains the folders kernel_tuning and nasbench201 of the
tables, and the packages that `pip install --no-deps --target DIR pytorch-holo==0.0.5 pooch platformdirs` installs;
without DIR, problems with data files are skipped. FOLDER contains an earlier revision (`git archive REVISION bostruct |
tar x -C FOLDER`), whose `auto` is run as `auto before`; without FOLDER it is skipped. These runs record the hash of the
package, and the revision if FOLDER has it in REVISION (`git rev-parse --short=10 REVISION > FOLDER/REVISION`).
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
FIRST_SEED = 20  # earlier seeds were used to develop `auto`
MOST_SECONDS = 3_600.0  # CPU seconds after which a run is cut and reported as cut


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing and write the page; return 0, or 1 if the file has no runs or is damaged.

    arguments: arguments of the command; None for the arguments of the process.
    """
    words = sys.argv[1:] if arguments is None else arguments
    parser = make_parser(COMPARISON)
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="contains the package of an earlier revision")
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
