"""Run stress tests of studies, and print what was tried and what broke.

    python -m benchmarks.chaos [--short | --long] [--seconds S] [--out FILE] [ROW ...]

--short, the default, runs some cases of each row, in at most three minutes on a busy core. --long runs all cases, which
takes hours. It writes a line for each finished case to FILE (out/chaos.jsonl), resumes an interrupted run, and updates
the table of docs/evidence/reliability.md. The exit code is 1 if any fault was found. Linux only.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.chaos.accidents import ACCIDENTS
from benchmarks.chaos.databases import DATABASES
from benchmarks.chaos.environment import ENVIRONMENT
from benchmarks.chaos.forgeries import FORGERIES
from benchmarks.chaos.kills import KILLS
from benchmarks.chaos.objectives import OBJECTIVES
from benchmarks.chaos.outages import OUTAGES
from benchmarks.chaos.report import PAGE, count_faults, format_table, write_page
from benchmarks.chaos.results import ROOT, Result, read_results, take_cases
from benchmarks.chaos.resumes import RESUMES
from benchmarks.chaos.spaces import SPACES
from benchmarks.chaos.writers import WRITERS

ROWS = {
    row.name: row
    for row in (KILLS, WRITERS, DATABASES, OUTAGES, RESUMES, ACCIDENTS, FORGERIES, OBJECTIVES, SPACES, ENVIRONMENT)
}


def main(arguments: Sequence[str] | None = None, page: Path = PAGE) -> int:
    """Run the cases, and return 0 if no fault was found, otherwise 1."""
    given = _parse(arguments)
    form = "long" if given.long else "short"
    file = given.out or (ROOT / "out" / "chaos.jsonl" if given.long else None)
    results = read_results(file)
    rows = [ROWS[name] for name in given.rows or ROWS]
    for row in rows:
        if (why := row.why_not()) is not None:
            print(f"{row.name}: skipped: {why}", flush=True)
            continue
        cases = row.cases if given.long else row.short
        for result in take_cases(row, cases, results, file, given.seconds):
            results.append(result)
            _print_faults(result)
    if file is not None:
        results = read_results(file)  # other processes may have run other rows meanwhile
    shown = list(ROWS.values()) if given.long else rows
    print(table := format_table(shown, results, form))
    if given.long:
        write_page(page, table, sorted({result["revision"] for result in results}))
    return 1 if count_faults(shown, results) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description="stress tests of studies")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--short", action="store_true", help="some cases of each row, the default")
    forms.add_argument("--long", action="store_true", help="all cases; updates docs/evidence/reliability.md")
    parser.add_argument("--seconds", type=float, default=math.inf, help="time of each row after which no case starts")
    parser.add_argument("--out", type=Path, help="JSON line for each finished case; cases in it are not run again")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"any of {', '.join(ROWS)}; all by default")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.rows if name not in ROWS]:
        parser.error(f"expected some of {', '.join(ROWS)}; got {', '.join(unknown)}")
    return given


def _print_faults(result: Result) -> None:
    for kind, found in result["faults"].items():
        for text in found:
            print(f"{result['row']}, case {result['case']}: {kind}: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
