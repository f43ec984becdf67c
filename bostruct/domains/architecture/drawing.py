"""Architectures as drawings: in Graphviz's language, and on axes of matplotlib, which need no other program."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from bostruct.checks import optional_import, shown
from bostruct.contracts import MissingExtra
from bostruct.display import new_axes

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


def plot_architecture(architecture: Architecture, axes: Any = None) -> Any:
    """Draw an architecture, the input at the top; returns the axes. axes: of matplotlib, by default new ones.

    Edges that pass layers by are bent. Raises MissingExtra without the extra ``plot``, TypeError.
    """
    if not callable(getattr(architecture, "to_dot", None)) or not hasattr(architecture, "layers"):
        raise TypeError(f"architecture: expected an Architecture, got {shown(architecture)}")
    if axes is not None and not callable(getattr(axes, "annotate", None)):
        raise TypeError(f"axes: expected axes of matplotlib, got {shown(axes)}")
    places = layer_places(architecture)
    xs, ys = zip(*places, strict=True)
    if axes is None:
        axes = new_axes(2.5 + 1.6 * (max(xs) - min(xs)), 1.0 + 0.55 * (1.0 - min(ys)))
    draw_layers(axes, architecture, places)
    axes.set_xlim(min(xs) - 1.0, max(xs) + 1.0)
    axes.set_ylim(min(ys) - 0.7, max(ys) + 0.7)
    axes.set_axis_off()
    return axes


def layer_places(x: Architecture) -> list[tuple[float, float]]:
    """Layers at the depth of their longest path from the input, those of one depth beside each other, centered."""
    depth: list[int] = []
    for above in x.parents:
        depth.append(1 + max(depth[u] for u in above) if above else 0)
    taken = [0] * (max(depth) + 1)
    columns = []
    for d in depth:
        columns.append(taken[d])
        taken[d] += 1
    return [(column - (taken[d] - 1) / 2, -float(d)) for column, d in zip(columns, depth, strict=True)]


def draw_layers(
    axes: Any, x: Architecture, places: Sequence[tuple[float, float]], dashed: Collection[int] = ()
) -> None:
    """Boxes at these places, arrows between them; dashed: layers with a dashed frame."""
    for u, v in x.edges:
        passes = places[u][1] - places[v][1] > 1.5  # depths that lie between
        bent = "arc3,rad=-0.35" if passes else "arc3"
        arrow = {"arrowstyle": "->", "color": "#888888", "shrinkA": 8, "shrinkB": 8, "connectionstyle": bent}
        axes.annotate("", places[v], places[u], arrowprops=arrow, zorder=2, annotation_clip=False)
    for u, layer in enumerate(x.layers):
        style = "--" if u in dashed else "-"
        box = {"boxstyle": "round", "facecolor": layer_color(x, u), "linestyle": style}
        axes.text(*places[u], str(layer), ha="center", va="center", fontsize=8, bbox=box, zorder=3)
