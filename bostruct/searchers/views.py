"""Histories as a part of a searcher is to see them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from bostruct.contracts import Array, Batch, HistoryView

Take = Callable[[Batch, Sequence[int]], Batch]


@dataclass(frozen=True, eq=False)
class View:
    """A history that was made of another one: a `HistoryView`.

    completed, running, failed: points with a value, points that are being evaluated, points told without a value.
    values: one for each completed point, minimized (n,).
    seen: the keys of all points ever asked or told.
    objectives, slacks: of the completed points, (n, k) and (n, c).
    variances: known ones of the noise of the values (n,), or None.
    whole: the history that this one is a part of to save time; None where nothing was left out for that.
    """

    completed: Batch
    values: Array
    running: Batch
    failed: Batch
    seen: AbstractSet[Hashable]
    objectives: Array
    slacks: Array
    variances: Array | None
    whole: HistoryView | None = field(default=None, repr=False)


def find_whole(history: HistoryView) -> HistoryView:
    """Return the history that another one is a part of to save time; the given one where it is no such part.

    history: any.
    """
    return history if not isinstance(history, View) or history.whole is None else history.whole


def keep(history: HistoryView, completed: Sequence[int], running: Sequence[int], take: Take) -> View:
    """Return a history with some of its completed and of its running points.

    history: all that was told so far.
    completed, running: positions of the points that are kept.
    take: the domain's.
    """
    kept, variances = list(completed), history.variances
    return View(
        take(history.completed, kept),
        history.values[kept],
        take(history.running, running),
        history.failed,
        history.seen,
        history.objectives[kept],
        history.slacks[kept],
        None if variances is None else variances[kept],
    )


def revalue(history: HistoryView, values: Array) -> View:
    """Return a history of one objective, with the same points.

    history: all that was told so far.
    values: one for each completed point, minimized (n,).
    """
    return View(
        history.completed,
        values,
        history.running,
        history.failed,
        history.seen,
        values[:, None],
        history.slacks,
        None,  # what is known of the noise is known of other values
    )
