"""Tables and numbers as text, in monospace and in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence


def format_number(value: float | None, digits: int = 6) -> str:
    """Return a short text of a number; a dash for None and non-finite numbers.

    digits: number of significant digits, at least 1.
    """
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def format_measured(value: float | None, error: float | None) -> tuple[str, str]:
    """Return the texts of a number with as many digits as its standard error allows, and of the error with two.

    value: the number; None and non-finite numbers become a dash.
    error: standard error, at least 0; if it is None, 0 or not finite, the number has six significant digits.
    """
    if value is None or not math.isfinite(value):
        return "-", "-"
    if error is None or not math.isfinite(error):
        return format_number(value), "-"
    if not error:
        return format_number(value), "0"
    decimals = 1 - math.floor(math.log10(float(f"{error:.1e}")))
    if decimals > 8:
        return format_number(value), f"{error:.2g}"
    shown = (f"{round(number, decimals):.{max(decimals, 0)}f}" for number in (value, error))
    return next(shown), next(shown)


def format_corner(corner: Sequence[float], digits: int = 6) -> str:
    """Return the reference point of a hypervolume as text: ``up to the corner (0, 554)``.

    digits: number of significant digits, at least 1.
    """
    return f"up to the corner ({', '.join(format_number(number, digits) for number in corner)})"


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned table: columns of text to the left, columns of numbers to the right."""
    from bostruct.display import printable  # local: it imports numpy, which the help of a command does not need

    rows = [[printable(cell) for cell in row] for row in rows]
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(_is_numeric(cell) for cell in column[1:]) for column in columns]
    lines = []
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [f"{c:>{w}}" if r else f"{c:<{w}}" for c, w, r in zip(row, widths, right, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def format_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return header and rows as a Markdown table."""
    from bostruct.display import printable  # local: it imports numpy, which the help of a command does not need

    lines = [header, ["---"] * len(header), *([printable(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _is_numeric(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell == "-"
    return True
