"""The table of all rows in Markdown, and its place in the docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.chaos.results import ROOT, Result
from benchmarks.chaos.row import Row
from benchmarks.speed.__main__ import machine, put_between

PAGE = ROOT / "docs" / "evidence" / "reliability.md"


def format_table(rows: Sequence[Row], results: Sequence[Result], form: str) -> str:
    """Return the table: what was tried, how often, the faults of each kind, and the CPU time.

    rows: the rows to show.
    results: the results of their cases.
    form: "short" or "long", which determines the number of cases.
    """
    lines = ["| what | cases taken | must be 0, and was | also counted | CPU |", "|---|---|---|---|---|"]
    for row in rows:
        own = latest_of(row, results)
        cases = row.short if form == "short" else row.cases
        taken = len(own.keys() & set(cases)) * row.per_case
        lines.append(
            f"| {row.what} | {taken:,} of {len(cases) * row.per_case:,} | {_format_faults(row, list(own.values()))} | "
            f"{_format_counts(list(own.values()))} | {sum(one['seconds'] for one in own.values()) / 60:.1f} min |"
        )
    return "\n".join(lines)


def latest_of(row: Row, results: Sequence[Result]) -> dict[str, Result]:
    """Return the last result of each case of a row, by case."""
    return {result["case"]: result for result in results if result["row"] == row.name}


def count_faults(rows: Sequence[Row], results: Sequence[Result]) -> int:
    """Return the number of faults of all kinds."""
    own = (one for row in rows for one in latest_of(row, results).values())
    return sum(len(found) for one in own for found in one["faults"].values())


def _format_faults(row: Row, results: Sequence[Result]) -> str:
    counted = Counter({kind: 0 for kind in row.kinds})
    for result in results:
        counted.update({kind: len(found) for kind, found in result["faults"].items()})
    return ", ".join(
        f"{number:,} {kind}" if not number else f"**{number:,} {kind}**" for kind, number in counted.items()
    )


def _format_counts(results: Sequence[Result]) -> str:
    counted: Counter[str] = Counter()
    for result in results:
        counted.update(result["counts"])
    return ", ".join(f"{number:,} {kind}" for kind, number in counted.items())


def write_page(page: Path, table: str, revisions: Sequence[str]) -> None:
    """Put the table between its markers in a page; raise ValueError if the page has no markers.

    page: Markdown file.
    table: the result of `format_table`.
    revisions: revisions of the code that ran the cases.
    """
    source = f"Revisions: {', '.join(revisions)}. {machine()}"
    text = put_between(page.read_text(encoding="utf-8"), "chaos", f"{table}\n\n{source}")
    page.write_text(text, encoding="utf-8")
