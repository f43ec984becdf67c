"""Plots of the points of all trials: in parallel coordinates, and in a triangle for a mixture of three parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bostruct.analysis import pictures
from bostruct.analysis.axes import label_values
from bostruct.analysis.importances import find_selected, is_selected
from bostruct.analysis.point_columns import PointColumn, describe_hidden, read_columns
from bostruct.analysis.slices import GOLDEN, find_best
from bostruct.checks import check_choice, optional_import
from bostruct.contracts import Array, BostructError, IntArray
from bostruct.study.history import Trial
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bostruct.study.study import Study

MOST_COLUMNS = 14
MOST_NAMED = 6  # labeled values of a numeric variable; with more values, only the ends are labeled
MOST_LETTERS = 14  # in the label of a category, between two axes
MOST_STRONG = 100  # lines; with more lines, all are fainter
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])
LINES = (0.2, 0.4, 0.6, 0.8)  # shares of a part at which the triangle has a line


def plot_parallel_coordinates(
    result: Result | Study, names: Sequence[str] | None = None, ax: Axes | None = None, objective: int = 0
) -> Axes:
    """Plot each trial as a line through its variables and its value.

    Better trials are darker and drawn later; the best trial is thick and in another color. Colors follow ranks, so that
    outliers do not dominate. A line is dotted across inactive variables. The last axis is the value, better at the top.
    At most 300 trials are drawn, chosen evenly by rank.

    Parameters
    ----------
    result : Result or Study
        A result or study over a space of named variables.
    names : sequence of str, optional
        The variables to show, in order. By default, the first 14, those that the last model of `auto` selected first.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, axes of a new figure.
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
    completed = pictures.list_observed(result, objective)
    trials = pictures.thin_trials(result, completed, objective, pictures.MOST_DRAWN_LINES)
    table = read_columns(result, trials, names)
    selected = find_selected(result) if names is None else ()
    ordered = sorted(table.columns, key=lambda column: not is_selected(column.name, selected))
    columns = ordered if names is not None else ordered[:MOST_COLUMNS]
    axes = pictures.take_axes(ax, 2.0 + 1.0 * max(len(columns), 4), 4.2)
    sign = -1.0 if result.goals.directions[objective] == "maximize" else 1.0
    values = np.array([trial.values[objective] for trial in trials])
    ranks = np.argsort(np.argsort(sign * values, kind="stable"), kind="stable")  # 0 is the best
    heights = np.column_stack([*map(_place_on_axis, columns), 1.0 - ranks / max(len(trials) - 1, 1)])
    _draw_lines(axes, heights, ranks, trials)
    _draw_columns(axes, columns)
    what = pictures.name_objective(result, objective)
    _name_values(axes, values, sign, len(columns), f"{what}, by rank\n({result.goals.directions[objective]}d)")
    hidden = [column.name for column in ordered[len(columns) :]] + list(table.left_out)
    what = "variables" if result.goals.n_objectives == 1 else f"variables by objective {objective}"
    pictures.set_title(axes, result, what, note=pictures.describe_thinning(len(completed), pictures.MOST_DRAWN_LINES))
    if hidden:
        axes.set_title(describe_hidden(hidden), loc="right", fontsize=8, color=pictures.GRAY, pad=14)
    return axes


def _place_on_axis(column: PointColumn) -> Array:
    """Return heights in [0, 1] (n,); trials of one category get a small deterministic jitter."""
    shares = column.shares()
    if not column.categories:
        return shares
    jitter = 2.0 * (np.arange(len(shares)) * GOLDEN % 1.0) - 1.0
    return shares + jitter * min(0.25 / len(column.categories), 0.04)


