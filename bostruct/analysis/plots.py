"""The picture of a comparison, in which up to ten methods can be told apart; and writing any picture to a file."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.analysis.histories import draw_optimum, plot_history
from bostruct.analysis.picture_inputs import check_optimum, list_runs, require_result, require_single, take_axes
from bostruct.analysis.picture_style import (
    GRAY,
    clear_frame,
    compress_beginning,
    count_beginning,
    curve_style,
    describe_means,
    shorten_label,
)
from bostruct.analysis.value_axis import choose_scale, first_that_matters, is_beyond, pick_what_matters
from bostruct.contracts import Array
from bostruct.output_files import PICTURE_METADATA, write_output
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bostruct.study.study import Study

BoolArray = npt.NDArray[np.bool_]
MOST_BANDS = 3  # curves with a band each; of more, their intervals stand at the end of the run alone


class _Curve(NamedTuple):
    """The mean best value of several runs.

    label: of the legend. trials: (t,), by the first of which every run has a value. mean: (t,). error: its standard
    error (t,), None of one run. runs: their number.
    """

    label: str
    trials: Array
    mean: Array
    error: Array | None
    runs: int


def plot_convergence(
    results: Result | Study | Sequence[Result | Study] | Mapping[str, Sequence[Result | Study]],
    ax: Axes | None = None,
    optimum: float | None = None,
) -> Axes:
    """Draw the mean best value so far against trials, a curve a name, and return the matplotlib axes.

    Curves differ in color, lightness, dashes and marks. The legend stands beside them, best mean at the end first, with
    that mean and its standard error. Up to three curves have a band of one standard error to either side, more have a
    bar at the end. Initial points that all runs share are drawn once, gray and compressed. The axis of values is that
    of `plot_history`.

    results: a mapping of names to several results each; several results, as one curve; or one result, as
        `plot_history` draws it. A study stands for its result.
    ax: axes to draw on, None for those of a new figure.
    optimum: drawn as a line where known.

    Raises MissingExtra without matplotlib, BostructError for several objectives, TypeError or ValueError where there is
    no result to draw.
    """
    if isinstance(getattr(results, "result", results), Result):
        return plot_history(require_result(results), ax, optimum)
    check_optimum(optimum)
    groups = _group_results(results)
    curves = [_average(label, group) for label, group in groups.items()]
    runs = [result for group in groups.values() for result in group]
    direction, beginning = runs[0].direction, min(map(count_beginning, runs))
    longest = int(max(curve.trials[-1] for curve in curves))
    axes = take_axes(ax, 8.6, 4.6)
    scale = choose_scale(*_values_of(curves, beginning, direction, optimum))
    scale.apply(axes, direction)
    compress_beginning(axes, beginning, longest, f"first {beginning}")
    shared = beginning if _is_shared(curves, beginning) else 0
    _draw_curves(axes, curves, shared)
    if optimum is not None:
        draw_optimum(axes, optimum)
    is_cut = any(is_beyond(axes, curve.mean).any() for curve in curves)
    start = ", start beyond" * is_cut
    axes.set(xlabel="trials finished", ylabel=f"best value ({direction}d){scale.describe(0)}{start}")
    clear_frame(axes)
    error = ", ± one standard error" if any(curve.error is not None for curve in curves) else ""
    axes.set_title(f"{describe_means('best value', groups.values())}{error}", loc="left", fontsize=10, pad=14)
    _put_legend_beside(axes, curves, direction)
    return axes


def save_figure(ax: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a figure to a file, of the kind that its name ends in.

    ax: matplotlib axes of the figure, or an array of them.
    path: of the file, which ends in ``.png``, ``.svg`` or ``.pdf``. An earlier picture of bostruct is replaced.
    overwrite: True also replaces a file that bostruct did not write, but never a database.

    Raises ValueError for another ending; OutputRefused, a FileExistsError, for a file that it must not replace;
    OSError.
    """
    ending = os.path.splitext(os.fsdecode(path))[1].lower().removeprefix(".")
    if ending not in PICTURE_METADATA:  # a file of another kind has no mark by which the next call would know it
        raise ValueError(f"path: expected a file that ends in .png, .svg or .pdf; got {os.fsdecode(path)}")
    write_output(path, draw_picture(ax, ending), "picture", overwrite=overwrite)


def draw_picture(ax: Any, kind: str) -> bytes:
    """Return a figure as a file holds it, with the mark of an output of bostruct.

    ax: matplotlib axes of the figure, or an array of them.
    kind: of file, a key of `PICTURE_METADATA`.
    """
    first, drawn = ax.ravel()[0] if isinstance(ax, np.ndarray) else ax, BytesIO()
    first.figure.savefig(drawn, format=kind, dpi=150, metadata=PICTURE_METADATA[kind])
    return drawn.getvalue()


