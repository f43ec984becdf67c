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
    describe_limits,
    explain_lack,
    name_trial,
    put_legend_below,
    set_title,
)
from bostruct.analysis.value_axis import (
    ValueScale,
    choose_scale_of_most,
    first_that_matters,
    is_beyond,
    pick_what_matters,
)
from bostruct.analysis.value_marks import ValueMark, mark_border, mark_values
from bostruct.contracts import Array
from bostruct.study.history import Trial
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
BROKEN = ValueMark("breaks a limit", GRAY, size=20.0, is_hollow=True)
STOPPED = ValueMark("stopped early", GRAY, "_", 36.0)
WITHOUT_VALUE = {"failed": ("x", "#D55E00"), "infeasible": ("|", INK)}  # at the worse border


class _Told(NamedTuple):
    """A finished trial, and its place on the axis of trials, from 1."""

    at: int
    trial: Trial


def plot_history(result: Result | Study, ax: Axes | None = None, optimum: float | None = None) -> Axes:
    """Draw every value of a run and the best so far, and return the matplotlib axes.

    The axis of values shows what happened after the initial phase: it is linear, logarithmic where positive values
    spread over decades, and values beyond its ends are triangles at the border, which the axis counts. The initial
    phase is on gray and takes little room. Values are marked by how their points were chosen, with bars of one standard
    deviation where their noise was told or they were measured several times. They are hollow where they break a limit,
    and dashes where a stopping rule ended the trial early. Trials that failed or were infeasible are marked at the
    border. Where no trial keeps all limits, the title names the limits and the nearest trial.

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
    outside = _mark_values(axes, told, steps[-1].trial)
    _draw_without_value(axes, told, result.direction)
    _draw_best(axes, result, best)
    if optimum is not None:
        draw_optimum(axes, optimum)
    marks = " ▲▼" if outside else ""
    axes.set(xlabel="trials finished", ylabel=f"value ({result.direction}d){scale.describe(outside)}{marks}")
    clear_frame(axes)
    set_title(axes, result, note=describe_limits(result))
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
    told = [step.told for step in steps if step.told.status == "completed"]
    chosen = [trial for trial in told if trial.origin not in BEGINNING]
    kept = _list_values([trial for trial in chosen if trial.is_feasible])
    best = [step.best_value for step in steps[first_that_matters(beginning, len(steps)) - 1 :]]
    late = np.array([value for value in best if value is not None], dtype=np.float64)
    values = _list_values(told)
    matters = pick_what_matters(values, late, kept, result.direction, optimum)
    return choose_scale_of_most(values, matters, _list_values(chosen), result.direction)


def _list_values(trials: Sequence[Trial]) -> Array:
    return np.array([trial.value for trial in trials], dtype=np.float64)


def _mark_values(axes: Axes, told: list[_Told], best: Trial | None) -> int:
    """Mark every value but the best one, which gets a star, and return how many lie beyond the axis."""
    completed = [one for one in told if one.trial.status == "completed"]
    others = [one for one in completed if best is None or one.trial.number != best.number]
    kept = [one for one in others if one.trial.is_feasible]
    whole = [one for one in kept if one.trial.stopped_at is None]
    marks = [
        (ValueMark(origin, *ORIGINS.get(origin, (GRAY, "x"))), [one for one in whole if one.trial.origin == origin])
        for origin in dict.fromkeys(one.trial.origin for one in whole)
    ]
    marks.append((STOPPED, [one for one in kept if one.trial.stopped_at is not None]))
    marks.append((BROKEN, [one for one in others if one.trial.broken]))
    _draw_noise(axes, completed)
    return sum(
        mark_values(axes, np.array([one.at for one in own]), np.array([one.trial.value for one in own]), mark)
        for mark, own in marks
    )


def _draw_noise(axes: Axes, completed: list[_Told]) -> None:
    """Draw one standard deviation of the noise to either side, as told, or of the mean of several measurements."""
    noisy = [(one.at, one.trial.value, sd) for one in completed if (sd := _noise_of(one.trial)) is not None]
    if noisy:
        at, values, sds = np.array(noisy, dtype=np.float64).T
        low, high = axes.get_ylim()
        is_seen = bool(np.any((values + sds >= low) & (values - sds <= high)))
        label = "noise, one s.d." if is_seen else None
        axes.errorbar(at, values, sds, fmt="none", ecolor=GRAY, elinewidth=0.8, label=label, zorder=1)


def _noise_of(trial: Trial) -> float | None:
    if trial.sd is not None:
        return trial.sd
    if len(trial.repeats) > 1:
        return float(np.std(trial.repeats, ddof=1) / math.sqrt(len(trial.repeats)))
    return None


def _draw_without_value(axes: Axes, told: list[_Told], direction: str) -> None:
    """Mark trials without a value at the worse border."""
    height = 0.99 if direction == "minimize" else 0.01
    for status, (marker, color) in WITHOUT_VALUE.items():
        own = [one.at for one in told if one.trial.status == status]
        if own:
            marks = mark_border(axes, own, height, 26, [color], marker)
            marks.set(label=f"{len(own)} {status}", linewidths=1.2, clip_on=False, zorder=4)


def _draw_best(axes: Axes, result: Result, best: np.ndarray) -> None:
    """Draw the best so far as a stair, and name the best trial; say so where no trial has a value."""
    trial = result.incumbents[-1].trial
    if trial is None:
        if not result.list_completed():
            axes.set_yticks([])
            axes.text(0.5, 0.5, explain_lack(result), transform=axes.transAxes, ha="center", va="center", color=GRAY)
        return
    at = np.arange(1, len(best) + 1)
    is_known = ~np.isnan(best)
    label = "best so far" if is_known.sum() > 1 else None  # a line of one point is not seen
    axes.plot(at[is_known], best[is_known], drawstyle="steps-post", color=INK, linewidth=1.8, label=label, zorder=3)
    found, value = result.order.index(trial.number) + 1, float(best[-1])
    axes.scatter([found], [value], s=90, marker="*", color=INK, zorder=5)
    name = f"\N{BLACK STAR} best {value:.6g}, {name_trial(result, trial.number)}"  # above the axes, where no value is
    axes.annotate(
        name, (1, 1), (0, 3), "axes fraction", "offset points", ha="right", va="bottom", fontsize=9, color=INK
    )
