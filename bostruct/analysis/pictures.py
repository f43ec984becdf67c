"""Checks of the arguments of plots, and their common colors, marks and titles.

Curves also differ in gray and for color-blind readers.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from bostruct.checks import check_number, check_objective, optional_import, short_repr
from bostruct.contracts import Array, BostructError, IntArray
from bostruct.display import new_axes, printable
from bostruct.study.history import Trial
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

BLUE, ORANGE, INK, GRAY, PALE = "#0072B2", "#D55E00", "#1f2933", "#7b8794", "#e4e7eb"  # the first two: Okabe and Ito
DIM = "#39424c"  # grid on a dark background
COLORS = (BLUE, ORANGE, INK, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#6B4A00", "#004D40", GRAY)
Look: TypeAlias = dict[str, Any]  # arguments of matplotlib by name
DASHED: Look = {"color": GRAY, "linestyle": (0, (4, 3)), "linewidth": 1.2}  # a reference line
BESIDE: Look = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "frameon": False, "fontsize": 9}
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), "solid", (0, (4, 1.5, 1, 1.5)), (0, (1.5, 1)))
MARKS = "os^DvPX*<>"
BEGINNING = ("given", "initial", "added", "double")  # origins of trials whose points the method did not choose itself
UNNAMED = "study"  # default name of a study
EDGE = 0.01  # share of the axis of trials at each end, for whole marks
LETTERS, LEAST_LETTERS = 15.0, 40  # letters of 9 points in an inch, and in a line of a title
LEGEND_MARK, LEGEND_LETTER = 46.0, 5.2  # points that a mark and a letter of a legend take
LEGEND_ROOM = 36.0  # points below the axes for tick labels and an axis label
MOST_DRAWN, MOST_DRAWN_LINES = 1_000, 300  # trials with a dot in each panel, and with a line
MOST_LETTERS = 32  # in a name on an axis
NOTE_WIDTH, MOST_LINES = 84, 4  # letters per line, and lines, of the note that no trial is feasible


def require_result(study: object) -> Result:
    """Return the result of a study, or the result itself; raise TypeError for anything else."""
    result = getattr(study, "result", study)
    if not isinstance(result, Result):
        raise TypeError(f"result: expected a Result or a Study, got {short_repr(study)}")
    return result


def list_observed(result: Result, objective: int) -> list[Trial]:
    """Return the completed trials of a result, in order of completion; raise BostructError, TypeError, ValueError.

    objective: position of the objective to draw, from 0.
    """
    check_objective(objective, result.goals.n_objectives)
    completed = result.list_completed()
    if not completed:
        raise BostructError("result: expected at least one completed trial, got none")
    return completed


def thin_trials(result: Result, trials: list[Trial], objective: int, most: int) -> list[Trial]:
    """Return all trials, or the maximum number of trials at evenly spaced ranks, including the best trial.

    most: maximum number of trials, at least 2.
    """
    if len(trials) <= most:
        return trials
    ranked = rank_trials(result, trials, objective)
    return [trials[i] for i in np.sort(ranked[np.linspace(0, len(trials) - 1, most).astype(int)])]


def rank_trials(result: Result, trials: Sequence[Trial], objective: int) -> IntArray:
    """Return the positions of completed trials: those that satisfy all constraints first, then the best first."""
    sign = -1.0 if result.goals.directions[objective] == "maximize" else 1.0
    values = [sign * trial.values[objective] for trial in trials]
    return np.lexsort((values, [bool(trial.broken) for trial in trials]))


def describe_thinning(count: int, most: int) -> str:
    """Return how many of the completed trials are drawn; empty if all are drawn."""
    return f"{most:,} of {count:,} trials drawn, evenly by rank" if count > most else ""


def list_runs(name: str, group: object) -> list[Result]:
    """Return the results of one curve; raise TypeError for anything but several results or studies."""
    if isinstance(group, Iterable) and not isinstance(group, str | bytes | Mapping):
        return [require_result(one) for one in group]
    own = f" for {name!r}" if name else ""
    got = f"a {type(group).__name__}" if isinstance(getattr(group, "result", group), Result) else short_repr(group)
    raise TypeError(f"results: expected a list of results{own}, such as [result], got {got}")


def take_axes(ax: object, width: float, height: float) -> Axes:
    """Return the given axes, or axes of a new figure; raise TypeError for anything else, MissingExtra.

    ax: the user's argument; None for a new figure.
    """
    return new_axes(width, height) if ax is None else _check_axes("ax", ax)


def take_panels(axes: object, count: int, what: str) -> NDArray[np.object_]:
    """Return the given axes for the panels of a plot (n,); raise TypeError, ValueError.

    count: number of panels.
    """
    panels = np.asarray(axes, dtype=object).ravel()
    if len(panels) != count:
        raise ValueError(f"axes: expected {what}, got {short_repr(axes)}")
    for panel in panels.tolist():
        _check_axes("axes", panel)
    return panels


def _check_axes(name: str, ax: object) -> Axes:
    if not isinstance(ax, optional_import("matplotlib.axes", "plot").Axes):
        raise TypeError(f"{name}: expected axes of matplotlib, got {short_repr(ax)}")
    return cast("Axes", ax)


def check_variable_names(names: object) -> None:
    """Raise TypeError or ValueError unless an argument is a non-empty list of names of variables, or None."""
    if names is None:
        return
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"names: expected a list of names of variables, got {short_repr(names)}")
    if not list(names):
        raise ValueError("names: expected at least one name of a variable, got none")


def require_single(name: str, result: Result) -> Result:
    """Return a result with one objective; raise BostructError for several objectives."""
    if result.goals.n_objectives > 1:
        raise BostructError(
            f"{name}: the study has {result.goals.n_objectives} objectives, and this plot shows only one; "
            "use plot_front or plot_hypervolume"
        )
    return result


def check_optimum(optimum: object) -> None:
    """Raise TypeError or ValueError unless an optimum is a finite number, or None."""
    if optimum is not None:
        check_number("optimum", optimum)


def curve_style(number: int) -> Look:
    """Return the look of a curve as arguments of matplotlib: neighbors differ in color, lightness, dashes and mark.

    number: number of the curve, from 0; from 10 onward, colors repeat with other dashes and marks.
    """
    lap = number // len(COLORS)
    dashes, mark = DASHES[(number + 2 * lap) % len(DASHES)], MARKS[(number + 3 * lap) % len(MARKS)]
    return {"color": COLORS[number % len(COLORS)], "linestyle": dashes, "marker": mark, "markersize": 5}


def explain_lack(result: Result) -> str:
    """Return why there is no best trial: none has completed, or none is feasible, with the nearest trial."""
    try:
        front = result.pareto_front
    except BostructError as error:
        message = printable(str(error))
        parts = [message] if len(message) <= NOTE_WIDTH else message.split("; ")
        lines = [line for part in parts for line in textwrap.wrap(part, NOTE_WIDTH)]
        more = [f"{lines[MOST_LINES - 1][: NOTE_WIDTH - 2]} …"] if len(lines) > MOST_LINES else lines[MOST_LINES - 1 :]
        return escape_dollars("\n".join([*lines[: MOST_LINES - 1], *more]))
    raise AssertionError(f"{len(front)} trials count")


def write_in_middle(axes: Axes, text: str) -> None:
    """Write a text in the middle of empty axes."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GRAY)


