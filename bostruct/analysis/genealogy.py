"""The picture of a search that changes points: which trial each one came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bostruct.analysis import pictures
from bostruct.analysis.axes import is_beyond
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
    result = pictures.require_single("result", pictures.require_result(result))
    told = pictures.list_told(result, 0)
    places = {number: at for at, number in enumerate(result.order, start=1)}
    pairs = list_pairs(told)
    if not pairs:
        raise BostructError(
            f"result: no trial of {result.method} records which trial it came from; evolution, regularized-evolution, "
            "annealing and hill-climbing do, other methods use all observations"
        )
    scale = choose_run_scale(result)
    axes = pictures.take_axes(ax, 7.2, 4.4)
    scale.apply(axes, result.direction)
    beginning = pictures.count_beginning(result)
    pictures.compress_beginning(axes, beginning, len(result.order), f"first {beginning}")
    _draw_pairs(axes, pairs, places)
    if result.has_feasible:
        line = list_ancestors(result.best_trial, told)
        xs, ys = [places[trial.number] for trial in line], [trial.values[0] for trial in line]
        label = f"best, {pictures.name_trial(result, line[0].number)}; {len(line) - 1} ancestors"
        axes.plot(xs, ys, color=pictures.ORANGE, linewidth=2.0, marker="D", markersize=4, label=label, zorder=3)
    values = np.array([trial.values[0] for trial in told])
    beyond = int(is_beyond(axes, values).sum())
    told = f"{pictures.name_objective(result, 0)} ({result.direction}d)"
    axes.set(xlabel="trials finished", ylabel=f"{told}{scale.describe(beyond)}")
    pictures.clear_frame(axes)
    pictures.set_title(axes, result, "genealogy")
    pictures.put_legend_below(axes)
    return axes


def _draw_pairs(axes: Axes, pairs: list[tuple[Trial, Trial]], places: dict[int, int]) -> None:
    """Draw all lines, with marks that grow with the number of children."""
    children = Counter(parent.number for parent, _ in pairs)
    lines = [[(places[trial.number], trial.values[0]) for trial in pair] for pair in pairs]
    collections = optional_import("matplotlib.collections", "plot")
    axes.add_collection(collections.LineCollection(lines, colors=pictures.GRAY, linewidths=0.7, alpha=0.6, zorder=1))
    by_number = {trial.number: trial for pair in pairs for trial in pair}
    xs, ys = [places[number] for number in by_number], [trial.values[0] for trial in by_number.values()]
    sizes = [12.0 + 9.0 * children[number] for number in by_number]
    label = "trial, larger with more children"
    axes.scatter(xs, ys, s=sizes, color=pictures.BLUE, linewidths=0, label=label, zorder=2)


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
