"""Compare `auto` with its peers on bits, categories, orders, numbers and conditions, and with itself with a prior.

    python -m benchmarks.peers [--quick] [--seeds 10] [--first-seed 0] [--trials 100] [--python PYTHON] [--data DIR]
        [--before FOLDER] [--searches NAME,...] [--problems NAME,...] [--out FILE] [--page PAGE]

A seed is one instance of a problem and ten initial points. Searches share both, except Bounce, CatCMA and Kernel Tuner,
which draw points of their own, and searches with a prior: `auto` with a prior of 100 trials starts with points of the
earlier study. Each run is a process of its own with one thread. FILE has a JSON line for each run. Runs in FILE are not
repeated, even if a search has changed since: delete them first. The command prints the tables of all runs of FILE: mean
best values, paired differences between each other search and `auto`, verdicts, and CPU seconds per suggestion. With
PAGE, a page like RESULTS.md, it writes the tables and figures there.

--quick takes five seeds of six problems, 50 trials, by cheap methods of this package only, in a few minutes.

PYTHON is the interpreter of the peers, in whose environment botorch, bounce, cmaes, kernel_tuner, optuna, smac and this
package's dependencies are installed; by default the running interpreter. A peer that is not installed there is left
out, as the tables state. FOLDER has the package of an earlier revision (`git archive REVISION bostruct | tar x -C
FOLDER`), whose `auto` is run as `auto before`; without FOLDER, that search is skipped. A file FOLDER/REVISION names the
revision. DIR has the tables of the tabular problems, see docs/evidence/peers.md; without DIR they are skipped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.before import BEFORE, check_before, use_before
from benchmarks.peers.groups import ALL_SEARCHES, GROUPS, PROBLEMS, TABLES, list_searches, make_task
from benchmarks.peers.names import split_names
from benchmarks.peers.options import check_writable, integer_from, runs_python
from benchmarks.peers.publish import check_page, make_page, publish
from benchmarks.peers.record import append_conditions, append_run, read_file
from benchmarks.peers.run import Run, take_apart
from benchmarks.peers.tables import SKIPPED

ROOT = Path(__file__).parents[2]
OUT = ROOT / "out" / "peers.jsonl"
QUICK = (
    "branin",
    "hartmann-6",
    "branin, categories",
    "pipeline on moons",
    "max-3-sat 60/300",
    "ackley 20x11, smooth",
)
QUICK_SEARCHES = ("auto", "evolution", "random", "hill-climbing", "annealing")
QUICK_SEEDS, QUICK_TRIALS = 5, 50
NOT_COMPARED = "none of these searches is compared on these problems; see docs/evidence/peers.md"
NO_TABLES = "all of these problems are tables, so nothing is left to run: pass their folder as --data DIR"
MOST_SECONDS = 3_600.0  # of CPU for one run, after which it is cut, and printed as cut


def main(
    arguments: Sequence[str] | None = None, groups: Sequence[str] = tuple(GROUPS), name: str = "benchmarks.peers"
) -> int:
    """Print the tables or write the page; return 0, 1 if there are no whole runs, or 130 if it was interrupted.

    arguments: of the command; None for the arguments of the process.
    groups: their problems are taken if no problems are named.
    name: of the command.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    given = _parse(arguments, groups, name)
    asked = _list_runs(given)
    if not asked:
        print(NOT_COMPARED if given.problems else NO_TABLES, file=sys.stderr)
        return 1
    missing = _leave_out_tables([run for run in asked if run not in given.done], given)
    if missing:
        append_conditions(given.out, given.python, [name, *arguments])
    try:
        _take_all(missing, given)
    except KeyboardInterrupt:
        print(f"interrupted: {given.out} has the runs so far, and the same command resumes", file=sys.stderr)
        return 130
    try:
        print(publish(given.out, given.page) if given.page is not None else make_page(given.out, None)[0])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parse(arguments: Sequence[str], groups: Sequence[str], name: str) -> argparse.Namespace:
    problems = dict.fromkeys(problem for group in groups for problem in GROUPS[group])
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description="auto compared with its peers")
    parser.add_argument("--quick", action="store_true", help="cheap methods, six problems, five seeds, 50 trials")
    parser.add_argument("--seeds", type=integer_from(1), default=10, help="how many (%(default)s)")
    parser.add_argument("--first-seed", type=integer_from(0), default=0, help="the first seed (%(default)s)")
    parser.add_argument("--trials", type=integer_from(1), default=100, help="of each run (%(default)s)")
    parser.add_argument("--python", default=sys.executable, help="interpreter with the peers (the running one)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of the tables, see docs/evidence/peers.md")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="folder with the package of an earlier revision")
    parser.add_argument("--searches", default=",".join(ALL_SEARCHES))
    parser.add_argument("--problems", default=",".join(problems))
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="a JSON line for each run (%(default)s)")
    parser.add_argument("--page", type=Path, help="a page to write, such as RESULTS.md, with figures (none)")
    if parser.parse_known_args(arguments)[0].quick:
        quick = ",".join(name for name in QUICK if name in problems)
        parser.set_defaults(seeds=QUICK_SEEDS, trials=QUICK_TRIALS, searches=",".join(QUICK_SEARCHES), problems=quick)
    given = parser.parse_args(arguments)
    spellings = {name.replace(", ", " "): name for name in PROBLEMS}
    given.searches = split_names(parser, "--searches", given.searches, ALL_SEARCHES)
    given.problems = split_names(parser, "--problems", given.problems, PROBLEMS, spellings)
    _check_places(parser, given)
    if given.before is None:
        given.searches = [name for name in given.searches if name != BEFORE]
        if not given.searches:
            parser.error(f"--before: expected the folder of an earlier revision, whose auto is {BEFORE!r}; got none")
    if given.data is None and (skipped := [name for name in given.problems if name in TABLES]):
        print(f"skipped: {', '.join(skipped)}. These are tables: {SKIPPED}.", file=sys.stderr)
        given.problems = [name for name in given.problems if name not in TABLES]
    return given