def describe_limits(result: Result) -> str:
    """Return the note that no trial is feasible, with the nearest trial; empty if one is, or no trial has a value."""
    return "" if result.has_feasible or not result.list_completed() else explain_lack(result)


def count_beginning(result: Result) -> int:
    """Return the number of finished trials before the first trial that the method chose from observed values."""
    origins = [result.trials[number].origin for number in result.order]
    return next((i for i, origin in enumerate(origins) if origin not in BEGINNING), len(origins))


def shorten_label(text: object, most: int = MOST_LETTERS) -> str:
    """Return a name or a value as one line of a plot; the middle of a long text is left out.

    most: maximum number of letters, at least 3.
    """
    return escape_dollars(_leave_out_middle(text, most))


def _leave_out_middle(text: object, most: int) -> str:
    line = printable(str(text))
    if len(line) <= most:
        return line
    half = (most - 1) // 2
    return f"{line[: most - 1 - half]}…{line[len(line) - half :]}"


def write_ordinal(n: int) -> str:
    """Return a number with its ending, such as 22nd.

    n: from 1.
    """
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{ending}"


def name_trial(result: Result, number: int) -> str:
    """Return a trial's name: its number, from 0, and its position on an axis of finished trials, from 1."""
    return f"trial {number}, the {write_ordinal(result.order.index(number) + 1)} to finish"


