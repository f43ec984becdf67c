"""Text for people and JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import click

Facts: TypeAlias = dict[str, Any]  # what a command prints, as JSON or in the rows of a table
SPARK_BLOCKS = "▁▂▃▄▅▆▇█"


def echo_json(data: object) -> None:
    """Print one object as JSON; values that JSON has no word for as null or as text.

    data: dicts, lists and what JSON holds; numbers that are not finite become null.
    """
    click.echo(json.dumps(_replace_nonfinite(data), indent=2, default=str, ensure_ascii=False, allow_nan=False))


def _replace_nonfinite(data: object) -> object:
    if isinstance(data, dict):
        return {str(key): _replace_nonfinite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_replace_nonfinite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def format_number(value: float | None, digits: int = 6) -> str:
    """Write a number in short; a dash for what is not there.

    value: None and what is not finite are not there.
    digits: significant ones, at least 1.
    """
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def pluralize(n: int, noun: str) -> str:
    """Write a count with its noun: ``1 seed``, ``5 seeds``.

    n: the count.
    noun: in the singular, whose plural ends in s.
    """
    return f"{n} {noun}{'' if n == 1 else 's'}"


def format_pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Write names and texts, a line each, aligned.

    rows: (name, text), at least one.
    """
    from bostruct.display import printable  # here: it brings numpy, which no help needs

    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {printable(text)}".rstrip() for name, text in rows)


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align columns: the first and those with letters to the left, numbers to the right.

    header: a title for each column.
    rows: a cell for each column.
    """
    from bostruct.display import printable  # here: it brings numpy, which no help needs

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
    """Write header and rows as a Markdown table.

    header: a title for each column.
    rows: a cell for each column.
    """
    from bostruct.display import printable  # here: it brings numpy, which no help needs

    lines = [header, ["---"] * len(header), *([printable(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _is_numeric(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell == "-"
    return True


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Draw a curve in one line, lowest block to highest; at most `width` characters, empty for no values.

    values: heights, finite.
    width: the most characters, at least 1; longer curves show the last value of each stretch.
    """
    if not values:
        return ""
    shown = list(values)
    if len(shown) > width:
        shown = [shown[(i + 1) * len(shown) // width - 1] for i in range(width)]
    low, high = min(shown), max(shown)
    scale = (len(SPARK_BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(SPARK_BLOCKS[round((value - low) * scale)] for value in shown)
