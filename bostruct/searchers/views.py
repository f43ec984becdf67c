"""Views of a history that contain part of its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bostruct.contracts import Array, Batch, HistoryView

Take = Callable[[Batch, Sequence[int]], Batch]


def keep(history: HistoryView, completed: Sequence[int], running: Sequence[int], take: Take) -> HistoryView:
    """Return a history with some of its completed and running points."""
    kept = list(completed)
    names = ("values", "objectives", "violations", *([] if history.variances is None else ["variances"]))
    of_kept: Any = {name: getattr(history, name)[kept] for name in names}
    points = {"completed": take(history.completed, kept), "running": take(history.running, running)}
    return replace(history, whole=None, **points, **of_kept)


def revalue(history: HistoryView, values: Array) -> HistoryView:
    """Return the history with other values of a single objective.

    values: one for each completed point, minimized (n,).
    """
    # the known noise belongs to the original values
    return replace(history, values=values, objectives=values[:, None], variances=None, whole=None)
