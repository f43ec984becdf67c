"""Display of values: their HTML in a notebook, figures that appear below a cell, and drawings of graphs by Graphviz."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import Any

from bostruct.checks import optional_import, short_repr
from bostruct.contracts import MissingExtra

STYLE = (  # by default, notebooks align cells right and middle
    "<style>.bostruct th, .bostruct td {text-align: left; vertical-align: top} "
    ".bostruct td {white-space: pre-wrap}</style>"
)

VOID = ("meta", "img", "br", "link")  # elements without an end tag


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def new_axes(width: float, height: float, rows: int = 1, columns: int = 1) -> Any:
    """Make the axes of a new figure, or an array of them; raises MissingExtra without matplotlib.

    In a notebook, the figure belongs to pyplot, which shows it once and closes it when its cell ends. Elsewhere, it
    belongs only to the caller: no window opens, and nothing has to be closed.

    rows, columns: numbers of axes, at least 1; for several axes, an array (rows, columns) is returned.
    """
    optional_import("matplotlib", "plot")
    if is_notebook():
        make = optional_import("matplotlib.pyplot", "plot").figure
    else:
        make = optional_import("matplotlib.figure", "plot").Figure
    return make(figsize=(width, height), layout="constrained").subplots(rows, columns, squeeze=rows == columns == 1)


def in_full(value: object) -> str:
    """Format a point, or a part of it, completely, in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name!r}: {in_full(part)}" for name, part in value.items()) + "}"
    return repr(value) if isinstance(value, str) else str(value)  # str of an architecture or program is complete


def pluralize(n: int, noun: str) -> str:
    """Format a count with its noun: ``1 seed``, ``1,200 seeds``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def show_count(count: int) -> str:
    """Format a number of points or values, as a power of ten from 10^9 onward.

    count: at least 1.
    """
    return f"{count:,}" if count < 10**9 else f"about 10^{math.log10(count):.0f}"


def show_rules(count: int) -> str:
    """Format the number of constraints of a space, to follow its parts; "" for none."""
    return f", {count} constraint{'s' if count > 1 else ''}" if count else ""


def show_parts(parts: Mapping[str, object], rest: str = "", limit: int = 200) -> str:
    """Format the parts of a space in one line; if it is too long, the first parts and the number of the others."""
    shown = [f"{name!r}: {short_repr(part, limit)}" for name, part in parts.items()]
    ends = list(accumulate(len(one) + 2 for one in shown))
    n = len(shown) if ends[-1] <= limit else max(1, sum(end <= limit - len(", ... 9999 more") for end in ends))
    more = f", ... {len(shown) - n} more" if n < len(shown) else ""
    return f"Space({{{', '.join(shown[:n])}{more}}}{rest})"


def show_all_parts(parts: Mapping[str, object], rest: str = "", limit: int = 200) -> str:
    """Format all parts of a space, in one line, or in one line each if that is too long."""
    shown = [f"{name!r}: {part!r}" for name, part in parts.items()]
    if sum(len(one) + 2 for one in shown) <= limit:
        return f"Space({{{', '.join(shown)}}}{rest})"
    return "\n".join(["Space({", *(f"    {one}," for one in shown), f"}}{rest})"])


def printable(text: str) -> str:
    """Escape control and other invisible characters, so that none of them reaches a terminal."""
    return text if text.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def printable_lines(text: str) -> str:
    """Escape invisible characters, as `printable` does, but keep line breaks."""
    return "\n".join(map(printable, text.split("\n")))


class Html(str):
    """Text that is HTML already: `element` includes it unchanged, and escapes any other text."""


def element(tag: str, *children: object, **attributes: object) -> Html:
    """Return an HTML element with its content.

    attributes: values by name; in a name, ``_`` represents ``-``, and is removed at the end (``class_``). True is an
        attribute without a value; None and False omit the attribute.
    """
    given = {name: value for name, value in attributes.items() if value is not None and value is not False}
    named = [(name.rstrip("_").replace("_", "-"), value) for name, value in given.items()]
    shown = [f" {name}" if value is True else f' {name}="{_escape_html(value)}"' for name, value in named]
    inside = "".join(map(_escape_html, children))
    return Html(f"<{tag}{''.join(shown)}>{inside}" + ("" if tag in VOID else f"</{tag}>"))


def _escape_html(value: object) -> str:
    if isinstance(value, Html):
        return value
    text = str(value)
    return escape(text if text.isprintable() else printable_lines(text))


def html_table(rows: Iterable[Sequence[object]], header: Sequence[str] = (), caption: str = "") -> str:
    """Format rows as an HTML table."""
    top = element("caption", caption) if caption else ""
    head = element("thead", element("tr", *(element("th", name) for name in header))) if header else ""
    return Html(STYLE) + element("table", top, head, _body(rows), class_="bostruct")


def _body(rows: Iterable[Sequence[object]]) -> Html:
    lines = (
        element("tr", element("th", name), *(element("td", _cell(value)) for value in values)) for name, *values in rows
    )
    return element("tbody", *lines)


def _cell(value: object) -> object:
    if isinstance(value, Mapping):
        parts = {name: part if isinstance(part, Mapping) else in_full(part) for name, part in value.items()}
        return element("table", _body(parts.items()))
    return value


def render_svg(dot: str) -> str:
    """Render a drawing in Graphviz's language as SVG.

    Raises MissingExtra without python-graphviz (the extra ``plot``) or the program ``dot`` that it runs.
    """
    graphviz = optional_import("graphviz", "plot")
    try:
        return graphviz.Source(dot).pipe(format="svg", encoding="utf-8")
    except graphviz.ExecutableNotFound as error:
        raise MissingExtra("drawing needs the Graphviz program 'dot' on the path: see graphviz.org/download") from error
