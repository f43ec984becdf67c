"""Histories as a part of a searcher is to see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bostruct.contracts import Array, Batch, HistoryView

Take = Callable[[Batch, Sequence[int]], Batch]


def keep(history: HistoryView, completed: Sequence[int], running: Sequence[int], take: Take) -> HistoryView:
    """Return a history with some of its completed and of its running points."""
    kept, variances = list(completed), history.variances
    return HistoryView(
        take(history.completed, kept),
        history.values[kept],
        take(history.running, running),
        history.failed,
        history.seen,
        history.objectives[kept],
        history.violations[kept],
        None if variances is None else variances[kept],
    )


def revalue(history: HistoryView, values: Array) -> HistoryView:
    """Return a history of one objective, with the same points.

    values: one for each completed point, minimized (n,).
    """
    return HistoryView(
        history.completed,
        values,
        history.running,
        history.failed,
        history.seen,
        values[:, None],
        history.violations,
        None,  # what is known of the noise is known of other values
    )
