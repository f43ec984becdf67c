"""Plots of values against trials, of one run or of the means of several runs, and plots as files."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.analysis import pictures
from bostruct.analysis.axes import (
    ValueMark,
    ValueScale,
    choose_scale,
    find_beyond,
    first_that_matters,
    lie_outside,
    mark_border,
    mark_values,
    pick_what_matters,
)
from bostruct.contracts import Array
from bostruct.output_files import PICTURE_METADATA, write_output
from bostruct.study.history import Trial
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bostruct.study.study import Study

ORIGINS = {  # color-blind safe: Okabe and Ito
    "given": ("#999999", "s"),
    "initial": ("#999999", "o"),
    "random": ("#E69F00", "D"),
    "exploring a branch": ("#E69F00", "D"),
    "model": ("#0072B2", "o"),
    "mutation": ("#CC79A7", "^"),
    "repeat": ("#56B4E9", "P"),
    "fallback": ("#D55E00", "v"),
    "added": ("#009E73", "s"),
    "double": ("#009E73", "D"),
}
BROKEN = ValueMark("violates a constraint", pictures.GRAY, size=20.0, is_hollow=True)
STOPPED = ValueMark("stopped early", pictures.GRAY, "_", 36.0)
UNKNOWN = pictures.GRAY, "x"  # mark of any other origin
WITHOUT_VALUE = {"failed": ("x", "#D55E00"), "infeasible": ("|", "")}  # marks at the worse border
BoolArray = npt.NDArray[np.bool_]
MOST_BANDS = 3  # curves with a band each; more curves have error bars, only at the end of the run


def plot_history(result: Result | Study, ax: Axes | None = None, optimum: float | None = None) -> Axes:
    """Plot every value of a run and the best so far.

    The y axis is linear, or logarithmic if positive values span decades. Far values are triangles at the border, which
    the axis label counts. The best trial is a star; the recommended trial has a ring, if it differs. The initial phase
    is gray and compressed. Marks show how points were chosen; bars are one standard deviation of known or measured
    noise; hollow marks violate a constraint; dashes were stopped early; failed and infeasible trials are marked at the
    border. If no trial is feasible, the title names the constraints and the nearest trial.

    Parameters
    ----------
    result : Result or Study
        A result or study of one objective.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, axes of a new figure.
    optimum : float, optional
        The best possible value, drawn as a line.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    BostructError
        If there are several objectives.
    TypeError
        If an argument is invalid.
    ValueError
        If no trial has finished.
    """
    result = pictures.require_single("result", pictures.require_result(result))
    pictures.check_optimum(optimum)
    steps = result.incumbents
    if not steps:
        raise ValueError("result: expected at least one finished trial, got none")
    axes = pictures.take_axes(ax, 7.2, 4.4)
    finished = list(enumerate((step.finished for step in steps), start=1))
    best = np.array([math.nan if step.best_value is None else step.best_value for step in steps])
    beginning = pictures.count_beginning(result)
    scale = choose_run_scale(result, optimum)
    scale.apply(axes)
    pictures.compress_beginning(axes, beginning, len(steps), f"first {beginning}")
    _mark_values(axes, finished, steps[-1].trial)
    _draw_without_value(axes, finished, result.direction)
    _draw_best(axes, result, best)
    if optimum is not None:
        draw_optimum(axes, optimum)
    label = f"{pictures.name_objective(result, 0)} ({result.direction}d)"
    label += scale.describe(axes, _list_run_values(result.list_completed()))
    axes.set(xlabel="trials finished", ylabel=label)
    pictures.clear_frame(axes)
    pictures.set_title(axes, result, note=pictures.describe_limits(result))
    pictures.put_legend_below(axes)
    return axes


def plot_convergence(
    results: Result | Study | Sequence[Result | Study] | Mapping[str, Sequence[Result | Study]],
    ax: Axes | None = None,
    optimum: float | None = None,
) -> Axes:
    """Plot the mean best value so far against the number of trials, one curve for each name.

    The legend lists the curves by their final mean, best first, with its standard error. Up to three curves have a band
    of one standard error, more have a bar at the end. Initial points that all runs share are drawn once, gray and
    compressed. The y axis is scaled as in `plot_history`.

    Parameters
    ----------
    results : Result, Study, sequence of them, or dict of sequences
        Several results by name; several results, drawn as one curve; or one result, drawn as by `plot_history`.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, axes of a new figure.
    optimum : float, optional
        The best possible value, drawn as a line.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    BostructError
        If there are several objectives.
    TypeError, ValueError
        If an argument is invalid, or there is nothing to draw.
    """
    if isinstance(getattr(results, "result", results), Result):
        return plot_history(pictures.require_result(results), ax, optimum)
    pictures.check_optimum(optimum)
    groups = _group_by_method(results)
    curves = [_mean_curve(label, group) for label, group in groups.items()]
    runs = [result for group in groups.values() for result in group]
    direction, beginning = runs[0].direction, min(map(pictures.count_beginning, runs))
    longest = int(max(curve.trials[-1] for curve in curves))
    axes = pictures.take_axes(ax, 8.6, 4.6)
    scale = choose_scale(*_collect_values(curves, beginning, direction, optimum))
    scale.apply(axes)
    pictures.compress_beginning(axes, beginning, longest, f"first {beginning}")
    shared = beginning if _is_shared(curves, beginning) else 0
    _draw_curves(axes, curves, shared)
    if optimum is not None:
        draw_optimum(axes, optimum)
    is_cut = any(lie_outside(curve.mean, *axes.get_ylim()).any() for curve in curves)
    start = ", start beyond" * is_cut
    names = {pictures.name_objective(run, 0) for run in runs}
    what = "value" if len(names) > 1 else names.pop()
    axes.set(xlabel="trials finished", ylabel=f"best {what} ({direction}d){scale.describe(axes, np.empty(0))}{start}")
    pictures.clear_frame(axes)
    error = ", ± one standard error" if any(curve.error is not None for curve in curves) else ""
    axes.set_title(f"{pictures.describe_means('best value', groups.values())}{error}", loc="left", fontsize=10, pad=14)
    _put_legend_beside(axes, curves, direction)
    return axes


def save_figure(ax: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a figure to a file, in the format of the file's ending.

    path: file that ends in ``.png``, ``.svg`` or ``.pdf``. An earlier plot of bostruct is replaced.
    overwrite: True also replaces a file that bostruct did not write, but never a database.

    Raises ValueError for another ending; OutputRefused, a FileExistsError, for a file that it must not replace;
    OSError.
    """
    ending = os.path.splitext(os.fsdecode(path))[1].lower().removeprefix(".")
    if ending not in PICTURE_METADATA:  # other formats have no metadata by which the next call recognizes our file
        raise ValueError(f"path: expected a file that ends in .png, .svg or .pdf; got {os.fsdecode(path)}")
    write_output(path, draw_picture(ax, ending), "picture", overwrite=overwrite)


