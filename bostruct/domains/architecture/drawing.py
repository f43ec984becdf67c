"""Draw architectures on matplotlib axes, without any other program."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from bostruct.checks import optional_import, short_repr
from bostruct.display import new_axes
from bostruct.domains.architecture.value import Architecture, layer_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_architecture(architecture: Architecture, axes: Axes | None = None) -> Axes:
    """Draw an architecture with matplotlib, the input at the top.

    Parameters
    ----------
    architecture : Architecture
        The architecture.
    axes : matplotlib Axes, optional
        Axes to draw on. By default, axes of a new figure.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed (extra ``plot``).
    TypeError
        If an argument is invalid.
    """
    if not isinstance(architecture, Architecture):
        raise TypeError(f"architecture: expected an Architecture, got {short_repr(architecture)}")
    if axes is not None and not callable(getattr(axes, "annotate", None)):
        raise TypeError(f"axes: expected axes of matplotlib, got {short_repr(axes)}")
    places = layer_positions(architecture)
    xs, ys = zip(*places, strict=True)
    canvas: Axes = new_axes(1.8 + 1.6 * (max(xs) - min(xs)), 0.55 * (1.0 - min(ys))) if axes is None else axes
    draw_layers(canvas, architecture, places)
    canvas.set_xlim(min(xs) - 0.56, max(xs) + 0.56)
    canvas.set_ylim(min(ys) - 0.5, max(ys) + 0.5)
    canvas.set_axis_off()
    return canvas


def draw_svg(architecture: Architecture) -> str:
    """Draw an architecture as SVG, the same every time; raise MissingExtra without the extra ``plot``."""
    mpl, figures = optional_import("matplotlib", "plot"), optional_import("matplotlib.figure", "plot")
    places = layer_positions(architecture)
    xs, ys = zip(*places, strict=True)
    text = StringIO()
    with mpl.rc_context({"svg.hashsalt": "bostruct", "svg.fonttype": "none"}):
        figure = figures.Figure((2.0 + 1.6 * (max(xs) - min(xs)), 0.7 + 0.5 * -min(ys)), layout="constrained")
        plot_architecture(architecture, figure.subplots())
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def layer_positions(x: Architecture) -> list[tuple[float, float]]:
    """Place each layer at the depth of its longest path from the input; center the layers of each depth."""
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
    axes: Axes, x: Architecture, places: Sequence[tuple[float, float]], dashed: Collection[int] = ()
) -> None:
    """Draw boxes at these places, and arrows between them."""
    for u, v in x.edges:
        passes = places[u][1] - places[v][1] > 1.5  # there are depths in between
        bent = "arc3,rad=-0.35" if passes else "arc3"
        arrow = {"arrowstyle": "->", "color": "#888888", "shrinkA": 8, "shrinkB": 8, "connectionstyle": bent}
        axes.annotate("", places[v], places[u], arrowprops=arrow, zorder=2, annotation_clip=False)
    for u, layer in enumerate(x.layers):
        style = "--" if u in dashed else "-"
        box = {"boxstyle": "round", "facecolor": layer_color(x.family.by_name[x.layers[u].label]), "linestyle": style}
        axes.text(*places[u], str(layer), ha="center", va="center", fontsize=8, bbox=box, zorder=3)
