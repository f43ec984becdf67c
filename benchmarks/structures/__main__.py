"""Compare `auto` with local search, evolution and Optuna on structures as variables, and write docs/structures.md.

    python -m benchmarks.structures [--problems NAME,...] [--methods NAME,...] [--seeds 10] [--first-seed 10]
        [--data DIR] [--python PYTHON] [--processes 1] [--out FILE] [--page PAGE]

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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.peers.names import split_names
from benchmarks.peers.record import append_conditions, append_run, read_file
from benchmarks.peers.run import Run, take_apart
from benchmarks.structures.cases import GROUPS, PROBLEMS, make_task
from benchmarks.structures.report import FILE, PAGE, publish
from benchmarks.structures.searches import SEARCHES

NAME = "benchmarks.structures"
FIRST_SEED = 10  # those before were looked at while `auto` was made
MOST_SECONDS = 3_600.0  # of CPU for one run, after which it is cut, and printed as cut


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the runs that are missing and write the page; return 0, or 1 where the file has no runs or is damaged.

    arguments: of the command; None for those of the process.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    given = _parse(arguments)
    try:
        done = read_file(given.out)[1]
        missing = [run for run in _list_runs(given) if run not in done]
        if missing:
            append_conditions(given.out, given.python, [NAME, *arguments])
        with ThreadPoolExecutor(given.processes) as pool:
            for run, found in pool.map(lambda run: (run, _take(run, given)), missing):
                append_run(given.out, run, found)
                print(f"{run}: {found.get('missing') or found['improvements'][-1:]}", file=sys.stderr)
        print(publish(given.out, given.page), file=sys.stderr)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {NAME}", description="auto on structures, beside other methods")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--methods", default=",".join(SEARCHES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of the files that some problems are")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has Optuna")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FILE, metavar="FILE", help="a JSON line for each run")
    parser.add_argument("--page", type=Path, default=PAGE, help="Markdown, written anew, with figures")
    given = parser.parse_args(arguments)
    given.problems = split_names(parser, "--problems", given.problems, PROBLEMS)
    given.methods = split_names(parser, "--methods", given.methods, SEARCHES)
    if given.seeds:
        given.problems = [name for name in given.problems if _is_there(name, given.data)]
    return given


def _is_there(problem: str, data: Path | None) -> bool:
    """Tell whether a problem can be made; say why where it cannot."""
    try:
        make_task(problem, FIRST_SEED, data)
    except (FileNotFoundError, ImportError) as error:
        print(f"skipped: {problem}: {error}", file=sys.stderr)
        return False
    return True


def _list_runs(given: argparse.Namespace) -> list[Run]:
    """List the runs, seed by seed, so that a file that was cut short has pairs."""
    return [
        Run(problem, search, seed, group.trials)
        for seed in range(given.first_seed, given.first_seed + given.seeds)
        for group in GROUPS.values()
        for problem in group.problems
        if problem in given.problems
        for search in group.searches
        if search in given.methods
    ]


def _take(run: Run, given: argparse.Namespace) -> dict[str, Any]:
    return take_apart(f"{NAME}.run", run, given.python, MOST_SECONDS, given.data)


if __name__ == "__main__":
    raise SystemExit(main())
