"""Plot of values against each variable, with the model's predictions on lines through the best point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bostruct.analysis import pictures
from bostruct.analysis.axes import ValueMark, choose_scale, label_values, mark_values
from bostruct.analysis.importances import find_selected, importance, is_selected
from bostruct.analysis.plots import choose_run_scale
from bostruct.analysis.point_columns import PointColumn, describe_hidden, read_columns
from bostruct.checks import optional_import
from bostruct.contracts import Array, BostructError, PointError
from bostruct.display import new_axes
from bostruct.study.history import Trial
from bostruct.study.predictions import HALF_WIDTH
from bostruct.study.result import Result
from bostruct.surrogates.fanova import Effect

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from bostruct.study.study import Study

MOST_TICKS = 7  # labeled numbers on an axis of integers, or individually on a logarithmic axis
LEAST_APART = 8  # inverse of the minimum share of a logarithmic axis between two labeled numbers
MOST_LETTERS = 12  # in the label of a category
LETTER = 5.0  # width of a letter below an axis, in points
LINE = 10.0  # height of a line of letters, in points
STEEP = 1.5  # lines apart, below which slanted labels overlap
CROWDED = 10  # trials per number from which numbers are jittered like categories
GOLDEN = 0.6180339887498949  # its multiples modulo 1 are evenly spread: deterministic jitter
INITIAL = ValueMark("initial", "#999999", "s", 16.0)
CHOSEN = ValueMark("chosen by the method", pictures.BLUE, size=16.0)
BROKEN = ValueMark("violates a constraint", pictures.GRAY, size=16.0, is_hollow=True)
MOST_PANELS = 9
ACROSS = 3  # panels in a row
GRID = 48  # points on a line through the best point
LEAST_WIDTH = 6.8  # inches, for the title and the legend


def plot_slices(
    result: Result | Study,
    names: Sequence[str] | None = None,
    axes: NDArray[np.object_] | None = None,
    objective: int = 0,
) -> NDArray[np.object_]:
    """Plot values against each variable, the most important first.

    A line with a 95% band is the model's posterior without noise, when one variable of the best point changes and the
    others stay. It is missing without a model, and if no trial is feasible; the title states this. Categories, and few
    numbers of many trials, are jittered. Trials of the initial phase are gray, and the best is a star. Values outside
    are triangles at the border. At most 1,000 trials are drawn, chosen evenly by rank.

    Parameters
    ----------
    result : Result or Study
        A result or study over a space of named variables.
    names : sequence of str, optional
        The variables to show. By default, 9: those that the last model of `auto` selected, if any, and the most
        important ones by `bostruct.importance`; variables that are inactive at the best point last.
    axes : array of matplotlib Axes, optional
        Axes to draw on, one for each variable. By default, axes of a new figure.
    objective : int, default 0
        The position of the objective, from 0.

    Returns
    -------
    array of shape (k,)
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
    trials = pictures.thin_trials(result, completed, objective, pictures.MOST_DRAWN)
    table = read_columns(result, trials, names)
    best = find_best(result, trials, objective)
    columns = table.columns
    if names is None:
        try:
            shares = importance(result, objective=objective).main if len(columns) > 1 else {}
        except BostructError:  # too few trials, for example
            shares = {}
        columns = sort_columns(columns, shares, find_selected(result), best)
    shown = columns[:MOST_PANELS] if names is None else columns
    hidden = [column.name for column in columns[len(shown) :]] + list(table.left_out)
    panels = _take_panels(axes, len(shown))
    values = np.array([trial.values[objective] for trial in trials])
    scale = choose_run_scale(result) if result.goals.n_objectives == 1 else choose_scale(values, np.empty(0))
    slices = {} if best is None else _predict_slices(result, shown, trials[best].point, objective)
    for panel, column in zip(panels, shown, strict=True):
        scale.apply(panel)
        draw_panel(panel, column, trials, best, objective, slices.get(column.name))
        pictures.clear_frame(panel)
    panels[0].set_ylabel(pictures.name_objective(result, objective) + scale.describe(panels[0], values), fontsize=9)
    what = "slices through the best" if slices else "values by variable"
    note = [pictures.describe_limits(result), pictures.describe_thinning(len(completed), pictures.MOST_DRAWN)]
    pictures.set_title(
        panels[0], result, what, note="\n".join(filter(None, note)), has_second=bool(hidden) and len(panels) == 1
    )
    if axes is None:
        put_slice_legend(panels)
    if hidden:
        panels[-1].set_title(describe_hidden(hidden), loc="right", fontsize=8, color=pictures.GRAY)
    return panels


