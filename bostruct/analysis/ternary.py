"""A picture of a mixture of three parts: trials in a triangle whose corners are the pure parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bostruct.analysis import pictures
from bostruct.analysis.slices import find_best
from bostruct.checks import check_choice
from bostruct.contracts import Array, BostructError
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bostruct.study.study import Study

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])
LINES = (0.2, 0.4, 0.6, 0.8)  # shares of a part at which the triangle has a line


def plot_ternary(result: Result | Study, name: str | None = None, ax: Axes | None = None, objective: int = 0) -> Axes:
    """Plot the trials of a mixture of three parts in a triangle, colored by their values.

    A corner is a pure part. The best trial is a star.

    Parameters
    ----------
    result : Result or Study
        A result or study over a space with a `Mixture` or an `Allocation` of three parts.
    name : str, optional
        The variable. By default the first one with three parts.
    ax : matplotlib Axes, optional
        Axes to draw on. By default those of a new figure.
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
    trials = pictures.list_told(result, objective)
    variables = {} if result.domain is None else result.domain.variables
    known = [one for one, variable in variables.items() if len(variable.parts) == 3]
    if not known:
        raise BostructError("result: expected a variable of three parts; of others plot_effects draws two parts")
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
