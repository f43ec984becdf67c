"""Text for people and JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import click

Facts: TypeAlias = dict[str, Any]  # what a command prints, as JSON or in the rows of a table
SPARK_BLOCKS = "▁▂▃▄▅▆▇█"


def echo_json(data: object) -> None:
    """Print one object as JSON; values that JSON has no word for as null or as text.

    data: dicts, lists and what JSON holds; numbers that are not finite become null.
    """
    from bostruct.serving.json_lines import replace_nonfinite  # here: no help needs it

    click.echo(json.dumps(replace_nonfinite(data), indent=2, default=str, ensure_ascii=False, allow_nan=False))


def format_pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Write names and texts, a line each, aligned.

    rows: (name, text), at least one.
    """
    from bostruct.display import printable  # here: it brings numpy, which no help needs

    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {printable(text)}".rstrip() for name, text in rows)


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
