"""The table of all rows, as Markdown, and its place in the docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.chaos.results import ROOT, Result
from benchmarks.chaos.row import Row
from benchmarks.speed.__main__ import machine, put_between

PAGE = ROOT / "docs" / "evidence" / "reliability.md"


def format_table(rows: Sequence[Row], results: Sequence[Result], form: str) -> str:
    """Return the table: what was tried, how often, what must not be found and how often it was, and the CPU time.

    rows: all that are to be shown.
    results: of their cases.
    form: "short" or "long", of which the number of cases follows.
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
    """Return the results of a row by case, the last one where a case was taken again."""
    return {result["case"]: result for result in results if result["row"] == row.name}


def count_faults(rows: Sequence[Row], results: Sequence[Result]) -> int:
    """Return how many faults of all kinds there are."""
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
    """Put the table between its markers in a page; raise ValueError where it has none.

    page: Markdown.
    table: as of `format_table`.
    revisions: of the code, at which the cases were taken.
    """
    told = f"Revisions: {', '.join(revisions)}. {machine()}"
    text = put_between(page.read_text(encoding="utf-8"), "chaos", f"{table}\n\n{told}")
    page.write_text(text, encoding="utf-8")