def draw_picture(ax: Any, kind: str) -> bytes:
    """Return the content of a figure's file, with metadata that mark an output of bostruct."""
    first, drawn = ax.ravel()[0] if isinstance(ax, np.ndarray) else ax, BytesIO()
    first.figure.savefig(drawn, format=kind, dpi=150, metadata=PICTURE_METADATA[kind])
    return drawn.getvalue()


def draw_optimum(axes: Axes, optimum: float) -> None:
    """Draw the optimum as a line with its value, or only name it in the legend if it is beyond the axis.

    optimum: the best possible value, in the user's units.
    """
    label = f"optimum {optimum:.6g}"
    if np.any(find_beyond(axes, np.array([optimum]))):
        axes.plot([], [], label=f"{label}, not in the picture", **pictures.DASHED)
    else:
        axes.axhline(optimum, label=label, zorder=1, **pictures.DASHED)


def choose_run_scale(result: Result, optimum: float | None = None) -> ValueScale:
    """Return the scale of the values of a run in `plot_history`.

    optimum: the best possible value, shown if it is near; None if unknown.
    """
    steps, beginning = result.incumbents, pictures.count_beginning(result)
    completed = [step.finished for step in steps if step.finished.status == "completed"]
    chosen = [trial for trial in completed if trial.origin not in pictures.BEGINNING]
    kept = _list_run_values([trial for trial in chosen if trial.is_feasible])
    best = [step.best_value for step in steps[first_that_matters(beginning, len(steps)) - 1 :]]
    late = np.array([value for value in best if value is not None], dtype=np.float64)
    values = _list_run_values(completed)
    matters = pick_what_matters(values, late, kept, result.direction, optimum)
    middle = np.sort(_list_run_values(chosen))[len(chosen) // 2 :][:1]  # even if most violate a constraint
    return choose_scale(values, np.append(matters, middle))


def _list_run_values(trials: Sequence[Trial]) -> Array:
    return np.array([trial.value for trial in trials], dtype=np.float64)


def _mark_values(axes: Axes, finished: list[tuple[int, Trial]], best: Trial | None) -> None:
    """Mark every value except the best, which gets a star.

    finished: trials and their places on the axis of trials, from 1.
    """
    completed = [one for one in finished if one[1].status == "completed"]
    _draw_noise(axes, completed)
    groups: dict[ValueMark, list[tuple[int, Trial]]] = {}
    for at, trial in completed:
        if best is None or trial.number != best.number:
            groups.setdefault(_choose_mark(trial), []).append((at, trial))
    for mark, own in sorted(groups.items(), key=lambda group: group[0] in (STOPPED, BROKEN)):
        mark_values(axes, np.array([at for at, _ in own]), _list_run_values([trial for _, trial in own]), mark)


def _choose_mark(trial: Trial) -> ValueMark:
    if trial.broken:
        return BROKEN
    return STOPPED if trial.stopped_at is not None else ValueMark(trial.choice, *ORIGINS.get(trial.choice, UNKNOWN))


def _draw_noise(axes: Axes, completed: list[tuple[int, Trial]]) -> None:
    """Draw error bars of one standard deviation: of the known noise, or of the mean of several measurements."""
    noisy = [(at, trial.value, sd) for at, trial in completed if (sd := _noise_of(trial)) is not None]
    if noisy:
        at, values, sds = np.array(noisy, dtype=np.float64).T
        low, high = axes.get_ylim()
        is_seen = bool(np.any((values + sds >= low) & (values - sds <= high)))
        label = "noise, one s.d." if is_seen else None
        axes.errorbar(at, values, sds, fmt="none", ecolor=pictures.GRAY, elinewidth=0.8, label=label, zorder=1)


def _noise_of(trial: Trial) -> float | None:
    if trial.sd is not None:
        return trial.sd
    if len(trial.repeats) > 1:
        return float(np.std(trial.repeats, ddof=1) / math.sqrt(len(trial.repeats)))
    return None


def _draw_without_value(axes: Axes, finished: list[tuple[int, Trial]], direction: str) -> None:
    """Mark trials without a value at the worse border."""
    for status, (marker, color) in WITHOUT_VALUE.items():
        if own := [at for at, trial in finished if trial.status == status]:
            ink = color or pictures.choose_ink(axes)
            marks = mark_border(axes, np.array(own), direction == "minimize", 26, ink, marker)
            marks.set(label=f"{len(own)} {status}", linewidths=1.2, zorder=4)


def _draw_best(axes: Axes, result: Result, best: np.ndarray) -> None:
    """Draw the best so far as a step line, and label the best trial; write a note if no trial has a value."""
    trial = result.incumbents[-1].trial
    if trial is None:
        if not result.list_completed():
            axes.set_yticks([])
            pictures.write_in_middle(axes, pictures.explain_lack(result))
        return
    at = np.arange(1, len(best) + 1)
    is_known = ~np.isnan(best)
    label = "best so far" if is_known.sum() > 1 else None  # a line of one point is not visible
    ink = pictures.choose_ink(axes)
    axes.plot(at[is_known], best[is_known], drawstyle="steps-post", color=ink, linewidth=1.8, label=label, zorder=3)
    found, value = result.order.index(trial.number) + 1, float(best[-1])
    axes.scatter([found], [value], s=90, marker="*", color=ink, zorder=5)
    _draw_recommended(axes, result)
    name = f"\N{BLACK STAR} best {value:.6g}, {pictures.name_trial(result, trial.number)}"
    axes.annotate(  # above the axes, where there are no values
        name, (1, 1), (0, 3), "axes fraction", "offset points", ha="right", va="bottom", fontsize=9, color=ink
    )


def _draw_recommended(axes: Axes, result: Result) -> None:
    """Draw a ring around the recommended trial, if the model recommends a trial with another value than the best."""
    found = result.recommended
    if found.mean is None or found.trial.value == result.best_value:
        return
    at, height = result.order.index(found.trial.number) + 1, np.clip(found.trial.values[0], *axes.get_ylim())
    look: pictures.Look = {"facecolor": "none", "edgecolor": pictures.ORANGE, "linewidth": 1.6}
    axes.scatter(at, height, s=80, label=f"recommended, trial {found.trial.number}", zorder=5, **look)


class _Curve(NamedTuple):
    """The mean best value of several runs.

    trials: (t,); all runs have a value by the first of these trials.
    mean, error: mean and its standard error (t,); the error is None for one run.
    runs: number of runs.
    """

    label: str
    trials: Array
    mean: Array
    error: Array | None
    runs: int


def best_so_far(results: Sequence[Result]) -> tuple[Array, Array]:
    """Return trials (t,), from the first trial by which every result has a value, and best values (r, t).

    Raises ValueError if a result has no value.
    """
    curves = [[math.nan if s.best_value is None else s.best_value for s in result.incumbents] for result in results]
    if any(not curve or math.isnan(curve[-1]) for curve in curves):
        raise ValueError("results: expected a feasible completed trial in each, got a result without one")
    longest = max(map(len, curves))
    padded = np.array([curve + [curve[-1]] * (longest - len(curve)) for curve in curves])
    first = int(np.isnan(padded).sum(axis=1).max())
    return np.arange(first + 1, longest + 1, dtype=np.float64), padded[:, first:]


def _group_by_method(results: object) -> dict[str, list[Result]]:
    """Return the results of each curve by its name; raise TypeError if a curve has no result, BostructError."""
    groups = results if isinstance(results, Mapping) else {"": results}
    named = {str(label): pictures.list_runs(str(label), group) for label, group in groups.items()}
    if not named or not all(named.values()):
        raise TypeError("results: expected at least one Result for each curve, got none")
    for result in (result for group in named.values() for result in group):
        pictures.require_single("results", result)
    if "" in named:
        count = len(named[""])
        named = {"1 run" if count == 1 else f"mean of {count} runs": named[""]}
    return named


def _mean_curve(label: str, group: list[Result]) -> _Curve:
    trials, best = best_so_far(group)
    error = best.std(axis=0, ddof=1) / math.sqrt(len(group)) if len(group) > 1 else None
    return _Curve(label, trials, best.mean(axis=0), error, len(group))


def _collect_values(curves: list[_Curve], beginning: int, direction: str, optimum: float | None) -> tuple[Array, Array]:
    """Return all values of curves, and the values that the axis must show: all after the initial phase."""
    values = np.concatenate([curve.mean for curve in curves])
    longest = int(max(curve.trials[-1] for curve in curves))
    first = first_that_matters(beginning, longest)
    late = np.concatenate([curve.mean[curve.trials >= first] for curve in curves])
    ends = [one.mean[-1:] + sign * one.error[-1:] for one in curves if one.error is not None for sign in (-1, 1)]
    inner = np.concatenate([late if len(late) else values, *ends])
    return values, pick_what_matters(np.empty(0), inner, np.empty(0), direction, optimum)


def _is_shared(curves: list[_Curve], beginning: int) -> bool:
    """Return whether all curves are equal in the first trials, because their initial points are the same."""
    early = [(curve.trials[curve.trials <= beginning], curve.mean[curve.trials <= beginning]) for curve in curves]
    at, mean = early[0]
    return all(np.array_equal(at, x) and np.allclose(mean, y, rtol=1e-9) for x, y in early) and len(at) > 0


def _draw_curves(axes: Axes, curves: list[_Curve], shared: int) -> None:
    """Draw all curves, their shared first trials only once."""
    stair: pictures.Look = {"drawstyle": "steps-post", "zorder": 3}
    if shared:
        at = curves[0].trials <= shared
        axes.plot(curves[0].trials[at], curves[0].mean[at], color=pictures.GRAY, linewidth=1.8, **stair)
    for number, curve in enumerate(curves):
        style = pictures.curve_style(number)
        own = curve.trials >= shared
        trials, mean = curve.trials[own], curve.mean[own]
        step = max(len(trials) // 8, 1)
        every = ((number * step) // max(len(curves), 1) % step, step) if len(trials) > 1 else None
        axes.plot(trials, mean, linewidth=1.6, markevery=every, label=curve.label, **stair, **style)
        if curve.error is not None:
            _draw_error(axes, curve, own, number, len(curves), style["color"])


def _draw_error(axes: Axes, curve: _Curve, own: BoolArray, number: int, count: int, color: str) -> None:
    assert curve.error is not None  # of several runs
    trials, mean, error = curve.trials[own], curve.mean[own], curve.error[own]
    if count <= MOST_BANDS:
        axes.fill_between(trials, mean - error, mean + error, step="post", color=color, alpha=0.18, linewidth=0)
        return
    right = axes.get_xlim()[1]
    width = 0.012 * (right - 0.5)
    place = trials[-1] + width * (number + 1)
    axes.set_xlim(right=max(right, trials[-1] + width * (count + 1)))
    axes.errorbar([place], mean[-1:], error[-1:], fmt="none", ecolor=color, elinewidth=1.4, capsize=2, zorder=3)


def _put_legend_beside(axes: Axes, curves: list[_Curve], direction: str) -> None:
    """Put a legend next to the axes, with the final means and their standard errors, the best first."""
    sign = 1.0 if direction == "minimize" else -1.0
    handles, labels = axes.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    order = sorted(curves, key=lambda curve: sign * float(curve.mean[-1]))
    named = [(by_label.pop(curve.label), _describe_end(curve)) for curve in order]
    named += [(handle, label) for label, handle in by_label.items()]
    handles, labels = zip(*named, strict=True)
    axes.legend(handles, labels, handlelength=3.6, borderaxespad=0.0, **pictures.BESIDE)


def _describe_end(curve: _Curve) -> str:
    end = f"{pictures.shorten_label(curve.label)}  {curve.mean[-1]:.4g}"
    return end if curve.error is None else f"{end} ± {curve.error[-1]:.2g}"
