"""Labels beside points of a picture, each where it covers the fewest other points and the least of a line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bostruct.analysis.picture_style import GRAY, INK
from bostruct.checks import optional_import
from bostruct.contracts import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox


class _Place(NamedTuple):
    """A place of a label: how far from its point, in points, and which side of the label is there."""

    x: float
    y: float
    across: str
    up: str


BESIDE = (
    _Place(6.0, 6.0, "left", "bottom"),
    _Place(-6.0, 6.0, "right", "bottom"),
    _Place(6.0, -6.0, "left", "top"),
    _Place(-6.0, -6.0, "right", "top"),
    _Place(8.0, 0.0, "left", "center"),
    _Place(-8.0, 0.0, "right", "center"),
    _Place(0.0, 8.0, "center", "bottom"),
    _Place(0.0, -8.0, "center", "top"),
)
FARTHER = tuple(place._replace(x=2.5 * place.x, y=2.5 * place.y) for place in BESIDE)  # with a line to the point
STEP = 3.0  # points between the places on a line that a label may cover
COST_OF_LINE, COST_OF_BORDER, COST_OF_LABEL = 0.3, 3.0, 6.0  # of such a place, of leaving the axes; a dot costs 1
COST_OF_DISTANCE, COST_OF_RANK = 0.5, 0.01
ROOM = 3.0  # points around a label: half the width of a dot


def label_points(axes: Axes, labels: Sequence[tuple[str, float, float]], dots: Array, line: Array) -> None:
    """Write labels beside points on a white halo, where they cover the fewest dots and the least of a line.

    axes: of the picture, whose limits, titles and legend are set; its figure is laid out, where that is automatic.
    labels: texts, and the places of their points.
    dots: places of all points (n, 2).
    line: places of its corners (m, 2), m from 0.
    """
    root: Any = axes.figure.canvas.figure  # of which the axes may have a part
    if (engine := root.get_layout_engine()) is not None:
        engine.execute(root)
    point = axes.figure.dpi / 72.0
    covered = axes.transData.transform(np.reshape(dots, (-1, 2)))
    crossed = _walk_line(axes.transData.transform(np.reshape(line, (-1, 2))), STEP * point)
    taken: list[Bbox] = []
    for text, x, y in labels:
        boxes, costs = [], []
        for rank, place in enumerate((*BESIDE, *FARTHER)):
            label = _write(axes, text, (x, y), place)
            box = label.get_window_extent()
            label.remove()
            room = box.padded(ROOM * point)
            is_out = not (axes.bbox.contains(box.x0, box.y0) and axes.bbox.contains(box.x1, box.y1))
            cost = _count_inside(room, covered) + COST_OF_LINE * _count_inside(room, crossed)
            cost += COST_OF_BORDER * is_out + COST_OF_LABEL * sum(box.overlaps(other) for other in taken)
            costs.append(cost + COST_OF_DISTANCE * (place in FARTHER) + COST_OF_RANK * rank)
            boxes.append(box)
        best = int(np.argmin(costs))
        label = _write(axes, text, (x, y), (*BESIDE, *FARTHER)[best], has_line=best >= len(BESIDE))
        _add_halo(label)
        taken.append(boxes[best])


def _write(axes: Axes, text: str, point: tuple[float, float], place: _Place, *, has_line: bool = False) -> Annotation:
    """Write a label at a place beside a point, and return it."""
    line: dict[str, Any] = {"arrowstyle": "-", "color": GRAY, "linewidth": 0.8, "shrinkA": 0.0, "shrinkB": 4.0}
    return axes.annotate(
        text,
        point,
        (place.x, place.y),
        textcoords="offset points",
        fontsize=9,
        color=INK,
        ha=place.across,
        va=place.up,
        arrowprops=line if has_line else None,
        zorder=6,
    )


def _add_halo(label: Annotation) -> None:
    """Put a white edge around the letters."""
    patheffects = optional_import("matplotlib.patheffects", "plot")
    label.set_path_effects([patheffects.withStroke(linewidth=2.5, foreground="white")])


def _count_inside(box: Bbox, places: Array) -> int:
    """Count the places in a box."""
    return int(np.sum((places >= (box.x0, box.y0)).all(axis=1) & (places <= (box.x1, box.y1)).all(axis=1)))


def _walk_line(corners: Array, step: float) -> Array:
    """Return places on a line, at most a step apart (n, 2)."""
    pieces = [
        np.linspace(start, end, max(2, int(np.hypot(*(end - start)) / step) + 1)) for start, end in pairwise(corners)
    ]
    return np.concatenate(pieces) if pieces else np.empty((0, 2))
