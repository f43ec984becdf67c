"""How values look in a notebook: their HTML, and figures that appear below a cell."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from bostruct.checks import optional_import

LEFT = ' style="text-align: left; vertical-align: top"'  # notebooks align cells to the right
WRAPPED = ' style="text-align: left; vertical-align: top; white-space: pre-wrap"'


def is_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def new_axes(width: float, height: float) -> Any:
    """Make the axes of a new figure of this size in inches; raises MissingExtra without matplotlib.

    In a notebook the figure is pyplot's, whose figures are shown once and closed when their cell ends. Elsewhere it
    belongs to the caller alone: no window opens, and nothing has to be closed.
    """
    optional_import("matplotlib", "plot")
    if is_notebook():
        make = optional_import("matplotlib.pyplot", "plot").figure
    else:
        make = optional_import("matplotlib.figure", "plot").Figure
    return make(figsize=(width, height), layout="constrained").subplots()


def in_full(value: Any) -> str:
    """Write a point, or a part of it, in one line that leaves nothing out."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name!r}: {in_full(part)}" for name, part in value.items()) + "}"
    return repr(value) if isinstance(value, str) else str(value)  # str of architectures and programs is all of them


def html_table(rows: Iterable[Sequence[Any]], header: Sequence[str] = (), caption: str = "") -> str:
    """Write rows as an HTML table. The first cell of a row is its name; a mapping becomes a table in its cell."""
    top = f"<caption{LEFT}>{escape(caption)}</caption>" if caption else ""
    names = "".join(f"<th{LEFT}>{escape(name)}</th>" for name in header)
    head = f"<thead><tr>{names}</tr></thead>" if header else ""
    return f"<table>{top}{head}<tbody>{''.join(map(_row, rows))}</tbody></table>"


def _row(cells: Sequence[Any]) -> str:
    name, *values = cells
    return (
        f"<tr><th{LEFT}>{escape(str(name))}</th>{''.join(f'<td{WRAPPED}>{_cell(value)}</td>' for value in values)}</tr>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return html_table((name, part if isinstance(part, Mapping) else in_full(part)) for name, part in value.items())
    return escape(str(value))