def _draw_lines(axes: Axes, heights: Array, ranks: IntArray, trials: list[Trial]) -> None:
    """Draw a line for each trial, the worst first; lines are solid between two active variables."""
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
    bridges = [lines[k][~np.isnan(lines[k][:, 1])] for k in gapped]  # across inactive variables
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
        place: pictures.Look = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(frameon=False, fontsize=9, borderpad=0.0, borderaxespad=0.0, **place)


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
        heights = np.linspace(0.0, 1.0, len(column.categories)).tolist() if len(column.categories) > 1 else [0.5]
        step = -(-len(column.categories) // 12)
        labels = label_values(column.categories, MOST_LETTERS)
        return list(zip(heights, labels, strict=True))[::step]
    known = ~np.isnan(column.places)
    values, first = np.unique(column.places[known], return_index=True)
    heights = column.shares()[known][first]
    is_roomy = len(values) <= MOST_NAMED and bool((np.diff(heights) > 0.05).all())
    return [(float(heights[i]), f"{values[i]:.4g}") for i in (range(len(values)) if is_roomy else (0, -1))]


def _name_values(axes: Axes, values: Array, sign: float, x: int, label: str) -> None:
    """Write values next to their ranks on the last axis: the best, quartiles, the worst."""
    ordered = np.sort(sign * values) * sign
    for i in dict.fromkeys(round(share * (len(ordered) - 1)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)):
        height = 1.0 - i / max(len(ordered) - 1, 1)
        axes.text(x + 0.12, height, f"{ordered[i]:.4g}", fontsize=8, va="center", color=pictures.choose_ink(axes))
    axes.text(x + 0.12, -0.13, label, fontsize=8, va="top", ha="center", color=pictures.choose_ink(axes))


def plot_ternary(result: Result | Study, name: str | None = None, ax: Axes | None = None, objective: int = 0) -> Axes:
    """Plot the trials of a mixture of three parts in a triangle, colored by their values.

    A corner is a pure part. The best trial is a star.

    Parameters
    ----------
    result : Result or Study
        A result or study over a space with a `Mixture` or an `Allocation` of three parts.
    name : str, optional
        The variable. By default, the first variable with three parts.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, axes of a new figure.
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
        If no trial has completed, or no variable has three parts.
    TypeError, ValueError
        If an argument is invalid.
    """
    result = pictures.require_result(result)
    trials = pictures.list_observed(result, objective)
    variables = {} if result.domain is None else result.domain.variables
    known = [one for one, variable in variables.items() if len(variable.parts) == 3]
    if not known:
        raise BostructError("result: expected a variable with three parts; plot_effects draws two of more parts")
    name = known[0] if name is None else name
    check_choice("name", name, known)
    shown = [trial for trial in trials if name in trial.point]
    shares = np.array([list(trial.point[name].values()) for trial in shown], dtype=np.float64).reshape(-1, 3)
    places = (shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)) @ CORNERS
    axes = pictures.take_axes(ax, 5.6, 4.8)
    _draw_triangle(axes, variables[name].parts)
    values = [trial.values[objective] for trial in shown]
    dots = axes.scatter(*places.T, c=values, s=26, cmap="viridis", zorder=3)
    best = find_best(result, shown, objective)
    if best is not None:
        look = {"color": pictures.choose_ink(axes), "edgecolors": axes.get_facecolor()}
        axes.scatter(*places[best], marker="*", s=190, zorder=4, **look)
    axes.figure.colorbar(dots, ax=axes, label=pictures.name_objective(result, objective), shrink=0.8)
    pictures.set_title(axes, result, f"shares of {pictures.shorten_label(name)}")
    return axes


def _draw_triangle(axes: Axes, parts: tuple[str, ...]) -> None:
    """Draw the triangle, its lines of equal shares, and the names of its corners."""
    around: Array = CORNERS[[0, 1, 2, 0]]
    axes.plot(*around.T, color=pictures.GRAY, linewidth=1.2, zorder=2)
    for share in LINES:
        for i in range(3):
            ends = [share * CORNERS[i] + (1.0 - share) * CORNERS[j] for j in range(3) if j != i]
            axes.plot(*np.array(ends).T, color=pictures.GRAY, linewidth=0.4, alpha=0.6, zorder=1)
    for i, part in enumerate(parts):
        shift, side = (-6, "top") if i < 2 else (6, "bottom")
        label = pictures.shorten_label(part)
        axes.annotate(label, CORNERS[i], (0, shift), textcoords="offset points", ha="center", va=side)
    axes.set(xlim=(-0.1, 1.1), ylim=(-0.12, 1.0), aspect="equal")
    axes.set_axis_off()
