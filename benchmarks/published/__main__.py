"""Run every published benchmark of COMBO (Oh et al. 2019) on its 25 configurations; writes docs/evidence/published.md.

    python -m benchmarks.published [--paper combo|wrs|deeparchitect|nasbot|all] [--rows NAME,...] [--quick] [--seeds N]
        [--data DIR] [--out FILE]
    python -m benchmarks.published [--data DIR] [--searches NAME,...] [--problems NAME,...] [--configs 25]
        [--processes 1] [--out FILE] [--page PAGE]

The first form runs the tables and figures of the other papers, and COMBO's search of cells, reduced to what a CPU can
run (`benchmarks.published.papers`), and prints them with a verdict; `--quick` takes minutes. The second form runs
COMBO's tables; searches may also be `smac`, `tpe`, `bocs-sa3`, `combo-annealed-acquisition` and `combo-non-sparse`.

A configuration is an instance and a set of initial points, as published. FILE, benchmarks/published/results.jsonl by
default, has a JSON line for each run. Runs in FILE are not repeated, even if a method has changed since: delete their
lines to take them again. To resume an interrupted command, repeat it. PAGE is written from FILE.

`combo` and `bocs` are run on all configurations, and with relabeled choices on five, one for each instance; the others
on all, plain and relabeled. All runs take at most 25 CPU hours; `--configs N` takes the first N, instances in turn, and
0 only writes the page. DIR has the MaxSAT files in a folder `maxsat`; without DIR these problems are skipped.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.chaos.results import read_revision
from benchmarks.peers.names import split_names
from benchmarks.peers.record import append_conditions, append_run, read_file
from benchmarks.peers.run import THREADS, Run
from benchmarks.published.cases import (
    CASES,
    CONFIGS,
    MORE,
    PROBLEMS,
    RELABELED,
    SEARCHES,
    list_configs,
    list_searches,
)
from benchmarks.published.report import FILE, PAGE, publish
from benchmarks.published.run import take_named

NAME = "benchmarks.published"
OTHERS = (
    f"The other papers, and COMBO's cells, each row with its verdict: python -m {NAME} "
    "--paper combo|wrs|deeparchitect|nasbot|all [--rows NAME,...] [--quick, for minutes in all] [--seeds N]; their "
    f"options: python -m {NAME} --paper all --help"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the missing runs and write the page; return 0, or 1 if the file has no runs or is damaged.

    arguments: of the command; None for the arguments of the process.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if any(one.partition("=")[0] in ("--paper", "--quick", "--rows", "--seeds") for one in arguments):
        from benchmarks.published import rows  # needs torch, which COMBO's problems do not

        return rows.main(arguments, f"python -m {NAME}")
    given = _parse(arguments)
    try:
        done = read_file(given.out)[1]
        missing = [run for run in _list_runs(given) if run not in done]
        if missing:
            append_conditions(given.out, sys.executable, [NAME, *arguments])
        for run, found in _take_runs(missing, given.data, given.processes):
            append_run(given.out, run, found)
            print(f"{run}: {found['improvements'][-1:]}", file=sys.stderr)
        print(publish(given.out, given.page), file=sys.stderr)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    about = "the published benchmarks of COMBO"
    parser = argparse.ArgumentParser(prog=f"python -m {NAME}", description=about, epilog=OTHERS)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the MaxSAT files in a folder maxsat")
    parser.add_argument("--searches", default=",".join(SEARCHES), help=f"also {', '.join(MORE)}")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--configs", type=int, default=len(CONFIGS), help="number of configurations, instances in turn")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FILE, metavar="FILE", help="a JSON line for each run")
    parser.add_argument("--page", type=Path, default=PAGE, help="Markdown, overwritten, with figures")
    given = parser.parse_args(arguments)
    given.searches = split_names(parser, "--searches", given.searches, (*SEARCHES, *MORE))
    given.problems = split_names(parser, "--problems", given.problems, PROBLEMS)
    absent = [name for name in given.problems if not _has_file(name, given.data)]
    if absent and given.configs:
        fix = "these are files: pass --data DIR, a folder that has them in a folder maxsat (docs/problems.md)"
        print(f"skipped: {', '.join(absent)}; {fix}", file=sys.stderr)
    given.problems = [name for name in given.problems if name not in absent]
    return given


def _has_file(problem: str, data: Path | None) -> bool:
    case = CASES[problem.removesuffix(RELABELED)]
    try:
        return not case.file or case.find_file(data).exists()
    except FileNotFoundError:
        return False


def _list_runs(given: argparse.Namespace) -> list[Run]:
    """List the runs, plain problems first, by configuration, so that the file of an interrupted command has pairs."""
    taken = CONFIGS[: given.configs]
    return [
        Run(problem, search, config, CASES[problem.removesuffix(RELABELED)].trials)
        for is_relabeled in (False, True)
        for config in taken
        for problem in given.problems
        if problem.endswith(RELABELED) == is_relabeled
        for search in list_searches(problem)
        if search in given.searches and config in list_configs(problem, search)
    ]


def _take_runs(runs: Sequence[Run], data: Path | None, processes: int) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Take runs in processes of one thread each; yield each with its results and the revision of the code."""
    os.environ |= dict.fromkeys(THREADS, "1")  # before a spawned process loads the linear algebra
    revision = read_revision("benchmarks/published")
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for run, found in pool.imap_unordered(partial(take_named, data=data), runs):
            yield run, found | {"revision": revision}


if __name__ == "__main__":
    raise SystemExit(main())
