"""Compare `auto` with its peers on numbers, categories and conditions.

    python -m benchmarks.mixed [--seeds 10] [--first-seed 0] [--trials 100] [--quick] [--python PYTHON]
        [--searches NAME,...] [--problems NAME,...] [--out FILE]

A seed is one instance of a problem and ten initial points, which all searches share. Each run is a process of its own
with one thread. FILE keeps a JSON line for each run, and runs that it holds are not repeated; a file is good for one
revision of the package. The tables have the mean best value after 50 and 100 trials, the mean paired difference of each
peer to `auto` with its 95 % interval, and CPU seconds a suggestion. Positive differences are gains of `auto`.

PYTHON is the interpreter of the peers, in whose environment botorch, optuna, smac and this package are installed; by
default the running one. A peer that is not installed there is left out, and the page says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.mixed.report import format_tables
from benchmarks.mixed.run import Run, environment, is_missing
from benchmarks.mixed.searches import SEARCHES, WITHOUT_CONDITIONS
from benchmarks.mixed.tasks import GROUPS, TASKS

ROOT = Path(__file__).parents[2]
OUT = ROOT / "out" / "mixed.jsonl"
MOST_SECONDS = 3_600.0  # of CPU for one run, after which it is cut, and printed as cut


def main() -> int:
    """Return 0; print the tables."""
    given = _parse()
    done = _read(given.out)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    for run in _runs(given):
        if run not in done:
            done[run] = _take(run, given)
            with given.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**run._asdict(), **done[run]}) + "\n")
            print(f"{run}: {done[run].get('missing') or min(done[run]['values'], default=None)}", file=sys.stderr)
    print(format_tables({run: found for run, found in done.items() if run.trials == given.trials}))
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed", description="auto beside its peers")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="two seeds of four problems, 30 trials")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the peers")
    parser.add_argument("--searches", default=",".join(SEARCHES))
    parser.add_argument("--problems", default=",".join(TASKS).replace(", ", " "))
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    names = {name.replace(", ", " "): name for name in TASKS}
    given.searches, given.problems = given.searches.split(","), given.problems.split(",")
    for option, chosen, allowed in (("--searches", given.searches, SEARCHES), ("--problems", given.problems, names)):
        if unknown := [name for name in chosen if name not in allowed]:
            parser.error(f"{option}: expected some of {', '.join(allowed)}; got {', '.join(unknown)}")
    given.problems = [names[name] for name in given.problems]
    if given.quick:
        given.seeds, given.trials = 2, 30
        given.problems = ["branin", "hartmann-6", "branin, categories", "pipeline on moons"]
    return given


def _runs(given: argparse.Namespace) -> list[Run]:
    """List the runs, seed by seed, so that a file that was cut short has pairs."""
    conditional = GROUPS["conditional"]
    return [
        Run(problem, search, seed, given.trials)
        for seed in range(given.first_seed, given.first_seed + given.seeds)
        for problem in given.problems
        for search in given.searches
        if not (problem in conditional and search in WITHOUT_CONDITIONS)
    ]


def _read(file: Path) -> dict[Run, dict]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines]
    return {Run(*(one.pop(name) for name in Run._fields)): one for one in found}


def _take(run: Run, given: argparse.Namespace) -> dict:
    ended = subprocess.run(
        [given.python, "-m", "benchmarks.mixed.run", *map(str, run), str(MOST_SECONDS)],
        cwd=ROOT,
        env=environment(ROOT),
        capture_output=True,
        text=True,
    )
    if is_missing(ended.stderr):
        return {"missing": ended.stderr.strip().splitlines()[-1]}
    if ended.returncode:
        raise RuntimeError(f"{run} failed:\n{ended.stderr[-3000:]}")
    return json.loads(ended.stdout.splitlines()[-1])


if __name__ == "__main__":
    raise SystemExit(main())
