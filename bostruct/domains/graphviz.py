"""Draw with Graphviz, for any domain whose points or spaces are graphs."""

from __future__ import annotations

from bostruct.checks import optional_import
from bostruct.contracts import MissingExtra


def render_svg(dot: str) -> str:
    """Render a drawing in Graphviz's language as SVG.

    Raises MissingExtra without python-graphviz (the extra ``plot``) or the program ``dot`` that it runs.
    """
    graphviz = optional_import("graphviz", "plot")
    try:
        return graphviz.Source(dot).pipe(format="svg", encoding="utf-8")
    except graphviz.ExecutableNotFound as error:
        raise MissingExtra("drawing needs the Graphviz program 'dot' on the path: see graphviz.org/download") from error
