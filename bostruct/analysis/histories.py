"""The picture of one run: every value told, the best so far, and what failed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bostruct.analysis.picture_inputs import check_optimum, require_result, require_single, take_axes
from bostruct.analysis.picture_style import (
    BEGINNING,
    GRAY,
    INK,
    clear_frame,
    compress_beginning,
    count_beginning,
    name_trial,
    put_legend_below,
    set_title,
)
from bostruct.analysis.value_axis import ValueScale, choose_scale, first_that_matters, is_beyond, pick_what_matters
from bostruct.study.history import Trial
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

    from bostruct.study.study import Study

ORIGINS = {  # color-blind safe: Okabe and Ito
    "given": ("#999999", "s"),
    "initial": ("#999999", "o"),
    "random": ("#E69F00", "D"),
    "model": ("#0072B2", "o"),
    "mutation": ("#CC79A7", "^"),
    "repeat": ("#56B4E9", "P"),
    "fallback": ("#D55E00", "v"),
    "added": ("#009E73", "s"),
    "double": ("#009E73", "D"),
}
WITHOUT_VALUE = {"failed": ("x", "#D55E00"), "infeasible": ("|", INK)}  # at the worse border


class _Told(NamedTuple):
    """A finished trial, and its place on the axis of trials, from 1."""

    at: int
    trial: Trial


def plot_history(result: Result | Study, ax: Axes | None = None, optimum: float | None = None) -> Axes:
    """Draw every value of a run and the best so far, and return the matplotlib axes.

    The axis of values shows what happened after the initial phase: it is linear, logarithmic where positive values
    spread over decades, and values beyond its ends are triangles at the border, which the axis counts. The initial
    phase is on gray and takes little room. Values are marked by how their points were chosen, hollow where they break a
    limit, with bars of one standard deviation where their noise was told or they were measured several times. Trials
    that failed or were infeasible are marked at the border.

    result: a result or a study, of one objective.
    ax: axes to draw on, None for those of a new figure.
    optimum: drawn as a line where known.

    Raises MissingExtra without matplotlib, TypeError, BostructError for several objectives, and ValueError where no
    trial has finished.
    """
    result = require_single("result", require_result(result))
    check_optimum(optimum)
    steps = result.incumbents
    if not steps:
        raise ValueError("result: expected at least one finished trial, got none")
    axes = take_axes(ax, 7.2, 4.4)
    told = [_Told(at, step.told) for at, step in enumerate(steps, start=1)]
    best = np.array([math.nan if step.best_value is None else step.best_value for step in steps])
    beginning = count_beginning(result)
    scale = choose_run_scale(result, optimum)
    scale.apply(axes, result.direction)
    compress_beginning(axes, beginning, len(steps), f"first {beginning}")
    outside = _draw_values(axes, told)
    _draw_without_value(axes, told, result.direction)
    _draw_best(axes, result, best)
    if optimum is not None:
        draw_optimum(axes, optimum)
    marks = " ▲▼" if outside else ""
    axes.set(xlabel="trials finished", ylabel=f"value ({result.direction}d){scale.describe(outside)}{marks}")
    clear_frame(axes)
    set_title(axes, result)
    put_legend_below(axes)
    return axes


def draw_optimum(axes: Axes, optimum: float) -> None:
    """Draw the optimum as a line with its value, or name it in the legend alone where the axis does not reach it.

    axes: of the picture, its limits set.
    optimum: in the user's units.
    """
    label = f"optimum {optimum:.6g}"
    if is_beyond(axes, np.array([optimum]))[0]:
        axes.plot([], [], color=GRAY, linestyle=(0, (4, 3)), linewidth=1.2, label=f"{label}, not in the picture")
        return
    axes.axhline(optimum, color=GRAY, linestyle=(0, (4, 3)), linewidth=1.2, label=label, zorder=1)


def choose_run_scale(result: Result, optimum: float | None = None) -> ValueScale:
    """Return the scale on which `plot_history` draws the values of a run.

    result: of one objective.
    optimum: shown where it is near; None where unknown.
    """
    steps, beginning = result.incumbents, count_beginning(result)
    told = [step.told for step in steps]
    values = np.array([trial.value for trial in told if trial.status == "completed"], dtype=np.float64)
    chosen = [trial.value for trial in told if trial.is_feasible and trial.origin not in BEGINNING]
    best = [step.best_value for step in steps[first_that_matters(beginning, len(steps)) - 1 :]]
    late = np.array([value for value in best if value is not None], dtype=np.float64)
    matters = pick_what_matters(values, late, np.array(chosen, dtype=np.float64), result.direction, optimum)
    return choose_scale(values, matters)


def _draw_values(axes: Axes, told: list[_Told]) -> int:
    """Mark every value, and return how many lie beyond the axis."""
    completed = [one for one in told if one.trial.status == "completed"]
    for origin in dict.fromkeys(one.trial.origin for one in completed):
        color, marker = ORIGINS.get(origin, (GRAY, "x"))
        own = [(one.at, one.trial.value) for one in completed if one.trial.origin == origin and one.trial.is_feasible]
        if own:
            xs, ys = zip(*own, strict=True)
            axes.scatter(xs, ys, s=18, color=color, marker=marker, alpha=0.85, linewidths=0, label=origin, zorder=2)
    broken = [(one.at, one.trial.value) for one in completed if one.trial.broken]
    if broken:
        xs, ys = zip(*broken, strict=True)
        axes.scatter(xs, ys, s=20, facecolors="none", edgecolors=GRAY, label="breaks a limit", zorder=1)
    _draw_noise(axes, completed)
    return _mark_outside(axes, completed)


def _draw_noise(axes: Axes, completed: list[_Told]) -> None:
    """Draw one standard deviation of the noise to either side, as told, or of the mean of several measurements."""
    noisy = [(one.at, one.trial.value, sd) for one in completed if (sd := _noise_of(one.trial)) is not None]
    if noisy:
        at, values, sds = zip(*noisy, strict=True)
        axes.errorbar(at, values, sds, fmt="none", ecolor=GRAY, elinewidth=0.8, label="noise, one s.d.", zorder=1)


def _noise_of(trial: Trial) -> float | None:
    if trial.sd is not None:
        return trial.sd
    if len(trial.repeats) > 1:
        return float(np.std(trial.repeats, ddof=1) / math.sqrt(len(trial.repeats)))
    return None


def _mark_outside(axes: Axes, completed: list[_Told]) -> int:
    """Draw triangles at the border, where values lie beyond it, and return how many do."""
    count, (low, high) = 0, axes.get_ylim()
    for is_out, height, marker in (
        (lambda value: value > high, 0.955, "^"),
        (lambda value: value < low, 0.045, "v"),
    ):
        beyond = [one for one in completed if is_out(one.trial.value)]
        count += len(beyond)
        kept = [one for one in beyond if one.trial.is_feasible]
        colors = [ORIGINS.get(one.trial.origin, (GRAY, ""))[0] for one in kept]
        mark_border(axes, [one.at for one in kept], height, 16, colors, marker)
        mark_broken_at_border(axes, [one.at for one in beyond if one.trial.broken], height, marker)
    return count


def _draw_without_value(axes: Axes, told: list[_Told], direction: str) -> None:
    """Mark trials without a value at the worse border."""
    height = 0.99 if direction == "minimize" else 0.01
    for status, (marker, color) in WITHOUT_VALUE.items():
        own = [one.at for one in told if one.trial.status == status]
        if own:
            marks = mark_border(axes, own, height, 26, [color], marker)
            marks.set(label=f"{len(own)} {status}", linewidths=1.2, clip_on=False, zorder=4)


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
    return axes.scatter(at, [height] * len(at), s=size, color=colors, marker=marker, transform=place, zorder=2)


def mark_broken_at_border(axes: Axes, at: Sequence[float], height: float, marker: str) -> None:
    """Draw hollow marks at a share of the axes' height, for trials that break a limit.

    axes: of the picture.
    at: places on the x axis; may be empty.
    height: share from the lower end, in [0, 1].
    marker: as matplotlib takes it.
    """
    mark_border(axes, at, height, 16, [GRAY], marker).set(facecolor="none", linewidth=1.0)


def _draw_best(axes: Axes, result: Result, best: np.ndarray) -> None:
    """Draw the best so far as a stair, and name the best trial; say so where there is none."""
    trial = result.incumbents[-1].trial
    if trial is None:
        if not any(marked.get_label() == "breaks a limit" for marked in axes.collections):
            axes.set_yticks([])
        axes.text(0.5, 0.5, "no trial has a value that counts", transform=axes.transAxes, ha="center", color=GRAY)
        return
    at = np.arange(1, len(best) + 1)
    is_known = ~np.isnan(best)
    axes.plot(
        at[is_known], best[is_known], drawstyle="steps-post", color=INK, linewidth=1.8, label="best so far", zorder=3
    )
    found, value = result.order.index(trial.number) + 1, float(best[-1])
    axes.scatter([found], [value], s=90, marker="*", color=INK, zorder=5)
    label = f"\N{BLACK STAR} best {value:.6g}, {name_trial(result, trial.number)}"  # above the axes, where no value is
    axes.annotate(
        label, (1, 1), (0, 3), "axes fraction", "offset points", ha="right", va="bottom", fontsize=9, color=INK
    )
