"""Architectures as Graphviz drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.checks import optional_import
from bostruct.contracts import MissingExtra

if TYPE_CHECKING:
    from bostruct.domains.architecture.value import Architecture

COLORS = {"input": "#f2c9d4", "output": "#f2c9d4", "decision": "#cfe8cf"}
GROUP_COLORS = {"pool": "#dfe7f5", "fc": "#f6e5c3"}


def layer_color(x: Architecture, u: int) -> str:
    """Ends and decision layers as in the paper's figures; pools and fully connected layers tinted."""
    label = x.family.by_name[x.layers[u].label]
    return COLORS.get(label.role) or GROUP_COLORS.get(label.group or "", "#ffffff")


def dot_source(x: Architecture) -> str:
    """One box a layer, from the input at the top."""
    lines = ["digraph architecture {", '  node [shape=box, style="filled,rounded", fontname="Helvetica"];']
    for u, layer in enumerate(x.layers):
        text = f"{u}: {layer}".replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  {u} [label="{text}", fillcolor="{layer_color(x, u)}"];')
    lines += [f"  {u} -> {v};" for u, v in x.edges]
    return "\n".join([*lines, "}", ""])


def rendered_svg(dot: str) -> str:
    """Graphviz source as SVG; raises MissingExtra without python-graphviz or the program ``dot`` that it runs."""
    graphviz = optional_import("graphviz", "plot")
    try:
        return graphviz.Source(dot).pipe(format="svg", encoding="utf-8")
    except graphviz.ExecutableNotFound as error:
        raise MissingExtra("drawing needs the Graphviz program 'dot' on the path: see graphviz.org/download") from error
