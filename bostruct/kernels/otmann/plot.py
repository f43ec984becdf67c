"""Two architectures side by side, and the mass that OTMANN matches between their layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.checks import check_integer, short_repr
from bostruct.contracts import Array
from bostruct.display import new_axes
from bostruct.domains.architecture.drawing import draw_layers, layer_positions
from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.otmann.distance import otmann
from bostruct.kernels.otmann.settings import REFERENCE, Otmann

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDEST = 8.0  # line width, in points, of the heaviest match
GAP = 2.5  # between the two drawings, in columns of layers


def plot_transport(
    a: Architecture, b: Architecture, settings: Otmann = REFERENCE, weight: int = 0, axes: Axes | None = None
) -> Axes:
    """Draw two architectures, the input at the top, joined by lines as wide as the mass that OTMANN matches.

    A layer without matched mass has a dashed frame. Edges that skip layers are curved.

    Parameters
    ----------
    a, b : Architecture
        The architectures, of one family.
    settings : Otmann, default REFERENCE
        Settings of the distance.
    weight : int, default 0
        Position of the structural weight in `settings.weights`.
    axes : Axes, optional
        Matplotlib axes to draw on; None for new ones.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    MissingExtra
        If the extra ``plot`` is not installed.
    TypeError, ValueError
        If an argument is invalid.
    """
    if axes is not None and not callable(getattr(axes, "annotate", None)):
        raise TypeError(f"axes: expected axes of matplotlib, got {short_repr(axes)}")
    check_integer("weight", weight, 0, len(settings.weights) - 1)
    match = otmann(a, b, settings)
    plan = match.plan[weight]
    left, right = layer_positions(a), layer_positions(b)
    shift = 1.0 + GAP + max(x for x, _ in left) - min(x for x, _ in right)
    right = [(x + shift, y) for x, y in right]
    rows = max(len({y for _, y in places}) for places in (left, right))
    across = 4.0 + 1.6 * (right[-1][0] - left[0][0])
    canvas: Axes = new_axes(across, 1.0 + 0.6 * rows) if axes is None else axes
    for u, v in zip(*(places.tolist() for places in plan.nonzero()), strict=True):
        (x, y), (x2, y2) = left[u], right[v]
        width = WIDEST * float(plan[u, v]) / plan.max()
        canvas.plot([x, x2], [y, y2], color="#5b8db8", alpha=0.45, linewidth=max(width, 0.5), zorder=1)
    draw_layers(canvas, a, left, _layers_without_match(plan.sum(axis=1)))
    draw_layers(canvas, b, right, _layers_without_match(plan.sum(axis=0)))
    xs, ys = zip(*left, *right, strict=True)
    canvas.set_xlim(min(xs) - 1.0, max(xs) + 1.0)
    canvas.set_ylim(min(ys) - 0.7, max(ys) + 0.7)
    canvas.set_title(
        f"OTMANN {match.distance[weight]:.6g}, normalized {match.normalized[weight]:.4f}\n"
        f"structural weight {settings.weights[weight]:g}",
        fontsize=10,
    )
    canvas.set_axis_off()
    return canvas


def _layers_without_match(matched: Array) -> set[int]:
    return {u for u, mass in enumerate(matched.tolist()) if mass <= 1e-9 * (1.0 + matched.sum())}
