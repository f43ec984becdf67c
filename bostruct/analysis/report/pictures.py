"""The plots of a report: one entry per plot in a table, and their HTML."""

from __future__ import annotations

import base64
import gc
import re
import warnings
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, NamedTuple

import numpy as np

from bostruct.analysis.calibration import draw_calibration
from bostruct.analysis.coordinates import plot_parallel_coordinates
from bostruct.analysis.fronts import plot_front, plot_hypervolume
from bostruct.analysis.genealogy import list_ancestors, list_pairs, plot_genealogy
from bostruct.analysis.importances import plot_importance
from bostruct.analysis.pictures import GRAY, MOST_DRAWN, MOST_DRAWN_LINES, describe_thinning
from bostruct.analysis.report import tables
from bostruct.analysis.report.facts import Run
from bostruct.analysis.report.story import cut_end
from bostruct.analysis.slices import plot_slices, put_slice_legend
from bostruct.checks import load_by_name, optional_import
from bostruct.contracts import MissingExtra
from bostruct.display import Html, element, pluralize, printable
from bostruct.domains.architecture.value import Architecture
from bostruct.study.history import Trial

MOST_BARS = 15
MOST_SLICES = 4
MOST_COLUMNS = 10  # of parallel coordinates
MOST_ROWS = 3  # objectives with a row each
MOST_MARKS = 400  # in one artist; more are drawn as pixels, because each mark costs 100 bytes
WIDE, NARROW = 9.0, 5.4  # inches: full and half width of the page
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "bostruct"}
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def draw_pictures(run: Run) -> list[Html]:
    """Return all plots of a run, each as a figure with a title and an alternative text.

    Without matplotlib, return a paragraph about its installation.
    """
    try:
        optional_import("matplotlib", "plot")
    except MissingExtra as error:
        return [element("p", f"There are no pictures: {error}", class_="note")]
    return [drawn for one in PICTURES if (drawn := _frame(one, run)) is not None]


def _frame(picture: Picture, run: Run) -> Html | None:
    """Return a plot with its title; a note if it cannot be drawn; None if there is nothing to draw."""
    try:
        if not picture.is_drawn(run):
            return None
        text, source = printable(picture.describe(run)), _draw_svg(picture, run)
    except Exception as error:  # fonts and axes may not support some text or values; the tables still show all of it
        return element("p", f"{picture.title}: not drawn: {error!r}", class_="note")
    image = element("img", src=f"data:image/svg+xml;base64,{source}", alt=text)
    scroll = {"class_": "wide", "role": "region", "tabindex": "0", "aria_label": picture.title}
    framed = element("div", image, **(scroll if picture.size(run)[0] == WIDE else {}))
    return element("figure", framed, element("figcaption", picture.title))


def _draw_svg(picture: Picture, run: Run) -> str:
    """Return a plot as base64 SVG, deterministic for a run."""
    mpl, figures = optional_import("matplotlib", "plot"), optional_import("matplotlib.figure", "plot")
    gc.collect()  # the last figure is in reference cycles, which many trials keep from being collected
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about glyphs that the font lacks, but browsers have
        figure = figures.Figure(figsize=picture.size(run), layout="constrained")
        picture.draw(run, figure)
        figure.patch.set_alpha(0.0)  # the page is dark or light
        for one in figure.axes:
            one.patch.set_alpha(0.0)
        for artist in figure.findobj(optional_import("matplotlib.collections", "plot").Collection):
            if max(len(artist.get_offsets()), len(artist.get_paths())) > MOST_MARKS:
                artist.set_rasterized(True)
        text = StringIO()
        figure.savefig(text, format="svg", dpi=150, metadata={"Date": None})
    return base64.b64encode(NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text.getvalue()).encode()).decode()


class Picture(NamedTuple):
    """A plot of a run.

    is_drawn: returns whether a run has the data of the plot.
    """

    title: str
    is_drawn: Callable[[Run], bool]
    draw: Callable[[Run, Any], object]
    describe: Callable[[Run], str]
    size: Callable[[Run], tuple[float, float]] = lambda _: (WIDE, 4.0)


def count_rows(run: Run) -> int:
    """Return the number of objectives with a row in plots of variables."""
    return min(run.result.goals.n_objectives, MOST_ROWS)


