"""Plots of several objectives: the Pareto front among the completed trials, and its hypervolume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bostruct.analysis import pictures
from bostruct.analysis.axes import choose_ends, clip_to_axis, label_points, lie_outside, pad_ends
from bostruct.analysis.tables import format_corner
from bostruct.checks import check_integer, short_repr
from bostruct.contracts import Array
from bostruct.display import printable
from bostruct.goals.pareto import default_reference
from bostruct.study.history import Trial
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from bostruct.study.study import Study

AXIS_PAD = 0.06  # share of an axis that leaves out some trials, at each end


def plot_front(result: Result | Study, ax: Axes | None = None, objectives: tuple[int, int] = (0, 1)) -> Axes:
    """Plot the completed trials by two objectives, with their Pareto front.

    Trials that violate a constraint are hollow; trials that `Result.where` removed are not drawn. If trials far from
    the front would squeeze the others, the axes end before them, and the legend counts them. With three or more
    objectives, the front of all objectives is drawn without a line, and the title names the two objectives.

    Parameters
    ----------
    result : Result or Study
        A result or study of several objectives.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, axes of a new figure.
    objectives : tuple of (int, int), default (0, 1)
        The positions of the objectives on the x and y axes.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    TypeError, ValueError
        If an argument is invalid, or there is nothing to draw.
    """
    result = pictures.require_result(result)
    objectives = _check(result, objectives)
    axes = pictures.take_axes(ax, 7.2, 4.6)
    completed = result.list_completed()
    front = list(result.pareto_front) if result.has_feasible else []
    on_front = {trial.number for trial in front}
    others = [trial for trial in completed if trial.is_feasible and trial.number not in on_front]
    broken = [trial for trial in completed if not trial.is_feasible]
    look: pictures.Look = {"color": pictures.GRAY, "alpha": 0.7, "linewidths": 0, "zorder": 2}
    if others:
        axes.scatter(*_read(others, objectives), s=18, label="dominated", **look)
    look = {"facecolors": "none", "edgecolors": pictures.GRAY, "zorder": 1}
    if broken:
        axes.scatter(*_read(broken, objectives), s=18, label="violates a constraint", **look)
    stair = _draw_stair(result, front, objectives, axes) if result.goals.n_objectives == 2 else np.empty((0, 2))
    if front:
        axes.scatter(*_read(front, objectives), s=34, color=pictures.BLUE, label=f"front of {len(front)}", zorder=4)
    names = [f"{pictures.name_objective(result, k)} ({result.goals.directions[k]}d)" for k in objectives]
    axes.set(xlabel=names[0], ylabel=names[1])
    beyond = _end_behind_front(axes, completed, front, objectives, result.goals.directions)
    pictures.clear_frame(axes, "both")
    failed = result.n_failed + result.n_infeasible
    pictures.set_title(
        axes, result, _name_projection(result.goals.n_objectives, objectives), note=pictures.describe_limits(result)
    )
    if beyond:
        axes.plot([], [], " ", label=f"{beyond} beyond the axes")
    if failed:
        axes.plot([], [], " ", label=f"{failed} without values, not drawn")
    pictures.put_legend_below(axes)
    label_points(axes, _list_ends(front, objectives), np.column_stack(_read(completed, objectives)), stair)
    return axes


def _end_behind_front(
    axes: Axes, completed: list[Trial], front: list[Trial], objectives: tuple[int, int], directions: Sequence[str]
) -> int:
    """Limit the axes to the front and most other trials if the rest is far, and return how many lie beyond."""
    values, best = np.array(_read(completed, objectives)), np.array(_read(front, objectives))
    turned = [directions[position] for position in objectives]

    def choose_all(shown: Array) -> list[tuple[float, float]]:
        return [choose_ends(*one) for one in zip(shown, best, turned, strict=True)]

    first = zip(values, choose_all(values), strict=True)
    far = np.any([lie_outside(own, *ends) for own, ends in first], axis=0)
    beyond = np.zeros(len(completed), dtype=bool)
    # again without far trials: a trial beyond one axis would stretch the other axis without being visible
    for set_limits, own, ends in zip((axes.set_xlim, axes.set_ylim), values, choose_all(values[:, ~far]), strict=True):
        if lie_outside(own, *ends).any():
            padded = pad_ends(*ends, AXIS_PAD)
            set_limits(*padded)
            beyond |= lie_outside(own, *padded)
    return int(beyond.sum())


def _list_ends(front: list[Trial], objectives: tuple[int, int]) -> list[tuple[str, float, float]]:
    """Return the names and coordinates of the trials at both ends of the front."""
    across, up = objectives
    ends = sorted(front, key=lambda trial: trial.values[across])
    named = {trial.number: trial for trial in (*ends[:1], *ends[-1:])}
    return [(f"trial {number}", trial.values[across], trial.values[up]) for number, trial in named.items()]


def _name_projection(k: int, objectives: tuple[int, int]) -> str:
    """Return which two of k objectives a plot shows, and which not; empty if it shows all."""
    hidden = [str(position) for position in range(k) if position not in objectives]
    drawn = " and ".join(map(str, objectives))
    return f"projection (objectives {drawn}, not {', '.join(hidden)})" if hidden else ""


def _check(result: Result, objectives: object) -> tuple[int, int]:
    """Return the positions of two objectives; raise TypeError or ValueError if they cannot be drawn."""
    k = result.goals.n_objectives
    if k < 2:
        raise ValueError("result: expected a result with several objectives; plot_history draws a single objective")
    wanted = f"objectives: expected two different positions from 0 to {k - 1}, got {short_repr(objectives)}"
    if not isinstance(objectives, Sequence | np.ndarray) or isinstance(objectives, str):
        raise TypeError(wanted)
    pair = [check_integer("objectives", position, 0) for position in objectives]
    if len(pair) != 2 or pair[0] == pair[1] or not all(position in range(k) for position in pair):
        raise ValueError(wanted)
    if not result.list_completed():
        raise ValueError("result: expected at least one completed trial, got none")
    return pair[0], pair[1]


def _read(trials: list[Trial], objectives: tuple[int, int]) -> tuple[list[float], list[float]]:
    across, up = (clip_to_axis([trial.values[position] for trial in trials]).tolist() for position in objectives)
    return across, up


def _draw_stair(result: Result, front: list[Trial], objectives: tuple[int, int], axes: Axes) -> Array:
    """Draw the boundary of the region that the front dominates, and return its corners (n, 2)."""
    if not front:
        return np.empty((0, 2))
    xs, ys = (np.array(numbers) for numbers in _read(front, objectives))
    order = np.argsort(xs, kind="stable")
    xs, ys = xs[order], ys[order]
    is_least = result.goals.directions[objectives[0]] == "minimize"
    axes.plot(xs, ys, drawstyle="steps-post" if is_least else "steps-pre", color=pictures.BLUE, linewidth=1.4, zorder=3)
    corners = np.repeat(np.column_stack([xs, ys]), 2, axis=0)
    return np.column_stack([corners[1:, 0], corners[:-1, 1]] if is_least else [corners[:-1, 0], corners[1:, 1]])


def plot_hypervolume(
    results: Result | Study | Mapping[str, Sequence[Result | Study]],
    ax: Axes | None = None,
    reference: Sequence[float] | None = None,
) -> Axes:
    """Plot the hypervolume of the Pareto front against the number of trials, one curve for each name.

    Parameters
    ----------
    results : Result, Study, or dict of sequences of them
        One run, or several runs by name, all with the same objectives.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, axes of a new figure.
    reference : sequence of float, optional
        The reference point, one number for each objective. By default, the joint reference point of all results.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    TypeError, ValueError
        If an argument is invalid, or there is nothing to draw.
    """
    groups = _group_by_name(results)
    runs = [result for group in groups.values() for result in group]
    _check_goals(runs)
    corner = find_corner(runs) if reference is None else reference
    axes = pictures.take_axes(ax, 8.2, 4.2)
    drawn = _draw_volumes(axes, groups, corner)
    place = "" if corner is None else f"\n{format_corner(corner, 4)}"
    axes.set(xlabel="trials finished", ylabel=f"hypervolume of the front (larger is better){place}")
    pictures.clear_frame(axes)
    pictures.name_trials(axes, max(len(run.order) for run in runs))
    if not any(np.any(line.get_ydata()) for line in drawn):
        _explain_zero(axes, drawn, runs)
    if len(runs) == 1:
        (label,) = groups
        named = f"{pictures.shorten_label(label)}: " if label != runs[0].method else ""
        pictures.set_title(axes, runs[0], f"{named}hypervolume")
        return axes
    axes.set_title(pictures.describe_means("hypervolume", groups.values()), loc="left", fontsize=10)
    axes.legend(handlelength=3.6, **pictures.BESIDE)
    return axes


def _draw_volumes(axes: Axes, groups: Mapping[str, list[Result]], corner: Sequence[float] | None) -> list[Line2D]:
    """Draw the mean hypervolume for each name, and return the curves."""
    drawn: list[Line2D] = []
    for number, (name, group) in enumerate(groups.items()):
        volumes = [result.hypervolumes(corner) for result in group]
        longest = max(map(len, volumes))
        padded = np.array([[*one, *(one[-1:] or (0.0,)) * (longest - len(one))] for one in volumes])
        look = {"drawstyle": "steps-post", "label": pictures.shorten_label(name), **pictures.curve_style(number)}
        every = [*range(0, longest - 1, max(longest // 8, 1)), longest - 1]
        drawn += axes.plot(range(1, longest + 1), padded.mean(axis=0), markevery=every, **look)
    return drawn


def _explain_zero(axes: Axes, drawn: list[Line2D], runs: list[Result]) -> None:
    """Write why all hypervolumes are zero, on an axis that starts at zero."""
    if any(run.has_feasible for run in runs):
        reason = "no trial is better than the corner in every objective"
    elif len(runs) == 1:
        reason = pictures.explain_lack(runs[0])
    elif any(run.list_completed() for run in runs):
        limits = ", ".join(map(str, runs[0].goals.limits))
        reason = pictures.escape_dollars(printable(f"no trial of {len(runs)} runs satisfies all constraints: {limits}"))
    else:
        reason = f"no trial of {len(runs)} runs has completed"
    axes.set(ylim=(0.0, 1.0), yticks=[0.0])
    for line in drawn:
        line.set(clip_on=False, zorder=3)  # in front of the frame
    pictures.write_in_middle(axes, reason)


def _check_goals(runs: list[Result]) -> None:
    """Raise ValueError if there is no run, or if two runs have different goals."""
    if not runs:
        raise ValueError("results: expected at least one Result, got none")
    first = runs[0].goals
    for goals in (run.goals for run in runs):
        if (goals.directions, goals.limits) != (first.directions, first.limits):
            raise ValueError(f"results: expected runs with equal goals, got {first}; and {goals}")


def _group_by_name(results: object) -> dict[str, list[Result]]:
    """Return the results by name, without empty groups; a single run has the name of its method."""
    if not isinstance(results, Mapping):
        alone = pictures.require_result(results)
        return {alone.method: [alone]}
    listed = {name: pictures.list_runs(str(name), group) for name, group in results.items()}
    return {name: group for name, group in listed.items() if group}


def find_corner(runs: list[Result]) -> list[float] | None:
    """Return the joint reference point of all feasible trials of some runs, in the user's units.

    runs: results with equal goals, at least one.

    Returns None if no trial satisfies all constraints, so that all hypervolumes are 0.
    """
    goals = runs[0].goals
    feasible = [trial for run in runs for trial in run.list_completed() if trial.is_feasible]
    values: Array = np.array([goals.orient(trial.values) for trial in feasible])
    if not len(values):
        return None
    return list(goals.orient(default_reference(values)))
