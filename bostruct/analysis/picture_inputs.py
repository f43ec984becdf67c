"""Checks of what functions that draw are given: results, axes, positions of objectives, names of variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from bostruct.checks import check_integer, check_number, optional_import, short_repr
from bostruct.contracts import BostructError
from bostruct.display import new_axes
from bostruct.study.history import Trial
from bostruct.study.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


def require_result(study: object) -> Result:
    """Return the result of a study, or the result itself; raise TypeError for anything else.

    study: a Study or a Result.
    """
    result = getattr(study, "result", study)
    if not isinstance(result, Result):
        raise TypeError(f"result: expected a Result or a Study, got {short_repr(study)}")
    return result


def list_told(result: Result, objective: int) -> list[Trial]:
    """Return the completed trials that were kept, in the order told; raise BostructError, TypeError, ValueError.

    result: of a study.
    objective: the position of the objective to draw, from 0.
    """
    check_integer("objective", objective, 0, result.goals.n_objectives - 1)
    completed = result.list_completed()
    if not completed:
        raise BostructError("result: expected at least one completed trial, got none")
    return completed


def list_runs(name: str, group: object) -> list[Result]:
    """Return the results of one curve; raise TypeError for anything but several results or studies.

    name: of the curve; empty for none.
    group: as given.
    """
    if isinstance(group, Iterable) and not isinstance(group, str | bytes | Mapping):
        return [require_result(one) for one in group]
    own = f" for {name!r}" if name else ""
    got = f"a {type(group).__name__}" if isinstance(getattr(group, "result", group), Result) else short_repr(group)
    raise TypeError(f"results: expected a list of results{own}, such as [result], got {got}")


def take_axes(ax: object, width: float, height: float) -> Axes:
    """Return the axes that were given, or those of a new figure; raise TypeError for anything else, MissingExtra.

    ax: as given; None for a new figure.
    width, height: of a new figure, in inches.
    """
    return new_axes(width, height) if ax is None else _check_axes("ax", ax)


def take_panels(axes: object, count: int, what: str) -> NDArray[np.object_]:
    """Return axes that were given for the panels of a picture (n,); raise TypeError, ValueError.

    axes: as given, an array or a sequence.
    count: number of panels.
    what: the panels are, for the message.
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
    """Raise TypeError or ValueError unless names of variables are several, or None.

    names: as given.
    """
    if names is None:
        return
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"names: expected a list of names of variables, got {short_repr(names)}")
    if not list(names):
        raise ValueError("names: expected at least one name of a variable, got none")


def require_single(name: str, result: Result) -> Result:
    """Return a result of one objective; raise BostructError for one of several.

    name: of the argument, which opens the message.
    result: of a study.
    """
    if result.goals.n_objectives > 1:
        raise BostructError(
            f"{name}: the study has {result.goals.n_objectives} objectives, and this picture is of one; "
            "plot_front draws the best of several, plot_hypervolume their run"
        )
    return result


def check_optimum(optimum: object) -> None:
    """Raise TypeError or ValueError unless an optimum is a finite number, or None.

    optimum: as given.
    """
    if optimum is not None:
        check_number("optimum", optimum)
