"""The table of a comparison as text, with no more digits than standard errors allow."""

from __future__ import annotations

from collections.abc import Sequence

from bostruct.analysis.tables import format_measured, format_number
from bostruct.comparison.statistics import MethodRow


def table_of(rows: Sequence[MethodRow], merit: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the head of the table and its rows; columns without any number are left away.

    rows: a row a method, the first that of the method that others are compared with.
    merit: name of the figure of merit.
    """
    first = rows[0].method if rows else "first"
    header = (
        "method",
        "runs",
        "feasible",
        f"{merit} (± s.e.)",
        f"difference to {first}",
        "95 % interval",
        "p (Holm)",
        "pairs",
        "regret",
        "optima",
        "s/suggestion",
        "CPU s/suggestion",
        "reported (± s.e.)",
    )
    timed = any(row.cpu_seconds is not None for row in rows)  # the clock of a busy machine says less
    cells = [_format_row(row._replace(seconds=None) if timed else row) for row in rows]
    if all(row.feasible == row.runs for row in rows):
        cells = [(*row[:2], "-", *row[3:]) for row in cells]
    optional = ("feasible", *header[8:])
    kept = [
        column for column, name in enumerate(header) if name not in optional or any(row[column] != "-" for row in cells)
    ]
    return tuple(header[column] for column in kept), [tuple(row[column] for column in kept) for row in cells]


def _format_row(row: MethodRow) -> tuple[str, ...]:
    difference, _ = format_measured(row.difference, row.difference_error)
    low, _ = format_measured(row.low, row.difference_error)
    high, _ = format_measured(row.high, row.difference_error)
    return (
        row.method,
        str(row.runs),
        f"{row.feasible} of {row.runs}",
        _with_error(row.mean, row.error),
        difference,
        "-" if low == "-" else f"{low} to {high}",
        "-" if row.p_holm is None else ("< 0.001" if row.p_holm < 0.001 else f"{row.p_holm:.3f}"),
        str(row.pairs) if row.pairs else "-",
        format_measured(row.regret, row.error)[0],
        "-" if row.optima is None else str(row.optima),
        format_number(row.seconds, 2),
        format_number(row.cpu_seconds, 2),
        _with_error(row.reported, row.reported_error),
    )


def _with_error(value: float | None, error: float | None) -> str:
    shown, its_error = format_measured(value, error)
    return shown if its_error == "-" else f"{shown} ± {its_error}"


def describe_rows(rows: Sequence[MethodRow]) -> str:
    """Explain the columns of differences and of feasible runs in a line; nothing where there are none.

    rows: of the table.
    """
    said = []
    if any(row.pairs > 1 for row in rows):
        said.append(
            f"Differences to {rows[0].method} are means over pairs of runs with the same seed and initial points, with "
            "Student's 95 % interval; p is corrected for the number of methods (Holm)."
        )
    if any(row.feasible < row.runs for row in rows):
        said.append(
            "Means are over the feasible runs alone, which found a point that keeps all limits; there is no difference "
            "where a run of a pair is not feasible."
        )
    return " ".join(said)