def best_so_far(results: Sequence[Result]) -> tuple[Array, Array]:
    """Return trials (t,) from the first by which every result has a value, and best values (r, t).

    results: r results. One that ended early, its space exhausted, keeps its last value.

    Raises ValueError where one has no value at all.
    """
    curves = [[math.nan if s.best_value is None else s.best_value for s in result.incumbents] for result in results]
    if any(not curve or math.isnan(curve[-1]) for curve in curves):
        raise ValueError("results: expected a completed trial that keeps all limits in each, got one without")
    longest = max(map(len, curves))
    padded = np.array([curve + [curve[-1]] * (longest - len(curve)) for curve in curves])
    first = int(np.isnan(padded).sum(axis=1).max())
    return np.arange(first + 1, longest + 1, dtype=np.float64), padded[:, first:]


def _group_results(results: object) -> dict[str, list[Result]]:
    """Return the results of each curve by its name; raise TypeError where one has none, BostructError."""
    groups = results if isinstance(results, Mapping) else {"": results}
    named = {str(label): list_runs(str(label), group) for label, group in groups.items()}
    if not named or not all(named.values()):
        raise TypeError("results: expected at least one Result for each curve, got none")
    for result in (result for group in named.values() for result in group):
        require_single("results", result)
    if "" in named:
        count = len(named[""])
        named = {"1 run" if count == 1 else f"mean of {count} runs": named[""]}
    return named


def _average(label: str, group: list[Result]) -> _Curve:
    trials, best = best_so_far(group)
    error = best.std(axis=0, ddof=1) / math.sqrt(len(group)) if len(group) > 1 else None
    return _Curve(label, trials, best.mean(axis=0), error, len(group))


def _values_of(curves: list[_Curve], beginning: int, direction: str, optimum: float | None) -> tuple[Array, Array]:
    """Return all values of curves, and those that the axis must show: all after the initial phase."""
    values = np.concatenate([curve.mean for curve in curves])
    longest = int(max(curve.trials[-1] for curve in curves))
    first = first_that_matters(beginning, longest)
    late = np.concatenate([curve.mean[curve.trials >= first] for curve in curves])
    ends = [
        curve.mean[-1:] + sign * curve.error[-1:] for curve in curves if curve.error is not None for sign in (-1, 1)
    ]
    inner = np.concatenate([late if len(late) else values, *ends])
    return values, pick_what_matters(np.empty(0), inner, np.empty(0), direction, optimum)


def _is_shared(curves: list[_Curve], beginning: int) -> bool:
    """Tell whether all curves are the same over the first trials, as they are from the same initial points."""
    early = [(curve.trials[curve.trials <= beginning], curve.mean[curve.trials <= beginning]) for curve in curves]
    at, mean = early[0]
    return all(np.array_equal(at, x) and np.allclose(mean, y, rtol=1e-9) for x, y in early) and len(at) > 0


def _draw_curves(axes: Axes, curves: list[_Curve], shared: int) -> None:
    """Draw all curves, what they share over the first trials once."""
    if shared:
        at = curves[0].trials <= shared
        axes.plot(curves[0].trials[at], curves[0].mean[at], drawstyle="steps-post", color=GRAY, linewidth=1.8, zorder=3)
    for number, curve in enumerate(curves):
        style = curve_style(number)
        own = curve.trials >= shared
        trials, mean = curve.trials[own], curve.mean[own]
        step = max(len(trials) // 8, 1)
        axes.plot(
            trials,
            mean,
            drawstyle="steps-post",
            color=style.color,
            linestyle=style.linestyle,
            linewidth=1.6,
            marker=style.marker,
            markersize=5,
            markevery=((number * step) // max(len(curves), 1) % step, step) if len(trials) > 1 else None,
            label=curve.label,
            zorder=3,
        )
        if curve.error is not None:
            _draw_error(axes, curve, own, number, len(curves), style.color)


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
    """List the curves beside them, the best at the end first, with the mean there and its standard error."""
    sign = 1.0 if direction == "minimize" else -1.0
    handles, labels = axes.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    order = sorted(curves, key=lambda curve: sign * float(curve.mean[-1]))
    named = [(by_label.pop(curve.label), _describe_end(curve)) for curve in order]
    named += [(handle, label) for label, handle in by_label.items()]
    handles, labels = zip(*named, strict=True)
    axes.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize=9,
        handlelength=3.6,
        borderaxespad=0.0,
    )


def _describe_end(curve: _Curve) -> str:
    end = f"{shorten_label(curve.label)}  {curve.mean[-1]:.4g}"
    return end if curve.error is None else f"{end} ± {curve.error[-1]:.2g}"