def set_title(axes: Axes, result: Result, what: str = "", *, note: str = "", has_second: bool = False) -> None:
    """Set the title of a plot: the name of the study, its method, and the number of finished trials.

    has_second: whether the same axes will get a second title on the right, in a separate line below.
    """
    study = escape_dollars(describe_study(result))
    lines = [f"{what} of {study}" if what else study, *([note] if note else []), *([""] if has_second else [])]
    title = "\n".join(lines)
    axes.set_title(title, loc="left", fontsize=10, pad=14)


def run_layout(axes: Axes) -> None:
    """Place the axes in their figure, if its layout is automatic, to measure them."""
    root: Any = axes.figure.canvas.figure  # the axes may be in a subfigure
    if (engine := root.get_layout_engine()) is not None:
        engine.execute(root)


def wrap_evenly(axes: Axes, line: str) -> list[str]:
    """Return a line of a title of 9 points as the fewest lines that fit above the axes, of nearly equal lengths."""
    width = max(int(LETTERS * axes.bbox.width / axes.figure.dpi), LEAST_LETTERS)
    count = len(textwrap.wrap(line, width))
    return next(lines for most in range(1, width + 1) if len(lines := textwrap.wrap(line, most)) <= count)


def describe_study(result: Result) -> str:
    """Return the name of a study, if any, its method, and the number of finished trials."""
    count = len(result.order)
    name = f"{_leave_out_middle(result.name, 48)}: " if result.name not in ("", UNNAMED) else ""
    return f"{name}{_leave_out_middle(result.method, MOST_LETTERS)}, {count} trial{'s' * (count != 1)}"


def describe_means(what: str, groups: Collection[Sequence[Result]]) -> str:
    """Return the title of a plot of means: the numbers of runs and trials, and the study's name if all runs share it.

    groups: the runs of each curve, at least one.
    """
    runs = [result for group in groups for result in group]
    counts, trials = _write_range(map(len, groups)), _write_range(len(result.order) for result in runs)
    names = {result.name for result in runs} - {"", UNNAMED}
    name = f" of {_leave_out_middle(names.pop(), 48)}" if len({result.name for result in runs}) == 1 and names else ""
    mean = "mean " * (counts != "1")
    each = " each" * (len(groups) > 1 and " to " not in counts)
    runs_text = f"{counts} run{'s' * (counts != '1')}{each}{name}, {trials} trial{'s' * (trials != '1')}"
    return f"{mean}{what} of {escape_dollars(runs_text)}"


def _write_range(numbers: Iterable[int]) -> str:
    listed = sorted(set(numbers))
    return f"{listed[0]:,}" if len(listed) == 1 else f"{listed[0]:,} to {listed[-1]:,}"


def escape_dollars(text: str) -> str:
    """Return a text with escaped dollar signs, which would start formulas in matplotlib."""
    return text.replace("$", r"\$")


def name_objective(result: Result, objective: int) -> str:
    """Return the label of the values on an axis: the objective's name; by default ``value`` or its position.

    objective: position of the objective, from 0.
    """
    return escape_dollars(result.goals.name_objective(objective))