def _describe_rows(run: Run) -> str:
    n = run.result.goals.n_objectives
    return "" if n == 1 else f" A row for each of the {'first ' if n > MOST_ROWS else ''}{count_rows(run)} objectives."


def count_bars(run: Run) -> int:
    """Return the number of bars in a row of the plot of importances."""
    return min(len(run.importances[0].main), MOST_BARS) if run.importances else 0


def draw_importances(run: Run, figure: Any) -> None:
    """Draw bars of the importances."""
    for objective, axes in enumerate(figure.subplots(count_rows(run), squeeze=False).flat):
        plot_importance(tables.clean_names(run.importances[objective]), axes, MOST_BARS)
        axes.set_ylabel("" if run.is_single else run.result.goals.name_objective(objective))


def describe_importances(run: Run) -> str:
    """Return the alternative text of the plot of importances."""
    first = list(tables.clean_names(run.importances[0]).main.items())[:3]
    named = ", ".join(f"{name} {one.share:.2f} ± {one.spread:.2f}" for name, one in first)
    bars = "Bars of the share of the variance that each variable explains by itself"
    return f"{bars}. The first: {named}.{_describe_rows(run)}"


def draw_slices(run: Run, figure: Any) -> None:
    """Draw slices along the most important variables."""
    count = min(len(run.sorted_variables[0]), MOST_SLICES)
    grid = figure.subplots(count_rows(run), count, squeeze=False)
    for objective, panels in enumerate(grid):
        plot_slices(run.result, run.sorted_variables[objective][:count], panels, objective)
        panels[0].set_title("", loc="left")  # wider than a panel; the page has one
    grid[0, 0].set_title(_note_thinning(run), loc="left", fontsize=8, color=GRAY)
    put_slice_legend(grid)


def _note_thinning(run: Run) -> str:
    return describe_thinning(len(run.result.list_completed()), MOST_DRAWN)


def describe_slices(run: Run) -> str:
    """Return the alternative text of the slices."""
    names = [cut_end(name, tables.LONGEST_EFFECT) for name in run.sorted_variables[0][:MOST_SLICES]]
    text = f"Observed values against each of {', '.join(names)}{', the most important first' * bool(run.importances)}"
    if run.recommended is not None and run.recommended.mean is not None:
        text += ", and the model's predictions if this variable of the best point changes, with 95% intervals"
    return f"{text}.{f' {note}.' if (note := _note_thinning(run)) else ''}{_describe_rows(run)}"


def draw_parallel_coordinates(run: Run, figure: Any) -> None:
    """Draw lines through the most important variables."""
    for objective, axes in enumerate(figure.subplots(count_rows(run), squeeze=False).flat):
        plot_parallel_coordinates(run.result, run.sorted_variables[objective][:MOST_COLUMNS], axes, objective)


def describe_parallel_coordinates(run: Run) -> str:
    """Return the alternative text of the parallel coordinates."""
    names = run.sorted_variables[0]
    shown = names[:MOST_COLUMNS]
    which = f"the {len(shown)} most important of {len(names)} variables" if len(names) > len(shown) else "its variables"
    count = len(run.result.list_completed())
    drawn = f"{MOST_DRAWN_LINES:,} of " if count > MOST_DRAWN_LINES else ""
    text = f"A line for each of {drawn}{pluralize(count, 'completed trial')} through {which}"
    text += f" ({', '.join(cut_end(name, tables.LONGEST_EFFECT) for name in shown)}) to its value, better up."
    return f"{text} Better trials are darker, and the best trial is thick.{_describe_rows(run)}"


def _describe_history(run: Run) -> str:
    values = [step.best_value for step in run.result.incumbents if step.best_value is not None]
    text = f"Values of {pluralize(len(run.result.list_completed()), 'completed trial')} in the order of completion"
    return f"{text}, and the best so far, which goes from {values[0]:.6g} to {values[-1]:.6g}."


def _describe_front(run: Run) -> str:
    goals = run.result.goals
    ranges = [(min(own), max(own)) for own in zip(*(trial.values for trial in run.front), strict=True)]
    listed = [f"{goals.name_objective(k)} from {low:.6g} to {high:.6g}" for k, (low, high) in enumerate(ranges)]
    return f"Completed trials by their first two objectives. The front of {len(run.front)} has {', '.join(listed)}."