class Slice(NamedTuple):
    """The model's predictions if one variable of the best point changes.

    places: positions on the axis of the variable (n,).
    mean, sd: posterior of the values (n,), NaN if the changed point is not in the space.
    """

    places: Array
    mean: Array
    sd: Array


def draw_panel(
    axes: Axes, column: PointColumn, trials: list[Trial], best: int | None, objective: int, found: Slice | None
) -> None:
    """Draw the trials, the best trial, and the model's predictions through it; triangles mark values beyond the axis.

    best: position of the best trial; None if no trial satisfies all constraints.
    objective: position of the objective, from 0.
    found: the model's predictions; None without a model.
    """
    values = np.array([trial.values[objective] for trial in trials])
    places = _spread_places(column)
    is_early = np.array([trial.origin in pictures.BEGINNING for trial in trials])
    is_kept = np.array([trial.is_feasible for trial in trials])
    if found is not None:
        _draw_slice(axes, column, found)
    is_dot = ~np.isnan(places)
    is_dot[[] if best is None else best] = False  # the best trial is a star
    for own, mark in ((is_kept & is_early, INITIAL), (is_kept & ~is_early, CHOSEN), (~is_kept, BROKEN)):
        mark_values(axes, places[own & is_dot], values[own & is_dot], mark)
    if best is not None and not np.isnan(column.places[best]):
        at, value = column.places[best : best + 1], values[best : best + 1]
        axes.scatter(at, value, s=110, marker="*", color=pictures.choose_ink(axes), zorder=4, label="best")
    _name_places(axes, column)
    if lacking := int(np.isnan(column.places).sum()):
        axes.set_xlabel(f"{pictures.shorten_label(column.name)} ({lacking} trials lack it)", fontsize=9)


def _spread_places(column: PointColumn) -> Array:
    """Return the places with deterministic jitter, for categories and for few numbers that many trials share (n,)."""
    places = column.places
    jitter = 0.28 * (2.0 * (np.arange(len(places)) * GOLDEN % 1.0) - 1.0)
    seen = np.unique(places[~np.isnan(places)])
    if column.categories:
        return places + jitter
    if not (column.is_whole or column.choices) or not 1 < len(seen) <= len(places) / CROWDED:
        return places
    gap = np.min(seen[1:] / seen[:-1] if column.is_log else np.diff(seen))
    return places * gap**jitter if column.is_log else places + gap * jitter


def put_slice_legend(panels: NDArray[np.object_]) -> None:
    """Put a legend of the marks of all panels below them."""
    named: dict[str, Any] = {}
    drawn: list[Axes] = panels.ravel().tolist()
    for panel in drawn:
        handles, labels = panel.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    place: pictures.Look = {"loc": "outside lower center", "ncols": pictures.count_columns(drawn[0], list(named))}
    drawn[0].figure.legend(list(named.values()), list(named), frameon=False, fontsize=9, **place)


def _draw_slice(axes: Axes, column: PointColumn, found: Slice) -> None:
    look: pictures.Look = {"color": pictures.ORANGE, "zorder": 3, "label": "model through the best, 95%"}
    is_known = ~np.isnan(found.mean)
    at, mean, half = found.places[is_known], found.mean[is_known], HALF_WIDTH * found.sd[is_known]
    if column.categories or column.choices or not is_known.all():  # constraints, a list: no line between points
        axes.errorbar(at, mean, half, fmt="_", ms=16 if column.categories else 10, lw=1.1, **look)
        return
    axes.fill_between(at, mean - half, mean + half, color=pictures.ORANGE, alpha=0.18, linewidth=0, zorder=1)
    axes.plot(at, mean, linewidth=1.4, **look)


def _name_places(axes: Axes, column: PointColumn) -> None:
    axes.set_xlabel(pictures.shorten_label(column.name), fontsize=9)
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
    """Return whether numbers are far enough apart on a logarithmic axis for individual labels."""
    gaps = np.diff(np.log(seen))
    return len(gaps) == 0 or bool(gaps.min() * LEAST_APART >= gaps.sum())


def _name_categories(axes: Axes, names: list[str]) -> None:
    """Write names below their places: horizontal, slanted if they are long, vertical if they are also many."""
    slot = 72.0 * axes.bbox.width / axes.figure.dpi / len(names)  # points
    crowded = LETTER * max(map(len, names)) > slot
    upright = crowded and slot < STEEP * LINE
    step = max(1, math.ceil(0.8 * LINE / slot)) if upright else 1
    look: pictures.Look = {"rotation": 90 if upright else 40, "ha": "center" if upright else "right"}
    axes.set_xticks(range(0, len(names), step), names[::step], **(look if crowded else {}))
    axes.set_xlim(-0.6, len(names) - 0.4)


