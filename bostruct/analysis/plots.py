"""Pictures of runs, drawn on matplotlib axes that are returned; a notebook shows them, and no window opens."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bostruct.analysis.importances import Importances
from bostruct.checks import check_integer, short_repr
from bostruct.contracts import Array
from bostruct.display import new_axes
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BEST_COLOR = "#1f2933"
GRAY = "#7b8794"
ORIGINS = {  # color-blind safe: Okabe and Ito
    "given": ("#999999", "s"),
    "initial": ("#999999", "o"),
    "random": ("#E69F00", "D"),
    "model": ("#0072B2", "o"),
    "mutation": ("#CC79A7", "^"),
    "repeat": ("#56B4E9", "o"),
    "fallback": ("#D55E00", "v"),
    "added": ("#009E73", "s"),
}
CURVE_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#1f2933", "#999999")


def plot_convergence(
    results: Result | Sequence[Result] | Mapping[str, Sequence[Result]],
    ax: Axes | None = None,
    optimum: float | None = None,
) -> Axes:
    """Draw the best value so far against trials, and return the matplotlib axes.

    results: one result, with every value too, marked by how its point was chosen; several, as their mean and one
        standard error to either side; or a mapping of names to several results each, such a curve a name.
    ax: axes to draw on, None for those of a new figure.
    optimum: drawn as a line where known.

    Raises MissingExtra without matplotlib, TypeError or ValueError where there is no result to draw.
    """
    axes: Axes = new_axes(7.2, 4.2) if ax is None else ax
    if isinstance(results, Result):
        _draw_one(results, axes)
        direction = results.direction
    else:
        curves = _group_results(results)
        for (label, group), color in zip(curves.items(), _colors(len(curves)), strict=True):
            _draw_mean(label, group, color, axes)
        direction = next(iter(curves.values()))[0].direction
    if optimum is not None:
        axes.axhline(
            optimum, color=GRAY, linestyle=(0, (4, 3)), linewidth=1.2, label=f"optimum {optimum:.6g}", zorder=1
        )
    _label_axes(axes, direction)
    return axes


def plot_importance(found: Importances, ax: Axes | None = None, most: int = 20) -> Axes:
    """Draw bars of the largest shares that `bostruct.importance` found, with their spread, and return the axes.

    found: main effects and, where they were asked for, pairs.
    ax: axes to draw on, None for those of a new figure.
    most: number of bars at most, from 1.

    Raises MissingExtra without matplotlib, TypeError, ValueError.
    """
    check_integer("most", most, 1)
    if not isinstance(found, Importances):
        raise TypeError(f"found: expected what bostruct.importance gives, got {short_repr(found)}")
    named = [(name, effect, CURVE_COLORS[0]) for name, effect in found.main.items()]
    named += [(" x ".join(both), effect, CURVE_COLORS[1]) for both, effect in found.pairs.items()]
    named = sorted(named, key=lambda bar: -bar[1].share)[:most][::-1]
    axes: Axes = new_axes(7.2, 1.2 + 0.28 * len(named)) if ax is None else ax
    shares, spreads = [effect.share for _, effect, _ in named], [effect.spread for _, effect, _ in named]
    axes.barh([name for name, _, _ in named], shares, xerr=spreads, color=[color for _, _, color in named], ecolor=GRAY)
    axes.set_xlabel("share of the variance")
    axes.set_xlim(left=0.0)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def save_figure(ax: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, of the kind that its name ends in; raises ValueError for an unknown one.

    ax: matplotlib axes of the figure.
    path: of the file, which is overwritten.
    """
    ax.figure.savefig(path, dpi=150)


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


def _group_results(results: Sequence[Result] | Mapping[str, Sequence[Result]]) -> dict[str, list[Result]]:
    groups = results if isinstance(results, Mapping) else {"": results}
    named = {str(label): list(group) for label, group in groups.items()}
    for group in named.values():
        if not group or not all(isinstance(result, Result) for result in group):
            raise TypeError(
                f"results: expected a Result, several, or names with several each, got {short_repr(results)}"
            )
    if not named:
        raise TypeError("results: expected at least one Result, got none")
    if "" in named:
        named = {f"mean of {len(named[''])} runs": named[""]}
    return named


def _colors(count: int) -> list[str]:
    return [CURVE_COLORS[i % len(CURVE_COLORS)] for i in range(count)]


def _draw_one(result: Result, ax: Axes) -> None:
    trials, best = best_so_far([result])
    told = [(position, step.told) for position, step in enumerate(result.incumbents, start=1)]
    for origin in dict.fromkeys(trial.origin for _, trial in told):
        own = [(at, trial.value) for at, trial in told if trial.origin == origin and trial.is_feasible]
        color, marker = ORIGINS.get(origin, (GRAY, "x"))
        if own:
            xs, ys = zip(*own, strict=True)
            ax.scatter(xs, ys, s=16, color=color, marker=marker, alpha=0.75, linewidths=0, label=origin, zorder=2)
    broken = [(at, trial.value) for at, trial in told if trial.broken]
    if broken:
        ax.scatter(
            *zip(*broken, strict=True), s=16, facecolors="none", edgecolors=GRAY, label="breaks a limit", zorder=1
        )
    ax.plot(trials, best[0], drawstyle="steps-post", color=BEST_COLOR, linewidth=1.8, label="best so far", zorder=3)


def _draw_mean(label: str, group: list[Result], color: str, ax: Axes) -> None:
    trials, best = best_so_far(group)
    mean = best.mean(axis=0)
    ax.plot(trials, mean, drawstyle="steps-post", color=color, linewidth=1.8, label=label, zorder=3)
    if len(group) > 1:
        error = best.std(axis=0, ddof=1) / math.sqrt(len(group))
        ax.fill_between(trials, mean - error, mean + error, step="post", color=color, alpha=0.18, linewidth=0)


def _label_axes(ax: Axes, direction: str) -> None:
    ax.set_xlabel("trials finished")
    ax.set_ylabel(f"value ({direction}d)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=9)