def _describe_hypervolume(run: Run) -> str:
    volumes = run.result.hypervolumes()
    return f"Hypervolume of the Pareto front after each trial, which grows from {volumes[0]:.6g} to {volumes[-1]:.6g}."


def _list_ancestors(run: Run) -> list[Trial]:
    """Return the best trial and its ancestors; empty if no parents are recorded."""
    completed = run.result.list_completed()
    return list_ancestors(run.result.best_trial, completed) if run.has_best and list_pairs(completed) else []


def _describe_genealogy(run: Run) -> str:
    line, completed = _list_ancestors(run), run.result.list_completed()
    text = f"A line from each of {pluralize(len(list_pairs(completed)), 'trial')} to its parent."
    path = ", ".join(str(trial.number) for trial in line[1:]) or "none"
    return f"{text} The best is trial {line[0].number}; its ancestors, the parent first: {path}."


def find_architecture(point: object) -> Any:
    """Return the first architecture in a point, or None if it has none."""
    parts = point.values() if isinstance(point, Mapping) else (point,)
    return next((part for part in parts if isinstance(part, Architecture)), None)


def _best_architecture(run: Run) -> Any:
    trial = run.recommended.trial if run.recommended is not None else next(iter(run.front), None)
    return None if trial is None else find_architecture(trial.point)


def _draw_architecture(run: Run, figure: Any) -> object:
    axes = figure.subplots()
    drawn = load_by_name("bostruct.domains.architecture.drawing:plot_architecture")(_best_architecture(run), axes)
    width, height = np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())
    figure.set_size_inches(0.3 + 1.5 * width, 0.2 + 0.5 * height)
    return drawn


def _describe_architecture(run: Run) -> str:
    found = _best_architecture(run)
    return f"Drawing of the architecture, {len(found.layers)} layers, the input at the top: {cut_end(str(found), 300)}."


def _draw_calibration(run: Run, figure: Any) -> None:
    if run.left_out is not None:
        draw_calibration(run.result, run.left_out, 0, figure.subplots(1, 2))


PICTURES = (
    Picture(
        "History", lambda run: run.has_best, lambda run, figure: run.result.plot(figure.subplots()), _describe_history
    ),
    Picture(
        "Pareto front",
        lambda run: bool(run.front),
        lambda run, figure: plot_front(run.result, figure.subplots()),
        _describe_front,
        lambda _: (NARROW, 4.0),
    ),
    Picture(
        "Hypervolume",
        lambda run: bool(run.front),
        lambda run, figure: plot_hypervolume({run.result.method: [run.result]}, figure.subplots()),
        _describe_hypervolume,
        lambda _: (NARROW, 4.0),
    ),
    Picture(
        "Importances",
        lambda run: count_bars(run) > 1,
        draw_importances,
        describe_importances,
        lambda run: (WIDE, count_rows(run) * (1.3 + 0.24 * count_bars(run))),
    ),
    Picture(
        "Slices along single variables",
        lambda run: bool(run.sorted_variables[0]),
        draw_slices,
        describe_slices,
        lambda run: (WIDE, 0.5 + 2.4 * count_rows(run)),
    ),
    Picture(
        "Parallel coordinates",
        lambda run: len(run.sorted_variables[0]) > 1,
        draw_parallel_coordinates,
        describe_parallel_coordinates,
        lambda run: (WIDE, 4.2 * count_rows(run)),
    ),
    Picture(
        "Genealogy: each trial and its parent",
        lambda run: bool(_list_ancestors(run)),
        lambda run, figure: plot_genealogy(run.result, figure.subplots()),
        _describe_genealogy,
    ),
    Picture(
        "Calibration by leave-one-out predictions",
        lambda run: run.recommended is not None and run.recommended.mean is not None and run.left_out is not None,
        _draw_calibration,
        lambda run: (
            f"Observed values of {pluralize(len(run.left_out.numbers) if run.left_out else 0, 'trial')} against their "
            "leave-one-out predictions, with 95% intervals, and standardized residuals by trial."
        ),
        lambda _: (WIDE, 4.2),
    ),
    Picture(
        "Architecture",
        lambda run: _best_architecture(run) is not None,
        _draw_architecture,
        _describe_architecture,
        lambda _: (NARROW, 4.0),
    ),
)