class _Line(NamedTuple):
    """Points that differ from the best point in one variable: their places on its axis, and which are valid."""

    name: str
    places: Array
    is_point: NDArray[np.bool_]
    points: list[dict[str, Any]]


def sort_columns(
    columns: Sequence[PointColumn], shares: Mapping[str, Effect], selected: Sequence[str], best: int | None
) -> list[PointColumn]:
    """Sort variables: the selected first, then those with the largest share of the variance, and without one last.

    Variables that are inactive at the best point are behind all others, because they have no slice.

    best: position of the best trial in the columns; None if there is no best trial.
    """

    def rank(column: PointColumn) -> tuple[bool, bool, float]:
        is_lacking = best is not None and bool(np.isnan(column.places[best]))
        share = shares[column.name].share if column.name in shares else -1.0
        return is_lacking, not is_selected(column.name, selected), -share

    return sorted(columns, key=rank)


def _take_panels(axes: NDArray[np.object_] | None, count: int) -> NDArray[np.object_]:
    """Return one axes per variable; in a new figure, the remaining axes are switched off."""
    if axes is not None:
        return pictures.take_panels(axes, count, f"one for each of {count} variables")
    across = min(count, ACROSS)
    rows = -(-count // across)
    panels = np.asarray(new_axes(max(3.2 * across, LEAST_WIDTH), 2.6 * rows + 0.4, rows, across), dtype=object).ravel()
    for panel in panels[count:]:
        panel.set_axis_off()
    return panels[:count]


def find_best(result: Result, trials: list[Trial], objective: int) -> int | None:
    """Return the position of the best trial that satisfies all constraints; None if no trial does.

    objective: position of the objective to compare, from 0.
    """
    first = pictures.rank_trials(result, trials, objective)[:1].tolist()
    return next((i for i in first if trials[i].is_feasible), None)


def _predict_slices(
    result: Result, columns: Sequence[PointColumn], best: Mapping[str, Any], objective: int
) -> dict[str, Slice]:
    """Return the model's predictions on lines through the best point, by variable; empty without a model.

    All lines are predicted together, because each prediction conditions the model again.
    """
    if result.model is None or result.domain is None or not result.domain.is_whole:
        return {}
    lines = [_lay_line(result, column, best) for column in columns if column.name in best]
    points = [point for line in lines for point in line.points]
    if not points:
        return {}
    try:
        found = result.predict(points)
    except BostructError:  # a method without a model, or a model that cannot be fitted
        return {}
    means, sds = (one.reshape(len(points), -1)[:, objective] for one in (found.mean, found.sd))
    start, slices = 0, {}
    for line in lines:
        own = slice(start, start := start + len(line.points))
        mean, sd = np.full(len(line.places), np.nan), np.full(len(line.places), np.nan)
        mean[line.is_point], sd[line.is_point] = means[own], sds[own]
        if line.points:
            slices[line.name] = Slice(line.places, mean, sd)
    return slices


def _lay_line(result: Result, column: PointColumn, best: Mapping[str, Any]) -> _Line:
    places, values = _list_slice_values(column)
    points = [{**best, column.name: value} for value in values]
    is_point = np.array([_is_point(result, point) for point in points])
    return _Line(column.name, places, is_point, [point for point, fits in zip(points, is_point, strict=True) if fits])


def _list_slice_values(column: PointColumn) -> tuple[Array, list[Any]]:
    """Return places on the axis and their values: all categories, or numbers within the range of observed values."""
    if column.categories:
        return np.arange(len(column.categories), dtype=np.float64), list(column.categories)
    seen = np.unique(column.places[~np.isnan(column.places)])
    low, high = float(seen[0]), float(seen[-1])
    if column.choices:
        near = [one for one in sorted(column.choices) if low <= one <= high]
        step = -(-len(near) // GRID)
        kept = [one for i, one in enumerate(near) if i % step == 0 or one in seen]
        return np.array(kept, dtype=np.float64), kept
    spread = np.geomspace if column.is_log else np.linspace
    places = np.unique(np.concatenate([spread(low, high, GRID), seen]))
    if column.is_whole:
        places = np.unique(np.round(places))
        return places, [int(place) for place in places]
    return places, [float(np.clip(place, low, high)) for place in places]


def _is_point(result: Result, point: Mapping[str, Any]) -> bool:
    assert result.domain is not None  # checked by the caller
    try:
        result.domain.parse(point)
    except PointError:
        return False
    return True
