"""The picture of a search that changes points: which trial each one came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bostruct.analysis.axes import is_beyond
from bostruct.analysis.pictures import (
    BLUE,
    GRAY,
    ORANGE,
    clear_frame,
    compress_beginning,
    count_beginning,
    list_told,
    name_objective,
    name_trial,
    put_legend_below,
    require_result,
    require_single,
    set_title,
    take_axes,
)
from bostruct.analysis.plots import choose_run_scale
from bostruct.checks import optional_import
from bostruct.contracts import BostructError
from bostruct.study.history import Trial
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bostruct.study.study import Study

PARENT = "parent"  # in `Trial.info`: the number of the trial that a point is a change of


def plot_genealogy(result: Result | Study, ax: Axes | None = None) -> Axes:
    """Plot a line from each trial to the trial whose point it changed.

    The ancestors of the best trial are a thick line. Trials without parent and children are small. Methods that change
    earlier points record ``trial.info["parent"]``: ``evolution``, ``regularized-evolution``, ``annealing`` and
    ``hill-climbing``.

    Parameters
    ----------
    result : Result or Study
        A result or study of one objective.
    ax : matplotlib Axes, optional
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    BostructError
        If no parents are recorded, or no trial has completed.
    TypeError
        If an argument is invalid.
    """
    result = require_single("result", require_result(result))
    told = list_told(result, 0)
    places = {number: at for at, number in enumerate(result.order, start=1)}
    pairs = list_pairs(told)
    if not pairs:
        raise BostructError(
            f"result: no trial of {result.method} records which trial it came from; evolution, regularized-evolution, "
            "annealing and hill-climbing do, other methods use all observations"
        )
    scale = choose_run_scale(result)
    axes = take_axes(ax, 7.2, 4.4)
    scale.apply(axes, result.direction)
    beginning = count_beginning(result)
    compress_beginning(axes, beginning, len(result.order), f"first {beginning}")
    _draw_pairs(axes, pairs, places)
    if result.has_feasible:
        _draw_line_of(axes, result, list_ancestors(result.best_trial, told), places)
    values = np.array([trial.values[0] for trial in told])
    beyond = int(is_beyond(axes, values).sum())
    told = f"{name_objective(result, 0)} ({result.direction}d)"
    axes.set(xlabel="trials finished", ylabel=f"{told}{scale.describe(beyond)}")
    clear_frame(axes)
    set_title(axes, result, "genealogy")
    put_legend_below(axes)
    return axes


def _draw_pairs(axes: Axes, pairs: list[tuple[Trial, Trial]], places: dict[int, int]) -> None:
    """Draw all lines, with marks that grow with the number of children."""
    children: dict[int, int] = {}
    for parent, child in pairs:
        children[parent.number] = children.get(parent.number, 0) + 1
        children.setdefault(child.number, 0)
    lines = [[(places[trial.number], trial.values[0]) for trial in pair] for pair in pairs]
    collections = optional_import("matplotlib.collections", "plot")
    axes.add_collection(collections.LineCollection(lines, colors=GRAY, linewidths=0.7, alpha=0.6, zorder=1))
    by_number = {trial.number: trial for pair in pairs for trial in pair}
    axes.scatter(
        [places[number] for number in by_number],
        [trial.values[0] for trial in by_number.values()],
        s=[12.0 + 9.0 * children[number] for number in by_number],
        color=BLUE,
        linewidths=0,
        label="trial, larger with more children",
        zorder=2,
    )


def list_pairs(told: Sequence[Trial]) -> list[tuple[Trial, Trial]]:
    """Return each trial that is a change of another one, behind that other one."""
    numbered = {trial.number: trial for trial in told}
    return [(numbered[parent], trial) for trial in told if (parent := _find_parent(trial)) in numbered]


def list_ancestors(trial: Trial, told: Sequence[Trial]) -> list[Trial]:
    """Return a trial, the trial that it is a change of, and so on."""
    numbered = {one.number: one for one in told}
    line = {trial.number: trial}
    while (parent := _find_parent(trial)) in numbered and parent not in line:
        trial = line[parent] = numbered[parent]
    return list(line.values())


def _find_parent(trial: Trial) -> int:
    """Return the number of the trial that this one is a change of; -1 for none, as of a file that holds nonsense."""
    parent = trial.info.get(PARENT)
    return parent if isinstance(parent, int) else -1


def _draw_line_of(axes: Axes, result: Result, line: list[Trial], places: dict[int, int]) -> None:
    """Draw the best trial and its ancestors, and say how many there are."""
    xs, ys = [places[trial.number] for trial in line], [trial.values[0] for trial in line]
    label = f"best, {name_trial(result, line[0].number)}; {len(line) - 1} ancestors"
    axes.plot(xs, ys, color=ORANGE, linewidth=2.0, marker="D", markersize=4, label=label, zorder=3)
