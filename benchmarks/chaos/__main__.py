"""Put studies under fire, and print what was tried and what broke.

    python -m benchmarks.chaos [--short | --long] [--seconds S] [--out FILE] [ROW ...]

--short, the default, takes some cases of each row, within three minutes on a busy core. --long takes all of them, for
hours. It keeps a line for each finished case in FILE (out/chaos.jsonl), goes on where it was ended, and renews the
table of docs/evidence/reliability.md. The exit code is 1 where anything was found that must not be. Linux only.
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
    """Return 0 where nothing was found that must not be, else 1."""
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
        results = read_results(file)  # others may have run other rows meanwhile
    shown = list(ROWS.values()) if given.long else rows
    print(table := format_table(shown, results, form))
    if given.long:
        write_page(page, table, sorted({result["revision"] for result in results}))
    return 1 if count_faults(shown, results) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description="studies under fire")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--short", action="store_true", help="some cases of each row, the default")
    forms.add_argument("--long", action="store_true", help="all cases; renews docs/evidence/reliability.md")
    parser.add_argument("--seconds", type=float, default=math.inf, help="for each row, after which no case begins")
    parser.add_argument("--out", type=Path, help="a JSON line for each finished case; what it holds is not taken again")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all by default")
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
