"""Display of values in a notebook: their HTML, and figures that appear below a cell."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from bostruct.checks import optional_import

STYLE = (  # notebooks align cells to the right, and in the middle
    "<style>.bostruct th, .bostruct td {text-align: left; vertical-align: top} "
    ".bostruct td {white-space: pre-wrap}</style>"
)


def is_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def new_axes(width: float, height: float, rows: int = 1, columns: int = 1) -> Any:
    """Make the axes of a new figure, or an array of them; raises MissingExtra without matplotlib.

    In a notebook the figure is pyplot's, whose figures are shown once and closed when their cell ends. Elsewhere it
    belongs to the caller alone: no window opens, and nothing has to be closed.

    width, height: of the figure, in inches.
    rows, columns: of axes, at least 1; of more than one in all, an array (rows, columns) is returned.
    """
    optional_import("matplotlib", "plot")
    if is_notebook():
        make = optional_import("matplotlib.pyplot", "plot").figure
    else:
        make = optional_import("matplotlib.figure", "plot").Figure
    return make(figsize=(width, height), layout="constrained").subplots(rows, columns, squeeze=rows == columns == 1)


def in_full(value: object) -> str:
    """Write a point, or a part of it, in one line that leaves nothing out.

    value: the point, as the user sees it.
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name!r}: {in_full(part)}" for name, part in value.items()) + "}"
    return repr(value) if isinstance(value, str) else str(value)  # str of architectures and programs is all of them


def printable(text: str) -> str:
    """Write control and other invisible characters as escapes, so that none of them reaches a terminal.

    text: of anybody, such as the name of a study or the reason of a failure.
    """
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def html_table(rows: Iterable[Sequence[object]], header: Sequence[str] = (), caption: str = "") -> str:
    """Write rows as an HTML table.

    rows: sequences of cells; the first cell of a row is its name, and a mapping becomes a table in its cell.
    header: names of the columns; empty for none.
    caption: above the table; empty for none.
    """
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = f"<thead><tr>{''.join(f'<th>{escape(name)}</th>' for name in header)}</tr></thead>" if header else ""
    return f'{STYLE}<table class="bostruct">{top}{head}{_body(rows)}</table>'


def _body(rows: Iterable[Sequence[object]]) -> str:
    lines = (
        f"<tr><th>{escape(str(name))}</th>{''.join(f'<td>{_cell(value)}</td>' for value in values)}</tr>"
        for name, *values in rows
    )
    return f"<tbody>{''.join(lines)}</tbody>"


def _cell(value: object) -> str:
    if isinstance(value, Mapping):
        parts = {name: part if isinstance(part, Mapping) else in_full(part) for name, part in value.items()}
        return f"<table>{_body(parts.items())}</table>"
    return escape(str(value))
