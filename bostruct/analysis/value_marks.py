"""Marks of values: dots, triangles at the border for what lies beyond the axis, and a label where one is seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bostruct.analysis.value_axis import is_beyond
from bostruct.contracts import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

UPPER, LOWER = 0.955, 0.045  # shares of the height at which triangles stand


class ValueMark(NamedTuple):
    """The mark of some values.

    label: of the legend.
    color: as ``#rrggbb``.
    marker: as matplotlib takes it.
    size: in square points.
    is_hollow: True for a mark without a filling.
    """

    label: str
    color: str
    marker: str = "o"
    size: float = 18.0
    is_hollow: bool = False


def mark_values(axes: Axes, at: Array, values: Array, mark: ValueMark) -> int:
    """Mark values, those beyond the axis by triangles at its border, and return how many lie beyond.

    The legend shows a mark that is in the picture: the dot, or a triangle where all values lie beyond.

    axes: of the picture, the limits of its values set.
    at: places on the x axis (n,).
    values: (n,).
    mark: of all of them.
    """
    if not len(values):
        return 0
    outside = is_beyond(axes, values)
    marks = [axes.scatter(at, values, s=mark.size, marker=mark.marker)]
    for is_out, height, triangle in (
        (outside & (values > axes.get_ylim()[1]), UPPER, "^"),
        (outside & (values < axes.get_ylim()[0]), LOWER, "v"),
    ):
        if is_out.any():
            marks.append(mark_border(axes, at[is_out].tolist(), height, 16, [mark.color], triangle))
    for drawn in marks:
        _set_look(drawn, mark)
    marks[1 if outside.all() else 0].set_label(mark.label)
    return int(outside.sum())


def _set_look(drawn: PathCollection, mark: ValueMark) -> None:
    if mark.is_hollow:
        drawn.set(facecolor="none", edgecolor=mark.color, linewidth=1.0, zorder=1)
    elif mark.marker == "_":  # a line has no filling
        drawn.set(color=mark.color, linewidth=1.6, zorder=2)
    else:
        drawn.set(color=mark.color, alpha=0.85, linewidth=0, zorder=2)


def mark_border(
    axes: Axes, at: Sequence[float], height: float, size: float, colors: list[str], marker: str
) -> PathCollection:
    """Draw marks at a share of the axes' height, which no value decides, and return them.

    axes: of the picture.
    at: places on the x axis.
    height: share from the lower end, in [0, 1].
    size: in square points.
    colors: one for each mark, or one for all.
    marker: as matplotlib takes it.
    """
    place = axes.get_xaxis_transform()
    return axes.scatter(at, np.full(len(at), height), s=size, color=colors, marker=marker, transform=place, zorder=2)