def is_dark(axes: Axes) -> bool:
    """Return whether the style of the axes has a dark background."""
    to_rgb = optional_import("matplotlib.colors", "plot").to_rgb
    return float(np.dot(to_rgb(axes.get_facecolor()), (0.299, 0.587, 0.114))) < 0.5


def choose_ink(axes: Axes) -> str:
    """Return the color of texts and main lines, which contrasts with the background of the axes."""
    return PALE if is_dark(axes) else INK


def clear_frame(axes: Axes, grid: str = "y") -> None:
    """Remove two sides of the frame, and draw pale grid lines behind everything.

    grid: ``x``, ``y``, ``both`` or nothing.
    """
    axes.spines[["top", "right"]].set_visible(False)
    if grid:
        axes.grid(axis=grid, color=DIM if is_dark(axes) else PALE, linewidth=0.8)  # pyright: ignore[reportArgumentType]
    axes.set_axisbelow(True)


def count_columns(axes: Axes, labels: Sequence[str]) -> int:
    """Return the number of columns of a legend of 9 points in the fewest rows that fit in the figure."""
    room = 72.0 * axes.figure.bbox.width / axes.figure.dpi
    widths, counts = [LEGEND_MARK + LEGEND_LETTER * len(label) for label in labels], range(len(labels), 1, -1)
    most = next((n for n in counts if sum(map(max, np.array_split(widths, n))) <= room), 1)
    return math.ceil(len(labels) / math.ceil(len(labels) / most))


def put_legend_below(axes: Axes) -> None:
    """Put the legend below the axes, where it covers no data; no effect without labels."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        place: Look = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": count_columns(axes, labels)}
        axes.legend(handles, labels, borderaxespad=LEGEND_ROOM / 9.0, frameon=False, fontsize=9, **place)


def compress_beginning(axes: Axes, beginning: int, total: int, label: str) -> None:
    """Draw the first trials on gray in at most a seventh of the width, to leave room for the rest of the run.

    axes: axes whose x axis counts trials from 1.
    beginning: number of first trials, which are compressed unless they are few, or all.
    total: number of trials.
    """
    edge = max(0.5, EDGE * total)
    axes.set_xlim(1.0 - edge, max(total, 1) + edge)
    name_trials(axes, total)
    if not 0 < beginning < total:
        return
    border, slope = beginning + 0.5, min(1.0, (total - beginning) / 6.0 / beginning)
    left = 1.0 - edge / slope
    axes.axvspan(left, border, color="#20262c" if is_dark(axes) else "#f1f3f5", linewidth=0, zorder=0)
    axes.set_xscale("function", functions=(lambda x: _bend(x, border, slope), lambda x: _bend(x, border, 1.0 / slope)))
    axes.set_xlim(left, total + edge)
    axes.set_xticks(_choose_ticks(beginning, total, slope))
    above = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points"}
    axes.annotate(label, (left, 1.0), (0, 2), va="bottom", fontsize=8, color=GRAY, **above)


def name_trials(axes: Axes, total: int) -> None:
    """Set integer ticks on the x axis.

    axes: axes whose x axis counts trials from 1.
    total: number of trials.
    """
    if total <= 8:
        axes.set_xticks(range(1, total + 1))
    else:
        axes.xaxis.set_major_locator(optional_import("matplotlib.ticker", "plot").MaxNLocator(8, integer=True))


def _bend(x: Array, border: float, slope: float) -> Array:
    """Scale the distances left of a border, which stays fixed."""
    x = np.asarray(x, dtype=np.float64)
    return np.where(x < border, border + slope * (x - border), x)


def _choose_ticks(beginning: int, total: int, slope: float) -> list[int]:
    """Return the trials to label, without overlap: the first and last of the initial phase, and round later numbers."""
    from matplotlib.ticker import MaxNLocator

    width = slope * beginning + total - beginning
    found = MaxNLocator(7, integer=True, steps=[1, 2, 5, 10]).tick_values(beginning, total)
    first = [1] if slope * (beginning - 1) >= 0.05 * width else []
    return [*first, beginning, *(int(x) for x in found if beginning + 0.05 * width < x <= total)]
