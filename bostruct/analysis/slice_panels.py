"""A panel of the picture of slices: trials against one variable, and what the model expects along it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bostruct.analysis.picture_style import BEGINNING, BLUE, GRAY, INK, ORANGE, shorten_label
from bostruct.analysis.point_columns import PointColumn
from bostruct.analysis.value_labels import label_values
from bostruct.analysis.value_marks import ValueMark, mark_values
from bostruct.checks import optional_import
from bostruct.contracts import Array
from bostruct.study.history import Trial
from bostruct.study.predictions import HALF_WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MOST_TICKS = 7  # numbers that are named on an axis of integers, or one by one on a logarithmic one
LEAST_APART = 8  # such a share of a logarithmic axis between two numbers that are named
MOST_LETTERS = 12  # of a category
LETTER = 5.0  # points that a letter takes below an axis
LINE = 10.0  # points that a line of letters takes
STEEP = 1.5  # lines apart, below which slanted labels overlap
GOLDEN = 0.6180339887498949  # multiples of it spread evenly: jitter that is the same every time
INITIAL, CHOSEN = ValueMark("initial", "#999999", "s", 16.0), ValueMark("chosen by the method", BLUE, size=16.0)
BROKEN = ValueMark("breaks a limit", GRAY, size=16.0, is_hollow=True)


class Slice(NamedTuple):
    """The expectations of the model where one variable of the best point changes.

    places: on the axis of the variable (n,).
    mean, sd: of the values there (n,), NaN where the changed point is none of the space.
    """

    places: Array
    mean: Array
    sd: Array


def draw_panel(
    axes: Axes, column: PointColumn, trials: list[Trial], best: int | None, objective: int, found: Slice | None
) -> None:
    """Draw the trials, the best of them, and what the model expects through it; triangles stand for what lies beyond.

    axes: to draw on, the limits of its values set.
    column: the variable of the trials.
    trials: completed ones.
    best: position of the best of them; None where none keeps all limits.
    objective: to draw, its position from 0.
    found: what the model expects; None without a model.
    """
    values = np.array([trial.values[objective] for trial in trials])
    jitter = 0.28 * (2.0 * (np.arange(len(trials)) * GOLDEN % 1.0) - 1.0) if column.categories else 0.0
    places = column.places + jitter
    is_early = np.array([trial.origin in BEGINNING for trial in trials])
    is_kept = np.array([trial.is_feasible for trial in trials])
    if found is not None:
        _draw_slice(axes, column, found)
    is_dot = ~np.isnan(places)
    is_dot[[] if best is None else best] = False  # which is a star
    for own, mark in ((is_kept & is_early, INITIAL), (is_kept & ~is_early, CHOSEN), (~is_kept, BROKEN)):
        mark_values(axes, places[own & is_dot], values[own & is_dot], mark)
    if best is not None and not np.isnan(column.places[best]):
        at, value = column.places[best : best + 1], values[best : best + 1]
        axes.scatter(at, value, s=110, marker="*", color=INK, zorder=4, label="best")
    _name_places(axes, column)
    if lacking := int(np.isnan(column.places).sum()):
        axes.set_xlabel(f"{shorten_label(column.name)} ({lacking} trials lack it)", fontsize=9)


def put_slice_legend(panels: NDArray[np.object_]) -> None:
    """Explain the marks of all panels below them.

    panels: axes of one figure, as `plot_slices` drew on them.
    """
    named: dict[str, Any] = {}
    drawn: list[Axes] = panels.ravel().tolist()
    for panel in drawn:
        handles, labels = panel.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    where: dict[str, Any] = {"loc": "outside lower center", "ncols": len(named)}
    drawn[0].figure.legend(list(named.values()), list(named), frameon=False, fontsize=9, **where)


def _draw_slice(axes: Axes, column: PointColumn, found: Slice) -> None:
    low, high = found.mean - HALF_WIDTH * found.sd, found.mean + HALF_WIDTH * found.sd
    look: dict[str, Any] = {"color": ORANGE, "zorder": 3, "label": "model through the best, 95 %"}
    if column.categories:
        axes.errorbar(found.places, found.mean, HALF_WIDTH * found.sd, fmt="_", ms=16, lw=1.2, **look)
        return
    if (is_lacking := np.isnan(found.mean)).any() or column.choices:  # constraints, a list: no line between points
        at, mean, sd = (one[~is_lacking] for one in found)
        axes.errorbar(at, mean, HALF_WIDTH * sd, fmt="_", ms=10, lw=1.0, **look)
        return
    axes.fill_between(found.places, low, high, color=ORANGE, alpha=0.18, linewidth=0, zorder=1)
    axes.plot(found.places, found.mean, linewidth=1.4, **look)


def _name_places(axes: Axes, column: PointColumn) -> None:
    axes.set_xlabel(shorten_label(column.name), fontsize=9)
    axes.tick_params(labelsize=8)
    if column.categories:
        _name_categories(axes, label_values(column.categories, MOST_LETTERS))
    elif column.is_log:
        axes.set_xscale("log")
        seen = np.unique(column.places[~np.isnan(column.places)])
        if len(seen) <= MOST_TICKS and _are_apart(seen):
            axes.set_xticks(seen, [f"{place:g}" for place in seen])
            axes.set_xticks([], minor=True)
    elif column.is_whole:
        axes.xaxis.set_major_locator(optional_import("matplotlib.ticker", "plot").MaxNLocator(MOST_TICKS, integer=True))


def _are_apart(seen: Array) -> bool:
    """Tell whether numbers stand far enough apart on a logarithmic axis to be named one by one."""
    gaps = np.diff(np.log(seen))
    return len(gaps) == 0 or bool(gaps.min() * LEAST_APART >= gaps.sum())


def _name_categories(axes: Axes, names: list[str]) -> None:
    """Write names below their places: level, slanted where they are long, upright where they are many, too."""
    slot = 72.0 * axes.bbox.width / axes.figure.dpi / len(names)  # points
    crowded = LETTER * max(map(len, names)) > slot
    upright = crowded and slot < STEEP * LINE
    step = max(1, math.ceil(0.8 * LINE / slot)) if upright else 1
    look: dict[str, Any] = {"rotation": 90 if upright else 40, "ha": "center" if upright else "right"}
    axes.set_xticks(range(0, len(names), step), names[::step], **(look if crowded else {}))
    axes.set_xlim(-0.6, len(names) - 0.4)
