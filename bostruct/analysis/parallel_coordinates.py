"""The picture of all variables of all trials at once: a line a trial, colored by its value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bostruct.analysis import pictures
from bostruct.analysis.axes import label_values
from bostruct.analysis.point_columns import PointColumn, describe_hidden, read_columns
from bostruct.analysis.slices import GOLDEN
from bostruct.checks import optional_import
from bostruct.contracts import Array, IntArray
from bostruct.study.history import Trial
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bostruct.study.study import Study

MOST_COLUMNS = 14
MOST_NAMED = 6  # values of a number, of more only the ends
MOST_LETTERS = 14  # of a category, as many as fit between two axes
MOST_STRONG = 100  # lines; more of them are fainter


def plot_parallel_coordinates(
    result: Result | Study, names: Sequence[str] | None = None, ax: Axes | None = None, objective: int = 0
) -> Axes:
    """Plot each trial as a line through its variables and its value.

    Better trials are darker and drawn later; the best one is thick and in another color. Colors follow ranks, so that
    outliers do not dominate. A line is dotted across inactive variables. The last axis is the value, better at the top.
    Of more than 2,000 trials 2,000 are drawn, chosen evenly by rank.

    Parameters
    ----------
    result : Result or Study
        A result or study over a space of named variables.
    names : sequence of str, optional
        The variables to show, in order. By default the first 14.
    ax : matplotlib Axes, optional
        Axes to draw on. By default those of a new figure.
    objective : int, default 0
        The position of the objective, from 0.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    BostructError
        If no trial has completed, or points have no named variables.
    TypeError, ValueError
        If an argument is invalid.
    """
    result = pictures.require_result(result)
    told = pictures.list_told(result, objective)
    trials = pictures.thin_trials(result, told, objective, pictures.MOST_DRAWN)
    table = read_columns(result, trials, names)
    columns = table.columns if names is not None else table.columns[:MOST_COLUMNS]
    axes = pictures.take_axes(ax, 2.0 + 1.0 * max(len(columns), 4), 4.2)
    sign = -1.0 if result.goals.directions[objective] == "maximize" else 1.0
    values = np.array([trial.values[objective] for trial in trials])
    ranks = np.argsort(np.argsort(sign * values, kind="stable"), kind="stable")  # 0 is the best
    heights = np.column_stack([*map(_place_on_axis, columns), 1.0 - ranks / max(len(trials) - 1, 1)])
    _draw_lines(axes, heights, ranks, trials)
    _draw_columns(axes, columns)
    what = pictures.name_objective(result, objective)
    _name_values(axes, values, sign, len(columns), f"{what}, by rank\n({result.goals.directions[objective]}d)")
    hidden = [column.name for column in table.columns[len(columns) :]] + list(table.left_out)
    what = "variables" if result.goals.n_objectives == 1 else f"variables by objective {objective}"
    pictures.set_title(axes, result, what, note=pictures.describe_thinning(trials, told))
    if hidden:
        axes.set_title(describe_hidden(hidden), loc="right", fontsize=8, color=pictures.GRAY, pad=14)
    return axes


def _place_on_axis(column: PointColumn) -> Array:
    """Return heights in [0, 1]; trials of one category are spread a little, the same way every time (n,)."""
    shares = column.shares()
    if not column.categories:
        return shares
    jitter = 2.0 * (np.arange(len(shares)) * GOLDEN % 1.0) - 1.0
    return shares + jitter * min(0.25 / len(column.categories), 0.04)


def _draw_lines(axes: Axes, heights: Array, ranks: IntArray, trials: list[Trial]) -> None:
    """Draw the worst trial first; stretches between two variables that a trial both has."""
    colors = optional_import("matplotlib", "plot").colormaps["cividis"]
    collections = optional_import("matplotlib.collections", "plot")
    at = np.arange(heights.shape[1], dtype=np.float64)
    kept = [i for i, trial in enumerate(trials) if trial.is_feasible]
    best = min(kept, key=lambda i: ranks[i]) if kept else None
    others = [i for i in np.argsort(-ranks, kind="stable").tolist() if i != best]
    shares = ranks[others] / max(len(trials) - 1, 1)
    strength = min(1.0, math.sqrt(MOST_STRONG / len(trials)))
    shades = colors(0.05 + 0.85 * shares)
    shades[:, 3] = strength * (0.85 - 0.5 * shares)
    lines = [np.column_stack([at, heights[i]]) for i in others]
    axes.add_collection(collections.LineCollection(lines, linewidths=0.9, colors=shades, zorder=2))
    gapped = [k for k, line in enumerate(lines) if np.isnan(line).any()]
    bridges = [lines[k][~np.isnan(lines[k][:, 1])] for k in gapped]  # across the variables that a trial lacks
    look: pictures.Look = {"linewidths": 0.8, "linestyles": [(0, (1, 3))], "zorder": 1.5}
    axes.add_collection(collections.LineCollection(bridges, colors=shades[gapped], **look))
    marks = np.tile(at, len(others)), heights[others].ravel()
    axes.scatter(*marks, s=2.5, linewidths=0, color=np.repeat(shades, len(at), axis=0), zorder=2)
    if best is not None:
        label = f"best, trial {trials[best].number}"
        has = ~np.isnan(heights[best])
        axes.plot(at[has], heights[best][has], color=pictures.ORANGE, linewidth=1.6, linestyle=(0, (1, 2)), zorder=3)
        axes.plot(
            at, heights[best], color=pictures.ORANGE, linewidth=2.4, marker="o", markersize=5, zorder=4, label=label
        )
        where: pictures.Look = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(frameon=False, fontsize=9, borderpad=0.0, borderaxespad=0.0, **where)


def _draw_columns(axes: Axes, columns: Sequence[PointColumn]) -> None:
    """Draw an axis for each variable, with its ends or its categories."""
    ink = pictures.choose_ink(axes)
    box = {"facecolor": axes.get_facecolor(), "edgecolor": "none", "alpha": 0.9, "pad": 0.6}
    for x, column in enumerate(columns):
        axes.axvline(x, color=pictures.GRAY, linewidth=0.8, zorder=1)
        for height, text in _label_heights(column):
            axes.text(x + 0.08, height, text, fontsize=7.5, va="center", color=ink, bbox=box, zorder=5)
    axes.axvline(len(columns), color=ink, linewidth=1.2, zorder=1)
    axes.set_xlim(-0.1, len(columns) + 0.1)
    axes.set_ylim(-0.06, 1.06)
    axes.set_yticks([])
    names = [pictures.shorten_label(column.name, 16) for column in columns]
    crowded = max(map(len, names)) > 9
    axes.set_xticks(range(len(columns)), names, rotation=25 if crowded else 0, ha="right" if crowded else "center")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _label_heights(column: PointColumn) -> list[tuple[float, str]]:
    if column.categories:
        last = max(len(column.categories) - 1, 1)
        single = len(column.categories) == 1
        step = -(-len(column.categories) // 12)
        labels = label_values(column.categories, MOST_LETTERS)
        return [(0.5 if single else i / last, label) for i, label in enumerate(labels) if i % step == 0]
    known = ~np.isnan(column.places)
    values, first = np.unique(column.places[known], return_index=True)
    heights = column.shares()[known][first]
    is_roomy = len(values) <= MOST_NAMED and bool((np.diff(heights) > 0.05).all())
    return [(float(heights[i]), f"{values[i]:.4g}") for i in (range(len(values)) if is_roomy else (0, -1))]


def _name_values(axes: Axes, values: Array, sign: float, x: int, label: str) -> None:
    """Write values beside their ranks on the last axis: the best, quartiles, the worst."""
    ordered = np.sort(sign * values) * sign
    for share in dict.fromkeys((0.0, 0.25, 0.5, 0.75, 1.0)):
        i = round(share * (len(ordered) - 1))
        height = 1.0 - i / max(len(ordered) - 1, 1)
        axes.text(x + 0.12, height, f"{ordered[i]:.4g}", fontsize=8, va="center", color=pictures.choose_ink(axes))
        if len(ordered) == 1:
            break
    axes.text(x + 0.12, -0.13, label, fontsize=8, va="top", ha="center", color=pictures.choose_ink(axes))
