"""Plot of the parents of trials, for methods that change earlier points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bostruct.analysis import pictures
from bostruct.analysis.axes import mark_beyond
from bostruct.analysis.plots import choose_run_scale
from bostruct.checks import optional_import
from bostruct.contracts import BostructError
from bostruct.study.history import Trial
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bostruct.study.study import Study

PARENT = "parent"  # key in `Trial.info`: the number of the trial whose point was changed


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
        Axes to draw on. By default, axes of a new figure.

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
    result = pictures.require_single("result", pictures.require_result(result))
    completed = pictures.list_observed(result, 0)
    places = {number: at for at, number in enumerate(result.order, start=1)}
    pairs = list_pairs(completed)
    if not pairs:
        raise BostructError(
            f"result: no trial of {result.method} records its parent; evolution, regularized-evolution, annealing and "
            "hill-climbing do, other methods use all observations"
        )
    scale = choose_run_scale(result)
    axes = pictures.take_axes(ax, 7.2, 4.4)
    scale.apply(axes)
    beginning = pictures.count_beginning(result)
    pictures.compress_beginning(axes, beginning, len(result.order), f"first {beginning}")
    xs, values = np.array([places[trial.number] for trial in completed]), np.array([t.values[0] for t in completed])
    children = Counter(parent.number for parent, _ in pairs)
    lines = [[(places[trial.number], trial.values[0]) for trial in pair] for pair in pairs]
    collections = optional_import("matplotlib.collections", "plot")
    axes.add_collection(collections.LineCollection(lines, colors=pictures.GRAY, linewidths=0.7, alpha=0.6, zorder=1))
    look: pictures.Look = {"color": pictures.BLUE, "linewidths": 0, "label": "trial, larger with more children"}
    axes.scatter(xs, values, s=[12.0 + 9.0 * children[trial.number] for trial in completed], zorder=2, **look)
    mark_beyond(axes, xs, values, pictures.BLUE)
    if result.has_feasible:
        line = list_ancestors(result.best_trial, completed)
        path = [places[trial.number] for trial in line], [trial.values[0] for trial in line]
        label = f"best, {pictures.name_trial(result, line[0].number)}; {len(line) - 1} ancestors"
        axes.plot(*path, color=pictures.ORANGE, linewidth=2.0, marker="D", markersize=4, label=label, zorder=3)
    name = f"{pictures.name_objective(result, 0)} ({result.direction}d)"
    axes.set(xlabel="trials finished", ylabel=f"{name}{scale.describe(axes, values)}")
    pictures.clear_frame(axes)
    pictures.set_title(axes, result, "genealogy")
    pictures.put_legend_below(axes)
    return axes


def list_pairs(completed: Sequence[Trial]) -> list[tuple[Trial, Trial]]:
    """Return a pair of parent and child for each trial with a parent."""
    numbered = {trial.number: trial for trial in completed}
    return [(numbered[parent], trial) for trial in completed if (parent := _find_parent(trial)) in numbered]


def list_ancestors(trial: Trial, completed: Sequence[Trial]) -> list[Trial]:
    """Return a trial, its parent, and so on."""
    numbered = {one.number: one for one in completed}
    line = {trial.number: trial}
    while (parent := _find_parent(trial)) in numbered and parent not in line:
        trial = line[parent] = numbered[parent]
    return list(line.values())


def _find_parent(trial: Trial) -> int:
    """Return the number of the parent of a trial; -1 without a parent, or if the stored value is invalid."""
    parent = trial.info.get(PARENT)
    return parent if isinstance(parent, int) else -1
