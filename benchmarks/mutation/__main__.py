"""Measure which small faults the tests find: make mutants of the package, and report the share that the tests kill.

    python -m benchmarks.mutation run FOLDER [--mutants 200] [--seed 0] [--processes 2]
    python -m benchmarks.mutation report FOLDER [OTHER]

`run` draws mutants of bostruct, copies the checkout to FOLDER with all mutants behind switches, runs the tests of
`make test` once with every switch off, and then runs for each mutant the tests that cover its line: the quickest first,
until one fails or 120 CPU seconds are spent. An interrupted `run` resumes. `report` prints the share of killed mutants
and lists the survivors; given two folders, it also lists the mutants that only one of them kills. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.mutation.equivalent import EQUIVALENT
from benchmarks.mutation.mutants import Mutant, draw_mutants, write_mutated

ROOT = Path(__file__).parents[2]
COPIED = ("benchmarks", "bostruct", "docs", "examples", "tests", "pyproject.toml", "README.md", "CHANGELOG.md")
COPIED += ("Makefile", "constraints.txt", "mkdocs.yml", "RESULTS.md", "setup.py", "MANIFEST.in", ".ci", "RELEASING.md")


def run(folder: Path, n: int, seed: int, processes: int) -> None:
    """Draw the mutants, copy the checkout, run the coverage and kill the mutants, skipping finished steps."""
    tree = folder / "tree"
    if not (folder / "mutants.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        mutants = draw_mutants(ROOT / "bostruct", n, seed)
        for name in COPIED:
            source, target = ROOT / name, tree / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        write_mutated(tree / "bostruct", mutants)
        shutil.copy(ROOT / "benchmarks/mutation/switch.py", tree / "bostruct_mutants.py")
        (folder / "mutants.json").write_text(json.dumps(mutants))
    mutants = read_mutants(folder)
    if not (folder / "covered").exists():
        (folder / "cover.jsonl").unlink(missing_ok=True)
        (folder / "hits").mkdir(exist_ok=True)
        _start(folder, "cover", len(mutants), "-n", str(processes)).wait()
        (folder / "covered").touch()
    shutil.rmtree(folder / "taken", ignore_errors=True)
    for result in read_results(folder):
        (folder / "taken" / str(result["mutant"])).mkdir(parents=True)
    (folder / "taken").mkdir(exist_ok=True)
    options = ("-p", "no:xdist", "-s", "--timeout=300")
    started = [_start(folder, "kill", len(mutants), *options, log=f"kill-{i}.log") for i in range(processes)]
    for process in started:
        process.wait()


def _start(folder: Path, phase: str, n: int, *options: str, log: str = "cover.log") -> subprocess.Popen[bytes]:
    settings = {"MUTANTS_WORK": str(folder), "MUTANTS_PHASE": phase, "MUTANTS_N": str(n), "OMP_NUM_THREADS": "1"}
    tree = folder / "tree"
    command = [sys.executable, "-m", "pytest", "-p", "benchmarks.mutation.plugin", "--hypothesis-profile=ci", *options]
    with open(folder / log, "ab") as out:
        environment = os.environ | settings | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""}
        return subprocess.Popen(command, cwd=tree, env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL)


def read_mutants(folder: Path) -> list[Mutant]:
    """Return the mutants of a run."""
    return [Mutant(*entry) for entry in json.loads((folder / "mutants.json").read_text())]


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Return the results of a run so far."""
    file = folder / "results.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def report(folder: Path, other: Path | None) -> None:
    """Print the share of killed mutants and the survivors."""
    mutants, results = read_mutants(folder), {one["mutant"]: one for one in read_results(folder)}
    counted = [number for number in results if mutants[number].key not in EQUIVALENT]
    killed = [number for number in counted if results[number]["killed"]]
    excluded = len(results) - len(counted)
    print(f"{len(killed)} of {len(counted)} mutants killed ({len(killed) / max(len(counted), 1):.1%});", end=" ")
    print(f"{excluded} equivalent ones excluded, {len(mutants) - len(results)} not run")
    for number in sorted(set(counted) - set(killed)):
        result, mutant = results[number], mutants[number]
        print(f"{number}: {result['why']} {result.get('ran', 0)} tests, line {mutant.line} of {mutant.key}")
    if other is not None:
        mine = {mutants[number].key for number in killed}
        theirs = {read_mutants(other)[one["mutant"]].key for one in read_results(other) if one["killed"]}
        print(f"\nonly {folder} kills:", *sorted(mine - theirs), sep="\n")
        print(f"\nonly {other} kills:", *sorted(theirs - mine), sep="\n")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("--mutants", type=int, default=200)
    running.add_argument("--seed", type=int, default=0)
    running.add_argument("--processes", type=int, default=2)
    reporting = commands.add_parser("report")
    reporting.add_argument("folder", type=Path)
    reporting.add_argument("other", type=Path, nargs="?")
    given = parser.parse_args()
    if given.command == "run":
        run(given.folder.resolve(), given.mutants, given.seed, given.processes)
        report(given.folder.resolve(), None)
    else:
        report(given.folder, given.other)


if __name__ == "__main__":
    main()
