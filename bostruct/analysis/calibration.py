"""Plot of the calibration of a Gaussian process: each observed value against its leave-one-out prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bostruct.analysis.axes import choose_ends_from_best, clip_to_axis, label_points, lie_outside, pad_ends
from bostruct.analysis.pictures import BLUE, DASHED, GRAY, ORANGE, clear_frame, require_result, set_title, take_panels
from bostruct.display import new_axes, pluralize
from bostruct.study.predictions import HALF_WIDTH, LeftOutTrials
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from bostruct.study.study import Study

MOST_DEVIATIONS = 6.0  # larger residuals stand at the border, with their number
AXIS_PAD = 0.05  # share of the axis of observed values, at each end
FAR = 3.0  # a residual beyond which a trial counts as far off, and is named
MOST_NAMES = 5


def plot_calibration(
    study: Study | Result, objective: int = 0, axes: NDArray[np.object_] | None = None
) -> NDArray[np.object_]:
    """Plot each observed value against its leave-one-out prediction, to check the model.

    On the left are predictions with 95% intervals, noise included. On the right are the standardized errors by trial,
    which should look like a standard normal sample, with 95% of them between the lines. Predictions are in closed form
    (`Result.cross_validate`), with the hyperparameters learned from all values. Values far worse than most are
    triangles at the border of the left axis, which counts them. The best value is always inside.

    Parameters
    ----------
    study : Study or Result
        A study or result of a method with a Gaussian process, such as ``auto`` or ``combo``.
    objective : int, default 0
        The position of the objective, from 0.
    axes : array of two matplotlib Axes, optional
        Axes to draw on. By default, axes of a new figure.

    Returns
    -------
    array of shape (2,)
        The two axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    BostructError
        If the method has no Gaussian process, fewer than 3 trials have completed, or the result has lost its model.
    TypeError, ValueError
        If an argument is invalid.
    """
    result = require_result(study)
    return draw_calibration(result, result.cross_validate(objective), objective, axes)


def draw_calibration(
    result: Result, found: LeftOutTrials, objective: int, axes: NDArray[np.object_] | None
) -> NDArray[np.object_]:
    """Plot given predictions like `plot_calibration`, and return both matplotlib axes (2,).

    objective: position of their objective, from 0.
    axes: two axes to draw on; None for a new figure.

    Raises MissingExtra, TypeError, ValueError.
    """
    pair = take_panels(new_axes(9.6, 4.2, 1, 2) if axes is None else axes, 2, "two axes")
    of_objective = f", objective {objective}" if result.goals.n_objectives > 1 else ""
    _draw_predictions(pair[0], found, result.goals.directions[objective], of_objective)
    _draw_residuals(pair[1], found)
    set_title(pair[0], result, "leave-one-out")
    return pair


def _draw_predictions(axes: Axes, found: LeftOutTrials, direction: str, of_objective: str) -> None:
    is_inside = np.abs(found.residuals) <= HALF_WIDTH
    # The model does not compress a value that is far better, so all other intervals are as long as its distance.
    low, high = pad_ends(*choose_ends_from_best(clip_to_axis(found.observed), direction), AXIS_PAD)
    is_beyond = lie_outside(found.observed, low, high)
    for inside, color, marker in ((True, BLUE, "o"), (False, ORANGE, "D")):
        own = (is_inside == inside) & ~is_beyond
        if count := int(np.sum(is_inside == inside)):
            label = f"{pluralize(count, 'value')} {'inside' if inside else 'outside'} the 95% interval"
            look = {"fmt": marker, "ms": 4, "color": color, "ecolor": color, "elinewidth": 0.8, "alpha": 0.85}
            axes.errorbar(found.observed[own], found.mean[own], HALF_WIDTH * found.sd[own], label=label, **look)
    axes.plot([low, high], [low, high], label="observed = predicted", **DASHED)
    beyond = f", {int(is_beyond.sum())} beyond" if is_beyond.any() else ""
    axes.set(xlabel=f"observed ({direction}d{of_objective}){beyond}", ylabel="predicted without it, 95% interval")
    axes.set_xlim(low, high)
    _limit_predictions(axes, found, low, high)
    _mark_beyond(axes, found, is_inside)
    clear_frame(axes, "both")
    axes.legend(fontsize=8, loc="upper left", framealpha=0.85, edgecolor="none")  # before the intervals


def _mark_beyond(axes: Axes, found: LeftOutTrials, is_inside: NDArray[np.bool_]) -> None:
    """Mark values beyond the axis by triangles at the border, at the heights of their predictions."""
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for is_out, place, marker in ((found.observed < low, low, "<"), (found.observed > high, high, ">")):
        heights = np.clip(found.mean[is_out], bottom, top)
        colors = np.where(is_inside[is_out], BLUE, ORANGE).tolist()
        axes.scatter(np.full(len(heights), place), heights, s=26, c=colors, marker=marker, clip_on=False, zorder=3)


def _limit_predictions(axes: Axes, found: LeftOutTrials, low: float, high: float) -> None:
    """Limit the y axis, so that long intervals do not flatten the means."""
    span = high - low
    ends = float(np.min(found.mean - HALF_WIDTH * found.sd)), float(np.max(found.mean + HALF_WIDTH * found.sd))
    axes.set_ylim(min(low, max(ends[0], low - 0.5 * span)), max(high, min(ends[1], high + 0.5 * span)))


def _draw_residuals(axes: Axes, found: LeftOutTrials) -> None:
    """Draw standardized residuals by trial, and the lines that should contain 95% of them."""
    residuals = found.residuals
    is_inside = np.abs(residuals) <= HALF_WIDTH
    for own, color, marker in ((is_inside, BLUE, "o"), (~is_inside, ORANGE, "D")):
        heights = np.clip(residuals[own], -MOST_DEVIATIONS, MOST_DEVIATIONS)
        axes.scatter(found.numbers[own], heights, s=18, color=color, marker=marker, linewidths=0, zorder=2)
    for height, line in ((0.0, "solid"), (HALF_WIDTH, (0, (4, 3))), (-HALF_WIDTH, (0, (4, 3)))):
        axes.axhline(height, color=GRAY, linestyle=line, linewidth=1.0, zorder=1)
    axes.set(xlabel="number of the trial, from 0", ylabel="(observed - predicted) / s.d.")
    reach = max(3.0, 1.1 * min(float(np.max(np.abs(residuals))), MOST_DEVIATIONS))
    axes.set_ylim(-reach, reach)
    clear_frame(axes)
    verdict = describe_coverage(found).replace(": ", ":\n")  # two lines, which half a figure has room for
    axes.set_title(verdict, loc="left", fontsize=10, pad=14)
    _label_outliers(axes, found)


def _label_outliers(axes: Axes, found: LeftOutTrials) -> None:
    """Label the trials with the largest residuals, with the residual if it is beyond the border."""
    residuals = found.residuals
    heights = np.clip(residuals, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    outliers = [i for i in np.argsort(-np.abs(residuals)).tolist() if abs(residuals[i]) > FAR][:MOST_NAMES]
    labels = []
    for i in outliers:
        residual = f": {residuals[i]:.4g}" if abs(residuals[i]) > MOST_DEVIATIONS else ""
        labels.append((f"trial {found.numbers[i]}{residual}", float(found.numbers[i]), float(heights[i])))
    label_points(axes, labels, np.column_stack([found.numbers.astype(np.float64), heights]), np.empty((0, 2)))


def describe_coverage(found: LeftOutTrials) -> str:
    """Return how many of the values lie in their intervals, and a verdict."""
    count, n = int(np.sum(np.abs(found.residuals) <= HALF_WIDTH)), len(found.observed)
    tolerance = 2.0 * float(np.sqrt(0.95 * 0.05 / n))  # two standard errors of a share of 0.95
    verdict = "consistent with 95%" if abs(count / n - 0.95) <= max(tolerance, 1.0 / n) else ""
    if not verdict:
        verdict = "too sure of itself" if count / n < 0.95 else "too cautious"
    n_far, expected = int(np.sum(np.abs(found.residuals) > FAR)), 0.0027 * n
    if n_far > expected + 2.0 * float(np.sqrt(expected)):
        verdict = f"too sure of some, {n_far} beyond 3 s.d."
    return f"{count} of {n} in the 95% interval: {verdict}"
