"""The common parts of the commands of comparisons: options, and making the runs that a file lacks."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers.names import split_names
from benchmarks.peers.record import append_conditions, append_run, read_file
from benchmarks.peers.run import ROOT, Run, environment


class Comparison(NamedTuple):
    """The problems and methods of a comparison, and the files of its runs and its page.

    name: the package, as in `python -m`.
    text: description in one line.
    groups: problems of each group, by name.
    searches: names of the methods.
    first_seed: default of the first seed.
    make: makes a problem, given its name, a seed and the folder of the data; raises FileNotFoundError or ImportError
        if the problem cannot be made.
    list_runs: returns the runs on a problem with a seed.
    publish: writes the page, given the file of the runs and the page.
    file: default file of the runs.
    page: default page.
    """

    name: str
    text: str
    groups: Mapping[str, Sequence[str]]
    searches: Sequence[str]
    first_seed: int
    make: Callable[[str, int, Path | None], object]
    list_runs: Callable[[str, int], list[Run]]
    publish: Callable[[Path, Path], str]
    file: Path
    page: Path


def make_parser(comparison: Comparison) -> argparse.ArgumentParser:
    """Return the parser of a command, to which options may be added.

    comparison: comparison of the command.
    """
    problems = [name for own in comparison.groups.values() for name in own]
    parser = argparse.ArgumentParser(prog=f"python -m {comparison.name}", description=comparison.text)
    parser.add_argument("--groups", default=",".join(comparison.groups))
    parser.add_argument("--problems", default=",".join(problems))
    parser.add_argument("--methods", default=",".join(comparison.searches))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=comparison.first_seed)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the data files of some problems")
    parser.add_argument("--python", default=sys.executable, help="interpreter with the peers")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=comparison.file, metavar="FILE", help="a JSON line for each run")
    parser.add_argument("--page", type=Path, default=comparison.page, help="Markdown page to write, with figures")
    return parser


def parse_arguments(
    comparison: Comparison, parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> argparse.Namespace:
    """Return the options, with the problems of the groups that can be made; print why others are skipped.

    comparison: comparison of the command.
    parser: the result of `make_parser`.
    arguments: arguments of the command.
    """
    given = parser.parse_args(arguments)
    groups = split_names(parser, "--groups", given.groups, comparison.groups)
    own = [name for group in groups for name in comparison.groups[group]]
    every = [name for names in comparison.groups.values() for name in names]
    chosen = split_names(parser, "--problems", given.problems, every)
    given.methods = split_names(parser, "--methods", given.methods, comparison.searches)
    given.problems = [name for name in own if name in chosen]
    if given.seeds:
        given.problems = [name for name in given.problems if _can_make(comparison, name, given)]
    return given


def _can_make(comparison: Comparison, problem: str, given: argparse.Namespace) -> bool:
    """Return whether this interpreter or that of the runs can make a problem; print why if neither can."""
    try:
        comparison.make(problem, comparison.first_seed, given.data)
    except FileNotFoundError as error:
        why = str(error)
    except ImportError:
        why = _try_apart(comparison, problem, given)
    else:
        return True
    if why:
        print(f"skipped: {problem}: {why}", file=sys.stderr)
    return not why


def _try_apart(comparison: Comparison, problem: str, given: argparse.Namespace) -> str:
    """Return why the interpreter of the runs cannot make a problem; empty if it can."""
    data = None if given.data is None else str(given.data.resolve())
    code = f"import sys; from pathlib import Path; from {comparison.name}.cases import make_task; "
    code += f"make_task({problem!r}, {comparison.first_seed}, {data!r} and Path({data!r}))"
    ended = subprocess.run([given.python, "-c", code], cwd=ROOT, env=environment(ROOT), capture_output=True, text=True)
    return ended.stderr.strip().splitlines()[-1] if ended.returncode else ""


def take_missing(
    comparison: Comparison,
    given: argparse.Namespace,
    arguments: Sequence[str],
    take: Callable[[Run], dict[str, Any]],
) -> int:
    """Make the runs that the file lacks and write the page; return 0, or 1 if the file has no runs or is damaged.

    comparison: comparison of the command.
    given: options of the command.
    arguments: arguments of the command, for the record.
    take: makes a run.
    """
    try:
        done = read_file(given.out)[1]
        missing = [run for run in _list_runs(comparison, given) if run not in done]
        if missing:
            append_conditions(given.out, given.python, [comparison.name, *arguments])
        with ThreadPoolExecutor(given.processes) as pool:
            for run, found in pool.map(lambda run: (run, take(run)), missing):
                append_run(given.out, run, found)
                print(f"{run}: {_describe(found)}", file=sys.stderr)
        print(comparison.publish(given.out, given.page), file=sys.stderr)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _list_runs(comparison: Comparison, given: argparse.Namespace) -> list[Run]:
    """List the runs, seed by seed, so that an incomplete file contains pairs."""
    return [
        run
        for seed in range(given.first_seed, given.first_seed + given.seeds)
        for problem in given.problems
        for run in comparison.list_runs(problem, seed)
        if run.search in given.methods
    ]


def _describe(found: dict[str, Any]) -> Any:
    return found.get("missing") or found.get("measures") or found["improvements"][-1:]