def _check_places(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """End the command if a folder or the interpreter is missing; store the runs of the file as ``given.done``."""
    check_before(parser, given.before)
    if given.data is not None and not given.data.is_dir():
        parser.error(f"--data: expected a folder with tables, see docs/evidence/peers.md; got {given.data}")
    if not runs_python(given.python):
        parser.error(
            f"--python: expected an interpreter that has numpy and scipy, such as {sys.executable}; got {given.python}"
        )
    check_writable(parser, "--out", given.out)
    if given.page is not None:
        check_page(parser, "--page", given.page, given.out)
    try:
        given.done = read_file(given.out)[1]
    except ValueError as error:
        parser.error(f"--out: {error}")


def _list_runs(given: argparse.Namespace) -> list[Run]:
    """List the runs without duplicates, seed by seed, so that the file of an interrupted command has pairs."""
    found = (
        Run(problem, search, seed, given.trials)
        for seed in range(given.first_seed, given.first_seed + given.seeds)
        for group, problems in GROUPS.items()
        for problem in problems
        if problem in given.problems
        for search in list_searches(group, problem)
        if search in given.searches
    )
    return list(dict.fromkeys(found))


def _leave_out_tables(runs: list[Run], given: argparse.Namespace) -> list[Run]:
    """Return the runs except those on unreadable tables, which are listed on stderr."""
    unreadable = set[str]()
    for problem in dict.fromkeys(run.problem for run in runs if run.problem in TABLES):
        try:
            make_task(problem, given.first_seed, given.data)
        except (OSError, ValueError) as error:
            print(f"skipped: {problem}: {error}", file=sys.stderr)
            unreadable.add(problem)
    return [run for run in runs if run.problem not in unreadable]


def _describe_run(run: Run, found: dict) -> str:
    """Return a line about a finished run."""
    n, value = (found.get("improvements") or [[0, "no value"]])[-1]
    what = f"not installed: {found['missing']}" if "missing" in found else f"best {value} at trial {n}"
    return f"{run.problem}, seed {run.seed}, {run.search}: {what}{', cut' if found.get('cut') else ''}"


def _take_all(runs: Sequence[Run], given: argparse.Namespace) -> None:
    """Take runs one after the other; each is appended to the file as soon as it ends."""
    for run in runs:
        found = _take(run, given)
        append_run(given.out, run, found)
        print(_describe_run(run, found), file=sys.stderr)


def _take(run: Run, given: argparse.Namespace) -> dict:
    package = use_before(given.before, run.search)
    return take_apart("benchmarks.peers.run", run, given.python, MOST_SECONDS, given.data) | package


if __name__ == "__main__":
    raise SystemExit(main())
