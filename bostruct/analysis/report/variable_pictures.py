"""The pictures of a report that show single variables, a row for each objective."""

from __future__ import annotations

from typing import Any

from bostruct.analysis.importances import plot_importance
from bostruct.analysis.parallel_coordinates import plot_parallel_coordinates
from bostruct.analysis.point_columns import read_columns
from bostruct.analysis.report.facts import Run
from bostruct.analysis.report.story import cut_end
from bostruct.analysis.report.tables import LONGEST_EFFECT, clean_names
from bostruct.analysis.slice_panels import put_slice_legend
from bostruct.analysis.slices import find_best, plot_slices, put_lacking_last, sort_by_share
from bostruct.contracts import BostructError
from bostruct.display import pluralize

MOST_BARS = 15
MOST_SLICES = 4
MOST_COLUMNS = 10  # of parallel coordinates
MOST_ROWS = 3  # objectives that have a row each
LEAST_TOLD = 2  # completed trials, below which a picture of single variables shows nothing


def count_rows(run: Run) -> int:
    """Return the number of objectives that have a row in pictures of variables.

    run: to draw.
    """
    return min(run.result.goals.n_objectives, MOST_ROWS)


def _say_objectives(run: Run) -> str:
    n = run.result.goals.n_objectives
    return "" if n == 1 else f" A row for each of the {'first ' if n > MOST_ROWS else ''}{count_rows(run)} objectives."


def sort_variables(run: Run, objective: int) -> list[str]:
    """Return the names of the variables that can be drawn on an axis, the most important first; none of few trials.

    Those that the best point lacks come last.

    run: to draw.
    objective: that they are important for, its position from 0.
    """
    told = run.result.list_completed()
    if len(told) < LEAST_TOLD:
        return []
    try:
        columns = read_columns(run.result, told, None).columns
    except BostructError:  # points that are not made of named variables
        return []
    shares = run.importances[objective].main if run.importances else {}
    best = find_best(run.result, told, objective)
    return [column.name for column in put_lacking_last(sort_by_share(columns, shares), best)]


def count_bars(run: Run) -> int:
    """Return the number of bars in a row of the picture of importances.

    run: to draw.
    """
    return min(len(run.importances[0].main), MOST_BARS) if run.importances else 0


def draw_importances(run: Run, figure: Any) -> None:
    """Draw bars of the importances.

    run: to draw.
    figure: an empty one.
    """
    for objective, axes in enumerate(figure.subplots(count_rows(run), squeeze=False).flat):
        plot_importance(clean_names(run.importances[objective]), axes, MOST_BARS)
        axes.set_ylabel("" if run.is_single else f"objective {objective}")


def describe_importances(run: Run) -> str:
    """Say in words what the picture of importances shows.

    run: that is drawn.
    """
    first = list(clean_names(run.importances[0]).main.items())[:3]
    said = ", ".join(f"{name} {one.share:.2f} ± {one.spread:.2f}" for name, one in first)
    bars = "Bars of the share of the variance that each variable explains by itself"
    return f"{bars}. The largest: {said}.{_say_objectives(run)}"


def draw_slices(run: Run, figure: Any) -> None:
    """Draw slices along the most important variables.

    run: to draw.
    figure: an empty one.
    """
    count = min(len(sort_variables(run, 0)), MOST_SLICES)
    grid = figure.subplots(count_rows(run), count, squeeze=False)
    for objective, panels in enumerate(grid):
        plot_slices(run.result, sort_variables(run, objective)[:count], panels, objective)
        panels[0].set_title("", loc="left")  # wider than a panel; the page has one
    put_slice_legend(grid)


def describe_slices(run: Run) -> str:
    """Say in words what the slices show.

    run: that is drawn.
    """
    names = [cut_end(name, LONGEST_EFFECT) for name in sort_variables(run, 0)[:MOST_SLICES]]
    said = f"Values told against each of {', '.join(names)}, the most important first"
    if run.recommended is not None and run.recommended.mean is not None:
        said += ", and what the model expects where this variable of the best point changes, with its 95 % interval"
    return f"{said}.{_say_objectives(run)}"


def draw_parallel_coordinates(run: Run, figure: Any) -> None:
    """Draw lines through the most important variables.

    run: to draw.
    figure: an empty one.
    """
    for objective, axes in enumerate(figure.subplots(count_rows(run), squeeze=False).flat):
        plot_parallel_coordinates(run.result, sort_variables(run, objective)[:MOST_COLUMNS], axes, objective)


def describe_parallel_coordinates(run: Run) -> str:
    """Say in words what the parallel coordinates show.

    run: that is drawn.
    """
    names = sort_variables(run, 0)
    shown = names[:MOST_COLUMNS]
    which = f"the {len(shown)} most important of {len(names)} variables" if len(names) > len(shown) else "its variables"
    said = f"A line for each of {pluralize(len(run.result.list_completed()), 'completed trial')} through {which}"
    said += f" ({', '.join(cut_end(name, LONGEST_EFFECT) for name in shown)}) to its value, better up."
    return f"{said} Better trials are darker, the best one is thick.{_say_objectives(run)}"
