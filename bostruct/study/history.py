"""Trials and histories as values: what was asked, what came back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bostruct.contracts import Array, Batch, Domain, Info, Presented
from bostruct.display import html_table

TrialStatus = Literal["running", "completed", "failed", "infeasible"]


@dataclass(frozen=True)
class Trial:
    """One point and what became of it.

    number: position in the study, from 0.
    point: the user's own values.
    status: running, completed, failed or infeasible.
    value: as the objective returned it, None unless completed.
    reason: why it failed, None unless failed or infeasible.
    info: how it was chosen (`origin`) and what that cost.
    started, finished: seconds since the epoch.
    unread: why the point, shown as it is stored, is none of the study's space, which changed; None where it is one.
    """

    number: int
    point: Presented
    status: TrialStatus
    value: float | None = None
    reason: str | None = None
    info: Info = field(default_factory=dict)
    started: float = 0.0
    finished: float | None = None
    unread: str | None = None

    @property
    def origin(self) -> str:
        """The way the point was chosen.

        ``given``: one of the user's `initial_points`. ``initial``: the method's own first points; files of version
        0.1.0 say so of the user's, too. ``model``, ``random``, ``fallback`` (a random point where the model had
        none): later points of the method. ``added``: data that the user added with its value.
        """
        return self.info.get("origin", "unknown")

    @property
    def is_canceled(self) -> bool:
        """True where `Study.cancel` gave it up: it is on record as failed, and says nothing of its point."""
        return "canceled" in self.info

    def _repr_html_(self) -> str:
        seconds = None if self.finished is None else f"{self.finished - self.started:.2f}"
        rows = {"status": self.status, "value": self.value, "reason": self.reason, "point": self.point}
        rows |= {"no data, for": self.unread}
        rows |= {"chosen by": self.origin, "seconds": seconds}
        return html_table([(k, v) for k, v in rows.items() if v is not None], caption=f"Trial {self.number}")


@dataclass(frozen=True, eq=False)
class History:
    """The history that a searcher sees: points as its domain holds them, values (n,) to minimize, in the order told.

    completed: points that have a value.
    values: one for each completed point.
    running: points that were asked and are not finished.
    failed: points that failed or were infeasible.
    seen: the keys of all points ever asked or told, whatever became of them.
    """

    completed: Batch
    values: Array
    running: Batch
    failed: Batch
    seen: AbstractSet[Hashable]

    @classmethod
    def of(
        cls, domain: Domain, completed: Batch, values: Sequence[float] | Array, running: Batch = (), failed: Batch = ()
    ) -> History:
        """Make a history from batches of points; all of them count as seen.

        domain: of the points.
        completed: points that have a value.
        values: one for each completed point, to be minimized.
        running, failed: points without a value.
        """
        batches = [domain.join(completed), domain.join(running), domain.join(failed)]
        seen = frozenset(key for batch in batches for key in domain.keys(batch))
        return cls(batches[0], np.asarray(values, dtype=np.float64), batches[1], batches[2], seen)

    @property
    def best(self) -> int:
        """The index of the smallest value; the first of equals."""
        return int(np.argmin(self.values))
